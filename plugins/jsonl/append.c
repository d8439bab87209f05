/* append.c - the one way into a file: lock, look, write in one piece, make it durable.
 * What cannot be written whole is cut off again under the same lock.  Threads that
 * append while another waits for the disk share the next fdatasync. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

int
hf__jl_write_all(int fd, int64_t at, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, bytes, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        bytes += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int
hf__jl_sync_dir(const struct hf_jsonl_store *st, struct hf_error *err)
{
    int fd = open(st->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = HF_OK;

    /* Some file systems refuse to sync a folder: there it needs none. */
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EBADF))
        rc = hf__jl_fail(err, errno, st->dir, "making durable the folder");
    if (fd >= 0)
        close(fd);
    return rc;
}

int
hf__jl_writer_begin(struct hf_jsonl_store *st, struct hf__jl_file *file,
                    struct hf__jl_wait *wait, struct hf_error *err)
{
    int rc = HF_OK;

    pthread_mutex_lock(&file->lock);
    while (file->writing && rc == HF_OK) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50 * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&file->changed, &file->lock, &until);
        if (!file->writing)
            break;
        if (atomic_load(&st->interrupts) != wait->interrupts)
            rc = hf_error_set(err, HF_CANCELLED, file->path,
                              "waiting for %s was interrupted", file->path);
        else if (hf__monotonic_ms() - wait->start_ms >= wait->patience_ms)
            rc = hf_error_set(err, HF_BUSY, file->path,
                              "%s is being written by another thread; waited %lld ms",
                              file->path,
                              (long long)(hf__monotonic_ms() - wait->start_ms));
    }
    if (rc == HF_OK)
        file->writing = 1;
    pthread_mutex_unlock(&file->lock);
    return rc;
}

void
hf__jl_writer_end(struct hf__jl_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->writing = 0;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
}

/* ---- durable ---- */

/* What one append must see on the disk. */
struct ticket {
    uint64_t number, epoch;
    int64_t from, to; /* its bytes; equal: none */
};

/* After a failed fdatasync nobody knows what is on the disk, and a second one would say
 * that all is well: what was not acknowledged is taken out again, if it is still the
 * end. */
static void
unsynced_cut(struct hf_jsonl_store *st, struct hf__jl_file *file,
             const struct ticket *t)
{
    struct hf__jl_wait wait;
    struct hf_error ignored;
    struct stat sb;
    int fd;

    hf__jl_wait_begin(st, &wait, 2000);
    if (t->to > t->from &&
        hf__jl_lock_open(st, file->path, 0, &wait, &fd, &ignored) == 0) {
        if (!fstat(fd, &sb) && sb.st_ino == file->ino && sb.st_size == t->to)
            (void)!ftruncate(fd, t->from);
        hf__jl_unlock(fd);
    }
    pthread_mutex_lock(&file->lock);
    hf__jl_file_reset(file);
    pthread_mutex_unlock(&file->lock);
}

static int
sync_wait(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
          const struct ticket *ticket, struct hf_error *err)
{
    int sys = 0;

    pthread_mutex_lock(&file->lock);
    while (file->epoch == ticket->epoch && file->synced < ticket->number && !sys) {
        uint64_t upto = file->written;
        if (file->syncing) {
            pthread_cond_wait(&file->changed, &file->lock);
            continue;
        }
        file->syncing = 1;
        pthread_mutex_unlock(&file->lock);
        if (fdatasync(fd) < 0)
            sys = errno;
        pthread_mutex_lock(&file->lock);
        file->syncing = 0;
        if (!sys && file->epoch == ticket->epoch && file->synced < upto)
            file->synced = upto;
        pthread_cond_broadcast(&file->changed);
    }
    if (!sys && file->epoch != ticket->epoch && fdatasync(fd) < 0)
        sys = errno; /* the file was replaced: ours is another inode now */
    pthread_mutex_unlock(&file->lock);
    if (!sys)
        return HF_OK;
    unsynced_cut(st, file, ticket);
    return hf__jl_fail(err, sys, file->path, "making durable");
}

