/* test_records.c - titles, session ids, times that may be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void
cleaned(const char *title, size_t len, const char *expected)
{
    struct hf_text t = hf_text(title, len);
    struct hf_error err = {0};
    char *clean = (char *)1;

    assert_int_equal(hf__title_clean(&t, &clean, &err), HF_OK);
    if (expected)
        assert_string_equal(clean, expected);
    else
        assert_null(clean);
    free(clean);
}

static void
titles(void **state)
{
    struct hf_error err = {0};
    struct hf_text t;
    char long_title[101 * 3 + 1] = "", *clean = NULL;

    (void)state;
    cleaned("  a\t\r\nb\xE3\x80\x80  c ", 14, "a b c");
    cleaned("a\0b\x1b[31m\x7f\xC2\x9B" "c", 12, "ab[31mc");
    cleaned("\xE2\x80\x8B\xE2\x80\xAE" "x\xEF\xBB\xBF", 10, "x");
    cleaned(" \xE2\x80\x8B \t", 6, NULL);
    cleaned("", 0, NULL);
    cleaned(NULL, 0, NULL);
    cleaned("half \xE2\x9C", 7, "half \xE2\x9C"); /* bad bytes are kept */
    for (int i = 0; i < 100; i++)
        strcat(long_title, "\xE4\xB8\xAD");
    cleaned(long_title, 300, long_title);
    strcat(long_title, "x");
    t = hf_str(long_title);
    assert_int_equal(hf__title_clean(&t, &clean, &err), HF_INVALID);
    assert_non_null(strstr(err.message, "101"));
    assert_null(clean);
    t.len = (2u << 20);
    assert_int_equal(hf__title_clean(&t, &clean, &err), HF_TOO_BIG);
}

static void
made_ids(void **state)
{
    char a[48], b[48];
    struct hf_text t;

    (void)state;
    hf__session_id_make(a, sizeof a);
    hf__session_id_make(b, sizeof b);
    assert_int_equal(strlen(a), 22);
    assert_int_equal(a[8], '_');
    assert_int_equal(a[15], '_');
    assert_int_equal(strspn(a, "0123456789"), 8);
    assert_int_equal(strspn(a + 16, "0123456789abcdef"), 6);
    assert_string_not_equal(a, b);
    t = hf_str(a);
    assert_int_equal(hf__session_id_check(&t, NULL), HF_OK);
}

static void
checked_ids(void **state)
{
    static const char *const fine[] = {"../../out/x", "/tmp/x", "a/b", "..", ".", "a\\b",
                                       "a:b", "a_b", "S1", "s1", "\xE4\xB8\xAD", " x "};
    static const struct { const char *id; size_t len; } bad[] = {
        {NULL, 0}, {"", 0}, {"x\n", 2}, {"x\0y", 3}, {"\x7f", 1}, {"a\xC2\x85", 3},
        {"\xFF", 1}, {"a\xE2\x9C", 3}, {"\xED\xA0\x80", 3}};
    char longest[513];
    struct hf_error err;
    struct hf_text t;

    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        t = hf_str(fine[i]);
        assert_int_equal(hf__session_id_check(&t, &err), HF_OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        t = hf_text(bad[i].id, bad[i].len);
        assert_int_equal(hf__session_id_check(&t, &err), HF_INVALID);
        assert_null(strchr(err.message, '\n'));
    }
    memset(longest, 'x', sizeof longest);
    t = hf_text(longest, 512);
    assert_int_equal(hf__session_id_check(&t, &err), HF_OK);
    t.len = 513;
    assert_int_equal(hf__session_id_check(&t, &err), HF_INVALID);
}

static void
written_times(void **state)
{
    static const double bad[] = {-1, 8.4e252, 8204889600, INFINITY, -INFINITY, NAN,
                                 4200000000.5};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double t = hf__time_or_now(bad[i]);
        assert_true(t > 1e9 && t < 4.2e9);
    }
    assert_true(hf__time_or_now(0) == 0);
    assert_true(hf__time_or_now(4200000000.0) == 4200000000.0);
    assert_true(hf__time_or_now(1785000000.25) == 1785000000.25);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(titles),
        cmocka_unit_test(made_ids),
        cmocka_unit_test(checked_ids),
        cmocka_unit_test(written_times),
    };

    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
