/* internal.h - what the files of the core know of each other, grouped by file. */
#ifndef HF_INTERNAL_H
#define HF_INTERNAL_H

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include <holdfast/holdfast.h>

#include "util/buf.h"
#include "util/content.h"
#include "util/epoch.h"
#include "util/misc.h"

/* ---- home.c: where things are (SPEC 1.1, 1.2) ---- */

struct hf__home {
    char *root;    /* absolute, symlinks resolved as far as it exists */
    char *profile; /* "default" or a name */
    char *home;    /* the profile's folder */
};
int hf__home_find(const char *home, const char *profile, struct hf__home *ret,
                  struct hf_error *err);
void hf__home_free(struct hf__home *home);
int hf__profile_name_ok(const char *name);
/* The folder of a profile below ROOT, for the caller to free(); HF_NOT_FOUND, naming how
 * to create it, when it does not exist. */
int hf__profile_home(const char *root, const char *name, char **ret_home,
                     struct hf_error *err);

/* ---- config_keys.c: the table of SPEC 1.4 ---- */

struct hf__config_key {
    const char *key;      /* "database.journal_mode" */
    const char *type;     /* an option type, or "backend", "paths", "synchronous" */
    const char *fallback; /* its default as text; "" is unset */
};
extern const struct hf__config_key hf__config_keys[]; /* last key NULL */
int hf__config_key_index(const char *key);            /* -1: none of ours */

/* ---- config_yaml.c: YAML text as a tree with places; the only user of <yaml.h> ---- */

enum hf__yaml_kind { HF__YAML_SCALAR, HF__YAML_LIST, HF__YAML_MAP, HF__YAML_ALIAS };
struct hf__yaml_node {
    enum hf__yaml_kind kind;
    char *text;          /* scalar: its bytes, ends in a NUL that len does not count */
    size_t len;
    int plain;           /* scalar without quotes: may be a number or null */
    int tagged;          /* has a tag that is none of YAML's own */
    int line, column;    /* from 1 */
    struct hf__yaml_node **items; /* list: items; map: key, value, key, value... */
    size_t n, cap;
    struct hf__yaml_node *target; /* alias: what it stands for, already complete */
    struct hf__yaml_node *next;   /* all nodes, for freeing */
    uint64_t weight;     /* nodes below it with every alias written out */
    int depth;           /* levels below it, likewise */
};
struct hf__yaml {
    struct hf__yaml_node *nodes, *root; /* root NULL: nothing in the file */
};
/* HF_CONFIG with FILE, line and column.  *ret is for hf__yaml_free(). */
int hf__yaml_parse(const char *file, const char *text, size_t len, struct hf__yaml *ret,
                   struct hf_error *err);
void hf__yaml_free(struct hf__yaml *yaml);
/* NODE, or what an alias stands for. */
const struct hf__yaml_node *hf__yaml_real(const struct hf__yaml_node *node);
int hf__yaml_is_null(const struct hf__yaml_node *node);
const char *hf__yaml_kind_name(const struct hf__yaml_node *node); /* "a list" */
/* The text of a scalar, NULL for anything else (also with a NUL in it). */
const char *hf__yaml_key(const struct hf__yaml_node *node);

/* ---- config.c, config_file.c, config_text.c: one resolved configuration (SPEC 1.4, 1.5) ---- */

struct hf__config_entry {
    char *key;   /* full key: "database.journal_mode", "backends.jsonl.dir" */
    char *value; /* checked, as text; a list is joined by '\n'; of backends.* the raw text,
                    NULL for a null */
    char *file;  /* NULL: default */
    int line, column;
    int quoted;  /* backends.*: in quotes, so no number */
};
/* Immutable once loaded; shared by reference count, so that a reload does not pull it
 * from under a store that is being opened. */
struct hf__config {
    int refs;
    struct hf__config_entry *entries; /* all known keys, in the order of SPEC 1.4, then
                                         backends.* */
    size_t n;
    int backend_explicit; /* database.backend stands in a file */
};
/* What one file says: `known` by index of hf__config_keys (key NULL: not there; value
 * NULL: null, which means unset), then backends.*. */
struct hf__config_file {
    struct hf__config_entry *known;
    struct hf__config_entry pool; /* sessions.read_pool_max; key NULL: not there */
    struct hf__config_entry *backends;
    size_t n_backends;
};
/* A missing file says nothing.  HOST (may be NULL) hears of near misses. */
int hf__config_file_read(const char *path, const struct hf_host *host,
                         struct hf__config_file *ret, struct hf_error *err);
