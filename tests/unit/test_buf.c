/* test_buf.c - growing, formatting, taking, and staying failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "util/buf.h"

static void
grows_and_ends_in_nul(void **state)
{
    struct hf__buf buf = {0};

    (void)state;
    for (int i = 0; i < 10000; i++) {
        hf__buf_addc(&buf, (char)('a' + i % 26));
        assert_int_equal(buf.ptr[buf.len], '\0');
    }
    assert_int_equal(buf.len, 10000);
    assert_int_equal(buf.ptr[9999], 'a' + 9999 % 26);
    hf__buf_clear(&buf);
    assert_int_equal(buf.len, 0);
    assert_true(buf.cap > 10000);
    hf__buf_add(&buf, "a\0b", 3);
    assert_memory_equal(buf.ptr, "a\0b", 4);
    hf__buf_free(&buf);
    assert_null(buf.ptr);
}

static void
formats_of_any_length(void **state)
{
    struct hf__buf buf = {0};
    char *taken;
    size_t len;

    (void)state;
    for (len = 250; len < 260; len++) {
        hf__buf_clear(&buf);
        hf__buf_addf(&buf, "%*d", (int)len, 7);
        assert_int_equal(buf.len, len);
        assert_int_equal(buf.ptr[len - 1], '7');
    }
    hf__buf_clear(&buf);
    hf__buf_addf(&buf, "%5000s|", "x");
    assert_int_equal(buf.len, 5001);
    taken = hf__buf_take(&buf);
    assert_non_null(taken);
    assert_int_equal(strlen(taken), 5001);
    assert_int_equal(buf.cap, 0);
    free(taken);
}

static void
empty_is_no_null(void **state)
{
    struct hf__buf buf = {0};
    char *taken = hf__buf_take(&buf);

    (void)state;
    assert_non_null(taken);
    assert_string_equal(taken, "");
    free(taken);
}

static void
failure_sticks(void **state)
{
    struct hf__buf buf = {0};

    (void)state;
    hf__buf_adds(&buf, "kept");
    hf__buf_add(&buf, "x", SIZE_MAX / 2);
    assert_true(buf.failed);
    hf__buf_adds(&buf, "more");
    assert_int_equal(buf.len, 4);
    assert_null(hf__buf_take(&buf));
    assert_false(buf.failed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_ends_in_nul),
        cmocka_unit_test(formats_of_any_length),
        cmocka_unit_test(empty_is_no_null),
        cmocka_unit_test(failure_sticks),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