/* ---- write ---- */

/* Lets WORK say what to add, with everything known that stands in the file. */
static int
prepare(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
        const struct hf__jl_write *write, struct hf__buf *out, struct ticket *ticket,
        struct hf_error *err)
{
    int rc;

    pthread_mutex_lock(&file->lock);
    rc = hf__jl_refresh_settled(st, file, fd, err);
    if (rc == HF_OK && file->size > 0 && !file->marked && write->create)
        rc = hf_error_set(err, HF_CONFLICT, file->path,
                          "%s is not Holdfast's file: move it away", file->path);
    if (rc == HF_OK)
        rc = hf__jl_is_session(file, err);
    if (rc == HF_NOT_FOUND && write->create && !file->misnamed)
        rc = HF_OK;
    if (rc == HF_OK && file->unterminated)
        hf__buf_addc(out, '\n');
    ticket->from = file->size;
    if (rc == HF_OK) {
        size_t before = out->len;
        rc = write->work(st, file, out, write->ctx, err);
        if (rc == HF_OK && out->len == before)
            out->len = 0; /* nothing new: nothing is written */
    }
    if (rc == HF_OK && out->failed)
        rc = hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
    ticket->epoch = file->epoch;
    ticket->number = file->written;
    ticket->to = ticket->from + (int64_t)out->len;
    pthread_mutex_unlock(&file->lock);
    return rc;
}

/* With the file locked. */
static int
commit(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
       const struct hf__buf *out, struct ticket *ticket, struct hf_error *err)
{
    int sys = hf__jl_write_all(fd, ticket->from, out->ptr, out->len), rc;

    if (sys) {
        (void)!ftruncate(fd, ticket->from);
        pthread_mutex_lock(&file->lock);
        file->known = 0; /* a reader may have seen the part that is gone */
        pthread_mutex_unlock(&file->lock);
        return hf__jl_fail(err, sys, file->path, "writing");
    }
    pthread_mutex_lock(&file->lock);
    rc = hf__jl_refresh(st, file, fd, err);
    ticket->number = ++file->written;
    ticket->epoch = file->epoch;
    pthread_mutex_unlock(&file->lock);
    return rc;
}

int
hf__jl_write(struct hf_jsonl_store *st, const struct hf__jl_write *write,
             struct hf_error *err)
{
    struct hf__jl_file *file = hf__jl_file_of(st, write->id);
    struct hf__buf out = {0};
    struct hf__jl_wait wait;
    struct ticket ticket = {0};
    struct stat sb;
    int fd = -1, rc, is_new;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    hf__jl_wait_begin(st, &wait,
                      write->patience_ms < 0 ? st->patience_ms : write->patience_ms);
    rc = hf__jl_writer_begin(st, file, &wait, err);
    if (rc < 0)
        return rc;
    rc = hf__jl_lock_open(st, file->path, write->create, &wait, &fd, err);
    if (rc < 0) {
        hf__jl_writer_end(file);
        if (rc == HF_NOT_FOUND)
            return hf_error_set(err, rc, file->path, "there is no session %.*s",
                                HF__JL_ID_ARGS(write->id));
        return rc;
    }
    rc = prepare(st, file, fd, write, &out, &ticket, err);
    is_new = ticket.from == 0;
    if (rc == HF_OK && out.len)
        rc = commit(st, file, fd, &out, &ticket, err);
    /* A file in which nothing could be written must not stay. */
    if (rc < 0 && is_new && !fstat(fd, &sb) && sb.st_size == 0)
        unlink(file->path);
    hf__jl_release(fd);
    hf__jl_writer_end(file);
    if (rc == HF_OK && !write->relaxed)
        rc = sync_wait(st, file, fd, &ticket, err);
    if (rc == HF_OK && is_new && out.len)
        rc = hf__jl_sync_dir(st, err);
    close(fd);
    hf__buf_free(&out);
    return rc;
}
