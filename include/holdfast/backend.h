/* holdfast/backend.h - the interface that a storage backend implements.
 *
 * A backend is one shared object, hf_NAME.so, exporting one function,
 * holdfast_plugin_NAME().  It does not link against libholdfast: what it needs from the
 * core arrives in struct hf_host.  Strings and structs are borrowed for the length of a
 * call, in both directions; nothing allocated on one side is ever freed on the other.
 * A module is never unloaded.  tests/plugins/memory.c is a whole backend, to be read
 * first.
 *
 * History of the ABI: docs/abi.md.
 */
#ifndef HOLDFAST_BACKEND_H
#define HOLDFAST_BACKEND_H

#include <holdfast/error.h>
#include <holdfast/record.h>

#ifdef __cplusplus
#define HF_EXTERN_C extern "C"
#else
#define HF_EXTERN_C
#endif

enum hf_log_level { HF_LOG_DEBUG = 10, HF_LOG_INFO = 20, HF_LOG_WARNING = 30,
                    HF_LOG_ERROR = 40 };

/* How the core sees the mount that a path really sits on. */
enum hf_mount_class { HF_MOUNT_NATIVE = 0, HF_MOUNT_NETWORK = 10, HF_MOUNT_CROSS_VM = 20,
                      HF_MOUNT_UNKNOWN = 30 };
struct hf_mount {
    struct hf_abi abi;
    uint32_t mount_class; /* enum hf_mount_class */
    uint32_t known_native; /* a file system that Holdfast knows to support shared
                              mappings; WAL needs no probe there */
    uint32_t sandbox;      /* gVisor */
    uint32_t overlay_unknown; /* an overlay whose upper folder could not be found */
    char fs_type[64];      /* as the mount table spells it; "" if unknown */
    char mount_point[4096];
};

/* What the core gives a backend.  Valid until the process ends. */
struct hf_host {
    struct hf_abi abi;
    void *ctx; /* first argument of each */

    /* Says something to the embedder's log.  EVENT is a stable lower-case name
     * ("cross_vm_delete"), PATH the file it is about or NULL.  Any thread. */
    void (*log)(void *ctx, int32_t level, const char *event, const char *path,
                const char *fmt, ...)
#if defined(__GNUC__)
        __attribute__((format(printf, 5, 6)))
#endif
        ;

    /* Classifies the mount of PATH (a file that exists, or a name whose folder does).
     * Never fails: what cannot be found out is HF_MOUNT_NATIVE outside Linux and with
     * an unreadable table.  RET was made by the caller with HF_INIT. */
    void (*mount_classify)(void *ctx, const char *path, struct hf_mount *ret);

    /* The registry of live database files of this process.  track: before
     * the first descriptor on PATH is opened; fails with HF_BUSY under an offline
     * guard.  untrack: after the last one is closed.  Calls nest. */
    int (*file_track)(void *ctx, const char *path, struct hf_error *err);
    void (*file_untrack)(void *ctx, const char *path);

    /* Seconds since 1970 UTC; tests set it. */
    double (*now)(void *ctx);
};

/* Frozen, as they travel in arrays: these two never gain a member. */
struct hf_option { const char *key, *type, *fallback, *help; };
struct hf_setting { const char *key, *value; };
/* An option's type: "int:LOW..HIGH", "enum:a|b", "string", "path", "bool".  A value
 * arrives in one spelling: decimal digits, the choice as the table has it, an absolute
 * path, "true" or "false"; "" for an option without default that is not set. */

enum hf_threads {
    HF_THREADS_SERIAL = 0,    /* one call at a time per process (the core locks) */
    HF_THREADS_PER_STORE = 10, /* one call at a time per store handle */
    HF_THREADS_PARALLEL = 20  /* any calls at once; the backend locks */
};

enum hf_cap {
    HF_CAP_DURABLE = 1u << 0,      /* what append acknowledged survives power loss */
    HF_CAP_MULTI_PROCESS = 1u << 1, /* safe with other writing processes */
    HF_CAP_LIST_VIEW = 1u << 2     /* session_list carries out view, order by recent,
                                      previews, filters, pages and chain tips itself;
                                      without it the core asks for every session, in
                                      any order, and does all of that */
};

