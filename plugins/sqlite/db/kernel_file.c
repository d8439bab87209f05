/* kernel_file.c - one kernel at a time writes a database on a folder that virtual
 * machines share (SPEC 4.6): file locks do not cross that boundary, names do.
 *
 * NAME.kernel belongs to the kernel whose boot id is in it.  Its counter is that
 * kernel's clock since its start, so that each of its processes can tell how old the
 * renewal is; the other side, whose clock means nothing here, only sees whether it
 * moves.
 *
 * It changes hands through its name alone: it is taken away by rename, what was taken
 * is compared with what was watched, and the new one is made with O_EXCL.  So of two
 * who find a dead owner, one makes the file.  A renewal is a rename; what cannot be
 * excluded is a machine that is halted between its look and that rename for longer than
 * the other side watches.
 *
 * Nothing is synced: the file matters while both machines run, and after a power cut
 * whatever is left has a counter that does not move.
 *
 * Within a kernel, locks on the folder itself keep order: flock() for one step at a
 * time, and a read lock of one byte for each handle, by which the last one knows that
 * it is. File systems do not pass locks of folders on, and the database has none of
 * these. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "db.h"
#include "util/kernel_text.h"

#define RENEW_MS 5000
#define STEP_MS 2000 /* another process of ours is in the middle of a step */

struct hf__kernel {
    char *path, *temp;              /* temp is this kernel's own name */
    int folder;                     /* holds our locks */
    off_t byte;                     /* which stands for this database */
    int counted;                    /* we have our lock on it */
    struct hf__kernel_seen watched; /* a foreign one, since watched_ms */
    int64_t watched_ms;
    _Atomic int64_t sure_ms; /* when it was last seen to be ours */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t step = PTHREAD_MUTEX_INITIALIZER;
static struct hf__kernel_owner self;
static int have_self;
static int64_t renew_ms = RENEW_MS;

static void
learn_self(void)
{
    const char *ms = secure_getenv("HOLDFAST_KERNEL_RENEW_MS");
    long n = ms ? strtol(ms, NULL, 10) : 0;
    have_self = hf__kernel_self(&self);
    if (n >= 10 && n <= 60000)
        renew_ms = n;
}

static uint64_t
kernel_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now); /* goes on while the machine sleeps */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- one step at a time, within this kernel ---- */

static int
step_enter(struct hf_sqlite_db *db, struct hf_error *err)
{
    int64_t deadline = hf__monotonic_ms() + STEP_MS;
    while (pthread_mutex_trylock(&step)) /* may be held for ever in a forked child */
        if (hf__monotonic_ms() >= deadline)
            goto stuck;
        else
            hf__sleep_ms(1);
    while (flock(db->kernel->folder, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return HF_OK; /* no such locks here: the names still decide */
        if (hf__monotonic_ms() >= deadline) {
            pthread_mutex_unlock(&step);
            goto stuck;
        }
        hf__sleep_ms(1);
    }
    return HF_OK;
stuck:
    return hf_error_set(
        err, HF_BUSY, db->kernel->path,
        "another process of this machine is stopped while it works with "
        "this file: end it");
}

static void
step_leave(struct hf_sqlite_db *db)
{
    flock(db->kernel->folder, LOCK_UN);
    pthread_mutex_unlock(&step);
}

static int
folder_lock(const struct hf__kernel *k, int command, short type, short *ret_type)
{
    struct flock l = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = k->byte, .l_len = 1};
    int rc = fcntl(k->folder, command, &l);
    if (ret_type)
        *ret_type = l.l_type;
    return rc == 0;
}

/* ---- the file ---- */

static int
is_ours(const struct hf__kernel_seen *seen)
{
    return seen->kind == HF__KERNEL_OWNED && !strcmp(seen->owner.boot, self.boot);
}

/* Milliseconds since the renewal; one that lies ahead is of no clock of ours. */
static int64_t
age_of(const struct hf__kernel_seen *seen)
{
    uint64_t now = kernel_clock();
    return seen->owner.counter > now ? INT64_MAX : (int64_t)(now - seen->owner.counter);
}

