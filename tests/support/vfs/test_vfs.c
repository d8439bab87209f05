/* test_vfs.c - the calls of the test VFS: each is counted, may fail or be interrupted
 * by the test, is recorded if it changes a file, and goes on to the real VFS. */
#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test_disk.h"
#include "test_vfs.h"

struct file {
    sqlite3_file base;
    struct test_disk *disk; /* what is recorded of it */
    sqlite3_file *real;
};

struct plan {
    uint64_t count;
    uint64_t fail_at, pause_at; /* 0: never */
    int rc, forever;
    void (*during)(void *ctx);
    void *ctx;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan plans[TEST_CALLS];
static sqlite3_vfs *real_vfs;
static sqlite3_vfs test_vfs;

/* The result that the test wants, or SQLITE_OK: go on. */
static int
step(enum test_call kind)
{
    struct plan *p = &plans[kind];
    void (*during)(void *) = NULL;
    void *ctx = NULL;
    int rc = SQLITE_OK;

    pthread_mutex_lock(&lock);
    p->count++;
    if (p->count == p->pause_at) {
        during = p->during;
        ctx = p->ctx;
    }
    if (p->fail_at && (p->count == p->fail_at || (p->forever && p->count > p->fail_at)))
        rc = p->rc;
    pthread_mutex_unlock(&lock);
    if (during)
        during(ctx);
    return rc;
}

/* ---- files ---- */

#define REAL(f) (((struct file *)(f))->real)
#define DISK(f) (((struct file *)(f))->disk)
/* The real method, after the test had its say. */
#define PASS(KIND, F, METHOD, ...)                                                     \
    do {                                                                               \
        int want = step(KIND);                                                         \
        return want != SQLITE_OK ? want                                                \
                                 : REAL(F)->pMethods->METHOD(REAL(F), __VA_ARGS__);    \
    } while (0)

static int
file_close(sqlite3_file *f)
{
    test_disk_close(DISK(f));
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int
file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    int want = step(TEST_READ), half = n / 2;
    if (want == SQLITE_OK)
        return REAL(f)->pMethods->xRead(REAL(f), to, n, at);
    if (want == SQLITE_IOERR_SHORT_READ) {
        /* As SQLite asks of a VFS: what was not read is zero. */
        want = half ? REAL(f)->pMethods->xRead(REAL(f), to, half, at) : SQLITE_OK;
        if (want != SQLITE_OK)
            half = 0;
        memset((char *)to + half, 0, (size_t)(n - half));
        want = SQLITE_IOERR_SHORT_READ;
    }
    return want;
}

static int
file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    int rc = step(TEST_WRITE);
    if (rc == SQLITE_OK)
        rc = REAL(f)->pMethods->xWrite(REAL(f), from, n, at);
    if (rc == SQLITE_OK)
        test_disk_write(DISK(f), from, (size_t)n, (uint64_t)at);
    return rc;
}

static int
file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = step(TEST_TRUNCATE);
    if (rc == SQLITE_OK)
        rc = REAL(f)->pMethods->xTruncate(REAL(f), size);
    if (rc == SQLITE_OK)
        test_disk_truncate(DISK(f), (uint64_t)size);
    return rc;
}

static int
file_sync(sqlite3_file *f, int flags)
{
    int rc = step(TEST_SYNC);
    if (rc == SQLITE_OK)
        rc = REAL(f)->pMethods->xSync(REAL(f), flags);
    if (rc == SQLITE_OK)
        test_disk_sync(DISK(f));
    return rc;
}

static int
file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    PASS(TEST_SIZE, f, xFileSize, ret);
}

static int
file_lock(sqlite3_file *f, int level)
{
    PASS(TEST_LOCK, f, xLock, level);
}

static int
file_unlock(sqlite3_file *f, int level)
{
    PASS(TEST_UNLOCK, f, xUnlock, level);
}

static int
file_reserved(sqlite3_file *f, int *ret)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), ret);
}

static int
file_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int
file_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int
file_device(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int
file_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
    PASS(TEST_SHM_MAP, f, xShmMap, region, size, extend, ret);
}

static int
file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    if (flags & SQLITE_SHM_UNLOCK)
        return REAL(f)->pMethods->xShmLock(REAL(f), offset, n, flags);
    PASS(TEST_SHM_LOCK, f, xShmLock, offset, n, flags);
}

static void
file_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int
file_shm_unmap(sqlite3_file *f, int remove_it)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove_it);
}

static int
file_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
    return REAL(f)->pMethods->xFetch(REAL(f), at, n, ret);
}

static int
file_unfetch(sqlite3_file *f, sqlite3_int64 at, void *page)
{
    /* With a page it gives that one back; without it is the checkpoint's. */
    if (page)
        return REAL(f)->pMethods->xUnfetch(REAL(f), at, page);
    PASS(TEST_UNFETCH, f, xUnfetch, at, page);
}

static const sqlite3_io_methods methods = {
    3,
    file_close,
    file_read,
    file_write,
    file_truncate,
    file_sync,
    file_size,
    file_lock,
    file_unlock,
    file_reserved,
    file_control,
    file_sector,
    file_device,
    file_shm_map,
    file_shm_lock,
    file_shm_barrier,
    file_shm_unmap,
    file_fetch,
    file_unfetch,
};

/* ---- the VFS ---- */

static int
vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
    struct file *mine = (struct file *)f;
    (void)vfs;
    memset(mine, 0, sizeof *mine);
    mine->real = (sqlite3_file *)(mine + 1);
    int rc = step(TEST_OPEN);
    if (rc == SQLITE_OK)
        rc = real_vfs->xOpen(real_vfs, name, mine->real, flags, ret_flags);
    if (rc == SQLITE_OK) {
        mine->disk = name ? test_disk_open(name) : NULL;
        mine->base.pMethods = &methods;
    }
    return rc;
}

static int
vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    int rc = step(TEST_DELETE);
    (void)vfs;
    if (rc == SQLITE_OK)
        rc = real_vfs->xDelete(real_vfs, name, sync_folder);
    if (rc == SQLITE_OK)
        test_disk_delete(name);
    return rc;
}

void
test_vfs_register(void)
{
    real_vfs = sqlite3_vfs_find("unix");
    test_vfs = *real_vfs;
    test_vfs.zName = "test";
    test_vfs.pNext = NULL;
    test_vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    test_vfs.xOpen = vfs_open;
    test_vfs.xDelete = vfs_delete;
    sqlite3_vfs_register(&test_vfs, 1);
}

uint64_t
test_vfs_count(enum test_call kind)
{
    pthread_mutex_lock(&lock);
    uint64_t n = plans[kind].count;
    pthread_mutex_unlock(&lock);
    return n;
}

void
test_vfs_fail(enum test_call kind, uint64_t nth, int rc, int forever)
{
    struct plan *p = &plans[kind];
    pthread_mutex_lock(&lock);
    p->fail_at = nth ? p->count + nth : 0;
    p->rc = rc;
    p->forever = forever;
    pthread_mutex_unlock(&lock);
}

void
test_vfs_pause(enum test_call kind, uint64_t nth, void (*during)(void *ctx), void *ctx)
{
    struct plan *p = &plans[kind];
    pthread_mutex_lock(&lock);
    p->pause_at = nth ? p->count + nth : 0;
    p->during = during;
    p->ctx = ctx;
    pthread_mutex_unlock(&lock);
}
