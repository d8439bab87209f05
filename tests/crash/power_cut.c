/* power_cut.c - the power fails before a write, a sync or a truncation, and the disk
 * has only some of what was written since the last sync, in any order.
 *
 * A writer commits through libholdfast-sqlite and checkpoints, on the test VFS.  In
 * round N the Nth such call is where the power fails: for several picks of what reached
 * the disk, the files are put together elsewhere and opened by plain SQLite.  The
 * database is whole then, and holds every commit that was acknowledged.  Counted, not
 * random: a failure names its round and its pick.
 *
 *     power_cut [ONLY-N]
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/sqlite.h>

#include "../support/vfs/test_vfs.h"

enum { COMMITS = 6, PICKS = 3, MOST_ROUNDS = 5000 };
static const enum test_call kinds[] = {TEST_WRITE, TEST_SYNC, TEST_TRUNCATE};
enum { KINDS = sizeof kinds / sizeof *kinds };

static char folder[200], path[300], image[300];
static long acknowledged;
static int kind_now, failed;
static uint64_t round_now;

__attribute__((noreturn)) static void
die(const char *what, const char *why)
{
    fprintf(stderr, "kind %d, call %llu: %s: %s\n", kind_now,
            (unsigned long long)round_now, what, why);
    exit(1);
}

static int
remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(name);
}

/* What the power cut left, as plain SQLite sees it after the restart. */
static void
look_at_image(uint64_t pick)
{
    static const char *const suffixes[] = {"", "-wal", "-journal", "-shm"};
    char from[320], to[320];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    for (int i = 0; i < 4; i++) {
        snprintf(from, sizeof from, "%s%s", path, suffixes[i]);
        snprintf(to, sizeof to, "%s%s", image, suffixes[i]);
        unlink(to);
        if (i < 2 && test_vfs_power_cut(from, to, round_now * PICKS + pick) && i == 0)
            die(from, "was not recorded");
    }
    if (sqlite3_open_v2(image, &db, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA synchronous=0", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "SELECT count(*), (SELECT integrity_check FROM "
                           "pragma_integrity_check) FROM t",
                           -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        die("after the power cut", sqlite3_errmsg(db));
    if (strcmp((const char *)sqlite3_column_text(stmt, 1), "ok"))
        die("integrity", (const char *)sqlite3_column_text(stmt, 1));
    if (sqlite3_column_int64(stmt, 0) < acknowledged)
        die("after the power cut", "an acknowledged commit is missing");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void
power_fails(void *ctx)
{
    (void)ctx;
    failed = 1;
    for (uint64_t pick = 0; pick < PICKS; pick++)
        look_at_image(pick);
}

/* One life of the writer.  Returns whether the power failed in it. */
static int
live(void)
{
    struct hf_sqlite_options o = HF_INIT(struct hf_sqlite_options);
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    uint32_t done;
    o.path = path;
    o.synchronous = 2;
    o.patience_ms = 1000;
    o.cache_size = o.mmap_size = o.temp_store = HF_NO_INT;
    o.journal_size_limit = 4096;
    acknowledged = failed = 0;
    test_vfs_record(0);
    if (hf_sqlite_open_db(&o, &db, &err) != HF_OK ||
        hf_sqlite_exec(db, "CREATE TABLE t(x); CREATE INDEX i ON t(x)", &err) != HF_OK)
        die("open", err.message);
    test_vfs_record(1);
    test_vfs_pause(kinds[kind_now], round_now, power_fails, NULL);
    for (int i = 0; i < COMMITS; i++) {
        if (hf_sqlite_begin(db, -1, &err) != HF_OK ||
            hf_sqlite_exec(db, "INSERT INTO t VALUES(randomblob(3000))", &err) !=
                HF_OK ||
            hf_sqlite_commit(db, &err) != HF_OK)
            die("commit", err.message);
        acknowledged++;
        if (i % 3 == 2 && hf_sqlite_checkpoint(db, i == 5, &done, &err) != HF_OK)
            die("checkpoint", err.message);
    }
    hf_sqlite_close_db(&db);
    test_vfs_pause(kinds[kind_now], 0, NULL, NULL);
    return failed;
}

int
main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    char made[180], *real;
    snprintf(made, sizeof made, "%s/hf-crash-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(made) || !(real = realpath(made, NULL)))
        die(made, "cannot be made");
    snprintf(folder, sizeof folder, "%.190s", real);
    free(real);
    test_vfs_register();
    for (kind_now = 0; kind_now < KINDS; kind_now++)
        for (round_now = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;; round_now++) {
            nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
            if (mkdir(folder, 0700))
                die(folder, "cannot be made");
            snprintf(path, sizeof path, "%s/w.db", folder);
            snprintf(image, sizeof image, "%s/image.db", folder);
            if (!live() || argc > 1)
                break;
            if (round_now == MOST_ROUNDS)
                die("rounds", "there is no end");
        }
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    printf("%llu syncs, %llu writes\n", (unsigned long long)test_vfs_count(TEST_SYNC),
           (unsigned long long)test_vfs_count(TEST_WRITE));
    return 0;
}