struct hf_open {
    struct hf_abi abi;
    const char *home;    /* folder of the profile, absolute; exists unless read_only */
    const char *root;    /* install root, absolute */
    const char *profile; /* "default" or its name */
    const struct hf_setting *settings; /* backends.NAME.*: checked and complete, defaults
                                          included; last key NULL */
    const struct hf_setting *database; /* every database.* key but backend and
                                          plugin_path, and sessions.index, complete;
                                          key without prefix; last key NULL */
    uint32_t read_only;       /* create, write and lock nothing */
    uint32_t read_only_first; /* a dashboard: read-only, but bring an outdated schema up
                                 to date with one writable open if need be */
    uint32_t may_thread;      /* `upkeep` is called from a thread of the core, at least
                                 once a second and soon after writes: what is due may be
                                 left to it */
    uint32_t after_loss;      /* this store was lost (HF_WAL_LOST, HF_REPLACED): whoever
                                 still has the files that were lost is looked for, even
                                 if nothing seems to be missing */
};

enum hf_put_mode {
    HF_PUT_CREATE = 0,   /* HF_EXISTS if the id is there */
    HF_PUT_ENSURE = 10,  /* there already: fill in only what is NULL */
    HF_PUT_VERBATIM = 20 /* import: as CREATE, with counters and times as given */
};

/* The operations.  Each int callback returns HF_OK or a negative enum hf_code with *err
 * filled in (err is never NULL), leaving its outputs untouched on failure; an emit
 * callback's non-zero value is returned unchanged.  Callbacks come from any thread, as
 * far as `threads` allows.  Ids and text may hold any byte: an id is data, never a path.
 * On a handle opened read_only the core lets no writing callback through. */
struct hf_backend {
    struct hf_abi abi; /* HF_ABI(struct hf_backend) */
    const char *name;  /* [a-z][a-z0-9_]*, the NAME of hf_NAME.so */
    const char *version, *summary;
    uint32_t threads; /* enum hf_threads */
    uint32_t caps;    /* enum hf_cap, or-ed */
    const struct hf_option *options; /* last key NULL; may be NULL: no options */

    /* ---- required ---- */

    /* Opens the store of how->home.  A missing store is created, or, with read_only,
     * is an empty one.  Never creates over something that it cannot read. */
    int (*open)(const struct hf_host *host, const struct hf_open *how, void **ret_store,
                struct hf_error *err);
    /* Releases everything; cannot fail.  No other call is under way. */
    void (*close)(void *store);

    /* Stores a session as MODE says. */
    int (*session_put)(void *store, const struct hf_session *session, uint32_t mode,
                       struct hf_error *err);
    /* Emits the session of exactly this id, once; HF_NOT_FOUND if there is none. */
    int (*session_get)(void *store, const struct hf_text *id, uint32_t want,
                       hf_session_fn *emit, void *ctx, struct hf_error *err);
    /* Emits the sessions that QUERY asks for, in its order. */
    int (*session_list)(void *store, const struct hf_session_query *query,
                        hf_session_fn *emit, void *ctx, struct hf_error *err);
    /* Carries out all of FIELDS in one transaction, or none; HF_NOT_FOUND without such a
     * session, HF_EXISTS for a title that another session has (named in the text),
     * HF_INVALID for a name that the backend does not keep. */
    int (*session_update)(void *store, const struct hf_text *id,
                          const struct hf_field *fields, uint64_t n_fields,
                          struct hf_error *err);
    /* Removes these sessions with their messages, all or none; ids that are not there
     * are no error.  *ret_deleted is the number of sessions removed. */
    int (*session_delete)(void *store, const struct hf_text *ids, uint64_t n_ids,
                          uint64_t *ret_deleted, struct hf_error *err);
    /* Stores the messages and the counters in one transaction, durably when
     * HF_CAP_DURABLE, and fills ret[0..n_messages-1].  HF_NOT_FOUND without such a
     * session, HF_CONTINUED for one that ended with reason "compression".  Every
     * message has a uid unless HF_APPEND_VERBATIM. */
    int (*message_append)(void *store, const struct hf_append *what,
                          struct hf_appended *ret, struct hf_error *err);
    /* Emits messages of a session by id.  HF_NOT_FOUND without such a session. */
    int (*message_read)(void *store, const struct hf_text *session_id,
                        const struct hf_message_query *query, hf_message_fn *emit,
                        void *ctx, struct hf_error *err);

