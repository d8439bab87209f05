/* test_options.c - option types, and values checked against them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"

static void
types(void **state)
{
    static const char *const good[] = {
        "int:0..1", "int:-5..-5",
        "enum:a",   "enum:a|b",
        "string",   "path",
        "bool",     "int:-9223372036854775808..9223372036854775807"};
    static const char *const bad[] = {"",
                                      "int",
                                      "int:",
                                      "int:1",
                                      "int:1..",
                                      "int:..1",
                                      "int:2..1",
                                      "int:a..b",
                                      "int:1..2x",
                                      "int:01..2",
                                      "int:0..9223372036854775808",
                                      "enum:",
                                      "enum:a|",
                                      "enum:|a",
                                      "enum:a||b",
                                      "enum:a|b|A",
                                      "String",
                                      "strings",
                                      "float",
                                      "enum"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(hf__option_type_bad(good[i]));
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!hf__option_type_bad(bad[i]))
            fail_msg("taken: %s", bad[i]);
    assert_non_null(hf__option_type_bad(NULL));
}

static void
is(const char *type, const char *value, const char *want)
{
    struct hf_error err;
    char *got = NULL;

    assert_int_equal(hf__option_value(type, "k", value, 0, NULL, NULL, &got, &err),
                     HF_OK);
    assert_string_equal(got, want);
    free(got);
}

static void
is_not(const char *type, const char *value, const char *message)
{
    struct hf_error err;
    char *got = NULL;

    assert_int_equal(hf__option_value(type, "k", value, 0, "f:1:2", "f", &got, &err),
                     HF_CONFIG);
    assert_null(got);
    assert_string_equal(err.message, message);
    assert_string_equal(err.path, "f");
}

static void
values(void **state)
{
    (void)state;
    is("int:-3..3", "-3", "-3");
    is("int:-3..3", "+3", "3");
    is("int:-3..3", "-0", "0");
    is("enum:One|two", "oNE", "One");
    is("string", "", "");
    is("path", "/", "/");
    is("bool", "ON", "true");
    is("bool", "0", "false");
    is_not("int:-3..3", "4",
           "f:1:2: k: found '4', allowed: a whole number from -3 to 3");
    is_not("int:-3..3", " 1",
           "f:1:2: k: found ' 1', allowed: a whole number from -3 to 3");
    is_not("int:-3..3", "", "f:1:2: k: found '', allowed: a whole number from -3 to 3");
    is_not("int:-3..3", "--1",
           "f:1:2: k: found '--1', allowed: a whole number from -3 to 3");
    is_not("enum:one|two", "tow",
           "f:1:2: k: found 'tow', allowed: one, two (did you mean 'two'?)");
    is_not("enum:one|two", "zzzzzz", "f:1:2: k: found 'zzzzzz', allowed: one, two");
    is_not("bool", "maybe", "f:1:2: k: found 'maybe', allowed: true, false");
    is_not("path", "a/b", "f:1:2: k: found 'a/b', allowed: an absolute path");
}

static void
found_is_safe_and_short(void **state)
{
    char value[200];
    struct hf_error err;
    char *got = NULL;

    (void)state;
    memset(value, 0, sizeof value);
    for (size_t i = 0; i < 60; i++)
        memcpy(value + 1 + 2 * i, "\xc3\xa9", 2);
    value[0] = '\n';
    assert_int_equal(hf__option_value("bool", "k", value, 0, NULL, NULL, &got, &err),
                     HF_CONFIG);
    assert_null(strchr(err.message, '\n'));
    assert_non_null(strstr(err.message, "\xc3\xa9...'"));
    assert_true(strlen(err.message) < 200);
}

static void
check_against_a_table(void **state)
{
    static const struct hf_option option = {"depth", "int:1..9", "3", "how deep"};
    struct hf_error err;

    (void)state;
    assert_int_equal(hf__option_check(&option, "9", "x", &err), HF_OK);
    assert_int_equal(hf__option_check(&option, "10", "FILE:1:1", &err), HF_CONFIG);
    assert_string_equal(err.message,
                        "FILE:1:1: depth: found '10', allowed: a whole number "
                        "from 1 to 9");
    assert_int_equal(hf__option_check(&option, "10", NULL, NULL), HF_CONFIG);
}

static void
every_key_of_ours_has_a_sound_type_and_default(void **state)
{
    struct hf_error err;
    int i;

    (void)state;
    for (i = 0; hf__config_keys[i].key; i++) {
        const struct hf__config_key *k = &hf__config_keys[i];
        char *value = NULL;

        if (strcmp(k->type, "backend") != 0 && strcmp(k->type, "paths") != 0 &&
            strcmp(k->type, "synchronous") != 0)
            assert_null(hf__option_type_bad(k->type));
        if (!k->fallback[0])
            continue;
        assert_int_equal(
            hf__option_value(k->type, k->key, k->fallback, 0, NULL, NULL, &value, &err),
            HF_OK);
        assert_string_equal(value, k->fallback);
        free(value);
    }
    assert_int_equal(i, 18);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types),
        cmocka_unit_test(values),
        cmocka_unit_test(found_is_safe_and_short),
        cmocka_unit_test(check_against_a_table),
        cmocka_unit_test(every_key_of_ours_has_a_sound_type_and_default),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
