/* Sessions: put in its three modes, changes, deleting. */
#include "store_fixture.h"

static struct hf_session
session_make(const char *id)
{
    struct hf_session s = HF_INIT(struct hf_session);
    s.id = text_of(id);
    s.source = text_of("cli");
    s.started_at = s.ended_at = s.last_active = HF_NO_TIME;
    s.estimated_cost_usd = s.actual_cost_usd = (double)NAN;
    return s;
}

static int
put(struct fixture *f, const struct hf_session *s, uint32_t mode)
{
    return f->ops->session_put(f->store, s, mode, &f->err);
}

static void
create(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_make("s1");
    f->now = 1000;
    s.title = text_of("One");
    s.message_count = 77; /* counters are the store's own */
    s.extra = text_of("{\"cwd\":\"/tmp\",\"title\":\"no\",\"nonsense\":1}");
    assert_ok(f, put(f, &s, HF_PUT_CREATE));
    assert_string_equal(fixture_sql(f, "SELECT title || cwd || started_at ||"
                                       " message_count FROM sessions"), "One/tmp1000.00");
    assert_int_equal(put(f, &s, HF_PUT_CREATE), HF_EXISTS);
    assert_non_null(strstr(f->err.message, "s1"));
    s.id = text_of("s2");
    assert_int_equal(put(f, &s, HF_PUT_CREATE), HF_EXISTS);
    assert_non_null(strstr(f->err.message, "s1")); /* the title's owner */
    s.title = text_of(NULL);
    s.parent_id = text_of("nobody");
    assert_int_equal(put(f, &s, HF_PUT_CREATE), HF_NOT_FOUND);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sessions"), "1");
    s.parent_id = text_of(NULL);
    s.extra = text_of("[1]");
    assert_int_equal(put(f, &s, HF_PUT_CREATE), HF_INVALID);
}

static void
ensure(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_make("s1");
    s.model = text_of("m1");
    assert_ok(f, put(f, &s, HF_PUT_ENSURE));
    s.model = text_of("m2");
    s.title = text_of("T");
    s.source = text_of("web");
    s.started_at = 5;
    s.archived = 1;
    s.extra = text_of("{\"user_id\":\"u\"}");
    assert_ok(f, put(f, &s, HF_PUT_ENSURE));
    assert_string_equal(fixture_sql(f, "SELECT model || title || source || archived ||"
                                       " user_id || (started_at > 5) FROM sessions"),
                        "m1Tcli0u1");
    /* A title that somebody else has is only in the way when it would be written. */
    s.id = text_of("s2");
    assert_int_equal(put(f, &s, HF_PUT_ENSURE), HF_EXISTS);
    s.title = text_of("T2");
    assert_ok(f, put(f, &s, HF_PUT_ENSURE));
    s.title = text_of("T");
    assert_ok(f, put(f, &s, HF_PUT_ENSURE));
    assert_string_equal(fixture_sql(f, "SELECT title FROM sessions WHERE id = 's2'"),
                        "T2");
}

static void
verbatim(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_make("child");
    s.started_at = 12.5;
    s.message_count = 9;
    s.input_tokens = HF_NO_INT;
    s.parent_id = text_of("parent"); /* comes later: lists are newest first */
    s.system_prompt = text_of("be kind");
    s.extra = text_of("{\"system_prompt_hash\":\"abc\",\"expiry_finalized\":null,"
                      "\"git_metadata_generation\":null,\"origin_json\":{\"a\":[1]}}");
    assert_ok(f, put(f, &s, HF_PUT_VERBATIM));
    assert_string_equal(
        fixture_sql(f, "SELECT started_at || '|' || message_count || '|' ||"
                       " (input_tokens IS NULL) || (parent_session_id IS NULL) ||"
                       " (system_prompt IS NULL) || (expiry_finalized IS NULL) ||"
                       " system_prompt_hash || origin_json FROM sessions"),
        "12.5|9|1111abc{\"a\":[1]}");
    assert_string_equal(fixture_sql(f, "SELECT prompt FROM system_prompts"), "be kind");
    s = session_make("parent");
    assert_ok(f, put(f, &s, HF_PUT_VERBATIM));
    assert_string_equal(
        fixture_sql(f, "SELECT parent_session_id FROM sessions WHERE id = 'child'"),
        "parent");
    assert_string_equal(
        fixture_sql(f, "SELECT COUNT(*) FROM state_meta WHERE key LIKE '%parent%'"), "0");
    /* A hash whose prompt is not here points to nothing. */
    s = session_make("other");
    s.extra = text_of("{\"system_prompt_hash\":\"gone\"}");
    assert_ok(f, put(f, &s, HF_PUT_VERBATIM));
    fixture_sound(f);
}

static int
update(struct fixture *f, const char *id, struct hf_field *fields, uint64_t n)
{
    struct hf_text t = text_of(id);
    return f->ops->session_update(f->store, &t, fields, n, &f->err);
}

