/* kill_everywhere.c - a process is killed at every single system call of a first open,
 * or of the schema upgrade of an older file; afterwards the old or the new schema is
 * found, and the next open works.
 *
 * The child is stopped by ptrace at the entry of each system call.  In round N it is
 * killed there before the Nth call is carried out; the rounds end when a child comes to
 * its end.  Nothing is random: a failure names its call and can be run again.
 *
 *     kill_everywhere first|upgrade-wal|upgrade-delete [OLD.db] [ONLY-N]
 *
 * Exit status 77: ptrace, or the old file, is not to be had here. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "private.h"

enum { SKIPPED = 77, MOST_CALLS = 20000 };

static const char *old_file;
static uint32_t journal_mode = HF_JOURNAL_WAL;
static char folder[200], path[256];
static int call_number; /* the round's */

static void
die(const char *what, const char *why)
{
    fprintf(stderr, "killed at call %d: %s: %s\n", call_number, what, why);
    exit(1);
}

/* ---- one open, as a gateway makes it ---- */

static int
open_store(uint32_t read_only, struct hf_sqlite_db **ret, struct hf_error *err)
{
    struct hf_sqlite_options o = HF_INIT(struct hf_sqlite_options);
    o.path = path;
    o.read_only = read_only;
    o.journal_mode = journal_mode;
    o.synchronous = 2;
    o.wal_autocheckpoint = 1000;
    o.patience_ms = 5000;
    o.cache_size = o.mmap_size = o.temp_store = HF_NO_INT;
    o.journal_size_limit = 64 << 20;
    o.is_current = hf__schema_is_current;
    o.initialize = hf__schema_initialize;
    return hf_sqlite_open_db(&o, ret, err);
}

static int
open_and_close(void)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    int code = open_store(0, &db, &err);
    if (code != HF_OK)
        fprintf(stderr, "open: %s\n", err.message);
    hf_sqlite_close_db(&db);
    return code == HF_OK ? 0 : 1;
}

/* ---- the folder ---- */

static int
remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(name);
}

static void
fresh_folder(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(folder, 0700))
        die(folder, strerror(errno));
    if (!old_file)
        return;
    char bytes[65536];
    ssize_t n;
    int from = open(old_file, O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (from < 0 || to < 0)
        die(old_file, strerror(errno));
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)n) != n)
            die(path, strerror(errno));
    close(from);
    close(to);
}

/* One number for the names and bytes of the database's files. */
static uint64_t
files_hash(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    static unsigned char bytes[65536];
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[300];
        ssize_t n;
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        h = (h ^ (uint64_t)(fd >= 0)) * 1099511628211u;
        while (fd >= 0 && (n = read(fd, bytes, sizeof bytes)) > 0)
            for (ssize_t j = 0; j < n; j++)
                h = (h ^ bytes[j]) * 1099511628211u;
        if (fd >= 0)
            close(fd);
    }
    return h;
}

/* ---- what is found ---- */

/* The schema and the counts as one text, for the caller to sqlite3_free(). */
static char *
state_of(sqlite3 *db)
{
    static const char *const counts[] = {"sessions", "messages"};
    sqlite3_stmt *stmt = NULL;
    char *text = sqlite3_mprintf("%s", "");
    if (sqlite3_prepare_v2(db,
                           "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2",
                           -1, &stmt, NULL))
        die("read the schema", sqlite3_errmsg(db));
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        char *more =
            sqlite3_mprintf("%s%s %s %s\n", text, sqlite3_column_text(stmt, 0),
                            sqlite3_column_text(stmt, 1), sqlite3_column_text(stmt, 2));
        sqlite3_free(text);
        text = more;
    }
    if (rc != SQLITE_DONE)
        die("read the schema", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    for (int i = 0; i < 2; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", counts[i]);
        if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
            continue; /* no tables yet */
        sqlite3_step(stmt);
        char *more =
            sqlite3_mprintf("%s%s: %d\n", text, counts[i], sqlite3_column_int(stmt, 0));
        sqlite3_finalize(stmt);
        sqlite3_free(text);
        text = more;
    }
    return text;
}

/* As a reader finds it, which changes nothing; NULL: there is no file. */
static char *
state_now(void)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    int code = open_store(1, &db, &err);
    if (code == HF_NOT_FOUND)
        return NULL;
    if (code != HF_OK)
        die("the reader", err.message);
    char *text = state_of(hf_sqlite_handle(db));
    hf_sqlite_close_db(&db);
    return text;
}