static int
failed(const struct hf__kernel *k, const char *what, struct hf_error *err)
{
    int error = errno;
    return hf_error_set(err,
                        error == ENOSPC || error == EDQUOT ? HF_DISK_FULL
                        : error == EROFS || error == EACCES || error == EPERM
                            ? HF_READ_ONLY
                            : HF_IO,
                        k->path,
                        "cannot %s the file that keeps a second machine from writing: "
                        "%s; make its folder writable, or move the database onto a "
                        "native or named volume",
                        what, strerror(error));
}

/* Writes NAME; EEXIST where it must be new and is not.  1: done. */
static int
put_file(const char *name, int flags, const char *bytes, size_t len)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | flags,
                  0600);
    if (fd < 0)
        return 0;
    ssize_t n = write(fd, bytes, len);
    int error = n < 0 ? errno : ENOSPC;
    if (close(fd) == 0 && n == (ssize_t)len)
        return 1;
    unlink(name);
    errno = error == EEXIST ? EIO : error;
    return 0;
}

static size_t
own_text(char *ret, size_t size)
{
    struct hf__kernel_owner mine = self;
    mine.pid = (long)getpid();
    mine.counter = kernel_clock();
    return hf__kernel_format(&mine, ret, size);
}

/* Takes the file away if it is still what was SEEN; else puts it back. */
static void
take_away(const struct hf__kernel *k, const struct hf__kernel_seen *seen)
{
    struct hf__kernel_seen moved;
    if (rename(k->path, k->temp))
        return;
    hf__kernel_look(k->temp, &moved);
    if (!hf__kernel_same(&moved, seen))
        put_file(k->path, O_EXCL, moved.bytes, moved.len);
    unlink(k->temp);
}

static int
renew(const struct hf__kernel *k, const struct hf__kernel_seen *seen,
      struct hf_error *err)
{
    struct hf__kernel_seen now;
    char text[300];
    if (!put_file(k->temp, O_TRUNC, text, own_text(text, sizeof text)))
        return failed(k, "renew", err);
    hf__kernel_look(k->path, &now); /* the write may have taken long */
    if (hf__kernel_same(&now, seen) && age_of(&now) <= 2 * renew_ms &&
        rename(k->temp, k->path) == 0)
        return HF_OK;
    unlink(k->temp);
    return HF_OK; /* whose it is now will be seen */
}

/* ---- whose it is ---- */

enum verdict { OURS, WATCHED, DEAD };

/* What has become of a foreign one. */
static enum verdict
watch(struct hf__kernel *k, const struct hf__kernel_seen *seen)
{
    int64_t now = hf__monotonic_ms();
    if (!k->watched_ms || !hf__kernel_same(&k->watched, seen)) {
        k->watched = *seen;
        k->watched_ms = now;
    }
    return now - k->watched_ms >= 2 * renew_ms ? DEAD : WATCHED;
}

static void
say_taken(struct hf_sqlite_db *db, const struct hf__kernel_seen *seen)
{
    const struct hf__kernel_owner *o = &seen->owner;
    struct hf__shown shown;
    if (seen->kind == HF__KERNEL_OWNED)
        hf__db_log(
            db, HF_LOG_WARNING, "kernel_taken_over",
            "%s was held by another machine (%s, pid %ld, boot id %s), which has "
            "not renewed it: this machine writes from now on; if the other one "
            "still runs, this folder hides its changes for long: move the "
            "database onto a native or named volume",
            hf__shown(&shown, db->kernel->path), o->host, o->pid, o->boot);
    else
        hf__db_log(db, HF_LOG_WARNING, "kernel_taken_over",
                   "%s could not be understood, and nobody changed it: this machine "
                   "writes from now on",
                   hf__shown(&shown, db->kernel->path));
}

