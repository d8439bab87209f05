/* test_locks.c - SQLite's locks as open-file-description locks (SPEC 4.1).
 *
 * The hooks stay for the life of a process, and what was open before them matters.  So
 * each case runs in a forked child: this program itself never opens a database. */
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

static void
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

/* ---- helpers ---- */

static const char *
db_path(void)
{
    return in_dir("state.db");
}

static struct hf_sqlite_options
options(void)
{
    struct hf_sqlite_options o = options_for(db_path());
    o.initialize = init_table;
    o.patience_ms = 1000;
    return o;
}

static struct hf_sqlite_db *
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

static void
begin(struct hf_sqlite_db *db)
{
    struct hf_error err;
    CHECK(hf_sqlite_begin(db, 0, &err) == HF_OK);
}

static void
commit(struct hf_sqlite_db *db)
{
    struct hf_error err;
    CHECK(hf_sqlite_commit(db, &err) == HF_OK);
}

/* Whether another process, an ordinary SQLite client, can write now. */
static int
outsider_writes(void)
{
    char ok;
    struct other o = other_spawn(db_path(), "INSERT INTO t VALUES(9,9)", &ok);
    other_end(&o);
    return ok;
}

/* What code that knows nothing of databases does to files. */
static void
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
static int
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

static void
set_journal(struct hf_sqlite_options *o, int wal)
{
    o->journal_mode = wal ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
}

/* ---- cases ---- */

/* Without and with hooks, in both journal modes: what a stray close does. */
static void
stray_close(int posix, int wal)
{
    struct hf_sqlite_options o = options();
    o.lock_posix = (uint32_t)posix;
    set_journal(&o, wal);
    struct hf_sqlite_db *db = open_it(&o);
    begin(db);
    CHECK(sqlite3_exec(hf_sqlite_handle(db), "INSERT INTO t VALUES(1,1)", 0, 0, 0) ==
          0);
    CHECK(!outsider_writes());
    for (int i = 0; i < 5; i++)
        stray();
    CHECK(outsider_writes() == posix);
    if (posix)
        return; /* nothing after that is worth anything */
    CHECK(locks_on(db_path(), "OFDLCK") > 0);
    CHECK(locks_on(db_path(), "POSIX") == 0);
    CHECK(locks_on(in_dir("state.db-shm"), "POSIX") == 0);
    commit(db);
    CHECK(outsider_writes());
    hf_sqlite_close_db(&db);
    CHECK(locks_on(db_path(), "OFDLCK") == 0);
    CHECK(locks_on(in_dir("state.db-shm"), "OFDLCK") == 0);
    CHECK(logged("lock_style_posix") == 0);
}

CASE(stray_close_wal)
{
    stray_close(0, 1);
}
CASE(stray_close_delete)
{
    stray_close(0, 0);
}
/* That the cases above can fail. */
CASE(posix_stray_close_wal)
{
    stray_close(1, 1);
}
CASE(posix_stray_close_delete)
{
    stray_close(1, 0);
}

/* Somebody has the file open for reading, for reasons of his own, when it is opened and
 * first locked: no reason for POSIX locks. */
CASE(stray_descriptors)
{
    struct hf_sqlite_options o = options();
    struct hf_sqlite_db *db = open_it(&o);
    hf_sqlite_close_db(&db);
    int fd = open(db_path(), O_RDONLY | O_CLOEXEC);
    db = open_it(&o);
    CHECK(hf__locks_style(db_path()) == HF__LOCKS_OFD);
    begin(db);
    close(fd);
    CHECK(!outsider_writes());
    commit(db);
    hf_sqlite_close_db(&db);
    CHECK(logged("lock_style_posix") == 0);
}
CASE(stray_before_the_hooks)
{
    int fd = open(db_path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct hf_sqlite_options o = options();
    struct hf_sqlite_db *db = open_it(&o);
    CHECK(hf__locks_style(db_path()) == HF__LOCKS_OFD);
    begin(db);
    close(fd);
    CHECK(!outsider_writes());
    hf_sqlite_close_db(&db);
}

/* A connection of this SQLite from before the hooks: both share POSIX locks. */
CASE(early_connection)
{
    sqlite3 *raw = NULL;
    CHECK(sqlite3_open(db_path(), &raw) == SQLITE_OK);
    CHECK(sqlite3_exec(raw,
                       "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b);"
                       "BEGIN; SELECT * FROM t",
                       0, 0, 0) == SQLITE_OK);
    struct hf_sqlite_options o = options();
    for (int i = 0; i < 2; i++) {
        struct hf_sqlite_db *db = open_it(&o);
        CHECK(hf__locks_style(db_path()) == HF__LOCKS_POSIX_EARLY);
        begin(db);
        CHECK(!outsider_writes());
        commit(db);
        hf_sqlite_close_db(&db);
    }
    CHECK(logged("20 lock_style_posix") == 1);
    CHECK(locks_on(db_path(), "OFDLCK") == 0);
    CHECK(sqlite3_exec(raw, "COMMIT", 0, 0, 0) == SQLITE_OK);
    CHECK(sqlite3_close(raw) == SQLITE_OK);
    CHECK(locks_on(db_path(), "POSIX") == 0);
    struct hf_sqlite_db *db = open_it(&o);
    CHECK(hf__locks_style(db_path()) == HF__LOCKS_OFD);
    hf_sqlite_close_db(&db);
}

/* An older kernel. */
static int
fcntl_without_ofd(int fd, int cmd, ...)
{
    va_list ap;
    va_start(ap, cmd);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    if (cmd == F_OFD_SETLK || cmd == F_OFD_GETLK || cmd == F_OFD_SETLKW) {
        errno = EINVAL;
        return -1;
    }
    return fcntl(fd, cmd, arg);
}
CASE(refused_by_the_kernel)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)fcntl_without_ofd);
    struct hf_sqlite_options o = options();
    for (int i = 0; i < 2; i++) {
        struct hf_sqlite_db *db = open_it(&o);
        CHECK(hf__locks_style(db_path()) == HF__LOCKS_POSIX_REFUSED);
        begin(db);
        CHECK(!outsider_writes());
        commit(db);
        hf_sqlite_close_db(&db);
    }
    CHECK(logged("20 lock_style_posix") == 1);
    CHECK(outsider_writes());
}