void hf__config_file_free(struct hf__config_file *file);
/* The bytes of a file for free(); *ret stays NULL when there is none. */
int hf__config_text(const char *path, char **ret, size_t *ret_len, struct hf_error *err);
void hf__config_entry_clear(struct hf__config_entry *entry);
/* Reads ROOT/config.yaml and then HOME/config.yaml over it. */
int hf__config_load(const char *root, const char *home, const struct hf_host *host,
                    struct hf__config **ret, struct hf_error *err);
struct hf__config *hf__config_ref(struct hf__config *config);
void hf__config_unref(struct hf__config **config);
const char *hf__config_get(const struct hf__config *config, const char *key);
/* The entry, with file and line, or NULL. */
const struct hf__config_entry *hf__config_find(const struct hf__config *config,
                                               const char *key);
int64_t hf__config_int(const struct hf__config *config, const char *key);

/* ---- options.c: option tables and values against them (SPEC 2.4) ---- */

/* NULL when TYPE is a well-formed option type ("int:LOW..HIGH", ...), else why not. */
const char *hf__option_type_bad(const char *type);
/* Checks VALUE against TYPE; HF_CONFIG with what was found and what is allowed. */
int hf__option_check(const struct hf_option *option, const char *value,
                     const char *where, struct hf_error *err);
/* The same, giving the value in its one spelling (an enum as the table has it, a bool as
 * "true" or "false") for the caller to free().  NAME is the key in messages, WHERE
 * "FILE:LINE:COLUMN" or NULL, FILE goes to err->path.  QUOTED text is no number. */
int hf__option_value(const char *type, const char *name, const char *value, int quoted,
                     const char *where, const char *file, char **ret,
                     struct hf_error *err);
/* Says "WHERE: NAME: found FOUND, allowed: ..." with the near miss of the bare FOUND. */
int hf__option_refuse(const char *type, const char *name, const char *found,
                      const char *where, const char *file, struct hf_error *err);
/* Appends what TYPE allows, for people. */
void hf__option_allowed(struct hf__buf *out, const char *type);
/* The settings of backend NAME from backends.NAME.* and the defaults of its table, as a
 * NULL-key-ended array for hf__settings_free().  Unknown keys: HF_CONFIG with file, line
 * and the near miss. */
int hf__settings_make(const struct hf__config *config, const char *name,
                      const struct hf_option *table, struct hf_setting **ret,
                      struct hf_error *err);
/* Every database.* key (without the prefix, but backend and plugin_path) and
 * "sessions.index". */
int hf__settings_database(const struct hf__config *config, struct hf_setting **ret,
                          struct hf_error *err);
void hf__settings_free(struct hf_setting **settings);

/* ---- log.c ---- */

