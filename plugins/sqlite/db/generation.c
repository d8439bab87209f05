/* generation.c - the files that a handle has open against those that stand at its paths
 * (SPEC 4.3).
 *
 * A database whose WAL was deleted under it goes on working, for itself: what it
 * commits nobody else will ever see.  One that another file was renamed over would
 * write into the old one, or play its WAL into the new one.  So each write compares,
 * inside the write lock and again after COMMIT.  Only device and inode count: link
 * counts and " (deleted)" in /proc lie in both directions. */
#include <errno.h>
#include <string.h>

#include "db.h"

#define GLANCE_MS 1000

static const char *const suffixes[HF__GEN_FILES] = {"", "-wal", "-shm"};

static const char *
file_name(const struct hf_sqlite_db *db, int which, char *ret, size_t size)
{
    snprintf(ret, size, "%s%s", db->path, suffixes[which]);
    return ret;
}

/* ---- taking the identities ---- */

static void
identity_take(struct hf_sqlite_db *db, int which)
{
    struct hf__identity *id = &db->generation.file[which];
    char name[4128];
    struct stat st;
    if (!hf__own_stat(db, which, &st) &&
        lstat(file_name(db, which, name, sizeof name), &st))
        return; /* taken at the next look */
    id->dev = st.st_dev;
    id->ino = st.st_ino;
    id->known = 1;
}

/* Whether the connection has a WAL open.  A journal that is open may be of the other
 * kind. */
static int
has_wal(struct hf_sqlite_db *db)
{
    sqlite3_stmt *stmt = NULL;
    int wal = 0;
    if (hf__own_size(db, HF__GEN_WAL) < 0)
        return 0;
    if (sqlite3_prepare_v2(db->handle, "PRAGMA main.journal_mode", -1, &stmt, NULL) ==
            SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(stmt, 0);
        wal = mode && !strcmp(mode, "wal");
    }
    sqlite3_finalize(stmt);
    return wal;
}

/* What was not seen before is taken as it is now: a file that another process turns to
 * WAL gets its sidecars late. */
static void
identities_take(struct hf_sqlite_db *db)
{
    struct hf__generation *gen = &db->generation;
    if (!gen->file[HF__GEN_MAIN].known)
        identity_take(db, HF__GEN_MAIN);
    if (gen->file[HF__GEN_WAL].known && gen->file[HF__GEN_SHM].known)
        return;
    if (!has_wal(db))
        return;
    identity_take(db, HF__GEN_WAL);
    identity_take(db, HF__GEN_SHM);
    db->journal = HF_JOURNAL_WAL;
}

/* ---- comparing ---- */

/* 0: it stands there.  1: it is gone, *ret_other tells whether another stands there.
 * -1: errno says why it cannot be told. */
static int
path_compare(struct hf_sqlite_db *db, int which, int *ret_other)
{
    const struct hf__identity *id = &db->generation.file[which];
    char name[4128];
    struct stat st;
    *ret_other = 0;
    if (!id->known)
        return 0;
    if (lstat(file_name(db, which, name, sizeof name), &st))
        return errno == ENOENT || errno == ENOTDIR ? 1 : -1;
    *ret_other = st.st_dev != id->dev || st.st_ino != id->ino;
    return *ret_other;
}

static int
cannot_tell(struct hf_sqlite_db *db, int which, enum hf__generation_when when,
            struct hf_error *err)
{
    int sys = errno;
    char name[4128];
    struct hf__shown shown;
    hf__shown(&shown, file_name(db, which, name, sizeof name));
    hf_error_set(err, HF_IO, name, "cannot look at %s: %s; %s", shown.text,
                 strerror(sys),
                 when == HF__WHEN_COMMITTED
                     ? "the write was made, but whether it can be found is not known"
                     : "nothing was written");
    if (err)
        err->sys_errno = sys;
    return HF_IO;
}

/* Whether the main file was overwritten in place by another program's database. */
static int
is_foreign(struct hf_sqlite_db *db)
{
    struct hf__generation *gen = &db->generation;
    uint32_t id = hf__own_application_id(db);
    if (!gen->application_id)
        gen->application_id = id;
    return id && id != gen->application_id;
}

