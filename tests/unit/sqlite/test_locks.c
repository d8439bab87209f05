/* test_locks.c - SQLite's locks as open-file-description locks (SPEC 4.1). */
#include "locks_test.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
