/* failover_ops.c - the table that the front calls when a store has a fallback: healthy,
 * every call goes to the primary; one that finds it lost is made again in the fallback,
 * and so are all writes after it until the way back (SPEC 5.2). */
#include "failover_back.h"

#include <string.h>

/* A write: RC gets what PRIMARY (a call of the primary P) answers; when the store is,
 * or now becomes, degraded it gets what BACK answers. */
#define WRITE(PRIMARY, BACK)                                                           \
    struct hf__primary *p;                                                             \
    int rc = HF_OK, lost;                                                              \
    hf__failover_retry(store);                                                         \
    pthread_rwlock_rdlock(&store->failover->gate);                                     \
    lost = hf__condition(store) != HF_HEALTHY;                                         \
    p = hf__primary_get(store);                                                        \
    if (!lost) {                                                                       \
        rc = PRIMARY;                                                                  \
        lost = rc < 0 && hf__failover_lost(store, p, rc, err);                         \
    }                                                                                  \
    if (lost)                                                                          \
        rc = BACK;                                                                     \
    hf__primary_put(store, &p);                                                        \
    pthread_rwlock_unlock(&store->failover->gate);                                     \
    return rc

/* A read: of the primary alone, or of both.  Both, too, where the primary was just let
 * go. */
#define READ(PRIMARY, BOTH)                                                            \
    struct hf__primary *p = hf__is_union(store) ? NULL : hf__primary_get(store);       \
    int rc = p ? PRIMARY : BOTH;                                                       \
    hf__primary_put(store, &p);                                                        \
    return rc

/* ---- sessions ---- */

static int
fo_session_put(void *ctx, const struct hf_session *session, uint32_t mode,
               struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, session_put, session, mode, err),
          hf__back_put(store, p, session, mode, err));
}

static int
fo_session_get(void *ctx, const struct hf_text *id, uint32_t want, hf_session_fn *emit,
               void *emit_ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    READ(HF__AT(store, p, session_get, id, want, emit, emit_ctx, err),
         hf__union_get(store, id, want, emit, emit_ctx, err));
}

static int
fo_session_list(void *ctx, const struct hf_session_query *query, hf_session_fn *emit,
                void *emit_ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf_session_query mine;

    hf__abi_copy(&mine, sizeof mine, query);
    mine.reserved = 0;
    READ(HF__AT(store, p, session_list, &mine, emit, emit_ctx, err),
         query->reserved == HF__LIST_RAW
             ? hf__union_list(store, query, emit, emit_ctx, err)
             : hf__list_view(store, query, emit, emit_ctx, err));
}

static int
fo_session_update(void *ctx, const struct hf_text *id, const struct hf_field *fields,
                  uint64_t n_fields, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, session_update, id, fields, n_fields, err),
          hf__back_update(store, p, id, fields, n_fields, err));
}

static int
fo_session_delete(void *ctx, const struct hf_text *ids, uint64_t n_ids,
                  uint64_t *ret_deleted, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, session_delete, ids, n_ids, ret_deleted, err),
          hf__back_delete(store, p, ids, n_ids, ret_deleted, err));
}

/* ---- messages ---- */

static int
fo_message_append(void *ctx, const struct hf_append *what, struct hf_appended *ret,
                  struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, message_append, what, ret, err),
          hf__back_append(store, p, what, ret, err));
}

static int
fo_message_read(void *ctx, const struct hf_text *id,
                const struct hf_message_query *query, hf_message_fn *emit,
                void *emit_ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    READ(HF__AT(store, p, message_read, id, query, emit, emit_ctx, err),
         hf__union_read(store, id, query, emit, emit_ctx, err));
}

static int
fo_rewind(void *ctx, const struct hf_text *id, int64_t from_id, uint64_t *ret_count,
          struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__states what = {HF_MSG_ACTIVE, HF_MSG_REWOUND, from_id,
                              INT64_MAX,     NULL,           0};
    WRITE(HF__AT(store, p, message_rewind, id, from_id, ret_count, err),
          hf__back_states(store, p, id, &what, ret_count, err));
}

