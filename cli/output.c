/* output.c - a file that appears under its name whole or not at all: written beside its
 * place, synced, then renamed.  It never follows a symlink and never takes the place of a
 * store's file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "util/misc.h"

#define BLOCK 65536u

struct guarded {
    const char *path; /* resolved */
    const struct stat *st; /* NULL: does not exist */
    const char *profile;
};

/* Files of a store have these names in a profile's folder. */
static const char *const store_files[] = {"state.db", "state.db-wal", "state.db-shm",
                                          "state.db-journal", NULL};

static int
guard_profile(void *ctx, const char *name, const char *home)
{
    struct guarded *g = ctx;
    const char *const *file;
    struct stat st;
    int hit = 0;

    for (file = store_files; *file && !hit; file++) {
        char *path = hf__path_join(home, *file);
        if (!path)
            return HF_NO_MEMORY;
        hit = strcmp(path, g->path) == 0;
        if (g->st && stat(path, &st) == 0)
            hit |= st.st_dev == g->st->st_dev && st.st_ino == g->st->st_ino;
        free(path);
    }
    if (hit)
        g->profile = name;
    return hit;
}

/* Whether the file there is an SQLite database.  It is none of a profile of this home,
 * but it might be one of another.  A file that a process has open for writing loses no
 * lock of ours by this read, since this process opens no other store than its own. */
static int
is_database(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[16];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, head, sizeof head);
    close(fd);
    return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof magic) == 0;
}

static int
check_target(struct cli *cli, const char *path, int force, int *ret_in_place)
{
    struct guarded g = {0};
    struct hf_error err = {0};
    struct stat st;
    char *resolved;
    int exists = lstat(path, &st) == 0, rc;

    if (!exists && errno != ENOENT)
        return print_fail(cli, HF_IO, path, "cannot write %s: %s", path,
                          strerror(errno));
    if (exists && S_ISLNK(st.st_mode))
        return print_fail(cli, HF_INVALID, path,
                          "%s is a symlink; name the file itself", path);
    if (exists && S_ISDIR(st.st_mode))
        return print_fail(cli, HF_INVALID, path, "%s is a directory", path);
    resolved = hf__path_resolve(path);
    if (!resolved) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    g.path = resolved;
    g.st = exists ? &st : NULL;
    rc = hf_runtime_profiles(cli->rt, guard_profile, &g, &err);
    free(resolved);
    if (rc < 0)
        return print_error(cli, &err);
    if (rc > 0)
        return print_fail(cli, HF_INVALID, path,
                          "%s belongs to a store; an export never replaces that", path);
    *ret_in_place = exists && !S_ISREG(st.st_mode);
    if (exists && S_ISREG(st.st_mode) && is_database(path))
        return print_fail(cli, HF_INVALID, path,
                          "%s is an SQLite database; an export never replaces that",
                          path);
    if (exists && S_ISREG(st.st_mode) && !force)
        return print_fail(cli, HF_EXISTS, path,
                          "%s exists already; --force replaces it", path);
    return EXIT_GO_ON;
}

/* A new name beside PATH, in o->temp. */
static int
name_temp(struct output *o)
{
    const char *slash = strrchr(o->path, '/');
    int dir = slash ? (int)(slash - o->path) + 1 : 0;
    struct hf__buf name = {0};
    char hex[17];

    hf__random_hex(hex, 8);
    /* The base is cut, so that the longer name is no problem where its own is none. */
    hf__buf_addf(&name, "%.*s.%.100s.%s.tmp", dir, o->path, o->path + dir, hex);
    free(o->temp);
    o->temp = hf__buf_take(&name);
    if (!o->temp)
        errno = ENOMEM;
    return o->temp ? 0 : -1;
}

/* Makes a new file in PATH's folder: one without a name where the file system has such,
 * so that nothing is left of it even by a SIGKILL. */
