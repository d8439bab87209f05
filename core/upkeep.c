/* upkeep.c - the thread of an open store: what is due (checkpoints, indexes, a look at
 * the files) is done there soon after a write instead of by the caller who wrote.  Only
 * where the embedder allows threads, and not for stores that are only read. */
#include "internal.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define IDLE_MS 1000 /* the longest sleep */
#define GATHER_MS 20 /* after a write: what follows at once shares the turn */

struct hf__upkeep {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* waits by CLOCK_MONOTONIC */
    atomic_uint dirty;      /* something was written since the last turn began */
    uint32_t stop;          /* under lock */
};

/* Sleeps until MS have passed or the store is closed; with FOR_WRITES until something
 * was written, too.  The lock is held. */
static void
wait_ms(struct hf__upkeep *u, uint32_t ms, int for_writes)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!u->stop && !(for_writes && atomic_load(&u->dirty)))
        if (pthread_cond_timedwait(&u->changed, &u->lock, &until))
            return;
}

uint32_t
hf__upkeep_run(struct hf_store *store)
{
    struct hf_error ignored;
    uint32_t again = IDLE_MS;

    if (hf__guard_enter(store, &ignored) < 0)
        return IDLE_MS;
    /* What fails is due again next time, and who reads or writes hears of it. */
    (void)HF__OP(store, upkeep, &again, &ignored);
    hf__guard_leave(store);
    return again;
}

static void *
upkeep_main(void *arg)
{
    struct hf_store *store = arg;
    struct hf__upkeep *u = store->upkeep;
    uint32_t again = IDLE_MS;

    pthread_mutex_lock(&u->lock);
    for (;;) {
        wait_ms(u, again < IDLE_MS ? again : IDLE_MS, 1);
        /* Also between two turns of a backend that always wants another one. */
        wait_ms(u, GATHER_MS, 0);
        if (u->stop)
            break;
        atomic_store(&u->dirty, 0); /* before the turn: later writes want the next */
        pthread_mutex_unlock(&u->lock);
        again = hf__upkeep_run(store);
        pthread_mutex_lock(&u->lock);
    }
    pthread_mutex_unlock(&u->lock);
    return NULL;
}

static int
thread_create(struct hf_store *store)
{
    sigset_t all, before;
    int rc;

    /* The host program's handlers run in its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&store->upkeep->thread, NULL, upkeep_main, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void
hf__upkeep_start(struct hf_store *store)
{
    struct hf__upkeep *u;
    pthread_condattr_t attr;

    if (!store->rt->may_thread || store->read_only)
        return;
    u = calloc(1, sizeof *u);
    if (!u)
        return;
    pthread_mutex_init(&u->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&u->changed, &attr);
    pthread_condattr_destroy(&attr);
    store->upkeep = u; /* before the thread looks for it */
    /* A backend does what is long overdue itself, so that nothing depends on this. */
    if (thread_create(store)) {
        store->upkeep = NULL;
        pthread_cond_destroy(&u->changed);
        pthread_mutex_destroy(&u->lock);
        free(u);
    }
}

void
hf__upkeep_wake(struct hf_store *store)
{
    struct hf__upkeep *u = store->upkeep;

    /* Only the first write since the last turn has to wake it. */
    if (!u || atomic_exchange(&u->dirty, 1))
        return;
    pthread_mutex_lock(&u->lock);
    pthread_cond_signal(&u->changed);
    pthread_mutex_unlock(&u->lock);
}

void
hf__upkeep_stop(struct hf_store *store)
{
    struct hf__upkeep *u = store->upkeep;

    if (!u)
        return;
    pthread_mutex_lock(&u->lock);
    u->stop = 1;
    pthread_cond_signal(&u->changed);
    pthread_mutex_unlock(&u->lock);
    pthread_join(u->thread, NULL);
    store->upkeep = NULL;
    pthread_cond_destroy(&u->changed);
    pthread_mutex_destroy(&u->lock);
    free(u);
}
