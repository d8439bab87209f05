/* failover_return.c - the way back (SPEC 5.3, 5.4): the primary is tried again, and
 * what waits in the fallback is handed over to it, session by session. */
#include "failover.h"

#include <stdlib.h>
#include <string.h>

/* ---- merging ---- */

struct pending {
    char **ids, **parents;
    size_t *lens;
    size_t n, cap;
    int failed;
};

static char *
text_copy(const struct hf_text *t)
{
    char *s = malloc((size_t)t->len + 1);

    if (s) {
        memcpy(s, t->ptr, (size_t)t->len);
        s[t->len] = '\0';
    }
    return s;
}

static int
pending_add(void *ctx, const struct hf_session *session)
{
    struct pending *p = ctx;

    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        char **ids = realloc(p->ids, cap * sizeof *ids);
        if (ids)
            p->ids = ids;
        char **parents = realloc(p->parents, cap * sizeof *parents);
        if (parents)
            p->parents = parents;
        size_t *lens = realloc(p->lens, cap * sizeof *lens);
        if (lens)
            p->lens = lens;
        if (!ids || !parents || !lens)
            return p->failed = 1;
        p->cap = cap;
    }
    p->lens[p->n] = (size_t)session->id.len;
    p->parents[p->n] = session->parent_id.ptr ? text_copy(&session->parent_id) : NULL;
    p->ids[p->n] = text_copy(&session->id);
    if (!p->ids[p->n])
        return p->failed = 1;
    p->n++;
    return 0;
}

static void
pending_free(struct pending *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->ids[i]);
        free(p->parents[i]);
    }
    free(p->ids);
    free(p->parents);
    free(p->lens);
}

/* Whether the parent of session I is still to come. */
static int
parent_waits(const struct pending *p, const unsigned char *done, size_t i)
{
    for (size_t k = 0; p->parents[i] && k < p->n; k++)
        if (k != i && !done[k] && !strcmp(p->ids[k], p->parents[i]))
            return 1;
    return 0;
}

struct take {
    struct hf_store *store;
    struct hf__primary at;
    char stamp[300];
    uint64_t messages;
};

static int
take_session(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    struct take *take = ctx;
    struct hf_transferred done = HF_INIT(struct hf_transferred);
    int rc = HF__AT(take->store, &take->at, session_merge, what, &done, err);

    take->stamp[0] = '\0';
    if (rc == HF_OK && what->stamp.ptr && what->stamp.len < 200)
        snprintf(take->stamp, sizeof take->stamp, "holdfast_merged:%.*s",
                 (int)what->stamp.len, what->stamp.ptr);
    take->messages += done.messages;
    return rc;
}

/* Somebody who is just appending is gone in a moment. */
static int
hand_over(struct hf_store *store, struct take *take, const struct hf_text *id,
          struct hf_error *err)
{
    int rc = HF_BUSY;

    for (int i = 0; i < 50 && rc == HF_BUSY; i++) {
        if (i)
            hf__sleep_ms(10);
        rc = HF__BACK(store, session_hand_over, id, take_session, take, err);
    }
    if (rc == HF_OK && take->stamp[0]) {
        /* The file is gone: its stamp has served. */
        struct hf_text key = hf_str(take->stamp), none = {NULL, 0};
        struct hf_error ignored;
        (void)HF__AT(store, &take->at, meta_set, &key, &none, &ignored);
    }
    return rc == HF_NOT_FOUND ? HF_OK : rc;
}

int
hf__failover_merge(struct hf_store *store, void *handle, uint64_t *ret_merged,
                   uint64_t *ret_left, struct hf_error *err)
{
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    struct pending pending = {0};
    struct take take = {.store = store, .at = {.handle = handle}};
    unsigned char *done = NULL;
    size_t left;
    int rc, moved = 1;

    all.view = HF_VIEW_ALL;
    rc = HF__BACK(store, session_list, &all, pending_add, &pending, err);
    done = calloc(pending.n + 1, 1);
    if (pending.failed || !done)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    left = pending.n;
    *ret_left = 0;
    /* Parents first; then those whose parents wait for each other or cannot come. */
    for (int last = 0; rc == HF_OK && left && last < 2; last += !moved) {
        moved = 0;
        for (size_t i = 0; rc == HF_OK && i < pending.n; i++) {
            struct hf_text id = hf_text(pending.ids[i], pending.lens[i]);
            if (done[i] || (!last && parent_waits(&pending, done, i)))
                continue;
            done[i] = 1;
            left--;
            moved = 1;
            rc = hand_over(store, &take, &id, err);
            if (rc == HF_OK) {
                ++*ret_merged;
            } else if (rc != HF_WAL_LOST && rc != HF_REPLACED) {
                ++*ret_left;
                hf__log(&store->rt->log, rc == HF_BUSY ? HF_LOG_INFO : HF_LOG_WARNING,
                        "merge_failed", store->failover->dir,
                        "session %.200s stays in %s for now: %s", pending.ids[i],
                        store->failover->dir, err->message);
                rc = HF_OK;
            }
        }
    }
    free(done);
    pending_free(&pending);
    return rc;
}