static int
latch(struct hf_sqlite_db *db, int code, int which, const char *how,
      struct hf_error *err)
{
    char name[4128], text[400];
    struct hf__shown shown;
    /* The old generation's write lock is let go first: others may wait for it. */
    hf_sqlite_rollback(db);
    /* Also what somebody writes past begin and commit. */
    sqlite3_exec(db->handle, "PRAGMA query_only=1", NULL, NULL, NULL);
    hf__shown(&shown, file_name(db, which, name, sizeof name));
    snprintf(text, sizeof text, "%.300s %s", shown.text, how);
    db->generation.loss = hf__loss_join(db, code, text);
    atomic_store(&db->generation.lost, code); /* last: other threads go by it */
    return hf__generation_lost(db, err);
}

int
hf__generation_lost(const struct hf_sqlite_db *db, struct hf_error *err)
{
    int code = atomic_load(&db->generation.lost);
    char text[1900] = "the files of the store were taken away while it was open";
    if (code == HF_OK || !err)
        return code;
    if (db->generation.loss)
        hf__loss_text(db->generation.loss, text, sizeof text);
    return hf_error_set(err, code, db->path, "%s", text);
}

int
hf__generation_check(struct hf_sqlite_db *db, enum hf__generation_when when,
                     struct hf_error *err)
{
    int other, differs;
    if (atomic_load(&db->generation.lost)) {
        if (db->generation.loss)
            hf__loss_again(db, db->generation.loss);
        return hf__generation_lost(db, err);
    }
    if (!db->handle || db->frozen != HF__FROZEN_NONE)
        return HF_OK;
    identities_take(db);
    db->generation.looked_ms = hf__monotonic_ms();
    differs = path_compare(db, HF__GEN_MAIN, &other);
    if (differs < 0)
        return cannot_tell(db, HF__GEN_MAIN, when, err);
    if (differs)
        return latch(db, HF_REPLACED, HF__GEN_MAIN,
                     other ? "is another file than the one that is open here"
                           : "is gone, while it is open here",
                     err);
    for (int i = HF__GEN_WAL; i < HF__GEN_FILES; i++) {
        differs = path_compare(db, i, &other);
        if (differs < 0)
            return cannot_tell(db, i, when, err);
        if (differs)
            return latch(db, HF_WAL_LOST, i,
                         other ? "is another file than the one that is open here"
                               : "was deleted while it was open here",
                         err);
    }
    if (is_foreign(db))
        return latch(db, HF_REPLACED, HF__GEN_MAIN,
                     "was overwritten by another program's database", err);
    return HF_OK;
}

void
hf__generation_glance(struct hf_sqlite_db *db)
{
    struct hf_error ignored;
    if (hf__monotonic_ms() - db->generation.looked_ms < GLANCE_MS ||
        atomic_load(&db->generation.lost) || !db->handle ||
        /* Inside a transaction it is the next begin's, or commit's, to see. */
        !sqlite3_get_autocommit(db->handle))
        return;
    (void)hf__generation_check(db, HF__WHEN_IDLE, &ignored);
}

int
hf__generation_take(struct hf_sqlite_db *db, struct hf_error *err)
{
    int rc = SQLITE_OK;
    if (db->journal == HF_JOURNAL_WAL) /* only a read opens the sidecars */
        rc = sqlite3_exec(db->handle, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL,
                          NULL);
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(db, rc, "read the schema", err);
    return hf__generation_check(db, HF__WHEN_IDLE, err);
}

void
hf__generation_last(struct hf_sqlite_db *db)
{
    struct hf_error ignored;
    /* A copy of the lost WAL is only to be had as long as its descriptor is open. */
    if (db->settled && db->handle && sqlite3_get_autocommit(db->handle))
        (void)hf__generation_check(db, HF__WHEN_IDLE, &ignored);
}

void
hf__generation_forget(struct hf_sqlite_db *db)
{
    struct hf__loss *loss = db->generation.loss;
    memset(&db->generation, 0, sizeof db->generation);
    if (loss)
        hf__loss_leave(loss);
}

int
hf_sqlite_lost(struct hf_sqlite_db *db, double *ret_since, struct hf_error *err)
{
    int code = hf__generation_lost(db, err);
    if (code != HF_OK && ret_since && db->generation.loss)
        *ret_since = hf__loss_since(db->generation.loss);
    return code;
}

int
hf_sqlite_compare(struct hf_sqlite_db *db, struct hf_error *err)
{
    if (hf__forked(db))
        return hf__fork_check(db, err);
    if (!sqlite3_get_autocommit(db->handle))
        return hf__generation_lost(db, err);
    return hf__generation_check(db, HF__WHEN_IDLE, err);
}
