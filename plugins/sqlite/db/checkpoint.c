/* checkpoint.c - whole-or-nothing checkpoints (SPEC 3.3). */
#include "db.h"

static int
give_up(void *ctx, int n)
{
    (void)n;
    sqlite3_interrupt(ctx);
    return 0;
}

int
hf_sqlite_checkpoint(struct hf_sqlite_db *db, uint32_t truncate, uint32_t *ret_done,
                     struct hf_error *err)
{
    sqlite3_busy_handler(db->handle, give_up, db->handle);
    int rc = sqlite3_wal_checkpoint_v2(
        db->handle, NULL, truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_FULL,
        NULL, NULL);
    hf__busy_install(db);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY && rc != SQLITE_INTERRUPT)
        return hf_sqlite_fail(db, rc, "checkpoint", err);
    *ret_done = rc == SQLITE_OK;
    return HF_OK;
}

int
hf_sqlite_checkpoint_if_due(struct hf_sqlite_db *db, struct hf_error *err)
{
    uint32_t done = 0;
    if (db->opt.wal_autocheckpoint <= 0 ||
        atomic_load(&db->wal_pages) < db->opt.wal_autocheckpoint)
        return HF_OK;
    return hf_sqlite_checkpoint(db, 0, &done, err);
}