struct hf__log {
    hf_log_fn *fn;
    void *ctx;
};
void hf__log(const struct hf__log *log, int level, const char *event, const char *path,
             const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void hf__vlog(const struct hf__log *log, int level, const char *event, const char *path,
              const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

/* ---- mounts.c, mountinfo.c: which file system (SPEC 3.1) ---- */

void hf__mount_classify(const char *path, struct hf_mount *ret);
/* 1: HOLDFAST_MOUNTINFO stands in for the real mount table; 2: it names a file that
 * cannot be read. */
int hf__mount_faked(void);
/* Looks at HOLDFAST_MOUNTINFO; done when a runtime is made, and never again by it. */
void hf__mount_environment(void);

/* ---- runtime.c ---- */

struct hf_runtime {
    struct hf__home where;
    struct hf__log log;
    struct hf_host host;     /* its ctx is this runtime */
    uint32_t may_thread;
    pthread_mutex_t lock;    /* guards config */
    struct hf__config *config;
    struct hf__runtime_profile *others; /* configurations of other profiles, as read at
                                           their first use or the last reload */
    struct hf_runtime *next_retired;
};
/* The configuration and folder of PROFILE (NULL: the runtime's own).  *ret_config is a
 * reference of the caller's; *ret_home is to be freed. */
int hf__runtime_profile(struct hf_runtime *rt, const char *profile,
                        struct hf__config **ret_config, char **ret_home,
                        struct hf_error *err);

/* ---- host.c: the table that backends get ---- */

void hf__host_init(struct hf_host *host, struct hf_runtime *rt);

/* ---- live.c: the registry of database files that are open in this process ---- */

/* What file_track and file_untrack do.  HF_BUSY under an offline guard. */
int hf__live_track(const char *path, struct hf_error *err);
void hf__live_untrack(const char *path);
int hf__live_is(const char *path);
/* Between these no connection to the file at PATH, by whatever name, can be opened by
 * this process; HF_BUSY when one is open.  A sidecar counts as its database. */
int hf__live_guard(const char *path, struct hf_error *err);
void hf__live_unguard(const char *path);
/* The same for a file that was looked at already: RESOLVED is its path, ST (NULL: it is
 * not there) its identity.  *ret_first: nobody else guards this very file. */
int hf__live_guard_file(const char *resolved, const struct stat *st, int *ret_first,
                        struct hf_error *err);
void hf__live_unguard_file(const char *resolved, const struct stat *st);

/* What the open databases are called, their sidecars too (there or not). */
struct hf__live_name {
    char *path;       /* resolved */
    int sidecar;
    int has_id, has_dir;
    struct stat id, dir;
};
int hf__live_names(struct hf__live_name **ret, size_t *ret_count, struct hf_error *err);
void hf__live_names_free(struct hf__live_name *names, size_t count);

/* ---- offline_word.c: whether a word of a command names one of them ---- */

/* In a word: any bytes, the first without a slash among them. */
#define HF__WORD_GLOB 1
#define HF__WORD_ANY 2

/* The entry of NAMES that WORD (no NUL, absolute or beginning with HF__WORD_ANY) may
 * mean, or NULL. */
const struct hf__live_name *hf__live_match(const struct hf__live_name *names,
                                           size_t count, const char *word);

/* ---- loader.c: the only user of <ltdl.h>; modules on disk (SPEC 2.2, 2.3) ---- */

/* Loads hf_NAME.so from PATH (absolute), calls its entry symbol and returns the plugin;
 * nothing of a refused module but its constructors has run. */
int hf__loader_load(const char *path, const char *name, const struct hf_host *host,
                    const struct hf_plugin **ret_plugin, struct hf_error *err);
/* The installed plugin folder, found from where libholdfast itself lies
 * (LIBDIR/holdfast/backends); for the caller to free(). */
char *hf__loader_builtin_dir(void);
/* HF_OK when PATH may be loaded from as far as ownership and modes go (SPEC 2.2); in
 * loader_safe.c. */
int hf__loader_safe(const char *path, struct hf_error *err);

/* ---- loader_elf.c: what is wrong with a file, before dlopen ---- */

/* HF_OK for a readable regular file that is an ELF shared object for this machine with
 * its headers within the file; HF_PLUGIN with the reason otherwise. */
int hf__elf_check(const char *path, struct hf_error *err);

/* ---- registry.c: checked backends, by path (SPEC 2, models 3.6) ---- */

struct hf__backend {
    struct hf__backend *next;
    char *path;              /* resolved */
    char *name;
    struct hf_backend ops;   /* our copy, no NULL left in it once defaults are in */
    struct hf_abi abi;       /* as the module stamped it */
    uint32_t kind;
    const char **callbacks;  /* optional ones that the module brought; last NULL */
    /* One flag per pointer-sized slot of ops: a default of the core stands there, whose
     * first argument is the struct hf_store itself. */
    unsigned char defaulted[sizeof(struct hf_backend) / sizeof(void *)];
    pthread_mutex_t serial;  /* HF_THREADS_SERIAL */
};
/* Finds by name in database.plugin_path, HOLDFAST_PLUGIN_PATH and the built-in folder,
 * or by absolute path; loads and checks it once per process. */
int hf__backend_find(const struct hf__config *config, const char *name_or_path,
                     const struct hf_host *host, struct hf__backend **ret,
                     struct hf_error *err);
/* The file that NAME_OR_PATH means, as far as it can be told without loading it; to be
 * freed. */
int hf__backend_path(const struct hf__config *config, const char *name_or_path,
                     char **ret_path, struct hf_error *err);
/* The plugin folders in their order, NULL-ended, for hf__strv_free(). */
char **hf__backend_dirs(const struct hf__config *config);
void hf__strv_free(char ***v);
/* Whether NAME is [a-z][a-z0-9_]*. */
int hf__backend_name_ok(const char *name);
/* Whether WORD could be such a name but for its case. */
int hf__backend_word(const char *word);

/* ---- plugin_check.c: a module's descriptor against the rules (models 2.1, 3.6) ---- */

/* Checks PLUGIN, which PATH returned for NAME, and copies what it offers into *RET (a
 * zeroed record); HF_PLUGIN with file, what was expected and what was found. */
int hf__plugin_check(const struct hf_plugin *plugin, const char *path, const char *name,
                     struct hf__backend *ret, struct hf_error *err);

/* ---- defaults*.c: one function per optional callback ---- */

/* Puts the core's defaults into the NULL slots and marks them in `defaulted`. */
void hf__defaults_fill(struct hf__backend *backend);
/* The optional callbacks: name and offset in struct hf_backend; last name NULL. */
struct hf__slot {
    const char *name;
    size_t offset;
};
extern const struct hf__slot hf__optional_slots[];
int hf__default_search(void *store, const struct hf_search *query, hf_hit_fn *emit,
                       void *ctx, struct hf_search_info *info, struct hf_error *err);
int hf__default_lease_acquire(void *store, const struct hf_text *name,
                              const struct hf_text *holder, double ttl_seconds,
                              uint64_t *ret_generation, struct hf_error *err);
int hf__default_lease_renew(void *store, const struct hf_text *name,
                            const struct hf_text *holder, uint64_t generation,
                            double ttl_seconds, struct hf_error *err);
int hf__default_lease_release(void *store, const struct hf_text *name,
                              const struct hf_text *holder, uint64_t generation,
                              struct hf_error *err);
int hf__default_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source,
                      void *ctx, struct hf_error *err);
int hf__default_session_merge(void *store, const struct hf_transfer *what,
                              struct hf_transferred *ret, struct hf_error *err);
int hf__default_check(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
                      struct hf_error *err);

/* ---- guard.c: thread models as locks ---- */

struct hf_store {
    struct hf_runtime *rt;
    struct hf__config *config;
    struct hf__backend *backend;
    void *handle;            /* the backend's; with a failover it has it */
    struct hf__failover *failover; /* NULL: there is no fallback */
    char *profile, *home;
    uint32_t read_only;
    int pid;                 /* of the opener: a handle must not cross fork() */
    pthread_mutex_t lock;    /* HF_THREADS_PER_STORE */
    struct hf__upkeep *upkeep; /* its thread, or NULL */
    struct hf_store *given_up; /* store.c: the next one that a forked child closed */
};
int hf__guard_enter(struct hf_store *store, struct hf_error *err); /* HF_MISUSE */
void hf__guard_leave(struct hf_store *store);

/* Calls OP of the store's backend: a default gets the store, a callback of the module
 * its own handle.  Only within hf__guard_enter() and hf__guard_leave(). */
#define HF__OP(store, op, ...)                                                       \
    ((store)->failover                                                               \
         ? hf__failover_ops.op((store), __VA_ARGS__)                                 \
         : (store)->backend->ops.op(                                                 \
               (store)->backend                                                      \
                       ->defaulted[offsetof(struct hf_backend, op) / sizeof(void *)] \
                   ? (void *)(store)                                                 \
                   : (store)->handle,                                                \
               __VA_ARGS__))
extern const struct hf_backend hf__failover_ops;

/* ---- store.c ---- */

/* Opens another handle of the store's backend, into *ret_handle. */
struct hf__reopen { uint32_t read_only, read_only_first, after_loss; };
int hf__handle_open(struct hf_store *store, const struct hf__reopen *how,
                    void **ret_handle, struct hf_error *err);

/* ---- failover.c ---- */

struct hf__failover;
/* Gives the store a fallback, if its configuration names one. */
int hf__failover_new(struct hf_store *store, const struct hf_store_options *options,
                     struct hf_error *err);
/* After the primary's open answered RC: takes its handle over, merges what waits in the
 * fallback, or begins degraded. */
int hf__failover_opened(struct hf_store *store, int rc, struct hf_error *err);
void hf__failover_close(struct hf_store *store); /* both handles */
void hf__failover_free(struct hf_store *store);
void hf__failover_interrupt(struct hf_store *store);

/* ---- upkeep.c: the thread of an open store ---- */

/* Starts it where the store may have one; without it upkeep is left to the callers. */
void hf__upkeep_start(struct hf_store *store);
/* Ends it and waits for the end; outside the guard. */
void hf__upkeep_stop(struct hf_store *store);
/* Something was written: its next turn comes soon. */
void hf__upkeep_wake(struct hf_store *store);
/* One turn: the backend does what is due.  Returns in how many milliseconds it wants to
 * be called again. */
uint32_t hf__upkeep_run(struct hf_store *store);

/* ---- call.c: what every front function does round its call ---- */

struct hf__call {
    struct hf_store *store;
    const char *what;      /* "append to session" and so on, for generic texts */
    uint32_t writes;
    struct hf_error *err;  /* never NULL between begin and end */
    struct hf_error own;   /* for callers that gave none */
};
/* The checks every call needs (handle, fork, read-only when WRITES) and the guard.  On
 * failure nothing is held; call hf__call_end() only after success. */
int hf__call_begin(struct hf__call *call, struct hf_store *store, const char *what,
                   uint32_t writes, struct hf_error *err);
/* Lets go of the guard and checks the answer RC; STOP is the non-zero value with which
 * an emit callback ended the walk, or 0.  Returns what the caller gets. */
int hf__call_end(struct hf__call *call, int rc, int stop);
/* The same check of an answer without a guard, for open. */
int hf__call_check(const char *backend, const char *what, int rc, struct hf_error *err);
/* HF_OK when SRC (a size-stamped struct of the embedder, not NULL) was made with HF_INIT
 * of this major version. */
int hf__abi_ok(const void *src, const char *what, struct hf_error *err);
/* Gives SRC (ours) to DST (the embedder's, perhaps of another age), as much of it as both
 * know; the stamp of DST stays. */
void hf__abi_give(void *dst, const void *src);

/* ---- relay.c: between a backend's emit and the embedder's ---- */

struct hf__relay {
    union {
        hf_session_fn *session;
        hf_message_fn *message;
        hf_hit_fn *hit;
        hf_finding_fn *finding;
        hf_source_fn *source;
        hf_usage_fn *usage;
    } emit;
    void *ctx;
    int stop;      /* the non-zero value that ended the walk */
    uint64_t seen; /* items emitted */
};
int hf__relay_session(void *ctx, const struct hf_session *session);
int hf__relay_message(void *ctx, const struct hf_message *message);
int hf__relay_hit(void *ctx, const struct hf_hit *hit);
int hf__relay_finding(void *ctx, const struct hf_finding *finding);
int hf__relay_source(void *ctx, const struct hf_text *source, uint64_t sessions);
int hf__relay_usage(void *ctx, const struct hf_usage *usage);

/* ---- address.c: "@session:PROFILE/ID" (SPEC 8) ---- */

/* Splits ARG.  *ret_profile is NULL for a plain id, else to be freed; *ret_id points into
 * ARG.  HF_INVALID for an address that is none. */
int hf__session_address_parse(const struct hf_text *arg, char **ret_profile,
                              struct hf_text *ret_id, struct hf_error *err);

/* ---- list_view.c: SPEC 11 "What a list shows", for backends without the view ---- */

int hf__list_view(struct hf_store *store, const struct hf_session_query *query,
                  hf_session_fn *emit, void *ctx, struct hf_error *err);

/* ---- records.c: titles, ids, times (SPEC 7) ---- */

enum { HF__MAX_TITLE_BYTES = 1 << 20 };
/* The clean title in *ret (to be freed; NULL when nothing is left of it). */
int hf__title_clean(const struct hf_text *title, char **ret, struct hf_error *err);
/* "YYYYMMDD_HHMMSS_" and 6 hex, local time of the process (never changes the zone). */
void hf__session_id_make(char *ret, size_t size);
/* HF_OK for an id that can be stored: 1..512 bytes of valid UTF-8 without control
 * characters (NUL and newline among them). */
int hf__session_id_check(const struct hf_text *id, struct hf_error *err);
/* A time that may be written: T when it lies in the window, else now. */
double hf__time_or_now(double t);

/* ---- record_json.c: a record as one JSON object, appended to OUT ---- */

void hf__session_json(struct hf__buf *out, const struct hf_session *session);
void hf__message_json(struct hf__buf *out, const struct hf_message *message);

#endif /* HF_INTERNAL_H */
