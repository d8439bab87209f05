/* test_utf8.c - decoding, repairing, widths and what a terminal is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "util/utf8.h"

static void
every_code_point_reads_back(void **state)
{
    struct hf__buf buf = {0};
    int32_t cp, got;

    (void)state;
    for (cp = 0; cp <= 0x10FFFF; cp++) {
        hf__buf_clear(&buf);
        hf__utf8_put(&buf, cp);
        assert_int_equal(hf__utf8_next(buf.ptr, buf.len, &got), buf.len);
        if (cp >= 0xD800 && cp <= 0xDFFF)
            assert_int_equal(got, 0xFFFD);
        else
            assert_int_equal(got, cp);
    }
    hf__buf_free(&buf);
}

static void
repaired_to(const char *bytes, size_t len, const char *expected)
{
    struct hf__buf buf = {0};

    hf__utf8_repair(&buf, bytes, len);
    assert_string_equal(buf.ptr, expected);
    assert_true(hf__utf8_valid(buf.ptr, buf.len));
    assert_int_equal(hf__utf8_valid(bytes, len), !strstr(expected, "\xEF\xBF\xBD"));
    hf__buf_free(&buf);
}

#define R "\xEF\xBF\xBD"

static void
bad_bytes_become_marks(void **state)
{
    (void)state;
    repaired_to("ok \xC3\xA4", 5, "ok \xC3\xA4");
    repaired_to("\xE2\x9C", 2, R);                  /* cut short */
    repaired_to("\xE2\x9Cx", 3, R "x");
    repaired_to("\xED\xA0\x80", 3, R R R);          /* a surrogate */
    repaired_to("\xFF", 1, R);
    repaired_to("\xC0\x80", 2, R R);                /* overlong */
    repaired_to("\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80");
    repaired_to("\xF0\x9F\x98", 3, R);
    repaired_to("\xF4\x90\x80\x80", 4, R R R R);    /* past the end of Unicode */
    repaired_to("a\x80" "b\xBF", 4, "a" R "b" R);
    repaired_to("\xEF\xBB\xBFx", 4, "\xEF\xBB\xBFx");
    assert_int_equal(hf__utf8_count("a\xE2\x9C\xFF\xC3\xA4", 6), 4);
}

static void
widths(void **state)
{
    static const struct { int32_t cp; int width; } cases[] = {
        {'a', 1},    {0xE9, 1},    {0x301, 0},   {0x4E2D, 2},  {0x3042, 2}, {0xAC00, 2},
        {0xFF21, 2}, {0x1F600, 2}, {0x1F680, 2}, {0x20000, 2}, {0x200B, 0}, {0x7, 0},
        {0x9B, 0},   {0x416, 1},   {0x2014, 1},  {0x1F1E6, 1}, {0xFE0F, 0}, {0x0E31, 0},
        {0x11A8, 0}, {0x3000, 2},  {0x2588, 1},  {-1, 1},      {0xE0100, 0}, {0x10FFFF, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (hf__utf8_width(cases[i].cp) != cases[i].width)
            fail_msg("U+%04X: %d columns instead of %d", (unsigned)cases[i].cp,
                     hf__utf8_width(cases[i].cp), cases[i].width);
}

static void
nothing_moves_the_cursor(void **state)
{
    static const char title[] = "a\x1b[2J\r\n\t\x7f\xC2\x9B" "b\xE2\x80\xAE\xE2\x80\x8B"
                                "\xF3\xA0\x80\xA0\xFF\xE4\xB8\xAD";
    struct hf__buf buf = {0};

    (void)state;
    hf__utf8_safe(&buf, title, sizeof title - 1);
    assert_string_equal(buf.ptr, "a\\x1b[2J\\r\\n\\t\\x7f\\x9bb\\u202e\\u200b"
                                 "\\U000e0020" R "\xE4\xB8\xAD");
    hf__buf_clear(&buf);
    hf__utf8_safe(&buf, "\0x", 2);
    assert_string_equal(buf.ptr, "\\x00x");
    hf__buf_free(&buf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_reads_back),
        cmocka_unit_test(bad_bytes_become_marks),
        cmocka_unit_test(widths),
        cmocka_unit_test(nothing_moves_the_cursor),
    };

    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
