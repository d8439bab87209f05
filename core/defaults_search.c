/* defaults_search.c - search for backends without one: every session is read and its
 * messages are looked at.  Right, slow, and said to be "degraded".  Understands words,
 * "phrases", OR and NOT; case is folded for ASCII only. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define TEXT_MAX 2048 /* characters of a query; the rest is cut with a note */
#define TERMS_MAX 64
#define SNIPPET 60 /* bytes shown on each side of the first match, about */

struct term {
    const char *ptr;
    size_t len;
    int group; /* terms of one group are AND-ed, groups are OR-ed */
    int negated;
};

struct hit {
    size_t session;
    int64_t id;
    double timestamp;
    char *role, *snippet;
};

struct session {
    char *id, *title, *source;
    uint64_t id_len;
};

struct scan {
    const struct hf_search *query;
    char *folded; /* the query's text; terms point into it */
    struct term terms[TERMS_MAX];
    size_t n_terms;
    struct session *sessions;
    size_t n_sessions, at;
    struct hit *hits;
    size_t n_hits;
    struct hf__buf text;
    int no_memory;
};

static char
fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* Splits the query.  What is left of a word after '"' and '*' may be empty: then it is
 * no term. */
static void
terms_parse(struct scan *scan, const char *text, size_t len)
{
    size_t i = 0;
    int group = 0, negate = 0;

    for (size_t k = 0; k < len; k++)
        scan->folded[k] = fold(text[k]);
    while (i < len && scan->n_terms < TERMS_MAX) {
        size_t start, end;
        int phrase = 0;
        if (is_space(text[i])) {
            i++;
            continue;
        }
        phrase = text[i] == '"';
        start = i + (phrase ? 1 : 0);
        for (end = start; end < len; end++)
            if (phrase ? text[end] == '"' : is_space(text[end]) || text[end] == '"')
                break;
        i = end + (phrase && end < len ? 1 : 0);
        if (!phrase && end - start == 2 && !memcmp(text + start, "OR", 2)) {
            group++;
            continue;
        }
        if (!phrase && end - start == 3 && !memcmp(text + start, "NOT", 3)) {
            negate = 1;
            continue;
        }
        if (!phrase && end - start == 3 && !memcmp(text + start, "AND", 3))
            continue;
        while (!phrase && end > start && text[end - 1] == '*')
            end--;
        if (end > start)
            scan->terms[scan->n_terms++] =
                (struct term){scan->folded + start, end - start, group, negate};
        negate = 0;
    }
}

static const char *
find_folded(const char *in, size_t len, const struct term *term)
{
    for (size_t i = 0; i + term->len <= len; i++) {
        size_t k = 0;
        while (k < term->len && fold(in[i + k]) == term->ptr[k])
            k++;
        if (k == term->len)
            return in + i;
    }
    return NULL;
}

/* The term by which the text matches, or NULL; *ret_at is where it stands. */
static const struct term *
match(const struct scan *scan, const char **ret_at)
{
    size_t i = 0;

    while (i < scan->n_terms) {
        const struct term *first = NULL;
        int group = scan->terms[i].group, fits = 1;
        for (; i < scan->n_terms && scan->terms[i].group == group; i++) {
            const struct term *term = &scan->terms[i];
            const char *at = find_folded(scan->text.ptr, scan->text.len, term);
            if ((at != NULL) == (term->negated != 0))
                fits = 0;
            else if (at && !first) {
                first = term;
                *ret_at = at;
            }
        }
        if (fits && first)
            return first;
    }
    return NULL;
}

static int
is_continuation(char c)
{
    return ((unsigned char)c & 0xC0u) == 0x80u;
}

