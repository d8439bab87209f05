/* holdfast/offline.h - reading files that might be a database which is open.
 *
 * The file locks of POSIX belong to a process and vanish when any descriptor of the
 * file is closed anywhere in it.  A gateway that reads files for its users (a file tool,
 * an indexer, a backup) reads them through here: a file that is open in this process is
 * refused and never opened, and while one is read no store can be opened on it.
 */
#ifndef HOLDFAST_OFFLINE_H
#define HOLDFAST_OFFLINE_H

#include <holdfast/backend.h>
#include <holdfast/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HF_API
#define HF_API __attribute__((visibility("default")))
#endif

struct hf_guard;

/* Calls EMIT with the bytes of the regular file at PATH, in pieces.  HF_BUSY when it is
 * open in this process, by whatever name, or is a sidecar (-wal, -shm, -journal) of a
 * store that is; HF_NOT_FOUND when there is none; HF_INVALID for what is no regular
 * file; HF_UNSUPPORTED without /proc.  A value other than 0 from EMIT ends the read and
 * is returned. */
typedef int hf_offline_read_fn(void *ctx, const void *bytes, uint64_t len);
HF_API int hf_offline_read(const char *path, hf_offline_read_fn *emit, void *ctx,
                           struct hf_error *err);

/* The same around code of the caller's own: between the two the file at PATH, which
 * need not exist, is no open database and cannot become one in this process.  An open of
 * a store gets HF_BUSY.  Guards nest.  To be taken before the file is opened and given up
 * after it was closed. */
HF_API int hf_offline_guard(const char *path, struct hf_guard **ret_guard,
                            struct hf_error *err);
/* Accepts NULL, leaves NULL. */
HF_API void hf_offline_unguard(struct hf_guard **guard);

enum hf_offline_kind {
    HF_OFFLINE_STORE = 1,  /* the database file of a store that is open */
    HF_OFFLINE_SIDECAR = 2 /* its -wal, -shm or -journal, there or not */
};

/* Frozen: it never gains a member. */
struct hf_offline_word {
    int32_t kind;      /* an enum hf_offline_kind */
    uint32_t reserved;
    uint64_t offset;   /* where in the text the word begins */
    const char *path;  /* what it means, without symlinks */
};

/* Calls EMIT for each word of the shell command TEXT that names a store which is open
 * in this process, or a sidecar of one.  Nothing is opened or run.  Relative words are
 * looked up in BASE (NULL: the working directory) and in folders that the text changes
 * to.  Quotes, escapes, ~, $HOME, redirections, options (--file=PATH), and text inside
 * quotes (sh -c "...") are understood; what only the shell could know (another
 * variable, a pattern, the output of a command) is taken to mean the store when it can.
 * A folder that holds a store is not reported, and a program can find a file in ways that no
 * scan sees.  A value other than 0 from EMIT ends the scan and is returned. */
typedef int hf_offline_word_fn(void *ctx, const struct hf_offline_word *word);
HF_API int hf_offline_scan_command(const char *text, uint64_t len, const char *base,
                                   hf_offline_word_fn *emit, void *ctx,
                                   struct hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
