/* host.c - the table that backends get. */
#include "internal.h"

#include <string.h>

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