static char *
snippet_make(const struct scan *scan, const struct term *term, const char *at)
{
    const char *text = scan->text.ptr, *end = text + scan->text.len;
    const char *from = at - text > SNIPPET ? at - SNIPPET : text;
    const char *after = at + term->len;
    const char *to = end - after > SNIPPET ? after + SNIPPET : end;
    struct hf__buf out = {0};

    while (from < at && is_continuation(*from))
        from++;
    while (to > after && to < end && is_continuation(*to))
        to--;
    if (from > text)
        hf__buf_adds(&out, "...");
    hf__buf_add(&out, from, (size_t)(at - from));
    hf__buf_adds(&out, ">>>");
    hf__buf_add(&out, at, term->len);
    hf__buf_adds(&out, "<<<");
    hf__buf_add(&out, after, (size_t)(to - after));
    if (to < end)
        hf__buf_adds(&out, "...");
    return hf__buf_take(&out);
}

static int
one_of(const struct hf_text *text, const struct hf_text *list, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (text->ptr && text->len == list[i].len &&
            !memcmp(text->ptr, list[i].ptr, text->len))
            return 1;
    return 0;
}

static int
on_session(void *ctx, const struct hf_session *session)
{
    struct scan *scan = ctx;
    const struct hf_search *q = scan->query;
    struct session *grown, *s;

    if ((q->sources && q->n_sources &&
         !one_of(&session->source, q->sources, q->n_sources)) ||
        (q->exclude_sources &&
         one_of(&session->source, q->exclude_sources, q->n_exclude_sources)) ||
        (q->session_id.ptr && !one_of(&session->id, &q->session_id, 1)))
        return 0;
    if ((scan->n_sessions & (scan->n_sessions + 1)) ==
        0) { /* grows at 0, 1, 3, 7, ... */
        grown = realloc(scan->sessions, (scan->n_sessions * 2 + 1) * sizeof *grown);
        if (!grown)
            goto no_memory;
        scan->sessions = grown;
    }
    s = &scan->sessions[scan->n_sessions++];
    s->id = hf__text_dup(&session->id);
    s->id_len = session->id.len;
    s->title = hf__text_dup(&session->title);
    s->source = hf__text_dup(&session->source);
    if (s->id && (s->title || !session->title.ptr) &&
        (s->source || !session->source.ptr))
        return 0;
no_memory:
    scan->no_memory = 1;
    return 1;
}

static int
on_message(void *ctx, const struct hf_message *m)
{
    struct scan *scan = ctx;
    const struct hf_search *q = scan->query;
    const struct term *term;
    const char *at = NULL;
    struct hit *hit;

    if ((q->roles && q->n_roles && !one_of(&m->role, q->roles, q->n_roles)) ||
        (q->since != 0 && !(m->timestamp >= q->since)) ||
        (q->until != 0 && !(m->timestamp < q->until)))
        return 0;
    hf__buf_clear(&scan->text);
    hf__content_text(&scan->text, &m->content);
    if (m->tool_name.ptr) {
        hf__buf_addc(&scan->text, ' ');
        hf__buf_add(&scan->text, m->tool_name.ptr, m->tool_name.len);
    }
    if (m->tool_calls.ptr) {
        hf__buf_addc(&scan->text, ' ');
        hf__buf_add(&scan->text, m->tool_calls.ptr, m->tool_calls.len);
    }
    if (scan->text.failed)
        goto no_memory;
    term = scan->text.len ? match(scan, &at) : NULL;
    if (!term)
        return 0;
    if ((scan->n_hits & (scan->n_hits + 1)) == 0) {
        struct hit *grown = realloc(scan->hits, (scan->n_hits * 2 + 1) * sizeof *grown);
        if (!grown)
            goto no_memory;
        scan->hits = grown;
    }
    hit = &scan->hits[scan->n_hits++];
    *hit = (struct hit){scan->at, m->id, m->timestamp, hf__text_dup(&m->role),
                        snippet_make(scan, term, at)};
    if (hit->role && hit->snippet)
        return 0;
no_memory:
    scan->no_memory = 1;
    return 1;
}