/* One attempt, in a step.  SEEN is what stands there at its end. */
static int
attempt(struct hf_sqlite_db *db, struct hf__kernel_seen *seen, enum verdict *ret,
        struct hf_error *err)
{
    struct hf__kernel *k = db->kernel;
    struct hf__kernel_seen dead = {0};
    char text[300];
    for (int i = 0; i < 5; i++) {
        hf__kernel_look(k->path, seen);
        if (seen->kind == HF__KERNEL_OBSTACLE)
            return hf_error_set(
                err, HF_IO, k->path,
                "this is no plain file, but should be the one that keeps "
                "a second machine from writing: remove it");
        if (seen->kind == HF__KERNEL_UNREAD) {
            errno = seen->error;
            return failed(k, "read", err);
        }
        if (is_ours(seen) && age_of(seen) <= 2 * renew_ms) {
            *ret = OURS;
            k->watched_ms = 0;
            atomic_store(&k->sure_ms, hf__monotonic_ms());
            return age_of(seen) >= renew_ms ? renew(k, seen, err) : HF_OK;
        }
        if (seen->kind == HF__KERNEL_NONE) {
            /* Seen to be ours in the next turn, or whoever was faster. */
            if (!put_file(k->path, O_EXCL, text, own_text(text, sizeof text)) &&
                errno != EEXIST)
                return failed(k, "make", err);
            hf__kernel_look(k->path, seen);
            if (is_ours(seen) && dead.kind)
                say_taken(db, &dead);
            dead.kind = HF__KERNEL_NONE;
            continue;
        }
        if (!is_ours(seen)) {
            *ret = watch(k, seen);
            if (*ret != DEAD)
                return HF_OK;
            dead = *seen;
        }
        take_away(k, seen);
    }
    *ret = WATCHED;
    return HF_OK;
}

static int
refuse(struct hf_sqlite_db *db, const struct hf__kernel_seen *seen, int moves,
       struct hf_error *err)
{
    const struct hf__kernel_owner *o = &seen->owner;
    char who[240];
    if (seen->kind == HF__KERNEL_OWNED)
        snprintf(who, sizeof who, "another machine (%s, pid %ld there, boot id %s)",
                 o->host, o->pid, o->boot);
    else
        snprintf(who, sizeof who, "somebody (its .kernel file cannot be understood)");
    return hf_error_set(
        err, HF_BUSY, db->path,
        "%s %s this database open for writing, and file locks do not cross the "
        "boundary "
        "between machines: end it there, or move the database onto a native or named "
        "volume%s",
        who, moves ? "has" : "may have",
        moves ? "" : "; whether it still lives was not watched for long enough");
}

/* Takes the file, watching a foreign one; until DEADLINE_MS, or 0: until it is known.
 */
static int
acquire(struct hf_sqlite_db *db, int64_t deadline_ms, struct hf_error *err)
{
    struct hf__kernel_seen first = {0}, seen;
    enum verdict verdict = WATCHED;
    for (;;) {
        int code = step_enter(db, err);
        if (code != HF_OK)
            return code;
        code = attempt(db, &seen, &verdict, err);
        step_leave(db);
        if (code != HF_OK || verdict == OURS)
            return code;
        if (first.kind == HF__KERNEL_NONE)
            first = seen;
        else if (seen.kind != HF__KERNEL_NONE && !hf__kernel_same(&first, &seen))
            return refuse(db, &seen, 1, err);
        if (hf__busy_cancelled(db))
            return hf_sqlite_fail(db, SQLITE_INTERRUPT, "wait for another machine",
                                  err);
        if (deadline_ms && hf__monotonic_ms() >= deadline_ms)
            return refuse(db, &seen, 0, err);
        hf__sleep_ms(renew_ms / 50 < 10 ? 10 : renew_ms / 50);
    }
}

/* ---- for the rest of the library ---- */

static off_t
byte_of(const char *path)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a of the name without its folder */
    for (const char *p = strrchr(path, '/') + 1; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    return (off_t)(hash >> 2);
}

static char *
name_with(const char *path, const char *suffix)
{
    struct hf__buf name = {0};
    hf__buf_adds(&name, path);
    hf__buf_adds(&name, suffix);
    return hf__buf_take(&name);
}

