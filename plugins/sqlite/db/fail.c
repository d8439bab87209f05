/* fail.c - a failed SQLite call as a code and a text: by result code first, then by what
 * the file system says. */
#include <string.h>

#include "db.h"

void
hf__seconds_text(char *ret, size_t size, int64_t ms)
{
    snprintf(ret, size, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

int
hf_sqlite_fail(struct hf_sqlite_db *db, int rc, const char *what, struct hf_error *err)
{
    const char *said = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    char waited[32];
    int code = HF_IO;
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (hf__busy_cancelled(db))
            return hf_error_set(err, HF_CANCELLED, db->path, "%s: cancelled", what);
        hf__seconds_text(waited, sizeof waited, db->busy.waited_ms);
        return hf_error_set(err, HF_BUSY, db->path,
                            "%s: the database is locked by another writer (waited %s): "
                            "try again", what, waited);
    case SQLITE_CORRUPT:
        code = rc == SQLITE_CORRUPT_VTAB ? HF_FTS_INDEX : HF_CORRUPT;
        break;
    case SQLITE_NOTADB:
        code = HF_CORRUPT;
        break;
    case SQLITE_FULL:
        code = HF_DISK_FULL;
        break;
    case SQLITE_READONLY:
        code = HF_READ_ONLY;
        break;
    case SQLITE_INTERRUPT:
        code = HF_CANCELLED;
        break;
    case SQLITE_TOOBIG:
        code = HF_TOO_BIG;
        break;
    case SQLITE_NOMEM:
        code = HF_NO_MEMORY;
        break;
    case SQLITE_CONSTRAINT:
        code = rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY
                   ? HF_EXISTS : HF_INVALID;
        break;
    case SQLITE_MISUSE:
        code = HF_MISUSE;
        break;
    default:
        break;
    }
    return hf_error_set(err, code, db->path, "%s: %s", what, said);
}
