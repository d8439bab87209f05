/* messages.c - appending to a session, and reading it. */
#include <string.h>

#include "private.h"
#include "util/content.h"
#include "util/epoch.h"

#define ID_ARGS(id) (int)((id)->len < 200 ? (id)->len : 200), (id)->ptr ? (id)->ptr : ""

/* ---- append ---- */

int64_t
hf__message_calls(const struct hf_message *msg)
{
    return msg->tool_calls.ptr ? hf__tool_call_count(&msg->tool_calls) : 0;
}

/* The message of this session that has the uid; *ret_id 0: none.  The index is per
 * session (schema_ddl.c), and a uid of 128 random bits is in one session only. */
static int
uid_find(struct hf_sqlite_store *st, const struct hf_text *session_id,
         const struct hf_text *uid, int64_t *ret_id, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st, "SELECT id FROM messages WHERE session_id = ?1 AND message_uid = ?2 LIMIT 1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, session_id);
    hf__bind_text(stmt, 2, uid);
    rc = sqlite3_step(stmt);
    *ret_id = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(st, rc, "looking for a message", err);
    hf_sqlite_done(stmt);
    return rc;
}

static int
id_taken(struct hf_sqlite_store *st, int64_t id, int *ret_taken, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, "SELECT 1 FROM messages WHERE id = ?1", &stmt, err);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, id);
    rc = sqlite3_step(stmt);
    *ret_taken = rc == SQLITE_ROW;
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(st, rc, "looking for a message", err);
    hf_sqlite_done(stmt);
    return rc;
}

static int
message_cells(struct hf_sqlite_store *st, const struct hf_text *session_id,
              const struct hf_message *m, uint32_t flags, uint32_t summary,
              struct hf__cells *cells, double *ret_time, struct hf_error *err)
{
    uint32_t verbatim = flags & HF_APPEND_VERBATIM;
    uint32_t state = m->state ? m->state : HF_MSG_ACTIVE;
    double t = m->timestamp;

    if (!hf__time_valid(t) && !(verbatim && isfinite(t)))
        t = st->host->now(st->host->ctx);
    hf__cells_text(cells, "session_id", session_id);
    hf__cells_text(cells, "role", &m->role);
    hf__cells_text(cells, "content", &m->content);
    hf__cells_text(cells, "tool_call_id", &m->tool_call_id);
    hf__cells_text(cells, "tool_calls", &m->tool_calls);
    hf__cells_text(cells, "tool_name", &m->tool_name);
    hf__cells_text(cells, "finish_reason", &m->finish_reason);
    hf__cells_text(cells, "reasoning", &m->reasoning);
    hf__cells_text(cells, "platform_message_id", &m->platform_message_id);
    hf__cells_text(cells, "message_uid", &m->uid);
    hf__cells_real(cells, "timestamp", t);
    hf__cells_int(cells, "token_count", m->token_count);
    hf__cells_int(cells, "observed", m->observed != 0);
    hf__cells_int(cells, "_compressed_summary", summary || m->is_summary);
    hf__cells_int(cells, "active", state == HF_MSG_ACTIVE);
    hf__cells_int(cells, "compacted", state == HF_MSG_COMPACTED);
    *ret_time = t;
    return hf__cells_extra(cells, st, HF_T_MESSAGES, &m->extra, err);
}

int
hf__message_insert(struct hf_sqlite_store *st, const struct hf_text *session_id,
                   const struct hf_message *msg, uint32_t flags, uint32_t summary,
                   struct hf_appended *ret, uint32_t *ret_added, double *ret_time,
                   struct hf_error *err)
{
    struct hf__cells cells = {0};
    struct hf__buf sql = {0};
    sqlite3_stmt *stmt;
    size_t uid_len = msg->uid.len < HF_UID_SIZE - 1 ? (size_t)msg->uid.len
                                                    : HF_UID_SIZE - 1;
    int64_t found = 0;
    int rc, taken = 0;

    memset(ret, 0, sizeof *ret);
    if (msg->uid.ptr)
        memcpy(ret->uid, msg->uid.ptr, uid_len);
    if (msg->uid.ptr) {
        rc = uid_find(st, session_id, &msg->uid, &found, err);
        if (rc < 0)
            return rc;
        if (found) {
            ret->id = found;
            *ret_added = 0;
            return HF_OK;
        }
    }
    rc = message_cells(st, session_id, msg, flags, summary, &cells, ret_time, err);
    if (rc == HF_OK && (flags & HF_APPEND_VERBATIM) && msg->id > 0) {
        rc = id_taken(st, msg->id, &taken, err);
        if (rc == HF_OK && !taken)
            hf__cells_int(&cells, "id", msg->id);
    }
    if (rc < 0)
        goto out;
    hf__cells_insert_sql(&sql, st, HF_T_MESSAGES, &cells);
    rc = hf__sql_prepare(st, sql.failed || cells.failed ? NULL : sql.ptr, &stmt, err);
    if (rc < 0)
        goto out;
    hf__cells_bind(stmt, st, HF_T_MESSAGES, &cells);
    rc = hf__sql_run(st, stmt, "appending a message", err);
    if (rc == HF_OK) {
        ret->id = sqlite3_last_insert_rowid(hf_sqlite_handle(st->db));
        *ret_added = 1;
    }
out:
    hf__buf_free(&sql);
    hf__cells_free(&cells);
    return rc;
}