int
hf__kernel_open(struct hf_sqlite_db *db, struct hf_error *err)
{
    char folder[4128], suffix[24];
    if (db->mount.mount_class != HF_MOUNT_CROSS_VM || db->opt.mount_check_off)
        return HF_OK;
    pthread_once(&once, learn_self);
    if (!have_self) {
        if (hf__once("kernel_unknown", db->path))
            hf__db_log(db, HF_LOG_WARNING, "kernel_unknown",
                       "this machine has no boot id that can be read "
                       "(/proc/sys/kernel/random/boot_id): nothing keeps a second "
                       "machine from writing to this database");
        return HF_OK;
    }
    struct hf__kernel *k = calloc(1, sizeof *k);
    if (!k)
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    db->kernel = k;
    snprintf(suffix, sizeof suffix, ".kernel-%.8s", self.boot);
    k->path = name_with(db->path, ".kernel");
    k->temp = name_with(db->path, suffix);
    k->byte = byte_of(db->path);
    hf__path_folder(folder, sizeof folder, db->path);
    k->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!k->path || !k->temp)
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    if (k->folder < 0)
        return failed(k, "lock the folder of", err);
    int code = step_enter(db, err);
    if (code != HF_OK)
        return code;
    k->counted = folder_lock(k, F_OFD_SETLK, F_RDLCK, NULL);
    step_leave(db);
    return acquire(db, 0, err);
}

int
hf__kernel_begin(struct hf_sqlite_db *db, struct hf_error *err)
{
    return db->kernel ? acquire(db, db->busy.wait_until_ms, err) : HF_OK;
}

/* Nothing between two machines can wait for us, so what lasted is looked at again. */
int
hf__kernel_still(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__kernel *k = db->kernel;
    struct hf__kernel_seen seen;
    enum verdict verdict = OURS;
    if (!k || hf__monotonic_ms() - atomic_load(&k->sure_ms) < renew_ms)
        return HF_OK;
    int code = step_enter(db, err);
    if (code != HF_OK)
        return code;
    hf__kernel_look(k->path, &seen);
    if (is_ours(&seen))
        code = attempt(db, &seen, &verdict, err);
    else
        verdict = WATCHED;
    step_leave(db);
    if (code != HF_OK || verdict == OURS)
        return code;
    return seen.kind == HF__KERNEL_OWNED
               ? refuse(db, &seen, 1, err)
               : hf_error_set(err, HF_BUSY, k->path,
                              "the file that keeps a second machine from writing went "
                              "away during a transaction that took long: try again");
}

int
hf__kernel_try(struct hf_sqlite_db *db)
{
    struct hf__kernel_seen seen;
    struct hf_error err;
    enum verdict verdict = WATCHED;
    if (!db->kernel)
        return 1;
    if (step_enter(db, &err) != HF_OK)
        return 0;
    int code = attempt(db, &seen, &verdict, &err);
    step_leave(db);
    return code == HF_OK && verdict == OURS;
}

int
hf_sqlite_kernel_renew(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__kernel_seen seen;
    enum verdict verdict;
    if (hf__forked(db))
        return hf__fork_check(db, err);
    if (!db->kernel)
        return HF_OK;
    int code = step_enter(db, err);
    if (code != HF_OK)
        return code;
    /* What another machine has, or nobody, is taken by the next write. */
    hf__kernel_look(db->kernel->path, &seen);
    if (is_ours(&seen))
        code = attempt(db, &seen, &verdict, err);
    step_leave(db);
    return code;
}

void
hf__kernel_close(struct hf_sqlite_db *db)
{
    struct hf__kernel *k = db->kernel;
    struct hf__kernel_seen seen;
    struct hf_error err;
    short others = F_RDLCK;
    if (!k)
        return;
    if (k->counted && step_enter(db, &err) == HF_OK) {
        folder_lock(k, F_OFD_SETLK, F_UNLCK, NULL);
        hf__kernel_look(k->path, &seen);
        /* Asking for a write lock takes no descriptor that could write. */
        if (folder_lock(k, F_OFD_GETLK, F_WRLCK, &others) && others == F_UNLCK &&
            is_ours(&seen))
            take_away(k, &seen);
        step_leave(db);
    }
    if (k->folder >= 0)
        close(k->folder);
    free(k->path);
    free(k->temp);
    free(k);
    db->kernel = NULL;
}