static void
fields(void **state)
{
    struct fixture *f = *state;
    struct hf_field many[] = {
        {.name = "model", .type = HF_TEXT, .text = hf_str("m")},
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 5},
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 2},
        {.name = "estimated_cost_usd", .op = HF_FIELD_ADD, .type = HF_REAL, .d = 0.5},
        {.name = "pinned", .type = HF_INT, .i = 1},
    };
    struct hf_field end[] = {
        {.name = "ended_at", .op = HF_FIELD_SET_IF_NULL, .type = HF_REAL, .d = 9},
        {.name = "end_reason", .op = HF_FIELD_SET_IF_NULL, .type = HF_TEXT,
         .text = hf_str("first")},
    };
    struct hf_field bad[] = {
        {.name = "model", .type = HF_TEXT, .text = hf_str("lost")},
        {.name = "no_such", .type = HF_INT, .i = 1},
    };
    struct hf_field one = {.name = "title", .type = HF_TEXT, .text = hf_str("T")};
    fixture_session(f, "a");
    fixture_session(f, "b");
    assert_ok(f, update(f, "a", many, 5));
    assert_string_equal(fixture_sql(f, "SELECT model || input_tokens ||"
                                       " estimated_cost_usd || pinned FROM sessions"
                                       " WHERE id = 'a'"), "m70.51");
    assert_ok(f, update(f, "a", end, 2));
    end[0].d = 10;
    end[1].text = text_of("second");
    assert_ok(f, update(f, "a", end, 2));
    assert_string_equal(fixture_sql(f, "SELECT ended_at || end_reason FROM sessions"
                                       " WHERE id = 'a'"), "9.0first");
    assert_int_equal(update(f, "a", bad, 2), HF_INVALID); /* all or nothing */
    assert_string_equal(fixture_sql(f, "SELECT model FROM sessions WHERE id = 'a'"), "m");
    assert_int_equal(update(f, "nobody", many, 1), HF_NOT_FOUND);
    assert_ok(f, update(f, "a", &one, 1));
    assert_ok(f, update(f, "a", &one, 1)); /* its own title */
    assert_int_equal(update(f, "b", &one, 1), HF_EXISTS);
    assert_non_null(strstr(f->err.message, "session a"));
    one = (struct hf_field){.name = "source", .type = HF_NULL};
    assert_int_equal(update(f, "a", &one, 1), HF_INVALID);
    one = (struct hf_field){.name = "id", .type = HF_TEXT, .text = hf_str("z")};
    assert_int_equal(update(f, "a", &one, 1), HF_INVALID);
    one = (struct hf_field){.name = "parent_session_id", .type = HF_TEXT,
                            .text = hf_str("nobody")};
    assert_int_equal(update(f, "a", &one, 1), HF_INVALID);
    one = (struct hf_field){.name = "model", .op = HF_FIELD_ADD, .type = HF_TEXT,
                            .text = hf_str("x")};
    assert_int_equal(update(f, "a", &one, 1), HF_INVALID);
    one = (struct hf_field){.name = "title\" = 'x' --", .type = HF_NULL};
    assert_int_equal(update(f, "a", &one, 1), HF_INVALID);
    f->now = 4242;
    one = (struct hf_field){.name = "last_activity_at", .type = HF_REAL, .d = 1e12};
    assert_ok(f, update(f, "a", &one, 1)); /* outside the window: now */
    assert_string_equal(
        fixture_sql(f, "SELECT last_activity_at FROM sessions WHERE id = 'a'"), "4242.0");
    fixture_sound(f);
}

static void
delete_with_family(void **state)
{
    struct fixture *f = *state;
    struct hf_text ids[3] = {hf_str("root"), hf_str("nobody"), hf_str("root")};
    uint64_t deleted = 99;
    fixture_sql(
        f,
        "INSERT INTO sessions(id, source, started_at, parent_session_id, model_config)"
        " VALUES ('root', 'cli', 1, NULL, NULL),"
        " ('branch', 'cli', 1, 'root', '{\"_branched_from\":\"root\"}'),"
        " ('broken', 'cli', 1, 'root', '{\"_delegate_from\":'),"
        " ('delegate', 'cli', 1, 'root', '{\"_delegate_from\":\"root\"}'),"
        " ('deeper', 'cli', 1, 'delegate', '{\"_delegate_from\":\"delegate\"}');"
        "INSERT INTO messages(session_id, role, content, timestamp) SELECT id, 'user',"
        " 'words of ' || id, 1 FROM sessions;"
        "INSERT INTO session_model_usage(session_id, model) SELECT id, 'm' FROM sessions");
    assert_ok(f, f->ops->session_delete(f->store, ids, 3, &deleted, &f->err));
    assert_int_equal(deleted, 3);
    assert_string_equal(fixture_sql(f, "SELECT group_concat(id || COALESCE("
                                       "parent_session_id, '-')) FROM sessions"),
                        "branch-,broken-");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages"), "2");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM session_model_usage"), "2");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages_fts"
                                       " WHERE messages_fts MATCH 'words'"), "2");
    fixture_sound(f);
}

static void
delete_many(void **state)
{
    enum { N = 2500 };
    struct fixture *f = *state;
    struct hf_text *ids = calloc(N, sizeof *ids);
    uint64_t deleted = 0;
    fixture_sql(f, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                   " WHERE i < 2999) INSERT INTO sessions(id, source, started_at)"
                   " SELECT 's' || i, 'cli', 1 FROM n");
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        ids[i] = hf_str(strdup(name));
    }
    assert_ok(f, f->ops->session_delete(f->store, ids, N, &deleted, &f->err));
    assert_int_equal(deleted, N);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sessions"), "500");
    for (int i = 0; i < N; i++)
        free((char *)ids[i].ptr);
    free(ids);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(create), TEST(ensure), TEST(verbatim),
        TEST(fields), TEST(delete_with_family), TEST(delete_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
