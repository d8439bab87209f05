/* transcript.c - hiding and showing again: rewind, restore, compact.  No message is
 * removed; its state says where it is seen (SPEC 7). */
#include "private.h"

struct change {
    const struct hf_text *session_id;
    int64_t from_id;
    uint64_t count;
    uint32_t restore;
};

static int
states_change(struct hf_sqlite_store *st, const char *sql, const struct hf_text *id,
              int64_t bound, uint64_t *ret_count, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, sql, &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, bound);
    rc = hf__sql_run(st, stmt, "changing the state of messages", err);
    if (rc == HF_OK)
        *ret_count = (uint64_t)sqlite3_changes(hf_sqlite_handle(st->db));
    return rc;
}

static int
change_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct change *change = ctx;
    const char *sql =
        change->restore
            ? "UPDATE messages SET active = 1 WHERE session_id = ?1 AND id >= ?2"
              " AND active = 0 AND COALESCE(compacted, 0) = 0"
            : "UPDATE messages SET active = 0, compacted = 0 WHERE session_id = ?1"
              " AND id >= ?2 AND (active IS NULL OR active <> 0)";
    sqlite3_stmt *stmt;
    int rc = hf__session_exists(st, change->session_id, err);

    if (rc == HF_OK)
        rc = states_change(st, sql, change->session_id, change->from_id, &change->count,
                           err);
    if (rc < 0 || change->restore)
        return rc;
    rc = hf__sql_prepare(
        st,
        "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, change->session_id);
    return hf__sql_run(st, stmt, "counting the rewind", err);
}

static int
change_run(struct hf_sqlite_store *st, struct change *change, uint64_t *ret_count,
           struct hf_error *err)
{
    int rc;
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, change_work, change, err);
    pthread_mutex_unlock(&st->lock);
    if (rc == HF_OK && ret_count)
        *ret_count = change->count;
    return rc;
}

int
hf__op_message_rewind(void *store, const struct hf_text *session_id, int64_t from_id,
                      uint64_t *ret_count, struct hf_error *err)
{
    struct change change = {session_id, from_id, 0, 0};
    return change_run(store, &change, ret_count, err);
}

int
hf__op_message_restore(void *store, const struct hf_text *session_id, int64_t from_id,
                       uint64_t *ret_count, struct hf_error *err)
{
    struct change change = {session_id, from_id, 0, 1};
    return change_run(store, &change, ret_count, err);
}

/* ---- compact ---- */

struct compact {
    const struct hf_text *session_id;
    int64_t watermark;
    const struct hf_message *const *summary;
    uint64_t n_summary;
    struct hf_appended *ret;
};

/* Counts the session anew: Hermes leaves it at what is still active after a compaction,
 * and takes the two counters for the length of what goes to the model. */
int
hf__session_recount(struct hf_sqlite_store *st, const struct hf_text *id,
                    struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        "UPDATE sessions SET (message_count, tool_call_count) ="
        " (SELECT count(*), COALESCE(sum(CASE WHEN json_valid(tool_calls) THEN"
        " CASE json_type(tool_calls) WHEN 'array' THEN json_array_length(tool_calls) END"
        " END), 0) FROM messages WHERE session_id = ?1 AND active = 1) WHERE id = ?1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    return hf__sql_run(st, stmt, "counting the active messages", err);
}

static int
compact_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct compact *c = ctx;
    uint64_t hidden = 0, added = 0;
    int64_t calls = 0;
    double newest = 0, t = 0;
    int rc = hf__session_exists(st, c->session_id, err);

    if (rc == HF_OK)
        rc = states_change(st,
                           "UPDATE messages SET active = 0, compacted = 1"
                           " WHERE session_id = ?1 AND id <= ?2"
                           " AND (active IS NULL OR active <> 0)",
                           c->session_id, c->watermark, &hidden, err);
    for (uint64_t i = 0; rc == HF_OK && i < c->n_summary; i++) {
        struct hf_appended one;
        struct hf_message m;
        uint32_t is_new = 0;
        hf__abi_copy(&m, sizeof m, c->summary[i]);
        m.state = HF_MSG_ACTIVE;
        rc = hf__message_insert(st, c->session_id, &m, 0, 1, &one, &is_new, &t, err);
        if (rc < 0)
            break;
        if (c->ret)
            c->ret[i] = one;
        if (is_new) {
            added++;
            calls += hf__message_calls(&m);
            if (t > newest)
                newest = t;
        }
    }
    if (rc == HF_OK && added)
        rc = hf__session_count(st, c->session_id, added, calls, newest, err);
    if (rc == HF_OK && hidden + added)
        rc = hf__session_recount(st, c->session_id, err);
    return rc;
}

int
hf__op_message_compact(void *store, const struct hf_text *session_id, int64_t watermark,
                       const struct hf_message *const *summary, uint64_t n_summary,
                       struct hf_appended *ret, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct compact compact = {session_id, watermark, summary, n_summary, ret};
    int rc;

    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, compact_work, &compact, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}