static int
newest_first(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    double tx = isnan(x->timestamp) ? -1 : x->timestamp;
    double ty = isnan(y->timestamp) ? -1 : y->timestamp;

    if (tx != ty)
        return tx < ty ? 1 : -1;
    return x->id == y->id ? 0 : x->id < y->id ? 1 : -1;
}

static int
oldest_first(const void *a, const void *b)
{
    return newest_first(b, a);
}

static int
hits_emit(const struct scan *scan, hf_hit_fn *emit, void *ctx)
{
    const struct hf_search *q = scan->query;
    uint64_t given = 0;

    for (size_t i = 0; i < scan->n_hits; i++) {
        const struct session *s = &scan->sessions[scan->hits[i].session];
        struct hf_hit hit = HF_INIT(struct hf_hit);
        int rc;
        if (i < q->offset)
            continue;
        if (q->limit && given++ == q->limit)
            break;
        hit.message_id = scan->hits[i].id;
        hit.session_id = hf_text(s->id, s->id_len);
        hit.role = hf_str(scan->hits[i].role);
        hit.title = hf_str(s->title);
        hit.source = hf_str(s->source);
        hit.snippet = hf_str(scan->hits[i].snippet);
        hit.timestamp = scan->hits[i].timestamp;
        rc = emit(ctx, &hit);
        if (rc != 0)
            return rc;
    }
    return HF_OK;
}

static void
scan_free(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_sessions; i++) {
        free(scan->sessions[i].id);
        free(scan->sessions[i].title);
        free(scan->sessions[i].source);
    }
    for (size_t i = 0; i < scan->n_hits; i++) {
        free(scan->hits[i].role);
        free(scan->hits[i].snippet);
    }
    free(scan->sessions);
    free(scan->hits);
    free(scan->folded);
    hf__buf_free(&scan->text);
}

static int
sessions_scan(struct hf_store *store, struct scan *scan, struct hf_error *err)
{
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    int rc;

    all.view = HF_VIEW_ALL;
    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED;
    if (scan->query->include_rewound)
        query.states |= HF_MSG_REWOUND;
    rc = HF__OP(store, session_list, &all, on_session, scan, err);
    for (; rc == HF_OK && scan->at < scan->n_sessions; scan->at++) {
        struct hf_text id =
            hf_text(scan->sessions[scan->at].id, scan->sessions[scan->at].id_len);
        rc = HF__OP(store, message_read, &id, &query, on_message, scan, err);
        if (rc == HF_NOT_FOUND)
            rc = HF_OK; /* deleted meanwhile by another process */
    }
    if (scan->no_memory)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    return rc;
}

int
hf__default_search(void *ctx, const struct hf_search *query, hf_hit_fn *emit,
                   void *emit_ctx, struct hf_search_info *info, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct scan scan = {.query = query};
    size_t len = 0, count = 0;
    int rc = HF_OK;

    while (len < query->text.len && count < TEXT_MAX) {
        int32_t cp;
        len += hf__utf8_next(query->text.ptr + len, query->text.len - len, &cp);
        count++;
    }
    info->degraded = 1;
    snprintf(info->note, sizeof info->note,
             "search degraded, canonical transcript intact: backend %s has no index, "
             "every session was read%s",
             store->backend->name,
             len < query->text.len ? "; the text was cut at 2048 characters" : "");
    scan.folded = malloc(len + 1);
    if (!scan.folded)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    terms_parse(&scan, query->text.ptr, len);
    if (scan.n_terms == 0) {
        snprintf(info->note, sizeof info->note, "there is no word to search for");
        goto out;
    }
    rc = sessions_scan(store, &scan, err);
    if (rc == HF_OK && scan.n_hits) {
        qsort(scan.hits, scan.n_hits, sizeof *scan.hits,
              query->order == HF_BY_OLDEST ? oldest_first : newest_first);
        rc = hits_emit(&scan, emit, emit_ctx);
    }
out:
    scan_free(&scan);
    return rc;
}
