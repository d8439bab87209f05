/* failover.c - a store whose primary was lost under it goes on in its fallback: who has
 * which handle, in which condition the store is, and the step from healthy to degraded
 * (SPEC 5.2).  failover_return.c is the way back. */
#include "failover.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- making and freeing ---- */

int
hf__failover_new(struct hf_store *store, const struct hf_store_options *options,
                 struct hf_error *err)
{
    const char *name = hf__config_get(store->config, "database.fallback");
    const char *dir = hf__config_get(store->config, "database.fallback_dir");
    struct hf__failover *fo;
    pthread_rwlockattr_t attr;
    struct hf__backend *fallback = NULL;
    int rc;

    if (!name || !strcmp(name, "none") || !strcmp(name, store->backend->name))
        return HF_OK;
    rc = hf__backend_find(store->config, name, &store->rt->host, &fallback, err);
    if (rc < 0) {
        const struct hf__config_entry *entry =
            hf__config_find(store->config, "database.fallback");
        if (entry && entry->file)
            return rc;
        /* Nobody asked for it: an installation without that module works as before. */
        hf__log(&store->rt->log, HF_LOG_WARNING, "no_fallback", NULL,
                "should the store be lost while it is open, nothing can be kept "
                "elsewhere: %s",
                err->message);
        return HF_OK;
    }
    if (fallback->defaulted[offsetof(struct hf_backend, session_hand_over) /
                            sizeof(void *)] ||
        fallback->ops.threads != HF_THREADS_PARALLEL)
        return hf_error_set(
            err, HF_PLUGIN, fallback->path,
            "backend %s cannot be a fallback: it hands no session over, "
            "or takes one call at a time; set database.fallback to none",
            name);
    fo = calloc(1, sizeof *fo);
    if (fo)
        fo->dir = dir && *dir ? strdup(dir) : hf__path_join(store->home, "fallback");
    if (!fo || !fo->dir) {
        free(fo);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    fo->fallback = fallback;
    fo->since = HF_NO_TIME;
    fo->interval_ms =
        hf__config_int(store->config, "database.fallback_retry_seconds") * 1000;
    fo->retry_ms = hf__monotonic_ms() + fo->interval_ms;
    fo->state = options->state;
    fo->state_ctx = options->state_ctx;
    pthread_mutex_init(&fo->lock, NULL);
    pthread_mutex_init(&fo->turn, NULL);
    /* Appends that follow each other without a gap must not keep the way back out. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&fo->gate, &attr);
    pthread_rwlockattr_destroy(&attr);
    store->failover = fo;
    return HF_OK;
}

void
hf__failover_free(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;

    if (!fo)
        return;
    pthread_mutex_destroy(&fo->lock);
    pthread_mutex_destroy(&fo->turn);
    pthread_rwlock_destroy(&fo->gate);
    free(fo->dir);
    free(fo);
    store->failover = NULL;
}

void
hf__failover_close(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;

    /* What was taken away since the last call is not found out by anybody later. */
    if (!store->read_only)
        hf__failover_look(store);
    (void)hf__primary_set(store, NULL, 0, NULL);
    if (fo->back)
        fo->fallback->ops.close(fo->back);
    fo->back = NULL;
}

void
hf__failover_interrupt(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    struct hf__primary *p = hf__primary_get(store);
    void *back;

    if (p && !store->backend
                  ->defaulted[offsetof(struct hf_backend, interrupt) / sizeof(void *)])
        store->backend->ops.interrupt(p->handle);
    hf__primary_put(store, &p);
    pthread_mutex_lock(&fo->lock);
    back = fo->back;
    pthread_mutex_unlock(&fo->lock);
    if (back)
        fo->fallback->ops.interrupt(back);
}

/* ---- handles ---- */

struct hf__primary *
hf__primary_get(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    struct hf__primary *p;

    pthread_mutex_lock(&fo->lock);
    p = fo->primary;
    if (p)
        p->refs++;
    pthread_mutex_unlock(&fo->lock);
    return p;
}

void
hf__primary_put(struct hf_store *store, struct hf__primary **p)
{
    struct hf__primary *mine = *p;
    uint32_t refs;

    *p = NULL;
    if (!mine)
        return;
    pthread_mutex_lock(&store->failover->lock);
    refs = --mine->refs;
    pthread_mutex_unlock(&store->failover->lock);
    if (refs)
        return;
    store->backend->ops.close(mine->handle);
    free(mine);
}

int
hf__primary_set(struct hf_store *store, void *handle, uint32_t read_only,
                struct hf_error *err)
{
    struct hf__failover *fo = store->failover;
    struct hf__primary *p = NULL, *old;

