/* test_log.c - one line, safe to show, whatever is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "util/utf8.h"

static char got[70000], got_event[64], got_path[64];
static int got_level, calls;

static void
take(void *ctx, int32_t level, const char *event, const char *path, const char *text)
{
    assert_ptr_equal(ctx, got);
    got_level = level;
    snprintf(got_event, sizeof got_event, "%s", event);
    snprintf(got_path, sizeof got_path, "%s", path ? path : "(none)");
    snprintf(got, sizeof got, "%s", text);
    calls++;
}

static const struct hf__log to_us = {take, got};

static void
passes_on_what_it_is_given(void **state)
{
    (void)state;
    hf__log(&to_us, HF_LOG_WARNING, "some_event", "/a/b", "%s is %d", "x", 4);
    assert_int_equal(got_level, HF_LOG_WARNING);
    assert_string_equal(got_event, "some_event");
    assert_string_equal(got_path, "/a/b");
    assert_string_equal(got, "x is 4");
    hf__log(&to_us, HF_LOG_INFO, "e", NULL, "%s", "");
    assert_string_equal(got, "");
    assert_string_equal(got_path, "(none)");
}

static void
is_one_line_without_controls(void **state)
{
    static const char nasty[] = "a\nb\r\x1b[2Jc\x07\x7f\xc2\x9b"
                                "d\xff\xe2\x80\xae.\t";
    size_t i;

    (void)state;
    hf__log(&to_us, HF_LOG_ERROR, "e", NULL, "%s", nasty);
    for (i = 0; got[i]; i++)
        assert_true((unsigned char)got[i] >= 0x20 && got[i] != 0x7f);
    assert_true(hf__utf8_valid(got, strlen(got)));
    assert_null(strstr(got, "\xc2\x9b"));
    assert_null(strstr(got, "\xe2\x80\xae"));
    assert_non_null(strchr(got, 'd'));
}

static void
takes_long_lines_whole(void **state)
{
    char *text = malloc(60001);

    (void)state;
    memset(text, 'x', 60000);
    text[60000] = '\0';
    hf__log(&to_us, HF_LOG_DEBUG, "e", NULL, "%s", text);
    assert_string_equal(got, text);
    free(text);
}

static void
says_nothing_to_nobody(void **state)
{
    static const struct hf__log none = {NULL, NULL};
    int before = calls;

    (void)state;
    hf__log(&none, HF_LOG_ERROR, "e", NULL, "x");
    assert_int_equal(calls, before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_on_what_it_is_given),
        cmocka_unit_test(is_one_line_without_controls),
        cmocka_unit_test(takes_long_lines_whole),
        cmocka_unit_test(says_nothing_to_nobody),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
