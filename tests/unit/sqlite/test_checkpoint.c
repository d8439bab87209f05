/* test_checkpoint.c - checkpoints are whole or nothing, never beside a commit
 * (SPEC 3.3). */
#include "db_test.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static unsigned char before[1 << 22], after[1 << 22];

static void
fill(struct hf_sqlite_db *db, int rows)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c "
             "LIMIT %d) INSERT INTO t SELECT x, randomblob(400) FROM c",
             rows);
    run(db, sql);
}

static uint32_t
checkpoint(struct hf_sqlite_db *db, uint32_t truncate)
{
    struct hf_error err;
    uint32_t done = 77;
    if (hf_sqlite_checkpoint(db, truncate, &done, &err) != HF_OK)
        fail_msg("%s", err.message);
    return done;
}

/* The checkpoint is deferred, and not one byte of the main file has changed. */
static void
assert_deferred(struct hf_sqlite_db *db, uint32_t truncate)
{
    size_t len = read_whole(in_dir("state.db"), before, sizeof before);
    assert_int_equal(checkpoint(db, truncate), 0);
    assert_int_equal(read_whole(in_dir("state.db"), after, sizeof after), len);
    assert_memory_equal(before, after, len);
    /* The interrupt is used up: the handle works on. */
    assert_true(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t") > 0);
}

static struct hf_sqlite_db *
new_db(void)
{
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    opt.initialize = init_table;
    opt.wal_autocheckpoint = 50;
    struct hf_sqlite_db *db = opened(&opt);
    fill(db, 100);
    return db;
}

static void
whole_or_nothing(void **state)
{
    (void)state;
    struct hf_sqlite_db *db = new_db();
    assert_int_equal(checkpoint(db, 0), 1);
    fill(db, 100);
    struct other reader =
        other_start(in_dir("state.db"), "BEGIN; SELECT count(*) FROM t");
    fill(db, 300);
    for (uint32_t truncate = 0; truncate < 2; truncate++)
        assert_deferred(db, truncate);
    other_end(&reader);
    struct other writer = other_start(in_dir("state.db"), "BEGIN IMMEDIATE");
    for (uint32_t truncate = 0; truncate < 2; truncate++)
        assert_deferred(db, truncate);
    other_end(&writer);
    /* A reader on the tip is not in the way of the copy, only of the emptying. */
    struct other tip = other_start(in_dir("state.db"), "BEGIN; SELECT count(*) FROM t");
    assert_int_equal(checkpoint(db, 1), 0);
    assert_int_equal(checkpoint(db, 0), 1);
    other_end(&tip);
    assert_int_equal(checkpoint(db, 1), 1);
    assert_int_equal(file_size(in_dir("state.db-wal")), 0);
    hf_sqlite_close_db(&db);
}

static void
only_when_due(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_error err;
    opt.initialize = init_table;
    opt.wal_autocheckpoint = 50;
    struct hf_sqlite_db *db = opened(&opt);
    fill(db, 10);
    long long size = file_size(in_dir("state.db"));
    assert_int_equal(hf_sqlite_checkpoint_if_due(db, &err), HF_OK);
    assert_int_equal(file_size(in_dir("state.db")), size);
    fill(db, 600);
    assert_int_equal(file_size(in_dir("state.db")), size); /* never by itself */
    assert_int_equal(hf_sqlite_checkpoint_if_due(db, &err), HF_OK);
    assert_true(file_size(in_dir("state.db")) > size);
    /* Not due again until as much has come again. */
    assert_true(atomic_load(&db->wal_pages) - db->checkpoint_base < 50);
    /* Deferred by a reader, it is not asked for at every commit. */
    struct other reader =
        other_start(in_dir("state.db"), "BEGIN; SELECT count(*) FROM t");
    fill(db, 600);
    size = file_size(in_dir("state.db"));
    assert_int_equal(hf_sqlite_checkpoint_if_due(db, &err), HF_OK);
    assert_int_equal(file_size(in_dir("state.db")), size);
    assert_true(atomic_load(&db->wal_pages) - db->checkpoint_base < 50);
    other_end(&reader);
    fill(db, 200);
    assert_int_equal(hf_sqlite_checkpoint_if_due(db, &err), HF_OK);
    assert_true(file_size(in_dir("state.db")) > size);
    hf_sqlite_close_db(&db);
}

static void
refused_in_use(void **state)
{
    (void)state;
    struct hf_sqlite_db *db = new_db();
    struct hf_error err;
    sqlite3_stmt *stmt;
    uint32_t done = 77;
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t", &stmt, &err), HF_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(hf_sqlite_checkpoint(db, 0, &done, &err), HF_MISUSE);
    hf_sqlite_done(stmt);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_OK);
    assert_int_equal(hf_sqlite_checkpoint(db, 0, &done, &err), HF_MISUSE);
    hf_sqlite_rollback(db);
    assert_int_equal(done, 77);
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    opt.read_only = 1;
    struct hf_sqlite_db *reader = opened(&opt);
    assert_int_equal(hf_sqlite_checkpoint(reader, 0, &done, &err), HF_READ_ONLY);
    hf_sqlite_close_db(&reader);
    hf_sqlite_close_db(&db);
}

static void
only_the_last_close_empties(void **state)
{
    (void)state;
    struct hf_sqlite_db *a = new_db();
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *b = opened(&opt);
    hf_sqlite_close_db(&a);
    assert_true(file_size(in_dir("state.db-wal")) > 0);
    hf_sqlite_close_db(&b);
    assert_int_equal(file_size(in_dir("state.db-wal")), 0);
    /* The main file alone is whole. */
    unlink(in_dir("state.db-wal"));
    unlink(in_dir("state.db-shm"));
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(in_dir("state.db"), &raw), SQLITE_OK);
    assert_int_equal(raw_int(raw, "SELECT count(*) FROM t"), 100);
    sqlite3_close(raw);
}

static void
close_beside_a_reader_changes_nothing(void **state)
{
    (void)state;
    struct hf_sqlite_db *db = new_db();
    struct other reader =
        other_start(in_dir("state.db"), "BEGIN; SELECT count(*) FROM t");
    fill(db, 100);
    size_t len = read_whole(in_dir("state.db"), before, sizeof before);
    hf_sqlite_close_db(&db);
    assert_int_equal(read_whole(in_dir("state.db"), after, sizeof after), len);
    assert_memory_equal(before, after, len);
    assert_true(file_size(in_dir("state.db-wal")) > 0);
    other_end(&reader);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_or_nothing),
        TEST(only_when_due),
        TEST(refused_in_use),
        TEST(only_the_last_close_empties),
        TEST(close_beside_a_reader_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
