/* config_text.c - the bytes of a config.yaml.  The file is only ever read.
 *
 * Whatever stands in its place and is no readable file is an error, never "no
 * configuration": its defaults could cost data. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (1u << 20)

static int
refuse_file(const char *path, int sys, const char *what, struct hf_error *err)
{
    char text[128];

    hf_error_set(err, HF_CONFIG, path, "%s: %s%s%s", path, what, sys ? ": " : "",
                 sys ? strerror_r(sys, text, sizeof text) : "");
    if (err)
        err->sys_errno = sys;
    return HF_CONFIG;
}

int
hf__config_text(const char *path, char **ret, size_t *ret_len, struct hf_error *err)
{
    struct stat st;
    size_t len = 0;
    char *text = NULL;
    int rc = HF_OK, fd;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno != ENOENT)
            return refuse_file(path, errno, "the configuration cannot be read", err);
        /* A link to nowhere is no missing file: what it should lead to may be a
         * setting that data depends on. */
        if (lstat(path, &st) == 0)
            return refuse_file(path, 0,
                               "it is a symbolic link to a file that is not "
                               "there",
                               err);
        return HF_OK;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        rc = refuse_file(path, 0,
                         S_ISDIR(st.st_mode) ? "found a folder, allowed: a file"
                                             : "found no regular file, allowed: a file",
                         err);
        goto out;
    }
    text = malloc(MAX_FILE + 2);
    if (!text) {
        rc = hf_error_set(err, HF_NO_MEMORY, path, "out of memory reading %s", path);
        goto out;
    }
    while (len <= MAX_FILE) {
        ssize_t n = read(fd, text + len, MAX_FILE + 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = refuse_file(path, errno, "the configuration cannot be read", err);
            goto out;
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len > MAX_FILE) {
        rc = refuse_file(path, 0, "found over 1 MiB, allowed: at most 1 MiB", err);
        goto out;
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    text = NULL;
out:
    free(text);
    close(fd);
    return rc;
}
