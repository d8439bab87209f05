/* Cells of every kind as records: bytes kept, times coerced, further columns as JSON. */
#include "store_fixture.h"

static struct hf_session got;
static char got_extra[16384], got_text[4096];

static int
keep_session(void *ctx, const struct hf_session *s)
{
    (void)ctx;
    got = *s;
    got_extra[0] = got_text[0] = '\0';
    if (s->extra.ptr)
        snprintf(got_extra, sizeof got_extra, "%.*s", (int)s->extra.len, s->extra.ptr);
    if (s->system_prompt.ptr)
        snprintf(got_text, sizeof got_text, "%.*s", (int)s->system_prompt.len,
                 s->system_prompt.ptr);
    return 0;
}

static void
get(struct fixture *f, const char *id, uint32_t want)
{
    struct hf_text t = text_of(id);
    assert_ok(f, f->ops->session_get(f->store, &t, want, keep_session, NULL, &f->err));
}

static int
keep_title(void *ctx, const struct hf_session *s)
{
    struct hf_text *ret = ctx;
    char *copy = malloc(s->title.len + 1);
    memcpy(copy, s->title.ptr, s->title.len);
    *ret = hf_text(copy, s->title.len);
    return 0;
}

static void
bytes_are_kept(void **state)
{
    static const struct { const char *literal; const char *bytes; size_t len; } cells[] = {
        {"'plain'", "plain", 5},
        {"CAST(x'61FF62' AS TEXT)", "a\xff" "b", 3}, /* no UTF-8 */
        {"CAST(x'610062' AS TEXT)", "a\0b", 3},
        {"x'610062FF'", "a\0b\xff", 4},
        {"''", "", 0},
        {"12345", "12345", 5},
    };
    struct fixture *f = *state;
    fixture_session(f, "s");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct hf_text id = text_of("s"), title = {0};
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE sessions SET title = %s", cells[i].literal);
        fixture_sql(f, sql);
        assert_ok(f, f->ops->session_get(f->store, &id, 0, keep_title, &title, &f->err));
        assert_int_equal(title.len, cells[i].len);
        assert_memory_equal(title.ptr, cells[i].bytes, cells[i].len);
        free((char *)title.ptr);
    }
}

static void
times(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_sql(f, "UPDATE sessions SET started_at = '1700000000.5'");
    get(f, "s", 0);
    assert_true(got.started_at == 1700000000.5);
    assert_int_equal(got.bad_times, 0);
    fixture_sql(f, "UPDATE sessions SET started_at = 'yesterday', ended_at = -1,"
                   " last_activity_at = 5e9");
    get(f, "s", 0);
    assert_true(isnan(got.started_at));
    assert_true(isnan(got.ended_at));
    assert_true(isnan(got.last_active));
    assert_int_equal(got.bad_times, 7);
    assert_non_null(strstr(f->log, "bad_time: session s:"));
    f->log[0] = '\0';
    get(f, "s", 0);
    assert_string_equal(f->log, ""); /* said once */
    fixture_sql(f, "UPDATE sessions SET started_at = x'31', ended_at = NULL,"
                   " last_activity_at = NULL");
    get(f, "s", 0);
    assert_int_equal(got.bad_times, 1);
}

static void
last_active(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_sql(f, "UPDATE sessions SET started_at = 100, last_activity_at = NULL");
    get(f, "s", 0);
    assert_true(got.last_active == 100);
    fixture_sql(f, "INSERT INTO messages(session_id, role, timestamp) VALUES"
                   " ('s', 'user', 300), ('s', 'user', 200), ('s', 'user', 'soon')");
    get(f, "s", 0);
    assert_true(got.last_active == 300);
    fixture_sql(f, "UPDATE sessions SET last_activity_at = 250");
    get(f, "s", 0);
    assert_true(got.last_active == 300);
    fixture_sql(f, "UPDATE sessions SET last_activity_at = 350");
    get(f, "s", 0);
    assert_true(got.last_active == 350);
}

static void
extra_in_file_order(void **state)
{
    struct fixture *f = *state;
    const char *a, *b, *c;
    fixture_session(f, "s");
    fixture_close(f);
    fixture_sql(f, "ALTER TABLE sessions ADD COLUMN \"odd \"\"name\" BLOB;"
                   "UPDATE sessions SET \"odd \"\"name\" = x'00FF10', cwd = '/a\"b',"
                   " rewind_count = 3, last_read_at = 1.5");
    fixture_open(f, 0);
    get(f, "s", HF_WANT_EXTRA);
    a = strstr(got_extra, "\"cwd\":\"/a\\\"b\"");
    b = strstr(got_extra, "\"last_read_at\":1.5");
    c = strstr(got_extra, "\"odd \\\"name\":{\"$base64\":\"AP8Q\"}");
    assert_true(a && b && c && a < b && b < c);
    assert_non_null(strstr(got_extra, "\"rewind_count\":3"));
    assert_non_null(strstr(got_extra, "\"user_id\":null"));
    assert_null(strstr(got_extra, "\"started_at\"")); /* has a member of its own */
    get(f, "s", 0);
    assert_null(got.extra.ptr);
}

static void
system_prompt_by_hash(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_sql(f, "INSERT INTO system_prompts VALUES ('h1', 'be kind');"
                   "UPDATE sessions SET system_prompt_hash = 'h1'");
    get(f, "s", HF_WANT_EXTRA);
    assert_string_equal(got_text, "be kind");
    get(f, "s", 0);
    assert_null(got.system_prompt.ptr);
    fixture_sql(f, "UPDATE sessions SET system_prompt = 'its own'");
    get(f, "s", HF_WANT_EXTRA);
    assert_string_equal(got_text, "its own");
}

/* A file that lacks most columns and tables, read without being changed. */
static void
old_shape_reads_as_defaults(void **state)
{
    struct fixture *f = *state;
    struct hf_text id = text_of("s");
    fixture_close(f);
    remove(scratch_path(f->home, "state.db"));
    remove(scratch_path(f->home, "state.db-wal"));
    remove(scratch_path(f->home, "state.db-shm"));
    fixture_sql(f, "CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL,"
                   " started_at REAL NOT NULL, later BLOB);"
                   "CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT,"
                   " role TEXT, content TEXT, timestamp REAL);"
                   "INSERT INTO sessions VALUES ('s', 'cli', 5, x'01');"
                   "INSERT INTO messages VALUES (1, 's', 'user', 'hi', 7)");
    fixture_open(f, 1);
    get(f, "s", HF_WANT_EXTRA);
    assert_true(got.last_active == 7);
    assert_int_equal(got.message_count, 0);
    assert_int_equal(got.archived, 0);
    assert_true(isnan(got.estimated_cost_usd));
    assert_string_equal(got_extra, "{\"later\":{\"$base64\":\"AQ==\"}}");
    assert_int_equal(f->ops->session_delete(f->store, &id, 1, NULL, &f->err),
                     HF_READ_ONLY);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master"), "3");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_kept),
        TEST(times),
        TEST(last_active),
        TEST(extra_in_file_order),
        TEST(system_prompt_by_hash),
        TEST(old_shape_reads_as_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
