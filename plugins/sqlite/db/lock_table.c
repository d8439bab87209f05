/* lock_table.c - the files that SQLite has open, by descriptor and by inode: how each
 * is locked, and its canonical descriptor.  Everything here is called under the table's
 * lock; locks.c has the hooks that call it. */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locks.h"

/* A descriptor that was there before the hooks were, and may be SQLite's. */
struct early {
    int fd;
    dev_t dev;
    ino_t ino;
};

/* A database whose options say lock_posix. */
struct wish {
    struct wish *next;
    char path[];
};

struct hf__lock_table hf__locks = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct hf__inode hf__inode_inherited = {.canonical = -1};
static struct early *early;
static size_t n_early;
static int early_incomplete; /* no memory for it: then everything may be early */
static struct wish *wishes;

/* ---- descriptors and hf__locks.inodes; all under the lock ---- */

static struct hf__inode *
inode_find(dev_t dev, ino_t ino)
{
    struct hf__inode *n = hf__locks.inodes;
    while (n && (n->dev != dev || n->ino != ino))
        n = n->next;
    return n;
}

struct hf__slot *
hf__slot_of(int fd)
{
    return fd >= 0 && fd < hf__locks.n_slots && hf__locks.slots[fd].inode
               ? &hf__locks.slots[fd]
               : NULL;
}

static int
slots_reserve(int fd)
{
    int size = hf__locks.n_slots ? hf__locks.n_slots : 64;
    if (fd < hf__locks.n_slots)
        return 0;
    while (size <= fd)
        size *= 2;
    /* Not realloc: the child of a fork reads the table, whatever the fork met. */
    struct hf__slot *grown = calloc((size_t)size, sizeof *grown),
                    *old = hf__locks.slots;
    if (!grown)
        return -1;
    if (hf__locks.n_slots)
        memcpy(grown, hf__locks.slots, (size_t)hf__locks.n_slots * sizeof *grown);
    hf__locks.slots = grown;
    atomic_signal_fence(memory_order_seq_cst);
    hf__locks.n_slots = size;
    free(old);
    return 0;
}

static void
early_forget(int fd)
{
    for (size_t i = 0; i < n_early; i++)
        if (early[i].fd == fd)
            early[i--] = early[--n_early];
}

/* Whether a descriptor from before the hooks is still open on that inode. */
static int
early_on(const struct hf__inode *n)
{
    if (early_incomplete)
        return 1;
    for (size_t i = 0; i < n_early; i++) {
        struct stat st;
        if (early[i].dev == n->dev && early[i].ino == n->ino &&
            !fstat(early[i].fd, &st) && st.st_dev == n->dev && st.st_ino == n->ino)
            return 1;
    }
    return 0;
}

void
hf__early_collect(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return; /* without /proc nothing can be told; most processes have none */
    for (struct dirent *e; !early_incomplete && (e = readdir(dir));) {
        struct stat st;
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(dir) || hf__slot_of(fd) ||
            fstat(fd, &st) || !S_ISREG(st.st_mode))
            continue;
        struct early *grown = realloc(early, (n_early + 1) * sizeof *grown);
        early_incomplete = !grown;
        if (grown) {
            early = grown;
            early[n_early++] = (struct early){fd, st.st_dev, st.st_ino};
        }
    }
    closedir(dir);
}

int
hf__locks_wish(const char *path, int posix)
{
    int failed = 0;
    pthread_mutex_lock(&hf__locks.lock);
    struct wish **p = &wishes;
    while (*p && strcmp((*p)->path, path))
        p = &(*p)->next;
    if (posix && !*p) {
        struct wish *w = malloc(sizeof *w + strlen(path) + 1);
        if (w) {
            w->next = NULL;
            strcpy(w->path, path);
            *p = w;
        }
        failed = !w;
    } else if (!posix && *p) {
        struct wish *gone = *p;
        *p = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&hf__locks.lock);
    return failed ? -1 : 0;
}

/* Whether options asked for POSIX locks on the database that PATH is, or belongs to. */
static int
posix_wished(const char *path)
{
    for (struct wish *w = wishes; w; w = w->next) {
        size_t n = strlen(w->path);
        if (!strncmp(path, w->path, n) && (!path[n] || path[n] == '-'))
            return 1;
    }
    return 0;
}

int
hf__slot_enter(int fd, const struct stat *st, const char *path, int writable)
{
    struct hf__inode *n = inode_find(st->st_dev, st->st_ino);
    if (slots_reserve(fd) || (!n && !(n = calloc(1, sizeof *n))))
        return -1;
    if (!n->refs) {
        n->dev = st->st_dev;
        n->ino = st->st_ino;
        n->canonical = -1;
        /* SQLite may hold POSIX locks through an early descriptor, and counts its locks
         * by inode. */
        n->style = early_on(n)          ? HF__LOCKS_POSIX_EARLY
                   : posix_wished(path) ? HF__LOCKS_POSIX_WISHED
                                        : HF__LOCKS_NONE;
        n->next = hf__locks.inodes;
        hf__locks.inodes = n;
    }
    n->refs++;
    early_forget(fd);
    hf__locks.slots[fd] = (struct hf__slot){n, writable};
    return 0;
}

