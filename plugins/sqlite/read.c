/* read.c - the messages of a session: in pages, backwards, around one, by state. */
#include "private.h"

/* The condition on the states asked for, on messages under alias "m". */
static void
states_sql(struct hf__buf *out, const struct hf_sqlite_store *st, uint32_t states)
{
    struct hf__buf active = {0}, compacted = {0};
    const char *or_ = "";

    hf__column_sql(&active, st, HF_T_MESSAGES, "m", "active");
    hf__column_sql(&compacted, st, HF_T_MESSAGES, "m", "compacted");
    hf__buf_adds(out, "(");
    if (states & HF_MSG_ACTIVE) {
        hf__buf_addf(out, "%s IS NULL OR %s <> 0", active.ptr, active.ptr);
        or_ = " OR ";
    }
    if (states & HF_MSG_COMPACTED) {
        hf__buf_addf(out, "%s(%s = 0 AND COALESCE(%s, 0) <> 0)", or_, active.ptr,
                     compacted.ptr);
        or_ = " OR ";
    }
    if (states & HF_MSG_REWOUND)
        hf__buf_addf(out, "%s(%s = 0 AND COALESCE(%s, 0) = 0)", or_, active.ptr,
                     compacted.ptr);
    hf__buf_adds(out, ")");
    out->failed |= active.failed | compacted.failed;
    hf__buf_free(&active);
    hf__buf_free(&compacted);
}

/* Ids in [low, high]; a bound of its own, so that one statement serves every page. */
struct window { int64_t low, high; };

static int
one_int(struct hf_sqlite_store *st, struct hf__buf *sql, const struct hf_text *id,
        const int64_t *args, int n_args, int64_t *ret, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, sql->failed ? NULL : sql->ptr, &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    for (int i = 0; i < n_args; i++)
        sqlite3_bind_int64(stmt, i + 2, args[i]);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(st, rc, "reading messages", err);
    hf_sqlite_done(stmt);
    return rc;
}

/* How many of at most LIMIT messages there are on one side, and the id of the NTH. */
static int
side_count(struct hf_sqlite_store *st, const struct hf_text *id, const char *states,
           const struct window *w, int64_t limit, int64_t *ret, struct hf_error *err)
{
    const int64_t args[] = {w->low, w->high, limit};
    struct hf__buf sql = {0};
    int rc;
    hf__buf_addf(&sql,
                 "SELECT COUNT(*) FROM (SELECT 1 FROM messages AS m WHERE m.session_id ="
                 " ?1 AND m.id >= ?2 AND m.id <= ?3 AND %s LIMIT ?4)", states);
    rc = one_int(st, &sql, id, args, 3, ret, err);
    hf__buf_free(&sql);
    return rc;
}

static int
nth_id(struct hf_sqlite_store *st, const struct hf_text *id, const char *states,
       const struct window *w, int descending, int64_t nth, int64_t *ret,
       struct hf_error *err)
{
    const int64_t args[] = {w->low, w->high, nth};
    struct hf__buf sql = {0};
    int rc;
    hf__buf_addf(&sql,
                 "SELECT m.id FROM messages AS m WHERE m.session_id = ?1 AND m.id >= ?2"
                 " AND m.id <= ?3 AND %s ORDER BY m.id%s LIMIT 1 OFFSET ?4", states,
                 descending ? " DESC" : "");
    rc = one_int(st, &sql, id, args, 3, ret, err);
    hf__buf_free(&sql);
    return rc;
}

/* Narrows W to the LIMIT messages nearest to AROUND: half before it, half from it on,
 * and where one side is short the other gives more. */
