/* file.c - what is known of each file, and how it is kept true.  A file only grows, so
 * what was read stays read; only its new end is looked at, as long as identity, size
 * and time say that it is the same file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

static struct hf__jl_file *
file_new(struct hf_jsonl_store *st, const char *name)
{
    struct hf__jl_file *file = calloc(1, sizeof *file);
    pthread_condattr_t attr;

    if (!file)
        return NULL;
    file->name = strdup(name);
    file->path = hf__path_join(st->dir, name);
    if (!file->name || !file->path) {
        free(file->name);
        free(file->path);
        free(file);
        return NULL;
    }
    pthread_mutex_init(&file->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&file->changed, &attr);
    pthread_condattr_destroy(&attr);
    hf__jl_file_reset(file);
    return file;
}

void
hf__jl_file_reset(struct hf__jl_file *file)
{
    hf__jl_pending_drop(file);
    json_decref(file->row);
    json_decref(file->usage);
    json_decref(file->stamps);
    file->row = file->usage = file->stamps = NULL;
    file->known = 0;
    file->size = file->scanned = 0;
    file->line = 0;
    file->torn_at = -1;
    file->unterminated = file->marked = file->headless = file->misnamed = 0;
    file->version = HF__JL_VERSION;
    file->n_counted = file->n_calls = file->last_id = 0;
    file->activity = file->newest = HF_NO_TIME;
    file->n = 0;
    if (file->buckets)
        memset(file->buckets, 0, file->n_buckets * sizeof *file->buckets);
}

void
hf__jl_file_free(struct hf__jl_file *file)
{
    hf__jl_file_reset(file);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->changed);
    free(file->pending);
    free(file->entries);
    free(file->buckets);
    free(file->damaged);
    free(file->name);
    free(file->path);
    free(file);
}

struct hf__jl_file *
hf__jl_file_named(struct hf_jsonl_store *st, const char *name)
{
    struct hf__jl_file *file, **bucket;
    uint32_t h = 2166136261u;

    for (const char *p = name; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    pthread_mutex_lock(&st->lock);
    bucket = &st->buckets[h % HF__JL_BUCKETS];
    for (file = *bucket; file && strcmp(file->name, name) != 0;)
        file = file->next;
    if (!file && (file = file_new(st, name))) {
        file->next = *bucket;
        *bucket = file;
    }
    pthread_mutex_unlock(&st->lock);
    return file;
}

struct hf__jl_file *
hf__jl_file_of(struct hf_jsonl_store *st, const struct hf_text *id)
{
    char *name = hf__jl_name(id);
    struct hf__jl_file *file = name ? hf__jl_file_named(st, name) : NULL;

    free(name);
    return file;
}

/* ---- refresh ---- */

struct refresh {
    struct hf_jsonl_store *st;
    struct hf__jl_file *file;
    uint64_t *damaged; /* lines found this time; told when the file proves to be ours */
    size_t n, cap;
};

static int
on_record(void *ctx, const struct hf__jl_record *record, struct hf_error *err)
{
    struct refresh *r = ctx;
    return hf__jl_apply(r->file, record, err);
}

static int
line_add(uint64_t **lines, size_t *n, size_t *cap, uint64_t line)
{
    if (*n && (*lines)[*n - 1] == line)
        return 0;
    if (*n == *cap) {
        size_t more = *cap ? *cap * 2 : 8;
        uint64_t *grown = realloc(*lines, more * sizeof *grown);
        if (!grown)
            return -1;
        *lines = grown;
        *cap = more;
    }
    (*lines)[(*n)++] = line;
    return 0;
}

static int
on_damage(void *ctx, int64_t at, uint64_t line, struct hf_error *err)
{
    struct refresh *r = ctx;

    (void)at;
    /* Somebody else's file may have any number of lines that are none of ours. */
    if (!r->file->marked && r->n >= 1000)
        return HF_OK;
    return line_add(&r->damaged, &r->n, &r->cap, line) < 0
               ? hf_error_set(err, HF_NO_MEMORY, r->file->path, "out of memory")
               : HF_OK;
}

static int
was_told(const struct hf__jl_file *file, uint64_t line)
{
    for (size_t i = 0; i < file->n_damaged; i++)
        if (file->damaged[i] == line)
            return 1;
    return 0;
}

static void
damage_tell(struct refresh *r, uint64_t line)
{
    struct hf__jl_file *file = r->file;

    if (was_told(file, line))
        return;
    (void)line_add(&file->damaged, &file->n_damaged, &file->cap_damaged, line);
    r->st->host->log(r->st->host->ctx, HF_LOG_WARNING, "jsonl_damaged", file->path,
                     "%s line %llu: damaged, skipped; its bytes stay where they are",
                     file->path, (unsigned long long)line);
}

