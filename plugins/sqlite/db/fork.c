/* fork.c - what a child of fork() may do with databases (SPEC 4.1).
 *
 * The handles it inherited are the parent's: calls answer HF_MISUSE, and closing one
 * gives up its memory and touches nothing else.  A database that it opens itself works,
 * because it starts with fresh lock states (locks.c).  Where that cannot be had,
 * because the hooks are not in or because another thread was inside SQLite when the
 * process forked, opening is refused: wrong books about locks would let two writers in.
 *
 * Between fork() and exec() nothing of this is noticed. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "db.h"

#define PATIENCE_MS 200 /* for other threads to leave SQLite; they are there briefly   \
                         */

/* What is taken over a fork, in the order in which it is taken elsewhere, so that the
 * child finds nothing locked by a thread that it does not have: ours, and the static
 * mutexes of SQLite. */
static const struct step {
    int (*enter)(void);
    void (*leave)(void);
    int mutex;
} steps[] = {
    {hf__open_files_fork_enter, hf__open_files_unlock, 0},
    {hf__once_fork_enter, hf__once_fork_leave, 0},
    {NULL, NULL, SQLITE_MUTEX_STATIC_OPEN},
    {NULL, NULL, SQLITE_MUTEX_STATIC_MAIN},
    {NULL, NULL, SQLITE_MUTEX_STATIC_VFS1},
    {NULL, NULL, SQLITE_MUTEX_STATIC_PMEM},
    {NULL, NULL, SQLITE_MUTEX_STATIC_LRU},
    {NULL, NULL, SQLITE_MUTEX_STATIC_MEM},
    {NULL, NULL, SQLITE_MUTEX_STATIC_PRNG},
    {hf__locks_fork_enter, hf__locks_fork_leave, 0},
};
enum { STEPS = sizeof steps / sizeof *steps };

static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static int installed;
static sqlite3_mutex *mutexes[STEPS];
static int taken; /* steps, while a fork is under way */
static int handler_pid; /* the process that our handlers know of */
/* Of a child: */
static int is_child;
static int locked_up; /* there are locks that nobody will release */
static int had_files; /* some process on the way here had databases open */

/* Never waits without end: what forks may be a log callback of the host, called from
 * inside SQLite or from under our own locks. */
static void
before(void)
{
    int64_t deadline = hf__monotonic_ms() + PATIENCE_MS;
    taken = 0;
    while (taken < STEPS) {
        const struct step *s = &steps[taken];
        sqlite3_mutex *m = mutexes[taken];
        if (s->enter ? s->enter() == 0 : !m || sqlite3_mutex_try(m) == SQLITE_OK)
            taken++;
        else if (hf__monotonic_ms() < deadline)
            hf__sleep_ms(1);
        else
            break;
    }
}

static void
after(void)
{
    while (taken > 0) {
        const struct step *s = &steps[--taken];
        if (s->leave)
            s->leave();
        else
            sqlite3_mutex_leave(mutexes[taken]);
    }
}

static void
after_in_child(void)
{
    is_child = 1;
    handler_pid = (int)getpid();
    locked_up |= taken < STEPS;
    hf__locks_fork_child();
    had_files |= hf__open_files_fork_child();
    after();
}

int
hf__fork_install(struct hf_error *err)
{
    int code = HF_OK;
    pthread_mutex_lock(&install_lock);
    if (!installed) {
        handler_pid = (int)getpid();
        for (int i = 0; i < STEPS; i++)
            if (!steps[i].enter)
                mutexes[i] = sqlite3_mutex_alloc(steps[i].mutex);
        if (pthread_atfork(before, after, after_in_child))
            code =
                hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a fork handler");
        else
            installed = 1;
    }
    pthread_mutex_unlock(&install_lock);
    return code;
}

int
hf__forked(const struct hf_sqlite_db *db)
{
    return db->pid != (int)getpid();
}

int
hf__fork_check(const struct hf_sqlite_db *db, struct hf_error *err)
{
    if (!hf__forked(db))
        return HF_OK;
    return hf_error_set(
        err, HF_MISUSE, db->path,
        "this handle was opened by process %d and must not cross fork(): "
        "open the database again in the child",
        db->pid);
}

int
hf__fork_is_child(void)
{
    return is_child;
}

int
hf__fork_check_open(const char *path, struct hf_error *err)
{
    if (handler_pid != (int)getpid())
        return hf_error_set(err, HF_MISUSE, path,
                            "this process was made past the handlers of fork(), and can "
                            "open no database: use fork(), or a program of its own");
    if (locked_up)
        return hf_error_set(err, HF_MISUSE, path,
                            "this process was forked while another thread was inside "
                            "SQLite, and can open no database: start a program of its "
                            "own for that (exec)");
    if (had_files && !hf__locks_installed())
        return hf_error_set(err, HF_MISUSE, path,
                            "this process was forked from one with databases open, and "
                            "this SQLite cannot be told so: start a program of its own "
                            "for that (exec)");
    return HF_OK;
}
