/* test_open_db.c - opening and closing a database by the rules of SPEC 3.2 to 3.5. */
#include <pthread.h>

#include "db_test.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static void
new_database(void **state)
{
    (void)state;
    const char *path = in_dir("home/state.db");
    struct hf_sqlite_options o = options_for(path);
    o.initialize = init_table;
    mode_t old = umask(0);
    struct hf_sqlite_db *db = opened(&o);
    umask(old);
    struct stat st;
    assert_int_equal(stat(in_dir("home"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(in_dir("home/state.db-wal"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_string_equal(header_mode(path), "2/2");
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    assert_int_equal(hf_sqlite_frozen(db), 0);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "PRAGMA foreign_keys"), 1);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "PRAGMA synchronous"), 2);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "PRAGMA wal_autocheckpoint"), 0);
    run(db, "INSERT INTO t VALUES(1,2)");
    ino_t wal = st.st_ino;
    hf_sqlite_close_db(&db);
    assert_null(db);
    hf_sqlite_close_db(&db);
    /* Both sidecars stay, the WAL empty, so that the closed file is whole. */
    assert_int_equal(stat(in_dir("home/state.db-wal"), &st), 0);
    assert_int_equal(st.st_ino, wal);
    assert_int_equal(st.st_size, 0);
    assert_true(exists(in_dir("home/state.db-shm")));
    assert_int_equal(logged("20 ") + logged("30 ") + logged("40 "), 0);
    raw_sql(path, "SELECT a FROM t");
}

static void
initialize_only_when_stale(void **state)
{
    (void)state;
    struct hf_sqlite_options o = options_for(in_dir("state.db"));
    o.initialize = init_table;
    init_calls = 0;
    struct hf_sqlite_db *db = opened(&o);
    hf_sqlite_close_db(&db);
    assert_int_equal(init_calls, 1);
    db = opened(&o);
    hf_sqlite_close_db(&db);
    assert_int_equal(init_calls, 1);
}

static int
init_fails(void *ctx, sqlite3 *db, struct hf_error *err)
{
    init_table(ctx, db, err);
    return hf_error_set(err, HF_CONFLICT, NULL, "the first cause");
}

static void
failed_initialize_leaves_nothing(void **state)
{
    (void)state;
    struct hf_sqlite_options o = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    o.initialize = init_fails;
    assert_int_equal(hf_sqlite_open_db(&o, &db, &err), HF_CONFLICT);
    assert_string_equal(err.message, "the first cause");
    assert_null(db);
    o.initialize = NULL;
    db = opened(&o);
    assert_int_equal(
        raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM sqlite_schema"), 0);
    hf_sqlite_close_db(&db);
}

static char traced[16384];
static int
trace_one(unsigned type, void *ctx, void *stmt, void *text)
{
    (void)ctx;
    (void)stmt;
    if (type == SQLITE_TRACE_STMT) {
        size_t at = strlen(traced);
        snprintf(traced + at, sizeof traced - at, "%s\n", (char *)text);
    }
    return 0;
}
static int
trace_every(sqlite3 *db, char **err, const void *api)
{
    (void)err;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, trace_one, NULL);
}

static int
current(void *ctx, sqlite3 *db, uint32_t *ret_stale, struct hf_error *err)
{
    (void)ctx;
    (void)err;
    *ret_stale = sqlite3_table_column_metadata(db, NULL, "t", "b", NULL, NULL, NULL,
                                               NULL, NULL) != SQLITE_OK;
    return HF_OK;
}

