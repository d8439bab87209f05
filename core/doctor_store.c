/* doctor_store.c - the backend: whether it loads, whether its store opens read-only, and
 * what its own check says, within a bound where that would keep others waiting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor.h"

#define BOUND_MS 200
#define LARGE ((off_t)256 << 20)

/* Interrupts a store's call after BOUND_MS, unless told to stop before. */
struct timer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct timespec until;
    struct hf_store *store;
    int stop;
};

static void *
timer_main(void *arg)
{
    struct timer *t = arg;
    int rc = 0;

    pthread_mutex_lock(&t->lock);
    while (!t->stop && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&t->wake, &t->lock, &t->until);
    /* Again and again: one interrupt may fall between two statements of the check. */
    while (!t->stop) {
        pthread_mutex_unlock(&t->lock);
        hf_store_interrupt(t->store);
        hf__sleep_ms(5);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static int
timer_start(struct timer *t, struct hf_store *store)
{
    pthread_condattr_t attr;
    int rc;

    memset(t, 0, sizeof *t);
    t->store = store;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &attr);
    pthread_condattr_destroy(&attr);
    clock_gettime(CLOCK_MONOTONIC, &t->until);
    t->until.tv_nsec += BOUND_MS * 1000000L;
    if (t->until.tv_nsec >= 1000000000L) {
        t->until.tv_nsec -= 1000000000L;
        t->until.tv_sec++;
    }
    rc = pthread_create(&t->thread, NULL, timer_main, t);
    if (rc) {
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
    }
    return rc;
}

static void
timer_end(struct timer *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = 1;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
}

static int
relay(void *ctx, const struct hf_finding *f)
{
    struct hf__doctor *d = ctx;
    const char *code = f->code ? f->code : "check";

    /* The journal row says this one, and needs to know the other. */
    if (d->sqlite && strcmp(code, "no_store") == 0)
        return 0;
    if (strcmp(code, "sqlite_wal_reset") == 0)
        d->vulnerable = 1;
    hf__doctor_add(d,
                   strncmp(code, "sqlite_", 7) == 0 ? HF__DR_VERSION : HF__DR_HEALTH,
                   f->severity, f->fixable, code, f->path, f->remedy, "%s",
                   f->text ? f->text : code);
    return 0;
}

/* Whether a full probe could keep others from writing, or would be long beside them. */
static int
must_be_bounded(const struct hf__doctor *d)
{
    const struct hf__doctor_files *f = &d->files;

    return d->sqlite && !d->deep && f->holders.n > 0 &&
           (f->kind == HF__MAIN_ROLLBACK || (f->there[0] && f->st[0].st_size > LARGE));
}

static void
check(struct hf__doctor *d, struct hf_store *store)
{
    int bounded = must_be_bounded(d), rc;
    struct hf_error err = {0};
    struct timer timer;

    /* Without leave to start a thread there is no timer, so nothing long is begun. */
    if (bounded && (!d->rt->may_thread || timer_start(&timer, store) != 0)) {
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_INFO, 0, "health_bounded",
                       d->files.path[0], "holdfast doctor --deep runs all of it",
                       "the health probe was left out while other processes hold the "
                       "store");
        return;
    }
    rc = hf_store_check(store, d->deep ? HF_CHECK_DEEP : HF_CHECK_FULL, relay, d, &err);
    if (bounded)
        timer_end(&timer);
    if (rc == HF_CANCELLED && bounded)
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_INFO, 0, "health_bounded",
                       d->files.path[0], "holdfast doctor --deep runs all of it",
                       "the health probe was ended after %d ms, since other processes "
                       "hold the store",
                       BOUND_MS);
    else if (rc == HF_CORRUPT)
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_FAILURE, 0, "store_corrupt",
                       err.path[0] ? err.path : d->files.path[0],
                       "copy the files before anything else; holdfast sessions recover "
                       "--source reads such a copy",
                       "%s", err.message);
    else if (rc != HF_OK)
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_WARNING, 0, "health_unchecked",
                       err.path[0] ? err.path : NULL, NULL,
                       "the health could not be checked: %s", err.message);
}

static void
state_rows(struct hf__doctor *d, struct hf_store *store)
{
    struct hf_state state = HF_INIT(struct hf_state);
    struct hf_stats stats = HF_INIT(struct hf_stats);
    struct hf_error err = {0};

    if (hf_store_state(store, &state, &err) != HF_OK)
        return;
    if (state.condition != HF_HEALTHY)
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_WARNING, 0, "store_degraded", d->home,
                       NULL, "the store is degraded: %s",
                       state.reason[0] ? state.reason : "no reason given");
    if (state.pending)
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_WARNING, 0, "fallback_pending", d->home,
                       "the next gateway that opens the store merges them",
                       "%llu sessions wait in the fallback",
                       (unsigned long long)state.pending);
    /* The header of a file that this process has open is not read. */
    if (d->files.kind == HF__MAIN_LIVE &&
        hf_store_stats(store, &stats, NULL, NULL, &err) == HF_OK) {
        if (strcmp(stats.journal_mode, "wal") == 0)
            d->files.kind = HF__MAIN_WAL;
        else if (strcmp(stats.journal_mode, "delete") == 0)
            d->files.kind = HF__MAIN_ROLLBACK;
    }
}

static void
open_failed(struct hf__doctor *d, const struct hf_error *err)
{
    const char *path = err->path[0] ? err->path : NULL;

    switch (err->code) {
    case HF_CORRUPT:
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_FAILURE, 0, "store_corrupt", path, NULL,
                       "%s", err->message);
        break;
    case HF_BUSY:
    case HF_IO:
    case HF_READ_ONLY:
    case HF_NO_MEMORY:
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_WARNING, 0, "store_unchecked", path, NULL,
                       "the store could not be looked at: %s", err->message);
        break;
    default:
        hf__doctor_add(d, HF__DR_HEALTH, HF_SEV_FAILURE, 0, "store_refused", path, NULL,
                       "the store does not open: %s", err->message);
        break;
    }
}

void
hf__doctor_store(struct hf__doctor *d)
{
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    const char *name = hf__config_get(d->config, "database.backend");
    struct hf__backend *backend = NULL;
    struct hf_store *store = NULL;
    struct hf_error err = {0};

    if (hf__backend_find(d->config, name ? name : "sqlite", &d->rt->host, &backend,
                         &err) != HF_OK) {
        hf__doctor_add(d, HF__DR_BACKEND, HF_SEV_FAILURE, 0, "backend_unloadable",
                       err.path[0] ? err.path : NULL, "holdfast backends", "%s",
                       err.message);
        return;
    }
    hf__doctor_add(d, HF__DR_BACKEND, HF_SEV_OK, 0, "backend", backend->path, NULL,
                   "backend %s %s", backend->name,
                   backend->ops.version ? backend->ops.version : "?");
    if (d->refused)
        return;
    options.profile = d->profile;
    options.read_only = 1;
    if (hf_store_open(d->rt, &options, &store, &err) != HF_OK) {
        open_failed(d, &err);
        return;
    }
    state_rows(d, store);
    check(d, store);
    hf_store_close(&store);
}
