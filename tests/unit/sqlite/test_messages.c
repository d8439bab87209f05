/* Appending and reading messages. */
#include "store_fixture.h"

struct ids { int64_t v[64]; int n, stop_after; };

static int
keep_id(void *ctx, const struct hf_message *m)
{
    struct ids *ids = ctx;
    assert_true(ids->n < 64);
    ids->v[ids->n++] = m->id;
    return ids->stop_after && ids->n == ids->stop_after ? 42 : 0;
}

static int
read_ids(struct fixture *f, const char *session, const struct hf_message_query *q,
         struct ids *ids)
{
    struct hf_text t = text_of(session);
    ids->n = 0;
    return f->ops->message_read(f->store, &t, q, keep_id, ids, &f->err);
}

static void
counters(void **state)
{
    struct fixture *f = *state;
    struct hf_message a = fixture_message("u1", "user", "hi");
    struct hf_message b = fixture_message("u2", "assistant", NULL);
    const struct hf_message *both[] = {&a, &b};
    struct hf_field cost = {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT,
                            .i = 7};
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended ret[2];
    fixture_session(f, "s");
    a.timestamp = 500;
    b.timestamp = 400;
    b.tool_calls = text_of("[{\"id\":\"1\"},{\"id\":\"2\"}]");
    b.extra = text_of("{\"api_content\":\"x\",\"role\":\"no\"}");
    what.session_id = text_of("s");
    what.messages = both;
    what.n_messages = 2;
    what.fields = &cost;
    what.n_fields = 1;
    assert_ok(f, f->ops->message_append(f->store, &what, ret, &f->err));
    assert_true(ret[0].id > 0 && ret[1].id == ret[0].id + 1);
    assert_string_equal(ret[1].uid, "u2");
    assert_string_equal(fixture_sql(f, "SELECT message_count || ',' || tool_call_count ||"
                                       " ',' || last_activity_at || ',' || input_tokens"
                                       " FROM sessions"), "2,2,500.0,7");
    assert_string_equal(fixture_sql(f, "SELECT role || api_content || (content IS NULL) ||"
                                       " display_order = role || api_content || '1' ||"
                                       " id FROM messages WHERE id = 2"), "1");
    /* Again: everything is there, nothing counts twice, the ids come back. */
    {
        struct hf_appended again[2];
        assert_ok(f, f->ops->message_append(f->store, &what, again, &f->err));
        assert_int_equal(again[0].id, ret[0].id);
        assert_int_equal(again[1].id, ret[1].id);
    }
    assert_string_equal(fixture_sql(f, "SELECT message_count || ',' || input_tokens"
                                       " FROM sessions"), "2,7");
    /* An activity further ahead than the message stays. */
    fixture_sql(f, "UPDATE sessions SET last_activity_at = 900");
    a.uid = text_of("u3");
    assert_true(fixture_append(f, "s", &a) > 0);
    assert_string_equal(fixture_sql(f, "SELECT last_activity_at FROM sessions"), "900.0");
    fixture_sound(f);
}

static void
refusals(void **state)
{
    struct fixture *f = *state;
    struct hf_message m = fixture_message("u1", "user", "hi");
    struct hf_message bad = fixture_message("u2", "user", "x");
    const struct hf_message *both[] = {&m, &bad};
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended ret[2];
    assert_int_equal(fixture_append(f, "nobody", &m), HF_NOT_FOUND);
    fixture_session(f, "s");
    bad.extra = text_of("{");
    what.session_id = text_of("s");
    what.messages = both;
    what.n_messages = 2;
    assert_int_equal(f->ops->message_append(f->store, &what, ret, &f->err), HF_INVALID);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages"), "0");
    assert_string_equal(fixture_sql(f, "SELECT message_count FROM sessions"), "0");
}

static void
continued(void **state)
{
    struct fixture *f = *state;
    struct hf_message m = fixture_message("u1", "user", "hi");
    fixture_sql(
        f,
        "INSERT INTO sessions(id, source, started_at, ended_at, end_reason,"
        " parent_session_id, model_config) VALUES"
        " ('a', 'cli', 1, 2, 'compression', NULL, NULL),"
        " ('b', 'cli', 2, 3, 'compression', 'a', '{bad'),"
        " ('c', 'cli', 3, NULL, NULL, 'b', NULL),"
        " ('branch', 'cli', 4, NULL, NULL, 'b', '{\"_branched_from\":\"b\"}'),"
        " ('lonely', 'cli', 1, 2, 'compression', NULL, NULL),"
        " ('over', 'cli', 1, 2, 'user', NULL, NULL),"
        " ('again', 'cli', 1, NULL, 'compression', NULL, NULL)");
    assert_int_equal(fixture_append(f, "a", &m), HF_CONTINUED);
    assert_non_null(strstr(f->err.message, "goes on as c:"));
    assert_int_equal(fixture_append(f, "lonely", &m), HF_CONTINUED);
    assert_true(fixture_append(f, "over", &m) > 0);
    m.uid = text_of("u2");
    assert_true(fixture_append(f, "again", &m) > 0); /* reopened */
}

static int
keep_content(void *ctx, const struct hf_message *m)
{
    struct hf__buf *out = ctx;
    hf__buf_add(out, m->content.ptr, (size_t)m->content.len);
    return 0;
}

