/* Taking over a session of another store: once, whatever comes how often. */
#include "store_fixture.h"

struct walk {
    const struct hf_message *v;
    size_t n;
    int fail_at; /* 1-based; that many calls in, the source fails */
};

static int
walk_messages(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    const struct walk *w = ctx;
    for (size_t i = 0; i < w->n; i++) {
        int rc;
        if (w->fail_at && i + 1 == (size_t)w->fail_at)
            return hf_error_set(err, HF_IO, NULL, "the source cannot be read");
        rc = emit(emit_ctx, &w->v[i]);
        if (rc)
            return rc;
    }
    return HF_OK;
}

static struct hf_session
session_of(const char *id)
{
    struct hf_session s = HF_INIT(struct hf_session);
    s.id = text_of(id);
    s.source = text_of("cli");
    s.started_at = 100;
    s.ended_at = s.last_active = HF_NO_TIME;
    return s;
}

static struct hf_transfer
transfer_of(const struct hf_session *s, struct walk *w)
{
    struct hf_transfer t = HF_INIT(struct hf_transfer);
    t.session = s;
    t.messages = walk_messages;
    t.ctx = w;
    return t;
}

static struct hf_transferred
merge(struct fixture *f, const struct hf_transfer *t)
{
    struct hf_transferred ret = HF_INIT(struct hf_transferred);
    assert_ok(f, f->ops->session_merge(f->store, t, &ret, &f->err));
    return ret;
}

static struct hf_message
message_at(const char *uid, const char *role, const char *content, double t)
{
    struct hf_message m = fixture_message(uid, role, content);
    m.timestamp = t;
    return m;
}

#define ROW(f)                                                                        \
    fixture_sql(f, "SELECT message_count || ',' || tool_call_count || ',' ||"         \
                   " last_activity_at || ',' || input_tokens FROM sessions"           \
                   " WHERE id = 's'")
#define MESSAGES(f)                                                                   \
    fixture_sql(f, "SELECT group_concat(id || COALESCE(message_uid, '-') || active" \
                   " || compacted, ' ') FROM (SELECT * FROM messages ORDER BY id)")

static void
new_then_again(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at("u1", "user", "hi", 500),
                             message_at("u2", "assistant", NULL, 700),
                             message_at("u3", "user", "bye", 600)};
    struct walk w = {m, 3, 0};
    struct hf_transfer t = transfer_of(&s, &w);
    struct hf_field fields[] = {
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 7},
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 2}};
    struct hf_usage usage = HF_INIT(struct hf_usage);
    const struct hf_usage *one = &usage;
    struct hf_transferred ret;
    usage.session_id = text_of("s");
    usage.model = text_of("x");
    usage.input_tokens = 5;
    usage.seen_at = HF_NO_TIME;
    m[0].id = 90; /* its number in another store */
    m[1].tool_calls = text_of("[{\"id\":\"1\"},{\"id\":\"2\"}]");
    m[1].extra = text_of("{\"api_content\":\"x\"}");
    m[2].state = HF_MSG_REWOUND;
    t.fields = fields;
    t.n_fields = 1;
    t.usage = &one;
    t.n_usage = 1;
    t.stamp = text_of("file-1");
    ret = merge(f, &t);
    assert_true(ret.created && ret.messages == 3 && ret.states == 0);
    assert_string_equal(MESSAGES(f), "1u110 2u210 3u300");
    assert_string_equal(ROW(f), "3,2,700.0,7");
    assert_string_equal(fixture_sql(f, "SELECT api_content FROM messages WHERE id = 2"),
                        "x");
    ret = merge(f, &t);
    assert_true(!ret.created && ret.messages == 0 && ret.states == 0);
    assert_string_equal(MESSAGES(f), "1u110 2u210 3u300");
    assert_string_equal(ROW(f), "3,2,700.0,7");
    assert_string_equal(fixture_sql(f, "SELECT input_tokens FROM session_model_usage"),
                        "5");
    /* A field that came behind is carried out, and the usage is not once more. */
    t.n_fields = 2;
    merge(f, &t);
    assert_string_equal(ROW(f), "3,2,700.0,9");
    assert_string_equal(fixture_sql(f, "SELECT input_tokens FROM session_model_usage"),
                        "5");
    /* Another stamp is another story; no stamp remembers nothing. */
    t.stamp = text_of("file-2");
    merge(f, &t);
    assert_string_equal(ROW(f), "3,2,700.0,18");
    t.stamp = hf_text(NULL, 0);
    merge(f, &t);
    merge(f, &t);
    assert_string_equal(ROW(f), "3,2,700.0,36");
    fixture_sound(f);
}

