/* registry.c - where modules are looked for (SPEC 2.2), and the checked ones by path:
 * each is loaded once per process and stays. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf__backend *registry;

int
hf__backend_name_ok(const char *name)
{
    if (!name || name[0] < 'a' || name[0] > 'z')
        return 0;
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_'))
            return 0;
    return strlen(name) <= 64;
}

int
hf__backend_word(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return word[0] != '\0' && word[strspn(word, letters)] == '\0';
}

void
hf__strv_free(char ***v)
{
    if (!*v)
        return;
    for (char **p = *v; *p; p++)
        free(*p);
    free(*v);
    *v = NULL;
}

/* Appends a copy of the LEN bytes at S to a NULL-ended list; -1 without memory. */
static int
strv_add(char ***v, size_t *n, const char *s, size_t len)
{
    char **grown = realloc(*v, (*n + 2) * sizeof **v);

    if (!grown)
        return -1;
    *v = grown;
    grown[*n] = strndup(s, len);
    grown[*n + 1] = NULL;
    if (!grown[*n])
        return -1;
    (*n)++;
    return 0;
}

/* Adds the absolute folders of a SEPARATOR-joined list; anything else in it would
 * depend on the working directory, and is left out. */
static int
dirs_add(char ***v, size_t *n, const char *list, char separator)
{
    while (list && *list) {
        const char *end = strchr(list, separator);
        size_t len = end ? (size_t)(end - list) : strlen(list);
        if (list[0] == '/' && strv_add(v, n, list, len) < 0)
            return -1;
        list += len + (end ? 1 : 0);
    }
    return 0;
}

char **
hf__backend_dirs(const struct hf__config *config)
{
    char **v = calloc(1, sizeof *v), *builtin = hf__loader_builtin_dir();
    size_t n = 0;

    if (!v || !builtin ||
        dirs_add(&v, &n, config ? hf__config_get(config, "database.plugin_path") : NULL,
                 '\n') < 0 ||
        dirs_add(&v, &n, secure_getenv("HOLDFAST_PLUGIN_PATH"), ':') < 0 ||
        strv_add(&v, &n, builtin, strlen(builtin)) < 0)
        hf__strv_free(&v);
    free(builtin);
    return v;
}

/* The NAME of a path that ends in hf_NAME.so, for the caller to free(); NULL if it does
 * not. */
static char *
name_of_path(const char *path)
{
    const char *base = strrchr(path, '/');
    size_t len;
    char *name;

    base = base ? base + 1 : path;
    len = strlen(base);
    if (len < 7 || strncmp(base, "hf_", 3) != 0 || strcmp(base + len - 3, ".so") != 0)
        return NULL;
    name = strndup(base + 3, len - 6);
    if (name && !hf__backend_name_ok(name)) {
        free(name);
        name = NULL;
    }
    return name;
}

static char *
module_path(const char *dir, const char *name)
{
    struct hf__buf buf = {0};

    hf__buf_addf(&buf, "%s/hf_%s.so", dir, name);
    return hf__buf_take(&buf);
}

/* The names of the modules in DIRS, NULL-ended and without doubles, for
 * hf__strv_free(). A folder that is not there or cannot be read holds none. */
static char **
names_in(char *const *dirs)
{
    char **names = calloc(1, sizeof *names);
    size_t n = 0;

    for (; names && *dirs; dirs++) {
        DIR *dir = opendir(*dirs);
        const struct dirent *entry;
        while (dir && (entry = readdir(dir))) {
            char *name = name_of_path(entry->d_name);
            int known = !name;
            for (size_t i = 0; i < n && !known; i++)
                known = !strcmp(names[i], name);
            if (!known && strv_add(&names, &n, name, strlen(name)) < 0)
                n = 0;
            free(name);
        }
        if (dir)
            closedir(dir);
    }
    return names;
}