static int
around_window(struct hf_sqlite_store *st, const struct hf_text *id, const char *states,
              int64_t around, int64_t limit, struct window *w, struct hf_error *err)
{
    struct window before = {w->low, around - 1}, after = {around, w->high};
    int64_t n_before = 0, n_after = 0, take_before, take_after;
    int rc;

    if (before.high > w->high)
        before.high = w->high;
    if (after.low < w->low)
        after.low = w->low;
    rc = side_count(st, id, states, &before, limit, &n_before, err);
    if (rc == HF_OK)
        rc = side_count(st, id, states, &after, limit, &n_after, err);
    if (rc < 0)
        return rc;
    take_before = limit / 2;
    take_after = limit - take_before;
    if (n_after < take_after)
        take_before = limit - n_after;
    if (n_before < take_before)
        take_before = n_before;
    take_after = limit - take_before;
    if (n_after < take_after)
        take_after = n_after;
    w->low = after.low;
    if (take_before > 0)
        rc = nth_id(st, id, states, &before, 1, take_before - 1, &w->low, err);
    if (rc == HF_OK && take_after > 0)
        rc = nth_id(st, id, states, &after, 0, take_after - 1, &w->high, err);
    else if (rc == HF_OK)
        w->high = before.high;
    return rc;
}

static int
messages_emit(struct hf_sqlite_store *st, const struct hf_text *id,
              const struct hf_message_query *q, hf_message_fn *emit, void *ctx,
              struct hf_error *err)
{
    struct hf__buf sql = {0}, states = {0}, scratch = {0};
    struct window w = {INT64_MIN, INT64_MAX};
    int64_t limit = q->limit && q->limit < INT64_MAX ? (int64_t)q->limit : -1;
    struct hf_message message;
    sqlite3_stmt *stmt;
    int rc;

    if (q->after_id > 0)
        w.low = q->after_id < INT64_MAX ? q->after_id + 1 : INT64_MAX;
    if (q->before_id > 0)
        w.high = q->before_id - 1;
    states_sql(&states, st, q->states ? q->states : HF_MSG_ACTIVE);
    if (states.failed) {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        goto out;
    }
    if (q->around_id > 0 && limit > 0) {
        rc = around_window(st, id, states.ptr, q->around_id, limit, &w, err);
        if (rc < 0)
            goto out;
        limit = -1;
    }
    hf__buf_adds(&sql, "SELECT ");
    hf__message_select(&sql, st, "m", q->want);
    hf__buf_addf(&sql,
                 " FROM messages AS m WHERE m.session_id = ?1 AND m.id >= ?2"
                 " AND m.id <= ?3 AND %s ORDER BY m.id%s LIMIT ?4",
                 states.ptr, q->backwards && !q->around_id ? " DESC" : "");
    rc = hf__sql_prepare(st, sql.failed ? NULL : sql.ptr, &stmt, err);
    if (rc < 0)
        goto out;
    hf__bind_text(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, w.low);
    sqlite3_bind_int64(stmt, 3, w.high);
    sqlite3_bind_int64(stmt, 4, limit);
    for (;;) {
        int step = sqlite3_step(stmt);
        if (step == SQLITE_DONE)
            break;
        if (step != SQLITE_ROW) {
            rc = hf__sql_fail(st, step, "reading messages", err);
            break;
        }
        rc = hf__message_row(st, stmt, 0, q->want, &scratch, &message, err);
        if (rc == HF_OK)
            rc = emit(ctx, &message);
        if (rc)
            break;
    }
    hf_sqlite_done(stmt);
out:
    hf__buf_free(&sql);
    hf__buf_free(&states);
    hf__buf_free(&scratch);
    return rc;
}

int
hf__op_message_read(void *store, const struct hf_text *session_id,
                    const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
                    struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_message_query q = HF_INIT(struct hf_message_query);
    int rc;

    if (query)
        hf__abi_copy(&q, sizeof q, query);
    if (!st->db)
        return hf_error_set(err, HF_NOT_FOUND, st->path, "there is no session %.*s",
                            HF__ID_ARGS(session_id));
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    rc = hf__session_exists(st, session_id, err);
    if (rc == HF_OK)
        rc = messages_emit(st, session_id, &q, emit, ctx, err);
    return hf__read_unlock(st, rc, err);
}
