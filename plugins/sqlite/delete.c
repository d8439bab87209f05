/* delete.c - removing sessions: their messages and usage go with them, and so do their
 * delegate children; branches stay and lose their parent. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Ids that are to go, in the order they were found; grows while delegates turn up. */
struct doomed {
    struct hf_text *v;
    size_t n, cap;
};

struct removal {
    const struct hf_text *ids;
    uint64_t n_ids, deleted;
};

static int
doomed_add(struct doomed *doomed, const struct hf_text *id, struct hf_error *err)
{
    char *copy;
    if (doomed->n == doomed->cap) {
        size_t cap = doomed->cap ? doomed->cap * 2 : 64;
        struct hf_text *v = realloc(doomed->v, cap * sizeof *v);
        if (!v)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        doomed->v = v;
        doomed->cap = cap;
    }
    copy = hf__text_dup(id);
    if (!copy)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    doomed->v[doomed->n++] = hf_text(copy, (size_t)id->len);
    return HF_OK;
}

static void
doomed_free(struct doomed *doomed)
{
    for (size_t i = 0; i < doomed->n; i++)
        free((char *)doomed->v[i].ptr);
    free(doomed->v);
}

static int
delegates_add(struct hf_sqlite_store *st, struct doomed *doomed,
              const struct hf_text *parent, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc, step;

    if (!hf__column_find(st, HF_T_SESSIONS, "parent_session_id", 17) ||
        !hf__column_find(st, HF_T_SESSIONS, "model_config", 12))
        return HF_OK;
    rc = hf__sql_prepare(
        st,
        "SELECT id FROM sessions WHERE parent_session_id = ?1 AND id <> ?1"
        " AND CASE WHEN json_valid(model_config)"
        " THEN json_extract(model_config, '$._delegate_from') END IS NOT NULL",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, parent);
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW && rc == HF_OK) {
        struct hf_text id = hf__text_column(stmt, 0);
        rc = doomed_add(doomed, &id, err);
    }
    if (rc == HF_OK && step != SQLITE_DONE)
        rc = hf__sql_fail(st, step, "looking for delegate sessions", err);
    hf_sqlite_done(stmt);
    return rc;
}

/* One statement per session and table: no list of ids can then be too long for SQLite,
 * and each text is prepared once. */
static int
session_remove(struct hf_sqlite_store *st, const struct hf_text *id,
               uint64_t *ret_removed, struct hf_error *err)
{
    static const char *const sql[] = {
        "DELETE FROM messages WHERE session_id = ?1",
        "DELETE FROM session_model_usage WHERE session_id = ?1",
        "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    };
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        sqlite3_stmt *stmt;
        int rc = hf__sql_prepare(st, sql[i], &stmt, err);
        if (rc < 0)
            return rc;
        hf__bind_text(stmt, 1, id);
        rc = hf__sql_run(st, stmt, "deleting a session", err);
        if (rc < 0)
            return rc;
    }
    /* The last statement's own row count, triggers and cascades left out. */
    *ret_removed = (uint64_t)sqlite3_changes(hf_sqlite_handle(st->db));
    return HF_OK;
}

static int
delete_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct removal *removal = ctx;
    struct doomed doomed = {0};
    uint64_t removed;
    int rc = HF_OK;

    removal->deleted = 0;
    for (uint64_t i = 0; rc == HF_OK && i < removal->n_ids; i++)
        if (removal->ids[i].ptr)
            rc = doomed_add(&doomed, &removal->ids[i], err);
    /* A session that is removed has no parent any more, so that a circle of delegates
     * ends too: what was taken out finds no children twice. */
    for (size_t i = 0; rc == HF_OK && i < doomed.n; i++) {
        struct hf_text id = doomed.v[i]; /* the array may move */
        rc = delegates_add(st, &doomed, &id, err);
        if (rc == HF_OK)
            rc = session_remove(st, &id, &removed, err);
        if (rc == HF_OK)
            removal->deleted += removed;
    }
    doomed_free(&doomed);
    return rc;
}

int
hf__op_session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
                      uint64_t *ret_deleted, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct removal removal = {ids, n_ids, 0};
    int rc;

    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, delete_work, &removal, err);
    pthread_mutex_unlock(&st->lock);
    if (rc == HF_OK && ret_deleted)
        *ret_deleted = removal.deleted;
    return rc;
}
