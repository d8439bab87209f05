/* test_vfs.h - an SQLite VFS for tests, around the real one ("unix"): it counts calls,
 * fails the Nth one of a kind, runs something in the middle of the Nth one, and tells
 * what a disk might hold after a power cut, where writes since the last sync arrive in
 * part and in any order (../README.md).  It reads the files it records: with POSIX
 * locks that drops SQLite's, so recording is for one process, or for
 * libholdfast-sqlite. */
#ifndef HF_TEST_VFS_H
#define HF_TEST_VFS_H

#include <stdint.h>

enum test_call {
    TEST_OPEN,
    TEST_DELETE,
    TEST_READ,
    TEST_WRITE,
    TEST_TRUNCATE,
    TEST_SYNC,
    TEST_SIZE,
    TEST_LOCK,
    TEST_UNLOCK,
    TEST_SHM_MAP,
    TEST_SHM_LOCK, /* taking one; giving it back is not counted */
    TEST_UNFETCH,  /* SQLite makes one at the start of each checkpoint */
    TEST_CALLS
};

/* Registers "test" and makes it the default. */
void test_vfs_register(void);
/* How many calls of KIND there were since the process began. */
uint64_t test_vfs_count(enum test_call kind);
/* The NTH call of KIND from now on (1: the next) fails with RC and does nothing; with
 * FOREVER all later ones, too.  A read with SQLITE_IOERR_SHORT_READ gives half of what
 * was asked for.  NTH 0 takes it back. */
void test_vfs_fail(enum test_call kind, uint64_t nth, int rc, int forever);
/* Before the NTH call of KIND from now on DURING runs, once, in its thread. */
void test_vfs_pause(enum test_call kind, uint64_t nth, void (*during)(void *ctx),
                    void *ctx);

/* From now on writes are remembered until they are synced. */
void test_vfs_record(int on);
/* Writes to TO what the disk might hold of the file PATH (as SQLite opened it) if the
 * power failed now: what was synced, and those later writes that SEED picks.  0, or -1
 * for a file that was not written since the recording began. */
int test_vfs_power_cut(const char *path, const char *to, uint64_t seed);

#endif /* HF_TEST_VFS_H */