static void
check_integrity(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) ||
        sqlite3_step(stmt) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        die("integrity_check", stmt ? (const char *)sqlite3_column_text(stmt, 0) : "");
    sqlite3_finalize(stmt);
}

/* A reader finds the old or the new, a writer brings it to the new. */
static void
check_after_kill(const char *old_state, const char *new_state)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    char *found = state_now();
    if (found && strcmp(found, new_state) != 0 && strcmp(found, old_state) != 0)
        die("neither the old nor the new schema", found);
    sqlite3_free(found);
    if (open_store(0, &db, &err) != HF_OK)
        die("the next open", err.message);
    found = state_of(hf_sqlite_handle(db));
    if (strcmp(found, new_state) != 0)
        die("the next open did not end in the new schema", found);
    sqlite3_free(found);
    check_integrity(hf_sqlite_handle(db));
    hf_sqlite_close_db(&db);
}

/* ---- the killing ---- */

/* Runs the child up to its Nth system call.  1: killed there; 0: it came to its end. */
static int
run_until(int n)
{
    int status = 0, calls = 0, entering = 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(SKIPPED);
        raise(SIGSTOP);
        _exit(open_and_close());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        die("fork", strerror(errno));
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
               (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))) {
        kill(pid, SIGKILL);
        exit(SKIPPED);
    }
    int deliver = 0;
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)deliver) ||
            waitpid(pid, &status, 0) != pid)
            die("ptrace", strerror(errno));
        if (WIFEXITED(status)) {
            if (WEXITSTATUS(status))
                die("the child", "could not open the store");
            return 0;
        }
        if (WIFSIGNALED(status))
            die("the child", strsignal(WTERMSIG(status)));
        deliver = WSTOPSIG(status);
        if (deliver != (SIGTRAP | 0x80))
            continue;
        deliver = 0;
        if (entering && ++calls == n) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return 1;
        }
        entering = !entering;
    }
}

int
main(int argc, char **argv)
{
    const char *shm = access("/dev/shm", W_OK) ? NULL : "/dev/shm";
    const char *tmp = getenv("TMPDIR");
    int only = argc > 3 ? atoi(argv[3]) : 0;
    if (argc < 2 || (strcmp(argv[1], "first") && argc < 3)) {
        fprintf(stderr,
                "usage: %s first|upgrade-wal|upgrade-delete [OLD.db] [ONLY-N]\n",
                argv[0]);
        return 2;
    }
    if (!strcmp(argv[1], "upgrade-delete"))
        journal_mode = HF_JOURNAL_DELETE;
    if (strcmp(argv[1], "first")) {
        old_file = argv[2];
        if (access(old_file, R_OK)) {
            fprintf(stderr, "skipped: %s is not there\n", old_file);
            return SKIPPED;
        }
    }
    /* In memory, where a sync costs nothing: thousands are made. */
    snprintf(folder, sizeof folder, "%s/hf-kill-XXXXXX",
             shm   ? shm
             : tmp ? tmp
                   : "/tmp");
    if (!mkdtemp(folder))
        die(folder, strerror(errno));
    snprintf(path, sizeof path, "%s/state.db", folder);

    fresh_folder();
    char *old_state = old_file ? state_now() : sqlite3_mprintf("%s", "");
    if (open_and_close())
        return 1;
    char *new_state = state_now();
    if (!strcmp(old_state, new_state))
        die("the open", "changes nothing, so there is nothing to kill");

    int killed = 0;
    uint64_t hash = 0, last_hash = 0;
    for (call_number = only ? only : 1; call_number < MOST_CALLS; call_number++) {
        fresh_folder();
        if (!run_until(call_number))
            break;
        /* The same files as a round ago were checked a round ago. */
        if ((hash = files_hash()) != last_hash || !killed)
            check_after_kill(old_state, new_state);
        last_hash = hash;
        killed++;
        if (only)
            break;
    }
    if (call_number == MOST_CALLS)
        die("the child", "never ends");
    sqlite3_free(old_state);
    sqlite3_free(new_state);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    printf("%s: killed at each of %d system calls\n", argv[1], killed);
    return killed ? 0 : 1;
}
