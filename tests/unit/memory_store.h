/* memory_store.h - a store on the memory backend for unit tests of the core, put
 * together by hand: no module is loaded, no configuration read. */
#ifndef HF_TEST_MEMORY_STORE_H
#define HF_TEST_MEMORY_STORE_H

#include <stdio.h>
#include <unistd.h>

#include "../plugins/memory.c"
#include "internal.h"

struct memory_store {
    struct hf_store store;
    struct hf__backend backend;
    struct hf_runtime rt;
    char log[4096]; /* events, each with a blank after it */
};

static inline void
memory_log(void *ctx, int32_t level, const char *event, const char *path,
           const char *text)
{
    struct memory_store *m = ctx;
    size_t len = strlen(m->log);

    (void)level;
    (void)path;
    (void)text;
    snprintf(m->log + len, sizeof m->log - len, "%s ", event);
}

static inline struct memory_store *
memory_store_open(void)
{
    struct memory_store *m = calloc(1, sizeof *m);
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_error err;

    if (!m)
        abort();
    m->backend.name = (char *)(uintptr_t)"memory";
    m->backend.ops = memory;
    pthread_mutex_init(&m->backend.serial, NULL);
    pthread_mutex_init(&m->store.lock, NULL);
    m->rt.log.fn = memory_log;
    m->rt.log.ctx = m;
    m->store.rt = &m->rt;
    m->store.backend = &m->backend;
    m->store.pid = (int)getpid();
    m->store.home = (char *)(uintptr_t)"/nowhere";
    if (memory_open(&m->rt.host, &how, &m->store.handle, &err) != HF_OK)
        abort();
    return m;
}

static inline void
memory_store_close(struct memory_store *m)
{
    m->backend.ops.close(m->store.handle);
    pthread_mutex_destroy(&m->store.lock);
    pthread_mutex_destroy(&m->backend.serial);
    free(m);
}

#endif
