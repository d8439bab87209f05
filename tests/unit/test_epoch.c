/* test_epoch.c - reading stored times (SPEC 7), with the values of field case F25. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <string.h>

#include <holdfast/holdfast.h>

static void
text_is(const char *text, double expected)
{
    struct hf_text t = hf_str(text);
    uint32_t bad = 7;
    double got = hf_epoch_coerce(HF_TEXT, 0, 0, &t, &bad);

    if (isnan(expected)) {
        assert_true(isnan(got));
        assert_int_equal(bad, 1);
    } else {
        assert_true(got == expected);
        assert_int_equal(bad, 0);
    }
}

static void
texts(void **state)
{
    struct hf_text nul = {"17\0" "00", 5}, null = {NULL, 0};
    uint32_t bad = 0;

    (void)state;
    text_is("1.7e9", 1.7e9);
    text_is(" 1785000000.5\n", 1785000000.5);
    text_is("+5", 5);
    text_is("0", 0);
    text_is(".5", 0.5);
    text_is("5.", 5);
    text_is("1e+3", 1000);
    text_is("not-a-date", NAN);
    text_is("2026-01-01T00:00:00", NAN);
    text_is("", NAN);
    text_is(" ", NAN);
    text_is(".", NAN);
    text_is("1e", NAN);
    text_is("1,5", NAN);
    text_is("0x10", NAN);
    text_is("inf", NAN);
    text_is("nan", NAN);
    text_is("-1", NAN);
    text_is("1e999", NAN);
    text_is("8204889600", NAN);
    assert_true(isnan(hf_epoch_coerce(HF_TEXT, 0, 0, &nul, &bad)));
    assert_int_equal(bad, 1);
    assert_true(isnan(hf_epoch_coerce(HF_TEXT, 0, 0, &null, NULL)));
}

static void
number_is(uint32_t type, int64_t i, double d, double expected, uint32_t expect_bad)
{
    uint32_t bad = 7;
    double got = hf_epoch_coerce(type, i, d, NULL, &bad);

    assert_true(isnan(expected) ? isnan(got) : got == expected);
    assert_int_equal(bad, expect_bad);
}

static void
numbers(void **state)
{
    (void)state;
    number_is(HF_NULL, 0, 0, NAN, 0);
    number_is(HF_INT, 1785000000, 0, 1785000000.0, 0);
    number_is(HF_INT, 0, 0, 0, 0);
    number_is(HF_INT, -1, 0, NAN, 1);
    number_is(HF_INT, INT64_MAX, 0, NAN, 1);
    number_is(HF_REAL, 0, 8.4e252, NAN, 1);
    number_is(HF_REAL, 0, INFINITY, NAN, 1);
    number_is(HF_REAL, 0, -INFINITY, NAN, 1);
    number_is(HF_REAL, 0, NAN, NAN, 0);
    number_is(HF_REAL, 0, 5e-324, 5e-324, 0);
    number_is(HF_REAL, 0, 4200000000.0, 4200000000.0, 0);
    number_is(HF_REAL, 0, 4200000000.5, NAN, 1);
    number_is(HF_REAL, 0, 8204889600.0, NAN, 1);
    number_is(12345, 0, 0, NAN, 1); /* a BLOB */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(numbers),
    };

    return cmocka_run_group_tests_name("epoch", tests, NULL, NULL);
}
