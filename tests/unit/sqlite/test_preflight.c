/* test_preflight.c - what is refused before SQLite sees it, and stays as it is. */
#include "db_test.h"

#include <sys/socket.h>
#include <sys/un.h>

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static char said[2040];

/* Opens NAME for writing and for reading; both must be refused with the same code. */
static int
refusal(const char *name)
{
    struct hf_sqlite_options opt = options_for(in_dir(name));
    struct hf_sqlite_db *db = NULL;
    struct hf_error err, err2;
    int code = hf_sqlite_open_db(&opt, &db, &err);
    assert_null(db);
    opt.read_only = 1;
    int code2 = hf_sqlite_open_db(&opt, &db, &err2);
    assert_null(db);
    assert_int_equal(code, code2);
    assert_string_equal(err.message, err2.message);
    assert_null(strchr(err.message, '\n'));
    snprintf(said, sizeof said, "%s", err.message);
    return code;
}

static void
other_kinds_of_file(void **state)
{
    (void)state;
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    mkdir(in_dir("folder.db"), 0700);
    assert_int_equal(refusal("folder.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "is a folder"));
    assert_non_null(strstr(said, "`mv "));

    assert_int_equal(mkfifo(in_dir("fifo.db"), 0600), 0);
    assert_int_equal(refusal("fifo.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "is a FIFO"));

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(where.sun_path, sizeof where.sun_path, "%.90s", in_dir("socket.db"));
    assert_int_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(refusal("socket.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "is a socket"));
    close(fd);

    mkdir(in_dir("real"), 0700);
    raw_sql(in_dir("real/state.db"), "CREATE TABLE t(a)");
    assert_int_equal(symlink(in_dir("real/state.db"), in_dir("link.db")), 0);
    assert_int_equal(refusal("link.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "symbolic link"));
    assert_non_null(strstr(said, "(`mv "));
    assert_non_null(strstr(said, "real/state.db"));
    mkdir(in_dir("other"), 0700);
    assert_int_equal(symlink(in_dir("real/state.db"), in_dir("other/state.db")), 0);
    assert_int_equal(refusal("other/state.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "use the folder of "));
    /* What is no file at the other end is not to be put here. */
    assert_int_equal(symlink("nowhere", in_dir("dangling.db")), 0);
    assert_int_equal(refusal("dangling.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "leads to no file"));
    assert_false(exists(in_dir("nowhere")));
    assert_int_equal(symlink("/dev/null", in_dir("device.db")), 0);
    assert_int_equal(refusal("device.db"), HF_UNSUPPORTED);
    assert_null(strstr(said, "/dev/null"));

    /* A sidecar that leads elsewhere is as bad. */
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a)");
    assert_int_equal(symlink(in_dir("elsewhere"), in_dir("state.db-wal")), 0);
    assert_int_equal(refusal("state.db"), HF_UNSUPPORTED);
    assert_non_null(strstr(said, "state.db-wal"));
    assert_null(strstr(said, "elsewhere"));

    /* A folder on the way may be a link: one name for both. */
    assert_int_equal(symlink(in_dir("real"), in_dir("way")), 0);
    struct hf_sqlite_options opt = options_for(in_dir("way/state.db"));
    struct hf_sqlite_db *db = opened(&opt);
    assert_string_equal(hf_sqlite_path(db), in_dir("real/state.db"));
    hf_sqlite_close_db(&db);
}

/* state.db with its commits in state.db-wal only, as copies of a live pair. */
static void
make_pair(const char *name)
{
    char wal[420], copy_wal[420];
    static unsigned char bytes[1 << 20];
    sqlite3 *raw = NULL;
    const char *source = in_dir("source.db");
    assert_int_equal(sqlite3_open(source, &raw), SQLITE_OK);
    sqlite3_wal_autocheckpoint(raw, 0);
    assert_int_equal(sqlite3_exec(raw,
                                  "PRAGMA journal_mode=WAL; CREATE TABLE t(a);"
                                  "INSERT INTO t VALUES('in the wal')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    snprintf(wal, sizeof wal, "%s-wal", source);
    snprintf(copy_wal, sizeof copy_wal, "%s-wal", in_dir(name));
    write_file(in_dir(name), bytes, read_whole(source, bytes, sizeof bytes));
    write_file(copy_wal, bytes, read_whole(wal, bytes, sizeof bytes));
    sqlite3_close(raw);
    unlink(source);
}

static void
wal_beside_nothing(void **state)
{
    (void)state;
    static unsigned char before[1 << 20], after[1 << 20];
    for (int i = 0; i < 5; i++) {
        static const char *const how[] = {"is missing", "is empty",
                                          "has a broken header", "has a broken header",
                                          "has a broken header"};
        char name[16];
        char zero[100] = {0};
        snprintf(name, sizeof name, "%d.db", i);
        make_pair(name);
        const char *wal = in_dir(strcat(strcpy(zero, name), "-wal"));
        size_t len = read_whole(wal, before, sizeof before);
        memset(zero, 0, sizeof zero);
        if (i == 0)
            unlink(in_dir(name));
        else if (i == 1)
            write_file(in_dir(name), "", 0);
        else {
            int fd = open(in_dir(name), O_WRONLY | O_CLOEXEC);
            if (i == 2)
                memset(zero, 'x', sizeof zero);
            assert_int_equal(
                pwrite(fd, zero, i == 4 ? 1 : sizeof zero, i == 4 ? 19 : 0),
                i == 4 ? 1 : (int)sizeof zero);
            close(fd);
        }
        long long size = file_size(in_dir(name));
        assert_int_equal(refusal(name), HF_CORRUPT);
        assert_non_null(strstr(said, how[i]));
        assert_non_null(strstr(said, "holdfast sessions recover --source "));
        assert_non_null(strstr(said, "--wal "));
        assert_non_null(strstr(said, "--output NEW.db"));
        assert_int_equal(read_whole(wal, after, sizeof after), len);
        assert_memory_equal(before, after, len);
        assert_int_equal(file_size(in_dir(name)), size);
    }
    /* Untouched, the pair opens, and shows what the WAL holds. */
    make_pair("whole.db");
    struct hf_sqlite_options opt = options_for(in_dir("whole.db"));
    struct hf_sqlite_db *db = opened(&opt);
    assert_int_equal(raw_int(hf_sqlite_handle(db), "SELECT count(*) FROM t"), 1);
    hf_sqlite_close_db(&db);
}

static void
not_sqlite(void **state)
{
    (void)state;
    static unsigned char after[8192];
    char text[5000];
    memset(text, 'n', sizeof text);
    static const size_t sizes[] = {1, 99, 100, 5000};
    for (size_t i = 0; i < 4; i++) {
        write_file(in_dir("state.db"), text, sizes[i]);
        assert_int_equal(refusal("state.db"), HF_CORRUPT);
        assert_non_null(strstr(said, "holdfast sessions recover --source "));
        assert_int_equal(read_whole(in_dir("state.db"), after, sizeof after), sizes[i]);
        assert_memory_equal(text, after, sizes[i]);
    }
    assert_false(exists(in_dir("state.db-wal")) || exists(in_dir("state.db-journal")));
}

static void
header_is_read_through_our_own_descriptor(void **state)
{
    (void)state;
    raw_sql(in_dir("state.db"), "CREATE TABLE t(a)");
    struct stat st;
    struct hf__look look;
    struct hf_error err;
    int borrowed = 0;
    assert_int_equal(stat(in_dir("state.db"), &st), 0);
    int fd = hf__descriptor_borrow(in_dir("state.db"), &st, &borrowed);
    assert_false(borrowed);
    close(fd);
    struct hf_sqlite_options opt = options_for(in_dir("state.db"));
    opt.journal_mode = HF_JOURNAL_DELETE;
    struct hf_sqlite_db *db = opened(&opt);
    fd = hf__descriptor_borrow(in_dir("state.db"), &st, &borrowed);
    assert_true(fd >= 0 && borrowed);
    assert_int_equal(hf__preflight(in_dir("state.db"), &look, &err), HF_OK);
    assert_int_equal(look.header, HF__HEADER_ROLLBACK);
    hf_sqlite_close_db(&db);
}

static void
names_in_texts(void **state)
{
    (void)state;
    struct hf__shown shown;
    assert_string_equal(hf__shown(&shown, "/a/b-c.db"), "/a/b-c.db");
    assert_string_equal(hf__shown(&shown, "/a b"), "'/a b'");
    assert_string_equal(hf__shown(&shown, "/a'b\n"), "$'/a\\'b\\x0a'");
    assert_string_equal(hf__shown_file(&shown, "/a b", "-wal"), "'/a b-wal'");
    char *uri = hf__db_uri("/q?x/h#a/%20/é", "?immutable=1");
    assert_string_equal(uri, "file:///q%3Fx/h%23a/%2520/%C3%A9?immutable=1");
    free(uri);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_kinds_of_file), TEST(wal_beside_nothing),
        TEST(not_sqlite),          TEST(header_is_read_through_our_own_descriptor),
        TEST(names_in_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
