/* test_content.c - text parts, tool calls and previews of stored cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "util/content.h"

static void
text_is(const char *cell, size_t len, const char *expected, size_t expected_len)
{
    struct hf_text t = hf_text(cell, len);
    struct hf__buf out = {0};

    hf__buf_adds(&out, "<");
    hf__content_text(&out, &t);
    assert_int_equal(out.len, expected_len + 1);
    assert_memory_equal(out.ptr + 1, expected, expected_len);
    hf__buf_free(&out);
}
#define TEXT_IS(cell, expected) \
    text_is(cell, sizeof cell - 1, expected, sizeof expected - 1)

static void
text_parts(void **state)
{
    (void)state;
    TEXT_IS("plain", "plain");
    TEXT_IS("", "");
    TEXT_IS("head\0tail", "head\0tail");
    TEXT_IS("\0json:[{\"type\":\"text\",\"text\":\"needle one\"}]", "needle one");
    TEXT_IS("\0json:[{\"text\":\"a\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"x\"}},"
            "\"b\",{\"content\":[{\"text\":\"c\"}]}]", "a\nb\nc");
    TEXT_IS("\0json:{\"type\":\"text\",\"text\":\"a dict\"}", "a dict");
    TEXT_IS("\0json:\"s\"", "s");
    TEXT_IS("\0json:5", "");
    TEXT_IS("\0json:{bad", "\0json:{bad"); /* broken JSON after the mark is text */
    TEXT_IS("\0json", "\0json");
    TEXT_IS("\0", "\0");
    text_is(NULL, 0, "", 0);
}

static void
tool_calls(void **state)
{
    static const struct { const char *cell; int64_t n; } cases[] = {
        {"[]", 0}, {"[{},{}]", 2}, {"{\"a\":[1]}", 0}, {"[1", 0}, {"", 0}, {"null", 0}};
    struct hf_text t = {NULL, 0};

    (void)state;
    assert_int_equal(hf__tool_call_count(&t), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        t = hf_str(cases[i].cell);
        assert_int_equal(hf__tool_call_count(&t), cases[i].n);
    }
    t = hf_text("[1]\0", 4);
    assert_int_equal(hf__tool_call_count(&t), 0);
}

static void
preview_is(const char *cell, size_t len, const char *expected)
{
    struct hf_text t = hf_text(cell, len);
    struct hf__buf out = {0};

    hf__preview(&out, &t);
    assert_string_equal(out.ptr ? out.ptr : "", expected);
    hf__buf_free(&out);
}
#define PREVIEW_IS(cell, expected) preview_is(cell, sizeof cell - 1, expected)
#define TEN "0123456789"

static void
previews(void **state)
{
    (void)state;
    PREVIEW_IS("  a\r\n\tb  \n", "a b");
    PREVIEW_IS("", "");
    PREVIEW_IS(" \n ", "");
    preview_is(NULL, 0, "");
    PREVIEW_IS(TEN TEN TEN TEN TEN TEN, TEN TEN TEN TEN TEN TEN);
    PREVIEW_IS(TEN TEN TEN TEN TEN TEN " \n", TEN TEN TEN TEN TEN TEN);
    PREVIEW_IS(TEN TEN TEN TEN TEN TEN "x", TEN TEN TEN TEN TEN TEN "...");
    PREVIEW_IS(TEN TEN TEN TEN TEN TEN " x", TEN TEN TEN TEN TEN TEN "...");
    PREVIEW_IS(TEN TEN TEN TEN TEN "012345678 xyz", TEN TEN TEN TEN TEN "012345678 ...");
    PREVIEW_IS("\xE4\xB8\xAD\xFF\0z", "\xE4\xB8\xAD\xEF\xBF\xBD\xEF\xBF\xBDz");
    PREVIEW_IS("\0json:[{\"type\":\"text\",\"text\":\"needle\\n one\"}]", "needle one");
    PREVIEW_IS("\0json:[{\"type\":\"image_url\"}]", "");
}

static void
a_preview_is_added(void **state)
{
    struct hf_text t = hf_str("x");
    struct hf__buf out = {0};

    (void)state;
    hf__buf_adds(&out, TEN TEN TEN TEN TEN TEN TEN);
    hf__preview(&out, &t);
    assert_string_equal(out.ptr, TEN TEN TEN TEN TEN TEN TEN "x");
    hf__buf_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_parts),
        cmocka_unit_test(tool_calls),
        cmocka_unit_test(previews),
        cmocka_unit_test(a_preview_is_added),
    };

    return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
