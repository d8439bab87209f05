/* path.c - paths, folders and small files.  Never for a file that may be a live
 * database: closing a descriptor of one drops the locks of the whole process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "misc.h"

char *
hf__path_join(const char *a, const char *b)
{
    struct hf__buf buf = {0};
    size_t len = strlen(a);

    while (*b == '/')
        b++;
    while (len > 1 && a[len - 1] == '/')
        len--;
    hf__buf_add(&buf, a, len);
    if (len && a[len - 1] != '/')
        hf__buf_addc(&buf, '/');
    hf__buf_adds(&buf, b);
    return hf__buf_take(&buf);
}

/* The code for a failed system call on a file that was to be written or made. */
static int
code_of_errno(int sys)
{
    switch (sys) {
    case ENOSPC:
    case EDQUOT:
        return HF_DISK_FULL;
    case EROFS:
    case EACCES:
    case EPERM:
        return HF_READ_ONLY;
    case ENOMEM:
        return HF_NO_MEMORY;
    default:
        return HF_IO;
    }
}

static int
errno_set(struct hf_error *err, int code, int sys, const char *path, const char *what)
{
    char text[128];

    hf_error_set(err, code, path, "%s %s: %s", what, path,
                 strerror_r(sys, text, sizeof text));
    if (err)
        err->sys_errno = sys;
    return code;
}

int
hf__mkdirs(const char *path, struct hf_error *err)
{
    char *copy = strdup(path), *p;
    struct stat st;
    int rc = HF_OK, sys;

    if (!copy)
        return hf_error_set(err, HF_NO_MEMORY, path, "no memory to make the folder %s",
                            path);
    for (p = copy; *p == '/'; p++)
        ;
    for (;;) {
        char end;
        p += strcspn(p, "/");
        end = *p;
        *p = '\0';
        if (!mkdir(copy, 0700)) {
            /* The umask may have taken bits away, and a folder without them is of no
             * use to its maker. */
            if (chmod(copy, 0700)) {
                rc = errno_set(err, code_of_errno(errno), errno, copy,
                               "cannot set the mode of the folder");
                break;
            }
        } else {
            sys = errno;
            /* Automounters and read-only roots refuse before they look whether the
             * folder is there, so the folder itself decides. */
            if (stat(copy, &st)) {
                rc = errno_set(err, code_of_errno(sys), sys, copy,
                               "cannot make the folder");
                break;
            }
            if (!S_ISDIR(st.st_mode)) {
                rc = errno_set(err, HF_IO, ENOTDIR, copy, "cannot make the folder");
                break;
            }
        }
        *p = end;
        p += strspn(p, "/");
        if (!*p)
            break;
    }
    free(copy);
    return rc;
}

char *
hf__path_resolve(const char *path)
{
    char *full = NULL, *real = NULL, *cut, *result = NULL;
    struct hf__buf rest = {0}, next = {0};

    if (*path == '/')
        full = strdup(path);
    else {
        char cwd[PATH_MAX];
        if (getcwd(cwd, sizeof cwd))
            full = hf__path_join(cwd, path);
    }
    if (!full)
        return NULL;
    /* Cuts components off the end until what is left exists. */
    while (!(real = realpath(full, NULL))) {
        size_t len = strlen(full);
        while (len > 1 && full[len - 1] == '/')
            full[--len] = '\0';
        cut = strrchr(full, '/');
        if (!cut || len <= 1)
            break;
        hf__buf_clear(&next);
        hf__buf_adds(&next, cut + 1);
        if (rest.len) {
            hf__buf_addc(&next, '/');
            hf__buf_add(&next, rest.ptr, rest.len);
        }
        hf__buf_clear(&rest);
        hf__buf_add(&rest, next.ptr, next.len);
        if (next.failed || rest.failed)
            goto out;
        cut[cut == full] = '\0'; /* the root keeps its slash */
    }
    if (real && !rest.len)
        result = strdup(real);
    else
        result = hf__path_join(real ? real : "/", rest.len ? rest.ptr : "");
out:
    hf__buf_free(&next);
    hf__buf_free(&rest);
    free(real);
    free(full);
    return result;
}

int
hf__read_file(const char *path, size_t max, char **ret, size_t *ret_len,
              struct hf_error *err)
{
    struct hf__buf buf = {0};
    char chunk[16384];
    struct stat st;
    int fd, rc = HF_OK;

    /* Non-blocking, so that a FIFO in the place of the file cannot hang the caller. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno_set(err,
                         errno == ENOENT || errno == ENOTDIR ? HF_NOT_FOUND : HF_IO,
                         errno, path, "cannot open");
    if (fstat(fd, &st)) {
        rc = errno_set(err, HF_IO, errno, path, "cannot look at");
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = hf_error_set(err, HF_INVALID, path, "%s is not a regular file", path);
        goto out;
    }
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = errno_set(err, HF_IO, errno, path, "cannot read");
            goto out;
        }
        if (n == 0)
            break;
        if ((size_t)n > max - buf.len) {
            rc = hf_error_set(err, HF_TOO_BIG, path, "%s is over %zu bytes", path, max);
            goto out;
        }
        hf__buf_add(&buf, chunk, (size_t)n);
        if (buf.failed)
            break;
    }
    {
        size_t len = buf.len;
        char *bytes = hf__buf_take(&buf);
        if (!bytes) {
            rc = hf_error_set(err, HF_NO_MEMORY, path, "no memory to read %s", path);
            goto out;
        }
        *ret = bytes;
        *ret_len = len;
    }
out:
    hf__buf_free(&buf);
    close(fd);
    return rc;
}
