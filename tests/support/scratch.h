/* scratch.h - a temporary folder for one unit test, removed with everything in it. */
#ifndef HF_TEST_SCRATCH_H
#define HF_TEST_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int
scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* The folder's real path, for scratch_remove(). */
static inline char *
scratch_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char name[4096], *ret = NULL;

    snprintf(name, sizeof name, "%s/hf-unit-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (mkdtemp(name))
        ret = realpath(name, NULL);
    if (!ret)
        abort();
    return ret;
}

static inline void
scratch_remove(char *dir)
{
    nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

/* "DIR/NAME" in one of a few buffers that are used in turn. */
static inline const char *
scratch_path(const char *dir, const char *name)
{
    static char *bufs[64];
    static unsigned next;
    char **buf = &bufs[next++ % 64], *path = NULL;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    free(*buf);
    return *buf = path;
}

static inline void
scratch_write(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static inline void
scratch_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

static inline void
scratch_folder(const char *path)
{
    if (mkdir(path, 0700) != 0)
        abort();
}

#endif
