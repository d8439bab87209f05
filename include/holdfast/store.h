/* holdfast/store.h - an open store: sessions and messages of one profile.
 *
 * A handle may be used from any thread; the core takes the locks that the backend's
 * thread model needs.  It must not cross fork(): in the child every call returns
 * HF_MISUSE.  Every function returns HF_OK or a negative enum hf_code with *err filled
 * in (err may be NULL); outputs are written on success only.  An emit callback runs
 * inside the call and must not use the same handle.
 */
#ifndef HOLDFAST_STORE_H
#define HOLDFAST_STORE_H

#include <holdfast/error.h>
#include <holdfast/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HF_API
#define HF_API __attribute__((visibility("default")))
#endif

struct hf_runtime;
struct hf_store;

/* Told when the condition of a store changes (degraded, recovering, healthy).  Called
 * from any thread, within the call that noticed it; it must not call the library. */
typedef void hf_state_fn(void *ctx, const struct hf_state *state);

struct hf_store_options {
    struct hf_abi abi;
    const char *profile; /* NULL: the runtime's own */
    uint32_t read_only;  /* create, write and lock nothing; a missing store is empty */
    uint32_t read_only_first; /* a dashboard: read-only, but an outdated schema is
                                 brought up to date by one writable open first */
    hf_state_fn *state; /* may be NULL */
    void *state_ctx;
};

/* Opens the store of a profile with the backend that its configuration names.
 * HF_CONFIG, HF_PLUGIN (the backend does not load), HF_NOT_FOUND (no such profile),
 * HF_CORRUPT, HF_BUSY, HF_UNSUPPORTED, HF_READ_ONLY, HF_IO.  OPTIONS may be NULL. */
HF_API int hf_store_open(struct hf_runtime *runtime,
                         const struct hf_store_options *options,
                         struct hf_store **ret_store, struct hf_error *err);
/* No other call may be under way.  Accepts NULL, leaves NULL. */
HF_API void hf_store_close(struct hf_store **store);

HF_API const char *hf_store_backend(const struct hf_store *store); /* its name */
HF_API const char *hf_store_profile(const struct hf_store *store);

/* Sessions.  create: HF_EXISTS when the id is taken; a session without an id gets one
 * (YYYYMMDD_HHMMSS_ and six hex digits), which is copied to ret_id (may be NULL;
 * ID_SIZE bytes, at least 40, with a NUL).  ensure: fills in only what is NULL.  Titles
 * are cleaned and checked: HF_INVALID with the length, HF_EXISTS with the owner. */
HF_API int hf_store_session_create(struct hf_store *store,
                                   const struct hf_session *session, char *ret_id,
                                   size_t id_size, struct hf_error *err);
HF_API int hf_store_session_ensure(struct hf_store *store,
                                   const struct hf_session *session,
                                   struct hf_error *err);
HF_API int hf_store_session_get(struct hf_store *store, const struct hf_text *id,
                                uint32_t want, hf_session_fn *emit, void *ctx,
                                struct hf_error *err);
/* Finds the one session whose id is exactly ARG, else the one whose id begins with it
 * (literally), and gives its id in *ret_id (free() it).  HF_NOT_FOUND names the two ways
 * to ask another profile; HF_INVALID when ambiguous, with up to five candidates. */
HF_API int hf_store_session_resolve(struct hf_store *store, const struct hf_text *arg,
                                    struct hf_text *ret_id, struct hf_error *err);
/* Splits "@session:PROFILE/ID"; a plain id gives NULL in *ret_profile (free() it) and
 * itself in *ret_id, which points into ARG.  HF_INVALID when it begins like an address
 * and is none.  The caller opens PROFILE's store: nothing does that by itself. */
HF_API int hf_session_address(const struct hf_text *arg, char **ret_profile,
                              struct hf_text *ret_id, struct hf_error *err);
HF_API int hf_store_session_list(struct hf_store *store,
                                 const struct hf_session_query *query,
                                 hf_session_fn *emit, void *ctx, struct hf_error *err);
HF_API int hf_store_session_update(struct hf_store *store, const struct hf_text *id,
                                   const struct hf_field *fields, uint64_t n_fields,
                                   struct hf_error *err);
/* The title, cleaned and checked; NULL or empty text removes it. */
HF_API int hf_store_session_rename(struct hf_store *store, const struct hf_text *id,
                                   const struct hf_text *title, struct hf_error *err);
/* The first reason wins: ending an ended session changes nothing and succeeds. */
HF_API int hf_store_session_end(struct hf_store *store, const struct hf_text *id,
                                const struct hf_text *reason, struct hf_error *err);
HF_API int hf_store_session_reopen(struct hf_store *store, const struct hf_text *id,
                                   struct hf_error *err);
HF_API int hf_store_session_delete(struct hf_store *store, const struct hf_text *ids,
                                   uint64_t n_ids, uint64_t *ret_deleted,
                                   struct hf_error *err);

/* Messages.  append: all or nothing; acknowledged means durable as configured.  RET has
 * room for n_messages; may be NULL.  HF_NOT_FOUND: no such session; HF_CONTINUED: names
 * the continuation; HF_TOO_BIG; HF_BUSY says how long was waited. */
HF_API int hf_store_append(struct hf_store *store, const struct hf_append *what,
                           struct hf_appended *ret, struct hf_error *err);
HF_API int hf_store_read(struct hf_store *store, const struct hf_text *session_id,
                         const struct hf_message_query *query, hf_message_fn *emit,
                         void *ctx, struct hf_error *err);
HF_API int hf_store_rewind(struct hf_store *store, const struct hf_text *session_id,
                           int64_t from_id, uint64_t *ret_count, struct hf_error *err);
