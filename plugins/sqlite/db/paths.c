/* paths.c - the name under which a database is opened, and how names are shown in texts
 * and spelled for SQLite. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

/* SQLite appends at most this to a database's name and then compares with its limit. */
#define LONGEST_SUFFIX 8

int
hf__db_path_settle(const char *path, int create, char **ret, struct hf_error *err)
{
    const char *base = path ? strrchr(path, '/') : NULL;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    size_t limit = vfs ? (size_t)vfs->mxPathname - LONGEST_SUFFIX : 504;
    char *folder = NULL, *real = NULL, *full = NULL;
    struct stat st;
    int code = HF_OK;

    if (!path || path[0] != '/' || !*++base || !strcmp(base, ".") ||
        !strcmp(base, ".."))
        return hf_error_set(err, HF_INVALID, path,
                            "a database needs the absolute path of a file");
    if (strlen(path) >= sizeof err->path)
        return hf_error_set(
            err, HF_TOO_BIG, NULL,
            "the path of the database has %zu bytes: SQLite takes at most "
            "%zu, use a shorter home",
            strlen(path), limit);
    folder = strndup(path, base - path > 1 ? (size_t)(base - path) - 1 : 1);
    if (!folder)
        goto no_memory;
    /* Before a folder is made for a name that cannot be used. */
    if (strlen(path) <= limit && create && stat(folder, &st) && errno == ENOENT) {
        code = hf__mkdirs(folder, err);
        if (code != HF_OK)
            goto out;
    }
    real = hf__path_resolve(folder);
    full = real ? hf__path_join(real, base) : NULL;
    if (!full)
        goto no_memory;
    if (strlen(full) > limit) {
        code =
            hf_error_set(err, HF_TOO_BIG, full,
                         "the path of the database has %zu bytes: SQLite takes at most "
                         "%zu, use a shorter home",
                         strlen(full), limit);
        goto out;
    }
    *ret = full;
    full = NULL;
    goto out;
no_memory:
    code = hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
out:
    free(folder);
    free(real);
    free(full);
    return code;
}

const char *
hf__shown(struct hf__shown *ret, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-+,:@%=";
    struct hf__buf out = {0};
    int quote = path[strspn(path, plain)] != '\0';
    int escape = 0;
    for (const char *p = path; *p; p++)
        escape |= (unsigned char)*p < 0x20 || *p == 0x7f || *p == '\'' || *p == '\\';
    hf__buf_adds(&out, escape ? "$'" : quote ? "'" : "");
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            hf__buf_addf(&out, "\\x%02x", (unsigned)(unsigned char)*p);
        else {
            if (escape && (*p == '\'' || *p == '\\'))
                hf__buf_addc(&out, '\\');
            hf__buf_addc(&out, *p);
        }
    hf__buf_adds(&out, quote ? "'" : "");
    snprintf(ret->text, sizeof ret->text, "%s",
             out.failed || !out.ptr ? path : out.ptr);
    hf__buf_free(&out);
    return ret->text;
}

const char *
hf__shown_file(struct hf__shown *ret, const char *path, const char *suffix)
{
    struct hf__buf name = {0};
    hf__buf_adds(&name, path);
    hf__buf_adds(&name, suffix);
    hf__shown(ret, name.failed ? path : name.ptr);
    hf__buf_free(&name);
    return ret->text;
}

void
hf__path_folder(char *ret, size_t size, const char *path)
{
    size_t len = (size_t)(strrchr(path, '/') - path);
    if (!len)
        len = 1;
    if (len >= size)
        len = size - 1;
    memcpy(ret, path, len);
    ret[len] = '\0';
}

char *
hf__db_uri(const char *path, const char *query)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-";
    struct hf__buf out = {0};
    hf__buf_adds(&out, "file://");
    for (const char *p = path; *p; p++)
        if (strchr(plain, *p))
            hf__buf_addc(&out, *p);
        else
            hf__buf_addf(&out, "%%%02X", (unsigned)(unsigned char)*p);
    hf__buf_adds(&out, query);
    return hf__buf_take(&out);
}
