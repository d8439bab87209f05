/* test_file_name.c - ids as names of files, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "private.h"

static void
check(const char *id, size_t len, const char *expected)
{
    struct hf_text text = hf_text(id, len);
    char *name = hf__jl_name(&text), *back;
    size_t back_len;

    assert_non_null(name);
    assert_string_equal(name, expected);
    assert_null(strchr(name, '/'));
    assert_int_equal(hf__jl_name_read(name, &back, &back_len), 1);
    assert_int_equal(back_len, len);
    assert_memory_equal(back, id, len);
    free(back);
    free(name);
}

static void
test_names(void **state)
{
    (void)state;
    check("20260801_101112_abcdef", 22, "20260801_101112_abcdef.jsonl");
    check("../../x", 7, "%2E.%2F..%2Fx.jsonl");
    check("..", 2, "%2E..jsonl");
    check(".", 1, "%2E.jsonl");
    check("a.b", 3, "a.b.jsonl");
    check("S1", 2, "%531.jsonl");
    check("a%2F", 4, "a%252%46.jsonl");
    check("x\0y", 3, "x%00y.jsonl");
    check("\xC3\xA9", 2, "%C3%A9.jsonl");
    check("~", 1, "%7E.jsonl");
}

static void
test_long(void **state)
{
    char id[400];
    struct hf_text text = hf_text(id, 200);
    char *name, *other, *back;
    size_t len;

    (void)state;
    memset(id, 'a', sizeof id);
    name = hf__jl_name(&text);
    assert_int_equal(strlen(name), 206);
    free(name);
    text.len = 201;
    name = hf__jl_name(&text);
    assert_int_equal(strlen(name), 100 + 1 + 64 + 6);
    assert_int_equal(hf__jl_name_read(name, &back, &len), 1);
    assert_null(back);
    id[200] = 'b';
    other = hf__jl_name(&text);
    assert_string_not_equal(name, other);
    free(name);
    free(other);
}

static void
test_other_spellings(void **state)
{
    static const char *const names[] = {"S1.jsonl", "%41b",          "%41",
                                        "a/b.jsonl", "%61.jsonl",    ".x.jsonl",
                                        "a%2f.jsonl", "a b.jsonl",   ".jsonl",
                                        "a%.jsonl",  "s1.jsonl.gz",  "~x.jsonl"};
    char *back;
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(hf__jl_name_read(names[i], &back, &len), 0);
        assert_null(back);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_other_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
