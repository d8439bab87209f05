/* upkeep.c - what is due, done in the thread of the store instead of by the caller who
 * wrote: the checkpoint, the search index, this kernel's claim, and a look at the files
 * of a handle that is idle. */
#include <errno.h>
#include <time.h>

#include "private.h"

#define LOOK_MS 1000     /* between two looks at the files */
#define TURN_MS 200      /* how long a turn waits for the connection */
#define WHILE_BUSY_MS 50 /* until the next try, when a writer kept it */

/* A writer may hold the connection for as long as its patience: the thread has more
 * than this store's upkeep to do. */
static int
lock_within(pthread_mutex_t *lock, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_mutex_timedlock(lock, &until) == 0;
}

int
hf__op_upkeep(void *store, uint32_t *ret_again_ms, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    int64_t now;
    int rc = HF_OK;

    *ret_again_ms = LOOK_MS;
    if (!st->db || st->read_only)
        return HF_OK;
    (void)hf_sqlite_kernel_renew(st->db, err); /* the next write says why not */
    if (!lock_within(&st->lock, TURN_MS)) {
        *ret_again_ms = WHILE_BUSY_MS;
        return HF_OK;
    }
    now = hf__monotonic_ms();
    if (now - st->looked_ms >= LOOK_MS) {
        st->looked_ms = now;
        rc = hf_sqlite_compare(st->db, err);
    }
    if (rc == HF_OK)
        rc = hf_sqlite_checkpoint_if_due(st->db, err);
    if (rc == HF_OK && st->fts_stale && !st->fts_heal_off) {
        rc = hf__fts_heal_step(st, err);
        *ret_again_ms = WHILE_BUSY_MS;
    }
    pthread_mutex_unlock(&st->lock);
    return rc;
}

void
hf__checkpoint_after_write(struct hf_sqlite_store *st)
{
    struct hf_error ignored;

    /* The thread may get no turn between writers who follow each other closely. */
    if (st->may_thread && hf_sqlite_checkpoint_due(st->db) < 4)
        return;
    /* What is committed is committed: a checkpoint that fails is tried again later. */
    (void)hf_sqlite_checkpoint_if_due(st->db, &ignored);
}
