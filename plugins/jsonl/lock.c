/* lock.c - one writer of a file at a time, between processes.  The lock belongs to the
 * open file description, so that no other close in the process cancels it; a lock call
 * never blocks, so that waiting has an end and can be interrupted. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

int
hf__jl_fail(struct hf_error *err, int sys, const char *path, const char *what)
{
    char text[128];
    int code;

    switch (sys) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* a limit on the size of files: no room either */
        code = HF_DISK_FULL;
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        code = HF_READ_ONLY;
        break;
    case ELOOP:
    case EISDIR:
        code = HF_CONFLICT;
        break;
    case ENOMEM:
        code = HF_NO_MEMORY;
        break;
    default:
        code = HF_IO;
    }
    hf_error_set(err, code, path, "%s %s: %s%s", what, path,
                 strerror_r(sys, text, sizeof text),
                 code == HF_DISK_FULL ? ": free some space and try again"
                 : sys == ELOOP       ? ": a symbolic link stands there, remove it"
                                      : "");
    if (err)
        err->sys_errno = sys;
    return code;
}

void
hf__jl_wait_begin(struct hf_jsonl_store *st, struct hf__jl_wait *wait,
                  int64_t patience_ms)
{
    wait->start_ms = hf__monotonic_ms();
    wait->patience_ms = patience_ms;
    wait->interrupts = atomic_load(&st->interrupts);
    wait->tries = 0;
}

int
hf__jl_wait_more(struct hf_jsonl_store *st, struct hf__jl_wait *wait, const char *path,
                 struct hf_error *err)
{
    int64_t waited = hf__monotonic_ms() - wait->start_ms, ms;

    if (atomic_load(&st->interrupts) != wait->interrupts)
        return hf_error_set(err, HF_CANCELLED, path, "waiting for %s was interrupted",
                            path);
    if (waited >= wait->patience_ms)
        return hf_error_set(err, HF_BUSY, path,
                            "%s is locked by another writer; waited %lld ms, try again",
                            path, (long long)waited);
    /* A lock is held for one write, so the first looks are close together. */
    if (wait->tries++ < 5)
        ms = 1 + hf__random_below(5);
    else if (waited < 2000)
        ms = 20 + hf__random_below(131);
    else
        ms = 250 + hf__random_below(751);
    if (ms > wait->patience_ms - waited)
        ms = wait->patience_ms - waited;
    hf__sleep_ms(ms);
    return HF_OK;
}

/* 1: locked; 0: somebody else has it; else a negative errno. */
static int
try_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int rc;

    do
        rc = fcntl(fd, F_OFD_SETLK, &lock);
    while (rc < 0 && errno == EINTR);
    if (!rc)
        return 1;
    if (errno == EAGAIN || errno == EACCES)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP && errno != ENOLCK)
        return -errno;
    /* No such locks here: the whole file then, which is the other lock that stays with
     * the description. */
    do
        rc = flock(fd, LOCK_EX | LOCK_NB);
    while (rc < 0 && errno == EINTR);
    return !rc ? 1 : errno == EWOULDBLOCK ? 0 : -errno;
}

int
hf__jl_is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void
hf__jl_release(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    /* Said rather than left to close(): a forked child may still have the description.
     */
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
        flock(fd, LOCK_UN);
}

void
hf__jl_unlock(int fd)
{
    hf__jl_release(fd);
    close(fd);
}

/* 1: it is the file at PATH, 0: another one is, or none. */
static int
is_at(int fd, const char *path)
{
    struct stat ours, there;

    return !fstat(fd, &ours) && !lstat(path, &there) && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

int
hf__jl_lock_open(struct hf_jsonl_store *st, const char *path, int create,
                 struct hf__jl_wait *wait, int *ret_fd, struct hf_error *err)
{
    for (;;) {
        struct stat sb;
        int fd, got, rc;
        /* Non-blocking: a FIFO of that name must not hold us. */
        do
            fd = open(path,
                      O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                          (create ? O_CREAT : 0),
                      0600);
        while (fd < 0 && errno == EINTR);
        if (fd < 0 && errno == ENOENT && !create)
            return hf_error_set(err, HF_NOT_FOUND, path, "there is no %s", path);
        if (fd < 0)
            return hf__jl_fail(err, errno, path, "opening");
        if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode)) {
            close(fd);
            return hf_error_set(err, HF_CONFLICT, path, "%s is no regular file", path);
        }
        for (rc = HF_OK; (got = try_lock(fd)) == 0 && rc == HF_OK;)
            rc = hf__jl_wait_more(st, wait, path, err);
        if (got < 0)
            rc = hf__jl_fail(err, -got, path, "locking");
        if (rc < 0) {
            close(fd);
            return rc;
        }
        if (is_at(fd, path)) {
            *ret_fd = fd;
            return HF_OK;
        }
        hf__jl_unlock(fd); /* it was moved away meanwhile */
        if (hf__monotonic_ms() - wait->start_ms >= wait->patience_ms)
            return hf__jl_wait_more(st, wait, path, err);
    }
}