/* lock_posix alone touches no system call; beside a store with other wishes it holds
 * for its own files. */
CASE(styles_side_by_side)
{
    struct hf_sqlite_options posix = options(), other = options();
    posix.lock_posix = 1;
    struct hf_sqlite_db *db = open_it(&posix);
    CHECK(!hf__locks_installed());
    hf_sqlite_close_db(&db);
    other.path = in_dir("other.db");
    struct hf_sqlite_db *second = open_it(&other);
    CHECK(hf__locks_style(other.path) == HF__LOCKS_OFD);
    db = open_it(&posix);
    CHECK(hf__locks_style(db_path()) == HF__LOCKS_POSIX_WISHED);
    CHECK(hf__locks_style(in_dir("state.db-shm")) == HF__LOCKS_POSIX_WISHED);
    CHECK(logged("lock_style_posix") == 0);
    struct hf_sqlite_options ofd = options();
    struct hf_sqlite_db *late = open_it(&ofd); /* the choice is made: it says so */
    CHECK(logged("20 lock_style_posix") == 1);
    hf_sqlite_close_db(&late);
    hf_sqlite_close_db(&db);
    hf_sqlite_close_db(&second);
}

/* A reader came first, so the canonical descriptor could not take a write lock. */
CASE(reader_first)
{
    for (int wal = 0; wal < 2; wal++) {
        struct hf_sqlite_options o = options();
        sqlite3 *raw = NULL;
        set_journal(&o, wal);
        o.path = in_dir(wal ? "w.db" : "d.db");
        struct hf_sqlite_db *db = open_it(&o);
        hf_sqlite_close_db(&db);
        CHECK(sqlite3_open_v2(o.path, &raw, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
        CHECK(sqlite3_exec(raw, "BEGIN; SELECT * FROM t", 0, 0, 0) == SQLITE_OK);
        db = open_it(&o);
        begin(db);
        char ok;
        struct other out = other_spawn(o.path, "INSERT INTO t VALUES(9,9)", &ok);
        CHECK(!ok);
        other_end(&out);
        hf_sqlite_rollback(db);
        /* The reader's lock came over: it is still in the way of an exclusive one. */
        out = other_spawn(o.path, "BEGIN EXCLUSIVE", &ok);
        CHECK(ok == wal);
        other_end(&out);
        CHECK(sqlite3_exec(raw, "COMMIT", 0, 0, 0) == SQLITE_OK);
        CHECK(sqlite3_close(raw) == SQLITE_OK);
        hf_sqlite_close_db(&db);
        CHECK(locks_on(o.path, "OFDLCK") == 0);
    }
}

/* Two spellings of the folder, many connections: one inode, one set of locks. */
CASE(spellings)
{
    char link[400], spelled[500];
    struct hf_sqlite_options o = options(), by_link = options();
    struct hf_sqlite_db *many[20];
    snprintf(link, sizeof link, "%s/link", test_dir);
    CHECK(symlink(test_dir, link) == 0);
    snprintf(spelled, sizeof spelled, "%s/state.db", link);
    by_link.path = spelled;
    for (int i = 0; i < 20; i++)
        many[i] = open_it(i % 2 ? &o : &by_link);
    int held = locks_on(db_path(), "OFDLCK");
    CHECK(held > 0);
    begin(many[7]);
    for (int i = 0; i < 20; i++)
        if (i != 7)
            hf_sqlite_close_db(&many[i]);
    stray();
    CHECK(!outsider_writes());
    commit(many[7]);
    hf_sqlite_close_db(&many[7]);
    CHECK(locks_on(db_path(), "OFDLCK") == 0);
}

/* SQLite opens a file again when it gets the number of a standard stream. */
CASE(standard_streams_closed)
{
    struct stat st;
    struct hf_sqlite_options o = options();
    close(0);
    close(1);
    struct hf_sqlite_db *db = open_it(&o);
    begin(db);
    CHECK(!fstat(0, &st) ? !S_ISREG(st.st_mode) : 1);
    CHECK(!fstat(1, &st) ? !S_ISREG(st.st_mode) : 1);
    stray();
    CHECK(locks_on(db_path(), "OFDLCK") > 0);
    hf_sqlite_close_db(&db);
    CHECK(locks_on(db_path(), "OFDLCK") == 0);
}

/* ---- fork ---- */

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
        TEST(stray_close_wal),
        TEST(stray_close_delete),
        TEST(posix_stray_close_wal),
        TEST(posix_stray_close_delete),
        TEST(stray_descriptors),
        TEST(stray_before_the_hooks),
        TEST(early_connection),
        TEST(refused_by_the_kernel),
        TEST(styles_side_by_side),
        TEST(reader_first),
        TEST(spellings),
        TEST(standard_streams_closed),
        TEST(forked_child),
        TEST(forked_child_posix),
        TEST(past_the_handlers),
        TEST(parent_dies),
        TEST(fork_in_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