static int
name_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
unknown_name(const char *name, char *const *dirs, struct hf_error *err)
{
    struct hf__buf text = {0};
    char **known = names_in(dirs), *lower = strdup(name);
    const char *near = NULL;
    size_t n = 0;

    while (known && known[n])
        n++;
    if (known)
        qsort(known, n, sizeof *known, name_cmp);
    for (char *p = lower; p && *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    if (known && lower)
        near = hf__near_miss(lower, (const char *const *)known);
    for (size_t i = 0; i < n && !near; i++)
        if (lower && !strcmp(lower, known[i]))
            near = known[i];
    hf__buf_addf(&text, "unknown backend '%.64s': ", name);
    if (near)
        hf__buf_addf(&text, "did you mean '%s'? ", near);
    hf__buf_adds(&text, n ? "known are" : "none is known");
    for (size_t i = 0; i < n; i++)
        hf__buf_addf(&text, "%s %s", i ? "," : "", known[i]);
    hf__buf_addf(&text, "; looked for hf_%.64s.so in", name);
    for (size_t i = 0; dirs[i]; i++)
        hf__buf_addf(&text, "%s %s", i ? "," : "", dirs[i]);
    hf_error_set(err, HF_PLUGIN, NULL, "%s",
                 text.failed ? "unknown backend" : text.ptr);
    hf__buf_free(&text);
    hf__strv_free(&known);
    free(lower);
    return HF_PLUGIN;
}

/* Finds the file of NAME_OR_PATH: *ret_path (as written) and *ret_name, to be freed. */
static int
locate(const struct hf__config *config, const char *name_or_path, char **ret_path,
       char **ret_name, struct hf_error *err)
{
    char **dirs = NULL, *path = NULL, *name = NULL;
    int rc = HF_OK;

    if (!name_or_path[0])
        return hf_error_set(err, HF_PLUGIN, NULL,
                            "the backend's name is empty: expected a name such as "
                            "'sqlite', or the absolute path of a file hf_NAME.so");
    if (name_or_path[0] == '/') {
        name = name_of_path(name_or_path);
        path = strdup(name_or_path);
        if (!name)
            rc = hf_error_set(err, HF_PLUGIN, name_or_path,
                              "%s is no backend's file: expected a path that ends in "
                              "hf_NAME.so, with NAME of [a-z][a-z0-9_]*",
                              name_or_path);
        else if (!path)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        goto out;
    }
    if (strchr(name_or_path, '/')) {
        rc =
            hf_error_set(err, HF_PLUGIN, NULL,
                         "the backend '%.256s' is refused: a path must be absolute and "
                         "end in hf_NAME.so, a name has no slash",
                         name_or_path);
        goto out;
    }
    dirs = hf__backend_dirs(config);
    if (!dirs) {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        goto out;
    }
    for (char **dir = dirs; *dir && !path && hf__backend_name_ok(name_or_path); dir++) {
        struct stat st;
        path = module_path(*dir, name_or_path);
        if (path && lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            free(path);
            path = NULL;
        }
    }
    name = path ? strdup(name_or_path) : NULL;
    if (!path)
        rc = unknown_name(name_or_path, dirs, err);
    else if (!name)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
out:
    hf__strv_free(&dirs);
    if (rc == HF_OK) {
        *ret_path = path;
        *ret_name = name;
    } else {
        free(path);
        free(name);
    }
    return rc;
}

static void
backend_free(struct hf__backend *backend)
{
    if (!backend)
        return;
    free(backend->callbacks);
    free(backend->path);
    free(backend->name);
    free(backend);
}

static struct hf__backend *
registered(const char *resolved)
{
    for (struct hf__backend *b = registry; b; b = b->next)
        if (!strcmp(b->path, resolved))
            return b;
    return NULL;
}

/* Loads and checks the module at PATH; the registry's lock is held. */
static int
load(const char *path, const char *name, const struct hf_host *host,
     struct hf__backend **ret, struct hf_error *err)
{
    char *resolved = realpath(path, NULL);
    const struct hf_plugin *plugin = NULL;
    struct hf__backend *backend = resolved ? registered(resolved) : NULL;
    int rc;

    if (backend && !strcmp(backend->name, name)) {
        free(resolved);
        *ret = backend;
        return HF_OK;
    }
    backend = calloc(1, sizeof *backend);
    if (!backend) {
        free(resolved);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    rc = hf__loader_load(path, name, host, &plugin, err);
    if (rc == HF_OK)
        rc = hf__plugin_check(plugin, path, name, backend, err);
    if (rc == HF_OK) {
        backend->path = resolved;
        resolved = NULL;
        backend->name = strdup(name);
        if (!backend->path || !backend->name ||
            pthread_mutex_init(&backend->serial, NULL) != 0)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    free(resolved);
    if (rc < 0) {
        backend_free(backend);
        return rc;
    }
    hf__defaults_fill(backend);
    backend->next = registry;
    registry = backend;
    *ret = backend;
    return HF_OK;
}

int
hf__backend_find(const struct hf__config *config, const char *name_or_path,
                 const struct hf_host *host, struct hf__backend **ret,
                 struct hf_error *err)
{
    char *path = NULL, *name = NULL;
    int rc = locate(config, name_or_path, &path, &name, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&registry_lock);
    rc = load(path, name, host, ret, err);
    pthread_mutex_unlock(&registry_lock);
    free(path);
    free(name);
    return rc;
}

int
hf__backend_path(const struct hf__config *config, const char *name_or_path,
                 char **ret_path, struct hf_error *err)
{
    char *name = NULL;
    int rc = locate(config, name_or_path, ret_path, &name, err);

    free(name);
    return rc;
}
