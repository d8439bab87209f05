/* store.c - opening and closing a store: configuration, backend, settings, handle. */
#include "internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
store_free(struct hf_store *store)
{
    if (!store)
        return;
    hf__failover_free(store);
    hf__config_unref(&store->config);
    free(store->profile);
    free(store->home);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* Finds the backend that the configuration names.  A failure says where it is named. */
static int
backend_find(struct hf_store *store, struct hf_error *err)
{
    const struct hf__config_entry *entry =
        hf__config_find(store->config, "database.backend");
    const char *name = hf__config_get(store->config, "database.backend");
    int rc = hf__backend_find(store->config, name ? name : "sqlite", &store->rt->host,
                              &store->backend, err);

    if (rc < 0 && err && entry && entry->file) {
        struct hf__buf text = {0};
        char path[sizeof err->path];
        int sys = err->sys_errno;
        memcpy(path, err->path, sizeof path);
        hf__buf_addf(&text, "backend '%.64s' (database.backend in %s, line %d): %s",
                     name ? name : "", entry->file, entry->line, err->message);
        if (!text.failed)
            hf_error_set(err, rc, path, "%s", text.ptr);
        err->sys_errno = sys;
        hf__buf_free(&text);
    }
    return rc;
}

/* Puts the backend's name before a text that does not say it. */
static int
name_backend(const char *name, int rc, struct hf_error *err)
{
    char said[sizeof err->message], path[sizeof err->path];
    int sys = err->sys_errno;

    if (strstr(err->message, name))
        return rc;
    memcpy(said, err->message, sizeof said);
    memcpy(path, err->path, sizeof path);
    hf_error_set(err, rc, path, "%s: %s", name, said);
    err->sys_errno = sys;
    return rc;
}

int
hf__handle_open(struct hf_store *store, const struct hf__reopen *reopen,
                void **ret_handle, struct hf_error *err)
{
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_setting *settings = NULL, *database = NULL;
    const char *name = store->backend->name;
    void *handle = NULL;
    int rc = hf__settings_make(store->config, name, store->backend->ops.options,
                               &settings, err);

    if (rc == HF_OK)
        rc = hf__settings_database(store->config, &database, err);
    if (rc == HF_OK && !store->read_only)
        rc = hf__mkdirs(store->home, err);
    if (rc < 0)
        goto out;
    how.home = store->home;
    how.root = store->rt->where.root;
    how.profile = store->profile;
    how.settings = settings;
    how.database = database;
    how.read_only = reopen->read_only;
    how.read_only_first = reopen->read_only_first;
    how.may_thread = store->rt->may_thread;
    how.after_loss = reopen->after_loss;
    err->message[0] = '\0';
    err->path[0] = '\0';
    err->sys_errno = 0;
    rc = store->backend->ops.open(&store->rt->host, &how, &handle, err);
    rc = hf__call_check(name, "open", rc, err);
    if (rc < 0)
        rc = name_backend(name, rc, err); /* a handle beside an error is not ours */
    else if (!handle)
        rc = hf_error_set(err, HF_PLUGIN, store->backend->path,
                          "backend %s: open succeeded without giving a store", name);
    else
        *ret_handle = handle;
out:
    hf__settings_free(&settings);
    hf__settings_free(&database);
    return rc;
}

/* The first handle of the store. */
static int
handle_open(struct hf_store *store, const struct hf_store_options *options,
            struct hf_error *err)
{
    struct hf__reopen how = {options->read_only, options->read_only_first, 0};
    int rc = hf__failover_new(store, options, err);

    if (rc == HF_OK)
        rc = hf__guard_enter(store, err);
    if (rc < 0)
        return rc;
    rc = hf__handle_open(store, &how, &store->handle, err);
    if (store->failover)
        rc = hf__failover_opened(store, rc, err);
    hf__guard_leave(store);
    return rc;
}

int
hf_store_open(struct hf_runtime *runtime, const struct hf_store_options *options,
              struct hf_store **ret_store, struct hf_error *err)
{
    struct hf_store_options mine = HF_INIT(struct hf_store_options);
    struct hf_error own;
    struct hf_store *store = NULL;
    int rc = HF_OK;

    if (!err)
        err = &own;
    if (!runtime || !ret_store)
        return hf_error_set(err, HF_INVALID, NULL, "open a store: an argument is NULL");
    if (options) {
        rc = hf__abi_ok(options, "struct hf_store_options", err);
        if (rc < 0)
            return rc;
        hf__abi_copy(&mine, sizeof mine, options);
    }
    store = calloc(1, sizeof *store);
    if (!store)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    pthread_mutex_init(&store->lock, NULL);
    store->rt = runtime;
    store->pid = (int)getpid();
    store->read_only = mine.read_only || mine.read_only_first;
    rc = hf__runtime_profile(runtime, mine.profile, &store->config, &store->home, err);
    if (rc < 0)
        goto fail;
    store->profile = strdup(mine.profile ? mine.profile : runtime->where.profile);
    if (!store->profile) {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        goto fail;
    }
    rc = backend_find(store, err);
    if (rc == HF_OK)
        rc = handle_open(store, &mine, err);
    if (rc < 0)
        goto fail;
    hf__upkeep_start(store);
    *ret_store = store;
    return HF_OK;
fail:
    store_free(store);
    return rc;
}

/* In a child of fork() a handle's locks and files are the parent's: it is kept somewhere,
 * so that it is no leak, and nothing of it is touched. */
static void
give_up(struct hf_store *st)
{
    static _Atomic(struct hf_store *) all;

    st->given_up = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &st->given_up, st))
        ;
}

void
hf_store_close(struct hf_store **store)
{
    struct hf_store *st = store ? *store : NULL;

    if (!st)
        return;
    if (hf__guard_enter(st, NULL) == HF_OK) {
        /* The thread may be waiting for the guard. */
        hf__guard_leave(st);
        hf__upkeep_stop(st);
        if (hf__guard_enter(st, NULL) < 0)
            return;
        if (st->failover)
            hf__failover_close(st);
        else
            st->backend->ops.close(st->handle);
        hf__guard_leave(st);
    } else if (st->pid == (int)getpid()) {
        return; /* from within its own emit callback: it stays open */
    } else {
        give_up(st);
        *store = NULL;
        return;
    }
    store_free(st);
    *store = NULL;
}

const char *
hf_store_backend(const struct hf_store *store)
{
    return store ? store->backend->name : NULL;
}

const char *
hf_store_profile(const struct hf_store *store)
{
    return store ? store->profile : NULL;
}

void
hf_store_interrupt(struct hf_store *store)
{
    /* Without the guard: the call to be interrupted holds it. */
    if (!store || store->pid != (int)getpid())
        return;
    if (store->failover)
        hf__failover_interrupt(store);
    else if (!store->backend
             ->defaulted[offsetof(struct hf_backend, interrupt) / sizeof(void *)])
        store->backend->ops.interrupt(store->handle);
}
