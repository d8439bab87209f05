/* locks.h - what locks.c and lock_table.c share: the inodes that SQLite has open, by
 * descriptor (SPEC 4.1). */
#ifndef HF_DB_LOCKS_H
#define HF_DB_LOCKS_H

#include <fcntl.h>
#include <pthread.h>

#include "db.h"

_Static_assert(sizeof(off_t) == 8, "SQLite locks bytes past 2 GiB");

/* Ranges locked through a canonical descriptor that was opened to read only, so that
 * one that can also take write locks may take them over.  SQLite holds a handful: the
 * pending and shared bytes of a database, or the slots of a -shm. */
struct hf__range {
    int64_t start, end; /* END excluded */
};
enum { HF__RANGES = 32 };

struct hf__inode {
    struct hf__inode *next;
    dev_t dev;
    ino_t ino;
    uint32_t refs; /* descriptors of SQLite */
    int style;     /* enum hf__lock_style */
    int canonical; /* with HF__LOCKS_OFD */
    int writable;  /* whether the canonical descriptor is */
    struct hf__range ranges[HF__RANGES];
    int n_ranges;
};

/* What this process knows of a descriptor number. */
struct hf__slot {
    struct hf__inode *inode; /* NULL: none of ours */
    int writable;
};

struct hf__lock_table {
    pthread_mutex_t lock; /* over everything here */
    struct hf__inode *inodes;
    struct hf__slot *slots; /* by descriptor */
    int n_slots;
    /* The calls that the VFS had before. */
    int (*real_open)(const char *path, int flags, int mode);
    int (*real_close)(int fd);
    int (*real_fcntl)(int fd, int cmd, ...);
    int (*real_fstat)(int fd, struct stat *st);
    int (*real_stat)(const char *path, struct stat *st);
};
extern struct hf__lock_table hf__locks;
/* The slot of a descriptor that was the parent's before a fork. */
extern struct hf__inode hf__inode_inherited;

/* ---- lock_table.c; all under the lock ---- */

struct hf__slot *hf__slot_of(int fd); /* NULL: none of ours */
/* Enters a descriptor that SQLite has opened; -1 without memory. */
int hf__slot_enter(int fd, const struct stat *st, const char *path, int writable);
/* Takes it out; returns the canonical descriptor that goes with it, or -1. */
int hf__slot_leave(int fd);
/* Notes the files that are open before the hooks can see them. */
void hf__early_collect(void);
/* Before a lock request for FD: chooses the style, makes or upgrades the canonical
 * descriptor.  -1 with errno. */
int hf__inode_ready(struct hf__inode *inode, int fd, int writable);
/* Follows a request that was granted; -1 when it cannot be kept in mind. */
int hf__ranges_follow(struct hf__inode *inode, const struct flock *granted);

/* ---- lock_parked.c; under the lock ---- */

/* Keeps a descriptor that SQLite closes, and its canonical one (-1: none), while other
 * code of this process has the file open.  Returns whether it did. */
int hf__park(int fd, int canonical);
void hf__parked_sweep(void); /* closes those that nobody needs any more */

#endif /* HF_DB_LOCKS_H */
