/* quarantine.c - a torn end, as a kill or a power cut in the middle of a write leaves
 * it, is moved to FILE.quarantine: nothing is thrown away, and what is appended next
 * stands on a line of its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

/* Copies [FROM, TO) of FD to the end of the quarantine, a newline behind it. */
static int
set_aside(int fd, int64_t from, int64_t to, const char *path, struct hf_error *err)
{
    char buf[4096];
    int out = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    struct stat sb;
    int64_t start;
    int sys = 0, rc = HF_OK;

    if (out < 0)
        return hf__jl_fail(err, errno, path, "opening");
    if (fstat(out, &sb) < 0 || !S_ISREG(sb.st_mode)) {
        close(out);
        return hf_error_set(err, HF_CONFLICT, path, "%s is no regular file", path);
    }
    start = sb.st_size;
    for (int64_t at = start; from < to && !sys;) {
        size_t want =
            to - from < (int64_t)sizeof buf ? (size_t)(to - from) : sizeof buf;
        ssize_t n = pread(fd, buf, want, from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            sys = n < 0 ? errno : EIO;
        else
            sys = hf__jl_write_all(out, at, buf, (size_t)n);
        from += n > 0 ? n : 0;
        at += n > 0 ? n : 0;
        if (!sys && from == to)
            sys = hf__jl_write_all(out, at, "\n", 1);
    }
    if (!sys && fsync(out) < 0)
        sys = errno;
    if (sys) {
        (void)!ftruncate(out, start);
        rc = hf__jl_fail(err, sys, path, "setting aside a torn line in");
    }
    close(out);
    return rc;
}

/* Moves the torn end of the file away; TOLD: it was warned about before. */
static int
settle(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd, int told,
       struct hf_error *err)
{
    struct hf__buf path = {0};
    int64_t torn = file->size - file->torn_at;
    uint64_t line = file->line + 1;
    int rc;

    hf__buf_addf(&path, "%s.quarantine", file->path);
    if (path.failed)
        return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
    rc = set_aside(fd, file->torn_at, file->size, path.ptr, err);
    if (rc == HF_OK && ftruncate(fd, file->torn_at) < 0)
        rc = hf__jl_fail(err, errno, file->path, "cutting off a torn line of");
    if (rc == HF_OK) {
        st->host->log(st->host->ctx, told ? HF_LOG_INFO : HF_LOG_WARNING,
                      "jsonl_quarantined", file->path,
                      "%s line %llu: torn; %lld bytes were moved to %s", file->path,
                      (unsigned long long)line, (long long)torn, path.ptr);
        hf__jl_file_reset(file); /* looked at anew */
        rc = hf__jl_refresh(st, file, fd, err);
    }
    hf__buf_free(&path);
    return rc;
}

int
hf__jl_refresh_settled(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
                       struct hf_error *err)
{
    int told = file->torn_told, rc;

    file->torn_told = -1;
    rc = hf__jl_refresh(st, file, fd, err);
    file->torn_told = told;
    if (rc == HF_OK && file->torn_at >= 0 && file->marked)
        rc = settle(st, file, fd, told, err);
    if (rc == HF_OK)
        file->torn_told = 0;
    return rc;
}

/* ---- at an open for writing ---- */

/* Whether the file ends in anything but a newline. */
static int
end_is_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat sb;
    char last = '\n';

    if (fd < 0)
        return 0;
    if (!fstat(fd, &sb) && S_ISREG(sb.st_mode) && sb.st_size > 0 &&
        pread(fd, &last, 1, sb.st_size - 1) != 1)
        last = '\n';
    close(fd);
    return last != '\n';
}

static int
settle_one(struct hf_jsonl_store *st, const char *name, struct hf_error *err)
{
    struct hf__jl_file *file = hf__jl_file_named(st, name);
    struct hf__jl_wait wait;
    int fd, rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, st->dir, "out of memory");
    if (!end_is_open(file->path))
        return HF_OK;
    /* Somebody who is writing just now settles it himself. */
    hf__jl_wait_begin(st, &wait, 0);
    rc = hf__jl_lock_open(st, file->path, 0, &wait, &fd, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&file->lock);
    rc = hf__jl_refresh_settled(st, file, fd, err);
    pthread_mutex_unlock(&file->lock);
    hf__jl_unlock(fd);
    return rc;
}

static int
name_fits(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), end = strlen(HF__JL_SUFFIX);

    return entry->d_name[0] != '.' && len > end &&
           !strcmp(entry->d_name + len - end, HF__JL_SUFFIX);
}

int
hf__jl_settle_all(struct hf_jsonl_store *st, struct hf_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(st->dir, &names, name_fits, alphasort), rc = HF_OK;

    if (n < 0)
        return hf__jl_fail(err, errno, st->dir, "listing");
    for (int i = 0; i < n; i++) {
        struct hf_error why;
        int one = rc == HF_OK ? settle_one(st, names[i]->d_name, &why) : HF_OK;
        free(names[i]);
        if (one == HF_NO_MEMORY)
            rc = hf_error_set(err, one, st->dir, "%s", why.message);
        else if (one < 0 && one != HF_NOT_FOUND && one != HF_BUSY)
            /* Its end stays torn, which an append to it will find: no reason to refuse
             * all the others. */
            st->host->log(st->host->ctx, HF_LOG_WARNING, "jsonl_torn", why.path, "%s",
                          why.message);
    }
    free(names);
    return rc;
}
