/* Snippets: where they are cut, what is marked. */
#include "store_fixture.h"

#include "search.h"

static char *
snippet(struct fixture *f, const char *text, const struct hf_text *content,
        const char *name, const char *calls)
{
    struct hf_text query_text = hf_str(text), tool = hf_str(name), tc = hf_str(calls);
    struct hf__query query;
    struct hf__matcher m;
    struct hf__buf out = {0};

    assert_int_equal(hf__query_parse(&query_text, &query), 0);
    assert_ok(f, hf__matcher_open(f->store, &query, &m, &f->err));
    assert_int_equal(hf__snippet(&m, content, &tool, &tc, &out), SQLITE_OK);
    hf__matcher_close(&m);
    hf__query_free(&query);
    hf__buf_adds(&out, "");
    return hf__buf_take(&out);
}

static void
is(struct fixture *f, const char *query, const char *content, const char *expected)
{
    struct hf_text t = hf_str(content);
    char *found = snippet(f, query, &t, NULL, NULL);
    assert_string_equal(found, expected);
    free(found);
}

static void
marks(void **state)
{
    struct fixture *f = *state;
    is(f, "word", "a Word, and word.", "a >>>Word<<<, and >>>word<<<.");
    is(f, "\"two words\"", "say two words now", "say >>>two words<<< now");
    is(f, "wor*", "words", ">>>words<<<");
    is(f, "a NOT b", "a c", ">>>a<<< c");
    is(f, "a OR b", "b a", ">>>b<<< >>>a<<<");
    is(f, "\"a b\" b", "a b", ">>>a b<<<");
    is(f, "\xe6\x9f\xa5", "\xe6\xa3\x80\xe6\x9f\xa5!", "\xe6\xa3\x80>>>\xe6\x9f\xa5<<<!");
    is(f, "\xf0\x9f\x9a\x80", "x \xf0\x9f\x9a\x80 y", "x >>>\xf0\x9f\x9a\x80<<< y");
    /* Controls stay as they are: who prints them makes them safe. */
    is(f, "word", "\x1b[31mword\x07", "\x1b[31mword\x07");
    is(f, "word", "\x1b[31m word\x07", "\x1b[31m >>>word<<<\x07");
    is(f, "absent", "nothing here", "nothing here");
}

static void
columns(void **state)
{
    struct fixture *f = *state;
    struct hf_text none = {0}, text = hf_str("plain");
    struct hf_text json = hf_text("\0json:[{\"type\":\"text\",\"text\":\"see this\"}]", 41);
    struct hf_text nul = hf_text("head\0needle two", 15);
    char *found = snippet(f, "reader", &text, "reader", "[]");
    assert_string_equal(found, ">>>reader<<<");
    free(found);
    found = snippet(f, "arg", &none, NULL, "{\"arg\":1}");
    assert_string_equal(found, "{\">>>arg<<<\":1}");
    free(found);
    found = snippet(f, "this", &json, NULL, NULL);
    assert_string_equal(found, "see >>>this<<<");
    free(found);
    found = snippet(f, "needle", &nul, NULL, NULL);
    assert_memory_equal(found, "head\0>>>needle<<< two", 22);
    free(found);
    found = snippet(f, "word", &none, NULL, NULL);
    assert_string_equal(found, "");
    free(found);
}

static void
cuts(void **state)
{
    struct fixture *f = *state;
    char text[4000] = {0};
    struct hf_text t = hf_text(text, sizeof text);
    char *found;

    /* Three-byte characters: a cut never falls inside one. */
    for (size_t at = 1000; at < 1040; at++) {
        struct hf__buf valid = {0};
        for (size_t i = 0; i + 3 <= sizeof text; i += 3)
            memcpy(text + i, "\xe2\x80\xa6", 3);
        text[sizeof text - 1] = '.';
        memset(text + at / 3 * 3, ' ', 9);
        memcpy(text + at / 3 * 3 + 1, "needle", 6);
        found = snippet(f, "needle", &t, NULL, NULL);
        assert_non_null(strstr(found, ">>>needle<<<"));
        assert_true(!strncmp(found, "...", 3));
        assert_string_equal(found + strlen(found) - 3, "...");
        assert_true(strlen(found) < 400);
        hf__buf_adds(&valid, found);
        assert_null(strstr(found, "\xef\xbf\xbd"));
        for (const unsigned char *p = (const unsigned char *)found; *p; p++)
            if (*p == 0xE2)
                assert_true(p[1] == 0x80 && p[2] == 0xA6);
            else
                assert_true(*p < 0x80 || p[-1] == 0xE2 || p[-2] == 0xE2);
        hf__buf_free(&valid);
        free(found);
    }
    memset(text, 'x', sizeof text);
    memcpy(text, "start ", 6);
    found = snippet(f, "start", &t, NULL, NULL);
    assert_true(!strncmp(found, ">>>start<<< xxx", 15));
    assert_string_equal(found + strlen(found) - 3, "...");
    free(found);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {T(marks), T(columns), T(cuts)};
    return cmocka_run_group_tests_name("snippet", tests, NULL, NULL);
}
