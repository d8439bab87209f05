/* Rewind, restore, compact. */
#include "store_fixture.h"

#define STATES(f)                                                                     \
    fixture_sql(f, "SELECT group_concat(active || compacted, ' ') FROM"               \
                   " (SELECT * FROM messages ORDER BY id)")

static void
fill(struct fixture *f, int n)
{
    fixture_session(f, "s");
    fixture_session(f, "other");
    for (int i = 0; i < n; i++) {
        char uid[16], text[32];
        struct hf_message m;
        snprintf(uid, sizeof uid, "u%d", i);
        snprintf(text, sizeof text, "word%d here", i);
        m = fixture_message(uid, "user", text);
        assert_true(fixture_append(f, "s", &m) == i + 1);
    }
}

static void
rewind_and_restore(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s"), nobody = text_of("nobody");
    uint64_t n = 99;
    fill(f, 5);
    assert_ok(f, f->ops->message_rewind(f->store, &s, 4, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(STATES(f), "10 10 10 00 00");
    assert_ok(f, f->ops->message_rewind(f->store, &s, 3, &n, &f->err));
    assert_int_equal(n, 1);
    assert_string_equal(fixture_sql(f, "SELECT rewind_count FROM sessions WHERE id = 's'"),
                        "2");
    assert_ok(f, f->ops->message_restore(f->store, &s, 4, &n, &f->err));
    assert_int_equal(n, 2);
    assert_string_equal(STATES(f), "10 10 00 10 10");
    assert_int_equal(f->ops->message_rewind(f->store, &nobody, 1, &n, &f->err),
                     HF_NOT_FOUND);
    assert_int_equal(n, 2);
    assert_string_equal(fixture_sql(f, "SELECT message_count FROM sessions WHERE id = 's'"),
                        "5");
}

static void
compact(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s");
    struct hf_message sum = fixture_message("sum", "user", "in short: words");
    const struct hf_message *one = &sum;
    struct hf_appended ret = {0};
    uint64_t n;
    fill(f, 5);
    assert_ok(f, f->ops->message_rewind(f->store, &s, 5, &n, &f->err));
    assert_ok(f, f->ops->message_compact(f->store, &s, 3, &one, 1, &ret, &f->err));
    assert_int_equal(ret.id, 6);
    assert_string_equal(ret.uid, "sum");
    assert_string_equal(STATES(f), "01 01 01 10 00 10");
    assert_string_equal(fixture_sql(f, "SELECT _compressed_summary FROM messages"
                                       " WHERE id = 6"), "1");
    assert_string_equal(fixture_sql(f, "SELECT message_count FROM sessions WHERE id = 's'"),
                        "2"); /* what goes to the model: as Hermes leaves it */
    /* A compacted one is not rewound: restore leaves it. */
    assert_ok(f, f->ops->message_restore(f->store, &s, 1, &n, &f->err));
    assert_int_equal(n, 1);
    assert_string_equal(STATES(f), "01 01 01 10 10 10");
    assert_string_equal(fixture_sql(f, "INSERT INTO messages_fts(messages_fts, rank)"
                                       " VALUES ('integrity-check', 1);"
                                       "SELECT COUNT(*) FROM messages_fts WHERE"
                                       " messages_fts MATCH 'here'"), "5");
    fixture_sound(f);
}

static void
compact_is_whole_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s");
    struct hf_message sum = fixture_message("sum", "user", "x");
    const struct hf_message *one = &sum;
    struct hf_appended ret = {0};
    fill(f, 3);
    sum.extra = text_of("no json");
    assert_int_equal(f->ops->message_compact(f->store, &s, 3, &one, 1, &ret, &f->err),
                     HF_INVALID);
    assert_string_equal(STATES(f), "10 10 10");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rewind_and_restore), TEST(compact), TEST(compact_is_whole_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
