/* fail.c - a failed SQLite call as a code and a text: by result code first, then by the
 * object that failed and by what the file system says. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "db.h"

void
hf__seconds_text(char *ret, size_t size, int64_t ms)
{
    snprintf(ret, size, "%lld.%lld s", (long long)(ms / 1000),
             (long long)(ms % 1000 / 100));
}

static int
no_room(int sys)
{
    return sys == ENOSPC || sys == EDQUOT || sys == EFBIG;
}

/* Why a write failed is known to the file alone once SQLite has rolled back: the limit on
 * the size of files, a quota.  Of other calls the file's errno may be an old one. */
static int
write_had_no_room(const struct hf_sqlite_db *db)
{
    static const int files[] = {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER};
    if (!db->handle || sqlite3_extended_errcode(db->handle) != SQLITE_IOERR_WRITE)
        return 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        sqlite3_file *file = NULL;
        int sys = 0;
        if (sqlite3_file_control(db->handle, "main", files[i], &file) == SQLITE_OK &&
            file && file->pMethods &&
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &sys) ==
                SQLITE_OK &&
            no_room(sys))
            return 1;
    }
    return 0;
}

static int
is_full(const struct hf_sqlite_db *db, int sys)
{
    char folder[4128];
    struct statvfs fs;
    if (no_room(sys) || write_had_no_room(db))
        return 1;
    hf__path_folder(folder, sizeof folder, db->path);
    return !statvfs(folder, &fs) && fs.f_blocks &&
           (fs.f_bavail == 0 || (fs.f_files && fs.f_favail == 0));
}

/* The first thing on the way to the database that this process may not use. */
static int
missing_permission(const struct hf_sqlite_db *db, char *ret, size_t size)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[4128];
    struct hf__shown shown;
    struct stat st;
    int want = db->opt.read_only ? R_OK : R_OK | W_OK;

    hf__path_folder(name, sizeof name, db->path);
    int folder_want = db->opt.read_only ? X_OK : W_OK | X_OK;
    if (faccessat(AT_FDCWD, name, folder_want, AT_EACCESS)) {
        int sys = errno;
        if (stat(name, &st))
            snprintf(ret, size, "the folder %s cannot be reached: %s",
                     hf__shown(&shown, name), strerror(sys));
        else
            snprintf(ret, size,
                     "the folder %s (mode %04o, owner %u) cannot be %s by user %u%s",
                     hf__shown(&shown, name), (unsigned)(st.st_mode & 07777),
                     (unsigned)st.st_uid, db->opt.read_only ? "searched" : "written",
                     (unsigned)geteuid(),
                     sys == EROFS ? ": its file system is read-only" : "");
        return 1;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(name, sizeof name, "%s%s", db->path, suffixes[i]);
        if (lstat(name, &st) || !faccessat(AT_FDCWD, name, want, AT_EACCESS))
            continue;
        int sys = errno;
        const char *verb =
            faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) ? "read" : "written";
        snprintf(ret, size, "%s (mode %04o, owner %u) cannot be %s by user %u%s",
                 hf__shown(&shown, name), (unsigned)(st.st_mode & 07777),
                 (unsigned)st.st_uid, verb, (unsigned)geteuid(),
                 sys == EROFS ? ": its file system is read-only" : "");
        return 1;
    }
    return 0;
}

int
hf__check_writable(const struct hf_sqlite_db *db, struct hf_error *err)
{
    char text[1900];
    if (!missing_permission(db, text, sizeof text))
        return HF_OK;
    return hf_error_set(err, HF_READ_ONLY, db->path, "%s", text);
}

void
hf__wal_unusable(const struct hf_sqlite_db *db, char *ret, size_t size)
{
    struct hf__shown shown;
    const char *type = db->mount.fs_type[0] ? db->mount.fs_type : "this file system";
    hf__shown(&shown, db->path);
    snprintf(
        ret, size,
        "%s is in WAL mode, but %s refuses the shared mappings that WAL needs: stop "
        "every process that uses it and run `holdfast sessions set-journal-mode delete "
        "--db %s`, or move the database onto a native or named volume",
        shown.text, type, shown.text);
}

static int
fail_busy(const struct hf_sqlite_db *db, const char *what, struct hf_error *err)
{
    char waited[32];
    struct hf__shown shown;
    hf__seconds_text(waited, sizeof waited, db->busy.waited_ms);
    return hf_error_set(
        err, HF_BUSY, db->path, "%s: %s is locked by %s (waited %s): try again", what,
        hf__shown(&shown, db->path),
        db->busy.holder[0] ? db->busy.holder : "another writer or reader", waited);
}

