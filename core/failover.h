/* failover.h - the primary in front, the fallback behind (SPEC 5.2 to 5.7): what the
 * files of it share.  A store has a struct hf__failover when its configuration names a
 * fallback; the front then calls hf__failover_ops instead of its backend. */
#ifndef HF_FAILOVER_H
#define HF_FAILOVER_H

#include "internal.h"

/* Messages that wait in the fallback have ids from here on: behind every id of the
 * primary, and exact as a JSON number. */
#define HF__FALLBACK_IDS (INT64_C(1) << 52)
#define HF__ALL_STATES (HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND)
/* In hf_session_query.reserved of the core's own list: every row, in any order. */
#define HF__LIST_RAW 0x52415721u

/* An open handle of the primary, closed by its last user. */
struct hf__primary {
    void *handle;
    uint32_t refs, read_only;
};

struct hf__failover {
    struct hf__backend *fallback;
    char *dir;
    pthread_mutex_t lock;        /* what follows, for moments only */
    struct hf__primary *primary; /* NULL: nothing of it can be read */
    void *back;                  /* the fallback's handle, once it was needed */
    uint32_t condition;          /* enum hf_store_condition */
    uint32_t salvaged; /* what the lost handle had committed is in the fallback */
    double since;
    char reason[512];
    int64_t retry_ms, interval_ms;
    hf_state_fn *state;
    void *state_ctx;
    pthread_mutex_t turn;  /* one thread degrades or recovers */
    pthread_rwlock_t gate; /* writers share it; the way back has it alone */
};

extern const struct hf_backend hf__failover_ops; /* first argument: the store */

/* ---- failover.c ---- */

/* OP of the primary behind P. */
#define HF__AT(store, p, op, ...)                                                      \
    ((store)->backend->ops.op(                                                         \
        (store)->backend->defaulted[offsetof(struct hf_backend, op) / sizeof(void *)]  \
            ? (void *)(store)                                                          \
            : (p)->handle,                                                             \
        __VA_ARGS__))
#define HF__BACK(store, op, ...)                                                       \
    ((store)->failover->fallback->ops.op((store)->failover->back, __VA_ARGS__))

/* With a reference, or NULL. */
struct hf__primary *hf__primary_get(struct hf_store *store);
void hf__primary_put(struct hf_store *store, struct hf__primary **p);
/* Puts HANDLE (NULL: nothing) in the primary's place. */
int hf__primary_set(struct hf_store *store, void *handle, uint32_t read_only,
                    struct hf_error *err);
/* Opens the fallback; HF_NOT_FOUND for a reader when there is nothing. */
int hf__back_open(struct hf_store *store, struct hf_error *err);
/* Whether a file of the fallback lies in its folder. */
int hf__back_waits(const struct hf__failover *fo);
/* Whether reads are the union of both.  The fallback is open then. */
int hf__is_union(struct hf_store *store);
uint32_t hf__condition(struct hf_store *store);
void hf__condition_set(struct hf_store *store, uint32_t condition, const char *reason);
uint64_t hf__pending_count(struct hf_store *store);
/* After P answered RC: whether that means that the store is lost; it is degraded then,
 * and what P had committed is in the fallback. */
int hf__failover_lost(struct hf_store *store, struct hf__primary *p, int rc,
                      struct hf_error *err);
/* Asks P itself, for handles that nobody writes to. */
void hf__failover_look(struct hf_store *store);

/* ---- failover_return.c ---- */

/* Tries the primary again, if it is time. */
void hf__failover_retry(struct hf_store *store);
/* Hands everything in the fallback over to the primary HANDLE; HF_OK also when single
 * sessions stay, which *ret_left counts. */
int hf__failover_merge(struct hf_store *store, void *handle, uint64_t *ret_merged,
                       uint64_t *ret_left, struct hf_error *err);

/* ---- failover_read.c ---- */

int hf__union_get(struct hf_store *store, const struct hf_text *id, uint32_t want,
                  hf_session_fn *emit, void *ctx, struct hf_error *err);
int hf__union_list(struct hf_store *store, const struct hf_session_query *query,
                   hf_session_fn *emit, void *ctx, struct hf_error *err);
int hf__union_read(struct hf_store *store, const struct hf_text *id,
                   const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
                   struct hf_error *err);

#endif
