/* live.c - the registry of database files that are open in this process.
 *
 * It is one per process, whatever number of runtimes there is: a database is live
 * because of its file, not because of who opened it.  An offline guard (a read of a
 * file that might be a database) and a live file exclude each other, by identity as well as
 * by name: a hard link or a renamed file is the same file to the kernel's locks. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct live_file {
    struct live_file *next;
    char *path;      /* resolved */
    int has_id;      /* it was there when the entry was made: */
    dev_t dev;
    ino_t ino;
    uint64_t live;   /* tracks that were not untracked */
    uint64_t guards; /* offline guards that were not ended */
};

static const char *const sidecars[] = {"-wal", "-shm", "-journal"};
#define NAMES (1 + sizeof sidecars / sizeof *sidecars)

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct live_file *live_files;

/* The database that FILE would be a sidecar of is called BASE. */
static int
is_sidecar_name(const char *file, const char *base)
{
    size_t len = strlen(base), i;

    if (strncmp(file, base, len) != 0)
        return 0;
    for (i = 0; i < NAMES - 1; i++)
        if (strcmp(file + len, sidecars[i]) == 0)
            return 1;
    return 0;
}

/* "PATH" or "PATH-wal" and so on; to be freed. */
static char *
name_of(const char *path, size_t which)
{
    struct hf__buf buf = {0};
    char *ret;

    hf__buf_adds(&buf, path);
    if (which)
        hf__buf_adds(&buf, sidecars[which - 1]);
    ret = buf.failed ? NULL : strdup(buf.ptr);
    hf__buf_free(&buf);
    return ret;
}

static int
has_identity(const struct live_file *f, const struct stat *st)
{
    return f->has_id && f->dev == st->st_dev && f->ino == st->st_ino;
}

/* Whether DB, an open database or one that is to be opened, has FILE as one of its
 * files.  Names are looked at anew: sidecars come and go. */
static int
database_has(const struct live_file *db, const struct live_file *file)
{
    size_t i;

    if (strcmp(db->path, file->path) == 0 || is_sidecar_name(file->path, db->path) ||
        (db->has_id && file->has_id && db->dev == file->dev && db->ino == file->ino))
        return 1;
    for (i = 0; i < NAMES; i++) {
        char *name = name_of(db->path, i);
        struct stat st, now;
        int same = 0;

        if (name && stat(name, &st) == 0)
            same = has_identity(file, &st) ||
                   (stat(file->path, &now) == 0 && now.st_dev == st.st_dev &&
                    now.st_ino == st.st_ino);
        free(name);
        if (same)
            return 1;
    }
    return 0;
}

