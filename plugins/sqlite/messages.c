/* messages.c - appending to a session: messages, counters and further changes in one
 * transaction.  read.c reads them. */
#include <string.h>

#include "private.h"
#include "util/content.h"
#include "util/epoch.h"

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
                          HF__ID_ARGS(id), HF__ID_ARGS(&tip));
    } else if (rc == SQLITE_DONE) {
        rc = hf_error_set(err, HF_CONTINUED, st->path,
                          "session %.*s was compressed, and its continuation is not in "
                          "this store: create it with this session as its parent",
                          HF__ID_ARGS(id));
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
                            "there is no session %.*s: create it first", HF__ID_ARGS(id))
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
    int renumber = 0;
    int rc = session_open(st, &what->session_id, verbatim, err);

    for (uint64_t i = 0; rc == HF_OK && i < what->n_messages; i++) {
        struct hf_message m;
        uint32_t one = 0;
        hf__abi_copy(&m, sizeof m, what->messages[i]);
        if (renumber)
            m.id = 0;
        rc = hf__message_insert(st, &what->session_id, &m, what->flags, 0,
                                &append->ret[i], &one, &t, err);
        /* Order is by id: after one that had to take a new id, at the end, a free id of
         * the old row of numbers would come before it. */
        if (rc == HF_OK && verbatim && m.id > 0 && append->ret[i].id != m.id)
            renumber = 1;
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
