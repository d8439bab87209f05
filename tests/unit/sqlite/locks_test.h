/* locks_test.h - what test_locks.c and test_fork.c share.
 *
 * The hooks stay for the life of a process, and what was open before them matters.  So
 * each case runs in a forked child: the programs themselves never open a database. */
#ifndef HF_LOCKS_TEST_H
#define HF_LOCKS_TEST_H

#include <sys/syscall.h>

#include "db_test.h"

#define CASE(NAME)                                                                     \
    static void NAME##_run(void);                                                      \
    static void NAME(void **state)                                                     \
    {                                                                                  \
        (void)state;                                                                   \
        run_in_child(NAME##_run);                                                      \
    }                                                                                  \
    static void NAME##_run(void)
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

/* cmocka's asserts belong to its own process. */
#define CHECK(IT)                                                                      \
    do {                                                                               \
        if (!(IT)) {                                                                   \
            fprintf(stderr, "line %d: not so: %s\n%s", __LINE__, #IT, test_log);       \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)

static inline void
run_in_child(void (*fn)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fn();
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %d", status);
}

static inline const char *
db_path(void)
{
    return in_dir("state.db");
}

static inline struct hf_sqlite_options
options(void)
{
    struct hf_sqlite_options o = options_for(db_path());
    o.initialize = init_table;
    o.patience_ms = 1000;
    return o;
}

static inline struct hf_sqlite_db *
open_it(const struct hf_sqlite_options *o)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    int code = hf_sqlite_open_db(o, &db, &err);
    if (code != HF_OK)
        fprintf(stderr, "%s: %s\n", hf_code_name(code), err.message);
    CHECK(code == HF_OK);
    return db;
}

static inline void
begin(struct hf_sqlite_db *db)
{
    struct hf_error err;
    CHECK(hf_sqlite_begin(db, 0, &err) == HF_OK);
}

static inline void
commit(struct hf_sqlite_db *db)
{
    struct hf_error err;
    CHECK(hf_sqlite_commit(db, &err) == HF_OK);
}

/* Whether another process, an ordinary SQLite client, can write now. */
static inline int
outsider_writes(void)
{
    char ok;
    struct other o = other_spawn(db_path(), "INSERT INTO t VALUES(9,9)", &ok);
    other_end(&o);
    return ok;
}

/* What code that knows nothing of databases does to files. */
static inline void
stray(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[500], byte;
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", db_path(), suffixes[i]);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        CHECK(read(fd, &byte, 1) >= 0);
        close(fd);
    }
}

/* The locks of KIND ("OFDLCK", "POSIX") on that file, whoever's. */
static inline int
locks_on(const char *path, const char *kind)
{
    struct stat st;
    char line[256], found[32];
    unsigned long long ino;
    int n = 0;
    if (stat(path, &st))
        return 0;
    FILE *f = fopen("/proc/locks", "re");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%*d: %31s %*s %*s %*d %*x:%*x:%llu", found, &ino) == 2)
            n += !strcmp(found, kind) && ino == st.st_ino;
    fclose(f);
    return n;
}

static inline void
set_journal(struct hf_sqlite_options *o, int wal)
{
    o->journal_mode = wal ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
}

#endif
