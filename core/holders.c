/* holders.c - who has the files of a store open: /proc/PID/fd looked at by stat alone, so
 * that no descriptor on a database is ever opened or closed here. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "doctor.h"

/* Which of the files descriptor NAME of FOLDER is, as a bit; 0 for none. */
static uint32_t
which_file(int folder, const char *name, const struct stat *files, const int *there,
           size_t n)
{
    struct statx sx;
    size_t i;

    /* Without a sync, so that a descriptor on a dead server does not hang doctor. */
    if (statx(folder, name, AT_STATX_DONT_SYNC, STATX_INO, &sx) != 0)
        return 0;
    for (i = 0; i < n; i++)
        if (there[i] && sx.stx_ino == files[i].st_ino &&
            makedev(sx.stx_dev_major, sx.stx_dev_minor) == files[i].st_dev)
            return 1u << i;
    return 0;
}

static void
command_of(int pid, char *ret, size_t size)
{
    char path[64], *newline;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    snprintf(ret, size, "?");
    f = fopen(path, "re");
    if (!f)
        return;
    if (fgets(ret, (int)size, f)) {
        newline = strchr(ret, '\n');
        if (newline)
            *newline = '\0';
    }
    fclose(f);
}

/* Whether the process keeps to our rules: it has our library mapped.  What cannot be read
 * is taken as ours, so that nobody is blamed on a guess. */
static uint32_t
is_foreign(int pid)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    uint32_t foreign = 1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    while (foreign && getline(&line, &cap, f) > 0)
        foreign = strstr(line, "libholdfast-sqlite") == NULL;
    free(line);
    fclose(f);
    return foreign;
}

static void
look_at(int pid, const struct stat *files, const int *there, size_t n,
        struct hf__holders *ret)
{
    char path[64];
    struct dirent *entry;
    struct hf__holder *holder;
    uint32_t found = 0;
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
            found |= which_file(dirfd(dir), entry->d_name, files, there, n);
    closedir(dir);
    if (!found)
        return;
    if (ret->n == HF__HOLDERS_MAX) {
        ret->beyond++;
        return;
    }
    holder = &ret->v[ret->n++];
    holder->pid = pid;
    holder->files = found;
    holder->foreign = is_foreign(pid);
    command_of(pid, holder->command, sizeof holder->command);
}

void
hf__holders_find(const struct stat *files, const int *there, size_t n,
                 struct hf__holders *ret)
{
    struct dirent *entry;
    DIR *proc;
    size_t i, any = 0;

    memset(ret, 0, sizeof *ret);
    for (i = 0; i < n; i++)
        any |= there[i] != 0;
    if (!any)
        return;
    proc = opendir("/proc");
    if (!proc) {
        ret->blind = 1;
        return;
    }
    while ((entry = readdir(proc)) != NULL) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid > 0 && pid != getpid())
            look_at(pid, files, there, n, ret);
    }
    closedir(proc);
}

void
hf__holders_text(struct hf__buf *out, const struct hf__holders *holders)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    size_t i, k;

    for (i = 0; i < holders->n; i++) {
        const struct hf__holder *h = &holders->v[i];
        int any = 0;
        hf__buf_addf(out, "%spid %d (%s:", i ? ", " : "", h->pid, h->command);
        for (k = 0; k < 3; k++)
            if (h->files & (1u << k))
                hf__buf_addf(out, "%s %s", any++ ? "," : "", names[k]);
        hf__buf_addc(out, ')');
    }
    if (holders->beyond)
        hf__buf_addf(out, " and %zu more", holders->beyond);
}