static int
fo_restore(void *ctx, const struct hf_text *id, int64_t from_id, uint64_t *ret_count,
           struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__states what = {HF_MSG_REWOUND, HF_MSG_ACTIVE, from_id,
                              INT64_MAX,      NULL,          0};
    WRITE(HF__AT(store, p, message_restore, id, from_id, ret_count, err),
          hf__back_states(store, p, id, &what, ret_count, err));
}

static int
fo_compact(void *ctx, const struct hf_text *id, int64_t watermark,
           const struct hf_message *const *summary, uint64_t n_summary,
           struct hf_appended *ret, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__states what = {HF_MSG_ACTIVE, HF_MSG_COMPACTED, INT64_MIN,
                              watermark,     summary,          n_summary};
    WRITE(
        HF__AT(store, p, message_compact, id, watermark, summary, n_summary, ret, err),
        hf__back_compact(store, p, id, &what, ret, err));
}

static int
fo_search(void *ctx, const struct hf_search *query, hf_hit_fn *emit, void *emit_ctx,
          struct hf_search_info *info, struct hf_error *err)
{
    struct hf_store *store = ctx;
    READ(HF__AT(store, p, search, query, emit, emit_ctx, info, err),
         hf__default_search(store, query, emit, emit_ctx, info, err));
}

/* ---- the rest ---- */

static int
fo_meta_get(void *ctx, const struct hf_text *key,
            int (*emit)(void *ctx, const struct hf_text *value), void *emit_ctx,
            struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p;
    int rc = HF_NOT_FOUND;

    if (hf__is_union(store))
        rc = HF__BACK(store, meta_get, key, emit, emit_ctx, err);
    p = hf__primary_get(store);
    if (rc == HF_NOT_FOUND && p)
        rc = HF__AT(store, p, meta_get, key, emit, emit_ctx, err);
    hf__primary_put(store, &p);
    return rc;
}

static int
fo_meta_set(void *ctx, const struct hf_text *key, const struct hf_text *value,
            struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, meta_set, key, value, err),
          hf__back_not_now(store, "set a key", err));
}

/* A lease that others cannot see would be worse than none. */
static int
fo_lease_acquire(void *ctx, const struct hf_text *name, const struct hf_text *holder,
                 double ttl, uint64_t *ret_generation, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, lease_acquire, name, holder, ttl, ret_generation, err),
          hf__back_not_now(store, "take a lease", err));
}

static int
fo_lease_renew(void *ctx, const struct hf_text *name, const struct hf_text *holder,
               uint64_t generation, double ttl, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, lease_renew, name, holder, generation, ttl, err),
          hf__back_not_now(store, "renew a lease", err));
}

static int
fo_lease_release(void *ctx, const struct hf_text *name, const struct hf_text *holder,
                 uint64_t generation, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, lease_release, name, holder, generation, err),
          hf__back_not_now(store, "release a lease", err));
}

static int
fo_usage_add(void *ctx, const struct hf_usage *delta, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, usage_add, delta, err),
          hf__back_usage(store, p, delta, err));
}

static int
fo_usage_read(void *ctx, const struct hf_text *id, hf_usage_fn *emit, void *emit_ctx,
              struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p = hf__primary_get(store);
    int rc = HF_NOT_FOUND, back = HF_NOT_FOUND;

    if (p)
        rc = HF__AT(store, p, usage_read, id, emit, emit_ctx, err);
    if ((rc == HF_OK || rc == HF_NOT_FOUND) && hf__is_union(store))
        back = HF__BACK(store, usage_read, id, emit, emit_ctx, err);
    hf__primary_put(store, &p);
    return back == HF_NOT_FOUND ? rc : back;
}

static int
fo_state(void *ctx, struct hf_state *ret, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__failover *fo = store->failover;
    struct hf__primary *p;
    int rc = HF_OK;

    if (!store->read_only) {
        hf__failover_retry(store);
        hf__failover_look(store);
    }
    if (hf__condition(store) == HF_HEALTHY) {
        p = hf__primary_get(store);
        rc = HF__AT(store, p, state, ret, err);
        hf__primary_put(store, &p);
    } else {
        pthread_mutex_lock(&fo->lock);
        ret->condition = fo->condition;
        ret->since = fo->since;
        memcpy(ret->reason, fo->reason, sizeof ret->reason);
        pthread_mutex_unlock(&fo->lock);
    }
    if (hf__is_union(store))
        ret->pending = hf__pending_count(store);
    return rc;
}