/* A first line that was cut short still begins with the mark. */
static int
begins_marked(int fd)
{
    static const char mark[] = "{\"holdfast\":\"session\"";
    char head[sizeof mark - 1];
    ssize_t n = pread(fd, head, sizeof head, 0);

    return n > 0 && !memcmp(head, mark, (size_t)n);
}

static int
refresh_scan(struct refresh *r, int fd, struct hf_error *err)
{
    struct hf__jl_file *file = r->file;
    struct hf__jl_scan scan = {.at = file->scanned,
                               .line = file->line,
                               .record = on_record,
                               .damage = on_damage,
                               .ctx = r};
    int rc = hf__jl_scan(fd, file->path, &scan, err);

    if (rc < 0)
        return rc;
    file->scanned = scan.at;
    file->line = scan.line;
    file->torn_at = scan.torn_at;
    file->unterminated = scan.unterminated;
    if (file->unterminated) /* that record was taken: it must not be taken again */
        file->scanned = scan.end;
    if (file->n_pending) { /* an append whose last line did not come */
        file->torn_at = file->scanned = file->pending_at;
        file->line = file->pending_line;
        file->unterminated = 0;
        hf__jl_pending_drop(file);
    }
    if (!file->marked && begins_marked(fd))
        file->marked = 1;
    return HF_OK;
}

/* The last bytes of what was read, checksum and all: a file that was cut back and grew
 * again has others there. */
static ssize_t
tail_read(const struct hf__jl_file *file, int fd, char *ret)
{
    size_t len = file->scanned < (int64_t)sizeof file->tail ? (size_t)file->scanned
                                                            : sizeof file->tail;

    return pread(fd, ret, len, file->scanned - (int64_t)len);
}

static void
tail_keep(struct hf__jl_file *file, int fd)
{
    file->n_tail = tail_read(file, fd, file->tail);
}

static int
tail_same(const struct hf__jl_file *file, int fd)
{
    char now[sizeof file->tail];
    ssize_t n = tail_read(file, fd, now);

    return n >= 0 && n == file->n_tail && !memcmp(now, file->tail, (size_t)n);
}

int
hf__jl_refresh(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
               struct hf_error *err)
{
    struct refresh r = {st, file, NULL, 0, 0};
    struct stat sb;
    int rc = HF_OK;

    if (fstat(fd, &sb) < 0)
        return hf__jl_fail(err, errno, file->path, "looking at");
    if (file->dev != sb.st_dev || file->ino != sb.st_ino) {
        hf__jl_file_reset(file);
        file->n_damaged = 0;
        file->epoch++;
        file->written = file->synced = 0;
    } else if (file->known) {
        int same_time = file->mtime.tv_sec == sb.st_mtim.tv_sec &&
                        file->mtime.tv_nsec == sb.st_mtim.tv_nsec;
        if (file->size == sb.st_size && same_time)
            return HF_OK;
        if (file->size == sb.st_size || !tail_same(file, fd))
            hf__jl_file_reset(file);
    } else
        hf__jl_file_reset(file);
    file->dev = sb.st_dev;
    file->ino = sb.st_ino;
    file->mtime = sb.st_mtim;
    file->unreadable = 0;
    rc = refresh_scan(&r, fd, err);
    if (rc < 0) {
        hf__jl_file_reset(file);
        free(r.damaged);
        return rc;
    }
    for (size_t i = 0; i < r.n && file->marked; i++)
        damage_tell(&r, r.damaged[i]);
    free(r.damaged);
    file->size = sb.st_size;
    file->known = 1;
    tail_keep(file, fd);
    /* What a writer is in the middle of looks torn, too; next time it is whole. */
    if (file->torn_at >= 0 && hf__jl_is_locked(fd)) {
        file->size = file->scanned;
        file->mtime.tv_nsec = -1;
    } else if (file->torn_at >= 0 && file->marked && !file->torn_told) {
        file->torn_told = 1;
        st->host->log(
            st->host->ctx, HF_LOG_WARNING, "jsonl_torn", file->path,
            "%s line %llu: torn; it is set aside at the next open for writing",
            file->path, (unsigned long long)file->line + 1);
    }
    return HF_OK;
}

int
hf__jl_is_session(const struct hf__jl_file *file, struct hf_error *err)
{
    if (file->size > 0 && !file->marked)
        return hf_error_set(err, HF_NOT_FOUND, file->path,
                            "there is no session in %s: it is not Holdfast's file",
                            file->path);
    if (file->version > HF__JL_VERSION)
        return hf_error_set(err, HF_UNSUPPORTED, file->path,
                            "%s has format %lld, this version reads %d", file->path,
                            (long long)file->version, HF__JL_VERSION);
    if (!file->row || file->misnamed)
        return hf_error_set(err, HF_NOT_FOUND, file->path, "there is no session in %s",
                            file->path);
    return HF_OK;
}

