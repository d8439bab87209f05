/* defaults_leases.c - leases for backends that keep none: they hold between the threads
 * of this process only, and for as long as it lives. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* One lease that was ever taken.  The record stays after release, so that a generation
 * only grows (SPEC 2.6). */
struct lease {
    struct lease *next;
    struct hf__backend *backend;
    char *home;
    struct hf_text name; /* own copy */
    char *holder;        /* NULL: free */
    uint64_t holder_len;
    uint64_t generation;
    int64_t expires_ms; /* hf__monotonic_ms(): nobody can set this clock */
};

/* Of the process, by backend and home: two handles on one store must agree. */
static pthread_mutex_t leases_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lease *leases;

static struct lease *
lease_find(const struct hf_store *store, const struct hf_text *name)
{
    for (struct lease *l = leases; l; l = l->next)
        if (l->backend == store->backend && !strcmp(l->home, store->home) &&
            l->name.len == name->len && !memcmp(l->name.ptr, name->ptr, name->len))
            return l;
    return NULL;
}

static struct lease *
lease_new(const struct hf_store *store, const struct hf_text *name)
{
    struct lease *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->backend = store->backend;
    l->home = strdup(store->home);
    l->name.ptr = hf__text_dup(name);
    l->name.len = name->len;
    if (!l->home || !l->name.ptr) {
        free(l->home);
        free((char *)l->name.ptr);
        free(l);
        return NULL;
    }
    l->next = leases;
    leases = l;
    return l;
}

static int
held_by(const struct lease *l, const struct hf_text *holder)
{
    return l->holder && l->holder_len == holder->len &&
           !memcmp(l->holder, holder->ptr, holder->len);
}

static int64_t
ttl_ms(double ttl_seconds)
{
    return ttl_seconds > 1e12 ? (int64_t)1e15 : (int64_t)(ttl_seconds * 1000.0);
}

int
hf__default_lease_acquire(void *ctx, const struct hf_text *name,
                          const struct hf_text *holder, double ttl_seconds,
                          uint64_t *ret_generation, struct hf_error *err)
{
    const struct hf_store *store = ctx;
    int64_t now = hf__monotonic_ms();
    struct lease *l;
    char *mine;
    int rc = HF_OK;

    pthread_mutex_lock(&leases_lock);
    l = lease_find(store, name);
    if (!l)
        l = lease_new(store, name);
    if (!l) {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    } else if (l->holder && l->expires_ms > now && !held_by(l, holder)) {
        rc = hf_error_set(err, HF_BUSY, NULL,
                          "lease '%.*s' is held by '%.*s' for %.1f s more",
                          (int)(name->len < 128 ? name->len : 128), name->ptr,
                          (int)(l->holder_len < 128 ? l->holder_len : 128), l->holder,
                          (double)(l->expires_ms - now) / 1000.0);
    } else {
        /* An own lease that lives goes on under its generation. */
        int renewed = l->expires_ms > now && held_by(l, holder);
        mine = hf__text_dup(holder);
        if (!mine) {
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        } else {
            free(l->holder);
            l->holder = mine;
            l->holder_len = holder->len;
            l->expires_ms = now + ttl_ms(ttl_seconds);
            l->generation += renewed ? 0 : 1;
            *ret_generation = l->generation;
        }
    }
    pthread_mutex_unlock(&leases_lock);
    return rc;
}

/* The live lease of exactly HOLDER and GENERATION, or NULL with *err set. */
static struct lease *
lease_exact(const struct hf_store *store, const struct hf_text *name,
            const struct hf_text *holder, uint64_t generation, struct hf_error *err)
{
    struct lease *l = lease_find(store, name);

    if (l && l->generation == generation && held_by(l, holder))
        return l;
    hf_error_set(err, HF_STALE_LEASE, NULL,
                 "lease '%.*s' is no longer held under generation %llu",
                 (int)(name->len < 128 ? name->len : 128), name->ptr,
                 (unsigned long long)generation);
    return NULL;
}

int
hf__default_lease_renew(void *ctx, const struct hf_text *name,
                        const struct hf_text *holder, uint64_t generation,
                        double ttl_seconds, struct hf_error *err)
{
    struct lease *l;

    pthread_mutex_lock(&leases_lock);
    l = lease_exact(ctx, name, holder, generation, err);
    if (l)
        l->expires_ms = hf__monotonic_ms() + ttl_ms(ttl_seconds);
    pthread_mutex_unlock(&leases_lock);
    return l ? HF_OK : HF_STALE_LEASE;
}

int
hf__default_lease_release(void *ctx, const struct hf_text *name,
                          const struct hf_text *holder, uint64_t generation,
                          struct hf_error *err)
{
    struct lease *l;

    pthread_mutex_lock(&leases_lock);
    l = lease_exact(ctx, name, holder, generation, err);
    if (l) {
        free(l->holder);
        l->holder = NULL;
        l->holder_len = 0;
    }
    pthread_mutex_unlock(&leases_lock);
    return l ? HF_OK : HF_STALE_LEASE;
}
