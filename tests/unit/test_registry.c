/* test_registry.c - names of backends, the folders they are looked for in, and the
 * record that a module gets once per process.  Run with the argument "folders" it
 * prints the folders, for the test of raised privileges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "plugins.h"

static void
names(void **state)
{
    char longest[80];

    (void)state;
    assert_true(hf__backend_name_ok("sqlite"));
    assert_true(hf__backend_name_ok("a"));
    assert_true(hf__backend_name_ok("shared_state2"));
    assert_false(hf__backend_name_ok(NULL));
    assert_false(hf__backend_name_ok(""));
    assert_false(hf__backend_name_ok("2a"));
    assert_false(hf__backend_name_ok("_a"));
    assert_false(hf__backend_name_ok("SQLITE"));
    assert_false(hf__backend_name_ok("sqlite/"));
    assert_false(hf__backend_name_ok("../x"));
    assert_false(hf__backend_name_ok("a-b"));
    memset(longest, 'a', sizeof longest);
    longest[65] = '\0';
    assert_false(hf__backend_name_ok(longest));
    longest[64] = '\0';
    assert_true(hf__backend_name_ok(longest));
    assert_true(hf__backend_word("SQLITE"));
    assert_false(hf__backend_word(""));
    assert_false(hf__backend_word("a/b"));
}

static void
folders(void **state)
{
    char **dirs;
    struct hf__config config = {.refs = 1};
    struct hf__config_entry entry = {.key = (char *)"database.plugin_path",
                                     .value = (char *)"/one\n/two"};

    (void)state;
    config.entries = &entry;
    config.n = 1;
    setenv("HOLDFAST_PLUGIN_PATH", "/three::relative:.:/four:", 1);
    dirs = hf__backend_dirs(&config);
    assert_string_equal(dirs[0], "/one");
    assert_string_equal(dirs[1], "/two");
    assert_string_equal(dirs[2], "/three");
    assert_string_equal(dirs[3], "/four");
    assert_int_equal(dirs[4][0], '/'); /* the built-in one comes last */
    assert_null(dirs[5]);
    hf__strv_free(&dirs);
    assert_null(dirs);
    unsetenv("HOLDFAST_PLUGIN_PATH");
    dirs = hf__backend_dirs(NULL);
    assert_non_null(dirs[0]);
    assert_null(dirs[1]);
    hf__strv_free(&dirs);
}

static void
once(void **state)
{
    struct hf__backend *first = NULL, *second = NULL, *third = NULL;
    struct hf_error err;

    (void)state;
    setenv("HOLDFAST_PLUGIN_PATH", plugins_dir(""), 1);
    assert_int_equal(hf__backend_find(NULL, "memory", plugins_host(), &first, &err), 0);
    assert_int_equal(hf__backend_find(NULL, "memory", plugins_host(), &second, &err),
                     0);
    assert_int_equal(
        hf__backend_find(NULL, plugins_module("memory"), plugins_host(), &third, &err),
        0);
    assert_ptr_equal(first, second);
    assert_ptr_equal(first, third);
    assert_string_equal(first->name, "memory");
    assert_null(first->callbacks[0]);
    unsetenv("HOLDFAST_PLUGIN_PATH");
}

static void
refusals(void **state)
{
    static const char *const bad[] = {"",         "./memory",       "../x/memory",
                                      "memory/",  "/tmp/fake.so",   "/tmp/hf_.so",
                                      "/hf_A.so", "/hf_a.so.1",     "/tmp/",
                                      "/",        "/tmp/hf_a-b.so", "a b"};
    struct hf__backend *found = NULL;
    struct hf_error err;

    (void)state;
    setenv("HOLDFAST_PLUGIN_PATH", plugins_dir(""), 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.message[0] = '\0';
        assert_int_equal(hf__backend_find(NULL, bad[i], plugins_host(), &found, &err),
                         HF_PLUGIN);
        assert_true(strlen(err.message) > 20);
        assert_null(found);
    }
    assert_int_equal(hf__backend_find(NULL, "memori", plugins_host(), &found, &err),
                     HF_PLUGIN);
    assert_non_null(strstr(err.message, "unknown backend 'memori'"));
    assert_non_null(strstr(err.message, "did you mean 'memory'?"));
    assert_non_null(strstr(err.message, "memory, opening, stub"));
    assert_int_equal(hf__backend_find(NULL, "MEMORY", plugins_host(), &found, &err),
                     HF_PLUGIN);
    assert_non_null(strstr(err.message, "did you mean 'memory'?"));
    unsetenv("HOLDFAST_PLUGIN_PATH");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(folders),
        cmocka_unit_test(once),
        cmocka_unit_test(refusals),
    };

    if (argc == 2 && !strcmp(argv[1], "folders")) {
        char **dirs = hf__backend_dirs(NULL);
        for (char **dir = dirs; *dir; dir++)
            puts(*dir);
        hf__strv_free(&dirs);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
