/* search.c - search (SPEC 8): which way a query is answered, filters, order, paging.
 *
 * The index answers what it can.  What it cannot - scripts without spaces, rows not
 * indexed yet, a missing, stale or damaged index - is read row by row (search_scan.c);
 * the transcript itself is never in doubt. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

static const char degraded_note[] = "search degraded, canonical transcript intact";

int
hf__search_add(struct hf__searching *s, int64_t id, double rank)
{
    if (s->n_hits == s->cap_hits) {
        size_t cap = s->cap_hits ? 2 * s->cap_hits : 64;
        struct hf__found *hits = realloc(s->hits, cap * sizeof *hits);
        if (!hits)
            return HF_NO_MEMORY;
        s->hits = hits;
        s->cap_hits = cap;
    }
    s->hits[s->n_hits].id = id;
    s->hits[s->n_hits].rank = rank;
    s->n_hits++;
    return HF_OK;
}

/* ---- filters ---- */

static void
list_filter(struct hf__buf *sql, const char *column, const char *in, uint64_t n,
            int *next)
{
    hf__buf_addf(sql, " AND %s %s (", column, in);
    for (uint64_t i = 0; i < n; i++)
        hf__buf_addf(sql, "%s?%d", i ? ", " : "", (*next)++);
    hf__buf_addc(sql, ')');
}

void
hf__search_filters(struct hf__buf *sql, const struct hf__searching *s, int first)
{
    const struct hf_search *q = s->q;
    int next = first;

    if (!q->include_rewound) {
        hf__buf_adds(sql, " AND (coalesce(");
        hf__column_sql(sql, s->st, HF_T_MESSAGES, "m", "active");
        hf__buf_adds(sql, ", 1) <> 0 OR ");
        hf__column_sql(sql, s->st, HF_T_MESSAGES, "m", "compacted");
        hf__buf_adds(sql, " <> 0)");
    }
    if (q->session_id.ptr)
        hf__buf_addf(sql, " AND m.session_id = ?%d", next++);
    if (q->since != 0)
        hf__buf_addf(sql, " AND m.timestamp >= ?%d AND m.timestamp <= 4200000000.0",
                     next++);
    if (q->until != 0) /* text, which is no time, is greater than any number */
        hf__buf_addf(sql, " AND m.timestamp < ?%d AND m.timestamp >= 0", next++);
    if (q->roles)
        list_filter(sql, "m.role", "IN", q->n_roles, &next);
    if (q->sources)
        list_filter(sql, "x.source", "IN", q->n_sources, &next);
    if (q->n_exclude_sources)
        list_filter(sql, "x.source", "NOT IN", q->n_exclude_sources, &next);
}

void
hf__search_bind(sqlite3_stmt *stmt, const struct hf__searching *s, int first)
{
    const struct hf_search *q = s->q;
    int next = first;
    uint64_t i;

    if (q->session_id.ptr)
        hf__bind_text(stmt, next++, &q->session_id);
    if (q->since != 0)
        sqlite3_bind_double(stmt, next++, q->since);
    if (q->until != 0)
        sqlite3_bind_double(stmt, next++, q->until);
    for (i = 0; q->roles && i < q->n_roles; i++)
        hf__bind_text(stmt, next++, &q->roles[i]);
    for (i = 0; q->sources && i < q->n_sources; i++)
        hf__bind_text(stmt, next++, &q->sources[i]);
    for (i = 0; i < q->n_exclude_sources; i++)
        hf__bind_text(stmt, next++, &q->exclude_sources[i]);
}

/* ---- order ---- */