static int
open_temp(struct output *o)
{
    const char *slash = strrchr(o->path, '/');
    char *dir = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : strdup(".");

    /* It gets its name through /proc, which a bare chroot lacks. */
    if (dir && access("/proc/self/fd", X_OK) == 0)
        o->fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    free(dir);
    if (o->fd >= 0) {
        o->nameless = 1;
        return 0;
    }
    if (name_temp(o) != 0)
        return -1;
    o->fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (o->fd < 0) {
        free(o->temp);
        o->temp = NULL;
        return -1;
    }
    return 0;
}

int
output_open(struct cli *cli, const char *path, int force, struct output *ret)
{
    int in_place = 0, rc;

    memset(ret, 0, sizeof *ret);
    ret->cli = cli;
    ret->fd = -1;
    ret->force = force;
    if (!path || strcmp(path, "-") == 0)
        return EXIT_GO_ON;
    ret->path = path;
    if (!*path)
        return print_fail(cli, HF_INVALID, NULL, "the output has an empty name");
    rc = check_target(cli, path, force, &in_place);
    if (rc != EXIT_GO_ON)
        return rc;
    if (in_place)
        ret->fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    else
        open_temp(ret);
    if (ret->fd < 0)
        return print_fail(cli, HF_IO, path, "cannot write %s: %s", path, strerror(errno));
    return EXIT_GO_ON;
}

static int
write_all(struct output *o, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(o->fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            o->failed = errno;
            return HF_IO;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int
drain(struct output *o)
{
    int rc;

    if (o->buf.failed)
        return HF_NO_MEMORY;
    if (!o->path) {
        rc = print_flush(&o->buf) == 0 ? 0 : HF_IO;
        if (rc)
            o->failed = errno ? errno : EIO;
        return rc;
    }
    rc = write_all(o, o->buf.ptr, o->buf.len);
    hf__buf_clear(&o->buf);
    return rc;
}

int
output_write(void *ctx, const char *bytes, size_t len)
{
    struct output *o = ctx;

    hf__buf_add(&o->buf, bytes, len);
    return o->buf.len >= BLOCK || o->buf.failed ? drain(o) : 0;
}

/* Gives a nameless file the name PATH, which must be free. */
static int
link_nameless(const struct output *o, const char *path)
{
    char self[64];

    snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Gives the temporary file its name.  Without --force a file that came into being
 * meanwhile is not replaced. */
static int
publish(struct output *o)
{
    if (o->nameless && !o->force)
        return link_nameless(o, o->path);
    if (o->nameless && (name_temp(o) != 0 || link_nameless(o, o->temp) != 0))
        return -1;
    if (o->force)
        return rename(o->temp, o->path);
    if (renameat2(AT_FDCWD, o->temp, AT_FDCWD, o->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* A file system without that flag. */
    if (link(o->temp, o->path) != 0)
        return -1;
    unlink(o->temp);
    return 0;
}

/* Makes the new name durable too; a folder that cannot be synced is no failure. */
static void
sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(dir);
}

int
output_commit(struct output *o)
{
    int rc = drain(o);

    if (!o->path)
        return print_finish(o->cli, rc == 0 ? EXIT_FINE : EXIT_PROBLEM);
    if (rc == HF_NO_MEMORY) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    if (!o->failed && (o->temp || o->nameless)) {
        if (fsync(o->fd) != 0 || publish(o) != 0)
            o->failed = errno;
        else {
            sync_folder(o->path);
            free(o->temp);
            o->temp = NULL;
        }
    }
    if (o->fd >= 0 && close(o->fd) != 0 && !o->failed)
        o->failed = errno;
    o->fd = -1;
    if (o->failed == EEXIST)
        return print_fail(o->cli, HF_EXISTS, o->path,
                          "%s came into being meanwhile; --force replaces it", o->path);
    if (o->failed)
        return print_fail(o->cli, o->failed == ENOSPC ? HF_DISK_FULL : HF_IO, o->path,
                          "cannot write %s: %s", o->path, strerror(o->failed));
    return EXIT_FINE;
}

void
output_close(struct output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    if (o->temp)
        unlink(o->temp);
    free(o->temp);
    o->temp = NULL;
    hf__buf_free(&o->buf);
}
