/* store_fixture.h - a sqlite store in a temporary home, opened through the backend's own
 * table, with a host that collects what is logged and whose clock a test sets. */
#ifndef HF_TEST_STORE_FIXTURE_H
#define HF_TEST_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/scratch.h"
#include "private.h"

const struct hf_plugin *holdfast_plugin_sqlite(const struct hf_host *host);

struct fixture {
    char *home;
    struct hf_host host;
    const struct hf_backend *ops;
    void *store;
    struct hf_error err;
    double now; /* 0: the real clock */
    char log[8192];
};

__attribute__((format(printf, 5, 6))) static inline void
fixture_log(void *ctx, int32_t level, const char *event, const char *path,
            const char *fmt, ...)
{
    struct fixture *f = ctx;
    size_t used = strlen(f->log);
    va_list ap;
    (void)level;
    (void)path;
    va_start(ap, fmt);
    used += (size_t)snprintf(f->log + used, sizeof f->log - used, "%s: ", event);
    if (used < sizeof f->log)
        used += (size_t)vsnprintf(f->log + used, sizeof f->log - used, fmt, ap);
    if (used < sizeof f->log)
        snprintf(f->log + used, sizeof f->log - used, "\n");
    va_end(ap);
}

static inline void
fixture_mount(void *ctx, const char *path, struct hf_mount *ret)
{
    (void)ctx;
    (void)path;
    ret->mount_class = HF_MOUNT_NATIVE;
    ret->known_native = 1;
    snprintf(ret->fs_type, sizeof ret->fs_type, "ext4");
}

static inline int
fixture_track(void *ctx, const char *path, struct hf_error *err)
{
    (void)ctx;
    (void)path;
    (void)err;
    return HF_OK;
}

static inline void
fixture_untrack(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
}

static inline double
fixture_now(void *ctx)
{
    struct fixture *f = ctx;
    return f->now > 0 ? f->now : hf__now();
}

static const struct hf_setting fixture_database[] = {
    {"journal_mode", "wal"}, {"fallback", "jsonl"}, {"fallback_dir", ""},
    {"fallback_retry_seconds", "30"}, {"synchronous", "full"}, {"cache_size", ""},
    {"mmap_size", ""}, {"temp_store", ""}, {"journal_size_limit", "67108864"},
    {"wal_autocheckpoint", "1000"}, {"mount_check", "auto"}, {"read_pool_max", "8"},
    {"patience_ms", "2000"}, {"lock_style", "posix"}, {"sessions.index", "deferred"},
    {NULL, NULL},
};

static inline int
fixture_try_open(struct fixture *f, uint32_t read_only)
{
    static const struct hf_setting none[] = {{NULL, NULL}};
    struct hf_open how = HF_INIT(struct hf_open);
    how.home = how.root = f->home;
    how.profile = "default";
    how.settings = none;
    how.database = fixture_database;
    how.read_only = read_only;
    return f->ops->open(&f->host, &how, &f->store, &f->err);
}

static inline void
fixture_open(struct fixture *f, uint32_t read_only)
{
    int rc = fixture_try_open(f, read_only);
    if (rc < 0)
        fail_msg("open: %s %s", hf_code_name(rc), f->err.message);
}

static inline void
fixture_close(struct fixture *f)
{
    if (f->store)
        f->ops->close(f->store);
    f->store = NULL;
}

static inline struct fixture *
fixture_new(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->home = scratch_make();
    f->host = HF_INIT(struct hf_host);
    f->host.ctx = f;
    f->host.log = fixture_log;
    f->host.mount_classify = fixture_mount;
    f->host.file_track = fixture_track;
    f->host.file_untrack = fixture_untrack;
    f->host.now = fixture_now;
    f->ops = holdfast_plugin_sqlite(&f->host)->ops;
    return f;
}

static inline void
fixture_free(struct fixture *f)
{
    fixture_close(f);
    scratch_remove(f->home);
    free(f);
}

/* For cmocka_unit_test_setup_teardown(): a store that is open for writing. */
static inline int
fixture_setup(void **state)
{
    struct fixture *f = fixture_new();
    fixture_open(f, 0);
    *state = f;
    return 0;
}

static inline int
fixture_teardown(void **state)
{
    fixture_free(*state);
    return 0;
}

/* Runs SQL on the file through a connection of its own, and gives the first column of
 * the first row in a buffer that lives until the next call ("" for none). */
static inline const char *
fixture_sql(struct fixture *f, const char *sql)
{
    static char text[65536];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    const char *tail = sql;
    int rc;
    assert_int_equal(sqlite3_open(scratch_path(f->home, "state.db"), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    text[0] = '\0';
    while (*tail) {
        if (sqlite3_prepare_v2(db, tail, -1, &stmt, &tail) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        if (!stmt)
            break;
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW && sqlite3_column_text(stmt, 0))
            snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(stmt, 0));
        else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    return text;
}

#define assert_ok(f, call)                                                            \
    do {                                                                              \
        int rc_ = (call);                                                             \
        if (rc_ != HF_OK)                                                             \
            fail_msg("%s: %s %s", #call, hf_code_name(rc_), (f)->err.message);        \
    } while (0)

static inline struct hf_text
text_of(const char *s)
{
    return hf_str(s);
}

static inline void
fixture_session(struct fixture *f, const char *id)
{
    struct hf_session s = HF_INIT(struct hf_session);
    s.id = text_of(id);
    s.source = text_of("cli");
    s.started_at = s.ended_at = s.last_active = HF_NO_TIME;
    assert_ok(f, f->ops->session_put(f->store, &s, HF_PUT_CREATE, &f->err));
}

static inline struct hf_message
fixture_message(const char *uid, const char *role, const char *content)
{
    struct hf_message m = HF_INIT(struct hf_message);
    m.uid = text_of(uid);
    m.role = text_of(role);
    m.content = text_of(content);
    m.timestamp = HF_NO_TIME;
    m.token_count = HF_NO_INT;
    return m;
}

/* Appends one message; its id, or a negative code. */
static inline int64_t
fixture_append(struct fixture *f, const char *session, const struct hf_message *m)
{
    struct hf_append a = HF_INIT(struct hf_append);
    struct hf_appended one = {0};
    int rc;
    a.session_id = text_of(session);
    a.messages = &m;
    a.n_messages = 1;
    rc = f->ops->message_append(f->store, &a, &one, &f->err);
    return rc < 0 ? rc : one.id;
}

static inline void
fixture_sound(struct fixture *f)
{
    assert_string_equal(fixture_sql(f, "PRAGMA integrity_check"), "ok");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM pragma_foreign_key_check"),
                        "0");
}

#endif
