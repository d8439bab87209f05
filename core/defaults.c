/* defaults.c - what the core does where a backend has a NULL callback: the meaning that
 * backend.h gives beside each.  A default's first argument is the struct hf_store.
 * Larger ones: defaults_search.c, defaults_leases.c, defaults_walk.c. */
#include "internal.h"

#include <string.h>

#define SLOT(op) #op, offsetof(struct hf_backend, op)

const struct hf__slot hf__optional_slots[] = {
    {SLOT(message_rewind)}, {SLOT(message_restore)}, {SLOT(message_compact)},
    {SLOT(search)},         {SLOT(meta_get)},        {SLOT(meta_set)},
    {SLOT(lease_acquire)},  {SLOT(lease_renew)},     {SLOT(lease_release)},
    {SLOT(usage_add)},      {SLOT(usage_read)},      {SLOT(state)},
    {SLOT(stats)},          {SLOT(check)},           {SLOT(repair)},
    {SLOT(optimize)},       {SLOT(flush)},           {SLOT(backup)},
    {SLOT(maintain)},       {SLOT(interrupt)},       {SLOT(session_merge)},
    {SLOT(session_hand_over)}, {SLOT(unsettled)},    {SLOT(upkeep)},
    {NULL, 0},
};

static int
unsupported(const struct hf_store *store, const char *what, struct hf_error *err)
{
    return hf_error_set(err, HF_UNSUPPORTED, NULL, "backend %s cannot %s",
                        store->backend->name, what);
}

static int
rewind_default(void *store, const struct hf_text *session_id, int64_t from_id,
               uint64_t *ret_count, struct hf_error *err)
{
    (void)session_id, (void)from_id, (void)ret_count;
    return unsupported(store, "rewind messages", err);
}

static int
restore_default(void *store, const struct hf_text *session_id, int64_t from_id,
                uint64_t *ret_count, struct hf_error *err)
{
    (void)session_id, (void)from_id, (void)ret_count;
    return unsupported(store, "restore messages", err);
}

static int
compact_default(void *store, const struct hf_text *session_id, int64_t watermark,
                const struct hf_message *const *summary, uint64_t n_summary,
                struct hf_appended *ret, struct hf_error *err)
{
    (void)session_id, (void)watermark, (void)summary, (void)n_summary, (void)ret;
    return unsupported(store, "compact a session", err);
}

static int
meta_get_default(void *store, const struct hf_text *key,
                 int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
                 struct hf_error *err)
{
    (void)key, (void)emit, (void)ctx;
    return unsupported(store, "keep key/values", err);
}

static int
meta_set_default(void *store, const struct hf_text *key, const struct hf_text *value,
                 struct hf_error *err)
{
    (void)key, (void)value;
    return unsupported(store, "keep key/values", err);
}

static int
usage_add_default(void *store, const struct hf_usage *delta, struct hf_error *err)
{
    (void)delta;
    return unsupported(store, "keep the usage of models", err);
}

static int
usage_read_default(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                   void *ctx, struct hf_error *err)
{
    (void)session_id, (void)emit, (void)ctx;
    return unsupported(store, "keep the usage of models", err);
}

static int
state_default(void *store, struct hf_state *ret, struct hf_error *err)
{
    (void)store, (void)err;
    ret->condition = HF_HEALTHY;
    ret->since = HF_NO_TIME;
    return HF_OK;
}

static int
repair_default(void *store, uint32_t dry_run, hf_finding_fn *emit, void *ctx,
               struct hf_error *err)
{
    (void)dry_run, (void)emit, (void)ctx;
    return unsupported(store, "repair a store", err);
}

static int
optimize_default(void *store, hf_finding_fn *emit, void *ctx, struct hf_error *err)
{
    (void)emit, (void)ctx;
    return unsupported(store, "optimize a store", err);
}

static int
flush_default(void *store, struct hf_error *err)
{
    (void)store, (void)err;
    return HF_OK;
}

static int
backup_default(void *store, const char *path, struct hf_error *err)
{
    (void)path;
    return unsupported(store, "write a backup", err);
}

/* Has no store: it works on files. */
static int
maintain_default(const struct hf_host *host, const struct hf_open *how,
                 const char *verb, const struct hf_setting *args, hf_finding_fn *emit,
                 void *ctx, struct hf_error *err)
{
    (void)host, (void)how, (void)args, (void)emit, (void)ctx;
    return hf_error_set(err, HF_UNSUPPORTED, NULL, "this backend cannot do '%s'", verb);
}

static void
interrupt_default(void *store)
{
    (void)store;
}

static int
hand_over_default(void *store, const struct hf_text *id, hf_transfer_fn *take, void *ctx,
                  struct hf_error *err)
{
    (void)id, (void)take, (void)ctx;
    return unsupported(store, "hand a session over to another store", err);
}

static int
unsettled_default(void *store, hf_transfer_fn *emit, void *ctx, struct hf_error *err)
{
    (void)store, (void)emit, (void)ctx, (void)err;
    return HF_OK;
}

static int
upkeep_default(void *store, uint32_t *ret_again_ms, struct hf_error *err)
{
    (void)store, (void)err;
    *ret_again_ms = 60000;
    return HF_OK;
}

static const struct hf_backend defaults = {
    .message_rewind = rewind_default,
    .message_restore = restore_default,
    .message_compact = compact_default,
    .search = hf__default_search,
    .meta_get = meta_get_default,
    .meta_set = meta_set_default,
    .lease_acquire = hf__default_lease_acquire,
    .lease_renew = hf__default_lease_renew,
    .lease_release = hf__default_lease_release,
    .usage_add = usage_add_default,
    .usage_read = usage_read_default,
    .state = state_default,
    .stats = hf__default_stats,
    .check = hf__default_check,
    .repair = repair_default,
    .optimize = optimize_default,
    .flush = flush_default,
    .backup = backup_default,
    .maintain = maintain_default,
    .interrupt = interrupt_default,
    .session_merge = hf__default_session_merge,
    .session_hand_over = hand_over_default,
    .unsettled = unsettled_default,
    .upkeep = upkeep_default,
};

/* Callbacks that only make sense together: a module that brings some of a family gets
 * none of the core's, which would keep another truth beside its own. */
static const size_t lease_family[] = {
    offsetof(struct hf_backend, lease_acquire),
    offsetof(struct hf_backend, lease_renew),
    offsetof(struct hf_backend, lease_release),
};

static void *
slot_of(struct hf_backend *ops, size_t offset)
{
    return (char *)ops + offset;
}

void
hf__defaults_fill(struct hf__backend *backend)
{
    static const unsigned char zero[sizeof(void *)];
    int whole = 1;

    for (size_t i = 0; i < sizeof lease_family / sizeof lease_family[0]; i++)
        whole &=
            memcmp(slot_of(&backend->ops, lease_family[i]), zero, sizeof zero) != 0;
    for (size_t i = 0; !whole && i < sizeof lease_family / sizeof lease_family[0]; i++)
        memset(slot_of(&backend->ops, lease_family[i]), 0, sizeof zero);

    for (const struct hf__slot *slot = hf__optional_slots; slot->name; slot++) {
        void *to = slot_of(&backend->ops, slot->offset);
        if (memcmp(to, zero, sizeof zero) != 0)
            continue;
        memcpy(to, (const char *)&defaults + slot->offset, sizeof(void *));
        backend->defaulted[slot->offset / sizeof(void *)] = 1;
    }
}
