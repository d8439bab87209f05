/* match.c - text against the terms of a query, word by word.
 *
 * Words are cut and folded by SQLite's own unicode61 tokenizer, reached through the FTS5
 * interface, so that a scan finds what the index would.  A term in a script without
 * spaces is found anywhere inside a token; any other word at the token's edges, or where
 * such a script stands beside it ("demo" in a run of Han).  Text is read in pieces, so
 * that a message of 64 MiB costs no second copy. */
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "util/content.h"
#include "util/json_write.h"
#include "util/utf8.h"

enum {
    PIECE = 64 << 10,          /* bytes given to the tokenizer at once */
    PARSE_MAX = 4 << 20,       /* longer JSON is read as it stands */
    SPAN_REACH = 512           /* bytes behind the first match that a snippet may show */
};

/* ---- opening ---- */

static fts5_api *
fts5_find(sqlite3 *db)
{
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(stmt, 1, (void *)&api, "fts5_api_ptr", NULL);
        (void)sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return api;
}

static int
word_add(void *ctx, int flags, const char *token, int len, int start, int end)
{
    struct hf__term *term = ctx;
    struct hf__word *list;
    char *copy;

    (void)flags, (void)start, (void)end;
    list = realloc(term->words, (term->n_words + 1) * sizeof *list);
    if (!list)
        return SQLITE_NOMEM;
    term->words = list;
    copy = malloc((size_t)len + 1);
    if (!copy)
        return SQLITE_NOMEM;
    memcpy(copy, token, (size_t)len);
    list[term->n_words].text = copy;
    list[term->n_words].len = (uint32_t)len;
    term->n_words++;
    return SQLITE_OK;
}

static int
term_open(struct hf__matcher *m, struct hf__term *term, const struct hf__query_node *node)
{
    int rc;

    term->node = node;
    rc = m->api.xTokenize(m->tokenizer, term, FTS5_TOKENIZE_QUERY, node->text,
                           (int)node->text_len, word_add);
    if (rc != SQLITE_OK)
        return rc;
    term->open = malloc((term->n_words + 1) * sizeof *term->open);
    return term->open ? SQLITE_OK : SQLITE_NOMEM;
}

int
hf__matcher_open(struct hf_sqlite_store *st, const struct hf__query *query,
                 struct hf__matcher *ret, struct hf_error *err)
{
    struct hf__matcher m = {.query = query};
    fts5_api *fts = fts5_find(hf_sqlite_handle(st->db));
    void *ctx = NULL;
    int rc;

    if (!fts || fts->xFindTokenizer(fts, "unicode61", &ctx, &m.api) != SQLITE_OK)
        return hf_error_set(err, HF_UNSUPPORTED, st->path,
                            "this SQLite has no full-text module (FTS5), which search"
                            " needs");
    rc = m.api.xCreate(ctx, NULL, 0, &m.tokenizer);
    m.terms = calloc(query->n_terms + 1, sizeof *m.terms);
    m.found = calloc(query->n_terms + 1, 1);
    if (rc == SQLITE_OK && (!m.terms || !m.found))
        rc = SQLITE_NOMEM;
    for (uint32_t i = 0; i < query->n_terms && rc == SQLITE_OK; i++) {
        m.n_terms = i + 1;
        rc = term_open(&m, &m.terms[i], query->terms[i]);
    }
    if (rc != SQLITE_OK) {
        hf__matcher_close(&m);
        return hf_error_set(err, HF_NO_MEMORY, st->path,
                            "out of memory while preparing a search");
    }
    *ret = m;
    return HF_OK;
}

void
hf__matcher_close(struct hf__matcher *m)
{
    for (uint32_t i = 0; i < m->n_terms; i++) {
        struct hf__term *term = &m->terms[i];
        for (uint32_t k = 0; k < term->n_words; k++)
            free(term->words[k].text);
        free(term->words);
        free(term->open);
    }
    free(m->terms);
    free(m->found);
    if (m->tokenizer)
        m->api.xDelete(m->tokenizer);
    hf__buf_free(&m->scratch);
    memset(m, 0, sizeof *m);
}

void
hf__matcher_start(struct hf__matcher *m)
{
    memset(m->found, 0, m->n_terms);
    m->n_found = 0;
}

/* ---- one token ---- */

