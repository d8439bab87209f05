/* loader.c - the only user of <ltdl.h>: a module on disk into a plugin descriptor.
 *
 * libltdl alone says "file not found" for everything that is wrong with a module, and
 * opens one with an undefined symbol without complaint.  So the file is looked at first
 * (loader_elf.c, loader_safe.c), then dlopen() with RTLD_NOW gives the real reason, and
 * only then libltdl takes the module over, resident: nothing is ever unloaded, since
 * thread-key destructors and exit handlers of a module may run long after. */
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <ltdl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* libltdl needs a lock round its calls, and its state belongs to the whole process. */
static pthread_mutex_t ltdl_lock = PTHREAD_MUTEX_INITIALIZER;
static int ltdl_ready;

/* RTLD_DEEPBIND: a host that exports sqlite3_open_v2() or log_message() of its own must
 * not capture the calls of a module.  Sanitizers replace malloc() and forbid it. */
#ifdef HF_NO_DEEPBIND
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

/* Turns what dlerror() said into a text with the missing thing's name and a hint. */
static int
open_failed(const char *path, const char *said, struct hf_error *err)
{
    static const char no_file[] = ": cannot open shared object file";
    static const char no_symbol[] = "undefined symbol: ";
    const char *at;

    if (!said)
        said = "no reason was given";
    at = strstr(said, no_symbol);
    if (at) {
        const char *symbol = at + strlen(no_symbol);
        int len = (int)strcspn(symbol, " ,(\t\n");
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s has an undefined symbol: %.*s; rebuild it against the "
                            "libraries of this machine (%s)",
                            path, len, symbol, said);
    }
    at = strstr(said, no_file);
    if (at && strncmp(said, path, strlen(path)) != 0)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s needs a library that is missing: %.*s; install it (%s)",
                            path, (int)(at - said), said, said);
    if (strstr(said, "cannot map zero-fill") || strstr(said, "failed to map segment"))
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s cannot be mapped: its folder may be mounted noexec, or "
                            "memory is short (%s)",
                            path, said);
    return hf_error_set(err, HF_PLUGIN, path, "%s does not load: %s", path, said);
}

static int
ltdl_start(struct hf_error *err)
{
    if (ltdl_ready)
        return HF_OK;
    if (lt_dlinit() != 0)
        return hf_error_set(err, HF_PLUGIN, NULL, "libltdl does not start: %s",
                            lt_dlerror());
    ltdl_ready = 1;
    return HF_OK;
}

/* Opens PATH for good.  *ret_module is libltdl's handle. */
static int
module_open(const char *path, lt_dlhandle *ret_module, struct hf_error *err)
{
    lt_dladvise advise;
    lt_dlhandle module = NULL;
    void *first;
    int rc = ltdl_start(err);

    if (rc < 0)
        return rc;
    dlerror();
    first = dlopen(path, OPEN_FLAGS);
    if (!first)
        return open_failed(path, dlerror(), err);
    if (lt_dladvise_init(&advise) == 0) {
        if (lt_dladvise_local(&advise) == 0 && lt_dladvise_resident(&advise) == 0)
            module = lt_dlopenadvise(path, advise);
        if (!module)
            hf_error_set(err, HF_PLUGIN, path, "%s does not load: libltdl says %s",
                         path, lt_dlerror());
        lt_dladvise_destroy(&advise);
    } else {
        hf_error_set(err, HF_NO_MEMORY, path, "out of memory while loading %s", path);
    }
    if (!module)
        return err ? err->code : HF_PLUGIN; /* `first` keeps it mapped */
    dlclose(first);                         /* libltdl holds it now */
    *ret_module = module;
    return HF_OK;
}

int
hf__loader_load(const char *path, const char *name, const struct hf_host *host,
                const struct hf_plugin **ret_plugin, struct hf_error *err)
{
    struct hf_error own;
    char symbol[NAME_MAX + 32];
    lt_dlhandle module = NULL;
    hf_plugin_fn *entry = NULL;
    int rc;

    if (!err)
        err = &own;
    rc = hf__elf_check(path, err);
    if (rc == HF_OK)
        rc = hf__loader_safe(path, err);
    if (rc < 0)
        return rc;
    snprintf(symbol, sizeof symbol, "holdfast_plugin_%s", name);

    pthread_mutex_lock(&ltdl_lock);
    rc = module_open(path, &module, err);
    if (rc == HF_OK) {
        void *found = lt_dlsym(module, symbol);
        if (!found)
            rc = hf_error_set(
                err, HF_PLUGIN, path,
                "%s has no entry symbol: expected %s, as HF_BACKEND_EXPORT "
                "makes it",
                path, symbol);
        else
            memcpy(&entry, &found, sizeof entry); /* ISO C has no such cast */
    }
    pthread_mutex_unlock(&ltdl_lock);
    if (rc < 0)
        return rc;
    *ret_plugin = entry(host);
    return HF_OK;
}

char *
hf__loader_builtin_dir(void)
{
    static const char here = 0; /* in the same object as this function */
    Dl_info info;
    struct stat st;
    char *self = NULL, *dir = NULL;

    if (dladdr(&here, &info) && info.dli_fname)
        self = realpath(info.dli_fname, NULL);
    if (self) {
        *strrchr(self, '/') = '\0';
        dir = hf__path_join(self, "holdfast/backends");
        if (dir && (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))) {
            free(dir); /* linked statically into a program that lies elsewhere */
            dir = NULL;
        }
    }
    if (!dir)
        dir = strdup(HF_INSTALL_PLUGIN_DIR);
    free(self);
    return dir;
}