HF_API int hf_store_restore(struct hf_store *store, const struct hf_text *session_id,
                            int64_t from_id, uint64_t *ret_count, struct hf_error *err);
HF_API int hf_store_compact(struct hf_store *store, const struct hf_text *session_id,
                            int64_t watermark, const struct hf_message *const *summary,
                            uint64_t n_summary, struct hf_appended *ret,
                            struct hf_error *err);

HF_API int hf_store_search(struct hf_store *store, const struct hf_search *query,
                           hf_hit_fn *emit, void *ctx, struct hf_search_info *info,
                           struct hf_error *err);

/* get: *ret_value is for the caller to free(); its text ends in a NUL that is not
 * counted.  set: a NULL text removes the key. */
HF_API int hf_store_meta_get(struct hf_store *store, const struct hf_text *key,
                             struct hf_text *ret_value, struct hf_error *err);
HF_API int hf_store_meta_set(struct hf_store *store, const struct hf_text *key,
                             const struct hf_text *value, struct hf_error *err);

HF_API int hf_store_lease_acquire(struct hf_store *store, const struct hf_text *name,
                                  const struct hf_text *holder, double ttl_seconds,
                                  uint64_t *ret_generation, struct hf_error *err);
HF_API int hf_store_lease_renew(struct hf_store *store, const struct hf_text *name,
                                const struct hf_text *holder, uint64_t generation,
                                double ttl_seconds, struct hf_error *err);
HF_API int hf_store_lease_release(struct hf_store *store, const struct hf_text *name,
                                  const struct hf_text *holder, uint64_t generation,
                                  struct hf_error *err);

HF_API int hf_store_usage_add(struct hf_store *store, const struct hf_usage *delta,
                              struct hf_error *err);
HF_API int hf_store_usage_read(struct hf_store *store, const struct hf_text *session_id,
                               hf_usage_fn *emit, void *ctx, struct hf_error *err);

/* RET was made with HF_INIT. */
HF_API int hf_store_state(struct hf_store *store, struct hf_state *ret,
                          struct hf_error *err);
HF_API int hf_store_stats(struct hf_store *store, struct hf_stats *ret,
                          hf_source_fn *emit_source, void *ctx, struct hf_error *err);
HF_API int hf_store_check(struct hf_store *store, uint32_t level, hf_finding_fn *emit,
                          void *ctx, struct hf_error *err);
HF_API int hf_store_repair(struct hf_store *store, uint32_t dry_run,
                           hf_finding_fn *emit, void *ctx, struct hf_error *err);
HF_API int hf_store_optimize(struct hf_store *store, hf_finding_fn *emit, void *ctx,
                             struct hf_error *err);
HF_API int hf_store_flush(struct hf_store *store, struct hf_error *err);
HF_API int hf_store_backup(struct hf_store *store, const char *path,
                           struct hf_error *err);
/* Makes calls that are under way in other threads return HF_CANCELLED soon. */
HF_API void hf_store_interrupt(struct hf_store *store);

/* Transfer.  WRITE gets the document in pieces, in order; non-zero stops and
 * is returned.  Export: the sessions of IDS in that order, or with n_ids 0 all of them
 * (open, archived and hidden too), oldest first, one JSON line each.  Rewound messages
 * are left out, compacted ones have their flags.  HF_NOT_FOUND for an id of IDS that is
 * not there; HF_TOO_BIG when a session has more than sessions.max_export_messages. */
typedef int hf_write_fn(void *ctx, const char *bytes, size_t len);
typedef void hf_progress_fn(void *ctx, uint64_t done, uint64_t total);
struct hf_export_options {
    struct hf_abi abi;
    const struct hf_text *ids;
    uint64_t n_ids;
    const struct hf_text *sources; /* any of these; NULL: any */
    uint64_t n_sources;
    double since, until;           /* window of last_active; 0: unbounded */
    hf_progress_fn *progress;      /* may be NULL */
    void *progress_ctx;
};
HF_API int hf_store_export_jsonl(struct hf_store *store,
                                 const struct hf_export_options *options,
                                 hf_write_fn *write, void *ctx, struct hf_error *err);

/* Import: READ fills at most SIZE bytes and returns how many, 0 at the end, or a negative
 * enum hf_code with *err set.  A session that exists is skipped, or with MERGE gets the
 * messages whose uid it lacks (of lines without uids: those that differ in role, time or
 * content).  A broken line stops it with the line's number; what was imported before
 * stays.  A session whose messages cannot all be stored is removed again.  A title that
 * another session has gets the next free " #2", " #3"... (INFO import_title).  A parent
 * may come on a later line; one that is nowhere leaves a root (WARNING import_parent).
 * Unknown members of a line are kept where the store has such a column. */
typedef int64_t hf_read_fn(void *ctx, char *buf, size_t size, struct hf_error *err);
struct hf_import_options {
    struct hf_abi abi;
    const char *name;  /* of the source, for messages; may be NULL */
    uint32_t merge, reserved;
};
struct hf_import_result {
    struct hf_abi abi;
    uint64_t sessions, skipped, merged, messages;
};
HF_API int hf_store_import_jsonl(struct hf_store *store,
                                 const struct hf_import_options *options,
                                 hf_read_fn *read, void *ctx,
                                 struct hf_import_result *ret, struct hf_error *err);

/* One record as JSON, exactly as export writes it: text is made valid
 * UTF-8, content and tool_calls are decoded. */
HF_API int hf_session_write_json(const struct hf_session *session, hf_write_fn *write,
                                 void *ctx);
HF_API int hf_message_write_json(const struct hf_message *message, hf_write_fn *write,
                                 void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_STORE_H */
