/* backends.c - what can be loaded, and what cannot and why: `holdfast backends`. */
#include "internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of DIR that are named like modules, sorted, for hf__strv_free(); empty for
 * a folder that cannot be read. */
static char **
modules_in(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    char **v = calloc(1, sizeof *v);
    size_t n = 0;

    while (d && v && (entry = readdir(d))) {
        size_t len = strlen(entry->d_name);
        char **grown;
        if (len < 4 || strcmp(entry->d_name + len - 3, ".so") != 0)
            continue;
        grown = realloc(v, (n + 2) * sizeof *v);
        if (!grown)
            break;
        v = grown;
        v[n] = hf__path_join(dir, entry->d_name);
        if (!v[n])
            break;
        v[++n] = NULL;
    }
    if (d)
        closedir(d);
    if (v)
        qsort(v, n, sizeof *v, by_name);
    return v;
}

/* "NAME" of ".../hf_NAME.so"; another file's own name without ".so".  To be freed. */
static char *
name_shown(const char *path)
{
    const char *base = strrchr(path, '/');
    size_t len;

    base = base ? base + 1 : path;
    len = strlen(base);
    if (len > 3 && !strcmp(base + len - 3, ".so"))
        len -= 3;
    if (len > 3 && !strncmp(base, "hf_", 3)) {
        base += 3;
        len -= 3;
    }
    return strndup(base, len);
}

/* Emits one module; HIDDEN_BY is the path that its name resolves to, or NULL. */
static int
emit_one(struct hf_runtime *rt, const char *path, const char *hidden_by,
         hf_backend_fn *emit, void *ctx)
{
    struct hf_backend_info info = HF_INIT(struct hf_backend_info);
    struct hf__backend *backend = NULL;
    struct hf__buf text = {0};
    struct hf_error why;
    char *name = name_shown(path);
    int rc;

    info.name = name ? name : "";
    info.path = path;
    if (hidden_by) {
        hf__buf_addf(&text, "hidden by %s", hidden_by);
        info.error = text.failed ? "hidden" : text.ptr;
    } else if (hf__backend_find(NULL, path, &rt->host, &backend, &why) < 0) {
        info.error = why.message;
    } else {
        info.name = backend->name;
        info.version = backend->ops.version;
        info.summary = backend->ops.summary;
        info.abi_major = backend->abi.major;
        info.abi_minor = backend->abi.minor;
        info.abi_size = backend->abi.size;
        info.kind = backend->kind;
        info.threads = backend->ops.threads;
        info.caps = backend->ops.caps;
        info.options = backend->ops.options;
        info.callbacks = backend->callbacks;
    }
    rc = emit(ctx, &info);
    hf__buf_free(&text);
    free(name);
    return rc;
}

/* Paths that were emitted, NULL-ended: a folder may be listed twice. */
struct seen {
    char **paths;
    size_t n;
};

/* The path among SEEN of the same file name in another folder, or NULL; *ret_same is
 * set when PATH itself is there. */
static const char *
seen_find(const struct seen *seen, const char *path, int *ret_same)
{
    const char *base = strrchr(path, '/');

    *ret_same = 0;
    for (size_t i = 0; i < seen->n; i++) {
        const char *other = strrchr(seen->paths[i], '/');
        if (strcmp(base, other) != 0)
            continue;
        *ret_same = !strcmp(seen->paths[i], path);
        return seen->paths[i];
    }
    return NULL;
}

static int
seen_add(struct seen *seen, const char *path)
{
    char **grown = realloc(seen->paths, (seen->n + 2) * sizeof *grown);

    if (!grown)
        return -1;
    seen->paths = grown;
    grown[seen->n] = strdup(path);
    if (!grown[seen->n])
        return -1;
    grown[++seen->n] = NULL;
    return 0;
}

static int
emit_folder(struct hf_runtime *rt, const char *dir, struct seen *seen,
            hf_backend_fn *emit, void *ctx, struct hf_error *err)
{
    char *resolved = hf__path_resolve(dir), **modules = NULL;
    int rc = HF_OK;

    modules = resolved ? modules_in(resolved) : NULL;
    if (!modules)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (char **path = modules; rc == HF_OK && *path; path++) {
        int same = 0;
        const char *hidden_by = seen_find(seen, *path, &same);
        if (same)
            continue;
        if (seen_add(seen, *path) < 0)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        else
            rc = emit_one(rt, *path, hidden_by, emit, ctx);
    }
    hf__strv_free(&modules);
    free(resolved);
    return rc;
}

/* One backend by name or path: a path is shown even if it does not load. */
static int
emit_named(struct hf_runtime *rt, const struct hf__config *config,
           const char *name_or_path, hf_backend_fn *emit, void *ctx,
           struct hf_error *err)
{
    char *path = NULL;
    int rc = hf__backend_path(config, name_or_path, &path, err);

    if (rc == HF_OK)
        rc = emit_one(rt, path, NULL, emit, ctx);
    free(path);
    return rc;
}

int
hf_runtime_backends(struct hf_runtime *runtime, const char *name_or_path,
                    hf_backend_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__config *config = NULL;
    struct seen seen = {0};
    char **dirs = NULL, *home = NULL;
    int rc;

    if (!runtime || !emit)
        return hf_error_set(err, HF_INVALID, NULL,
                            "list backends: an argument is NULL");
    rc = hf__runtime_profile(runtime, NULL, &config, &home, err);
    if (rc < 0)
        return rc;
    if (name_or_path) {
        rc = emit_named(runtime, config, name_or_path, emit, ctx, err);
        goto out;
    }
    dirs = hf__backend_dirs(config);
    if (!dirs)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (char **dir = dirs; rc == HF_OK && *dir; dir++)
        rc = emit_folder(runtime, *dir, &seen, emit, ctx, err);
out:
    hf__strv_free(&dirs);
    hf__strv_free(&seen.paths);
    hf__config_unref(&config);
    free(home);
    return rc;
}