/* The entry of this path and identity, made when MAKE; under live_lock. */
static struct live_file *
live_find(const char *resolved, const struct stat *st, int make)
{
    struct live_file *f;

    for (f = live_files; f; f = f->next)
        if (strcmp(f->path, resolved) == 0 &&
            (st ? has_identity(f, st) : !f->has_id))
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
    if (st) {
        f->has_id = 1;
        f->dev = st->st_dev;
        f->ino = st->st_ino;
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

/* For those who come back with a path only: the file may have been made or exchanged
 * since. */
static struct live_file *
live_find_used(const char *resolved, int guard)
{
    struct live_file *f;

    for (f = live_files; f; f = f->next)
        if (strcmp(f->path, resolved) == 0 && (guard ? f->guards : f->live) > 0)
            return f;
    return NULL;
}

int
hf__live_track(const char *path, struct hf_error *err)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f = NULL, *g;
    struct stat st;
    int guarded = 0;

    if (resolved) {
        int there = stat(resolved, &st) == 0;
        pthread_mutex_lock(&live_lock);
        f = live_find(resolved, there ? &st : NULL, 1);
        for (g = live_files; f && g && !guarded; g = g->next)
            guarded = g->guards > 0 && database_has(f, g);
        if (f && !guarded)
            f->live++;
        live_drop_unused();
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
    f = live_find_used(resolved, 0);
    if (f)
        f->live--;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
    free(resolved);
}

int
hf__live_guard_file(const char *resolved, const struct stat *st, int *ret_first,
                    struct hf_error *err)
{
    struct live_file *f, *db;
    int live = 0;

    *ret_first = 1;
    pthread_mutex_lock(&live_lock);
    f = live_find(resolved, st, 1);
    for (db = live_files; f && db && !live; db = db->next) {
        live = db->live > 0 && database_has(db, f);
        if (st && db->guards > 0 && has_identity(db, st))
            *ret_first = 0;
    }
    if (f && !live)
        f->guards++;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
    if (live)
        return hf_error_set(
            err, HF_BUSY, resolved,
            "%s is a database that this process has open; reading it as "
            "a plain file could cancel its locks",
            resolved);
    return f ? HF_OK : hf_error_set(err, HF_NO_MEMORY, resolved, "out of memory");
}

void
hf__live_unguard_file(const char *resolved, const struct stat *st)
{
    struct live_file *f;

    pthread_mutex_lock(&live_lock);
    f = live_find(resolved, st, 0);
    if (f && f->guards > 0)
        f->guards--;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
}

int
hf__live_guard(const char *path, struct hf_error *err)
{
    char *resolved = hf__path_resolve(path);
    struct stat st;
    int rc, first;

    if (!resolved)
        return hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
    rc = hf__live_guard_file(resolved, stat(resolved, &st) == 0 ? &st : NULL, &first,
                             err);
    free(resolved);
    return rc;
}

void
hf__live_unguard(const char *path)
{
    char *resolved = hf__path_resolve(path);
    struct live_file *f;

    if (!resolved)
        return;
    pthread_mutex_lock(&live_lock);
    f = live_find_used(resolved, 1);
    if (f)
        f->guards--;
    live_drop_unused();
    pthread_mutex_unlock(&live_lock);
    free(resolved);
}

int
hf__live_is(const char *path)
{
    char *resolved = hf__path_resolve(path);
    int ret;

    if (!resolved)
        return 0;
    pthread_mutex_lock(&live_lock);
    ret = live_find_used(resolved, 0) != NULL;
    pthread_mutex_unlock(&live_lock);
    free(resolved);
    return ret;
}

static int
name_fill(struct hf__live_name *n, const char *path, size_t which)
{
    char *slash;

    n->path = name_of(path, which);
    if (!n->path)
        return 0;
    n->sidecar = which > 0;
    n->has_id = stat(n->path, &n->id) == 0;
    slash = strrchr(n->path, '/');
    if (slash) {
        char first = slash[1];
        slash[1] = '\0'; /* "DIR/" */
        n->has_dir = stat(n->path, &n->dir) == 0;
        slash[1] = first;
    }
    return 1;
}

int
hf__live_names(struct hf__live_name **ret, size_t *ret_count, struct hf_error *err)
{
    struct hf__live_name *names;
    struct live_file *f;
    size_t n = 0, i, files = 0;
    int failed;

    pthread_mutex_lock(&live_lock);
    for (f = live_files; f; f = f->next)
        files++;
    names = calloc(files * (NAMES + 1) + 1, sizeof *names);
    failed = !names;
    for (f = live_files; f && !failed; f = f->next) {
        for (i = 0; f->live > 0 && i < NAMES && !failed; i++)
            failed = !name_fill(&names[n++], f->path, i);
        if (f->live == 0 || failed || !f->has_id ||
            has_identity(f, &names[n - NAMES].id))
            continue;
        /* Renamed since it was opened: the same file by another name. */
        failed = !name_fill(&names[n], f->path, 0);
        names[n].has_id = 1;
        names[n].id.st_dev = f->dev;
        names[n++].id.st_ino = f->ino;
    }
    pthread_mutex_unlock(&live_lock);
    if (failed) {
        hf__live_names_free(names, n);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    *ret = names;
    *ret_count = n;
    return HF_OK;
}

void
hf__live_names_free(struct hf__live_name *names, size_t count)
{
    size_t i;

    for (i = 0; names && i < count; i++)
        free(names[i].path);
    free(names);
}
