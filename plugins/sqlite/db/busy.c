/* busy.c - waiting for somebody else's lock: with a deadline, with jitter so that several
 * waiters do not come back in step, and until the caller cancels. */
#include "db.h"

#define SLICE_MS 20 /* how soon an interrupt is noticed */

void
hf__busy_new_call(struct hf_sqlite_db *db)
{
    /* Inside a transaction the call began with it. */
    if (!db->handle || sqlite3_get_autocommit(db->handle))
        db->busy.interrupts_seen = atomic_load(&db->busy.interrupts);
}

int
hf__busy_cancelled(const struct hf_sqlite_db *db)
{
    return atomic_load(&db->busy.interrupts) != db->busy.interrupts_seen;
}

void
hf__busy_arm(struct hf_sqlite_db *db, int64_t patience_ms)
{
    if (patience_ms < 0)
        patience_ms = db->opt.patience_ms;
    db->busy.start_ms = hf__monotonic_ms();
    db->busy.deadline_ms = db->busy.start_ms + patience_ms;
    db->busy.wait_until_ms = db->busy.deadline_ms;
    db->busy.waited_ms = 0;
    db->busy.holder[0] = '\0';
}

void
hf__busy_disarm(struct hf_sqlite_db *db)
{
    db->busy.deadline_ms = 0;
}

int64_t
hf__busy_left(const struct hf_sqlite_db *db)
{
    int64_t left = db->busy.wait_until_ms - hf__monotonic_ms();
    return left > 0 ? left : 0;
}

int
hf__busy_turn(struct hf_sqlite_db *db)
{
    int64_t now = hf__monotonic_ms();
    int64_t waited = now - db->busy.start_ms;
    int64_t left = db->busy.wait_until_ms - now;
    db->busy.waited_ms = waited;
    if (left <= 0 || hf__busy_cancelled(db))
        return 0;
    /* Short turns while a normal transaction may end any moment, long ones after. */
    int64_t turn = waited < 2000 ? 20 + hf__random_below(131) : 250 + hf__random_below(751);
    int64_t until = now + (turn < left ? turn : left);
    while (!hf__busy_cancelled(db) && (now = hf__monotonic_ms()) < until)
        hf__sleep_ms(until - now < SLICE_MS ? until - now : SLICE_MS);
    db->busy.waited_ms = hf__monotonic_ms() - db->busy.start_ms;
    return !hf__busy_cancelled(db);
}

/* SQLite's busy handler.  N is 0 at the first call of each wait. */
static int
busy_handler(void *ctx, int n)
{
    struct hf_sqlite_db *db = ctx;
    if (n == 0 && db->busy.deadline_ms == 0) {
        db->busy.start_ms = hf__monotonic_ms();
        db->busy.wait_until_ms = db->busy.start_ms + db->opt.patience_ms;
        db->busy.holder[0] = '\0';
    }
    return hf__busy_turn(db);
}

int
hf__busy_install(struct hf_sqlite_db *db)
{
    return sqlite3_busy_handler(db->handle, busy_handler, db);
}

void
hf_sqlite_interrupt(struct hf_sqlite_db *db)
{
    if (db) {
        atomic_fetch_add(&db->busy.interrupts, 1);
        sqlite3_interrupt(db->handle);
    }
}
