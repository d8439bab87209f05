/* deleted.c - preloaded: a file system that, like OpenZFS at times, shows descriptors
 * of files that are there as "PATH (deleted)".  HF_TEST_DELETED is the end of the names
 * that this befalls. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t
mark(char *buf, size_t size, ssize_t n)
{
    static const char mark_text[] = " (deleted)";
    const char *end = getenv("HF_TEST_DELETED");
    size_t len = end ? strlen(end) : 0;
    if (n < 0 || len == 0 || (size_t)n < len || memcmp(buf + n - len, end, len) != 0 ||
        (size_t)n + sizeof mark_text - 1 > size)
        return n;
    memcpy(buf + n, mark_text, sizeof mark_text - 1);
    return n + (ssize_t)sizeof mark_text - 1;
}

__attribute__((visibility("default"))) ssize_t
readlink(const char *path, char *buf, size_t size)
{
    ssize_t (*real)(const char *, char *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "readlink");
    return mark(buf, size, real(path, buf, size));
}

__attribute__((visibility("default"))) ssize_t
readlinkat(int folder, const char *path, char *buf, size_t size)
{
    ssize_t (*real)(int, const char *, char *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "readlinkat");
    return mark(buf, size, real(folder, path, buf, size));
}
