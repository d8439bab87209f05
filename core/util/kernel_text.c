/* kernel_text.c - reading and spelling NAME.kernel: four lines, the boot id, the host
 * name, a pid and a counter.  Whatever else lies there is told apart, never trusted. */
#include "util/kernel_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char boot_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-";

/* The next line of at most SIZE - 1 bytes, without its end; 0: there is none such. */
static int
line_next(const char **at, const char *end, char *ret, size_t size)
{
    const char *nl = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    size_t len = nl ? (size_t)(nl - *at) : 0;
    if (!len || len >= size)
        return 0;
    memcpy(ret, *at, len);
    ret[len] = '\0';
    *at = nl + 1;
    return strlen(ret) == len; /* no NUL within */
}

static int
number(const char *text, uint64_t max, uint64_t *ret)
{
    errno = 0;
    if (text[strspn(text, "0123456789")])
        return 0;
    *ret = strtoull(text, NULL, 10);
    return errno == 0 && *ret <= max;
}

int
hf__kernel_parse(const char *bytes, size_t len, struct hf__kernel_owner *ret)
{
    const char *at = bytes, *end = bytes + len;
    char pid[24], counter[24];
    uint64_t n = 0;
    memset(ret, 0, sizeof *ret);
    if (!line_next(&at, end, ret->boot, sizeof ret->boot) ||
        !line_next(&at, end, ret->host, sizeof ret->host) ||
        !line_next(&at, end, pid, sizeof pid) ||
        !line_next(&at, end, counter, sizeof counter) || at != end)
        return 0;
    if (ret->boot[strspn(ret->boot, boot_bytes)] || !number(pid, INT32_MAX, &n))
        return 0;
    /* It goes into texts and terminals. */
    for (const char *p = ret->host; *p; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p > 0x7e)
            return 0;
    ret->pid = (long)n;
    return number(counter, UINT64_MAX, &ret->counter);
}

size_t
hf__kernel_format(const struct hf__kernel_owner *owner, char *ret, size_t size)
{
    int n = snprintf(ret, size, "%s\n%s\n%ld\n%" PRIu64 "\n", owner->boot, owner->host,
                     owner->pid, owner->counter);
    return n < 0 || (size_t)n >= size ? 0 : (size_t)n;
}

void
hf__kernel_look(const char *path, struct hf__kernel_seen *ret)
{
    struct stat st;
    ssize_t n = 0;
    memset(ret, 0, sizeof *ret);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        ret->error = errno;
        ret->kind = errno == ENOENT                    ? HF__KERNEL_NONE
                    : errno == ELOOP || errno == ENXIO ? HF__KERNEL_OBSTACLE
                                                       : HF__KERNEL_UNREAD;
        return;
    }
    if (fstat(fd, &st)) {
        ret->error = errno;
        ret->kind = HF__KERNEL_UNREAD;
    } else if (!S_ISREG(st.st_mode)) {
        ret->kind = HF__KERNEL_OBSTACLE;
    } else {
        ret->size = st.st_size;
        do
            n = pread(fd, ret->bytes, sizeof ret->bytes, 0);
        while (n < 0 && errno == EINTR);
        ret->error = n < 0 ? errno : 0;
        ret->len = n < 0 ? 0 : (size_t)n;
        ret->kind = n < 0 ? HF__KERNEL_UNREAD
                    : ret->len < sizeof ret->bytes &&
                            hf__kernel_parse(ret->bytes, ret->len, &ret->owner)
                        ? HF__KERNEL_OWNED
                        : HF__KERNEL_GARBLED;
    }
    close(fd);
}

int
hf__kernel_same(const struct hf__kernel_seen *a, const struct hf__kernel_seen *b)
{
    return a->kind == b->kind && a->size == b->size && a->len == b->len &&
           memcmp(a->bytes, b->bytes, a->len) == 0;
}

int
hf__kernel_self(struct hf__kernel_owner *ret)
{
    /* Tests stand in for a second kernel; ignored with raised privileges.  The file's
     * second line is then the name of that kernel's host. */
    const char *env = secure_getenv("HOLDFAST_BOOT_ID");
    char bytes[160], host[65] = "";
    const char *at = bytes;
    ssize_t n = -1;
    memset(ret, 0, sizeof *ret);
    int fd = open(env && *env ? env : "/proc/sys/kernel/random/boot_id",
                  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n < 0 || !line_next(&at, bytes + n, ret->boot, sizeof ret->boot) ||
        ret->boot[strspn(ret->boot, boot_bytes)])
        return 0;
    if (!line_next(&at, bytes + n, host, sizeof host) &&
        gethostname(host, sizeof host - 1))
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    for (char *p = host; *p; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
    snprintf(ret->host, sizeof ret->host, "%s", host[0] ? host : "unnamed");
    ret->pid = (long)getpid();
    return 1;
}
