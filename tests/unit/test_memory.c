/* test_memory.c - the example backend does what backend.h asks, through the front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "storetest.h"

static int
on_row(void *ctx, const struct hf_session *s)
{
    *(struct hf_session *)ctx = *s;
    return 0;
}

static struct hf_session
get(struct storetest *t, const char *id)
{
    struct hf_text text = hf_str(id);
    struct hf_session row = HF_INIT(struct hf_session);

    assert_int_equal(hf_store_session_get(t->store, &text, 0, on_row, &row, &t->err),
                     0);
    return row;
}

static void
reads(struct storetest *t, struct hf_message_query query, const char *want)
{
    struct hf_text id = hf_str("s");
    struct hf__buf got = {0};

    hf__buf_adds(&got, "");
    assert_int_equal(
        hf_store_read(t->store, &id, &query, storetest_message, &got, &t->err), 0);
    assert_string_equal(got.ptr, want);
    hf__buf_free(&got);
}

static void
reading(void **state)
{
    struct storetest *t = *state;
    struct hf_message_query all = HF_INIT(struct hf_message_query), q;

    assert_int_equal(storetest_create(t, "s", NULL, 0), 0);
    for (int i = 1; i <= 9; i++)
        assert_int_equal(storetest_say(t, "s", "x", 1000 - i), i); /* by id, not time */
    reads(t, all, "1 2 3 4 5 6 7 8 9");
    q = all, q.limit = 3;
    reads(t, q, "1 2 3");
    q.backwards = 1;
    reads(t, q, "9 8 7");
    q.before_id = 4;
    reads(t, q, "3 2 1");
    q = all, q.after_id = 7;
    reads(t, q, "8 9");
    q = all, q.limit = 4, q.around_id = 5;
    reads(t, q, "3 4 5 6");
    q.around_id = 1;
    reads(t, q, "1 2 3 4");
    q = all, q.states = HF_MSG_REWOUND;
    reads(t, q, "");
}

static void
append_with(struct storetest *t, uint32_t flags, const struct hf_message *a,
            const struct hf_message *b, const struct hf_field *field, int want,
            struct hf_appended *ret)
{
    const struct hf_message *messages[] = {a, b};
    struct hf_append what = HF_INIT(struct hf_append);

    what.session_id = hf_str("s");
    what.messages = messages;
    what.n_messages = b ? 2 : 1;
    what.flags = flags;
    what.fields = field;
    what.n_fields = field ? 1 : 0;
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), want);
}

static void
uids_and_fields(void **state)
{
    struct storetest *t = *state;
    struct hf_message m = HF_INIT(struct hf_message), other;
    struct hf_field field = {
        .name = "input_tokens", .op = HF_FIELD_ADD, .type = HF_INT, .i = 5};
    struct hf_appended first[2], ret[2];

    assert_int_equal(storetest_create(t, "s", NULL, 0), 0);
    m.role = hf_str("user");
    m.uid = hf_str("one");
    append_with(t, 0, &m, NULL, &field, 0, first);
    append_with(t, 0, &m, &m, &field, 0, ret); /* there already, twice */
    assert_int_equal(ret[0].id, first[0].id);
    assert_int_equal(ret[1].id, first[0].id);
    assert_string_equal(ret[0].uid, "one");
    assert_int_equal(get(t, "s").message_count, 1);
    assert_int_equal(get(t, "s").input_tokens, 10);
    other = m;
    other.uid = hf_str("two");
    append_with(t, 0, &other, &other, NULL, 0, ret); /* the same within one append */
    assert_int_equal(ret[0].id, ret[1].id);
    assert_int_equal(get(t, "s").message_count, 2);
    /* All or nothing. */
    field.name = "nothing";
    m.uid = hf_str("three");
    append_with(t, 0, &m, NULL, &field, HF_INVALID, ret);
    assert_int_equal(get(t, "s").message_count, 2);
    reads(t, (struct hf_message_query)HF_INIT(struct hf_message_query), "1 2");
}

static void
verbatim(void **state)
{
    struct storetest *t = *state;
    struct hf_message m = HF_INIT(struct hf_message), n;
    struct hf_message_query q = HF_INIT(struct hf_message_query);
    struct hf_appended ret[2];

    assert_int_equal(storetest_create(t, "s", NULL, 0), 0);
    m.role = hf_str("user");
    m.id = 7;
    m.timestamp = HF_NO_TIME;
    m.state = HF_MSG_REWOUND;
    n = m;
    append_with(t, HF_APPEND_VERBATIM, &m, &n, NULL, 0, ret);
    assert_int_equal(ret[0].id, 7);
    assert_int_equal(ret[1].id, 8); /* 7 is no longer free */
    assert_string_equal(ret[0].uid, "");
    assert_int_equal(get(t, "s").message_count, 0);
    reads(t, q, "");
    q.states = HF_MSG_REWOUND;
    reads(t, q, "7 8");
}

static void
ending(void **state)
{
    struct storetest *t = *state;
    struct hf_session child = HF_INIT(struct hf_session);
    struct hf_text id = hf_str("s"), reason = hf_str("compression");
    struct hf_text ids[] = {hf_str("s"), hf_str("none"), hf_str("next")};
    uint64_t deleted = 0;

    assert_int_equal(storetest_create(t, "s", NULL, 0), 0);
    child.id = hf_str("next");
    child.parent_id = id;
    assert_int_equal(hf_store_session_create(t->store, &child, NULL, 0, &t->err), 0);
    assert_int_equal(hf_store_session_end(t->store, &id, &reason, &t->err), 0);
    assert_int_equal(storetest_say(t, "s", "x", 0), HF_CONTINUED);
    assert_non_null(strstr(t->err.message, "next"));
    assert_true(storetest_say(t, "next", "x", 0) > 0);
    assert_int_equal(hf_store_session_delete(t->store, ids, 3, &deleted, &t->err), 0);
    assert_int_equal(deleted, 2);
    assert_int_equal(storetest_say(t, "next", "x", 0), HF_NOT_FOUND);
}

static void
ensure(void **state)
{
    struct storetest *t = *state;
    struct hf_session s = HF_INIT(struct hf_session), row;

    assert_int_equal(storetest_create(t, "s", "mine", 1000), 0);
    assert_int_equal(storetest_create(t, "other", "taken", 2000), 0);
    s.id = hf_str("s");
    s.title = hf_str("not this");
    s.model = hf_str("m");
    assert_int_equal(hf_store_session_ensure(t->store, &s, &t->err), 0);
    row = get(t, "s");
    assert_true(hf__text_is(&row.title, "mine"));
    assert_true(hf__text_is(&row.model, "m"));
    assert_true(row.started_at == 1000);
    s.id = hf_str("fresh");
    s.title = hf_str("taken");
    assert_int_equal(hf_store_session_ensure(t->store, &s, &t->err), HF_EXISTS);
    s.title = hf_str(NULL);
    assert_int_equal(hf_store_session_ensure(t->store, &s, &t->err), 0);
    s.id = hf_str(NULL);
    assert_int_equal(hf_store_session_ensure(t->store, &s, &t->err), HF_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, storetest_setup, storetest_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reading), TEST(uids_and_fields), TEST(verbatim),
        TEST(ending),  TEST(ensure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
