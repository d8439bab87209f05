/* guard.c - the thread model of a backend as locks, and who may not call at all: a
 * child of fork(), and an emit callback that uses the handle it was called from. */
#include "internal.h"

#include <unistd.h>

/* The stores whose calls this thread is in.  Without it, a callback that calls back
 * would wait for its own lock for ever. */
#define DEPTH_MAX 16
static _Thread_local const struct hf_store *inside[DEPTH_MAX];
static _Thread_local unsigned depth;

static int
is_inside(const struct hf_store *store)
{
    int serial = store->backend->ops.threads == HF_THREADS_SERIAL;

    for (unsigned i = 0; i < depth; i++)
        if (inside[i] == store || (serial && inside[i]->backend == store->backend))
            return 1;
    return 0;
}

static pthread_mutex_t *
lock_of(struct hf_store *store)
{
    switch (store->backend->ops.threads) {
    case HF_THREADS_PARALLEL:
        return NULL;
    case HF_THREADS_PER_STORE:
        return &store->lock;
    default: /* a model that this core does not know is the strictest */
        return &store->backend->serial;
    }
}

int
hf__guard_enter(struct hf_store *store, struct hf_error *err)
{
    pthread_mutex_t *lock;

    if (store->pid != (int)getpid())
        return hf_error_set(err, HF_MISUSE, NULL,
                            "this store was opened by process %d and must not cross "
                            "fork(): open it again in the child",
                            store->pid);
    if (is_inside(store))
        return hf_error_set(err, HF_MISUSE, NULL,
                            "an emit callback used the store that called it: collect "
                            "first, then call");
    if (depth == DEPTH_MAX)
        return hf_error_set(err, HF_MISUSE, NULL,
                            "more than %d stores are in use inside each other's emit "
                            "callbacks",
                            DEPTH_MAX);
    lock = lock_of(store);
    if (lock)
        pthread_mutex_lock(lock);
    inside[depth++] = store;
    return HF_OK;
}

void
hf__guard_leave(struct hf_store *store)
{
    pthread_mutex_t *lock = lock_of(store);

    depth--; /* calls of one thread nest, so it is the topmost */
    if (lock)
        pthread_mutex_unlock(lock);
}
