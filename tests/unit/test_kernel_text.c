/* test_kernel_text.c - NAME.kernel is told apart from whatever else lies there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/kernel_text.h"

static void
test_parse(void **state)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "\n\n\n\n",
                                      "b\nh\n1\n",
                                      "b\nh\n1\n2",
                                      "b\nh\n1\n2\n3\n",
                                      "b c\nh\n1\n2\n",
                                      "../b\nh\n1\n2\n",
                                      "b\nh\x1b[2J\n1\n2\n",
                                      "b\nh\n-1\n2\n",
                                      "b\nh\n1\n-2\n",
                                      "b\nh\n1\n99999999999999999999\n",
                                      "b\nh\n4294967296\n2\n",
                                      "b\nh\nx\n2\n"};
    struct hf__kernel_owner o, again;
    char text[300], big[400];
    (void)state;
    assert_true(hf__kernel_parse("b-1\nhost\n12\n34\n", 15, &o));
    assert_string_equal(o.boot, "b-1");
    assert_string_equal(o.host, "host");
    assert_int_equal(o.pid, 12);
    assert_int_equal(o.counter, 34);
    o.counter = UINT64_MAX;
    size_t len = hf__kernel_format(&o, text, sizeof text);
    assert_true(hf__kernel_parse(text, len, &again));
    assert_true(again.counter == UINT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (hf__kernel_parse(bad[i], strlen(bad[i]), &o))
            fail_msg("taken: %s", bad[i]);
    assert_false(hf__kernel_parse("b\0c\nh\n1\n2\n", 10, &o));
    memset(big, 'b', sizeof big);
    memcpy(big + 65, "\nh\n1\n2\n", 7);
    assert_false(hf__kernel_parse(big, 72, &o));
}

static void
test_look(void **state)
{
    char folder[] = "/tmp/hf-kernel-XXXXXX", name[64];
    struct hf__kernel_seen seen, other;
    FILE *f;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/k", folder);
    hf__kernel_look(name, &seen);
    assert_int_equal(seen.kind, HF__KERNEL_NONE);
    assert_int_equal(mkdir(name, 0700), 0);
    hf__kernel_look(name, &seen);
    assert_int_equal(seen.kind, HF__KERNEL_OBSTACLE);
    rmdir(name);
    assert_int_equal(symlink("nowhere", name), 0);
    hf__kernel_look(name, &seen);
    assert_int_equal(seen.kind, HF__KERNEL_OBSTACLE);
    unlink(name);
    assert_int_equal(mkfifo(name, 0600), 0);
    hf__kernel_look(name, &seen); /* does not wait for a writer */
    assert_int_equal(seen.kind, HF__KERNEL_OBSTACLE);
    unlink(name);
    f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
    hf__kernel_look(name, &other);
    assert_int_equal(other.kind, HF__KERNEL_GARBLED);
    assert_int_equal(truncate(name, 1 << 20), 0);
    hf__kernel_look(name, &seen);
    assert_int_equal(seen.kind, HF__KERNEL_GARBLED);
    assert_false(hf__kernel_same(&seen, &other));
    assert_int_equal(truncate(name, 2 << 20), 0);
    hf__kernel_look(name, &other);
    assert_false(hf__kernel_same(&seen, &other)); /* beyond what is read */
    unlink(name);
    rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse),
                                       cmocka_unit_test(test_look)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