    /* ---- optional; beside each, what the core does when it is NULL ---- */

    /* Hides the active messages with id >= FROM_ID (rewound), and counts one rewind on
     * the session.  NULL: HF_UNSUPPORTED. */
    int (*message_rewind)(void *store, const struct hf_text *session_id, int64_t from_id,
                          uint64_t *ret_count, struct hf_error *err);
    /* Makes the rewound messages with id >= FROM_ID active again.
     * NULL: HF_UNSUPPORTED. */
    int (*message_restore)(void *store, const struct hf_text *session_id,
                           int64_t from_id, uint64_t *ret_count, struct hf_error *err);
    /* In one transaction: active messages with id <= WATERMARK become compacted, the
     * summary is appended (is_summary is set), and the session's two counters become
     * those of what is active now.  NULL: HF_UNSUPPORTED. */
    int (*message_compact)(void *store, const struct hf_text *session_id,
                           int64_t watermark, const struct hf_message *const *summary,
                           uint64_t n_summary, struct hf_appended *ret,
                           struct hf_error *err);
    /* Emits hits and fills *INFO.  No query text is an error.  NULL: the core reads
     * every session and looks for the words, and says "degraded". */
    int (*search)(void *store, const struct hf_search *query, hf_hit_fn *emit, void *ctx,
                  struct hf_search_info *info, struct hf_error *err);
    /* Key/values of the store.  get emits nothing and returns HF_NOT_FOUND for a key
     * that is not there; a set of NULL text removes.  NULL: HF_UNSUPPORTED. */
    int (*meta_get)(void *store, const struct hf_text *key,
                    int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
                    struct hf_error *err);
    int (*meta_set)(void *store, const struct hf_text *key, const struct hf_text *value,
                    struct hf_error *err);
    /* Named leases: acquire takes a free, expired or own lease and returns
     * its generation, which only grows; HF_BUSY while another holder's lives; HF_TOO_BIG
     * for a free one whose stored generation stands at INT64_MAX and cannot grow.  renew
     * and release need the exact generation, else HF_STALE_LEASE.
     * NULL: leases that hold within this process only. */
    int (*lease_acquire)(void *store, const struct hf_text *name,
                         const struct hf_text *holder, double ttl_seconds,
                         uint64_t *ret_generation, struct hf_error *err);
    int (*lease_renew)(void *store, const struct hf_text *name,
                       const struct hf_text *holder, uint64_t generation,
                       double ttl_seconds, struct hf_error *err);
    int (*lease_release)(void *store, const struct hf_text *name,
                         const struct hf_text *holder, uint64_t generation,
                         struct hf_error *err);
    /* Adds to the usage of a model in a session.  NULL: HF_UNSUPPORTED. */
    int (*usage_add)(void *store, const struct hf_usage *delta, struct hf_error *err);
    /* Emits the usage rows of a session.  NULL: HF_UNSUPPORTED. */
    int (*usage_read)(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                      void *ctx, struct hf_error *err);
    /* Whether the store is as it should be.  NULL: healthy. */
    int (*state)(void *store, struct hf_state *ret, struct hf_error *err);
    /* Counts and sizes; emit_source once per source.  NULL: counted by listing. */
    int (*stats)(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
                 struct hf_error *err);
    /* Looks for damage, changing nothing.  NULL: every session is listed and read. */
    int (*check)(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
                 struct hf_error *err);
    /* Repairs what check found.  NULL: HF_UNSUPPORTED. */
    int (*repair)(void *store, uint32_t dry_run, hf_finding_fn *emit, void *ctx,
                  struct hf_error *err);
    /* Merges indexes, reclaims space.  NULL: HF_UNSUPPORTED. */
    int (*optimize)(void *store, hf_finding_fn *emit, void *ctx, struct hf_error *err);
    /* Makes everything acknowledged durable and does due upkeep (checkpoint).
     * NULL: nothing, and succeeds. */
    int (*flush)(void *store, struct hf_error *err);
    /* Writes one self-contained copy to PATH (new file).  NULL: HF_UNSUPPORTED. */
    int (*backup)(void *store, const char *path, struct hf_error *err);
    /* Backend-specific work by VERB ("set-journal-mode", "recover", "restore").  STORE
     * is NULL: it works on the files of HOW.  NULL or unknown verb: HF_UNSUPPORTED. */
    int (*maintain)(const struct hf_host *host, const struct hf_open *how,
                    const char *verb, const struct hf_setting *args,
                    hf_finding_fn *emit, void *ctx, struct hf_error *err);
    /* Makes a call that is under way in another thread return HF_CANCELLED soon.  Any
     * thread, at any time between open and close.  NULL: nothing. */
    void (*interrupt)(void *store);