    if (handle) {
        p = calloc(1, sizeof *p);
        if (!p)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        p->handle = handle;
        p->refs = 1;
        p->read_only = read_only;
    }
    pthread_mutex_lock(&fo->lock);
    old = fo->primary;
    fo->primary = p;
    pthread_mutex_unlock(&fo->lock);
    hf__primary_put(store, &old);
    return HF_OK;
}

/* Whether a file of the fallback lies in its folder. */
int
hf__back_waits(const struct hf__failover *fo)
{
    DIR *dir = opendir(fo->dir);
    struct dirent *e;
    int found = 0;

    while (dir && !found && (e = readdir(dir))) {
        size_t len = strlen(e->d_name);
        found =
            len > 6 && e->d_name[0] != '.' && !strcmp(e->d_name + len - 6, ".jsonl");
    }
    if (dir)
        closedir(dir);
    return found;
}

/* The fallback's settings, but in the folder of database.fallback_dir. */
static int
back_settings(struct hf_store *store, struct hf_setting **ret, struct hf_error *err)
{
    struct hf__failover *fo = store->failover;
    int rc = hf__settings_make(store->config, fo->fallback->name,
                               fo->fallback->ops.options, ret, err);

    for (struct hf_setting *s = *ret; rc == HF_OK && s->key; s++)
        if (!strcmp(s->key, "dir")) {
            char *dir = strdup(fo->dir);
            if (!dir)
                return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
            free((char *)(uintptr_t)s->value);
            s->value = dir;
        }
    return rc;
}

int
hf__back_open(struct hf_store *store, struct hf_error *err)
{
    struct hf__failover *fo = store->failover;
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_setting *settings = NULL, *database = NULL;
    void *back = NULL;
    int rc = HF_OK;

    pthread_mutex_lock(&fo->lock);
    if (fo->back)
        goto out;
    if (store->read_only && !hf__back_waits(fo)) {
        rc = HF_NOT_FOUND;
        goto out;
    }
    rc = back_settings(store, &settings, err);
    if (rc == HF_OK)
        rc = hf__settings_database(store->config, &database, err);
    if (rc == HF_OK) {
        how.home = store->home;
        how.root = store->rt->where.root;
        how.profile = store->profile;
        how.settings = settings;
        how.database = database;
        how.read_only = store->read_only;
        rc = fo->fallback->ops.open(&store->rt->host, &how, &back, err);
    }
    if (rc == HF_OK)
        fo->back = back;
    hf__settings_free(&settings);
    hf__settings_free(&database);
out:
    pthread_mutex_unlock(&fo->lock);
    return rc;
}

/* ---- the condition ---- */

uint32_t
hf__condition(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    uint32_t condition;

    pthread_mutex_lock(&fo->lock);
    condition = fo->condition;
    pthread_mutex_unlock(&fo->lock);
    return condition;
}

static int
count_session(void *ctx, const struct hf_session *session)
{
    (void)session;
    ++*(uint64_t *)ctx;
    return 0;
}

uint64_t
hf__pending_count(struct hf_store *store)
{
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    struct hf_error ignored;
    uint64_t n = 0;

    all.view = HF_VIEW_ALL;
    if (store->failover->back &&
        HF__BACK(store, session_list, &all, count_session, &n, &ignored) < 0)
        return n;
    return n;
}

void
hf__condition_set(struct hf_store *store, uint32_t condition, const char *reason)
{
    struct hf__failover *fo = store->failover;
    struct hf_state state = HF_INIT(struct hf_state);
    size_t n;

    pthread_mutex_lock(&fo->lock);
    if (condition == HF_HEALTHY)
        fo->since = HF_NO_TIME;
    else if (fo->condition == HF_HEALTHY)
        fo->since = hf__time_or_now(HF_NO_TIME);
    fo->condition = condition;
    if (reason) {
        /* Cut at a character where it is longer. */
        n = strnlen(reason, sizeof fo->reason);
        if (n == sizeof fo->reason)
            for (n--; n && ((unsigned char)reason[n] & 0xC0u) == 0x80u; n--)
                ;
        memcpy(fo->reason, reason, n);
        fo->reason[n] = '\0';
    }
    state.condition = condition;
    state.since = fo->since;
    memcpy(state.reason, fo->reason, sizeof state.reason);
    pthread_mutex_unlock(&fo->lock);
    state.pending = hf__pending_count(store);
    if (fo->state)
        fo->state(fo->state_ctx, &state);
}

int
hf__is_union(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    struct hf_error ignored;

    /* Another process may be degraded while this one is well. */
    if ((store->read_only || hf__condition(store) == HF_HEALTHY) && !hf__back_waits(fo))
        return 0;
    return hf__back_open(store, &ignored) == HF_OK;
}

/* ---- healthy to degraded ---- */

struct salvage {
    struct hf_store *store;
    uint64_t sessions, messages;
};

static int
salvage_take(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    struct salvage *salvage = ctx;
    struct hf_transferred done = HF_INIT(struct hf_transferred);
    int rc = HF__BACK(salvage->store, session_merge, what, &done, err);

    if (rc == HF_OK) {
        salvage->sessions++;
        salvage->messages += done.messages;
    }
    return rc;
}

/* Writes to the fallback what only the lost files still have. */
static int
salvage(struct hf_store *store, struct hf__primary *p, struct hf_error *err)
{
    struct salvage salvage = {.store = store};
    int rc = HF__AT(store, p, unsettled, salvage_take, &salvage, err);

    if (rc < 0)
        hf__log(&store->rt->log, HF_LOG_ERROR, "salvage_failed", store->failover->dir,
                "what was committed to the lost files could not all be written to %s: "
                "%s; it is tried again while the store is open",
                store->failover->dir, err->message);
    else if (salvage.sessions)
        hf__log(&store->rt->log, HF_LOG_INFO, "salvaged", store->failover->dir,
                "%llu messages of %llu sessions that only the lost files had are in %s",
                (unsigned long long)salvage.messages,
                (unsigned long long)salvage.sessions, store->failover->dir);
    store->failover->salvaged = rc == HF_OK;
    return rc;
}

static void
degrade(struct hf_store *store, const char *reason)
{
    struct hf__failover *fo = store->failover;

    fo->retry_ms = hf__monotonic_ms() + fo->interval_ms;
    hf__condition_set(store, HF_DEGRADED, reason);
    hf__log(
        &store->rt->log, HF_LOG_ERROR, "degraded", fo->dir,
        "what is written now is kept in %s until the store can be used again, which "
        "is tried every %lld s: %s",
        fo->dir, (long long)(fo->interval_ms / 1000), reason);
}

/* A damaged file counts when the backend itself has given it up. */
static int
means_lost(struct hf_store *store, struct hf__primary *p, int rc)
{
    struct hf_state state = HF_INIT(struct hf_state);
    struct hf_error ignored;

    if (rc == HF_WAL_LOST || rc == HF_REPLACED)
        return 1;
    return rc == HF_CORRUPT && HF__AT(store, p, state, &state, &ignored) == HF_OK &&
           state.condition == HF_LOST;
}

int
hf__failover_lost(struct hf_store *store, struct hf__primary *p, int rc,
                  struct hf_error *err)
{
    struct hf__failover *fo = store->failover;
    struct hf_error why = *err;
    int lost = 1;

