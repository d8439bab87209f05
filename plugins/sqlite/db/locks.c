/* locks.c - SQLite's file locks as open-file-description locks (SPEC 4.1).
 *
 * A POSIX record lock belongs to the process and dies when any descriptor of its file
 * is closed anywhere in it: one stray open() and close() of state.db in a gateway, and
 * another process writes into the middle of our transaction.  A lock of an open file
 * description lives as long as that description.  So the system calls by which the unix
 * VFS opens, closes and locks are replaced: each inode has one canonical descriptor,
 * and every lock request for a descriptor of that inode goes to it.  SQLite's own
 * book-keeping (one lock state per inode and process) stays true, since all its
 * requests meet in one description.
 *
 * Only descriptors that SQLite opened through the hooks are redirected.  Those of other
 * code, a second copy of SQLite included, are none of our business: what they lock
 * excludes us as if they were another process.
 *
 * Not here: what the locks mean (SQLite), waiting (busy.c), what else a fork changes
 * (fork.c). */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locks.h"

static int installed;
static uint64_t forks; /* from the process that put the hooks in down to this one */

/* ---- the hooks ---- */

static int
hook_open(const char *path, int flags, int mode)
{
    int fd = hf__locks.real_open(path, flags, mode);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return fd;
    pthread_mutex_lock(&hf__locks.lock);
    int failed = hf__slot_enter(fd, &st, path, (flags & O_ACCMODE) != O_RDONLY);
    pthread_mutex_unlock(&hf__locks.lock);
    if (failed) {
        /* With a descriptor that went unhooked its inode would be locked in two ways.
         */
        hf__locks.real_close(fd);
        errno = ENOMEM;
        return -1;
    }
    return fd;
}

static int
hook_close(int fd)
{
    pthread_mutex_lock(&hf__locks.lock);
    struct hf__slot *slot = hf__slot_of(fd);
    int locked = slot && slot->inode->style == HF__LOCKS_OFD;
    int canonical = hf__slot_leave(fd);
    if (canonical >= 0) {
        /* SQLite gives up the lock of a -shm by closing alone.  A child that is being
         * forked just now may have a copy, so closing would not do for us. */
        struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        hf__locks.real_fcntl(canonical, F_OFD_SETLK, &all);
    }
    int kept = locked && hf__park(fd, canonical);
    pthread_mutex_unlock(&hf__locks.lock);
    if (kept)
        return 0;
    if (canonical >= 0)
        hf__locks.real_close(canonical);
    return hf__locks.real_close(fd);
}

static int
hook_lock(int fd, int cmd, struct flock *want)
{
    struct flock l = *want;
    int canonical = -1, error = 0, follow = 0, writable = 0;

    pthread_mutex_lock(&hf__locks.lock);
    struct hf__slot *slot = hf__slot_of(fd);
    struct hf__inode *n = slot ? slot->inode : NULL;
    if (n == &hf__inode_inherited)
        error = EBADF;
    else if (n) {
        writable = slot->writable;
        if (hf__inode_ready(n, fd, writable))
            error = errno;
        else if (n->style == HF__LOCKS_OFD)
            canonical = n->canonical;
        follow = !n->writable;
    }
    pthread_mutex_unlock(&hf__locks.lock);
    if (canonical >= 0 && !error && cmd != F_GETLK && l.l_type == F_WRLCK && !writable)
        error = EBADF; /* as a POSIX lock would answer */
    if (error) {
        errno = error;
        return -1;
    }
    if (canonical < 0)
        return hf__locks.real_fcntl(fd, cmd, want);
    /* SQLite serializes the calls for one inode, and the canonical descriptor lives as
     * long as FD does: the call needs no lock of ours.  It never blocks, F_SETLKW
     * included: waiting is busy.c's. */
    l.l_pid = 0;
    cmd = cmd == F_GETLK ? F_OFD_GETLK : F_OFD_SETLK;
    int r = hf__locks.real_fcntl(canonical, cmd, &l);
    if (r == 0 && cmd == F_OFD_GETLK)
        *want = l;
    else if (r == 0 && follow) {
        pthread_mutex_lock(&hf__locks.lock);
        if (hf__ranges_follow(n, &l)) {
            /* A lock that could not be carried over must not be granted. */
            struct flock undo = l;
            undo.l_type = F_UNLCK;
            hf__locks.real_fcntl(canonical, F_OFD_SETLK, &undo);
            errno = ENOLCK;
            r = -1;
        }
        pthread_mutex_unlock(&hf__locks.lock);
    }
    return r;
}

static int
hook_fcntl(int fd, int cmd, ...)
{
    va_list ap;
    void *arg;
    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    return cmd == F_SETLK || cmd == F_SETLKW || cmd == F_GETLK
               ? hook_lock(fd, cmd, arg)
               : hf__locks.real_fcntl(fd, cmd, arg);
}