static void
any_byte(void **state)
{
    static const char bytes[] = "a\0b\xff\xc3(\n\r\x1b[2J";
    struct fixture *f = *state;
    struct hf_message m = fixture_message("u1", "user", NULL);
    struct hf_text id = text_of("s");
    struct hf__buf out = {0};
    fixture_session(f, "s");
    m.content = hf_text(bytes, sizeof bytes - 1);
    assert_true(fixture_append(f, "s", &m) > 0);
    assert_ok(f, f->ops->message_read(f->store, &id, NULL, keep_content, &out, &f->err));
    assert_int_equal(out.len, sizeof bytes - 1);
    assert_memory_equal(out.ptr, bytes, out.len);
    hf__buf_free(&out);
    assert_string_equal(fixture_sql(f, "SELECT typeof(content) FROM messages"), "text");
}

static void
verbatim(void **state)
{
    struct fixture *f = *state;
    struct hf_message m = fixture_message(NULL, "user", "old");
    const struct hf_message *one = &m;
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended ret;
    fixture_session(f, "s");
    what.session_id = text_of("s");
    what.messages = &one;
    what.n_messages = 1;
    what.flags = HF_APPEND_VERBATIM;
    m.id = 70;
    m.timestamp = -3; /* outside the window, and kept */
    m.state = HF_MSG_COMPACTED;
    m.is_summary = 1;
    m.token_count = 5;
    m.extra = text_of("{\"display_identity\":{\"$base64\":\"AP8Q\"},"
                      "\"display_order\":3,\"observed\":9}");
    assert_ok(f, f->ops->message_append(f->store, &what, &ret, &f->err));
    assert_int_equal(ret.id, 70);
    assert_string_equal(ret.uid, "");
    assert_string_equal(
        fixture_sql(f, "SELECT id || '|' || timestamp || '|' || active || compacted ||"
                       " _compressed_summary || token_count || hex(display_identity) ||"
                       " display_order || observed || (message_uid IS NULL)"
                       " FROM messages"), "70|-3.0|011500FF10301");
    assert_string_equal(fixture_sql(f, "SELECT message_count FROM sessions"), "0");
    /* The id is taken now: another one is given. */
    assert_ok(f, f->ops->message_append(f->store, &what, &ret, &f->err));
    assert_int_equal(ret.id, 71);
    fixture_sound(f);
}

static void
windows(void **state)
{
    struct fixture *f = *state;
    struct hf_message_query q = HF_INIT(struct hf_message_query);
    struct ids ids = {0};
    fixture_session(f, "s");
    fixture_sql(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                   " WHERE i < 20) INSERT INTO messages(id, session_id, role, timestamp,"
                   " active, compacted) SELECT i, 's', 'user', 100 - i, i NOT IN (4, 5),"
                   " i = 4 FROM n");
    assert_ok(f, read_ids(f, "s", NULL, &ids));
    assert_int_equal(ids.n, 18);
    assert_int_equal(ids.v[3], 6); /* by id, whatever the times say */
    q.states = HF_MSG_COMPACTED;
    assert_ok(f, read_ids(f, "s", &q, &ids));
    assert_int_equal(ids.n, 1);
    assert_int_equal(ids.v[0], 4);
    q.states = HF_MSG_REWOUND;
    assert_ok(f, read_ids(f, "s", &q, &ids));
    assert_int_equal(ids.n, 1);
    assert_int_equal(ids.v[0], 5);
    q.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND;
    assert_ok(f, read_ids(f, "s", &q, &ids));
    assert_int_equal(ids.n, 20);
    q.after_id = 3;
    q.before_id = 10;
    q.limit = 2;
    assert_ok(f, read_ids(f, "s", &q, &ids));
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.v[0], 4);
    q.backwards = 1;
    assert_ok(f, read_ids(f, "s", &q, &ids));
    assert_int_equal(ids.v[0], 9);
    assert_int_equal(ids.v[1], 8);
    ids.stop_after = 1;
    assert_int_equal(read_ids(f, "s", &q, &ids), 42);
    ids.stop_after = 0;
    assert_int_equal(read_ids(f, "nobody", &q, &ids), HF_NOT_FOUND);
    assert_int_equal(ids.n, 0);
}

static void
around(void **state)
{
    static const struct { int64_t id; uint64_t limit; int64_t first, last; int n; } cases[] = {
        {10, 5, 8, 12, 5},  {10, 4, 8, 11, 4},  {1, 5, 1, 5, 5},   {20, 5, 16, 20, 5},
        {19, 6, 15, 20, 6}, {30, 3, 18, 20, 3}, {10, 50, 1, 20, 20}, {10, 1, 10, 10, 1},
    };
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_sql(f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                   " WHERE i < 20) INSERT INTO messages(id, session_id, role, timestamp)"
                   " SELECT i, 's', 'user', 1 FROM n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_message_query q = HF_INIT(struct hf_message_query);
        struct ids ids = {0};
        q.around_id = cases[i].id;
        q.limit = cases[i].limit;
        assert_ok(f, read_ids(f, "s", &q, &ids));
        if (ids.n != cases[i].n || ids.v[0] != cases[i].first ||
            ids.v[ids.n - 1] != cases[i].last)
            fail_msg("case %zu: %d from %lld to %lld", i, ids.n, (long long)ids.v[0],
                     (long long)ids.v[ids.n - 1]);
    }
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(counters), TEST(refusals), TEST(continued), TEST(any_byte),
        TEST(verbatim), TEST(windows), TEST(around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