    if (!means_lost(store, p, rc))
        return 0;
    pthread_mutex_lock(&fo->turn);
    if (fo->primary == p && hf__condition(store) == HF_HEALTHY) {
        if (hf__back_open(store, err) == HF_OK) {
            /* First what is older: order within a session is that of the file. */
            (void)salvage(store, p, err);
            degrade(store, why.message);
        } else {
            struct hf_error both = *err;
            lost = 0; /* the caller gets the loss */
            hf_error_set(err, rc, why.path,
                         "%.900s; the fallback cannot be used: %.900s", why.message,
                         both.message);
        }
    }
    pthread_mutex_unlock(&fo->turn);
    return lost;
}

void
hf__failover_look(struct hf_store *store)
{
    struct hf__primary *p = hf__primary_get(store);
    struct hf_state state = HF_INIT(struct hf_state);
    struct hf_error err;

    if (p && !p->read_only && hf__condition(store) == HF_HEALTHY &&
        HF__AT(store, p, state, &state, &err) == HF_OK && state.condition == HF_LOST) {
        hf_error_set(&err, HF_WAL_LOST, NULL, "%s", state.reason);
        (void)hf__failover_lost(store, p, HF_WAL_LOST, &err);
    } else if (p && hf__condition(store) != HF_HEALTHY && !store->failover->salvaged &&
               !p->read_only) {
        pthread_mutex_lock(&store->failover->turn);
        (void)salvage(store, p, &err);
        pthread_mutex_unlock(&store->failover->turn);
    }
    hf__primary_put(store, &p);
}

/* ---- at the open ---- */

int
hf__failover_opened(struct hf_store *store, int rc, struct hf_error *err)
{
    struct hf__failover *fo = store->failover;
    struct hf__reopen read = {.read_only = 1};
    struct hf_error why, ignored;
    uint64_t merged = 0, left = 0;
    void *handle = NULL;

    if (rc == HF_OK) {
        handle = store->handle;
        store->handle = NULL;
        rc = hf__primary_set(store, handle, store->read_only, err);
        if (rc < 0) {
            store->backend->ops.close(handle);
            return rc;
        }
        if (store->read_only || !hf__back_waits(fo))
            return HF_OK;
        /* What an earlier process left.  It waits on if that does not work now. */
        if (hf__back_open(store, &why) == HF_OK) {
            (void)hf__failover_merge(store, handle, &merged, &left, &why);
            if (merged)
                hf__log(&store->rt->log, HF_LOG_INFO, "recovered", fo->dir,
                        "%llu sessions that waited in %s are in the store again",
                        (unsigned long long)merged, fo->dir);
        } else {
            hf__log(&store->rt->log, HF_LOG_WARNING, "fallback_unreadable", fo->dir,
                    "sessions wait in %s, which cannot be read: %s", fo->dir,
                    why.message);
        }
        return HF_OK;
    }
    if (store->read_only ||
        (rc != HF_WAL_LOST && rc != HF_REPLACED && rc != HF_CORRUPT))
        return rc;
    why = *err;
    if (hf__back_open(store, &ignored) < 0) {
        hf_error_set(err, rc, why.path, "%.900s; the fallback cannot be used: %.900s",
                     why.message, ignored.message);
        return rc;
    }
    if (hf__handle_open(store, &read, &handle, &ignored) == HF_OK &&
        hf__primary_set(store, handle, 1, &ignored) < 0)
        store->backend->ops.close(handle);
    fo->salvaged = 1; /* nothing was written yet */
    degrade(store, why.message);
    return HF_OK;
}
