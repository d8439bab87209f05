/* store_misc.c - the rest of the front: search, key/values, leases, usage, state, and
 * the store's upkeep. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

int
hf_store_search(struct hf_store *store, const struct hf_search *query, hf_hit_fn *emit,
                void *ctx, struct hf_search_info *info, struct hf_error *err)
{
    struct hf__relay relay = {.emit.hit = emit, .ctx = ctx};
    struct hf_search_info found = HF_INIT(struct hf_search_info);
    struct hf_search mine;
    struct hf__call call;
    int rc = hf__abi_ok(query, "struct hf_search", err);

    if (rc == HF_OK && !emit)
        rc = hf_error_set(err, HF_INVALID, NULL, "search: emit is NULL");
    if (rc == HF_OK && info)
        rc = hf__abi_ok(info, "struct hf_search_info", err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "search", 0, err);
    if (rc < 0)
        return rc;
    hf__abi_copy(&mine, sizeof mine, query);
    if (!mine.text.ptr)
        mine.text = hf_str("");
    rc = HF__OP(store, search, &mine, hf__relay_hit, &relay, &found, call.err);
    rc = hf__call_end(&call, rc, relay.stop);
    if (rc == HF_OK && info) {
        found.note[sizeof found.note - 1] = '\0';
        hf__abi_give(info, &found);
    }
    return rc;
}

static int
text_given(const struct hf_text *text, const char *what, struct hf_error *err)
{
    if (!text || !text->ptr || !text->len)
        return hf_error_set(err, HF_INVALID, NULL, "%s is empty", what);
    return HF_OK;
}

/* Takes the one value that meta_get emits. */
struct value {
    char *ptr;
    uint64_t len;
    int seen, no_memory;
};

static int
on_value(void *ctx, const struct hf_text *text)
{
    struct value *value = ctx;

    if (value->seen)
        return 0;
    value->seen = 1;
    if (!text->ptr)
        return 0;
    value->ptr = hf__text_dup(text);
    value->len = text->len;
    value->no_memory = !value->ptr;
    return 0;
}

int
hf_store_meta_get(struct hf_store *store, const struct hf_text *key,
                  struct hf_text *ret_value, struct hf_error *err)
{
    struct hf__call call;
    struct value value = {0};
    int rc = text_given(key, "the key", err);

    if (rc == HF_OK && !ret_value)
        rc = hf_error_set(err, HF_INVALID, NULL, "get a key: ret_value is NULL");
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "get a key", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, meta_get, key, on_value, &value, call.err);
    if (rc == HF_OK && value.no_memory)
        rc = hf_error_set(call.err, HF_NO_MEMORY, NULL, "out of memory");
    else if (rc == HF_OK && !value.seen)
        rc = hf_error_set(call.err, HF_PLUGIN, NULL,
                          "backend %s: get a key succeeded without giving a value",
                          store->backend->name);
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK)
        *ret_value = hf_text(value.ptr, value.len);
    else
        free(value.ptr);
    return rc;
}

int
hf_store_meta_set(struct hf_store *store, const struct hf_text *key,
                  const struct hf_text *value, struct hf_error *err)
{
    static const struct hf_text none = {NULL, 0};
    struct hf__call call;
    int rc = text_given(key, "the key", err);

    if (rc == HF_OK && value && value->len > HF_MAX_MESSAGE)
        rc = hf_error_set(err, HF_TOO_BIG, NULL,
                          "a value of %llu bytes is more than a key may have (%u)",
                          (unsigned long long)value->len, HF_MAX_MESSAGE);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "set a key", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, meta_set, key, value ? value : &none, call.err);
    return hf__call_end(&call, rc, 0);
}

static int
lease_check(const struct hf_text *name, const struct hf_text *holder,
            double ttl_seconds, struct hf_error *err)
{
    int rc = text_given(name, "the lease's name", err);

    if (rc == HF_OK)
        rc = text_given(holder, "the lease's holder", err);
    if (rc == HF_OK && !(ttl_seconds > 0 && ttl_seconds <= HF_MAX_TIME))
        rc = hf_error_set(err, HF_INVALID, NULL,
                          "a lease needs a time to live of more than 0 seconds");
    return rc;
}

int
hf_store_lease_acquire(struct hf_store *store, const struct hf_text *name,
                       const struct hf_text *holder, double ttl_seconds,
                       uint64_t *ret_generation, struct hf_error *err)
{
    struct hf__call call;
    uint64_t generation = 0;
    int rc = lease_check(name, holder, ttl_seconds, err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "acquire a lease", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, lease_acquire, name, holder, ttl_seconds, &generation, call.err);
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK && ret_generation)
        *ret_generation = generation;
    return rc;
}

int
hf_store_lease_renew(struct hf_store *store, const struct hf_text *name,
                     const struct hf_text *holder, uint64_t generation,
                     double ttl_seconds, struct hf_error *err)
{
    struct hf__call call;
    int rc = lease_check(name, holder, ttl_seconds, err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "renew a lease", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, lease_renew, name, holder, generation, ttl_seconds, call.err);
    return hf__call_end(&call, rc, 0);
}