void
hf__jl_view_take(const struct hf__jl_file *file, struct hf__jl_view *ret)
{
    ret->row = json_incref(file->row);
    ret->usage = json_incref(file->usage);
    ret->n_counted = file->n_counted;
    ret->n_calls = file->n_calls;
    ret->size = file->size;
    ret->activity = file->activity;
    ret->newest = file->newest;
    ret->messages = file->n;
    ret->version = file->version;
}

void
hf__jl_view_free(struct hf__jl_view *view)
{
    json_decref(view->row);
    json_decref(view->usage);
    view->row = view->usage = NULL;
}

int
hf__jl_open_read(const struct hf__jl_file *file, int *ret_fd, struct hf_error *err)
{
    int fd;

    do
        fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return hf_error_set(err, HF_NOT_FOUND, file->path, "there is no %s",
                            file->path);
    if (fd < 0)
        return hf__jl_fail(err, errno, file->path, "opening");
    *ret_fd = fd;
    return HF_OK;
}

int
hf__jl_look(struct hf_jsonl_store *st, struct hf__jl_file *file,
            struct hf__jl_view *ret_view, struct hf_error *err)
{
    int fd, rc = hf__jl_open_read(file, &fd, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&file->lock);
    rc = hf__jl_refresh(st, file, fd, err);
    if (rc == HF_OK)
        rc = hf__jl_is_session(file, err);
    if (rc == HF_OK)
        hf__jl_view_take(file, ret_view);
    pthread_mutex_unlock(&file->lock);
    close(fd);
    return rc;
}

/* ---- every session ---- */

/* Refreshes without opening what did not change. */
static int
look_at(struct hf_jsonl_store *st, struct hf__jl_file *file, const struct stat *sb,
        struct hf__jl_view *ret, struct hf_error *err)
{
    int rc, fresh;

    pthread_mutex_lock(&file->lock);
    fresh = file->known && file->dev == sb->st_dev && file->ino == sb->st_ino &&
            file->size == sb->st_size && file->mtime.tv_sec == sb->st_mtim.tv_sec &&
            file->mtime.tv_nsec == sb->st_mtim.tv_nsec;
    rc = fresh ? hf__jl_is_session(file, err) : HF_OK;
    if (fresh && rc == HF_OK)
        hf__jl_view_take(file, ret);
    pthread_mutex_unlock(&file->lock);
    return fresh ? rc : hf__jl_look(st, file, ret, err);
}

static int
names_sort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int
name_fits(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), end = strlen(HF__JL_SUFFIX);

    return entry->d_name[0] != '.' && len > end &&
           !strcmp(entry->d_name + len - end, HF__JL_SUFFIX);
}

/* Says so once, until the file changes. */
static int
unreadable(struct hf_jsonl_store *st, struct hf__jl_file *file,
           const struct hf_error *err)
{
    int told;

    pthread_mutex_lock(&file->lock);
    told = file->unreadable;
    file->unreadable = 1;
    pthread_mutex_unlock(&file->lock);
    if (!told)
        st->host->log(st->host->ctx, HF_LOG_WARNING, "jsonl_unreadable", file->path,
                      "%s", err->message);
    return HF_OK;
}

int
hf__jl_each(struct hf_jsonl_store *st, int all, hf__jl_view_fn *fn, void *ctx,
            struct hf_error *err)
{
    struct dirent **names = NULL;
    unsigned interrupts = atomic_load(&st->interrupts);
    int n = scandir(st->dir, &names, name_fits, names_sort), rc = HF_OK;

    if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
        return HF_OK;
    if (n < 0)
        return hf__jl_fail(err, errno, st->dir, "listing");
    for (int i = 0; i < n; i++) {
        struct hf__jl_file *file;
        struct hf__jl_view view = {0};
        struct stat sb;
        if (rc == HF_OK && atomic_load(&st->interrupts) != interrupts)
            rc = hf_error_set(err, HF_CANCELLED, st->dir, "listing was interrupted");
        if (rc == HF_OK && !(file = hf__jl_file_named(st, names[i]->d_name)))
            rc = hf_error_set(err, HF_NO_MEMORY, st->dir, "out of memory");
        free(names[i]);
        if (rc != HF_OK || lstat(file->path, &sb) < 0 || !S_ISREG(sb.st_mode))
            continue;
        rc = look_at(st, file, &sb, &view, err);
        if (rc == HF_OK || (rc == HF_NOT_FOUND && all))
            rc = fn(ctx, file, &view, err);
        else if (rc == HF_NOT_FOUND)
            rc = HF_OK;
        else if (rc < 0 && rc != HF_NO_MEMORY && rc != HF_CANCELLED)
            rc = unreadable(st, file, err); /* it must not hide the others */
        hf__jl_view_free(&view);
    }
    free(names);
    return rc;
}