static int
by_id(const void *a, const void *b)
{
    const struct hf__found *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int
by_id_down(const void *a, const void *b)
{
    return by_id(b, a);
}

static int
by_rank(const void *a, const void *b)
{
    const struct hf__found *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1; /* the better, the more negative */
    return by_id(b, a);
}

static void
sort(struct hf__searching *s, int (*cmp)(const void *, const void *))
{
    if (s->n_hits > 1)
        qsort(s->hits, s->n_hits, sizeof *s->hits, cmp);
}

/* ---- finding ---- */

/* Whether a failure speaks of the index, so that a scan may still succeed. */
static int
index_failed(int rc)
{
    return (rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_ERROR ||
           (rc & 0xFF) == SQLITE_CONSTRAINT || (rc & 0xFF) == SQLITE_MISMATCH;
}

static int
words_only(const struct hf__searching *s)
{
    for (uint32_t i = 0; i < s->matcher.n_terms; i++)
        if (s->matcher.terms[i].n_words == 0 || s->query.terms[i]->unspaced)
            return 0;
    return 1;
}

/* By index: ranked hits first; then what the index cannot see. */
static int
find_words(struct hf__searching *s, int unspaced)
{
    uint32_t narrowed = 0;
    int rc = hf__fts_search(s);

    if (rc != SQLITE_OK)
        return rc;
    sort(s, by_id);
    s->n_indexed = s->n_hits;
    /* Words beside a script without spaces are part of longer tokens.  Where the trigram
     * table cannot lead to them, everything would have to be read: that is done only
     * when nothing was found otherwise. */
    if (unspaced) {
        rc = hf__scan(s, HF__SCAN_NARROW, 0, &narrowed);
        if (rc != SQLITE_OK || narrowed)
            return rc;
        if (s->n_hits == 0)
            return hf__scan(s, HF__SCAN_ALL, 0, &narrowed);
    }
    return s->gap_to ? hf__scan(s, HF__SCAN_GAP, 0, &narrowed) : SQLITE_OK;
}

static int
find(struct hf__searching *s, int usable, int unspaced, uint32_t *ret_degraded)
{
    uint64_t max = s->q->limit ? s->q->offset + s->q->limit : 0;
    uint32_t narrowed = 0;
    int rc;

    if (max < s->q->offset)
        max = 0;
    if (usable && unspaced >= 0) {
        if (words_only(s)) {
            rc = find_words(s, unspaced);
        } else {
            rc = hf__scan(s, HF__SCAN_NARROW, max, &narrowed);
            if (rc == SQLITE_OK && !narrowed)
                rc = hf__scan(s, HF__SCAN_ALL, max, &narrowed);
        }
        if (rc == SQLITE_OK || !index_failed(rc))
            return rc;
    }
    if (usable)
        s->st->fts_damaged = 1;
    *ret_degraded = 1;
    s->n_hits = s->n_indexed = 0;
    return hf__scan(s, HF__SCAN_ALL, max, &narrowed);
}

/* ---- emitting ---- */

struct emitting {
    struct hf__searching *s;
    sqlite3_stmt *stmt;
    hf_hit_fn *emit;
    void *ctx;
    struct hf__buf snippet;
    uint64_t skipped, emitted;
};

static int
hit_emit(struct emitting *e, int64_t id)
{
    struct hf__searching *s = e->s;
    struct hf_hit hit = HF_INIT(struct hf_hit);
    struct hf_text content, name, calls;
    uint32_t holds = 1, bad;
    int rc;

    sqlite3_bind_int64(e->stmt, 1, id);
    rc = sqlite3_step(e->stmt);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE
                   ? HF_OK
                   : hf_sqlite_fail(s->st->db, rc, "read a message that was found", s->err);
    content = hf__text_column(e->stmt, 5);
    name = hf__text_column(e->stmt, 6);
    calls = hf__text_column(e->stmt, 7);
    rc = SQLITE_OK;
    /* The index holds the whole JSON of structured content; only its text counts. */
    if (content.ptr && content.len > 6 && !memcmp(content.ptr, "\0json:", 6))
        rc = hf__matcher_message(&s->matcher, s->st->shape.fts_layout, &content, &name,
                                 &calls, &holds);
    if (rc == SQLITE_OK && holds && e->skipped < s->q->offset) {
        e->skipped++;
        return HF_OK;
    }
    if (rc == SQLITE_OK && holds)
        rc = hf__snippet(&s->matcher, &content, &name, &calls, &e->snippet);
    if (rc != SQLITE_OK)
        return hf_error_set(s->err, HF_NO_MEMORY, s->st->path,
                            "out of memory while reading message %lld", (long long)id);
    if (!holds)
        return HF_OK;
    hit.message_id = id;
    hit.session_id = hf__text_column(e->stmt, 0);
    hit.role = hf__text_column(e->stmt, 1);
    hit.timestamp = hf__time_column(e->stmt, 2, &bad);
    hit.title = hf__text_column(e->stmt, 3);
    hit.source = hf__text_column(e->stmt, 4);
    hit.snippet = hf_text(e->snippet.len ? e->snippet.ptr : "", e->snippet.len);
    e->emitted++;
    return e->emit(e->ctx, &hit);
}

static int
hits_emit(struct hf__searching *s, hf_hit_fn *emit, void *ctx, uint64_t *ret_emitted)
{
    struct emitting e = {.s = s, .emit = emit, .ctx = ctx};
    int rc = hf_sqlite_prepare(
        s->st->db,
        "SELECT m.session_id, m.role, m.timestamp, x.title, x.source, m.content,"
        " m.tool_name, m.tool_calls FROM messages m JOIN sessions x ON x.id = m.session_id"
        " WHERE m.id = ?1",
        &e.stmt, s->err);

    for (size_t i = 0; i < s->n_hits && rc == HF_OK; i++) {
        if (s->q->limit && e.emitted >= s->q->limit)
            break;
        rc = hit_emit(&e, s->hits[i].id);
        sqlite3_reset(e.stmt);
    }
    if (e.stmt)
        hf_sqlite_done(e.stmt);
    hf__buf_free(&e.snippet);
    *ret_emitted = e.emitted;
    return rc;
}

/* ---- the operation ---- */

/* Inside the lock and a read transaction. */
static int
search_run(struct hf__searching *s, int usable, int unspaced, uint32_t *ret_degraded)
{
    int rc = HF_OK;

    if (usable)
        rc = hf__fts_gap(s->st, &s->gap_from, &s->gap_to, s->err);
    if (rc != HF_OK)
        return rc;
    rc = find(s, usable, unspaced, ret_degraded);
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(s->st->db, rc, "search the messages", s->err);
    sort(s, s->q->order == HF_BY_OLDEST   ? by_id
            : s->q->order == HF_BY_NEWEST ? by_id_down
                                          : by_rank);
    return HF_OK;
}

static int
search_locked(struct hf__searching *s, hf_hit_fn *emit, void *ctx,
              struct hf_search_info *info, uint64_t *ret_emitted)
{
    struct hf_sqlite_store *st = s->st;
    struct hf_error ignored;
    uint32_t stale = 0;
    int usable, unspaced = 0, rc;

    rc = hf__matcher_open(st, &s->query, &s->matcher, s->err);
    if (rc != HF_OK)
        return rc;
    (void)hf__fts_look_again(st, &ignored);
    if (hf__fts_rows_lost(st))
        st->fts_damaged = 1;
    usable = st->shape.fts_layout != HF_FTS_NONE && !st->fts_damaged;
    /* Before BEGIN: its temporary table must outlive the transaction. */
    if (usable && words_only(s))
        unspaced = hf__fts_unspaced(s);
    if (unspaced < 0 && !index_failed(-unspaced))
        return hf_sqlite_fail(st->db, -unspaced, "look into the search index", s->err);
    rc = hf_sqlite_exec(st->db, "BEGIN", s->err);
    if (rc != HF_OK)
        return rc;
    if (usable)
        rc = hf__fts_stale(st, &stale, s->err);
    if (rc == HF_OK)
        rc = search_run(s, usable && !stale, unspaced, &info->degraded);
    if (rc == HF_OK)
        rc = hits_emit(s, emit, ctx, ret_emitted);
    hf_sqlite_rollback(st->db);
    return rc;
}

static void
note_add(struct hf_search_info *info, const char *text)
{
    size_t len = strlen(info->note), room = sizeof info->note - len - 1;
    if (!*text || room < 3)
        return;
    if (len) {
        memcpy(info->note + len, "; ", 3);
        len += 2;
        room -= 2;
    }
    snprintf(info->note + len, room + 1, "%.*s", (int)room, text);
}

int
hf__op_search(void *store, const struct hf_search *query, hf_hit_fn *emit, void *ctx,
              struct hf_search_info *info, struct hf_error *err)
{
    struct hf_search_info local = HF_INIT(struct hf_search_info);
    struct hf_search q;
    struct hf__searching s = {.st = store, .q = &q, .err = err};
    uint64_t emitted = 0;
    int rc = HF_OK;

    hf__abi_copy(&q, sizeof q, query);
    if (hf__query_parse(&q.text, &s.query) != 0)
        return hf_error_set(err, HF_NO_MEMORY, s.st->path,
                            "out of memory while reading the search text");
    if (s.query.root && s.st->db) {
        rc = hf__read_lock(s.st, err);
        if (rc == HF_OK) {
            rc = search_locked(&s, emit, ctx, &local, &emitted);
            rc = hf__read_unlock(s.st, rc, err);
        }
    }
    if (rc == HF_OK) {
        if (local.degraded)
            note_add(&local, degraded_note);
        note_add(&local, s.query.note);
        if (emitted == 0 && !local.note[0])
            note_add(&local, q.offset ? "no further message matches"
                                      : "no message matches");
        hf__abi_copy(info, info->abi.size, &local);
    }
    hf__matcher_close(&s.matcher);
    hf__query_free(&s.query);
    free(s.hits);
    return rc;
}
