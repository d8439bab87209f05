/* test_wal_holders.c - an open beside processes that still use deleted files, and no
 * alarm where nothing is wrong (SPEC 4.3). */
#include "generation_test.h"

static void
open_beside_a_deleted_generation(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt), *second = NULL;
    struct hf_error err;
    char pid[32];
    insert(db, 1);
    hf_sqlite_close_db(&db);
    struct other other =
        other_start(in_dir("state.db"), "INSERT INTO t VALUES(2,'other')");
    unlink(in_dir("state.db-wal"));
    unlink(in_dir("state.db-shm"));
    assert_int_equal(hf_sqlite_open_db(&opt, &second, &err), HF_WAL_LOST);
    snprintf(pid, sizeof pid, "pid %d (", (int)other.pid);
    assert_non_null(strstr(err.message, pid));
    assert_int_equal(file_size(in_dir("state.db-wal")), -1);
    /* The commit that only that process has is safe, once. */
    assert_non_null(retired());
    assert_non_null(strstr(err.message, retired()));
    assert_int_equal(hf_sqlite_open_db(&opt, &second, &err), HF_WAL_LOST);
    assert_non_null(retired());
    other_kill(&other);
    second = opened(&opt);
    insert(second, 3);
    hf_sqlite_close_db(&second);
}

static void
open_beside_an_own_lost_handle(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt), *second = NULL;
    struct hf_error err;
    insert(db, 1);
    unlink(in_dir("state.db-wal"));
    assert_int_equal(hf_sqlite_open_db(&opt, &second, &err), HF_WAL_LOST);
    assert_non_null(strstr(err.message, "this process"));
    hf_sqlite_close_db(&db);
    db = opened(&opt);
    insert(db, 2);
    hf_sqlite_close_db(&db);
}

/* Somebody made a new log at once: nothing is missing, and still the old one lives. */
static void
open_after_a_loss(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt), *second = NULL;
    struct hf_error err;
    insert(db, 1);
    hf_sqlite_close_db(&db);
    struct other other =
        other_start(in_dir("state.db"), "INSERT INTO t VALUES(2,'other')");
    unlink(in_dir("state.db-wal"));
    unlink(in_dir("state.db-shm"));
    struct other newer =
        other_start(in_dir("state.db"), "INSERT INTO t VALUES(3,'newer')");
    opt.after_loss = 1;
    assert_int_equal(hf_sqlite_open_db(&opt, &second, &err), HF_WAL_LOST);
    other_kill(&other);
    second = opened(&opt); /* who has the files of now is no reason */
    insert(second, 4);
    hf_sqlite_close_db(&second);
    other_kill(&newer);
}

static void
open_over_a_replaced_one(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *second = NULL;
    struct hf_error err;
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b)");
    struct other other =
        other_start(in_dir("state.db"), "INSERT INTO t VALUES(1,'other')");
    raw_sql(in_dir("backup.db"), "CREATE TABLE t(a,b); INSERT INTO t VALUES(7,'old')");
    rename(in_dir("backup.db"), in_dir("state.db"));
    assert_int_equal(hf_sqlite_open_db(&opt, &second, &err), HF_REPLACED);
    assert_non_null(strstr(err.message, "stop them first"));
    assert_string_equal(header_mode(in_dir("state.db")), "1/1");
    other_kill(&other);
}

static void
names_are_no_evidence(void **state)
{
    (void)state;
    struct hf__orphans *found = calloc(1, sizeof *found);
    uint32_t all = 7;
    assert_true(hf__orphan_link_is("/a/state.db-wal", "/a/state.db-wal"));
    assert_true(hf__orphan_link_is("/a/state.db-wal (deleted)", "/a/state.db-wal"));
    assert_false(hf__orphan_link_is("/a/state.db-wal2", "/a/state.db-wal"));
    assert_false(hf__orphan_link_is("/a (deleted)/state.db-wal", "/a/state.db-wal"));
    /* A folder whose own name ends so, and a store that is well. */
    char folder[300], name[400];
    snprintf(folder, sizeof folder, "%s/x (deleted)", test_dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(name, sizeof name, "%s/state.db", folder);
    struct hf_sqlite_options opt = table_options();
    opt.path = name;
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    hf__orphans_find(name, all, found);
    assert_int_equal(found->n, 0);
    hf_sqlite_close_db(&db);
    free(found);
}

/* ---- no false alarm ---- */

static void
ordinary_clients_come_and_go(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    for (int i = 0; i < 200; i++) {
        insert(db, i);
        raw_sql(in_dir("state.db"), "INSERT INTO t VALUES(-1,'raw');"
                                    "PRAGMA wal_checkpoint(TRUNCATE)");
        if (i % 50 == 0) { /* ... and when we are not there */
            hf_sqlite_close_db(&db);
            raw_sql(in_dir("state.db"), "INSERT INTO t VALUES(-2,'raw')");
            db = opened(&opt);
        }
    }
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 404);
    raw_sql(in_dir("state.db"), "VACUUM");
    insert(db, 1);
    hf_sqlite_close_db(&db);
    assert_int_equal(logged("40 "), 0);
    assert_null(retired());
}

static void
rollback_mode_and_a_change_of_mode(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    opt.journal_mode = HF_JOURNAL_DELETE;
    struct hf_sqlite_db *db = opened(&opt);
    for (int i = 0; i < 20; i++) {
        insert(db, i);
        raw_sql(in_dir("state.db"), "INSERT INTO t VALUES(-1,'raw')");
    }
    assert_int_equal(db->generation.file[HF__GEN_WAL].known, 0);
    raw_sql(in_dir("state.db"), "VACUUM");
    insert(db, 21);
    /* Turned to WAL under an idle handle, and back, and again. */
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL");
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=DELETE");
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL");
    insert(db, 22);
    assert_int_equal(db->generation.file[HF__GEN_WAL].known, 1);
    assert_int_equal(db->generation.file[HF__GEN_SHM].known, 1);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    raw_sql(in_dir("state.db"), "INSERT INTO t VALUES(-1,'raw')");
    insert(db, 23);
    assert_int_equal(logged("40 "), 0);
    unlink(in_dir("state.db-wal"));
    refused(db, HF_WAL_LOST, "state.db-wal was deleted");
    hf_sqlite_close_db(&db);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(open_beside_a_deleted_generation),
        TEST(open_beside_an_own_lost_handle),
        TEST(open_after_a_loss),
        TEST(open_over_a_replaced_one),
        TEST(names_are_no_evidence),
        TEST(ordinary_clients_come_and_go),
        TEST(rollback_mode_and_a_change_of_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
