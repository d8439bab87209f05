/* offline.c - reading a file that might be a live database, without opening one.
 *
 * A path is pinned by an O_PATH descriptor, whose close takes no lock from anybody; the
 * file behind it is compared with the registry and with every descriptor of the
 * process, and then it is that very file that is opened, whatever the path means by now. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <holdfast/offline.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct hf_guard {
    char *resolved;
    int has_st;
    struct stat st;
};

/* From registering a guard to the end of the look at the descriptors: a second guard of
 * the same file may rely on the first one's look, and must, for the file may be open in
 * the first one's hands. */
static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether descriptor NAME was opened with O_PATH: it holds no lock, nor reads. */
static int
is_path_only(const char *name)
{
    char path[64], text[512], *flags;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%.20s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT; /* closed meanwhile */
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    flags = strstr(text, "flags:");
    return flags && (strtoul(flags + 6, NULL, 8) & O_PATH);
}

/* 1 when a descriptor of this process is open on the file, 0 when none is, -1 when that
 * cannot be seen. */
static int
open_in_process(const struct stat *st)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int found = 0;

    if (!dir)
        return -1;
    while (!found && (entry = readdir(dir)) != NULL) {
        struct stat other;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &other, 0) != 0)
            continue;
        found = other.st_dev == st->st_dev && other.st_ino == st->st_ino &&
                !is_path_only(entry->d_name);
    }
    closedir(dir);
    return found;
}

static void
guard_free(struct hf_guard *g)
{
    free(g->resolved);
    free(g);
}

/* ST: of the file at PATH, NULL when there is none. */
static int
guard_new(const char *path, const struct stat *st, struct hf_guard **ret,
          struct hf_error *err)
{
    struct hf_guard *g = calloc(1, sizeof *g);
    int rc, first;

    if (g)
        g->resolved = hf__path_resolve(path);
    if (!g || !g->resolved) {
        free(g);
        return hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
    }
    if (st) {
        g->has_st = 1;
        g->st = *st;
    }
    pthread_mutex_lock(&look_lock);
    rc = hf__live_guard_file(g->resolved, st, &first, err);
    if (rc == HF_OK && st && first && S_ISREG(st->st_mode)) {
        int open_here = open_in_process(st);

        if (open_here > 0)
            rc = hf_error_set(err, HF_BUSY, path,
                              "%s is open in this process; if it is a database, "
                              "reading it as a plain file could cancel its locks; "
                              "close it first",
                              path);
        else if (open_here < 0)
            rc = hf_error_set(err, HF_UNSUPPORTED, path,
                              "/proc/self/fd cannot be read, so nobody knows whether "
                              "this process has %s open; it is not touched",
                              path);
        if (rc < 0)
            hf__live_unguard_file(g->resolved, st);
    }
    pthread_mutex_unlock(&look_lock);
    if (rc < 0) {
        guard_free(g);
        return rc;
    }
    *ret = g;
    return HF_OK;
}

static int
sys_fail(struct hf_error *err, int sys, const char *path, const char *what)
{
    char text[128];
    int code = sys == ENOENT || sys == ENOTDIR ? HF_NOT_FOUND : HF_IO;

    hf_error_set(err, code, path, "%s cannot be %s: %s", path, what,
                 strerror_r(sys, text, sizeof text));
    if (err)
        err->sys_errno = sys;
    return code;
}

int
hf_offline_guard(const char *path, struct hf_guard **ret_guard,
                 struct hf_error *err)
{
    struct stat st;

    if (!path || !*path || !ret_guard)
        return hf_error_set(err, HF_INVALID, NULL, "a guard needs a path");
    if (stat(path, &st) == 0)
        return guard_new(path, &st, ret_guard, err);
    if (errno != ENOENT)
        return sys_fail(err, errno, path, "looked at");
    return guard_new(path, NULL, ret_guard, err);
}

void
hf_offline_unguard(struct hf_guard **guard)
{
    struct hf_guard *g = guard ? *guard : NULL;

    if (!g)
        return;
    hf__live_unguard_file(g->resolved, g->has_st ? &g->st : NULL);
    guard_free(g);
    *guard = NULL;
}

static int
read_all(int fd, const char *path, hf_offline_read_fn *emit, void *ctx,
         struct hf_error *err)
{
    const size_t size = 64 * 1024;
    char *piece = malloc(size);
    ssize_t n;
    int rc = HF_OK;

    if (!piece)
        return hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
    do {
        n = read(fd, piece, size);
        if (n > 0)
            rc = emit(ctx, piece, (uint64_t)n);
        else if (n < 0 && errno != EINTR)
            rc = sys_fail(err, errno, path, "read");
    } while (rc == HF_OK && n != 0);
    free(piece);
    return rc;
}

int
hf_offline_read(const char *path, hf_offline_read_fn *emit, void *ctx,
                struct hf_error *err)
{
    struct hf_guard *guard = NULL;
    struct stat st;
    char pinned_path[48];
    int pinned, fd, rc;

    if (!path || !*path || !emit)
        return hf_error_set(err, HF_INVALID, NULL,
                            "a read needs a path and a callback");
    pinned = open(path, O_PATH | O_CLOEXEC);
    if (pinned < 0)
        return sys_fail(err, errno, path, "read");
    if (fstat(pinned, &st) != 0) {
        rc = sys_fail(err, errno, path, "looked at");
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = hf_error_set(err, HF_INVALID, path, "%s is no regular file", path);
        goto out;
    }
    rc = guard_new(path, &st, &guard, err);
    if (rc < 0)
        goto out;
    snprintf(pinned_path, sizeof pinned_path, "/proc/self/fd/%d", pinned);
    fd = open(pinned_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        rc = sys_fail(err, errno, path, "read");
    } else {
        rc = read_all(fd, path, emit, ctx, err);
        close(fd);
    }
    hf_offline_unguard(&guard); /* after the close, which is what a lock would miss */
out:
    close(pinned);
    return rc;
}
