/* test_generation.c - the files a handle has open against those at its paths
 * (SPEC 4.3). */
#include "generation_test.h"

#include "util/sha256.h"

/* Make lstat() of one path, and mkdir(), fail. */
static const char *stat_fails_for;
static int stat_error;
int __real_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st);
static int mkdir_error;
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);

static void
identities_are_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    for (int i = 0; i < HF__GEN_FILES; i++) {
        struct stat at_path, own;
        assert_int_equal(stat(in_dir(names[i]), &at_path), 0);
        assert_int_equal(db->generation.file[i].known, 1);
        assert_int_equal(db->generation.file[i].ino, at_path.st_ino);
        /* Through SQLite's own descriptor, not by the path. */
        rename(in_dir(names[i]), in_dir("elsewhere"));
        assert_int_equal(hf__own_stat(db, i, &own), 1);
        assert_int_equal(own.st_ino, at_path.st_ino);
        rename(in_dir("elsewhere"), in_dir(names[i]));
    }
    insert(db, 1);
    hf_sqlite_close_db(&db);
}

static void
sidecars_deleted(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    struct hf_error err;
    uint32_t done = 77;
    double since = 0;
    insert(db, 1);
    insert(db, 2);
    assert_int_equal(hf_sqlite_lost(db, NULL, &err), HF_OK);
    unlink(in_dir("state.db-wal"));
    unlink(in_dir("state.db-shm"));
    refused(db, HF_WAL_LOST, "state.db-wal was deleted");
    const char *folder = retired();
    assert_non_null(folder);
    refused(db, HF_WAL_LOST, folder); /* for good, and once */
    assert_string_equal(retired(), folder);
    assert_int_equal(logged("40 wal_lost: "), 1);
    assert_int_equal(hf_sqlite_lost(db, &since, &err), HF_WAL_LOST);
    assert_true(since > 1e9);
    /* Reads go on; nothing else does. */
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 2);
    assert_int_equal(hf_sqlite_exec(db, "INSERT INTO t VALUES(3,'y')", &err),
                     HF_WAL_LOST);
    assert_int_equal(hf_sqlite_checkpoint(db, 1, &done, &err), HF_WAL_LOST);
    long long size = file_size(in_dir("state.db"));
    hf_sqlite_close_db(&db);
    assert_int_equal(file_size(in_dir("state.db")), size);
    assert_int_equal(file_size(in_dir("state.db-wal")), -1);
    /* The main file and the copy together hold it all. */
    char name[500];
    snprintf(name, sizeof name, "%s/state.db-wal", folder);
    copy(name, in_dir("state.db-wal"));
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(in_dir("state.db"), &raw), SQLITE_OK);
    assert_int_equal(raw_int(raw, "SELECT count(*) FROM t"), 2);
    sqlite3_close(raw);
}

static void
manifest_says_what_is_there(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 20];
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    struct stat st;
    char name[500], wanted[300], *text = NULL;
    unsigned char sum[32];
    size_t len = 0;
    struct hf_error err;
    insert(db, 1);
    assert_int_equal(stat(in_dir("state.db-wal"), &st), 0);
    unlink(in_dir("state.db-wal"));
    refused(db, HF_WAL_LOST, "state.db-wal");
    const char *folder = retired();
    assert_non_null(folder);
    snprintf(name, sizeof name, "%s/manifest.json", folder);
    assert_int_equal(hf__read_file(name, 1 << 16, &text, &len, &err), HF_OK);
    snprintf(wanted, sizeof wanted,
             "\"wal\":{\"device\":%llu,\"inode\":%llu,\"size\":%lld",
             (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
             (long long)st.st_size);
    assert_non_null(strstr(text, wanted));
    snprintf(name, sizeof name, "%s/state.db-wal", folder);
    len = read_whole(name, bytes, sizeof bytes);
    assert_int_equal(len, st.st_size);
    hf__sha256(bytes, len, sum);
    for (int i = 0; i < 32; i++)
        snprintf(wanted + 2 * i, 3, "%02x", sum[i]);
    assert_non_null(strstr(text, wanted));
    snprintf(name, sizeof name, "%s/state.db-header", folder);
    assert_int_equal(read_whole(name, bytes, sizeof bytes), 100);
    assert_memory_equal(bytes, "SQLite format 3", 16);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    free(text);
    hf_sqlite_close_db(&db);
}

