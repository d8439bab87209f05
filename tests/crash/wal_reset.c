/* wal_reset.c - the WAL-reset bug of SQLite 3.7.0 to 3.51.2, on demand (SPEC 3.3).
 *
 * A checkpoint reads the header of the log and is stopped there; another connection
 * commits, and by that begins the log anew; the checkpoint goes on and notes the old
 * length as copied.  Later frames up to there are then taken for copied and lost.  With
 * SQLite's own checkpoint the database is malformed every time.  Holdfast's holds the
 * write lock before it reads that header: the commit is refused.
 *
 *     wal_reset plain|holdfast
 *
 * `plain` exits with 0 when the database is malformed; 77 where SQLite has no such bug.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/sqlite.h>

#include "../support/vfs/test_vfs.h"

enum { CONNECTIONS = 3, SKIPPED = 77 };

static char folder[200], path[256];
static sqlite3 *plain[CONNECTIONS];
static struct hf_sqlite_db *ours[CONNECTIONS];
static int stopped, refused; /* what happened inside the checkpoint */

__attribute__((noreturn)) static void
die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static sqlite3 *
handle(int i)
{
    return ours[i] ? hf_sqlite_handle(ours[i]) : plain[i];
}

static int
try(int i, const char *sql)
{
    return sqlite3_exec(handle(i), sql, NULL, NULL, NULL);
}

static void
run(int i, const char *sql)
{
    if (try(i, sql) != SQLITE_OK)
        die(sql, sqlite3_errmsg(handle(i)));
}

static void
insert(int rows)
{
    for (int i = 0; i < rows; i++)
        run(2, "INSERT INTO t VALUES(randomblob(300))");
}

static void
commit_in_between(void *ctx)
{
    (void)ctx;
    stopped = 1;
    /* Without waiting: the checkpoint it would wait for is what called us. */
    sqlite3_busy_timeout(handle(2), 0);
    refused = try(2, "INSERT INTO t VALUES(randomblob(100))") == SQLITE_BUSY;
}

static void
checkpoint(int i)
{
    struct hf_error err;
    uint32_t done = 0;
    if (ours[i]) {
        if (hf_sqlite_checkpoint(ours[i], 0, &done, &err) != HF_OK || !done)
            die("checkpoint", done ? err.message : "deferred");
    } else if (sqlite3_wal_checkpoint_v2(plain[i], NULL, SQLITE_CHECKPOINT_PASSIVE,
                                         NULL, NULL) != SQLITE_OK)
        die("checkpoint", sqlite3_errmsg(plain[i]));
}

static void
open_all(int holdfast)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        struct hf_sqlite_options o = HF_INIT(struct hf_sqlite_options);
        struct hf_error err;
        o.path = path;
        o.synchronous = 1;
        o.patience_ms = 1000;
        o.cache_size = o.mmap_size = o.temp_store = o.journal_size_limit = HF_NO_INT;
        if (holdfast ? hf_sqlite_open_db(&o, &ours[i], &err) != HF_OK
                     : sqlite3_open(path, &plain[i]) != SQLITE_OK)
            die(path, holdfast ? err.message : sqlite3_errmsg(plain[i]));
        sqlite3_wal_autocheckpoint(handle(i), 0);
    }
}

/* Whether the closed database is whole. */
static int
is_whole(void)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int whole = sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &stmt, NULL) ==
                    SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_ROW &&
                !strcmp((const char *)sqlite3_column_text(stmt, 0), "ok");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return whole;
}

static int
remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(name);
}

static int
is_vulnerable(void)
{
    int v = sqlite3_libversion_number();
    return v >= 3007000 && v <= 3051002 && !(v >= 3044006 && v < 3045000) &&
           !(v >= 3050007 && v < 3051000);
}

int
main(int argc, char **argv)
{
    int holdfast = argc > 1 && !strcmp(argv[1], "holdfast");
    const char *tmp = getenv("TMPDIR");
    if (!holdfast && !is_vulnerable()) {
        printf("SQLite %s does not have this bug\n", sqlite3_libversion());
        return SKIPPED;
    }
    snprintf(folder, sizeof folder, "%s/hf-crash-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        die(folder, "cannot be made");
    snprintf(path, sizeof path, "%s/w.db", folder);

    test_vfs_register();
    open_all(holdfast);
    run(0, "PRAGMA journal_mode=WAL");
    run(0, "CREATE TABLE t(x); CREATE INDEX ti ON t(x)");
    run(1, "SELECT count(*) FROM t");
    insert(40);
    checkpoint(2);
    test_vfs_pause(TEST_UNFETCH, 1, commit_in_between, NULL);
    checkpoint(1);
    insert(60);
    checkpoint(2);
    insert(1); /* begins the log anew: what was not copied is gone */
    for (int i = 0; i < CONNECTIONS; i++) {
        hf_sqlite_close_db(&ours[i]);
        sqlite3_close(plain[i]);
    }
    int whole = is_whole();
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!stopped)
        die("the second checkpoint", "was not stopped");
    if (holdfast ? !refused || !whole : refused || whole)
        die(holdfast ? "Holdfast's checkpoint" : "SQLite's checkpoint",
            refused ? whole ? "the commit was refused"
                            : "refused, and malformed all the same"
            : whole ? "a commit came in between, and nothing broke"
                    : "a commit came in between, and the database is malformed");
    return 0;
}
