/* input.c - reading a file or standard input whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

int
input_read(const struct cli *cli, const char *path, size_t max, struct hf__buf *ret)
{
    int standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const char *name = standard ? "standard input" : path;
    char chunk[65536];
    ssize_t n = 0;
    int rc = EXIT_GO_ON;

    if (fd < 0)
        return print_fail(cli, errno == ENOENT ? HF_NOT_FOUND : HF_IO, path,
                          "cannot open %s: %s", path, strerror(errno));
    while (ret->len <= max) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        hf__buf_add(ret, chunk, (size_t)n);
    }
    if (n < 0)
        rc = print_fail(cli, HF_IO, standard ? NULL : path, "cannot read %s: %s", name,
                        strerror(errno));
    else if (ret->len > max)
        rc = print_fail(cli, HF_TOO_BIG, standard ? NULL : path,
                        "%s holds more than the %zu bytes allowed here", name, max);
    hf__buf_adds(ret, "");
    if (rc == EXIT_GO_ON && ret->failed) {
        print_no_memory();
        rc = EXIT_PROBLEM;
    }
    if (!standard)
        close(fd);
    return rc;
}