int
hf_store_lease_release(struct hf_store *store, const struct hf_text *name,
                       const struct hf_text *holder, uint64_t generation,
                       struct hf_error *err)
{
    struct hf__call call;
    int rc = lease_check(name, holder, 1.0, err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "release a lease", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, lease_release, name, holder, generation, call.err);
    return hf__call_end(&call, rc, 0);
}

int
hf_store_usage_add(struct hf_store *store, const struct hf_usage *delta,
                   struct hf_error *err)
{
    struct hf__call call;
    struct hf_usage mine;
    int rc = hf__abi_ok(delta, "struct hf_usage", err);

    if (rc < 0)
        return rc;
    hf__abi_copy(&mine, sizeof mine, delta);
    rc = text_given(&mine.session_id, "the session's id", err);
    if (rc == HF_OK)
        rc = text_given(&mine.model, "the model", err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "add to the usage", 1, err);
    if (rc < 0)
        return rc;
    /* A zeroed struct means "not given": nothing was used in 1970. */
    mine.seen_at = hf__time_or_now(mine.seen_at == 0 ? HF_NO_TIME : mine.seen_at);
    rc = HF__OP(store, usage_add, &mine, call.err);
    return hf__call_end(&call, rc, 0);
}

int
hf_store_usage_read(struct hf_store *store, const struct hf_text *session_id,
                    hf_usage_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__relay relay = {.emit.usage = emit, .ctx = ctx};
    struct hf__call call;
    int rc = text_given(session_id, "the session's id", err);

    if (rc == HF_OK && !emit)
        rc = hf_error_set(err, HF_INVALID, NULL, "read the usage: emit is NULL");
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "read the usage", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, usage_read, session_id, hf__relay_usage, &relay, call.err);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_state(struct hf_store *store, struct hf_state *ret, struct hf_error *err)
{
    struct hf_state mine = HF_INIT(struct hf_state);
    struct hf__call call;
    int rc = hf__abi_ok(ret, "struct hf_state", err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "ask for the state", 0, err);
    if (rc < 0)
        return rc;
    mine.since = HF_NO_TIME;
    rc = HF__OP(store, state, &mine, call.err);
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK) {
        mine.reason[sizeof mine.reason - 1] = '\0';
        hf__abi_give(ret, &mine);
    }
    return rc;
}

int
hf_store_stats(struct hf_store *store, struct hf_stats *ret, hf_source_fn *emit_source,
               void *ctx, struct hf_error *err)
{
    struct hf__relay relay = {.emit.source = emit_source, .ctx = ctx};
    struct hf_stats mine = HF_INIT(struct hf_stats);
    struct hf__call call;
    int rc = hf__abi_ok(ret, "struct hf_stats", err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "count the store", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, stats, &mine, hf__relay_source, &relay, call.err);
    rc = hf__call_end(&call, rc, relay.stop);
    if (rc == HF_OK) {
        mine.journal_mode[sizeof mine.journal_mode - 1] = '\0';
        hf__abi_give(ret, &mine);
    }
    return rc;
}

int
hf_store_check(struct hf_store *store, uint32_t level, hf_finding_fn *emit, void *ctx,
               struct hf_error *err)
{
    struct hf__relay relay = {.emit.finding = emit, .ctx = ctx};
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "check the store: emit is NULL");
    rc = hf__call_begin(&call, store, "check the store", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, check, level, hf__relay_finding, &relay, call.err);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_repair(struct hf_store *store, uint32_t dry_run, hf_finding_fn *emit,
                void *ctx, struct hf_error *err)
{
    struct hf__relay relay = {.emit.finding = emit, .ctx = ctx};
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "repair the store: emit is NULL");
    rc = hf__call_begin(&call, store, "repair the store", !dry_run, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, repair, dry_run, hf__relay_finding, &relay, call.err);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_optimize(struct hf_store *store, hf_finding_fn *emit, void *ctx,
                  struct hf_error *err)
{
    struct hf__relay relay = {.emit.finding = emit, .ctx = ctx};
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "optimize the store: emit is NULL");
    rc = hf__call_begin(&call, store, "optimize the store", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, optimize, hf__relay_finding, &relay, call.err);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_flush(struct hf_store *store, struct hf_error *err)
{
    struct hf__call call;
    int rc = hf__call_begin(&call, store, "flush the store", 0, err);

    if (rc < 0)
        return rc;
    /* A store that was opened read-only has nothing to flush. */
    rc = store->read_only ? HF_OK : HF__OP(store, flush, call.err);
    return hf__call_end(&call, rc, 0);
}

int
hf_store_backup(struct hf_store *store, const char *path, struct hf_error *err)
{
    struct hf__call call;
    int rc;

    if (!path || !path[0])
        return hf_error_set(err, HF_INVALID, NULL,
                            "back up the store: no path is given");
    rc = hf__call_begin(&call, store, "back up the store", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, backup, path, call.err);
    return hf__call_end(&call, rc, 0);
}
