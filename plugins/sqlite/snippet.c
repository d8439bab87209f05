/* snippet.c - a cut-out of a message round its first match, with the matches between
 * ">>>" and "<<<".  Bytes are given as they are stored: whoever prints them makes them
 * safe. */
#include <string.h>

#include "search.h"
#include "util/content.h"

enum {
    BEFORE = 80,   /* bytes shown before the first match */
    LENGTH = 320,  /* bytes shown in all */
    SPANS = 32,
    PARSE_MAX = 4 << 20
};

static int
inside_character(const char *s, size_t i)
{
    return ((unsigned char)s[i] & 0xC0u) == 0x80u;
}

/* Moves a cut forwards to white space if some is near, else to a whole character. */
static size_t
cut_forwards(const char *s, size_t at, size_t limit)
{
    size_t i;
    for (i = at; i < limit && i < at + 24; i++)
        if (s[i] == ' ' || s[i] == '\n')
            return i + 1;
    while (at < limit && inside_character(s, at))
        at++;
    return at;
}

static size_t
cut_backwards(const char *s, size_t at, size_t limit)
{
    size_t i;
    for (i = at; i > limit && i + 24 > at; i--)
        if (s[i] == ' ' || s[i] == '\n')
            return i;
    while (at > limit && inside_character(s, at))
        at--;
    return at;
}

static int
span_cmp_swap(struct hf__span *a, struct hf__span *b)
{
    struct hf__span t = *a;
    if (a->from < b->from || (a->from == b->from && a->to >= b->to))
        return 0;
    *a = *b;
    *b = t;
    return 1;
}

static void
spans_sort(struct hf__span *spans, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && span_cmp_swap(&spans[k - 1], &spans[k]); k--)
            ;
}

static void
text_write(struct hf__buf *out, const char *s, size_t len, const struct hf__span *spans,
           uint32_t n)
{
    size_t from = 0, to, at, first = n ? spans[0].from : 0;
    uint32_t i;

    if (n && first > BEFORE)
        from = cut_forwards(s, first - BEFORE, first);
    to = len;
    if (len - from > LENGTH) {
        to = from + LENGTH;
        if (n && spans[0].to > to)
            to = spans[0].to < len ? spans[0].to : len;
        else
            to = cut_backwards(s, to, n ? spans[0].to : from + 1);
    }
    if (from)
        hf__buf_adds(out, "...");
    at = from;
    for (i = 0; i < n && spans[i].to <= to; i++) {
        if (spans[i].from < at)
            continue; /* overlaps the one before */
        hf__buf_add(out, s + at, spans[i].from - at);
        hf__buf_adds(out, ">>>");
        hf__buf_add(out, s + spans[i].from, spans[i].to - spans[i].from);
        hf__buf_adds(out, "<<<");
        at = spans[i].to;
    }
    hf__buf_add(out, s + at, to - at);
    if (to < len)
        hf__buf_adds(out, "...");
}

/* Cuts out of one text; 1 when there was a match in it.  ANYWAY: also without one. */
static int
text_cut(struct hf__matcher *m, const struct hf_text *text, int anyway,
         struct hf__buf *out)
{
    struct hf__span spans[SPANS];
    int rc;

    if (!text->ptr)
        return 0;
    m->spans = spans;
    m->n_spans = 0;
    m->max_spans = SPANS;
    hf__matcher_start(m);
    rc = hf__matcher_text(m, text->ptr, text->len, 0);
    m->spans = NULL;
    if (rc != SQLITE_OK)
        return -rc;
    spans_sort(spans, m->n_spans);
    if (m->n_spans || anyway)
        text_write(out, text->ptr, text->len, spans, m->n_spans);
    return m->n_spans > 0;
}

int
hf__snippet(struct hf__matcher *m, const struct hf_text *content,
            const struct hf_text *tool_name, const struct hf_text *tool_calls,
            struct hf__buf *out)
{
    struct hf__buf parts = {0};
    struct hf_text text = *content;
    int rc;

    hf__buf_clear(out);
    if (text.ptr && text.len > 6 && text.len <= PARSE_MAX &&
        !memcmp(text.ptr, "\0json:", 6)) {
        hf__content_text(&parts, content);
        text = hf_text(parts.len ? parts.ptr : "", parts.len);
    }
    rc = text_cut(m, &text, 0, out);
    if (rc == 0)
        rc = text_cut(m, tool_name, 0, out);
    if (rc == 0)
        rc = text_cut(m, tool_calls, 0, out);
    if (rc == 0)
        rc = text_cut(m, &text, 1, out); /* matched over several columns */
    if (out->failed || parts.failed)
        rc = -SQLITE_NOMEM;
    hf__buf_free(&parts);
    return rc < 0 ? -rc : SQLITE_OK;
}
