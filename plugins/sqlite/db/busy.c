/* busy.c - waiting for somebody else's lock: with a deadline, with jitter so that
 * several waiters do not come back in step, and until the caller cancels. */
#include "db.h"

#define SLICE_MS 20       /* how soon an interrupt is noticed */
#define LONG_WAIT_MS 2000 /* from then on the turns are long */

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
    db->busy.holder_asked = 0;
}

void
hf__busy_disarm(struct hf_sqlite_db *db)
{
    db->busy.deadline_ms = 0;
}

/* The log learns who was in the way, once a wait. */
static void
gave_up(struct hf_sqlite_db *db)
{
    char waited[32];
    if (db->busy.holder_asked)
        return;
    db->busy.holder_asked = 1;
    hf__lock_holder(db->path, db->busy.holder, sizeof db->busy.holder);
    hf__seconds_text(waited, sizeof waited, db->busy.waited_ms);
    hf__db_log(db, db->busy.waited_ms < LONG_WAIT_MS ? HF_LOG_DEBUG : HF_LOG_WARNING,
               "lock_timeout", "gave up after waiting %s for the lock held by %s",
               waited, db->busy.holder[0] ? db->busy.holder : "an unknown process");
}

int
hf__busy_turn(struct hf_sqlite_db *db)
{
    int64_t now = hf__monotonic_ms();
    int64_t waited = now - db->busy.start_ms;
    int64_t left = db->busy.wait_until_ms - now;
    db->busy.waited_ms = waited;
    if (left <= 0 || hf__busy_cancelled(db)) {
        if (left <= 0)
            gave_up(db);
        return 0;
    }
    /* Short turns while a normal transaction may end any moment, long ones after. */
    int64_t turn = waited < LONG_WAIT_MS ? 20 + hf__random_below(131)
                                         : 250 + hf__random_below(751);
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
        db->busy.holder_asked = 0;
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
    if (!db || hf__forked(db))
        return;
    atomic_fetch_add(&db->busy.interrupts, 1);
    /* While the handle is being exchanged nothing runs on it; never wait for that here.
     */
    if (pthread_mutex_trylock(&db->swap) == 0) {
        if (db->handle)
            sqlite3_interrupt(db->handle);
        pthread_mutex_unlock(&db->swap);
    }
}
