/* read_only.c - opening without creating, writing or waiting for the write lock
 * (SPEC 3.5). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

#define IDLE_MS 1000

static const char *
suffixed(char *ret, size_t size, const char *path, const char *suffix)
{
    snprintf(ret, size, "%s%s", path, suffix);
    return ret;
}

int
hf__frozen_changed(const struct hf_sqlite_db *db)
{
    char name[4128];
    struct stat now, wal;
    const struct stat *then = &db->frozen_stat;
    if (lstat(db->path, &now) || now.st_dev != then->st_dev ||
        now.st_ino != then->st_ino || now.st_size != then->st_size ||
        now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
        return 1;
    return !lstat(suffixed(name, sizeof name, db->path, "-wal"), &wal) &&
           wal.st_size != db->frozen_wal_size;
}

/* Reads the schema, so that SQLite has found whatever it has to say. */
static int
first_read(struct hf_sqlite_db *db)
{
    return sqlite3_exec(db->handle, "SELECT count(*) FROM sqlite_schema", NULL, NULL,
                        NULL);
}

static int
open_immutable(struct hf_sqlite_db *db, const struct hf__look *look,
               struct hf_error *err)
{
    char *uri = hf__db_uri(db->path, "?immutable=1");
    if (!uri)
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    db->frozen = HF__FROZEN_IMMUTABLE;
    db->frozen_stat = look->main;
    db->frozen_wal_size = look->wal.st_size;
    int code = hf__connect(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    free(uri);
    if (code != HF_OK)
        return code;
    int rc = first_read(db);
    if (hf__frozen_changed(db))
        return hf_error_set(err, HF_BUSY, db->path,
                            "it was changed while it was read: try "
                            "again");
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(db, rc, "read the database", err);
    db->journal = look->header == HF__HEADER_WAL ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
    return HF_OK;
}

static int
open_copy(struct hf_sqlite_db *db, const struct hf__look *look, struct hf_error *err)
{
    char name[4128];
    /* Our own entry would look like a connection whose descriptor is out of sight. */
    hf__open_file_release(db->file);
    hf__open_files_lock();
    int code = hf__private_copy_make(db->path, look, &db->copy_dir, err);
    db->file = hf__open_file_use(&look->main);
    hf__open_files_unlock();
    if (code == HF_OK && !db->file)
        code = hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    if (code != HF_OK)
        return code;
    snprintf(name, sizeof name, "%s/copy.db", db->copy_dir);
    db->frozen = HF__FROZEN_COPY;
    code = hf__connect(db, name, SQLITE_OPEN_READWRITE, err);
    if (code == HF_OK) {
        int rc = first_read(db);
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(db->handle, "PRAGMA query_only=1", NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            code = hf_sqlite_fail(db, rc, "read a private copy of the database", err);
    }
    /* SQLite has its descriptors: without names the copy cannot outlive the process. */
    hf__private_copy_remove(&db->copy_dir);
    if (code == HF_OK) {
        db->journal =
            look->header == HF__HEADER_WAL ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
        if (hf__once("read_from_copy", db->path))
            hf__db_log(
                db, HF_LOG_INFO, "read_from_copy",
                "the database has commits that only a writer could bring in; it is "
                "read from a private copy, which shows nothing that comes later");
    }
    return code;
}

/* Whether the original can only be read with help that reading must not give. */
static int
needs_help(int rc)
{
    return rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_READONLY_RECOVERY ||
           rc == SQLITE_READONLY_CANTINIT || rc == SQLITE_READONLY_CANTLOCK ||
           (rc & 0xff) == SQLITE_CANTOPEN;
}

static int
open_normally(struct hf_sqlite_db *db, const struct hf__look *look,
              struct hf_error *err)
{
    int code =
        hf__connect(db, db->path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, err);
    if (code != HF_OK)
        return code;
    int rc = first_read(db);
    if (needs_help(rc)) {
        hf__disconnect(db);
        return look->header == HF__HEADER_WAL && !look->wal_holds_frames
                   ? open_immutable(db, look, err)
                   : open_copy(db, look, err);
    }
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(db, rc, "read the database", err);
    hf__journal_confirm(db);
    return HF_OK;
}

int
hf__open_read(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__look look;
    struct hf__shown shown;
    int code = HF_OK;

    for (int i = 0; i < 5; i++) {
        if (i)
            hf__sleep_ms(20);
        hf__disconnect(db);
        hf__forget_file(db);
        hf__open_files_lock();
        code = hf__preflight(db->path, &look, err);
        if (code == HF_OK && !look.exists)
            code = hf_error_set(err, HF_NOT_FOUND, db->path, "there is no %s",
                                hf__shown(&shown, db->path));
        if (code == HF_OK && !(db->file = hf__open_file_use(&look.main)))
            code = hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
        hf__open_files_unlock();
        if (code == HF_BUSY)
            continue;
        if (code != HF_OK)
            return code;
        /* An empty file is looked at without its sidecars: SQLite would remove them. */
        if (look.header == HF__HEADER_NONE)
            code = open_immutable(db, &look, err);
        else if (look.header != HF__HEADER_WAL ||
                 (look.wal.st_mode && look.shm.st_mode))
            code = open_normally(db, &look, err);
        else if (look.wal_holds_frames)
            code = open_copy(db, &look, err);
        else
            code = open_immutable(db, &look, err);
        /* Somebody wrote meanwhile, so there is somebody to read beside. */
        if (code != HF_BUSY || db->frozen == HF__FROZEN_NONE)
            return code;
    }
    return code;
}

static int
read_anew(struct hf_sqlite_db *db, struct hf_error *err)
{
    if (db->frozen != HF__FROZEN_IMMUTABLE || !hf__frozen_changed(db))
        return HF_OK;
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(db->handle, s));)
        if (sqlite3_stmt_busy(s))
            return HF_OK; /* a walk goes on; what it meets decides */
    int code = hf__open_read(db, err);
    return code == HF_OK ? hf__settings_apply(db, err) : code;
}

int
hf__read_refresh(struct hf_sqlite_db *db, struct hf_error *err)
{
    int64_t idle_since = db->read_ms;
    db->read_ms = hf__monotonic_ms();
    /* Only an idle handle: in the midst of a read its owner holds on to it. */
    if (db->reads_begin || db->read_ms - idle_since < IDLE_MS)
        return HF_OK;
    return read_anew(db, err);
}

int
hf_sqlite_read_begin(struct hf_sqlite_db *db, struct hf_error *err)
{
    db->reads_begin = 1;
    return read_anew(db, err);
}

int
hf_sqlite_read_check(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__shown shown;
    if (db->frozen != HF__FROZEN_IMMUTABLE || !hf__frozen_changed(db))
        return HF_OK;
    return hf_error_set(err, HF_BUSY, db->path,
                        "%s was changed while it was read: try again",
                        hf__shown(&shown, db->path));
}
