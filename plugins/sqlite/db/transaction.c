/* transaction.c - begin, commit and rollback of the writer, and statements without
 * results. */
#include "db.h"

static int
reads_are_open(const struct hf_sqlite_db *db)
{
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(db->handle, s));)
        if (sqlite3_stmt_busy(s))
            return 1;
    return 0;
}

int
hf_sqlite_begin(struct hf_sqlite_db *db, int64_t patience_ms, struct hf_error *err)
{
    int armed = db->busy.deadline_ms != 0; /* an open waits as a whole */
    int rc;
    if (hf__forked(db))
        return hf__fork_check(db, err);
    if (!db->is_writer)
        return hf_sqlite_fail(db, SQLITE_READONLY, "begin a transaction", err);
    if (atomic_load(&db->generation.lost))
        return hf__generation_check(db, HF__WHEN_BEGUN, err);
    if (!sqlite3_get_autocommit(db->handle))
        return hf_error_set(err, HF_MISUSE, db->path, "begin inside a transaction");
    hf__busy_new_call(db);
    if (!armed)
        hf__busy_arm(db, patience_ms);
    int owned = hf__kernel_begin(db, err);
    if (owned != HF_OK) {
        if (!armed)
            hf__busy_disarm(db);
        return owned;
    }
    /* SQLite does not call the busy handler where waiting could be a deadlock between
     * two connections.  We hold nothing then, so we come back ourselves; but with a
     * read of our own open, on an old snapshot, no waiting would help. */
    do
        rc = sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    while ((rc & 0xff) == SQLITE_BUSY && !reads_are_open(db) && hf__busy_turn(db));
    if (!armed)
        hf__busy_disarm(db);
    if (rc == SQLITE_OK) {
        int code = hf__kernel_still(db, err);
        if (code == HF_OK)
            code = hf__generation_check(db, HF__WHEN_BEGUN, err);
        if (code != HF_OK)
            hf_sqlite_rollback(db);
        return code;
    }
    if (rc == SQLITE_BUSY_SNAPSHOT && reads_are_open(db))
        return hf_error_set(
            err, HF_MISUSE, db->path,
            "begin a transaction: a read of the same handle is not finished");
    return hf_sqlite_fail(db, rc, "begin a transaction", err);
}

int
hf_sqlite_commit(struct hf_sqlite_db *db, struct hf_error *err)
{
    if (hf__forked(db))
        return hf__fork_check(db, err);
    int owned = hf__kernel_still(db, err);
    if (owned != HF_OK) {
        hf_sqlite_rollback(db);
        return owned;
    }
    /* An interrupt between two statements has left no trace in SQLite. */
    int rc = hf__busy_cancelled(db)
                 ? SQLITE_INTERRUPT
                 : sqlite3_exec(db->handle, "COMMIT", NULL, NULL, NULL);
    /* It may have gone to files that were taken away a moment ago. */
    if (rc == SQLITE_OK)
        return hf__generation_check(db, HF__WHEN_COMMITTED, err);
    int code = hf_sqlite_fail(db, rc, "commit", err);
    hf_sqlite_rollback(db);
    return code;
}

void
hf_sqlite_rollback(struct hf_sqlite_db *db)
{
    if (hf__forked(db))
        return;
    /* An interrupt, which may come at any time, ends a ROLLBACK like anything else; a
     * transaction that stayed open would refuse every later call. */
    for (int i = 0; i < 1000 && !sqlite3_get_autocommit(db->handle); i++)
        if (sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL) != SQLITE_INTERRUPT)
            break;
}

int
hf_sqlite_exec(struct hf_sqlite_db *db, const char *sql, struct hf_error *err)
{
    if (hf__forked(db))
        return hf__fork_check(db, err);
    hf__busy_new_call(db);
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? HF_OK : hf_sqlite_fail(db, rc, "run a statement", err);
}
