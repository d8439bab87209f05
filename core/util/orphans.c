/* orphans.c - the search of /proc for a deleted generation of a database.  Looks by
 * stat and readlink alone: no descriptor of a database is opened or closed here. */
#include "orphans.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "misc.h"

#define TRIES 8
#define TRY_MS 30

static const char *const suffixes[HF__ORPHAN_FILES] = {"", "-wal", "-shm"};

struct search {
    const char *path;
    uint32_t files;
    struct stat now[HF__ORPHAN_FILES];
    int there[HF__ORPHAN_FILES]; /* 1 there, 0 gone, -1 cannot be told */
    char name[HF__ORPHAN_FILES][4128];
};

int
hf__orphan_link_is(const char *link, const char *name)
{
    size_t n = strlen(name);
    return strncmp(link, name, n) == 0 &&
           (!link[n] || strcmp(link + n, " (deleted)") == 0);
}

static void
command_of(int pid, char *ret, size_t size)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    snprintf(ret, size, "?");
    f = fopen(path, "re");
    if (!f)
        return;
    if (fgets(ret, (int)size, f))
        ret[strcspn(ret, "\n")] = '\0';
    fclose(f);
    for (char *p = ret; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
}

/* Whether descriptor NAME of FOLDER is one of the files under a name that no longer
 * leads to it. */
static int
descriptor_look(const struct search *s, int folder, const char *name,
                struct hf__orphan *ret)
{
    char link[4200];
    struct statx sx;
    ssize_t n = readlinkat(folder, name, link, sizeof link - 1);
    if (n <= 0 || link[0] != '/')
        return 0;
    link[n] = '\0';
    for (size_t i = 0; i < HF__ORPHAN_FILES; i++) {
        if (!(s->files & 1u << i) || s->there[i] < 0 ||
            !hf__orphan_link_is(link, s->name[i]))
            continue;
        /* Without a sync, so that a descriptor on a dead server does not hang us. */
        if (statx(folder, name, AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE | STATX_TYPE,
                  &sx) != 0 ||
            !S_ISREG(sx.stx_mode))
            continue;
        dev_t dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
        if (s->there[i] && s->now[i].st_dev == dev && s->now[i].st_ino == sx.stx_ino)
            continue;
        ret->files |= 1u << i;
        ret->fd[i] = atoi(name);
        ret->st[i].st_mode = sx.stx_mode;
        ret->st[i].st_dev = dev;
        ret->st[i].st_ino = sx.stx_ino;
        ret->st[i].st_size = (off_t)sx.stx_size;
        return 1;
    }
    return 0;
}

static void
process_look(const struct search *s, int pid, struct hf__orphans *ret)
{
    struct hf__orphan found = {.pid = pid, .fd = {-1, -1, -1}};
    char path[64];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    dir = opendir(path);
    if (!dir) {
        if (errno != ENOENT)
            ret->blind = 1;
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            descriptor_look(s, dirfd(dir), entry->d_name, &found);
    closedir(dir);
    if (!found.files)
        return;
    if (ret->n == HF__ORPHANS_MAX) {
        ret->beyond++;
        return;
    }
    command_of(pid, found.command, sizeof found.command);
    ret->v[ret->n++] = found;
}

static void
search_once(const char *path, uint32_t files, struct hf__orphans *ret)
{
    struct search *s = calloc(1, sizeof *s);
    struct dirent *entry;
    DIR *proc = NULL;

    memset(ret, 0, sizeof *ret);
    if (s)
        proc = opendir("/proc");
    if (!proc) {
        ret->blind = 1;
        free(s);
        return;
    }
    s->path = path;
    s->files = files;
    for (size_t i = 0; i < HF__ORPHAN_FILES; i++) {
        snprintf(s->name[i], sizeof s->name[i], "%s%s", path, suffixes[i]);
        if (lstat(s->name[i], &s->now[i]) == 0)
            s->there[i] = 1;
        else
            s->there[i] = errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    }
    while ((entry = readdir(proc)) != NULL) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid > 0)
            process_look(s, pid, ret);
    }
    closedir(proc);
    free(s);
}

void
hf__orphans_find(const char *path, uint32_t files, struct hf__orphans *ret)
{
    /* A process that is just closing holds what it has unlinked for a moment: only what
     * stays is an orphan. */
    for (int i = 0; i < TRIES; i++) {
        if (i)
            hf__sleep_ms(TRY_MS);
        search_once(path, files, ret);
        if (ret->n == 0)
            break;
    }
}

void
hf__orphans_text(struct hf__buf *out, const char *path,
                 const struct hf__orphans *orphans)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    for (size_t i = 0; i < orphans->n; i++) {
        const struct hf__orphan *o = &orphans->v[i];
        int any = 0;
        hf__buf_addf(out, "%spid %d (%s:", i ? ", " : "", o->pid,
                     o->pid == (int)getpid() ? "this process" : o->command);
        for (size_t k = 0; k < HF__ORPHAN_FILES; k++)
            if (o->files & 1u << k)
                hf__buf_addf(out, "%s %s%s", any++ ? "," : "", base, suffixes[k]);
        hf__buf_addc(out, ')');
    }
    if (orphans->beyond)
        hf__buf_addf(out, " and %zu more", orphans->beyond);
}
