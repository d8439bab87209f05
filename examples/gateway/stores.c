/* stores.c - one store per profile, opened when it is first needed.
 *
 * One handle serves every thread: the library takes the locks that its backend needs.
 * An open can wait for a lock, so that it is done outside the list's own lock: only those
 * who want the same profile wait for it. */
#include "gateway.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct entry {
    struct entry *next;
    char *profile;         /* NULL: the gateway's own */
    pthread_mutex_t lock;  /* held while it is being opened */
    struct hf_store *store; /* NULL: not open yet, or it failed so far */
    uint32_t condition;     /* as last announced */
    time_t watched;
};

struct stores {
    struct hf_runtime *runtime;
    int read_only_first;
    pthread_mutex_t lock; /* guards the list: entries are only ever added */
    struct entry *first;
};

struct stores *
stores_new(struct hf_runtime *runtime, int read_only_first)
{
    struct stores *stores = calloc(1, sizeof *stores);

    if (!stores)
        return NULL;
    stores->runtime = runtime;
    stores->read_only_first = read_only_first;
    pthread_mutex_init(&stores->lock, NULL);
    return stores;
}

/* The entry of PROFILE, made if need be; NULL without memory. */
static struct entry *
entry_get(struct stores *stores, const char *profile)
{
    struct entry *entry;

    pthread_mutex_lock(&stores->lock);
    for (entry = stores->first; entry; entry = entry->next)
        if (strcmp(entry->profile, profile) == 0)
            break;
    if (!entry && (entry = calloc(1, sizeof *entry)) != NULL) {
        entry->profile = strdup(profile);
        if (!entry->profile) {
            free(entry);
            entry = NULL;
        } else {
            pthread_mutex_init(&entry->lock, NULL);
            entry->next = stores->first;
            stores->first = entry;
        }
    }
    pthread_mutex_unlock(&stores->lock);
    return entry;
}

int
stores_get(struct stores *stores, const char *profile, struct hf_store **ret_store,
           struct hf_error *err)
{
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    struct entry *entry;
    int rc = HF_OK;

    /* The gateway's own profile goes by its name, lest it were opened twice. */
    if (!profile)
        profile = hf_runtime_profile(stores->runtime);
    entry = entry_get(stores, profile);
    if (!entry)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    pthread_mutex_lock(&entry->lock);
    if (!entry->store) {
        options.profile = profile;
        options.read_only_first = (uint32_t)stores->read_only_first;
        rc = hf_store_open(stores->runtime, &options, &entry->store, err);
    }
    if (rc == HF_OK)
        *ret_store = entry->store;
    pthread_mutex_unlock(&entry->lock);
    return rc;
}

static void
entry_watch(struct entry *entry, time_t now)
{
    struct hf_state state = HF_INIT(struct hf_state);

    /* One that is being opened is looked at the next time. */
    if (pthread_mutex_trylock(&entry->lock) != 0)
        return;
    if (entry->store && entry->watched != now) {
        entry->watched = now;
        if (hf_store_state(entry->store, &state, NULL) == HF_OK
            && state.condition != entry->condition) {
            entry->condition = state.condition;
            output_line(json_pack("{s:s,s:s,s:s,s:s,s:I}", "event", "state", "profile",
                                  entry->profile, "state",
                                  condition_name(state.condition), "reason",
                                  state.reason, "pending", (json_int_t)state.pending));
        }
    }
    pthread_mutex_unlock(&entry->lock);
}

void
stores_watch(struct stores *stores)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&stores->lock);
    for (struct entry *entry = stores->first; entry; entry = entry->next)
        entry_watch(entry, now.tv_sec);
    pthread_mutex_unlock(&stores->lock);
}

void
stores_interrupt(struct stores *stores)
{
    pthread_mutex_lock(&stores->lock);
    for (struct entry *entry = stores->first; entry; entry = entry->next) {
        /* One that is being opened has no handle yet to interrupt. */
        if (pthread_mutex_trylock(&entry->lock) != 0)
            continue;
        if (entry->store)
            hf_store_interrupt(entry->store);
        pthread_mutex_unlock(&entry->lock);
    }
    pthread_mutex_unlock(&stores->lock);
}

void
stores_close(struct stores **stores)
{
    struct stores *all = *stores;

    if (!all)
        return;
    for (struct entry *entry = all->first, *next; entry; entry = next) {
        next = entry->next;
        hf_store_close(&entry->store);
        pthread_mutex_destroy(&entry->lock);
        free(entry->profile);
        free(entry);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
    *stores = NULL;
}