    /* ---- since minor 1; all optional ---- */

    /* Stores a session that comes from another store, in one transaction, as struct
     * hf_transfer says.  *RET was made with HF_INIT.  NULL: the core puts the session
     * and appends what is missing, in several steps. */
    int (*session_merge)(void *store, const struct hf_transfer *what,
                         struct hf_transferred *ret, struct hf_error *err);
    /* Hands the session of exactly this id to TAKE and, when that returns HF_OK, keeps it
     * no longer (it is moved away, not deleted).  From before TAKE until then nobody can
     * add to it; who wants to, finds it gone afterwards.  HF_BUSY, soon, while somebody
     * else is writing to it or handing it over; HF_NOT_FOUND.  What TAKE returns is
     * returned.  The stamp stays the same however often it is tried.  NULL: the backend
     * cannot be a fallback. */
    int (*session_hand_over)(void *store, const struct hf_text *id,
                             hf_transfer_fn *take, void *ctx, struct hf_error *err);
    /* After a loss: emits, a session at a time, what this handle has committed and what
     * therefore may be missing in the files that stand at its path now.  Nothing while
     * nothing is lost.  NULL: nothing. */
    int (*unsettled)(void *store, hf_transfer_fn *emit, void *ctx, struct hf_error *err);
    /* Does what is due (checkpoint, index, looking whether its files are still there), a
     * bounded slice of it, and says in *RET_AGAIN_MS how soon it wants to be called
     * again.  NULL: nothing. */
    int (*upkeep)(void *store, uint32_t *ret_again_ms, struct hf_error *err);
};

/* What HF_BACKEND_EXPORT makes the entry symbol return. */
enum hf_plugin_kind { HF_KIND_STORE = 1, HF_KIND_SHARED_STATE = 2 };
struct hf_plugin {
    struct hf_abi abi;
    uint32_t kind, reserved; /* enum hf_plugin_kind: which struct `ops` points to */
    const void *ops;         /* struct hf_backend for HF_KIND_STORE */
};
typedef const struct hf_plugin *hf_plugin_fn(const struct hf_host *host);

/* Exports the backend OPS (a struct hf_backend of static storage) under NAME. */
#define HF_BACKEND_EXPORT(NAME, OPS)                                             \
    HF_EXTERN_C __attribute__((visibility("default")))                          \
    const struct hf_plugin *holdfast_plugin_##NAME(const struct hf_host *host); \
    const struct hf_plugin *holdfast_plugin_##NAME(const struct hf_host *host)  \
    {                                                                           \
        static const struct hf_plugin plugin = {                                \
            HF_ABI(struct hf_plugin), HF_KIND_STORE, 0, &(OPS)};                \
        (void)host;                                                             \
        return &plugin;                                                         \
    }                                                                           \
    HF_EXTERN_C const struct hf_plugin *holdfast_plugin_##NAME(const struct hf_host *)

#endif /* HOLDFAST_BACKEND_H */
