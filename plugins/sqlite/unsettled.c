/* unsettled.c - which rows this handle has committed that may be in no file any more once
 * its files are lost (SPEC 4.3): since its last complete checkpoint where the log was
 * taken away, since it was opened where the database was.  SQLite names the rows as they
 * change, so that no operation has to. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

struct range { int64_t lo, hi; };
/* Ranges of rowids, in order.  Where they become many, near ones are joined: the taker
 * leaves out what it has. */
struct ranges {
    struct range *v;
    size_t n, cap;
};
#define MANY 1024
#define NEAR 64

enum { MESSAGES, SESSIONS, TABLES };
struct rows { struct ranges of[TABLES]; };

struct hf__unsettled {
    struct rows begun;   /* by the transaction that is under way */
    struct rows unsaved; /* since the last complete checkpoint */
    struct rows opened;  /* since the open */
    uint32_t count;      /* hf_sqlite_settled() as of unsaved */
};

static void
ranges_add(struct ranges *r, int64_t lo, int64_t hi)
{
    int64_t gap = r->n >= MANY ? NEAR : 1;
    size_t i = r->n, last;
    while (i && r->v[i - 1].lo > lo)
        i--;
    if (i && lo <= r->v[i - 1].hi + gap) {
        i--;
        if (hi > r->v[i].hi)
            r->v[i].hi = hi;
    } else {
        if (r->n == r->cap) {
            size_t cap = r->cap ? r->cap * 2 : 16;
            struct range *v = realloc(r->v, cap * sizeof *v);
            if (!v) { /* no room to be exact */
                if (r->n) {
                    i = i ? i - 1 : 0;
                    r->v[i].lo = lo < r->v[i].lo ? lo : r->v[i].lo;
                    r->v[i].hi = hi > r->v[i].hi ? hi : r->v[i].hi;
                }
                return;
            }
            r->v = v;
            r->cap = cap;
        }
        memmove(r->v + i + 1, r->v + i, (r->n - i) * sizeof *r->v);
        r->v[i] = (struct range){lo, hi};
        r->n++;
    }
    for (last = i + 1; last < r->n && r->v[last].lo <= r->v[i].hi + gap; last++)
        if (r->v[last].hi > r->v[i].hi)
            r->v[i].hi = r->v[last].hi;
    memmove(r->v + i + 1, r->v + last, (r->n - last) * sizeof *r->v);
    r->n -= last - i - 1;
}

static void
rows_clear(struct rows *rows)
{
    for (int t = 0; t < TABLES; t++)
        rows->of[t].n = 0;
}

static void
rows_free(struct rows *rows)
{
    for (int t = 0; t < TABLES; t++)
        free(rows->of[t].v);
}

static void
row_changed(void *ctx, int op, const char *schema, const char *table, sqlite3_int64 rowid)
{
    struct hf__unsettled *u = ctx;
    if (op == SQLITE_DELETE || strcmp(schema, "main") != 0)
        return;
    if (!strcmp(table, "messages"))
        ranges_add(&u->begun.of[MESSAGES], rowid, rowid);
    else if (!strcmp(table, "sessions"))
        ranges_add(&u->begun.of[SESSIONS], rowid, rowid);
}

int
hf__unsettled_start(struct hf_sqlite_store *st, struct hf_error *err)
{
    if (!(st->unsettled = calloc(1, sizeof *st->unsettled)))
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    sqlite3_update_hook(hf_sqlite_handle(st->db), row_changed, st->unsettled);
    return HF_OK;
}

void
hf__unsettled_free(struct hf_sqlite_store *st)
{
    if (!st->unsettled)
        return;
    rows_free(&st->unsettled->begun);
    rows_free(&st->unsettled->unsaved);
    rows_free(&st->unsettled->opened);
    free(st->unsettled);
    st->unsettled = NULL;
}

void
hf__unsettled_begun(struct hf_sqlite_store *st)
{
    if (st->unsettled)
        rows_clear(&st->unsettled->begun);
}

/* Forgets what a checkpoint has brought into the database since. */
static void
settle(struct hf_sqlite_store *st)
{
    uint32_t count = hf_sqlite_settled(st->db);
    if (count != st->unsettled->count)
        rows_clear(&st->unsettled->unsaved);
    st->unsettled->count = count;
}