/* A settled database opens beside whoever holds the write lock, without a write. */
static void
settled_open_beside_a_writer(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_dir(mode ? "delete.db" : "wal.db");
        struct hf_sqlite_options opt = options_for(path);
        opt.initialize = init_table;
        opt.is_current = current;
        opt.journal_mode = mode ? HF_JOURNAL_DELETE : HF_JOURNAL_WAL;
        struct hf_sqlite_db *db = opened(&opt);
        hf_sqlite_close_db(&db);

        struct other o =
            other_start(path, "BEGIN IMMEDIATE; INSERT INTO t VALUES(1,1)");
        traced[0] = '\0';
        sqlite3_auto_extension((void (*)(void))trace_every);
        int64_t start = hf__monotonic_ms();
        db = opened(&opt);
        int64_t took = hf__monotonic_ms() - start;
        assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 0);
        hf_sqlite_close_db(&db);
        sqlite3_cancel_auto_extension((void (*)(void))trace_every);
        assert_true(took < 500);
        assert_non_null(strstr(traced, "PRAGMA journal_mode"));
        assert_null(strstr(traced, "BEGIN"));
        assert_null(strstr(traced, "INSERT"));
        assert_null(strstr(traced, "UPDATE"));
        assert_null(strstr(traced, "CREATE"));
        assert_null(strstr(traced, "journal_mode=WAL"));
        assert_null(strstr(traced, "EXCLUSIVE"));
        other_end(&o);
    }
}

static void
mode_unknown_under_an_exclusive_lock(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a,b)");
    struct other o = other_start(in_dir("state.db"), "BEGIN EXCLUSIVE");
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    opt.patience_ms = 300;
    opt.journal_mode = HF_JOURNAL_DELETE;
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_BUSY);
    assert_non_null(strstr(err.message, "waited 0.3 s"));
    opt.journal_mode = HF_JOURNAL_WAL;
    opt.initialize = init_table;
    opt.is_current = current;
    traced[0] = '\0';
    sqlite3_auto_extension((void (*)(void))trace_every);
    int code = hf_sqlite_open_db(&opt, &db, &err);
    sqlite3_cancel_auto_extension((void (*)(void))trace_every);
    assert_null(strstr(traced, "journal_mode="));
    assert_int_equal(logged("30 mode_unknown: "), 1);
    if (code == HF_OK) {
        assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_UNKNOWN);
        hf_sqlite_close_db(&db);
    } else
        assert_int_equal(code, HF_BUSY);
    other_end(&o);
    assert_string_equal(header_mode(in_dir("state.db")), "1/1");
}

/* Another handle of this process: nothing of ours may drop the first one's locks. */
static void
second_handle_keeps_the_locks(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_error err;
    opt.initialize = init_table;
    opt.journal_mode = HF_JOURNAL_DELETE;
    struct hf_sqlite_db *db = opened(&opt), *second;
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_OK);
    run(db, "INSERT INTO t VALUES(1,1)");
    for (int i = 0; i < 3; i++) {
        opt.read_only = i == 1;
        second = opened(&opt);
        hf_sqlite_close_db(&second);
    }
    /* Had a close dropped RESERVED, the kernel would let another process have it. */
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1073741825, .l_len = 1};
        int fd = open(in_dir("state.db"), O_RDWR | O_CLOEXEC);
        int rc = fcntl(fd, F_GETLK, &lock);
        _exit(rc == 0 && lock.l_type != F_UNLCK ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(hf_sqlite_commit(db, &err), HF_OK);
    hf_sqlite_close_db(&db);
}

static void
loose_modes_are_tightened(void **state)
{
    (void)state;
    const char *path = in_dir("state.db");
    struct stat st;
    struct other o;
    raw_sql(path, "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b)");
    o = other_start(path, "INSERT INTO t VALUES(1,1)");
    chmod(path, 0644);
    chmod(in_dir("state.db-wal"), 0644);
    chmod(in_dir("state.db-shm"), 0666);
    struct hf_sqlite_options opt = options_for(path);
    struct hf_sqlite_db *db = opened(&opt);
    const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stat(in_dir(names[i]), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    hf_sqlite_close_db(&db);
    other_end(&o);
}

static void *
open_thread(void *path)
{
    struct hf_sqlite_options opt = options_for(path);
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    opt.initialize = init_table;
    opt.is_current = current;
    opt.patience_ms = 20000;
    if (hf_sqlite_open_db(&opt, &db, &err) != HF_OK)
        return strdup(err.message);
    int code = hf_sqlite_begin(db, -1, &err);
    if (code == HF_OK)
        code = hf_sqlite_exec(db, "INSERT INTO t VALUES(1,1)", &err);
    if (code == HF_OK)
        code = hf_sqlite_commit(db, &err);
    hf_sqlite_close_db(&db);
    return code == HF_OK ? NULL : strdup(err.message);
}

static void
many_open_a_new_file_at_once(void **state)
{
    (void)state;
    enum { N = 8 };
    pthread_t threads[N];
    char *path = strdup(in_dir("state.db"));
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_thread, path), 0);
    for (int i = 0; i < N; i++) {
        void *why = NULL;
        pthread_join(threads[i], &why);
        if (why)
            fail_msg("%s", (char *)why);
    }
    struct hf_sqlite_options opt = options_for(path);
    struct hf_sqlite_db *db = opened(&opt);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), N);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    hf_sqlite_close_db(&db);
    free(path);
}