static void
shm_alone_deleted(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    unlink(in_dir("state.db-shm"));
    refused(db, HF_WAL_LOST, "state.db-shm was deleted");
    hf_sqlite_close_db(&db);
}

static void
wal_exchanged(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    copy(in_dir("state.db-wal"), in_dir("other"));
    rename(in_dir("other"), in_dir("state.db-wal"));
    refused(db, HF_WAL_LOST, "state.db-wal is another file");
    hf_sqlite_close_db(&db);
}

/* A second name keeps the link count at 1: only the identity at the path counts. */
static void
hard_link_is_no_excuse(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    assert_int_equal(link(in_dir("state.db-wal"), in_dir("kept")), 0);
    unlink(in_dir("state.db-wal"));
    refused(db, HF_WAL_LOST, "state.db-wal was deleted");
    hf_sqlite_close_db(&db);
}

static void
lost_between_begin_and_commit(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    struct hf_error err;
    assert_int_equal(hf_sqlite_begin(db, -1, &err), HF_OK);
    run(db, "INSERT INTO t VALUES(1,'x')");
    unlink(in_dir("state.db-wal"));
    assert_int_equal(hf_sqlite_commit(db, &err), HF_WAL_LOST);
    assert_int_equal(logged("40 wal_lost: "), 1);
    hf_sqlite_close_db(&db);
}

static void
main_renamed_over(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    raw_sql(in_dir("backup.db"),
            "CREATE TABLE t(a,b); INSERT INTO t VALUES(7,'old'),(8,"
            "'old'),(9,'old')");
    rename(in_dir("backup.db"), in_dir("state.db"));
    refused(db, HF_REPLACED, "state.db is another file");
    assert_int_equal(logged("40 replaced: "), 1);
    /* Its log is out of the new file's way, and not lost. */
    assert_int_equal(file_size(in_dir("state.db-wal")), -1);
    assert_int_equal(file_size(in_dir("state.db-shm")), -1);
    assert_non_null(retired());
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 1);
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(in_dir("state.db"), &raw), SQLITE_OK);
    assert_int_equal(raw_int(raw, "SELECT count(*) FROM t"), 3);
    sqlite3_close(raw);
    hf_sqlite_close_db(&db);
    assert_int_equal(sqlite3_open(in_dir("state.db"), &raw), SQLITE_OK);
    assert_int_equal(raw_int(raw, "SELECT count(*) FROM t"), 3);
    sqlite3_close(raw);
}

static void
main_deleted(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    for (uint32_t mode = 0; mode < 2; mode++) {
        opt.journal_mode = mode ? HF_JOURNAL_DELETE : HF_JOURNAL_WAL;
        struct hf_sqlite_db *db = opened(&opt);
        insert(db, 1);
        rename(in_dir("state.db"), in_dir("gone"));
        refused(db, HF_REPLACED, "state.db is gone");
        /* It may come back: its log stays where it is. */
        assert_int_equal(file_size(in_dir("state.db-wal")) >= 0, !mode);
        rename(in_dir("gone"), in_dir("state.db"));
        refused(db, HF_REPLACED, "state.db is gone");
        hf_sqlite_close_db(&db);
        db = opened(&opt);
        insert(db, 2);
        assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 2);
        hf_sqlite_close_db(&db);
        unlink(in_dir("state.db"));
        unlink(in_dir("state.db-wal"));
        unlink(in_dir("state.db-shm"));
    }
}

static void
application_id_changed(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    opt.journal_mode = HF_JOURNAL_DELETE;
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    raw_sql(in_dir("state.db"), "PRAGMA application_id=17"); /* from 0: adopted */
    insert(db, 2);
    raw_sql(in_dir("state.db"), "PRAGMA application_id=0"); /* proves nothing */
    insert(db, 3);
    raw_sql(in_dir("state.db"), "PRAGMA application_id=18");
    refused(db, HF_REPLACED, "overwritten");
    hf_sqlite_close_db(&db);
}

