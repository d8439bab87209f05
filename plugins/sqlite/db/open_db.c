/* open_db.c - hf_sqlite_open_db(): the order of SPEC 3.4, and the way back out of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

static int
schema_is_stale(struct hf_sqlite_db *db, uint32_t *ret_stale, struct hf_error *err)
{
    if (db->opt.is_current)
        return db->opt.is_current(db->opt.ctx, db->handle, ret_stale, err);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->handle, "SELECT 1 FROM sqlite_schema LIMIT 1", -1,
                                &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    *ret_stale = rc == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? HF_OK : hf_sqlite_fail(db, rc, "read the schema", err);
}

static int
bring_up_to_date(struct hf_sqlite_db *db, struct hf_error *err)
{
    uint32_t stale = 0;
    if (!db->opt.initialize)
        return HF_OK;
    int code = schema_is_stale(db, &stale, err);
    if (code != HF_OK || !stale)
        return code;
    code = hf_sqlite_begin(db, hf__busy_left(db), err);
    if (code != HF_OK)
        return code;
    /* Somebody else may have done it while we waited. */
    code = schema_is_stale(db, &stale, err);
    if (code == HF_OK && stale)
        code = db->opt.initialize(db->opt.ctx, db->handle, err);
    if (code != HF_OK) {
        hf_sqlite_rollback(db);
        return code;
    }
    return hf_sqlite_commit(db, err);
}

int
hf_sqlite_open_db(const struct hf_sqlite_options *options, struct hf_sqlite_db **ret_db,
                  struct hf_error *err)
{
    struct hf_sqlite_db *db = calloc(1, sizeof *db);
    int code = HF_OK;
    if (!db)
        return hf_error_set(err, HF_NO_MEMORY, options->path, "out of memory");
    hf__abi_copy(&db->opt, sizeof db->opt, options);
    db->path = strdup(options->path);
    db->opt.path = db->path;
    db->journal = HF_JOURNAL_UNKNOWN;
    int ro = db->opt.read_only || db->opt.read_only_first;
    struct stat st;
    if (stat(db->path, &st)) {
        if (ro) {
            code = hf_error_set(err, HF_NOT_FOUND, db->path, "there is no such database");
            goto out;
        }
        int fd = open(db->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
    }
    int rc = sqlite3_open_v2(db->path, &db->handle,
                             (ro ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                                 SQLITE_OPEN_FULLMUTEX,
                             NULL);
    if (rc != SQLITE_OK) {
        code = hf_sqlite_fail(db, rc, "open the database", err);
        goto out;
    }
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_wal_autocheckpoint(db->handle, 0);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    hf__busy_install(db);
    hf__busy_arm(db, -1);
    if (!ro)
        code = hf_sqlite_exec(db, db->opt.journal_mode == HF_JOURNAL_DELETE
                                      ? "PRAGMA journal_mode=DELETE"
                                      : "PRAGMA journal_mode=WAL", err);
    if (code == HF_OK)
        code = hf_sqlite_exec(db, "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL", err);
    db->journal = db->opt.journal_mode;
    if (code == HF_OK && !ro)
        code = bring_up_to_date(db, err);
    hf__busy_disarm(db);
out:
    if (code == HF_OK)
        *ret_db = db;
    else
        hf_sqlite_close_db(&db);
    return code;
}

void
hf_sqlite_close_db(struct hf_sqlite_db **pdb)
{
    struct hf_sqlite_db *db = *pdb;
    if (!db)
        return;
    hf__statements_close(db);
    sqlite3_close_v2(db->handle);
    free(db->path);
    free(db);
    *pdb = NULL;
}

sqlite3 *
hf_sqlite_handle(struct hf_sqlite_db *db)
{
    return db->handle;
}

const char *
hf_sqlite_path(const struct hf_sqlite_db *db)
{
    return db->path;
}

uint32_t
hf_sqlite_journal(const struct hf_sqlite_db *db)
{
    return db->journal;
}

uint32_t
hf_sqlite_frozen(const struct hf_sqlite_db *db)
{
    return db->frozen != 0;
}