static void
paths(void **state)
{
    (void)state;
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    char deep[5000];
    static const char *const names[] = {"sp ace",
                                        "h#ash",
                                        "q?x",
                                        "pct%20y",
                                        "pct%41",
                                        "amp&mode=rwc",
                                        "semi;colon",
                                        "quote'\"x",
                                        "new\nline",
                                        "汉字",
                                        "file:abc?mode=memory"};
    struct hf_sqlite_options opt = options_for(NULL);
    opt.initialize = init_table;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s/state.db", test_dir, names[i]);
        opt.path = path;
        opt.read_only = 0;
        db = opened(&opt);
        run(db, "INSERT INTO t VALUES(1,1)");
        hf_sqlite_close_db(&db);
        assert_int_equal(unlink(strcat(strcpy(deep, path), "-shm")), 0);
        assert_int_equal(unlink(strcat(strcpy(deep, path), "-wal")), 0);
        opt.read_only = 1; /* by a URI */
        db = opened(&opt);
        assert_int_equal(hf_sqlite_frozen(db), 1);
        assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 1);
        assert_int_not_equal(hf_sqlite_exec(db, "INSERT INTO t VALUES(2,2)", &err),
                             HF_OK);
        hf_sqlite_close_db(&db);
    }
    opt.read_only = 0;
    static const char *const bad[] = {NULL, "", "state.db", "/", "/tmp/", "/tmp/.."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        opt.path = bad[i];
        assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_INVALID);
    }
    static const size_t lengths[] = {505, 4000, 4900};
    for (size_t i = 0; i < 3; i++) {
        memset(deep, 'x', sizeof deep);
        deep[0] = '/';
        for (size_t j = 100; j < lengths[i]; j += 100)
            deep[j] = '/';
        deep[lengths[i]] = '\0';
        opt.path = deep;
        assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_TOO_BIG);
    }
    assert_false(exists("/xxxxxxxxxx"));
}

static void
used_home_is_noticed(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    write_file(in_dir("state.db"), "", 0);
    struct hf_sqlite_db *db = opened(&opt);
    hf_sqlite_close_db(&db);
    assert_int_equal(logged("used_home_empty"), 0);
    mkdir(in_dir("used"), 0700);
    mkdir(in_dir("used/sessions"), 0700);
    write_file(in_dir("used/sessions/a.json"), "{}", 2);
    write_file(in_dir("used/state.db.bak"), "x", 1);
    write_file(in_dir("used/state.db"), "", 0);
    opt.path = in_dir("used/state.db");
    for (int i = 0; i < 2; i++) {
        db = opened(&opt);
        hf_sqlite_close_db(&db);
    }
    assert_int_equal(logged("30 used_home_empty: "), 1);
    assert_int_equal(logged("sessions/"), 1);
    assert_int_equal(logged("state.db.bak"), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_database),
        TEST(initialize_only_when_stale),
        TEST(failed_initialize_leaves_nothing),
        TEST(settled_open_beside_a_writer),
        TEST(mode_unknown_under_an_exclusive_lock),
        TEST(second_handle_keeps_the_locks),
        TEST(loose_modes_are_tightened),
        TEST(many_open_a_new_file_at_once),
        TEST(paths),
        TEST(used_home_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
