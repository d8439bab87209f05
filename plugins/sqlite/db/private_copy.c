/* private_copy.c - a copy of a database that cannot be read where it lies without
 * writing: its WAL has no -shm, or its rollback journal is hot.  The copy is ours
 * alone; SQLite may recover it, and the original stays as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "db.h"

static const char *const copied[] = {"", "-wal", "-journal"};
static const char *const left_over[] = {"", "-wal", "-shm", "-journal"};

static int
write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int
copy_bytes(int from, int to)
{
    enum { CHUNK = 1 << 18 };
    char *chunk = malloc(CHUNK);
    off_t at = 0;
    int sys = chunk ? 0 : ENOMEM;
    while (!sys) {
        ssize_t n = pread(from, chunk, CHUNK, at);
        if (n == 0)
            break;
        if (n < 0)
            sys = errno == EINTR ? 0 : errno;
        else {
            sys = write_all(to, chunk, (size_t)n);
            at += n;
        }
    }
    free(chunk);
    return sys;
}

static int
copy_file(const char *from_name, const struct stat *st, const char *to_name,
          int is_main)
{
    int borrowed = 0, sys = 0;
    int from = is_main
                   ? hf__descriptor_borrow(from_name, st, &borrowed)
                   : open(from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return errno;
    int to = open(to_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        sys = errno;
    else {
        sys = copy_bytes(from, to);
        if (close(to) && !sys)
            sys = errno;
    }
    if (!borrowed)
        close(from);
    return sys;
}

static int
same(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_dev == b->st_dev &&
           a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void
hf__private_copy_remove(char **dir)
{
    char name[4128];
    if (!*dir)
        return;
    for (size_t i = 0; i < sizeof left_over / sizeof *left_over; i++) {
        snprintf(name, sizeof name, "%s/copy.db%s", *dir, left_over[i]);
        unlink(name);
    }
    rmdir(*dir);
    free(*dir);
    *dir = NULL;
}

/* Fills *ret_dir with a new folder that holds copy.db.  HF_BUSY when somebody wrote
 * meanwhile. */
int
hf__private_copy_make(const char *path, const struct hf__look *look, char **ret_dir,
                      struct hf_error *err)
{
    const struct stat *const before[] = {&look->main, &look->wal, &look->journal};
    const char *tmp = getenv("TMPDIR");
    char *dir = NULL;
    char from[4128], to[4128];
    struct hf__look after;
    struct hf__shown shown;
    struct statvfs fs;
    int code = HF_OK;

    if (!tmp || tmp[0] != '/')
        tmp = "/tmp";
    dir = hf__path_join(tmp, "holdfast-read-XXXXXX");
    if (!dir)
        return hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
    if (!mkdtemp(dir)) {
        hf_error_set(
            err, errno == ENOSPC ? HF_DISK_FULL : HF_IO, tmp,
            "%s can only be read from a private copy, and none can be made in %s: "
            "%s; set TMPDIR",
            hf__shown(&shown, path), tmp, strerror(errno));
        code = errno == ENOSPC ? HF_DISK_FULL : HF_IO;
        free(dir);
        return code;
    }
    uint64_t need = (uint64_t)look->main.st_size + (uint64_t)look->wal.st_size * 2 +
                    (uint64_t)look->journal.st_size;
    int sys =
        !statvfs(dir, &fs) && (uint64_t)fs.f_bavail * fs.f_frsize < need ? ENOSPC : 0;
    for (size_t i = 0; i < 3 && !sys; i++)
        if (before[i]->st_mode) {
            snprintf(from, sizeof from, "%s%s", path, copied[i]);
            snprintf(to, sizeof to, "%s/copy.db%s", dir, copied[i]);
            sys = copy_file(from, before[i], to, i == 0);
        }
    if (sys) {
        code = sys == ENOSPC ? HF_DISK_FULL : HF_IO;
        hf_error_set(
            err, code, path,
            "%s can only be read from a private copy, and copying it to %s failed: "
            "%s; set TMPDIR to a folder with %llu MiB of room",
            hf__shown(&shown, path), dir, strerror(sys),
            (unsigned long long)(need >> 20) + 1);
        if (err)
            err->sys_errno = sys;
        goto out;
    }
    code = hf__preflight(path, &after, err);
    if (code == HF_OK &&
        (!same(&look->main, &after.main) || !same(&look->wal, &after.wal) ||
         !same(&look->journal, &after.journal)))
        code = hf_error_set(err, HF_BUSY, path,
                            "%s was written while it was copied: try "
                            "again",
                            hf__shown(&shown, path));
out:
    if (code != HF_OK)
        hf__private_copy_remove(&dir);
    else
        *ret_dir = dir;
    return code;
}