static int
unspaced_before(const char *s, size_t pos)
{
    size_t i = pos;
    int32_t cp;

    while (i > 0 && pos - i < 4 && ((unsigned char)s[i - 1] & 0xC0u) == 0x80u)
        i--;
    if (i > 0)
        i--;
    hf__utf8_next(s + i, pos - i, &cp);
    return hf__query_unspaced(cp);
}

static int
unspaced_at(const char *s, size_t pos, size_t len)
{
    int32_t cp;
    hf__utf8_next(s + pos, len - pos, &cp);
    return hf__query_unspaced(cp);
}

/* Whether word K of TERM is at the place in this token that it has to be.  *RET_AT and
 * *RET_END say where, when it is not the whole token. */
static int
word_at(const struct hf__term *term, uint32_t k, const char *token, size_t len,
        size_t *ret_at, size_t *ret_end)
{
    const struct hf__word *w = &term->words[k];
    int first = k == 0, last = k == term->n_words - 1;
    int inside = term->node->unspaced != 0;
    size_t at, end;

    if (len < w->len)
        return 0;
    if (len == w->len)
        return !memcmp(token, w->text, len);
    if (!first && !last)
        return 0;
    if (last && term->node->prefix && !memcmp(token, w->text, w->len))
        return 1;
    /* Everything below U+0800 takes two bytes at most: no script without spaces. */
    for (at = 0; !inside && (unsigned char)token[at] < 0xE0u;)
        if (++at == len)
            return 0;
    for (at = 0; at + w->len <= len; at++) {
        const char *p;
        if (first)
            p = memmem(token + at, len - at, w->text, w->len);
        else
            p = memcmp(token, w->text, w->len) ? NULL : token;
        if (!p)
            return 0;
        at = (size_t)(p - token);
        end = at + w->len;
        if ((at == 0 || (first && (inside || unspaced_before(token, at)))) &&
            (end == len || (last && (inside || term->node->prefix ||
                                     unspaced_at(token, end, len))))) {
            *ret_at = at;
            *ret_end = end;
            return 1;
        }
        if (!first)
            return 0;
    }
    return 0;
}

static int
word_fits(const struct hf__term *term, uint32_t k, const char *token, size_t len)
{
    size_t at, end;
    return word_at(term, k, token, len, &at, &end);
}

static void
term_found(struct hf__matcher *m, struct hf__term *term, int64_t from, int64_t to)
{
    uint32_t i = term->node->index;

    if (!m->found[i]) {
        m->found[i] = 1;
        m->n_found++;
    }
    if (m->spans && m->n_spans < m->max_spans && !term->node->negated) {
        m->spans[m->n_spans].from = (uint64_t)from;
        m->spans[m->n_spans].to = (uint64_t)to;
        m->n_spans++;
    }
}

static int
token_look(void *ctx, int flags, const char *token, int token_len, int start, int end)
{
    struct hf__matcher *m = ctx;
    size_t len = (size_t)token_len;
    int64_t from = (int64_t)m->base + start, to = (int64_t)m->base + end;

    (void)flags;
    for (uint32_t i = 0; i < m->n_terms; i++) {
        struct hf__term *term = &m->terms[i];
        uint32_t n = term->n_words, k;
        if (n == 0 || (!m->spans && m->found[i]))
            continue;
        if (n == 1) {
            size_t at = 0, until = len;
            if (!word_at(term, 0, token, len, &at, &until))
                continue;
            if (len == (size_t)(end - start)) /* folding moved nothing */
                term_found(m, term, from + (int64_t)at, from + (int64_t)until);
            else
                term_found(m, term, from, to);
            continue;
        }
        if (term->open[n - 1] >= 0 && word_fits(term, n - 1, token, len))
            term_found(m, term, term->open[n - 1], to);
        for (k = n - 1; k > 0; k--) {
            int64_t begun = k == 1 ? from : term->open[k - 1];
            term->open[k] =
                begun >= 0 && word_fits(term, k - 1, token, len) ? begun : -1;
        }
    }
    if (m->spans ? m->n_spans == m->max_spans ||
                       (m->n_spans && (uint64_t)to > m->spans[0].from + SPAN_REACH)
                 : m->n_found == m->n_terms)
        return SQLITE_DONE; /* nothing more to learn */
    return SQLITE_OK;
}

