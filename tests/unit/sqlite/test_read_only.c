/* test_read_only.c - reading creates, changes and holds up nothing (SPEC 3.5). */
#include "db_test.h"

#include <dirent.h>

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static int
files_in_dir(void)
{
    int n = 0;
    DIR *dir = opendir(test_dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static struct hf_sqlite_db *
reading(const char *name)
{
    struct hf_sqlite_options opt = options_for(in_dir(name));
    opt.read_only = 1;
    return opened(&opt);
}

static int64_t
count(struct hf_sqlite_db *db)
{
    sqlite3_stmt *stmt;
    struct hf_error err;
    if (hf_sqlite_prepare(db, "SELECT count(*) FROM t", &stmt, &err) != HF_OK)
        fail_msg("%s", err.message);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    hf_sqlite_done(stmt);
    return n;
}

static void
missing_stays_missing(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("no/such/state.db"));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    opt.read_only = 1;
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_NOT_FOUND);
    opt.read_only = 0;
    opt.read_only_first = 1;
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_NOT_FOUND);
    assert_int_equal(files_in_dir(), 0);
}

static void
closed_wal_file_is_read_immutable(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b);"
                                "INSERT INTO t VALUES(1,1)");
    assert_int_equal(files_in_dir(), 1);
    struct hf_sqlite_db *db = reading("state.db");
    struct hf_error err;
    assert_int_equal(hf_sqlite_frozen(db), 1);
    assert_int_equal(count(db), 1);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_READ_ONLY);
    assert_int_equal(hf_sqlite_exec(db, "INSERT INTO t VALUES(2,2)", &err),
                     HF_READ_ONLY);
    assert_int_equal(files_in_dir(), 1);
    /* Somebody comes to write: the next read sees it, and is no longer frozen. */
    struct other o = other_start(in_dir("state.db"), "INSERT INTO t VALUES(2,2)");
    hf__sleep_ms(1100); /* looked for on idle handles */
    assert_int_equal(count(db), 2);
    assert_int_equal(hf_sqlite_frozen(db), 0);
    hf_sqlite_close_db(&db);
    other_end(&o);
}

/* A read of several statements keeps its handle, and learns that it may be torn. */
static void
written_while_read_immutable(void **state)
{
    (void)state;
    struct hf_error err;
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b);"
                                "INSERT INTO t VALUES(1,1)");
    struct hf_sqlite_db *db = reading("state.db");
    assert_int_equal(hf_sqlite_read_begin(db, &err), HF_OK);
    assert_int_equal(count(db), 1);
    assert_int_equal(hf_sqlite_read_check(db, &err), HF_OK);
    struct other o = other_start(in_dir("state.db"), "INSERT INTO t VALUES(2,2)");
    hf__sleep_ms(1100);
    assert_int_equal(count(db), 1);
    assert_int_equal(hf_sqlite_frozen(db), 1);
    assert_int_equal(hf_sqlite_read_check(db, &err), HF_BUSY);
    assert_int_equal(hf_sqlite_read_begin(db, &err), HF_OK);
    assert_int_equal(hf_sqlite_frozen(db), 0);
    assert_int_equal(count(db), 2);
    assert_int_equal(hf_sqlite_read_check(db, &err), HF_OK);
    hf_sqlite_close_db(&db);
    other_end(&o);
}

static void
empty_file_is_an_empty_database(void **state)
{
    (void)state;
    write_file(in_dir("state.db"), "", 0);
    write_file(in_dir("state.db-wal"), "", 0);
    struct hf_sqlite_db *db = reading("state.db");
    assert_int_equal(
        raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM sqlite_schema"), 0);
    hf_sqlite_close_db(&db);
    assert_int_equal(files_in_dir(), 2);
}

static void
live_wal_is_read_as_it_is(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b)");
    struct other o =
        other_start(in_dir("state.db"), "PRAGMA wal_autocheckpoint=0;"
                                        "INSERT INTO t VALUES(1,1); BEGIN IMMEDIATE");
    long long wal = file_size(in_dir("state.db-wal"));
    int64_t start = hf__monotonic_ms();
    struct hf_sqlite_db *db = reading("state.db");
    assert_true(hf__monotonic_ms() - start < 500);
    assert_int_equal(count(db), 1);
    assert_int_equal(hf_sqlite_frozen(db), 0);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    hf_sqlite_close_db(&db);
    assert_int_equal(file_size(in_dir("state.db-wal")), wal);
    other_end(&o);
}

/* A killed writer's WAL without its -shm: only a private copy can bring it in. */
static void
wal_without_shm_is_read_from_a_copy(void **state)
{
    (void)state;
    char tmp[300];
    snprintf(tmp, sizeof tmp, "%s/tmp", test_dir);
    mkdir(tmp, 0700);
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b)");
    struct other o = other_start(in_dir("state.db"), "INSERT INTO t VALUES(1,1)");
    other_kill(&o);
    unlink(in_dir("state.db-shm"));
    long long main_size = file_size(in_dir("state.db"));
    long long wal = file_size(in_dir("state.db-wal"));
    assert_true(wal > 0);
    setenv("TMPDIR", tmp, 1);
    struct hf_sqlite_db *db = reading("state.db");
    unsetenv("TMPDIR");
    assert_int_equal(hf_sqlite_frozen(db), 1);
    assert_int_equal(logged("20 read_from_copy: "), 1);
    assert_int_equal(count(db), 1);
    assert_int_equal(rmdir(tmp), 0); /* nothing is left there */
    struct hf_error err;
    assert_int_not_equal(hf_sqlite_exec(db, "INSERT INTO t VALUES(2,2)", &err), HF_OK);
    assert_int_equal(count(db), 1);
    hf_sqlite_close_db(&db);
    assert_int_equal(file_size(in_dir("state.db")), main_size);
    assert_int_equal(file_size(in_dir("state.db-wal")), wal);
    assert_false(exists(in_dir("state.db-shm")));
}

