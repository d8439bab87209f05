/* holdfast/holdfast.h - the runtime that an embedder makes once: home, profiles,
 * configuration, log, backends.  Stores are in store.h.
 *
 * A runtime may be used from any thread.  The library never prints, exits, or changes
 * the process's locale, signals, umask, environment or working directory.
 */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <holdfast/backend.h>
#include <holdfast/error.h>
#include <holdfast/offline.h>
#include <holdfast/record.h>
#include <holdfast/store.h>
#include <holdfast/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API __attribute__((visibility("default")))

struct hf_runtime;

/* One line of the log.  EVENT is a stable name, PATH may be NULL, TEXT is one line.
 * Called from any thread, never with a lock of Holdfast's held that the callback could
 * need; it must not call back into the library. */
typedef void hf_log_fn(void *ctx, int32_t level, const char *event, const char *path,
                       const char *text);

struct hf_runtime_options {
    struct hf_abi abi;
    const char *home;    /* NULL: $HOLDFAST_HOME, $HERMES_HOME, ~/.hermes if it is in
                            use, ~/.holdfast */
    const char *profile; /* NULL: the one that the home implies, else "default" */
    hf_log_fn *log;      /* NULL: nothing is logged */
    void *log_ctx;
    uint32_t may_thread; /* one thread per open store may be started for upkeep */
    uint32_t reserved;
};

/* Resolves home and profile and reads the configuration, once and for good: later
 * changes of the environment or working directory change nothing.  Creates no file.
 * HF_CONFIG with file, line and column; HF_NOT_FOUND for an unknown profile; HF_INVALID
 * for a name that is none, or a home that is no folder. */
HF_API int hf_runtime_new(const struct hf_runtime_options *options,
                          struct hf_runtime **ret_runtime, struct hf_error *err);
/* Stores opened from it must be closed before.  Accepts NULL, leaves NULL. */
HF_API void hf_runtime_free(struct hf_runtime **runtime);
/* Reads the configuration again; it holds for stores opened afterwards.  On failure the
 * old one stays in force. */
HF_API int hf_runtime_reload(struct hf_runtime *runtime, struct hf_error *err);

/* Absolute, without symlinks as far as it exists; valid as long as the runtime. */
HF_API const char *hf_runtime_root(const struct hf_runtime *runtime);
HF_API const char *hf_runtime_home(const struct hf_runtime *runtime);
HF_API const char *hf_runtime_profile(const struct hf_runtime *runtime);

/* Calls EMIT for each configuration key of PROFILE (NULL: the runtime's own): key
 * ("database.journal_mode"), its value as text, where it came from ("default" or
 * "FILE:LINE"). */
typedef int hf_config_fn(void *ctx, const char *key, const char *value,
                         const char *source);
HF_API int hf_runtime_config(struct hf_runtime *runtime, const char *profile,
                             hf_config_fn *emit, void *ctx, struct hf_error *err);
/* Calls EMIT for each profile that exists, "default" first, then by name. */
typedef int hf_profile_fn(void *ctx, const char *name, const char *home);
HF_API int hf_runtime_profiles(struct hf_runtime *runtime, hf_profile_fn *emit,
                               void *ctx, struct hf_error *err);

/* What can be loaded.  `error` is NULL for a backend that loads, else why not. */
struct hf_backend_info {
    struct hf_abi abi;
    const char *name, *path, *version, *summary, *error;
    uint32_t abi_major, abi_minor, abi_size, kind, threads, caps;
    const struct hf_option *options; /* last key NULL; NULL: none */
    const char *const *callbacks;    /* optional ones present; last NULL */
};
typedef int hf_backend_fn(void *ctx, const struct hf_backend_info *info);
/* NAME_OR_PATH NULL: every module in the plugin folders. */
HF_API int hf_runtime_backends(struct hf_runtime *runtime, const char *name_or_path,
                               hf_backend_fn *emit, void *ctx, struct hf_error *err);

/* Doctor: emits findings in their order.  Plain doctor writes nothing and
 * takes no write lock. */
struct hf_doctor_options {
    struct hf_abi abi;
    uint32_t all_profiles, fix, deep, reserved;
};
HF_API int hf_doctor(struct hf_runtime *runtime, const struct hf_doctor_options *options,
                     hf_finding_fn *emit, void *ctx, struct hf_error *err);

/* Reads a stored time.  Returns the time, or NaN when the value is none; *ret_bad (may be
 * NULL) becomes 1 when there was a value that is no time, else 0.  TYPE says
 * which of INTEGER, REAL, TEXT counts; HF_NULL and NaN are none without being bad, and
 * any other type (a BLOB) is bad. */
HF_API double hf_epoch_coerce(uint32_t type, int64_t integer, double real,
                              const struct hf_text *text, uint32_t *ret_bad);

/* "0.1.0", as built. */
HF_API const char *hf_version(void);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_HOLDFAST_H */
