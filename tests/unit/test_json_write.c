/* test_json_write.c - strings, numbers and whole values, whatever the locale is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/scratch.h"
#include "util/json_write.h"

static void
real_is(double value, const char *expected)
{
    struct hf__buf buf = {0};

    hf__json_real(&buf, value);
    assert_string_equal(buf.ptr, expected);
    hf__buf_free(&buf);
}

static void
reals(void **state)
{
    (void)state;
    real_is(1785000000.0, "1785000000.0");
    real_is(1785966621.207, "1785966621.207");
    real_is(0.1, "0.1");
    real_is(-0.0, "-0.0");
    real_is(5e-324, "4.94065645841247e-324");
    real_is(8.4e252, "8.4e+252");
    real_is(1e22, "1e+22");
    real_is(0.1 + 0.2, "0.30000000000000004");
    real_is(NAN, "null");
    real_is(INFINITY, "null");
    real_is(-INFINITY, "null");
}

static void
reals_read_back(void **state)
{
    struct hf__buf buf = {0};
    uint64_t bits = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        double value;
        json_t *json;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        hf__buf_clear(&buf);
        hf__json_real(&buf, value);
        json = hf__json_parse(buf.ptr, buf.len);
        assert_true(json_is_real(json));
        assert_true(json_real_value(json) == value);
        json_decref(json);
    }
    hf__buf_free(&buf);
}

static void
decimal_comma(void **state)
{
    char *dir = scratch_make(), command[4200];

    (void)state;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/out 2>&1", dir, dir);
    if (system(command) == 0)
        setenv("LOCPATH", dir, 1);
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") ||
        strcmp(localeconv()->decimal_point, ",") != 0) {
        scratch_remove(dir);
        print_message("no locale with a decimal comma, and localedef cannot make one\n");
        skip();
    }
    real_is(1785966621.207, "1785966621.207");
    real_is(3.0, "3.0");
    reals_read_back(NULL);
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    scratch_remove(dir);
}

static void
strings(void **state)
{
    struct hf__buf buf = {0};
    json_t *json;
    char all[256];

    (void)state;
    hf__json_string(&buf, "a\"b\\\b\f\n\r\t\0\x1f\x7f/\xC3\xA4", 15);
    assert_string_equal(buf.ptr, "\"a\\\"b\\\\\\b\\f\\n\\r\\t\\u0000"
                                 "\\u001f\\u007f/\xC3\xA4\"");
    hf__buf_clear(&buf);
    hf__json_string(&buf, "\xFFx\xE2\x9C", 4);
    assert_string_equal(buf.ptr, "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    hf__buf_clear(&buf);
    hf__json_string(&buf, all, 256);
    json = hf__json_parse(buf.ptr, buf.len);
    assert_true(json_is_string(json));
    assert_memory_equal(json_string_value(json), all, 128);
    json_decref(json);
    hf__buf_clear(&buf);
    hf__json_string(&buf, "", 0);
    assert_string_equal(buf.ptr, "\"\"");
    hf__buf_free(&buf);
}

/* Parsing and writing again must come to rest at once. */
static void
rests(const char *text, const char *expected)
{
    struct hf__buf buf = {0};
    json_t *json = hf__json_parse(text, strlen(text));

    assert_non_null(json);
    hf__json_value(&buf, json);
    assert_string_equal(buf.ptr, expected);
    json_decref(json);
    json = hf__json_parse(buf.ptr, buf.len);
    hf__buf_clear(&buf);
    hf__json_value(&buf, json);
    assert_string_equal(buf.ptr, expected);
    json_decref(json);
    hf__buf_free(&buf);
}

static void
values(void **state)
{
    (void)state;
    rests("{\"z\": 1, \"a\": [1.0, true, false, null, {}, []], \"\": \"\\u00e4\"}",
          "{\"z\":1,\"a\":[1.0,true,false,null,{},[]],\"\":\"\xC3\xA4\"}");
    rests("-9223372036854775808", "-9223372036854775808");
    rests("1E5", "100000.0");
    rests("-0", "0");
    rests("\"a\\u0000b\"", "\"a\\u0000b\"");
    assert_null(hf__json_parse("{bad", 4));
    assert_null(hf__json_parse("", 0));
    assert_null(hf__json_parse(NULL, 0));
    assert_null(hf__json_parse("1 2", 3));
    assert_null(hf__json_parse("{\"a\":1}\0junk", 12));
}

static void
depth_is_bounded(void **state)
{
    size_t n = 4u << 20;
    char *deep = malloc(n);

    (void)state;
    assert_non_null(deep);
    memset(deep, '[', n);
    assert_null(hf__json_parse(deep, n));
    for (size_t level = 63; level <= 65; level++) {
        json_t *json;
        memset(deep + level, ']', level);
        memset(deep, '[', level);
        json = hf__json_parse(deep, 2 * level);
        assert_int_equal(json != NULL, level <= 64);
        json_decref(json);
    }
    free(deep);
    assert_int_equal(hf__json_levels("{\"[[[\\\"[\":[1]}", 15), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals),   cmocka_unit_test(reals_read_back),
        cmocka_unit_test(decimal_comma), cmocka_unit_test(strings),
        cmocka_unit_test(values),  cmocka_unit_test(depth_is_bounded),
    };

    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