static int
fail_io(const struct hf_sqlite_db *db, int rc, int sys, const char *what,
        struct hf_error *err)
{
    char text[1900];
    struct hf__shown shown;
    const char *name = hf__shown(&shown, db->path);
    if (is_full(db, sys))
        return hf_error_set(
            err, HF_DISK_FULL, db->path,
            "%s: no room left on the file system of %s; nothing was stored, "
            "make room and try again",
            what, name);
    if (rc == SQLITE_IOERR_NOMEM)
        return hf_error_set(err, HF_NO_MEMORY, db->path, "%s: out of memory", what);
    if (rc == SQLITE_IOERR_SHMMAP) {
        hf__wal_unusable(db, text, sizeof text);
        return hf_error_set(err, HF_UNSUPPORTED, db->path, "%s: %s", what, text);
    }
    if ((rc & 0xff) != SQLITE_IOERR && missing_permission(db, text, sizeof text))
        return hf_error_set(err, db->opt.read_only ? HF_IO : HF_READ_ONLY, db->path,
                            "%s: %s", what, text);
    return hf_error_set(err, HF_IO, db->path, "%s: %s on %s%s%s", what,
                        sqlite3_errstr(rc), name, sys ? ": " : "",
                        sys ? strerror(sys) : "");
}

static int
fail_corrupt(const struct hf_sqlite_db *db, int rc, const char *what,
             struct hf_error *err)
{
    struct hf__shown shown;
    const char *name = hf__shown(&shown, db->path);
    if (rc == SQLITE_CORRUPT_VTAB)
        return hf_error_set(err, HF_FTS_INDEX, db->path,
                            "%s: the search index of %s is damaged, the transcript is "
                            "intact: run `holdfast sessions repair`",
                            what, name);
    /* An immutable read of a file that a writer touched meanwhile proves nothing. */
    if (db->frozen == HF__FROZEN_IMMUTABLE && hf__frozen_changed(db))
        return hf_error_set(err, HF_BUSY, db->path,
                            "%s: %s was changed while it was read: try again", what,
                            name);
    return hf_error_set(err, HF_CORRUPT, db->path,
                        "%s: %s is damaged (%s): see `holdfast sessions repair "
                        "--check-only`",
                        what, name, sqlite3_errstr(rc));
}

/* SQLITE_ERROR is told apart by its text only: what names a full-text object is the
 * index's trouble. */
static int
fail_error(const struct hf_sqlite_db *db, const char *what, const char *said,
           struct hf_error *err)
{
    int fts = strstr(said, "fts") || strstr(said, "tokenizer") ||
              strstr(said, "vtable constructor failed");
    return hf_error_set(err, fts ? HF_FTS_INDEX : HF_UNSUPPORTED, db->path, "%s: %s",
                        what, said);
}

int
hf_sqlite_fail(struct hf_sqlite_db *db, int rc, const char *what, struct hf_error *err)
{
    const char *said = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    int sys = db->handle ? sqlite3_system_errno(db->handle) : 0;
    char text[1900];
    struct hf__shown shown;
    int code;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
        code = hf__busy_cancelled(db)
                   ? hf_error_set(err, HF_CANCELLED, db->path, "%s: cancelled", what)
                   : fail_busy(db, what, err);
        break;
    case SQLITE_INTERRUPT:
        code = hf_error_set(err, HF_CANCELLED, db->path, "%s: cancelled", what);
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        code = fail_corrupt(db, rc, what, err);
        break;
    case SQLITE_FULL:
        code = hf_error_set(
            err, HF_DISK_FULL, db->path,
            "%s: no room left for %s; nothing was stored, make room and try "
            "again",
            what, hf__shown(&shown, db->path));
        break;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        code = fail_io(db, rc, sys, what, err);
        break;
    case SQLITE_READONLY:
        if (rc == SQLITE_READONLY_DBMOVED)
            code = hf_error_set(err, HF_REPLACED, db->path,
                                "%s: the file at %s is not the one that was opened",
                                what, hf__shown(&shown, db->path));
        else if (atomic_load(&db->generation.lost))
            code = hf__generation_lost(db, err);
        else if (!db->opt.read_only && missing_permission(db, text, sizeof text))
            code = hf_error_set(err, HF_READ_ONLY, db->path, "%s: %s", what, text);
        else
            code = hf_error_set(err, HF_READ_ONLY, db->path, "%s: %s is open read-only",
                                what, hf__shown(&shown, db->path));
        break;
    case SQLITE_TOOBIG:
        code = hf_error_set(err, HF_TOO_BIG, db->path,
                            "%s: larger than SQLite can store", what);
        break;
    case SQLITE_NOMEM:
        code = hf_error_set(err, HF_NO_MEMORY, db->path, "%s: out of memory", what);
        break;
    case SQLITE_CONSTRAINT:
        code = hf_error_set(err,
                            rc == SQLITE_CONSTRAINT_UNIQUE ||
                                    rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
                                    rc == SQLITE_CONSTRAINT_ROWID
                                ? HF_EXISTS
                                : HF_INVALID,
                            db->path, "%s: %s", what, said);
        break;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        code = hf_error_set(err, HF_MISUSE, db->path, "%s: %s", what, said);
        break;
    case SQLITE_ERROR:
        code = fail_error(db, what, said, err);
        break;
    default:
        code = hf_error_set(err, HF_IO, db->path, "%s: %s", what, said);
        break;
    }
    if (err && (code == HF_IO || code == HF_READ_ONLY))
        err->sys_errno = sys;
    return code;
}