static void
states(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at("u1", "user", "one", 500),
                             message_at("u2", "assistant", "two", 501),
                             message_at("u3", "user", "three", 502),
                             message_at("u4", "user", "four", 503)};
    struct walk w = {m, 3, 0};
    struct hf_transfer t = transfer_of(&s, &w);
    struct hf_transferred ret;
    m[1].tool_calls = text_of("[{\"id\":\"1\"}]");
    merge(f, &t);
    assert_string_equal(ROW(f), "3,1,502.0,0");
    /* Rewound there: hidden here, and the counters stay as they do there. */
    m[2].state = HF_MSG_REWOUND;
    ret = merge(f, &t);
    assert_int_equal(ret.states, 1);
    assert_string_equal(MESSAGES(f), "1u110 2u210 3u300");
    assert_string_equal(ROW(f), "3,1,502.0,0");
    /* Compacted there: counted anew, as what is active, with the summary. */
    m[0].state = m[1].state = HF_MSG_COMPACTED;
    m[3].is_summary = 1;
    w.n = 4;
    ret = merge(f, &t);
    assert_true(ret.states == 2 && ret.messages == 1);
    assert_string_equal(MESSAGES(f), "1u101 2u201 3u300 4u410");
    assert_string_equal(ROW(f), "1,0,503.0,0");
    assert_string_equal(fixture_sql(f, "SELECT _compressed_summary FROM messages"
                                       " WHERE id = 4"), "1");
    ret = merge(f, &t);
    assert_true(ret.states == 0 && ret.messages == 0);
    assert_string_equal(ROW(f), "1,0,503.0,0");
    /* And active once more. */
    m[2].state = HF_MSG_ACTIVE;
    ret = merge(f, &t);
    assert_int_equal(ret.states, 1);
    assert_string_equal(MESSAGES(f), "1u101 2u201 3u310 4u410");
    fixture_sound(f);
}

static void
without_uid(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at(NULL, "user", "ok", 500),
                             message_at(NULL, "user", "ok", 500),
                             message_at(NULL, "user", NULL, 500),
                             message_at(NULL, "assistant", "ok", 500),
                             message_at(NULL, "user", "ok", 501)};
    struct walk w = {m, 1, 0};
    struct hf_transfer t = transfer_of(&s, &w);
    assert_int_equal(merge(f, &t).messages, 1);
    /* The one that is stored stands for the first, not for its twin. */
    w.n = 5;
    assert_int_equal(merge(f, &t).messages, 4);
    assert_string_equal(MESSAGES(f), "1-10 2-10 3-10 4-10 5-10");
    assert_int_equal(merge(f, &t).messages, 0);
    m[1].state = HF_MSG_COMPACTED;
    assert_int_equal(merge(f, &t).states, 1);
    assert_string_equal(MESSAGES(f), "1-10 2-01 3-10 4-10 5-10");
    assert_string_equal(ROW(f), "4,0,501.0,0");
    fixture_sound(f);
}

/* Without a time and without a uid: told apart by what they say, in their order. */
static void
without_time(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at(NULL, "user", "none", HF_NO_TIME),
                             message_at(NULL, "user", "some", 500),
                             message_at(NULL, "user", "none", HF_NO_TIME),
                             message_at("u1", "user", "named", -HF_NO_TIME),
                             message_at(NULL, "user", "late", INFINITY)};
    struct walk w = {m, 5, 0};
    struct hf_transfer t = transfer_of(&s, &w);
    assert_int_equal(merge(f, &t).messages, 5);
    assert_string_equal(fixture_sql(f, "SELECT group_concat(timestamp, ' ') FROM"
                                       " (SELECT * FROM messages ORDER BY id)"),
                        "100.0 500.0 500.0 500.0 500.0");
    f->now = 900; /* later */
    assert_int_equal(merge(f, &t).messages, 0);
    /* Its own row, whose time is damaged, comes back from elsewhere without one. */
    fixture_sql(f, "UPDATE messages SET timestamp = 'soon' WHERE id = 1;"
                   "UPDATE messages SET timestamp = 1e300 WHERE id = 3");
    assert_int_equal(merge(f, &t).messages, 0);
    m[0].content = text_of("another");
    assert_int_equal(merge(f, &t).messages, 1);
    /* A time is not as good as none. */
    m[0].content = text_of("none");
    m[0].timestamp = 501;
    w.n = 1;
    assert_int_equal(merge(f, &t).messages, 1);
    assert_string_equal(fixture_sql(f, "SELECT message_count FROM sessions"), "7");
}