void
hf__unsettled_committed(struct hf_sqlite_store *st)
{
    struct hf__unsettled *u = st->unsettled;
    if (!u)
        return;
    settle(st);
    for (int t = 0; t < TABLES; t++)
        for (size_t i = 0; i < u->begun.of[t].n; i++) {
            struct range r = u->begun.of[t].v[i];
            ranges_add(&u->unsaved.of[t], r.lo, r.hi);
            ranges_add(&u->opened.of[t], r.lo, r.hi);
        }
    rows_clear(&u->begun);
}

/* ---- handing them over ---- */

struct ids {
    struct hf_text *v;
    size_t n, cap;
};

struct giving {
    struct hf_sqlite_store *st;
    const struct rows *rows;
    uint32_t with_row; /* what the row says now holds, not only what was missing */
    hf_transfer_fn *emit;
    void *ctx;
    struct hf_error *err;
    const struct hf_session *session;
};

static int
ids_add(struct ids *ids, const struct hf_text *id, struct hf_error *err)
{
    char *copy;
    for (size_t i = 0; i < ids->n; i++)
        if (ids->v[i].len == id->len && !memcmp(ids->v[i].ptr, id->ptr, id->len))
            return HF_OK;
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 16;
        struct hf_text *v = realloc(ids->v, cap * sizeof *v);
        if (!v)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        ids->v = v;
        ids->cap = cap;
    }
    if (!(copy = malloc((size_t)id->len + 1)))
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    memcpy(copy, id->ptr, (size_t)id->len);
    ids->v[ids->n++] = hf_text(copy, (size_t)id->len);
    return HF_OK;
}

/* The sessions that the ranges touch.  The caller holds st->lock. */
static int
ids_find(struct hf_sqlite_store *st, const struct ranges *r, const char *sql,
         struct ids *ids, struct hf_error *err)
{
    int rc = HF_OK;
    for (size_t i = 0; rc == HF_OK && i < r->n; i++) {
        sqlite3_stmt *stmt;
        int step = SQLITE_DONE;
        rc = hf__sql_prepare(st, sql, &stmt, err);
        if (rc < 0)
            return rc;
        sqlite3_bind_int64(stmt, 1, r->v[i].lo);
        sqlite3_bind_int64(stmt, 2, r->v[i].hi);
        while (rc == HF_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
            struct hf_text id = hf__text_column(stmt, 0);
            if (id.ptr)
                rc = ids_add(ids, &id, err);
        }
        if (rc == HF_OK && step != SQLITE_DONE)
            rc = hf__sql_fail(st, step, "looking for changed sessions", err);
        hf_sqlite_done(stmt);
    }
    return rc;
}

static int
range_give(struct giving *g, const char *sql, const struct range *range,
           hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    struct hf__buf scratch = {0};
    struct hf_message message;
    sqlite3_stmt *stmt;
    int step = SQLITE_DONE;
    int rc = hf__sql_prepare(g->st, sql, &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, &g->session->id);
    sqlite3_bind_int64(stmt, 2, range->lo);
    sqlite3_bind_int64(stmt, 3, range->hi);
    while (rc == HF_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = hf__message_row(g->st, stmt, 0, HF_WANT_EXTRA, &scratch, &message, err);
        if (rc == HF_OK)
            rc = emit(emit_ctx, &message);
    }
    if (rc == HF_OK && step != SQLITE_DONE)
        rc = hf__sql_fail(g->st, step, "reading messages", err);
    hf_sqlite_done(stmt);
    hf__buf_free(&scratch);
    return rc;
}

static int
messages_give(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    struct giving *g = ctx;
    const struct ranges *r = &g->rows->of[MESSAGES];
    struct hf__buf sql = {0};
    int rc = HF_OK;

    hf__buf_adds(&sql, "SELECT ");
    hf__message_select(&sql, g->st, "m", HF_WANT_EXTRA);
    hf__buf_adds(&sql, " FROM messages AS m WHERE m.session_id = ?1 AND m.id >= ?2"
                       " AND m.id <= ?3 ORDER BY m.id");
    for (size_t i = 0; rc == HF_OK && i < r->n; i++)
        rc = range_give(g, sql.failed ? NULL : sql.ptr, &r->v[i], emit, emit_ctx, err);
    hf__buf_free(&sql);
    return rc;
}

