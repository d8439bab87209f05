/* plugins.h - where the test backends are, and a host table for them that logs nothing.
 */
#ifndef HF_TEST_PLUGINS_H
#define HF_TEST_PLUGINS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* BUILD/tests/plugins/NAME: the programs lie in BUILD/tests/unit. */
static inline const char *
plugins_dir(const char *name)
{
    static char path[2][4096];
    static unsigned next;
    char *ret = path[next++ % 2];
    char self[2048];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int up = 2;

    if (n < 0)
        abort();
    self[n] = '\0';
    while (up--)
        *strrchr(self, '/') = '\0';
    snprintf(ret, sizeof path[0], "%s/plugins%s%s", self, name[0] ? "/" : "", name);
    return ret;
}

static inline const char *
plugins_module(const char *name)
{
    static char path[4200];

    snprintf(path, sizeof path, "%s/hf_%s.so", plugins_dir(""), name);
    return path;
}

static inline void
plugins_log(void *ctx, int32_t level, const char *event, const char *path,
            const char *fmt, ...)
{
    (void)ctx, (void)level, (void)event, (void)path, (void)fmt;
}

static inline const struct hf_host *
plugins_host(void)
{
    static struct hf_host host;

    host.abi = (struct hf_abi)HF_ABI(struct hf_host);
    host.log = plugins_log;
    return &host;
}

/* A store over HOME with BACKEND, a test backend. */
static inline int
plugins_open(const char *home, const char *backend, struct hf_runtime **ret_runtime,
             const struct hf_store_options *options, struct hf_store **ret_store,
             struct hf_error *err)
{
    struct hf_runtime_options how = HF_INIT(struct hf_runtime_options);
    char config[4200];
    FILE *f;
    int rc = HF_OK;

    if (!*ret_runtime) {
        snprintf(config, sizeof config, "%s/config.yaml", home);
        f = fopen(config, "w");
        if (!f)
            abort();
        fprintf(f, "database:\n  backend: %s\n", backend);
        fclose(f);
        setenv("HOLDFAST_PLUGIN_PATH", plugins_dir(""), 1);
        how.home = home;
        rc = hf_runtime_new(&how, ret_runtime, err);
    }
    return rc < 0 ? rc : hf_store_open(*ret_runtime, options, ret_store, err);
}

#endif
