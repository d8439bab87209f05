/* db_test.h - what the tests of libholdfast-sqlite share: a folder of their own, a host
 * that keeps the log and can pretend any mount, and an ordinary SQLite client. */
#ifndef HF_DB_TEST_H
#define HF_DB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"

static char test_dir[200];
static char test_log[65536]; /* "LEVEL event: text" lines */
static struct hf_mount test_mount;

__attribute__((format(printf, 5, 6))) static inline void
test_log_fn(void *ctx, int32_t level, const char *event, const char *path,
            const char *fmt, ...)
{
    size_t at = strlen(test_log);
    va_list ap;
    (void)ctx;
    (void)path;
    at += (size_t)snprintf(test_log + at, sizeof test_log - at, "%d %s: ", (int)level,
                           event);
    va_start(ap, fmt);
    vsnprintf(test_log + at, sizeof test_log - at, fmt, ap);
    va_end(ap);
    at = strlen(test_log);
    snprintf(test_log + at, sizeof test_log - at, "\n");
}

static inline void
test_classify(void *ctx, const char *path, struct hf_mount *ret)
{
    (void)ctx;
    (void)path;
    *ret = test_mount;
}

static const struct hf_host test_host = {
    HF_ABI(struct hf_host), NULL, test_log_fn, test_classify, NULL, NULL, NULL};

/* How many lines of the log hold WHAT. */
static inline int
logged(const char *what)
{
    int n = 0;
    for (const char *p = test_log; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

static inline int
dir_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(test_dir, sizeof test_dir, "%s/hf-unit-XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(test_dir));
    test_log[0] = '\0';
    test_mount = HF_INIT(struct hf_mount);
    test_mount.known_native = 1;
    snprintf(test_mount.fs_type, sizeof test_mount.fs_type, "ext4");
    *state = test_dir;
    return 0;
}

static inline int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int
dir_teardown(void **state)
{
    (void)state;
    return nftw(test_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *
in_dir(const char *name)
{
    static char names[8][400];
    static int next;
    char *out = names[next++ % 8];
    snprintf(out, 400, "%s/%s", test_dir, name);
    return out;
}

static inline int
exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static inline long long
file_size(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? -1 : (long long)st.st_size;
}

/* 18 and 19 of the header as "2/2"; "none" for an empty file. */
static inline const char *
header_mode(const char *path)
{
    static char text[16];
    unsigned char b[20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, b, sizeof b);
    close(fd);
    snprintf(text, sizeof text, n < 20 ? "none" : "%d/%d", b[18], b[19]);
    return text;
}

static inline void
write_file(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

/* Through the descriptor of an open connection, if there is one: opening and closing
 * one of our own would drop that connection's locks. */
static inline size_t
read_whole(const char *path, unsigned char *ret, size_t size)
{
    struct stat st;
    int borrowed = 0;
    assert_int_equal(stat(path, &st), 0);
    int fd = hf__descriptor_borrow(path, &st, &borrowed);
    assert_true(fd >= 0);
    ssize_t n = pread(fd, ret, size, 0);
    if (!borrowed)
        close(fd);
    assert_true(n >= 0 && (size_t)n < size);
    return (size_t)n;
}

/* An ordinary SQLite client: runs SQL on PATH and closes. */
static inline void
raw_sql(const char *path, const char *sql)
{
    sqlite3 *raw = NULL;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, 5000);
    if (sqlite3_exec(raw, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(raw);
}

static inline int64_t
raw_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* A process that runs SQL on PATH, keeps the connection, and lives until let go. */
struct other {
    pid_t pid;
    int done; /* closing it lets the process go */
};

/* The other process's side: this program again, so that nothing of SQLite's memory
 * comes along (a forked copy would think that it holds our locks). */
__attribute__((constructor)) static void
other_main(void)
{
    const char *path = getenv("HF_TEST_OTHER");
    const char *sql = getenv("HF_TEST_SQL");
    sqlite3 *raw = NULL;
    char byte = 0;
    if (!path || !sql)
        return;
    if (sqlite3_open(path, &raw) == SQLITE_OK)
        byte = sqlite3_exec(raw, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (write(STDOUT_FILENO, &byte, 1) == 1 && read(STDIN_FILENO, &byte, 1) == 0)
        sqlite3_close(raw);
    _exit(0);
}

/* *ret_ok: whether SQL worked there. */
static inline struct other
other_spawn(const char *path, const char *sql, char *ret_ok)
{
    int ready[2], done[2];
    struct other o;
    *ret_ok = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(done, O_CLOEXEC), 0);
    o.pid = fork();
    if (o.pid == 0) {
        setenv("HF_TEST_OTHER", path, 1);
        setenv("HF_TEST_SQL", sql, 1);
        dup2(ready[1], STDOUT_FILENO);
        dup2(done[0], STDIN_FILENO);
        execl("/proc/self/exe", "other", (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    close(done[0]);
    assert_int_equal(read(ready[0], ret_ok, 1), 1);
    close(ready[0]);
    o.done = done[1];
    return o;
}

static inline struct other
other_start(const char *path, const char *sql)
{
    char ok;
    struct other o = other_spawn(path, sql, &ok);
    assert_int_equal(ok, 1);
    return o;
}

static inline void
other_end(struct other *o)
{
    close(o->done);
    waitpid(o->pid, NULL, 0);
}

static inline void
other_kill(struct other *o)
{
    kill(o->pid, SIGKILL);
    other_end(o);
}

static inline struct hf_sqlite_options
options_for(const char *path)
{
    struct hf_sqlite_options o = HF_INIT(struct hf_sqlite_options);
    o.host = &test_host;
    o.path = path;
    o.synchronous = 2;
    o.wal_autocheckpoint = 1000;
    o.patience_ms = 5000;
    o.cache_size = o.mmap_size = o.temp_store = o.journal_size_limit = HF_NO_INT;
    return o;
}

static int init_calls;
static inline int
init_table(void *ctx, sqlite3 *db, struct hf_error *err)
{
    (void)ctx;
    init_calls++;
    if (sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(a,b)", NULL, NULL, NULL))
        return hf_error_set(err, HF_IO, NULL, "%s", sqlite3_errmsg(db));
    return HF_OK;
}

static inline struct hf_sqlite_db *
opened(const struct hf_sqlite_options *o)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    int code = hf_sqlite_open_db(o, &db, &err);
    if (code != HF_OK)
        fail_msg("%s: %s", hf_code_name(code), err.message);
    return db;
}

static inline void
run(struct hf_sqlite_db *db, const char *sql)
{
    struct hf_error err;
    if (hf_sqlite_exec(db, sql, &err) != HF_OK)
        fail_msg("%s: %s", sql, err.message);
}

#endif /* HF_DB_TEST_H */
