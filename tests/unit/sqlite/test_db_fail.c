/* test_db_fail.c - result codes of SQLite as codes and texts; file systems that refuse
 * shared mappings; options from settings. */
#include <locale.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "db_test.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

/* In front of libc's: files can be made to refuse shared mappings, as 9p does.  SQLite
 * calls it by its other name. */
static int refuse_shared;
__attribute__((visibility("default"))) void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (refuse_shared && (flags & MAP_SHARED) && fd >= 0) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

void *mmap64(void *, size_t, int, int, int, off_t)
    __attribute__((alias("mmap"), visibility("default")));

static void
codes(void **state)
{
    (void)state;
    static const struct {
        int rc, code;
        const char *says;
    } cases[] = {
        {SQLITE_CORRUPT, HF_CORRUPT, "holdfast sessions repair --check-only"},
        {SQLITE_NOTADB, HF_CORRUPT, "state.db"},
        {SQLITE_CORRUPT_VTAB, HF_FTS_INDEX, "transcript is intact"},
        {SQLITE_FULL, HF_DISK_FULL, "make room"},
        {SQLITE_READONLY, HF_READ_ONLY, "read-only"},
        {SQLITE_READONLY_DBMOVED, HF_REPLACED, "not the one"},
        {SQLITE_INTERRUPT, HF_CANCELLED, "cancelled"},
        {SQLITE_TOOBIG, HF_TOO_BIG, "larger"},
        {SQLITE_NOMEM, HF_NO_MEMORY, "memory"},
        {SQLITE_IOERR_NOMEM, HF_NO_MEMORY, "memory"},
        {SQLITE_CONSTRAINT_UNIQUE, HF_EXISTS, ""},
        {SQLITE_CONSTRAINT_PRIMARYKEY, HF_EXISTS, ""},
        {SQLITE_CONSTRAINT_NOTNULL, HF_INVALID, ""},
        {SQLITE_BUSY, HF_BUSY, "try again"},
        {SQLITE_BUSY_SNAPSHOT, HF_BUSY, "try again"},
        {SQLITE_PROTOCOL, HF_BUSY, "try again"},
        {SQLITE_IOERR_READ, HF_IO, "I/O"},
        {SQLITE_IOERR_SHMMAP, HF_UNSUPPORTED, "set-journal-mode delete"},
        {SQLITE_MISUSE, HF_MISUSE, ""},
    };
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = opened(&opt);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_error err;
        assert_int_equal(hf_sqlite_fail(db, cases[i].rc, "do it", &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_true(!strncmp(err.message, "do it: ", 7));
        assert_string_equal(err.path, in_dir("state.db"));
        if (!strstr(err.message, cases[i].says))
            fail_msg("%d: %s", cases[i].rc, err.message);
        assert_int_equal(hf_sqlite_fail(db, cases[i].rc, "do it", NULL), cases[i].code);
    }
    hf_sqlite_close_db(&db);
}

static void
real_constraints(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = opened(&opt);
    struct hf_error err;
    run(db, "CREATE TABLE u(a UNIQUE, b CHECK(b>0)); INSERT INTO u VALUES(1,1)");
    assert_int_equal(hf_sqlite_exec(db, "INSERT INTO u VALUES(1,2)", &err), HF_EXISTS);
    assert_non_null(strstr(err.message, "u.a"));
    assert_int_equal(hf_sqlite_exec(db, "INSERT INTO u VALUES(2,0)", &err), HF_INVALID);
    assert_int_equal(hf_sqlite_exec(db, "SELECT * FROM nowhere", &err), HF_UNSUPPORTED);
    run(db, "CREATE VIRTUAL TABLE messages_fts USING fts5(x); DROP TABLE "
            "messages_fts_config");
    hf_sqlite_close_db(&db);
    db = opened(&opt);
    assert_int_equal(hf_sqlite_exec(db, "SELECT * FROM messages_fts", &err),
                     HF_FTS_INDEX);
    hf_sqlite_close_db(&db);
}

static void
damage_is_corrupt(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    char noise[4096];
    raw_sql(in_dir("state.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a); "
                                "INSERT INTO t VALUES(1)");
    memset(noise, 0xff, sizeof noise);
    int fd = open(in_dir("state.db"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, noise, sizeof noise, 4096), (int)sizeof noise);
    close(fd);
    db = opened(&opt);
    assert_int_equal(hf_sqlite_exec(db, "SELECT * FROM t", &err), HF_CORRUPT);
    hf_sqlite_close_db(&db);
}

static void
seconds_without_a_locale(void **state)
{
    (void)state;
    char text[32];
    setlocale(LC_ALL, "");
    hf__seconds_text(text, sizeof text, 20049);
    assert_string_equal(text, "20.0 s");
    hf__seconds_text(text, sizeof text, 950);
    assert_string_equal(text, "0.9 s");
}

static void
permissions_are_named(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* becomes another user */
    const char *path = in_dir("home/state.db");
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a)");
    mkdir(in_dir("home"), 0755);
    chmod(test_dir, 0755);
    rename(in_dir("state.db"), path);
    chmod(path, 0644);
    pid_t pid = fork();
    if (pid == 0) {
        struct hf_sqlite_options opt = options_for(path);
        struct hf_sqlite_db *db = NULL;
        struct hf_error err = {0};
        if (setgid(65534) || setuid(65534))
            _exit(9);
        if (hf_sqlite_open_db(&opt, &db, &err) != HF_READ_ONLY)
            _exit(1);
        if (!strstr(err.message, "the folder") || !strstr(err.message, "home") ||
            !strstr(err.message, "cannot be written by user 65534"))
            _exit(2);
        opt.read_only = 1;
        if (hf_sqlite_open_db(&opt, &db, &err) != HF_OK)
            _exit(3);
        hf_sqlite_close_db(&db);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void
mount_without_shared_maps(void **state)
{
    (void)state;
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    raw_sql(in_dir("wal.db"), "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    test_mount.known_native = 0;
    snprintf(test_mount.fs_type, sizeof test_mount.fs_type, "fuse.odd");
    refuse_shared = 1;
    opt.mount_check_off = 1; /* the operator's word does not make a mapping */
    opt.initialize = init_table;
    db = opened(&opt);
    assert_int_equal(hf_sqlite_journal(db), HF_JOURNAL_DELETE);
    hf_sqlite_close_db(&db);
    assert_string_equal(header_mode(in_dir("state.db")), "1/1");
    assert_int_equal(logged("40 wal_refused: "), 1);
    assert_int_equal(logged("fuse.odd"), 1);
    opt.require_wal = 1;
    opt.path = in_dir("other.db");
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_UNSUPPORTED);
    opt.require_wal = 0;
    opt.path = in_dir("wal.db");
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "set-journal-mode delete"));
    /* Nothing was made beside it, so it can still be read. */
    assert_int_equal(access(in_dir("wal.db-shm"), F_OK), -1);
    assert_int_equal(access(in_dir("wal.db-wal"), F_OK), -1);
    opt.read_only = 1;
    db = opened(&opt);
    hf_sqlite_close_db(&db);
    opt.read_only = 0;
    /* With a -shm that somebody left, SQLite finds out, and says the same. */
    fclose(fopen(in_dir("wal.db-shm"), "w"));
    assert_int_equal(hf_sqlite_open_db(&opt, &db, &err), HF_UNSUPPORTED);
    assert_non_null(strstr(err.message, "set-journal-mode delete"));
    refuse_shared = 0;
    assert_string_equal(header_mode(in_dir("wal.db")), "2/2");
    db = opened(&opt);
    hf_sqlite_close_db(&db);
}

static void
options_from_settings(void **state)
{
    (void)state;
    struct hf_setting settings[] = {{"journal_mode", "delete"},
                                    {"mount_check", "off"},
                                    {"lock_style", "posix"},
                                    {"synchronous", "normal"},
                                    {"cache_size", "-2000"},
                                    {"mmap_size", ""},
                                    {"temp_store", "2"},
                                    {"journal_size_limit", "1000"},
                                    {"wal_autocheckpoint", "7"},
                                    {"patience_ms", "1234"},
                                    {"sessions.index", "deferred"},
                                    {NULL, NULL}};
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_sqlite_options o = HF_INIT(struct hf_sqlite_options);
    struct hf_error err;
    how.database = settings;
    how.read_only_first = 1;
    assert_int_equal(hf_sqlite_options_from(&test_host, &how, &o, &err), HF_OK);
    assert_ptr_equal(o.host, &test_host);
    assert_int_equal(o.journal_mode, HF_JOURNAL_DELETE);
    assert_int_equal(o.mount_check_off, 1);
    assert_int_equal(o.lock_posix, 1);
    assert_int_equal(o.synchronous, 1);
    assert_int_equal(o.cache_size, -2000);
    assert_true(o.mmap_size == HF_NO_INT);
    assert_int_equal(o.temp_store, 2);
    assert_int_equal(o.journal_size_limit, 1000);
    assert_int_equal(o.wal_autocheckpoint, 7);
    assert_int_equal(o.patience_ms, 1234);
    assert_int_equal(o.read_only_first, 1);
    settings[0].value = "wall"; /* a typo never ends in WAL */
    assert_int_equal(hf_sqlite_options_from(&test_host, &how, &o, &err), HF_CONFIG);
    assert_int_equal(o.journal_mode, HF_JOURNAL_DELETE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(codes),
        TEST(real_constraints),
        TEST(damage_is_corrupt),
        TEST(seconds_without_a_locale),
        TEST(permissions_are_named),
        TEST(mount_without_shared_maps),
        TEST(options_from_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
