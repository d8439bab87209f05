/* holdfast/error.h - result codes, and the error that a caller hands in.
 *
 * Every function that can fail returns HF_OK or one of the negative codes below and,
 * when it fails, fills the struct hf_error of the caller.  Nothing is kept per thread.
 * The header stands alone: a backend uses it without linking libholdfast.
 */
#ifndef HOLDFAST_ERROR_H
#define HOLDFAST_ERROR_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frozen: a released code never changes its number or its meaning.  An embedder treats
 * a code that it does not know as HF_IO; one that a backend returns and the core does
 * not know becomes HF_PLUGIN. */
enum hf_code {
    HF_OK = 0,
    HF_INVALID = -1,      /* an argument is not acceptable; nothing was done */
    HF_NOT_FOUND = -2,    /* no such session, message, key or profile */
    HF_EXISTS = -3,       /* the name is taken */
    HF_CONFLICT = -4,     /* same identity, different content */
    HF_BUSY = -5,         /* lock patience ran out, or somebody holds it: try again */
    HF_READ_ONLY = -6,    /* the store, its file or its folder cannot be written */
    HF_DISK_FULL = -7,    /* no room; the handle works again once there is */
    HF_IO = -8,           /* the system reported an input/output error */
    HF_CORRUPT = -9,      /* the file is damaged; never reported as HF_NOT_FOUND */
    HF_FTS_INDEX = -10,   /* only the search index is damaged; the transcript is intact */
    HF_REPLACED = -11,    /* another file stands at the store's path */
    HF_WAL_LOST = -12,    /* the write-ahead log was taken away under the store */
    HF_CONTINUED = -13,   /* the session was compressed; its continuation is named */
    HF_STALE_LEASE = -14, /* a lease was taken over; its old holder may not write */
    HF_UNSUPPORTED = -15, /* this backend, file system or file cannot do that */
    HF_CONFIG = -16,      /* the configuration is wrong: file, line, column in the text */
    HF_PLUGIN = -17,      /* a backend could not be loaded, or broke its contract */
    HF_NO_MEMORY = -18,
    HF_MISUSE = -19,      /* wrong handle, wrong thread, a handle that crossed fork() */
    HF_TOO_BIG = -20,     /* beyond a documented limit */
    HF_CANCELLED = -21    /* hf_store_interrupt() was called */
};

/* The error of the caller, who owns it and may keep it on the stack.  Written only on
 * failure.  Frozen: it never gains a member. */
struct hf_error {
    int32_t code;       /* the enum hf_code that the function returned */
    int32_t sys_errno;  /* errno behind it, or 0 */
    char message[2040]; /* one line, UTF-8: what happened, to which file, what to do */
    char path[4096];    /* the file it is about, or "" */
};

/* Fills *ERR (which may be NULL) and returns CODE, so that a function can end with
 * `return hf_error_set(err, HF_INVALID, NULL, "...")`.  PATH may be NULL.  A text that
 * does not fit is cut at a character, so that it stays valid UTF-8. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 0)))
#endif
static inline int
hf_error_vset(struct hf_error *err, int code, const char *path, const char *fmt,
              va_list ap)
{
    if (err) {
        int n;
        err->code = code;
        err->sys_errno = 0;
        n = vsnprintf(err->message, sizeof err->message, fmt, ap);
        if (n < 0)
            err->message[0] = '\0';
        else if ((size_t)n >= sizeof err->message) {
            size_t i = sizeof err->message - 1;
            while (i > 0 && ((unsigned char)err->message[i - 1] & 0xC0u) == 0x80u)
                i--;
            if (i > 0 && ((unsigned char)err->message[i - 1] & 0x80u))
                i--;
            err->message[i] = '\0';
        }
        err->path[0] = '\0';
        if (path) {
            size_t len = strlen(path);
            if (len >= sizeof err->path)
                len = sizeof err->path - 1;
            memcpy(err->path, path, len);
            err->path[len] = '\0';
        }
    }
    return code;
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static inline int
hf_error_set(struct hf_error *err, int code, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    hf_error_vset(err, code, path, fmt, ap);
    va_end(ap);
    return code;
}

/* "HF_BUSY" for -5 and so on; "HF_UNKNOWN" for a number that is no code. */
static inline const char *
hf_code_name(int code)
{
    static const char *const names[] = {
        "HF_OK",          "HF_INVALID",   "HF_NOT_FOUND", "HF_EXISTS",
        "HF_CONFLICT",    "HF_BUSY",      "HF_READ_ONLY", "HF_DISK_FULL",
        "HF_IO",          "HF_CORRUPT",   "HF_FTS_INDEX", "HF_REPLACED",
        "HF_WAL_LOST",    "HF_CONTINUED", "HF_STALE_LEASE", "HF_UNSUPPORTED",
        "HF_CONFIG",      "HF_PLUGIN",    "HF_NO_MEMORY", "HF_MISUSE",
        "HF_TOO_BIG",     "HF_CANCELLED"};
    return code <= 0 && code >= -21 ? names[-code] : "HF_UNKNOWN";
}

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_ERROR_H */
