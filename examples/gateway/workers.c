/* workers.c - a fixed number of threads, each with a queue of its own.
 *
 * Every event of a session goes to the same thread, chosen by a hash of profile and
 * session: that alone keeps the order of a conversation, whatever the threads do. */
#include "gateway.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE_MAX = 256 };

struct worker {
    struct workers *all;
    pthread_t thread;
    int started;
    pthread_cond_t wake; /* an event came, or the end */
    struct event *first, **last;
    size_t queued;
};

struct workers {
    struct stores *stores;
    pthread_mutex_t lock;  /* guards the queues and what follows */
    pthread_cond_t moved;  /* an event was done: there is room, or nothing is left */
    size_t pending;        /* queued or being done */
    int cancelled, stopping;
    int n;
    struct worker worker[];
};

void
event_refuse(const struct event *event)
{
    struct hf_error err;

    hf_error_set(&err, HF_CANCELLED, NULL, "the gateway is ending; send it again");
    output_failure(event, &err);
}

static void *
worker_main(void *arg)
{
    struct worker *self = arg;
    struct workers *all = self->all;
    struct event *event;
    int cancelled;

    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (!self->first && !all->stopping)
            pthread_cond_wait(&self->wake, &all->lock);
        event = self->first;
        if (!event)
            break;
        self->first = event->next;
        if (!self->first)
            self->last = &self->first;
        self->queued--;
        cancelled = all->cancelled;
        pthread_mutex_unlock(&all->lock);
        if (cancelled)
            event_refuse(event);
        else
            event_handle(all->stores, event);
        event_free(event);
        pthread_mutex_lock(&all->lock);
        all->pending--;
        pthread_cond_broadcast(&all->moved);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

struct workers *
workers_new(struct stores *stores, int n_threads)
{
    struct workers *all =
        calloc(1, sizeof *all + (size_t)n_threads * sizeof all->worker[0]);
    pthread_condattr_t attr;

    if (!all)
        return NULL;
    all->stores = stores;
    all->n = n_threads;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&all->moved, &attr);
    pthread_condattr_destroy(&attr);
    for (int i = 0; i < n_threads; i++) {
        struct worker *worker = &all->worker[i];
        worker->all = all;
        worker->last = &worker->first;
        pthread_cond_init(&worker->wake, NULL);
    }
    for (int i = 0; i < n_threads; i++) {
        struct worker *worker = &all->worker[i];
        errno = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (errno) {
            workers_stop(&all);
            return NULL;
        }
        worker->started = 1;
    }
    return all;
}

static uint32_t
hash_add(uint32_t hash, const char *bytes, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

static struct timespec
deadline(double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

int
workers_give(struct workers *all, struct event *event, double seconds)
{
    struct timespec until = deadline(seconds);
    struct hf_text profile = hf_str(event->profile);
    uint32_t hash = hash_add(2166136261u, profile.ptr, profile.len);
    struct worker *worker;
    int rc = 0;

    hash = hash_add(hash, event->session.ptr, event->session.len);
    worker = &all->worker[hash % (uint32_t)all->n];
    pthread_mutex_lock(&all->lock);
    while (worker->queued >= QUEUE_MAX && rc == 0)
        rc = pthread_cond_timedwait(&all->moved, &all->lock, &until);
    if (worker->queued < QUEUE_MAX) {
        *worker->last = event;
        worker->last = &event->next;
        worker->queued++;
        all->pending++;
        pthread_cond_signal(&worker->wake);
        rc = 0;
    }
    pthread_mutex_unlock(&all->lock);
    return rc ? -1 : 0;
}

int
workers_wait(struct workers *all, double seconds)
{
    struct timespec until = deadline(seconds > 0 ? seconds : 0);
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    while (all->pending && rc == 0)
        rc = seconds < 0 ? pthread_cond_wait(&all->moved, &all->lock)
                         : pthread_cond_timedwait(&all->moved, &all->lock, &until);
    rc = all->pending ? -1 : 0;
    pthread_mutex_unlock(&all->lock);
    return rc;
}

void
workers_cancel(struct workers *all)
{
    pthread_mutex_lock(&all->lock);
    all->cancelled = 1;
    pthread_mutex_unlock(&all->lock);
}

void
workers_stop(struct workers **workers)
{
    struct workers *all = *workers;

    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->stopping = 1;
    for (int i = 0; i < all->n; i++)
        pthread_cond_signal(&all->worker[i].wake);
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < all->n; i++) {
        if (all->worker[i].started)
            pthread_join(all->worker[i].thread, NULL);
        pthread_cond_destroy(&all->worker[i].wake);
    }
    pthread_cond_destroy(&all->moved);
    pthread_mutex_destroy(&all->lock);
    free(all);
    *workers = NULL;
}