/* ---- trying again ---- */

struct health {
    char text[400];
};

static int
on_finding(void *ctx, const struct hf_finding *finding)
{
    struct health *health = ctx;

    if (finding->severity == HF_SEV_FAILURE && !health->text[0] &&
        !strstr(finding->code, "fts"))
        snprintf(health->text, sizeof health->text, "%s", finding->text);
    return 0;
}

/* A fresh handle that is sound, or NULL. */
static void *
fresh_open(struct hf_store *store, struct hf_error *err)
{
    struct hf__reopen how = {.after_loss = 1};
    struct hf__primary at = {0};
    struct health health = {{0}};
    int rc = hf__handle_open(store, &how, &at.handle, err);

    if (rc < 0)
        return NULL;
    rc = HF__AT(store, &at, check, HF_CHECK_QUICK, on_finding, &health, err);
    if (rc == HF_OK && !health.text[0])
        return at.handle;
    if (rc == HF_OK)
        hf_error_set(err, HF_CORRUPT, NULL, "the store is damaged: %s", health.text);
    store->backend->ops.close(at.handle);
    return NULL;
}

/* With the store's turn. */
static void
come_back(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    struct hf__reopen read = {.read_only = 1};
    struct hf_error err, ignored;
    uint64_t merged = 0, left = 0;
    void *handle, *reader = NULL;
    int rc;

    fo->retry_ms = hf__monotonic_ms() + fo->interval_ms;
    /* The lost files are let go: while anybody has them nobody can begin anew. */
    if (fo->primary && !fo->primary->read_only)
        (void)hf__primary_set(store, NULL, 0, NULL);
    handle = fresh_open(store, &err);
    if (!handle) {
        hf__log(&store->rt->log, HF_LOG_DEBUG, "still_degraded", fo->dir, "%s",
                err.message);
        if (!fo->primary && hf__handle_open(store, &read, &reader, &ignored) == HF_OK &&
            hf__primary_set(store, reader, 1, &ignored) < 0)
            store->backend->ops.close(reader);
        return;
    }
    hf__condition_set(store, HF_RECOVERING, NULL);
    rc = hf__failover_merge(store, handle, &merged, &left, &err);
    if (rc == HF_OK) {
        /* The rest, and what came meanwhile, while nobody writes. */
        pthread_rwlock_wrlock(&fo->gate);
        rc = hf__failover_merge(store, handle, &merged, &left, &err);
        if (rc == HF_OK)
            rc = hf__primary_set(store, handle, 0, &err);
        if (rc == HF_OK) {
            hf__condition_set(store, HF_HEALTHY, "");
        }
        pthread_rwlock_unlock(&fo->gate);
    }
    if (rc < 0) {
        store->backend->ops.close(handle);
        hf__condition_set(store, HF_DEGRADED, err.message);
        return;
    }
    hf__log(&store->rt->log, HF_LOG_INFO, "recovered", fo->dir,
            "the store is used again; %llu sessions were merged, %llu wait in %s",
            (unsigned long long)merged, (unsigned long long)left, fo->dir);
}

/* What other processes, which were degraded, left meanwhile.  With the store's turn. */
static void
gather(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;
    struct hf__primary *p = hf__primary_get(store);
    struct hf_error err;
    uint64_t merged = 0, left = 0;

    fo->retry_ms = hf__monotonic_ms() + fo->interval_ms;
    if (p && hf__back_waits(fo) && hf__back_open(store, &err) == HF_OK)
        (void)hf__failover_merge(store, p->handle, &merged, &left, &err);
    if (merged)
        hf__log(&store->rt->log, HF_LOG_INFO, "recovered", fo->dir,
                "%llu sessions that waited in %s are in the store again",
                (unsigned long long)merged, fo->dir);
    hf__primary_put(store, &p);
}

void
hf__failover_retry(struct hf_store *store)
{
    struct hf__failover *fo = store->failover;

    if (hf__monotonic_ms() < fo->retry_ms)
        return;
    if (pthread_mutex_trylock(&fo->turn))
        return; /* somebody is at it */
    if (hf__condition(store) == HF_HEALTHY) {
        gather(store);
        pthread_mutex_unlock(&fo->turn);
        return;
    }
    pthread_mutex_unlock(&fo->turn);
    if (!fo->salvaged)
        hf__failover_look(store);
    pthread_mutex_lock(&fo->turn);
    /* As long as only the lost files have it, they are not let go. */
    if (fo->salvaged && hf__condition(store) != HF_HEALTHY &&
        hf__monotonic_ms() >= fo->retry_ms)
        come_back(store);
    else if (!fo->salvaged)
        fo->retry_ms = hf__monotonic_ms() + fo->interval_ms;
    pthread_mutex_unlock(&fo->turn);
}
