/* slow_read.c - preloaded: a disk that takes HF_TEST_READ_US microseconds for each page,
 * so that what is bounded in time meets its bound on any machine. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void
turn_of_the_disk(size_t size)
{
    const char *us = getenv("HF_TEST_READ_US");
    if (us && size >= 512)
        usleep((useconds_t)strtoul(us, NULL, 10));
}

__attribute__((visibility("default"))) ssize_t
pread(int fd, void *buf, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
    turn_of_the_disk(size);
    return real(fd, buf, size, at);
}

__attribute__((visibility("default"))) ssize_t
pread64(int fd, void *buf, size_t size, off64_t at)
{
    ssize_t (*real)(int, void *, size_t, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pread64");
    turn_of_the_disk(size);
    return real(fd, buf, size, at);
}