/* ---- texts ---- */

/* How much of S to read at once: up to white space, so that no word is cut. */
static size_t
piece_length(const char *s, size_t len)
{
    size_t n = PIECE;

    if (len <= n)
        return len;
    while (n > PIECE / 2 && s[n - 1] != ' ' && s[n - 1] != '\n')
        n--;
    if (n > PIECE / 2)
        return n;
    for (n = PIECE; n > PIECE - 4 && ((unsigned char)s[n] & 0xC0u) == 0x80u; n--)
        ;
    return n;
}

static void
literals_look(struct hf__matcher *m, const char *s, size_t len)
{
    for (uint32_t i = 0; i < m->n_terms; i++) {
        struct hf__term *term = &m->terms[i];
        const char *p;
        if (term->n_words || (!m->spans && m->found[i]))
            continue;
        p = memmem(s, len, term->node->text, term->node->text_len);
        if (p)
            term_found(m, term, p - s, p - s + (int64_t)term->node->text_len);
    }
}

int
hf__matcher_text(struct hf__matcher *m, const char *s, size_t len, uint32_t continued)
{
    size_t at = 0;
    int rc = SQLITE_OK;

    if (!continued)
        for (uint32_t i = 0; i < m->n_terms; i++)
            for (uint32_t k = 0; k <= m->terms[i].n_words; k++)
                m->terms[i].open[k] = -1;
    literals_look(m, s, len);
    while (at < len && rc == SQLITE_OK) {
        size_t n = piece_length(s + at, len - at);
        m->base = at;
        rc = m->api.xTokenize(m->tokenizer, m, FTS5_TOKENIZE_DOCUMENT, s + at, (int)n,
                               token_look);
        at += n;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Reads every string in a JSON value: letters written as \u escapes are found too. */
static int
json_look(struct hf__matcher *m, const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    int rc = SQLITE_OK;

    if (json_is_string(value))
        return hf__matcher_text(m, json_string_value(value), json_string_length(value),
                                0);
    if (json_is_array(value))
        for (i = 0; i < json_array_size(value) && rc == SQLITE_OK; i++)
            rc = json_look(m, json_array_get(value, i));
    else if (json_is_object(value))
        json_object_foreach((json_t *)value, key, item)
            if (rc == SQLITE_OK)
                rc = json_look(m, item);
    return rc;
}

static int
calls_look(struct hf__matcher *m, const struct hf_text *calls, uint32_t continued)
{
    int rc = hf__matcher_text(m, calls->ptr, calls->len, continued);

    if (rc == SQLITE_OK && m->n_found < m->n_terms && calls->len <= PARSE_MAX &&
        memmem(calls->ptr, calls->len, "\\u", 2)) {
        json_t *value = hf__json_parse(calls->ptr, calls->len);
        if (value)
            rc = json_look(m, value);
        json_decref(value);
    }
    return rc;
}

int
hf__matcher_message(struct hf__matcher *m, uint32_t layout,
                    const struct hf_text *content, const struct hf_text *tool_name,
                    const struct hf_text *tool_calls, uint32_t *ret_holds)
{
    uint32_t run_on = layout == HF_FTS_INLINE; /* the index holds one joined text */
    struct hf_text text = *content;
    int rc = SQLITE_OK;

    hf__matcher_start(m);
    if (text.ptr && text.len > 6 && text.len <= PARSE_MAX &&
        !memcmp(text.ptr, "\0json:", 6)) {
        hf__buf_clear(&m->scratch);
        hf__content_text(&m->scratch, content);
        if (m->scratch.failed)
            return SQLITE_NOMEM;
        text = hf_text(m->scratch.len ? m->scratch.ptr : "", m->scratch.len);
    }
    if (text.ptr)
        rc = hf__matcher_text(m, text.ptr, text.len, 0);
    if (layout != HF_FTS_ONE_COLUMN) {
        if (rc == SQLITE_OK && tool_name->ptr)
            rc = hf__matcher_text(m, tool_name->ptr, tool_name->len, run_on);
        if (rc == SQLITE_OK && tool_calls->ptr)
            rc = calls_look(m, tool_calls, run_on);
    }
    *ret_holds = (uint32_t)hf__query_holds(m->query->root, m->found);
    return rc;
}