int
hf__slot_leave(int fd)
{
    struct hf__slot *slot = hf__slot_of(fd);
    struct hf__inode *n = slot ? slot->inode : NULL;
    int canonical = -1;
    if (!n) {
        early_forget(fd);
        return -1;
    }
    slot->inode = NULL;
    if (n != &hf__inode_inherited && --n->refs == 0) {
        struct hf__inode **p = &hf__locks.inodes;
        while (*p != n)
            p = &(*p)->next;
        *p = n->next;
        canonical = n->canonical;
        free(n);
    }
    return canonical;
}

enum hf__lock_style
hf__locks_style(const char *path)
{
    enum hf__lock_style style = HF__LOCKS_NONE;
    struct stat st;
    if (lstat(path, &st))
        return style;
    pthread_mutex_lock(&hf__locks.lock);
    struct hf__inode *n = inode_find(st.st_dev, st.st_ino);
    if (n)
        style = (enum hf__lock_style)n->style;
    pthread_mutex_unlock(&hf__locks.lock);
    return style;
}

/* ---- the canonical descriptor ---- */

static int64_t
end_of(const struct flock *l)
{
    return l->l_len ? (int64_t)l->l_start + l->l_len : INT64_MAX;
}

static int
ranges_add(struct hf__inode *n, int64_t start, int64_t end)
{
    if (n->n_ranges == HF__RANGES)
        return -1;
    n->ranges[n->n_ranges++] = (struct hf__range){start, end};
    return 0;
}

int
hf__ranges_follow(struct hf__inode *n, const struct flock *l)
{
    int64_t start = l->l_start, end = end_of(l);
    int failed = 0;
    for (int i = 0; i < n->n_ranges; i++) {
        struct hf__range r = n->ranges[i];
        if (r.end <= start || r.start >= end)
            continue;
        n->ranges[i--] = n->ranges[--n->n_ranges];
        failed |= r.start < start && ranges_add(n, r.start, start);
        failed |= r.end > end && ranges_add(n, end, r.end);
    }
    failed |= l->l_type == F_RDLCK && ranges_add(n, start, end);
    return failed ? -1 : 0;
}

/* A descriptor of FD's file with a description of its own.  A duplicate would share
 * SQLite's, which a mapped -shm keeps alive: a forked child inherits the mapping, and
 * the locks of a parent that died would last as long as that child. */
static int
description_new(int fd, const struct hf__inode *n, int writable)
{
    char name[64];
    struct stat st;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int own = open(name, (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
    if (own >= 0 && own < 3) { /* where somebody might print into it */
        int high = fcntl(own, F_DUPFD_CLOEXEC, 3);
        hf__locks.real_close(own);
        own = high;
    }
    if (own >= 0 && !fstat(own, &st) && st.st_dev == n->dev && st.st_ino == n->ino)
        return own;
    if (own >= 0)
        hf__locks.real_close(own);
    /* No /proc, or no right to open it again: better than POSIX locks all the same. */
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int
ofd_unlock_all(int fd)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    return hf__locks.real_fcntl(fd, F_OFD_SETLK, &all);
}

static int
is_refusal(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK;
}

/* Before the first lock of an inode: how it is locked for as long as it is open. */
static int
style_choose(struct hf__inode *n, int fd, int writable)
{
    /* The first byte after those that SQLite locks. */
    struct flock probe = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000200, .l_len = 1};
    hf__parked_sweep();
    int own = description_new(fd, n, writable);
    if (own < 0)
        return -1;
    if (hf__locks.real_fcntl(own, F_OFD_SETLK, &probe) || ofd_unlock_all(own)) {
        int error = errno;
        hf__locks.real_close(own);
        errno = error;
        if (!is_refusal(error))
            return -1;
        n->style = HF__LOCKS_POSIX_REFUSED;
        return 0;
    }
    n->canonical = own;
    n->writable = writable;
    n->style = HF__LOCKS_OFD;
    return 0;
}

/* Moves the locks to a description that can also take write locks.  It has them before
 * the old one lets go, so that no writer slips in between. */
static int
canonical_upgrade(struct hf__inode *n, int fd)
{
    int own = description_new(fd, n, 1);
    if (own < 0)
        return -1;
    for (int i = 0; i < n->n_ranges; i++) {
        struct flock l = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = n->ranges[i].start};
        if (n->ranges[i].end != INT64_MAX)
            l.l_len = n->ranges[i].end - n->ranges[i].start;
        if (hf__locks.real_fcntl(own, F_OFD_SETLK, &l)) {
            int error = errno;
            ofd_unlock_all(own);
            hf__locks.real_close(own);
            errno = error;
            return -1;
        }
    }
    ofd_unlock_all(n->canonical);
    hf__locks.real_close(n->canonical);
    n->canonical = own;
    n->writable = 1;
    n->n_ranges = 0;
    return 0;
}

int
hf__inode_ready(struct hf__inode *n, int fd, int writable)
{
    if (n->style == HF__LOCKS_NONE)
        return style_choose(n, fd, writable);
    if (n->style == HF__LOCKS_OFD && writable && !n->writable)
        return canonical_upgrade(n, fd);
    return 0;
}