static void
an_unsure_look_latches_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    struct hf_error err;
    insert(db, 1);
    for (int i = 0; i < HF__GEN_FILES; i++) {
        char name[400];
        snprintf(name, sizeof name, "%s", in_dir(names[i]));
        stat_fails_for = name;
        stat_error = EIO;
        assert_int_equal(try_insert(db, 2, &err), HF_IO);
        assert_int_equal(err.sys_errno, EIO);
        assert_int_equal(hf_sqlite_lost(db, NULL, &err), HF_OK);
        stat_fails_for = NULL;
        insert(db, 3);
    }
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 4);
    assert_int_equal(logged("40 "), 0);
    hf_sqlite_close_db(&db);
}

static void
two_handles_one_capture(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options(),
                             read = options_for(in_dir("state.db"));
    struct hf_sqlite_db *a = opened(&opt), *b = opened(&opt);
    struct hf_error err;
    read.read_only = 1;
    struct hf_sqlite_db *c = opened(&read);
    insert(a, 1);
    insert(b, 2);
    unlink(in_dir("state.db-wal"));
    refused(a, HF_WAL_LOST, "state.db-wal");
    refused(b, HF_WAL_LOST, retired());
    assert_int_equal(hf_sqlite_compare(c, &err), HF_WAL_LOST);
    assert_non_null(strstr(err.message, retired()));
    assert_int_equal(logged("40 wal_lost: "), 1);
    hf_sqlite_close_db(&a);
    hf_sqlite_close_db(&b);
    hf_sqlite_close_db(&c);
}

static void
idle_handles_look_when_they_read(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    sqlite3_stmt *stmt = NULL;
    struct hf_error err;
    insert(db, 1);
    unlink(in_dir("state.db-wal"));
    db->generation.looked_ms = hf__monotonic_ms();
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t", &stmt, &err), HF_OK);
    hf_sqlite_done(stmt);
    assert_int_equal(hf_sqlite_lost(db, NULL, &err), HF_OK);
    db->generation.looked_ms -= 1000;
    assert_int_equal(hf_sqlite_prepare(db, "SELECT a FROM t", &stmt, &err), HF_OK);
    assert_int_equal(sqlite3_step(stmt),
                     SQLITE_ROW); /* the read itself does not fail */
    hf_sqlite_done(stmt);
    assert_int_equal(hf_sqlite_lost(db, NULL, &err), HF_WAL_LOST);
    hf_sqlite_close_db(&db);
}

static void
a_loss_is_seen_at_close(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    unlink(in_dir("state.db-wal"));
    hf_sqlite_close_db(&db);
    assert_int_equal(logged("40 wal_lost: "), 1);
    assert_non_null(retired());
}

static void
a_copy_that_fails_is_tried_again(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = table_options();
    struct hf_sqlite_db *db = opened(&opt);
    insert(db, 1);
    unlink(in_dir("state.db-wal"));
    mkdir_error = ENOSPC;
    refused(db, HF_WAL_LOST, "copying the log failed (No space left on device)");
    mkdir_error = 0;
    assert_null(retired());
    hf__sleep_ms(1010);
    refused(db, HF_WAL_LOST, "the log is kept in");
    assert_non_null(retired());
    assert_int_equal(logged("30 wal_captured: "), 1);
    hf_sqlite_close_db(&db);
}

int
__wrap_mkdir(const char *path, mode_t mode)
{
    errno = mkdir_error;
    return mkdir_error ? -1 : __real_mkdir(path, mode);
}

int
__wrap_lstat(const char *path, struct stat *st)
{
    if (stat_fails_for && !strcmp(path, stat_fails_for)) {
        errno = stat_error;
        return -1;
    }
    return __real_lstat(path, st);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(identities_are_taken),
        TEST(sidecars_deleted),
        TEST(manifest_says_what_is_there),
        TEST(shm_alone_deleted),
        TEST(wal_exchanged),
        TEST(hard_link_is_no_excuse),
        TEST(lost_between_begin_and_commit),
        TEST(main_renamed_over),
        TEST(main_deleted),
        TEST(application_id_changed),
        TEST(an_unsure_look_latches_nothing),
        TEST(two_handles_one_capture),
        TEST(idle_handles_look_when_they_read),
        TEST(a_loss_is_seen_at_close),
        TEST(a_copy_that_fails_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
