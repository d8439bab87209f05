/* test_fork.c - databases and the children of fork() (SPEC 4.1). */
#include "locks_test.h"

static int
child_status(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What a child finds, of whatever style; the parent is inside a transaction. */
static void
forked(int posix)
{
    struct hf_error err;
    struct hf_sqlite_options o = options();
    sqlite3_stmt *stmt;
    uint32_t done;
    o.lock_posix = (uint32_t)posix;
    o.patience_ms = 300;
    struct hf_sqlite_db *db = open_it(&o);
    begin(db);
    for (int in_transaction = 1; in_transaction >= 0; in_transaction--) {
        struct stat wal, now;
        CHECK(stat(in_dir("state.db-wal"), &wal) == 0);
        pid_t child = fork();
        if (child == 0) {
            CHECK(hf_sqlite_begin(db, 0, &err) == HF_MISUSE);
            CHECK(strstr(err.message, "fork()"));
            CHECK(hf_sqlite_prepare(db, "SELECT 1", &stmt, &err) == HF_MISUSE);
            CHECK(hf_sqlite_exec(db, "SELECT 1", &err) == HF_MISUSE);
            CHECK(hf_sqlite_commit(db, &err) == HF_MISUSE);
            CHECK(hf_sqlite_checkpoint(db, 1, &done, &err) == HF_MISUSE);
            hf_sqlite_rollback(db);
            hf_sqlite_interrupt(db);
            /* The connection itself, past every guard, writes nothing either. */
            if (!posix)
                CHECK(sqlite3_exec(hf_sqlite_handle(db),
                                   "INSERT INTO t VALUES(7,7);"
                                   "COMMIT",
                                   0, 0, 0) != SQLITE_OK);
            hf_sqlite_close_db(&db);
            CHECK(db == NULL);
            struct hf_sqlite_db *mine = open_it(&o);
            CHECK(hf_sqlite_begin(mine, 0, &err) == (in_transaction ? HF_BUSY : HF_OK));
            if (!in_transaction) {
                CHECK(hf_sqlite_exec(mine, "INSERT INTO t VALUES(2,2)", &err) == HF_OK);
                CHECK(!outsider_writes());
                CHECK(hf_sqlite_commit(mine, &err) == HF_OK);
            }
            hf_sqlite_close_db(&mine);
            exit(0); /* exit handlers run */
        }
        CHECK(child_status(child) == 0);
        CHECK(stat(in_dir("state.db-wal"), &now) == 0 && now.st_ino == wal.st_ino);
        if (in_transaction) {
            CHECK(!outsider_writes());
            CHECK(hf_sqlite_exec(db, "INSERT INTO t VALUES(1,1)", &err) == HF_OK);
            commit(db);
        }
    }
    CHECK(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t") == 2);
    CHECK(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t WHERE a=7") == 0);
    hf_sqlite_close_db(&db);
    raw_sql(db_path(), "SELECT 1");
}

CASE(forked_child)
{
    forked(0);
}
CASE(forked_child_posix)
{
    forked(1);
}

/* A child that pthread_atfork()'s handlers know nothing of. */
CASE(past_the_handlers)
{
    struct hf_error err;
    struct hf_sqlite_options o = options();
    struct hf_sqlite_db *db = open_it(&o), *second = NULL;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        CHECK(hf_sqlite_begin(db, 0, &err) == HF_MISUSE);
        CHECK(hf_sqlite_open_db(&o, &second, &err) == HF_MISUSE);
        hf_sqlite_close_db(&db);
        _exit(0);
    }
    CHECK(child_status(child) == 0);
    begin(db);
    CHECK(!outsider_writes());
    commit(db);
    hf_sqlite_close_db(&db);
}

/* A parent that dies with a child alive, which has inherited the mapped -shm: nobody
 * must wait for that child. */
CASE(parent_dies)
{
    int ends[2], alive[2];
    char byte;
    struct hf_error err;
    struct hf_sqlite_options o = options();
    CHECK(pipe(ends) == 0 && pipe(alive) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct hf_sqlite_db *db = open_it(&o);
        begin(db);
        CHECK(hf_sqlite_exec(db, "INSERT INTO t VALUES(1,1)", &err) == HF_OK);
        if (fork() == 0) {
            close(ends[1]);
            CHECK(write(alive[1], "x", 1) == 1);
            CHECK(read(ends[0], &byte, 1) == 0); /* lives as long as the test does */
            _exit(0);
        }
        CHECK(read(alive[0], &byte, 1) == 1);
        kill(getpid(), SIGKILL);
    }
    waitpid(parent, NULL, 0);
    struct hf_sqlite_db *db = open_it(&o);
    begin(db);
    commit(db);
    hf_sqlite_close_db(&db);
    CHECK(locks_on(in_dir("state.db-shm"), "OFDLCK") == 0);
    close(ends[1]);
}

/* A fork from inside our own log callback, under whatever is locked there. */
static pid_t log_child;
__attribute__((format(printf, 5, 6))) static void
forking_log(void *ctx, int32_t level, const char *event, const char *path,
            const char *fmt, ...)
{
    (void)ctx, (void)level, (void)event, (void)path, (void)fmt;
    if (!log_child && (log_child = fork()) == 0)
        _exit(0);
}
CASE(fork_in_a_callback)
{
    struct hf_host host = test_host;
    struct hf_sqlite_options o = options();
    host.log = forking_log;
    struct hf_sqlite_db *db = open_it(&o);
    CHECK(sqlite3_exec(hf_sqlite_handle(db), "INSERT INTO t VALUES(1,1)", 0, 0, 0) ==
          0);
    o.host = &host;
    struct hf_sqlite_db *second = open_it(&o);
    hf_sqlite_close_db(&second);
    hf_sqlite_close_db(&db); /* says "checkpoint" */
    db = open_it(&o);
    CHECK(sqlite3_exec(hf_sqlite_handle(db), "INSERT INTO t VALUES(1,1)", 0, 0, 0) ==
          0);
    hf_sqlite_close_db(&db);
    CHECK(log_child > 0);
    waitpid(log_child, NULL, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(forked_child),
        TEST(forked_child_posix),
        TEST(past_the_handlers),
        TEST(parent_dies),
        TEST(fork_in_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