/* SQLite knows an inode by device and number, and its table of them came along through
 * fork(): a child sees other device numbers, and so begins with fresh lock states.  By
 * addition, so that two of us on one VFS do not undo each other. */
static int
hook_fstat(int fd, struct stat *st)
{
    int r = hf__locks.real_fstat(fd, st);
    if (r == 0)
        hf__own_stat_note(fd, st); /* before its device number is changed */
    if (r == 0)
        st->st_dev += (dev_t)(forks << 48);
    return r;
}

static int
hook_stat(const char *path, struct stat *st)
{
    int r = hf__locks.real_stat(path, st);
    if (r == 0)
        st->st_dev += (dev_t)(forks << 48);
    return r;
}

/* ---- fork ---- */

int
hf__locks_fork_enter(void)
{
    return pthread_mutex_trylock(&hf__locks.lock);
}

void
hf__locks_fork_leave(void)
{
    pthread_mutex_unlock(&hf__locks.lock);
}

/* The child shares the parent's open file descriptions: while it keeps one, the
 * parent's locks outlive the parent, and what the child locks excludes nobody.  Nor
 * must it unlock anything.  So its copies go at once.  Their numbers stay taken, since
 * the inherited handles know them, by a file that can only be read and holds nothing.
 */
void
hf__locks_fork_child(void)
{
    static struct hf__inode *given_up; /* kept, so that they are no leak */
    struct hf__inode **last = &hf__locks.inodes;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (struct hf__inode *n = hf__locks.inodes; n; n = n->next)
        if (n->canonical >= 0)
            close(n->canonical);
    for (int fd = 0; fd < hf__locks.n_slots; fd++)
        if (hf__locks.slots[fd].inode) {
            if (null < 0 || dup3(null, fd, O_CLOEXEC) < 0)
                close(fd);
            hf__locks.slots[fd].inode = &hf__inode_inherited;
        }
    if (null >= 0)
        close(null);
    /* Not freed: the memory is the parent's, whatever it was doing with it. */
    while (*last)
        last = &(*last)->next;
    *last = given_up;
    given_up = hf__locks.inodes;
    hf__locks.inodes = NULL;
    forks++;
}

int
hf__locks_installed(void)
{
    pthread_mutex_lock(&hf__locks.lock);
    int yes = installed;
    pthread_mutex_unlock(&hf__locks.lock);
    return yes;
}

/* ---- putting the hooks in ---- */

/* Whether this SQLite may have connections already. */
static int
sqlite_was_used(void)
{
    if (sqlite3_memory_used() > 0)
        return 1;
    /* Nothing allocated means no connection, if it is counted at all. */
    void *p = sqlite3_malloc(64);
    int counted = sqlite3_memory_used() > 0;
    sqlite3_free(p);
    return !counted;
}

int
hf__locks_install(struct hf_error *err)
{
    /* Before the lock: the VFS calls us while it holds locks of its own. */
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    int used = sqlite_was_used();
    static const char *const names[] = {"close", "fcntl", "fstat", "stat", "open"};
    static const sqlite3_syscall_ptr hooks[] = {
        (sqlite3_syscall_ptr)hook_close, (sqlite3_syscall_ptr)hook_fcntl,
        (sqlite3_syscall_ptr)hook_fstat, (sqlite3_syscall_ptr)hook_stat,
        (sqlite3_syscall_ptr)hook_open};
    enum { HOOKS = sizeof hooks / sizeof *hooks };
    sqlite3_syscall_ptr had[HOOKS] = {NULL};
    int code = HF_OK;

    pthread_mutex_lock(&hf__locks.lock);
    if (installed)
        goto out;
    for (int i = 0; i < HOOKS; i++) {
        if (vfs && vfs->iVersion >= 3 && vfs->xGetSystemCall && vfs->xSetSystemCall)
            had[i] = vfs->xGetSystemCall(vfs, names[i]);
        if (!had[i]) {
            code =
                hf_error_set(err, HF_UNSUPPORTED, NULL,
                             "this SQLite does not let its system calls be replaced");
            goto out;
        }
    }
    /* First the originals: another thread may meet a hook at once. */
    hf__locks.real_close = (int (*)(int))had[0];
    hf__locks.real_fcntl = (int (*)(int, int, ...))had[1];
    hf__locks.real_fstat = (int (*)(int, struct stat *))had[2];
    hf__locks.real_stat = (int (*)(const char *, struct stat *))had[3];
    hf__locks.real_open = (int (*)(const char *, int, int))had[4];
    for (int i = 0; i < HOOKS; i++)
        vfs->xSetSystemCall(vfs, names[i], hooks[i]);
    installed = 1;
    /* After them: what is open now and not in the table came by another way.  Whoever
     * comes through the hooks meanwhile waits for the lock. */
    if (used)
        hf__early_collect();
out:
    pthread_mutex_unlock(&hf__locks.lock);
    return code;
}
