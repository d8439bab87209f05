/* lock_parked.c - descriptors that SQLite has closed and that stay open for a while.
 *
 * Closing any descriptor of a file drops the POSIX locks that this process has on it:
 * those of a second copy of SQLite in the host, for one.  Others would then take its
 * database for unused, and remove the log from under it.  So while some other code of
 * the process has the file open, ours are parked instead of closed, and closed once it
 * has gone.  They hold no locks. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "locks.h"

/* A bound on descriptors; past it the other code has to live with our closes. */
enum { PARKED = 64 };
static int parked[PARKED];
static int n_parked;

static int
is_parked(int fd)
{
    for (int i = 0; i < n_parked; i++)
        if (parked[i] == fd)
            return 1;
    return 0;
}

static int
is_canonical(int fd)
{
    for (struct hf__inode *n = hf__locks.inodes; n; n = n->next)
        if (n->style == HF__LOCKS_OFD && n->canonical == fd)
            return 1;
    return 0;
}

/* Whether code that is not ours has FD's file open; LEAVING is ours, too. */
static int
others_have(int fd, int leaving)
{
    struct stat st, other;
    int found = 0;
    DIR *dir = fstat(fd, &st) ? NULL : opendir("/proc/self/fd");
    if (!dir)
        return 0;
    for (struct dirent *e; !found && (e = readdir(dir));) {
        int n = atoi(e->d_name);
        if (e->d_name[0] == '.' || n == fd || n == leaving || n == dirfd(dir) ||
            hf__slot_of(n) || is_canonical(n) || is_parked(n))
            continue;
        found = !fstat(n, &other) && other.st_dev == st.st_dev &&
                other.st_ino == st.st_ino;
    }
    closedir(dir);
    return found;
}

void
hf__parked_sweep(void)
{
    for (int i = 0; i < n_parked; i++)
        if (!others_have(parked[i], -1)) {
            hf__locks.real_close(parked[i]);
            parked[i--] = parked[--n_parked];
        }
}

int
hf__park(int fd, int canonical)
{
    int wanted = canonical >= 0 ? 2 : 1;
    hf__parked_sweep();
    if (n_parked + wanted > PARKED || !others_have(fd, canonical))
        return 0;
    parked[n_parked++] = fd;
    if (canonical >= 0)
        parked[n_parked++] = canonical;
    return 1;
}