static void
hot_journal_is_read_from_a_copy(void **state)
{
    (void)state;
    static unsigned char before[1 << 20], after[1 << 20];
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a,b); INSERT INTO t VALUES(1,1)");
    /* A cache of one page: the transaction writes into the main file before its end. */
    struct other o =
        other_start(in_dir("state.db"),
                    "PRAGMA cache_size=1; BEGIN; WITH RECURSIVE c(x) AS (SELECT 1 "
                    "UNION ALL SELECT x+1 FROM c LIMIT 200) INSERT INTO t SELECT x, "
                    "randomblob(900) FROM c");
    other_kill(&o);
    assert_true(file_size(in_dir("state.db-journal")) > 512);
    size_t len = read_whole(in_dir("state.db"), before, sizeof before);
    struct hf_sqlite_db *db = reading("state.db");
    assert_int_equal(hf_sqlite_frozen(db), 1);
    assert_int_equal(count(db), 1); /* rolled back in the copy */
    hf_sqlite_close_db(&db);
    assert_int_equal(read_whole(in_dir("state.db"), after, sizeof after), len);
    assert_memory_equal(before, after, len);
    assert_true(exists(in_dir("state.db-journal")));
    /* A header that the crash tore is in the journal: no reason to refuse. */
    int fd = open(in_dir("state.db"), O_WRONLY | O_CLOEXEC);
    memset(before, 0, 100);
    assert_int_equal(pwrite(fd, before, 100, 0), 100);
    close(fd);
    db = reading("state.db");
    assert_int_equal(count(db), 1);
    hf_sqlite_close_db(&db);
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    db = opened(&opt);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 1);
    hf_sqlite_close_db(&db);
}

static int current_calls;
static int
current(void *ctx, sqlite3 *db, uint32_t *ret_stale, struct hf_error *err)
{
    (void)ctx;
    (void)err;
    current_calls++;
    *ret_stale = sqlite3_table_column_metadata(db, NULL, "t", "b", NULL, NULL, NULL,
                                               NULL, NULL) != SQLITE_OK;
    return HF_OK;
}

static int
add_column(void *ctx, sqlite3 *db, struct hf_error *err)
{
    (void)ctx;
    (void)err;
    init_calls++;
    return sqlite3_exec(db, "ALTER TABLE t ADD COLUMN b", NULL, NULL, NULL) ? HF_IO
                                                                            : HF_OK;
}

static void
read_only_first(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_error err;
    opt.is_current = current;
    opt.initialize = add_column;
    init_calls = current_calls = 0;
    opt.read_only = 1;
    struct hf_sqlite_db *db = opened(&opt); /* plain reading never writes */
    hf_sqlite_close_db(&db);
    assert_int_equal(init_calls, 0);
    opt.read_only = 0;
    opt.read_only_first = 1;
    db = opened(&opt);
    assert_int_equal(init_calls, 1);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(b) FROM t"), 0);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_READ_ONLY);
    hf_sqlite_close_db(&db);
    db = opened(&opt);
    hf_sqlite_close_db(&db);
    assert_int_equal(init_calls, 1);
    /* Behind, and nobody lets us write: read as it is. */
    raw_sql(in_dir("old.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    struct other o = other_start(in_dir("old.db"), "BEGIN IMMEDIATE");
    opt.path = in_dir("old.db");
    opt.patience_ms = 200;
    db = opened(&opt);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 0);
    assert_int_equal(init_calls, 1);
    assert_int_equal(logged("20 schema_stale: "), 1);
    hf_sqlite_close_db(&db);
    other_end(&o);
}

static void
own_writer_and_reader_side_by_side(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    opt.initialize = init_table;
    struct hf_sqlite_db *writer = opened(&opt), *reader = reading("state.db");
    for (int i = 1; i < 4; i++) {
        run(writer, "INSERT INTO t VALUES(1,1)");
        assert_int_equal(count(reader), i);
    }
    assert_int_equal(hf_sqlite_frozen(reader), 0);
    hf_sqlite_close_db(&writer);
    assert_int_equal(file_size(in_dir("state.db-wal")), 0);
    assert_int_equal(count(reader), 3);
    hf_sqlite_close_db(&reader);
    /* Closed by us: the sidecars stay, and a reader needs no copy. */
    reader = reading("state.db");
    assert_int_equal(count(reader), 3);
    hf_sqlite_close_db(&reader);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_stays_missing),
        TEST(closed_wal_file_is_read_immutable),
        TEST(written_while_read_immutable),
        TEST(empty_file_is_an_empty_database),
        TEST(live_wal_is_read_as_it_is),
        TEST(wal_without_shm_is_read_from_a_copy),
        TEST(hot_journal_is_read_from_a_copy),
        TEST(read_only_first),
        TEST(own_writer_and_reader_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
