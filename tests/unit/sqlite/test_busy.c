/* test_busy.c - waiting for a lock: the deadline, the text, who is named, cancelling.
 */
#include <pthread.h>

#include "db_test.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static struct hf_sqlite_db *
new_db(struct hf_sqlite_options *opt)
{
    *opt = options_for(in_dir("state.db"));
    opt->initialize = init_table;
    return opened(opt);
}

static void
gives_up_at_the_deadline(void **state)
{
    (void)state;
    struct hf_sqlite_options opt;
    struct hf_sqlite_db *db = new_db(&opt);
    struct hf_error err;
    char pid[32];
    struct other o = other_start(in_dir("state.db"), "BEGIN IMMEDIATE");
    int64_t start = hf__monotonic_ms();
    assert_int_equal(hf_sqlite_begin(db, 700, &err), HF_BUSY);
    assert_true(hf__monotonic_ms() - start >= 700);
    assert_non_null(strstr(err.message, "waited 0.7 s"));
    snprintf(pid, sizeof pid, "pid %d ", (int)o.pid);
    assert_non_null(strstr(err.message, pid));
    assert_int_equal(logged(pid), 1);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_BUSY);
    assert_non_null(strstr(err.message, "waited 0.0 s"));
    /* Reading goes on beside it. */
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 0);
    other_end(&o);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_OK);
    hf_sqlite_rollback(db);
    hf_sqlite_rollback(db);
    hf_sqlite_close_db(&db);
}

static void *
let_go_later(void *o)
{
    hf__sleep_ms(600);
    other_end(o);
    return NULL;
}

static void
waits_until_the_lock_is_free(void **state)
{
    (void)state;
    struct hf_sqlite_options opt;
    struct hf_sqlite_db *db = new_db(&opt);
    struct hf_error err;
    pthread_t thread;
    struct other o = other_start(in_dir("state.db"), "BEGIN IMMEDIATE");
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, &o), 0);
    assert_int_equal(hf_sqlite_begin(db, -1, &err), HF_OK);
    run(db, "INSERT INTO t VALUES(1,1)");
    assert_int_equal(hf_sqlite_commit(db, &err), HF_OK);
    pthread_join(thread, NULL);
    hf_sqlite_close_db(&db);
}

static void *
interrupt_later(void *db)
{
    hf__sleep_ms(200);
    hf_sqlite_interrupt(db);
    return NULL;
}

static void
interrupt_ends_a_wait(void **state)
{
    (void)state;
    struct hf_sqlite_options opt;
    struct hf_sqlite_db *db = new_db(&opt);
    struct hf_error err;
    pthread_t thread;
    struct other o = other_start(in_dir("state.db"), "BEGIN IMMEDIATE");
    hf_sqlite_interrupt(db); /* before the call: does not concern it */
    assert_int_equal(pthread_create(&thread, NULL, interrupt_later, db), 0);
    int64_t start = hf__monotonic_ms();
    assert_int_equal(hf_sqlite_begin(db, 20000, &err), HF_CANCELLED);
    assert_true(hf__monotonic_ms() - start < 10000);
    pthread_join(thread, NULL);
    other_end(&o);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_OK);
    /* A transaction that was cancelled half-way is not committed. */
    run(db, "INSERT INTO t VALUES(1,1)");
    hf_sqlite_interrupt(db);
    assert_int_equal(hf_sqlite_commit(db, &err), HF_CANCELLED);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 0);
    /* And a long statement ends, too. */
    assert_int_equal(pthread_create(&thread, NULL, interrupt_later, db), 0);
    assert_int_equal(hf_sqlite_exec(db,
                                    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT "
                                    "x+1 FROM c) SELECT count(*) FROM c",
                                    &err),
                     HF_CANCELLED);
    pthread_join(thread, NULL);
    hf_sqlite_close_db(&db);
}

/* A read of ours, a commit of another process, then a write of ours. */
static void
stale_snapshot_is_no_lock(void **state)
{
    (void)state;
    struct hf_sqlite_options opt;
    struct hf_sqlite_db *db = new_db(&opt);
    struct hf_error err;
    sqlite3_stmt *stmt;
    run(db, "INSERT INTO t VALUES(1,1),(2,2)");
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t", &stmt, &err), HF_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    struct other o = other_start(in_dir("state.db"), "INSERT INTO t VALUES(3,3)");
    other_end(&o);
    hf_sqlite_done(stmt);
    assert_int_equal(hf_sqlite_begin(db, 0, &err), HF_OK);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 3);
    assert_int_equal(hf_sqlite_commit(db, &err), HF_OK);
    /* With the read left open it is our own fault, said at once. */
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t", &stmt, &err), HF_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    o = other_start(in_dir("state.db"), "INSERT INTO t VALUES(4,4)");
    other_end(&o);
    int64_t start = hf__monotonic_ms();
    assert_int_equal(hf_sqlite_begin(db, 20000, &err), HF_MISUSE);
    assert_true(hf__monotonic_ms() - start < 10000);
    hf_sqlite_done(stmt);
    hf_sqlite_close_db(&db);
}

static void
statements_are_prepared_once(void **state)
{
    (void)state;
    struct hf_sqlite_options opt;
    struct hf_sqlite_db *db = new_db(&opt);
    struct hf_error err;
    sqlite3_stmt *a, *b, *c;
    run(db, "INSERT INTO t VALUES(1,1),(2,2)");
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t WHERE b>?", &a, &err),
                     HF_OK);
    sqlite3_bind_int(a, 1, 0);
    assert_int_equal(sqlite3_step(a), SQLITE_ROW);
    /* Running: a caller further in gets a twin. */
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t WHERE b>?", &b, &err),
                     HF_OK);
    assert_ptr_not_equal(a, b);
    assert_int_equal(sqlite3_step(a), SQLITE_ROW);
    hf_sqlite_done(a);
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t WHERE b>?", &c, &err),
                     HF_OK);
    assert_true(c == a || c == b);
    assert_int_equal(sqlite3_step(c), SQLITE_DONE); /* no binding is left: b > NULL */
    hf_sqlite_done(c);
    assert_int_not_equal(hf_sqlite_prepare(db, "SELECT nonsense", &c, &err), HF_OK);
    for (int i = 0; i < 1000; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT %d", i);
        assert_int_equal(hf_sqlite_prepare(db, sql, &c, &err), HF_OK);
    }
    assert_true(db->n_statements <= 256);
    hf_sqlite_close_db(&db);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_up_at_the_deadline),     TEST(waits_until_the_lock_is_free),
        TEST(interrupt_ends_a_wait),        TEST(stale_snapshot_is_no_lock),
        TEST(statements_are_prepared_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
