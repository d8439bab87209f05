/* own_files.c - SQLite's own descriptors of a database, its WAL and its shared memory,
 * reached through SQLite: what stands at the paths may be other files by now.
 *
 * SQLite does not tell its descriptors.  But asked for the size of a file it calls
 * fstat(), and that call passes the hooks of locks.c: so one is asked for, and what the
 * hook sees is kept.  Without the hooks nothing is seen, and generation.c takes what
 * stands at the path. */
#include <string.h>

#include "db.h"

/* More of the shared memory than there ever is: asked for it without leave to extend
 * it, SQLite looks how large the file is, and maps nothing. */
#define SHM_FAR 60000
#define SHM_REGION 32768

static _Thread_local struct {
    int on, seen;
    struct stat st;
} watch;

void
hf__own_stat_note(int fd, const struct stat *st)
{
    (void)fd;
    if (!watch.on)
        return;
    watch.seen = 1;
    watch.st = *st;
}

/* SQLite's file, or NULL when it has none open.  Whether a journal is a WAL the journal
 * mode tells. */
static sqlite3_file *
own_file(struct hf_sqlite_db *db, int which)
{
    sqlite3_file *file = NULL;
    int op =
        which == HF__GEN_WAL ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER;
    if (!db->handle ||
        sqlite3_file_control(db->handle, "main", op, &file) != SQLITE_OK || !file ||
        !file->pMethods)
        return NULL;
    return file;
}

int
hf__own_stat(struct hf_sqlite_db *db, int which, struct stat *ret)
{
    sqlite3_file *file = own_file(db, which);
    sqlite3_int64 size;
    if (!file)
        return 0;
    sqlite3_mutex_enter(sqlite3_db_mutex(db->handle));
    watch.on = 1;
    watch.seen = 0;
    if (which != HF__GEN_SHM)
        file->pMethods->xFileSize(file, &size);
    else if (file->pMethods->iVersion >= 2 && file->pMethods->xShmMap) {
        void volatile *unused = NULL;
        file->pMethods->xShmMap(file, SHM_FAR, SHM_REGION, 0, &unused);
    }
    watch.on = 0;
    sqlite3_mutex_leave(sqlite3_db_mutex(db->handle));
    if (watch.seen)
        *ret = watch.st;
    return watch.seen;
}

int64_t
hf__own_size(struct hf_sqlite_db *db, int which)
{
    sqlite3_file *file = own_file(db, which);
    sqlite3_int64 size = -1;
    if (!file)
        return -1;
    sqlite3_mutex_enter(sqlite3_db_mutex(db->handle));
    int rc = file->pMethods->xFileSize(file, &size);
    sqlite3_mutex_leave(sqlite3_db_mutex(db->handle));
    return rc == SQLITE_OK ? (int64_t)size : -1;
}

int64_t
hf__own_read(struct hf_sqlite_db *db, int which, void *ret, int64_t size, int64_t at)
{
    sqlite3_file *file = own_file(db, which);
    int64_t there = hf__own_size(db, which) - at;
    if (!file || there < 0)
        return -1;
    if (size > there)
        size = there;
    if (size == 0)
        return 0;
    sqlite3_mutex_enter(sqlite3_db_mutex(db->handle));
    int rc = file->pMethods->xRead(file, ret, (int)size, at);
    sqlite3_mutex_leave(sqlite3_db_mutex(db->handle));
    return rc == SQLITE_OK ? size : -1;
}

uint32_t
hf__own_application_id(struct hf_sqlite_db *db)
{
    unsigned char b[4];
    if (hf__own_read(db, HF__GEN_MAIN, b, sizeof b, 68) != (int64_t)sizeof b)
        return 0;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}
