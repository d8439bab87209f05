/* host.c - the table that backends get, and the registry of live database files.
 *
 * The registry is one per process, whatever number of runtimes there is: a database is
 * live because of its file, not because of who opened it.  An offline guard (a read of
 * a file that might be a database) and a live file exclude each other. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct live_file {
    struct live_file *next;
    char *path;      /* resolved */
    uint64_t live;   /* tracks that were not untracked */
    uint64_t guards; /* offline guards that were not ended */
};

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct live_file *live_files;

/* The file's entry, made when MAKE; under live_lock. */
static struct live_file *
live_find(const char *resolved, int make)
{
    struct live_file *f;

    for (f = live_files; f; f = f->next)
        if (strcmp(f->path, resolved) == 0)
            return f;
    if (!make)
        return NULL;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->path = strdup(resolved);
    if (!f->path) {
        free(f);
        return NULL;
    }
    f->next = live_files;
    live_files = f;
    return f;
}

static void
live_drop_unused(void)
{
    struct live_file **at = &live_files;

    while (*at) {
        struct live_file *f = *at;

        if (f->live > 0 || f->guards > 0) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free(f->path);
        free(f);
    }
}

int
hf__live_track(const char *path, struct hf_error *err)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f = NULL;
    int guarded = 0;

    if (resolved) {
        pthread_mutex_lock(&live_lock);
        f = live_find(resolved, 1);
        guarded = f && f->guards > 0;
        if (f && !guarded)
            f->live++;
        pthread_mutex_unlock(&live_lock);
    }
    free(resolved);
    if (guarded)
        return hf_error_set(err, HF_BUSY, path,
                            "%s is being read as a plain file by this process; try "
                            "again when that has ended",
                            path);
    return f ? HF_OK : hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
}

void
hf__live_untrack(const char *path)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f;

    if (!resolved)
        return;
    pthread_mutex_lock(&live_lock);
    f = live_find(resolved, 0);
    if (f && f->live > 0)
        f->live--;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
    free(resolved);
}

int
hf__live_guard(const char *path, struct hf_error *err)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f = NULL;
    int live = 0;

    if (resolved) {
        pthread_mutex_lock(&live_lock);
        f = live_find(resolved, 1);
        live = f && f->live > 0;
        if (f && !live)
            f->guards++;
        pthread_mutex_unlock(&live_lock);
    }
    free(resolved);
    if (live)
        return hf_error_set(
            err, HF_BUSY, path,
            "%s is a database that this process has open; reading it as "
            "a plain file could cancel its locks",
            path);
    return f ? HF_OK : hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
}

void
hf__live_unguard(const char *path)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f;

    if (!resolved)
        return;
    pthread_mutex_lock(&live_lock);
    f = live_find(resolved, 0);
    if (f && f->guards > 0)
        f->guards--;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
    free(resolved);
}

int
hf__live_is(const char *path)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f;
    int ret;

    if (!resolved)
        return 0;
    pthread_mutex_lock(&live_lock);
    f = live_find(resolved, 0);
    ret = f && f->live > 0;
    pthread_mutex_unlock(&live_lock);
    free(resolved);
    return ret;
}

__attribute__((format(printf, 5, 6))) static void
host_log(void *ctx, int32_t level, const char *event, const char *path, const char *fmt,
         ...)
{
    struct hf_runtime *rt = ctx;
    va_list ap;

    va_start(ap, fmt);
    hf__vlog(&rt->log, level, event, path, fmt, ap);
    va_end(ap);
}

static void
host_mount_classify(void *ctx, const char *path, struct hf_mount *ret)
{
    struct hf_mount found = HF_INIT(struct hf_mount);
    uint32_t size = ret->abi.size;

    (void)ctx;
    hf__mount_classify(path, &found);
    /* The plugin's struct may be older and shorter than ours. */
    if (size > sizeof found)
        size = sizeof found;
    if (size > sizeof ret->abi)
        memcpy((char *)ret + sizeof ret->abi, (char *)&found + sizeof found.abi,
               size - sizeof found.abi);
}

static int
host_file_track(void *ctx, const char *path, struct hf_error *err)
{
    (void)ctx;
    return hf__live_track(path, err);
}

static void
host_file_untrack(void *ctx, const char *path)
{
    (void)ctx;
    hf__live_untrack(path);
}

static double
host_now(void *ctx)
{
    (void)ctx;
    return hf__now();
}

void
hf__host_init(struct hf_host *host, struct hf_runtime *rt)
{
    *host = HF_INIT(struct hf_host);
    host->ctx = rt;
    host->log = host_log;
    host->mount_classify = host_mount_classify;
    host->file_track = host_file_track;
    host->file_untrack = host_file_untrack;
    host->now = host_now;
}
