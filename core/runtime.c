/* runtime.c - the object that an embedder makes once: home, configuration, log. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct hf__runtime_profile {
    struct hf__runtime_profile *next;
    char *home;
    struct hf__config *config;
};

/* A backend keeps the host table that it was loaded with for as long as the process
 * lives, so a runtime's memory is never given back, only used again. */
static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf_runtime *retired;

static struct hf_runtime *
runtime_take(void)
{
    struct hf_runtime *rt;

    pthread_mutex_lock(&retired_lock);
    rt = retired;
    if (rt)
        retired = rt->next_retired;
    pthread_mutex_unlock(&retired_lock);
    if (rt) {
        rt->next_retired = NULL;
        return rt;
    }
    rt = calloc(1, sizeof *rt);
    if (rt && pthread_mutex_init(&rt->lock, NULL) != 0) {
        free(rt);
        rt = NULL;
    }
    return rt;
}

static void
profiles_free(struct hf__runtime_profile **list)
{
    while (*list) {
        struct hf__runtime_profile *p = *list;

        *list = p->next;
        free(p->home);
        hf__config_unref(&p->config);
        free(p);
    }
}

int
hf_runtime_new(const struct hf_runtime_options *options,
               struct hf_runtime **ret_runtime, struct hf_error *err)
{
    struct hf_runtime_options opt = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *rt;
    int rc;

    if (!ret_runtime)
        return hf_error_set(err, HF_INVALID, NULL, "hf_runtime_new: no ret_runtime");
    if (options)
        hf__abi_copy(&opt, sizeof opt, options);
    rt = runtime_take();
    if (!rt)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rt->log.fn = opt.log;
    rt->log.ctx = opt.log_ctx;
    rt->may_thread = opt.may_thread;
    hf__host_init(&rt->host, rt);
    hf__mount_environment();
    rc = hf__home_find(opt.home, opt.profile, &rt->where, err);
    if (rc == HF_OK)
        rc = hf__config_load(rt->where.root, rt->where.home, &rt->host, &rt->config,
                             err);
    if (rc != HF_OK) {
        hf_runtime_free(&rt);
        return rc;
    }
    *ret_runtime = rt;
    return HF_OK;
}

void
hf_runtime_free(struct hf_runtime **runtime)
{
    struct hf_runtime *rt = runtime ? *runtime : NULL;

    if (!rt)
        return;
    *runtime = NULL;
    rt->log.fn = NULL;
    rt->log.ctx = NULL;
    hf__config_unref(&rt->config);
    profiles_free(&rt->others);
    hf__home_free(&rt->where);
    pthread_mutex_lock(&retired_lock);
    rt->next_retired = retired;
    retired = rt;
    pthread_mutex_unlock(&retired_lock);
}

const char *
hf_runtime_root(const struct hf_runtime *runtime)
{
    return runtime ? runtime->where.root : NULL;
}

const char *
hf_runtime_home(const struct hf_runtime *runtime)
{
    return runtime ? runtime->where.home : NULL;
}

const char *
hf_runtime_profile(const struct hf_runtime *runtime)
{
    return runtime ? runtime->where.profile : NULL;
}

/* Reads again every configuration that is in use, then changes all of them at once: a
 * broken file leaves everything as it was. */
int
hf_runtime_reload(struct hf_runtime *runtime, struct hf_error *err)
{
    struct hf__runtime_profile *fresh = NULL, *p, *made;
    struct hf__config *config = NULL;
    int rc;

    if (!runtime)
        return hf_error_set(err, HF_INVALID, NULL, "hf_runtime_reload: no runtime");
    rc = hf__config_load(runtime->where.root, runtime->where.home, &runtime->host,
                         &config, err);
    if (rc != HF_OK)
        return rc;
    /* The homes are copied first: files are read without the lock. */
    pthread_mutex_lock(&runtime->lock);
    for (p = runtime->others; p && rc == HF_OK; p = p->next) {
        made = calloc(1, sizeof *made);
        if (made && (made->home = strdup(p->home))) {
            made->next = fresh;
            fresh = made;
        } else {
            free(made);
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        }
    }
    pthread_mutex_unlock(&runtime->lock);
    for (p = fresh; p && rc == HF_OK; p = p->next)
        rc = hf__config_load(runtime->where.root, p->home, &runtime->host, &p->config,
                             err);
    if (rc == HF_OK) {
        struct hf__config *old;
        struct hf__runtime_profile *old_others;

        pthread_mutex_lock(&runtime->lock);
        old = runtime->config;
        runtime->config = config;
        config = old;
        old_others = runtime->others;
        runtime->others = fresh;
        fresh = old_others;
        pthread_mutex_unlock(&runtime->lock);
    }
    hf__config_unref(&config);
    profiles_free(&fresh);
    return rc;
}

static struct hf__config *
other_find(struct hf_runtime *rt, const char *home)
{
    struct hf__runtime_profile *p;

    for (p = rt->others; p; p = p->next)
        if (strcmp(p->home, home) == 0)
            return hf__config_ref(p->config);
    return NULL;
}

/* The configuration of the profile at HOME, read at its first use. */
static int
other_config(struct hf_runtime *rt, const char *home, struct hf__config **ret,
             struct hf_error *err)
{
    struct hf__runtime_profile *made;
    struct hf__config *config, *known;
    int rc;

