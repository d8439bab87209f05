/* checkpoint.c - Holdfast's only checkpoints (SPEC 3.3): FULL and TRUNCATE, whole or
 * nothing, never beside a commit.
 *
 * Told to give up by its busy handler, SQLite's FULL checkpoint would go on as a
 * PASSIVE one and copy a part.  So the handler never gives up without interrupting its
 * own connection first: the copying loop then ends before its first page. */
#include <string.h>
#include <sys/stat.h>

#include "db.h"

#define TURN_MS 5 /* for a transaction that is just ending */
#define OVERDUE_MS                                                                     \
    100 /* once the WAL is far past due, so that writers cannot starve us */
#define OVERDUE_TIMES 4

struct wait {
    sqlite3 *handle;
    int64_t deadline_ms;
};

static int
wait_or_interrupt(void *ctx, int n)
{
    struct wait *w = ctx;
    (void)n;
    if (hf__monotonic_ms() < w->deadline_ms) {
        hf__sleep_ms(1);
        return 1;
    }
    sqlite3_interrupt(w->handle);
    return 0;
}

static int
wal_grew(void *ctx, sqlite3 *handle, const char *schema, int pages)
{
    struct hf_sqlite_db *db = ctx;
    (void)handle;
    if (!strcmp(schema, "main")) {
        /* A log begins anew only once all of it is in the database. */
        if (pages <= atomic_load(&db->wal_pages))
            db->settled_count++;
        if (pages < db->checkpoint_base) /* it began anew */
            db->checkpoint_base = 0;
        atomic_store(&db->wal_pages, pages);
    }
    return SQLITE_OK;
}

void
hf__checkpoint_install(struct hf_sqlite_db *db)
{
    /* No automatic checkpoint, and none at close: both are PASSIVE or unlink the WAL.
     */
    sqlite3_wal_autocheckpoint(db->handle, 0);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_hook(db->handle, wal_grew, db);
}

/* The size that the WAL keeps is journal_size_limit.  SQLite cuts it when the next
 * writer begins it anew; where nobody writes that is never, so it is emptied here.  All
 * its pages are copied: whoever is in the way of this costs nothing but the space. */
static void
cut_long_wal(struct hf_sqlite_db *db, struct wait *w)
{
    char name[4128];
    struct stat st;
    int logged = -1, copied = -1;
    int64_t limit = db->opt.journal_size_limit;
    snprintf(name, sizeof name, "%s-wal", db->path);
    if (limit == HF_NO_INT || limit < 0 || lstat(name, &st) || st.st_size <= limit)
        return;
    w->deadline_ms = hf__monotonic_ms() + TURN_MS;
    (void)sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE,
                                    &logged, &copied);
}

int
hf_sqlite_checkpoint(struct hf_sqlite_db *db, uint32_t truncate, uint32_t *ret_done,
                     struct hf_error *err)
{
    int due = db->opt.wal_autocheckpoint > 0 ? db->opt.wal_autocheckpoint : 1000;
    int64_t patience =
        atomic_load(&db->wal_pages) / OVERDUE_TIMES >= due ? OVERDUE_MS : TURN_MS;
    struct wait w = {db->handle, hf__monotonic_ms() + patience};
    int logged = -1, copied = -1;

    if (hf__forked(db))
        return hf__fork_check(db, err);
    if (!db->is_writer)
        return hf_error_set(err, HF_READ_ONLY, db->path,
                            "a handle that only reads makes no checkpoint");
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(db->handle, s));)
        if (sqlite3_stmt_busy(s))
            return hf_error_set(err, HF_MISUSE, db->path,
                                "a checkpoint while a statement of its handle is open");
    if (!sqlite3_get_autocommit(db->handle))
        return hf_error_set(err, HF_MISUSE, db->path,
                            "a checkpoint inside a transaction of its handle");
    int lost = hf__generation_check(db, HF__WHEN_IDLE, err);
    if (lost != HF_OK)
        return lost;
    if (db->journal == HF_JOURNAL_DELETE) {
        *ret_done = 1;
        return HF_OK;
    }
    *ret_done = 0;
    if (!hf__kernel_try(db)) /* another machine writes: it is put off */
        return HF_OK;
    w.deadline_ms = hf__monotonic_ms() + patience;
    sqlite3_busy_handler(db->handle, wait_or_interrupt, &w);
    int rc = sqlite3_wal_checkpoint_v2(db->handle, "main",
                                       truncate ? SQLITE_CHECKPOINT_TRUNCATE
                                                : SQLITE_CHECKPOINT_FULL,
                                       &logged, &copied);
    if (rc == SQLITE_OK && !truncate)
        cut_long_wal(db, &w);
    /* With no statement open, SQLite has cleared the interrupt before it returned. */
    hf__busy_install(db);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY && rc != SQLITE_INTERRUPT)
        return hf_sqlite_fail(db, rc, "checkpoint", err);
    *ret_done = rc == SQLITE_OK;
    db->settled_count += *ret_done;
    if (!*ret_done)
        hf__db_log(db, HF_LOG_DEBUG, "checkpoint_deferred",
                   "a reader or a writer is in the way; the next checkpoint does it");
    /* Whether the WAL begins anew is the next writer's doing, so what is due counts
     * from here; after a deferral, from where a quarter more has come. */
    db->checkpoint_base =
        atomic_load(&db->wal_pages) - (*ret_done ? 0 : due - due / 4 - 1);
    return HF_OK;
}

uint32_t
hf_sqlite_checkpoint_due(struct hf_sqlite_db *db)
{
    int pages = atomic_load(&db->wal_pages) - db->checkpoint_base;
    if (db->opt.wal_autocheckpoint <= 0 || pages < 0)
        return 0;
    return (uint32_t)(pages / db->opt.wal_autocheckpoint);
}

uint32_t
hf_sqlite_settled(const struct hf_sqlite_db *db)
{
    return db->settled_count;
}

int
hf_sqlite_checkpoint_if_due(struct hf_sqlite_db *db, struct hf_error *err)
{
    uint32_t done = 0;
    if (hf__forked(db))
        return hf__fork_check(db, err);
    if (!hf_sqlite_checkpoint_due(db))
        return HF_OK;
    return hf_sqlite_checkpoint(db, 0, &done, err);
}

void
hf__checkpoint_last(struct hf_sqlite_db *db)
{
    char name[4128];
    struct stat st;
    struct hf_error err;
    uint32_t done = 0;
    snprintf(name, sizeof name, "%s-wal", db->path);
    /* An empty WAL has nothing to give, and asking would touch the -shm. */
    if (db->journal != HF_JOURNAL_WAL || lstat(name, &st) || st.st_size == 0)
        return;
    if (hf_sqlite_checkpoint(db, 1, &done, &err) != HF_OK)
        hf__db_log(db, HF_LOG_WARNING, "checkpoint_failed",
                   "%s; the next open tries again", err.message);
    else if (done)
        hf__db_log(db, HF_LOG_DEBUG, "checkpoint", "at the last close");
}
