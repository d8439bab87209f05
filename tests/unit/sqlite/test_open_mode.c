/* test_open_mode.c - which journal mode an open leaves a database in (SPEC 3.2). */
#include "db_test.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static void
cross_vm_new_and_empty(void **state)
{
    (void)state;
    test_mount.mount_class = HF_MOUNT_CROSS_VM;
    test_mount.known_native = 0;
    snprintf(test_mount.fs_type, sizeof test_mount.fs_type, "virtiofs");
    for (int empty = 0; empty < 2; empty++) {
        const char *path = in_dir(empty ? "b.db" : "a.db");
        struct hf_sqlite_options o = options_for(path);
        o.initialize = init_table;
        if (empty)
            write_file(path, "", 0);
        for (int i = 0; i < 3; i++) {
            struct hf_sqlite_db *db = opened(&o);
            assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_DELETE);
            assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"),
                             0);
            hf_sqlite_close_db(&db);
        }
        assert_string_equal(header_mode(path), "1/1");
        assert_int_equal(logged("30 cross_vm_delete: "), 1 + empty);
    }
    assert_int_equal(logged("virtiofs"), 2);
    assert_int_equal(logged("database.journal_mode: delete"), 2);
    assert_int_equal(logged("native or named volume"), 2);
    assert_false(exists(in_dir("a.db-wal")) || exists(in_dir("a.db-shm")));
    struct hf_sqlite_options o = options_for(in_dir("c.db"));
    o.mount_check_off = 1;
    struct hf_sqlite_db *db = opened(&o);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    hf_sqlite_close_db(&db);
}

static void
cross_vm_existing_wal_stays(void **state)
{
    (void)state;
    const char *path = in_dir("state.db");
    raw_sql(path,
            "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(7)");
    raw_sql(in_dir("one-page.db"), "PRAGMA journal_mode=WAL");
    test_mount.mount_class = HF_MOUNT_CROSS_VM;
    snprintf(test_mount.fs_type, sizeof test_mount.fs_type, "fuse.virtiofs");
    struct hf_sqlite_options o = options_for(path);
    for (int i = 0; i < 3; i++) {
        struct hf_sqlite_db *db = opened(&o);
        assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
        assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT a FROM t"), 7);
        hf_sqlite_close_db(&db);
    }
    assert_string_equal(header_mode(path), "2/2");
    assert_int_equal(logged("40 cross_vm_existing_wal: "), 1);
    assert_int_equal(logged("set-journal-mode delete"), 1);
    o.path = in_dir("one-page.db");
    struct hf_sqlite_db *db = opened(&o);
    hf_sqlite_close_db(&db);
    assert_string_equal(header_mode(in_dir("one-page.db")), "2/2");
    assert_int_equal(logged("40 cross_vm_existing_wal: "), 2);
}

static void
configured_delete(void **state)
{
    (void)state;
    struct hf_sqlite_options o = options_for(in_dir("new.db"));
    o.initialize = init_table;
    o.journal_mode = HF_JOURNAL_DELETE;
    struct hf_sqlite_db *db = opened(&o);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_DELETE);
    hf_sqlite_close_db(&db);
    assert_string_equal(header_mode(in_dir("new.db")), "1/1");
    assert_false(exists(in_dir("new.db-wal")));

    raw_sql(in_dir("old.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    o.path = in_dir("old.db");
    for (int i = 0; i < 2; i++) {
        db = opened(&o);
        assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
        hf_sqlite_close_db(&db);
    }
    assert_string_equal(header_mode(in_dir("old.db")), "2/2");
    assert_int_equal(logged("40 delete_overridden: "), 1);
    o.require_wal = 1;
    o.path = in_dir("new.db");
    struct hf_error err;
    assert_int_equal(hf_sqlite_open_db(&o, &db, &err), HF_UNSUPPORTED);
}

static void
rollback_file_is_upgraded_once(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a)");
    struct hf_sqlite_options o = options_for(in_dir("state.db"));
    for (int i = 0; i < 2; i++) {
        struct hf_sqlite_db *db = opened(&o);
        assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
        hf_sqlite_close_db(&db);
    }
    assert_int_equal(logged("30 journal_upgraded: "), 1);
}

static void
upgrade_gives_way_to_a_reader(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a)");
    struct other o = other_start(in_dir("state.db"), "BEGIN; SELECT count(*) FROM t");
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    opt.patience_ms = 1500;
    struct hf_sqlite_db *db = opened(&opt);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_DELETE);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 0);
    assert_int_equal(logged("wal_refused"), 0); /* a lock says nothing of the mount */
    assert_int_equal(logged("20 wal_deferred: "), 1);
    hf_sqlite_close_db(&db);
    other_end(&o);
    db = opened(&opt);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_WAL);
    hf_sqlite_close_db(&db);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cross_vm_new_and_empty),
        TEST(cross_vm_existing_wal_stays),
        TEST(configured_delete),
        TEST(rollback_file_is_upgraded_once),
        TEST(upgrade_gives_way_to_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