int
hf__session_count(struct hf_sqlite_store *st, const struct hf_text *id, uint64_t n,
                  int64_t calls, double newest, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?2,"
        " tool_call_count = COALESCE(tool_call_count, 0) + ?3,"
        " last_activity_at = CASE WHEN typeof(last_activity_at) IN ('real', 'integer')"
        " AND last_activity_at >= ?4 AND last_activity_at <= 4200000000"
        " THEN last_activity_at ELSE ?4 END"
        " WHERE id = ?1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, (int64_t)n);
    sqlite3_bind_int64(stmt, 3, calls);
    sqlite3_bind_double(stmt, 4, newest);
    return hf__sql_run(st, stmt, "counting the messages", err);
}

/* The tip of the chain behind a compressed session, for the text of the refusal. */
static int
continued(struct hf_sqlite_store *st, const struct hf_text *id, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        "WITH RECURSIVE chain(id, reason, depth) AS ("
        " SELECT id, end_reason, 0 FROM sessions WHERE id = ?1"
        " UNION ALL"
        " SELECT (SELECT s.id FROM sessions AS s WHERE s.parent_session_id = chain.id"
        "   AND CASE WHEN json_valid(s.model_config) THEN"
        "   COALESCE(json_extract(s.model_config, '$._delegate_from'),"
        "   json_extract(s.model_config, '$._branched_from'),"
        "   json_extract(s.model_config, '$._reset_from')) END IS NULL"
        "   ORDER BY s.started_at DESC, s.id DESC LIMIT 1),"
        "  (SELECT s.end_reason FROM sessions AS s WHERE s.parent_session_id = chain.id"
        "   AND CASE WHEN json_valid(s.model_config) THEN"
        "   COALESCE(json_extract(s.model_config, '$._delegate_from'),"
        "   json_extract(s.model_config, '$._branched_from'),"
        "   json_extract(s.model_config, '$._reset_from')) END IS NULL"
        "   ORDER BY s.started_at DESC, s.id DESC LIMIT 1), depth + 1"
        " FROM chain WHERE chain.reason = 'compression' AND depth < 1000)"
        " SELECT id FROM chain WHERE id IS NOT NULL AND depth > 0"
        " ORDER BY depth DESC LIMIT 1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        struct hf_text tip = hf__text_column(stmt, 0);
        rc = hf_error_set(err, HF_CONTINUED, st->path,
                          "session %.*s was compressed and goes on as %.*s: append there",
                          ID_ARGS(id), ID_ARGS(&tip));
    } else if (rc == SQLITE_DONE) {
        rc = hf_error_set(err, HF_CONTINUED, st->path,
                          "session %.*s was compressed, and its continuation is not in "
                          "this store: create it with this session as its parent",
                          ID_ARGS(id));
    } else {
        rc = hf__sql_fail(st, rc, "looking for the continuation", err);
    }
    hf_sqlite_done(stmt);
    return rc;
}

static int
session_open(struct hf_sqlite_store *st, const struct hf_text *id, uint32_t verbatim,
             struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        "SELECT end_reason = 'compression' AND ended_at IS NOT NULL"
        " FROM sessions WHERE id = ?1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        int compressed = sqlite3_column_int(stmt, 0) && !verbatim;
        hf_sqlite_done(stmt);
        return compressed ? continued(st, id, err) : HF_OK;
    }
    rc = rc == SQLITE_DONE
             ? hf_error_set(err, HF_NOT_FOUND, st->path,
                            "there is no session %.*s: create it first", ID_ARGS(id))
             : hf__sql_fail(st, rc, "looking for the session", err);
    hf_sqlite_done(stmt);
    return rc;
}

struct append {
    const struct hf_append *what;
    struct hf_appended *ret;
};

static int
append_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    const struct append *append = ctx;
    const struct hf_append *what = append->what;
    uint32_t verbatim = what->flags & HF_APPEND_VERBATIM;
    double newest = 0, t = 0;
    uint64_t added = 0;
    int64_t calls = 0;
    int rc = session_open(st, &what->session_id, verbatim, err);

    for (uint64_t i = 0; rc == HF_OK && i < what->n_messages; i++) {
        struct hf_message m;
        uint32_t one = 0;
        hf__abi_copy(&m, sizeof m, what->messages[i]);
        rc = hf__message_insert(st, &what->session_id, &m, what->flags, 0,
                                &append->ret[i], &one, &t, err);
        if (rc == HF_OK && one) {
            added++;
            calls += hf__message_calls(&m);
            if (t > newest)
                newest = t;
        }
    }
    if (rc == HF_OK && added && !verbatim)
        rc = hf__session_count(st, &what->session_id, added, calls, newest, err);
    /* A repeated append whose messages are all there was counted the first time, and
     * so were its fields. */
    if (rc == HF_OK && (added || what->n_messages == 0))
        rc = hf__fields_apply(st, &what->session_id, what->fields, what->n_fields, err);
    return rc;
}

int
hf__op_message_append(void *store, const struct hf_append *what,
                      struct hf_appended *ret, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_append copy;
    struct append append = {&copy, ret};
    int rc;

    hf__abi_copy(&copy, sizeof copy, what);
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, st->patience_ms * 3, append_work, &append, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

/* ---- read ---- */

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
                            ID_ARGS(session_id));
    pthread_mutex_lock(&st->lock);
    rc = hf__session_exists(st, session_id, err);
    if (rc == HF_OK)
        rc = messages_emit(st, session_id, &q, emit, ctx, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}
