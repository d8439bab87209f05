/* jsonl.c - the jsonl backend's table, and its handle: open and close.  One file per
 * session, one JSON object a line; see docs/jsonl-format.md. */
#include <stdlib.h>
#include <string.h>

#include <holdfast/version.h>

#include "private.h"
#include "util/misc.h"

static void
op_close(void *store)
{
    struct hf_jsonl_store *st = store;

    for (size_t i = 0; i < HF__JL_BUCKETS; i++)
        while (st->buckets[i]) {
            struct hf__jl_file *file = st->buckets[i];
            st->buckets[i] = file->next;
            hf__jl_file_free(file);
        }
    pthread_mutex_destroy(&st->lock);
    pthread_mutex_destroy(&st->names);
    pthread_mutex_destroy(&st->meta);
    free(st->dir);
    free(st);
}

static const char *
setting(const struct hf_setting *settings, const char *key)
{
    for (; settings && settings->key; settings++)
        if (!strcmp(settings->key, key))
            return settings->value;
    return NULL;
}

static int
op_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
        struct hf_error *err)
{
    struct hf_jsonl_store *st = calloc(1, sizeof *st);
    const char *dir = setting(how->settings, "dir");
    const char *patience = setting(how->database, "patience_ms");
    int rc = HF_OK;

    if (!st)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    pthread_mutex_init(&st->lock, NULL);
    pthread_mutex_init(&st->names, NULL);
    pthread_mutex_init(&st->meta, NULL);
    st->host = host;
    st->read_only = how->read_only || how->read_only_first;
    st->patience_ms = patience ? strtoll(patience, NULL, 10) : 20000;
    st->dir = dir && *dir ? strdup(dir) : hf__path_join(how->home, "jsonl");
    if (!st->dir)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (rc == HF_OK && !st->read_only)
        rc = hf__mkdirs(st->dir, err);
    if (rc == HF_OK && !st->read_only)
        rc = hf__jl_settle_all(st, err);
    if (rc < 0) {
        op_close(st);
        return rc;
    }
    *ret_store = st;
    return HF_OK;
}

static void
op_interrupt(void *store)
{
    struct hf_jsonl_store *st = store;
    atomic_fetch_add(&st->interrupts, 1);
}

static const struct hf_option options[] = {
    {"dir", "path", NULL, "folder of the files; HOME/jsonl when it is not set"},
    {NULL, NULL, NULL, NULL},
};

static const struct hf_backend backend = {
    .abi = HF_ABI(struct hf_backend),
    .name = "jsonl",
    .version = HF_VERSION,
    .summary = "sessions in files of JSON Lines, one file each",
    .threads = HF_THREADS_PARALLEL,
    .caps = HF_CAP_DURABLE | HF_CAP_MULTI_PROCESS,
    .options = options,
    .open = op_open,
    .close = op_close,
    .session_put = hf__jl_session_put,
    .session_get = hf__jl_session_get,
    .session_list = hf__jl_session_list,
    .session_update = hf__jl_session_update,
    .session_delete = hf__jl_session_delete,
    .message_append = hf__jl_message_append,
    .message_read = hf__jl_message_read,
    .message_rewind = hf__jl_message_rewind,
    .message_restore = hf__jl_message_restore,
    .message_compact = hf__jl_message_compact,
    .meta_get = hf__jl_meta_get,
    .meta_set = hf__jl_meta_set,
    .lease_acquire = hf__jl_lease_acquire,
    .lease_renew = hf__jl_lease_renew,
    .lease_release = hf__jl_lease_release,
    .usage_add = hf__jl_usage_add,
    .usage_read = hf__jl_usage_read,
    .stats = hf__jl_stats,
    .check = hf__jl_check,
    .interrupt = op_interrupt,
    .session_merge = hf__jl_session_merge,
    .session_hand_over = hf__jl_session_hand_over,
};

HF_BACKEND_EXPORT(jsonl, backend);