static void
field_add(struct hf_field *fields, uint64_t *n, const char *name, uint32_t op,
          uint32_t type, int64_t i, double d, const struct hf_text *text)
{
    if (type == HF_TEXT ? !text->ptr : type == HF_REAL ? isnan(d) : i == HF_NO_INT)
        return;
    fields[*n] = (struct hf_field){.name = name, .op = op, .type = type, .i = i, .d = d};
    if (text)
        fields[*n].text = *text;
    ++*n;
}

static int
session_give(void *ctx, const struct hf_session *s)
{
    struct giving *g = ctx;
    struct hf_transfer t = HF_INIT(struct hf_transfer);
    struct hf_field f[20];
    uint64_t n = 0;

    if (g->with_row) {
        field_add(f, &n, "title", HF_FIELD_SET, HF_TEXT, 0, 0, &s->title);
        field_add(f, &n, "model", HF_FIELD_SET, HF_TEXT, 0, 0, &s->model);
        field_add(f, &n, "model_config", HF_FIELD_SET, HF_TEXT, 0, 0, &s->model_config);
        field_add(f, &n, "ended_at", HF_FIELD_SET, HF_REAL, 0, s->ended_at, NULL);
        field_add(f, &n, "end_reason", HF_FIELD_SET, HF_TEXT, 0, 0, &s->end_reason);
        field_add(f, &n, "archived", HF_FIELD_SET, HF_INT, s->archived, 0, NULL);
        field_add(f, &n, "hidden", HF_FIELD_SET, HF_INT, s->hidden, 0, NULL);
        field_add(f, &n, "pinned", HF_FIELD_SET, HF_INT, s->pinned, 0, NULL);
    }
    field_add(f, &n, "input_tokens", HF_FIELD_MAX, HF_INT, s->input_tokens, 0, NULL);
    field_add(f, &n, "output_tokens", HF_FIELD_MAX, HF_INT, s->output_tokens, 0, NULL);
    field_add(f, &n, "cache_read_tokens", HF_FIELD_MAX, HF_INT, s->cache_read_tokens, 0,
              NULL);
    field_add(f, &n, "cache_write_tokens", HF_FIELD_MAX, HF_INT, s->cache_write_tokens, 0,
              NULL);
    field_add(f, &n, "reasoning_tokens", HF_FIELD_MAX, HF_INT, s->reasoning_tokens, 0,
              NULL);
    field_add(f, &n, "estimated_cost_usd", HF_FIELD_MAX, HF_REAL, 0,
              s->estimated_cost_usd, NULL);
    field_add(f, &n, "actual_cost_usd", HF_FIELD_MAX, HF_REAL, 0, s->actual_cost_usd,
              NULL);
    g->session = s;
    t.session = s;
    t.messages = messages_give;
    t.ctx = g;
    t.fields = f;
    t.n_fields = n;
    return g->emit(g->ctx, &t, g->err);
}

int
hf__op_unsettled(void *store, hf_transfer_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct giving g = {.st = st, .emit = emit, .ctx = ctx, .err = err};
    struct ids ids = {0};
    struct hf_error why;
    int rc, lost = st->db && st->unsettled ? hf_sqlite_lost(st->db, NULL, &why) : HF_OK;

    if (lost != HF_WAL_LOST && lost != HF_REPLACED)
        return HF_OK;
    pthread_mutex_lock(&st->lock);
    settle(st); /* nothing is committed any more, so both stay as they are */
    g.with_row = lost == HF_WAL_LOST;
    g.rows = g.with_row ? &st->unsettled->unsaved : &st->unsettled->opened;
    rc = ids_find(st, &g.rows->of[SESSIONS],
                  "SELECT id FROM sessions WHERE rowid >= ?1 AND rowid <= ?2", &ids, err);
    if (rc == HF_OK)
        rc = ids_find(st, &g.rows->of[MESSAGES],
                      "SELECT DISTINCT session_id FROM messages WHERE id >= ?1 AND"
                      " id <= ?2", &ids, err);
    pthread_mutex_unlock(&st->lock);
    for (size_t i = 0; rc == HF_OK && i < ids.n; i++) {
        rc = hf__op_session_get(st, &ids.v[i], HF_WANT_EXTRA, session_give, &g, err);
        if (rc == HF_NOT_FOUND)
            rc = HF_OK;
    }
    for (size_t i = 0; i < ids.n; i++)
        free((void *)(uintptr_t)ids.v[i].ptr);
    free(ids.v);
    return rc;
}