    pthread_mutex_lock(&rt->lock);
    config = other_find(rt, home);
    pthread_mutex_unlock(&rt->lock);
    if (config) {
        *ret = config;
        return HF_OK;
    }
    rc = hf__config_load(rt->where.root, home, &rt->host, &config, err);
    if (rc != HF_OK)
        return rc;
    made = calloc(1, sizeof *made);
    if (!made || !(made->home = strdup(home))) {
        free(made);
        hf__config_unref(&config);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    made->config = hf__config_ref(config);
    pthread_mutex_lock(&rt->lock);
    known = other_find(rt, home); /* another thread may have been faster */
    if (!known) {
        made->next = rt->others;
        rt->others = made;
        made = NULL;
    }
    pthread_mutex_unlock(&rt->lock);
    if (known) {
        hf__config_unref(&config);
        config = known;
    }
    profiles_free(&made);
    *ret = config;
    return HF_OK;
}

int
hf__runtime_profile(struct hf_runtime *rt, const char *profile,
                    struct hf__config **ret_config, char **ret_home,
                    struct hf_error *err)
{
    struct hf__config *config = NULL;
    char *home = NULL;
    int rc;

    if (!profile || strcmp(profile, rt->where.profile) == 0) {
        home = strdup(rt->where.home);
        if (!home)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        pthread_mutex_lock(&rt->lock);
        config = hf__config_ref(rt->config);
        pthread_mutex_unlock(&rt->lock);
    } else {
        rc = hf__profile_home(rt->where.root, profile, &home, err);
        if (rc == HF_OK)
            rc = other_config(rt, home, &config, err);
        if (rc != HF_OK) {
            free(home);
            return rc;
        }
    }
    *ret_config = config;
    *ret_home = home;
    return HF_OK;
}

int
hf_runtime_config(struct hf_runtime *runtime, const char *profile, hf_config_fn *emit,
                  void *ctx, struct hf_error *err)
{
    struct hf__config *config = NULL;
    struct hf__buf source = {0};
    char *home = NULL;
    int rc, stop = 0;
    size_t i;

    if (!runtime || !emit)
        return hf_error_set(err, HF_INVALID, NULL, "hf_runtime_config: no %s",
                            runtime ? "emit" : "runtime");
    rc = hf__runtime_profile(runtime, profile, &config, &home, err);
    if (rc != HF_OK)
        return rc;
    for (i = 0; i < config->n && rc == HF_OK && !stop; i++) {
        const struct hf__config_entry *e = &config->entries[i];

        hf__buf_clear(&source);
        if (e->file)
            hf__buf_addf(&source, "%s:%d", e->file, e->line);
        else
            hf__buf_adds(&source, "default");
        if (source.failed)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        else
            stop = emit(ctx, e->key, e->value ? e->value : "", source.ptr);
    }
    hf__buf_free(&source);
    hf__config_unref(&config);
    free(home);
    return rc != HF_OK ? rc : stop;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the folders below ROOT/profiles that are profiles, sorted. */
static int
profile_names(const char *root, char ***ret, size_t *ret_n, struct hf_error *err)
{
    char *folder = hf__path_join(root, "profiles"), **names = NULL, **more;
    struct hf_error ignored;
    struct dirent *entry;
    DIR *dir = NULL;
    size_t n = 0;
    int rc = folder ? HF_OK : HF_NO_MEMORY;

    if (folder && !(dir = opendir(folder)) && errno != ENOENT) {
        char text[128];

        rc = hf_error_set(err, HF_IO, folder, "the profiles in %s cannot be listed: %s",
                          folder, strerror_r(errno, text, sizeof text));
        free(folder);
        return rc;
    }
    while (dir && rc == HF_OK && (entry = readdir(dir))) {
        char *home = NULL;

        if (strcmp(entry->d_name, "default") == 0 ||
            !hf__profile_name_ok(entry->d_name) ||
            hf__profile_home(root, entry->d_name, &home, &ignored) != HF_OK)
            continue;
        free(home);
        more = realloc(names, (n + 1) * sizeof *names);
        if (more)
            names = more;
        if (!more || !(names[n] = strdup(entry->d_name)))
            rc = HF_NO_MEMORY;
        else
            n++;
    }
    if (dir)
        closedir(dir);
    free(folder);
    if (rc != HF_OK) {
        while (n > 0)
            free(names[--n]);
        free(names);
        return hf_error_set(err, rc, NULL, "out of memory");
    }
    if (n > 1)
        qsort(names, n, sizeof *names, by_name);
    *ret = names;
    *ret_n = n;
    return HF_OK;
}

int
hf_runtime_profiles(struct hf_runtime *runtime, hf_profile_fn *emit, void *ctx,
                    struct hf_error *err)
{
    struct hf_error ignored;
    char **names = NULL, *home;
    size_t n = 0, i;
    int rc, stop;

    if (!runtime || !emit)
        return hf_error_set(err, HF_INVALID, NULL, "hf_runtime_profiles: no %s",
                            runtime ? "emit" : "runtime");
    rc = profile_names(runtime->where.root, &names, &n, err);
    if (rc != HF_OK)
        return rc;
    stop = emit(ctx, "default", runtime->where.root);
    for (i = 0; i < n && !stop; i++)
        if (hf__profile_home(runtime->where.root, names[i], &home, &ignored) == HF_OK) {
            stop = emit(ctx, names[i], home);
            free(home);
        }
    for (i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return stop;
}