static void
titles_and_parents(void **state)
{
    struct fixture *f = *state;
    char longest[HF_MAX_TITLE * 2 + 1];
    struct hf_session s = session_of("s"), child = session_of("child"), a, b;
    struct walk none = {NULL, 0, 0};
    struct hf_transfer t = transfer_of(&child, &none);
    struct hf_field rename = {.name = "title", .type = HF_TEXT};
    for (size_t i = 0; i < HF_MAX_TITLE; i++)
        memcpy(longest + 2 * i, "\xc3\xa4", 3);
    child.parent_id = text_of("s");
    child.title = text_of("talk");
    merge(f, &t);
    assert_string_equal(fixture_sql(f, "SELECT parent_session_id IS NULL FROM"
                                       " sessions"), "1");
    s.title = text_of("talk");
    t.session = &s;
    merge(f, &t);
    assert_string_equal(fixture_sql(f, "SELECT title FROM sessions WHERE id = 's'"),
                        "talk #2");
    merge(f, &t); /* it has one: it keeps it */
    assert_string_equal(fixture_sql(f, "SELECT title FROM sessions WHERE id = 's'"),
                        "talk #2");
    t.session = &child; /* now its parent is there, and is filled in */
    merge(f, &t);
    assert_string_equal(fixture_sql(f, "SELECT parent_session_id || title FROM sessions"
                                       " WHERE id = 'child'"), "stalk");
    a = session_of("a");
    b = session_of("b");
    a.title = b.title = text_of(longest);
    t.session = &a;
    merge(f, &t);
    t.session = &b;
    merge(f, &t);
    assert_string_equal(fixture_sql(f, "SELECT length(title) || substr(title, 97) FROM"
                                       " sessions WHERE id = 'b'"), "100\xc3\xa4 #2");
    rename.text = text_of("talk");
    t.fields = &rename;
    t.n_fields = 1;
    merge(f, &t);
    assert_string_equal(fixture_sql(f, "SELECT title FROM sessions WHERE id = 'b'"),
                        "talk #3");
    fixture_sound(f);
}

static void
greater_of(void **state)
{
    struct fixture *f = *state;
    struct hf_text id = text_of("s");
    struct hf_field more = {.name = "input_tokens", .op = HF_FIELD_MAX, .type = HF_INT};
    struct hf_field cost = {.name = "actual_cost_usd", .op = HF_FIELD_MAX,
                            .type = HF_REAL};
    static const int64_t given[] = {5, 3, 9}, then[] = {5, 5, 9};
    fixture_session(f, "s");
    for (int i = 0; i < 3; i++) {
        more.i = given[i];
        assert_ok(f, f->ops->session_update(f->store, &id, &more, 1, &f->err));
        assert_int_equal(
            atoi(fixture_sql(f, "SELECT input_tokens FROM sessions")), then[i]);
    }
    cost.d = HF_NO_TIME;
    assert_ok(f, f->ops->session_update(f->store, &id, &cost, 1, &f->err));
    assert_string_equal(fixture_sql(f, "SELECT typeof(actual_cost_usd) FROM sessions"),
                        "null");
    cost.d = -1; /* NULL is less than any */
    assert_ok(f, f->ops->session_update(f->store, &id, &cost, 1, &f->err));
    assert_string_equal(fixture_sql(f, "SELECT actual_cost_usd FROM sessions"), "-1.0");
    more.type = HF_TEXT;
    assert_int_equal(f->ops->session_update(f->store, &id, &more, 1, &f->err),
                     HF_INVALID);
}

/* What fails on the way leaves nothing behind. */
static void
all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at("u1", "user", "one", 500),
                             message_at("u2", "user", "two", 501)};
    struct walk w = {m, 2, 2};
    struct hf_transfer t = transfer_of(&s, &w);
    struct hf_transferred ret = HF_INIT(struct hf_transferred);
    struct hf_usage usage = HF_INIT(struct hf_usage);
    const struct hf_usage *one = &usage;
    assert_int_equal(f->ops->session_merge(f->store, &t, &ret, &f->err), HF_IO);
    assert_string_equal(f->err.message, "the source cannot be read");
    w.fail_at = 0;
    t.usage = &one;
    t.n_usage = 1;
    fixture_sql(f, "CREATE TRIGGER no BEFORE INSERT ON session_model_usage"
                   " BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_true(f->ops->session_merge(f->store, &t, &ret, &f->err) < 0);
    assert_true(!ret.created && !ret.messages);
    fixture_sql(f, "DROP TRIGGER no");
    assert_string_equal(fixture_sql(f, "SELECT (SELECT count(*) FROM sessions) +"
                                       " (SELECT count(*) FROM messages)"), "0");
    t.n_usage = 0;
    assert_int_equal(merge(f, &t).messages, 2);
}

/* A change that cannot be carried out here keeps nothing else away. */
static void
unknown_column(void **state)
{
    struct fixture *f = *state;
    struct hf_session s = session_of("s");
    struct hf_message m[] = {message_at("u1", "user", "one", 500)};
    struct walk w = {m, 1, 0};
    struct hf_transfer t = transfer_of(&s, &w);
    struct hf_field fields[] = {
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 7},
        {.name = "of_tomorrow", .type = HF_INT, .i = 1},
        {.name = "started_at", .type = HF_NULL},
        {.name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 2}};
    t.fields = fields;
    t.n_fields = 4;
    t.stamp = text_of("file-1");
    assert_int_equal(merge(f, &t).messages, 1);
    assert_string_equal(ROW(f), "1,0,500.0,9");
    assert_non_null(strstr(f->log, "field_left_out: session s came"));
    assert_non_null(strstr(f->log, "of_tomorrow"));
    assert_non_null(strstr(f->log, "started_at"));
    f->log[0] = '\0'; /* said once */
    merge(f, &t);
    assert_string_equal(f->log, "");
    assert_string_equal(ROW(f), "1,0,500.0,9");
    fixture_sound(f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(new_then_again, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(states, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(without_uid, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(without_time, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(unknown_column, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(titles_and_parents, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(greater_of, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(all_or_nothing, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
