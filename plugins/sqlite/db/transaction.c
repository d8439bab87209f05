/* transaction.c - begin, commit and rollback of the writer, and statements without
 * results. */
#include "db.h"

int
hf_sqlite_begin(struct hf_sqlite_db *db, int64_t patience_ms, struct hf_error *err)
{
    int armed = db->busy.deadline_ms != 0;
    int rc;
    hf__busy_new_call(db);
    if (!armed)
        hf__busy_arm(db, patience_ms);
    /* SQLite does not call the busy handler where waiting could be a deadlock between
     * two connections; nothing of ours is held here, so we come back ourselves. */
    do
        rc = sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    while ((rc & 0xff) == SQLITE_BUSY && hf__busy_turn(db));
    if (!armed)
        hf__busy_disarm(db);
    return rc == SQLITE_OK ? HF_OK : hf_sqlite_fail(db, rc, "begin a transaction", err);
}

int
hf_sqlite_commit(struct hf_sqlite_db *db, struct hf_error *err)
{
    int rc = sqlite3_exec(db->handle, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return HF_OK;
    int code = hf_sqlite_fail(db, rc, "commit", err);
    hf_sqlite_rollback(db);
    return code;
}

void
hf_sqlite_rollback(struct hf_sqlite_db *db)
{
    if (!sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

int
hf_sqlite_exec(struct hf_sqlite_db *db, const char *sql, struct hf_error *err)
{
    hf__busy_new_call(db);
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? HF_OK : hf_sqlite_fail(db, rc, "run a statement", err);
}
