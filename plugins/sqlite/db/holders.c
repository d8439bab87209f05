/* holders.c - who holds the lock that a wait ran into, as far as /proc tells.  For
 * texts only: nothing is decided by it. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"

/* Where SQLite locks: PENDING and RESERVED and the shared range of the main file, the
 * writer's byte of the -shm. */
#define MAIN_FIRST 1073741824ull
#define MAIN_LAST (MAIN_FIRST + 511)
#define SHM_WRITE 120ull

struct wanted {
    unsigned long long main_ino, shm_ino;
};

/* A line of /proc/locks, or the same line after "lock:\t" in fdinfo. */
static int
line_matches(const char *line, const struct wanted *w, long *ret_pid)
{
    char kind[16], mode[16], access[16], end_text[32];
    unsigned major, minor;
    unsigned long long ino, start, end;
    if (sscanf(line, "%*d: %15s %15s %15s %ld %x:%x:%llu %llu %31s", kind, mode, access,
               ret_pid, &major, &minor, &ino, &start, end_text) != 9)
        return 0;
    if (strcmp(access, "WRITE") || (strcmp(kind, "POSIX") && strcmp(kind, "OFDLCK")))
        return 0;
    end = strcmp(end_text, "EOF") ? strtoull(end_text, NULL, 10) : UINT64_MAX;
    if (ino == w->main_ino)
        return end >= MAIN_FIRST && start <= MAIN_LAST;
    return w->shm_ino && ino == w->shm_ino && start <= SHM_WRITE && end >= SHM_WRITE;
}

/* Open-file-description locks have no pid: the descriptor that shows one has. */
static long
pid_of_descriptor_lock(const struct wanted *w)
{
    char name[320], line[256];
    long found = -1;
    DIR *procs = opendir("/proc");
    if (!procs)
        return -1;
    for (struct dirent *p; found < 0 && (p = readdir(procs));) {
        if (!isdigit((unsigned char)p->d_name[0]))
            continue;
        snprintf(name, sizeof name, "/proc/%s/fdinfo", p->d_name);
        DIR *infos = opendir(name);
        if (!infos)
            continue;
        for (struct dirent *i; found < 0 && (i = readdir(infos));) {
            snprintf(name, sizeof name, "/proc/%.20s/fdinfo/%.20s", p->d_name,
                     i->d_name);
            FILE *f = isdigit((unsigned char)i->d_name[0]) ? fopen(name, "re") : NULL;
            while (f && found < 0 && fgets(line, sizeof line, f)) {
                long pid;
                if (!strncmp(line, "lock:", 5) && line_matches(line + 5, w, &pid))
                    found = atol(p->d_name);
            }
            if (f)
                fclose(f);
        }
        closedir(infos);
    }
    closedir(procs);
    return found;
}

void
hf__lock_holder(const char *db_path, char *ret, size_t size)
{
    char line[256], name[4128];
    struct wanted w = {0};
    struct stat st;
    long pid = -1;
    int found = 0;

    ret[0] = '\0';
    if (lstat(db_path, &st))
        return;
    w.main_ino = st.st_ino;
    snprintf(name, sizeof name, "%s-shm", db_path);
    if (!lstat(name, &st))
        w.shm_ino = st.st_ino;
    FILE *f = fopen("/proc/locks", "re");
    if (!f)
        return;
    while (!found && fgets(line, sizeof line, f))
        found = !strstr(line, "->") && line_matches(line, &w, &pid);
    fclose(f);
    if (found && pid < 0)
        pid = pid_of_descriptor_lock(&w);
    if (!found || pid <= 0)
        return;
    if (pid == (long)getpid()) {
        snprintf(ret, size, "this process (another handle)");
        return;
    }
    snprintf(name, sizeof name, "/proc/%ld/comm", pid);
    line[0] = '\0';
    f = fopen(name, "re");
    if (f) {
        if (!fgets(line, sizeof line, f))
            line[0] = '\0';
        fclose(f);
    }
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = p[1] ? '?' : '\0';
    snprintf(ret, size, line[0] ? "pid %ld (%.40s)" : "pid %ld", pid, line);
}
