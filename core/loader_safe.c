/* loader_safe.c - whether somebody else could have put a module where it is (SPEC 2.2).
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Root's group, or the user's own: the process's, and nobody else's by supplementary
 * membership alone. */
static int
group_trusted(gid_t gid)
{
    return gid == 0 || gid == getegid();
}

static int
one_check(const char *path, const char *module, struct hf_error *err)
{
    struct stat st;
    unsigned mode;
    const char *kind;

    if (stat(path, &st) < 0) {
        int e = errno;
        hf_error_set(err, HF_PLUGIN, path, "%s cannot be looked at: %s", path,
                     strerror(e));
        if (err)
            err->sys_errno = e;
        return HF_PLUGIN;
    }
    mode = (unsigned)(st.st_mode & 07777);
    kind = S_ISDIR(st.st_mode) ? "folder" : "file";
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return hf_error_set(err, HF_PLUGIN, module,
                            "%s is not loaded: the %s %s belongs to user %lu (mode "
                            "%04o), expected root or user %lu",
                            module, kind, path, (unsigned long)st.st_uid, mode,
                            (unsigned long)geteuid());
    if (S_ISDIR(st.st_mode) && (mode & S_ISVTX))
        return HF_OK; /* others can add names there, but not replace ours */
    if (mode & S_IWOTH)
        return hf_error_set(err, HF_PLUGIN, module,
                            "%s is not loaded: everybody can write the %s %s (owner "
                            "%lu, mode %04o); chmod o-w it",
                            module, kind, path, (unsigned long)st.st_uid, mode);
    if ((mode & S_IWGRP) && !group_trusted(st.st_gid))
        return hf_error_set(err, HF_PLUGIN, module,
                            "%s is not loaded: group %lu can write the %s %s (owner "
                            "%lu, mode %04o); chmod g-w it",
                            module, (unsigned long)st.st_gid, kind, path,
                            (unsigned long)st.st_uid, mode);
    return HF_OK;
}

/* The file of PATH and every folder above it. */
static int
chain_check(const char *path, struct hf_error *err)
{
    char *walk = strdup(path);
    int rc = walk ? HF_OK : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");

    while (rc == HF_OK) {
        char *slash = strrchr(walk, '/');
        rc = one_check(walk[0] ? walk : "/", path, err);
        if (!walk[0] || !slash)
            break;
        *slash = '\0';
    }
    free(walk);
    return rc;
}

int
hf__loader_safe(const char *path, struct hf_error *err)
{
    char *resolved = realpath(path, NULL);
    int rc;

    if (!resolved) {
        int e = errno;
        hf_error_set(err, HF_PLUGIN, path, "%s cannot be looked at: %s", path,
                     strerror(e));
        if (err)
            err->sys_errno = e;
        return HF_PLUGIN;
    }
    /* As written too: whoever can write a folder can put another link there. */
    rc = chain_check(path, err);
    if (rc == HF_OK && strcmp(path, resolved) != 0)
        rc = chain_check(resolved, err);
    free(resolved);
    return rc;
}