static int
fo_stats(void *ctx, struct hf_stats *ret, hf_source_fn *emit, void *emit_ctx,
         struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p = hf__primary_get(store);
    int rc = p ? HF__AT(store, p, stats, ret, emit, emit_ctx, err)
               : hf__default_stats(store, ret, emit, emit_ctx, err);

    hf__primary_put(store, &p);
    if (rc == HF_OK && hf__is_union(store))
        ret->pending_fallback = hf__pending_count(store);
    return rc;
}

static int
fo_check(void *ctx, uint32_t level, hf_finding_fn *emit, void *emit_ctx,
         struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p = hf__primary_get(store);
    int rc = p ? HF__AT(store, p, check, level, emit, emit_ctx, err) : HF_OK;

    hf__primary_put(store, &p);
    if (rc == HF_OK && hf__is_union(store))
        rc = HF__BACK(store, check, level, emit, emit_ctx, err);
    return rc;
}

static int
fo_flush(void *ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, flush, err), HF__BACK(store, flush, err));
}

static int
fo_repair(void *ctx, uint32_t dry_run, hf_finding_fn *emit, void *emit_ctx,
          struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, repair, dry_run, emit, emit_ctx, err),
          hf__back_not_now(store, "repair", err));
}

static int
fo_optimize(void *ctx, hf_finding_fn *emit, void *emit_ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, optimize, emit, emit_ctx, err),
          hf__back_not_now(store, "optimize", err));
}

static int
fo_backup(void *ctx, const char *path, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p = hf__primary_get(store);
    int rc = p ? HF__AT(store, p, backup, path, err)
               : hf__back_not_now(store, "backup", err);

    hf__primary_put(store, &p);
    return rc;
}

static int
fo_session_merge(void *ctx, const struct hf_transfer *what, struct hf_transferred *ret,
                 struct hf_error *err)
{
    struct hf_store *store = ctx;
    WRITE(HF__AT(store, p, session_merge, what, ret, err),
          HF__BACK(store, session_merge, what, ret, err));
}

static int
fo_hand_over(void *ctx, const struct hf_text *id, hf_transfer_fn *take, void *take_ctx,
             struct hf_error *err)
{
    (void)id, (void)take, (void)take_ctx;
    return hf__back_not_now(ctx, "hand a session over", err);
}

static int
fo_unsettled(void *ctx, hf_transfer_fn *emit, void *emit_ctx, struct hf_error *err)
{
    (void)ctx, (void)emit, (void)emit_ctx, (void)err;
    return HF_OK;
}

static int
fo_upkeep(void *ctx, uint32_t *ret_again_ms, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct hf__primary *p;
    int rc = HF_OK;

    hf__failover_retry(store);
    p = hf__primary_get(store);
    *ret_again_ms = 1000;
    if (p && !p->read_only && hf__condition(store) == HF_HEALTHY)
        rc = HF__AT(store, p, upkeep, ret_again_ms, err);
    hf__primary_put(store, &p);
    hf__failover_look(store);
    return rc;
}

const struct hf_backend hf__failover_ops = {
    .session_put = fo_session_put,
    .session_get = fo_session_get,
    .session_list = fo_session_list,
    .session_update = fo_session_update,
    .session_delete = fo_session_delete,
    .message_append = fo_message_append,
    .message_read = fo_message_read,
    .message_rewind = fo_rewind,
    .message_restore = fo_restore,
    .message_compact = fo_compact,
    .search = fo_search,
    .meta_get = fo_meta_get,
    .meta_set = fo_meta_set,
    .lease_acquire = fo_lease_acquire,
    .lease_renew = fo_lease_renew,
    .lease_release = fo_lease_release,
    .usage_add = fo_usage_add,
    .usage_read = fo_usage_read,
    .state = fo_state,
    .stats = fo_stats,
    .check = fo_check,
    .repair = fo_repair,
    .optimize = fo_optimize,
    .flush = fo_flush,
    .backup = fo_backup,
    .session_merge = fo_session_merge,
    .session_hand_over = fo_hand_over,
    .unsettled = fo_unsettled,
    .upkeep = fo_upkeep,
};
