/* test_home.c - which folder is the root, which the profile's (SPEC 1.1, 1.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "internal.h"

static char *dir;
static struct hf_error err;

static int
set_up(void **state)
{
    (void)state;
    dir = scratch_make();
    unsetenv("HOLDFAST_HOME");
    unsetenv("HERMES_HOME");
    setenv("HOME", dir, 1);
    scratch_folder(scratch_path(dir, "r"));
    scratch_folder(scratch_path(dir, "r/profiles"));
    scratch_folder(scratch_path(dir, "r/profiles/alpha"));
    scratch_folder(scratch_path(dir, "r/profiles/beta"));
    scratch_folder(scratch_path(dir, "r/profiles/.deleted"));
    scratch_text(scratch_path(dir, "r/profiles/file"), "");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    if (chdir("/") != 0)
        abort();
    scratch_remove(dir);
    return 0;
}

/* What is found, relative to the scratch folder. */
static void
finds(const char *home, const char *profile, const char *want_root,
      const char *want_profile, const char *want_home)
{
    struct hf__home h = {0};

    if (hf__home_find(home, profile, &h, &err) != HF_OK)
        fail_msg("%s", err.message);
    assert_string_equal(h.root, scratch_path(dir, want_root));
    assert_string_equal(h.profile, want_profile);
    assert_string_equal(h.home, scratch_path(dir, want_home));
    hf__home_free(&h);
    assert_null(h.root);
}

static void
order_of_the_sources(void **state)
{
    (void)state;
    finds(NULL, NULL, ".holdfast", "default", ".holdfast");
    scratch_folder(scratch_path(dir, ".hermes"));
    finds(NULL, NULL, ".holdfast", "default", ".holdfast"); /* an empty one is none */
    scratch_text(scratch_path(dir, ".hermes/config.yaml"), "");
    finds(NULL, NULL, ".hermes", "default", ".hermes");
    unlink(scratch_path(dir, ".hermes/config.yaml"));
    scratch_text(scratch_path(dir, ".hermes/state.db"), "");
    finds(NULL, NULL, ".hermes", "default", ".hermes");
    setenv("HERMES_HOME", scratch_path(dir, "h"), 1);
    finds(NULL, NULL, "h", "default", "h");
    setenv("HOLDFAST_HOME", scratch_path(dir, "f"), 1);
    finds(NULL, NULL, "f", "default", "f");
    finds(scratch_path(dir, "g"), NULL, "g", "default", "g");
    setenv("HOLDFAST_HOME", "", 1); /* empty is not set */
    finds("", NULL, "h", "default", "h");
}

static void
a_folder_below_profiles(void **state)
{
    (void)state;
    finds(scratch_path(dir, "r"), NULL, "r", "default", "r");
    finds(scratch_path(dir, "r/profiles/alpha"), NULL, "r", "alpha",
          "r/profiles/alpha");
    finds(scratch_path(dir, "r//profiles//alpha//"), NULL, "r", "alpha",
          "r/profiles/alpha");
    finds(scratch_path(dir, "r/profiles/alpha"), "beta", "r", "beta",
          "r/profiles/beta");
    finds(scratch_path(dir, "r/profiles/alpha"), "default", "r", "default", "r");
    finds(scratch_path(dir, "r/profiles/alpha/../beta"), NULL, "r", "beta",
          "r/profiles/beta");
    finds(scratch_path(dir, "r"), "alpha", "r", "alpha", "r/profiles/alpha");
    setenv("HERMES_HOME", scratch_path(dir, "r/profiles/beta"), 1);
    finds(NULL, NULL, "r", "beta", "r/profiles/beta");
    finds(scratch_path(dir, "profiles"), NULL, "profiles", "default", "profiles");
}

static void
links(void **state)
{
    (void)state;
    assert_int_equal(symlink("r", scratch_path(dir, "link")), 0);
    finds(scratch_path(dir, "link"), NULL, "r", "default", "r");
    finds(scratch_path(dir, "link/profiles/alpha"), NULL, "r", "alpha",
          "r/profiles/alpha");
    assert_int_equal(symlink("r/profiles/alpha", scratch_path(dir, "a")), 0);
    finds(scratch_path(dir, "a"), NULL, "r", "alpha", "r/profiles/alpha");
    scratch_folder(scratch_path(dir, "far"));
    assert_int_equal(symlink("../../far", scratch_path(dir, "r/profiles/gamma")), 0);
    finds(scratch_path(dir, "r/profiles/gamma"), NULL, "r", "gamma", "far");
}

static void
relative_ones_are_made_absolute(void **state)
{
    (void)state;
    assert_int_equal(chdir(dir), 0);
    finds("r", NULL, "r", "default", "r");
    finds("./new/deep", NULL, "new/deep", "default", "new/deep");
    assert_int_equal(chdir(scratch_path(dir, "r")), 0);
    finds("profiles/alpha", NULL, "r", "alpha", "r/profiles/alpha");
    assert_int_equal(chdir(scratch_path(dir, "r/profiles")), 0);
    finds("alpha", NULL, "r", "alpha", "r/profiles/alpha");
}

static void
unknown(const char *profile, int code, const char *says)
{
    struct hf__home h = {0};

    assert_int_equal(hf__home_find(scratch_path(dir, "r"), profile, &h, &err), code);
    assert_null(h.root);
    if (!strstr(err.message, says))
        fail_msg("no '%s' in: %s", says, err.message);
}

static void
profiles_that_are_none(void **state)
{
    struct hf__home h = {0};

    (void)state;
    unknown("gamma", HF_NOT_FOUND, "no profile 'gamma'");
    unknown("gamma", HF_NOT_FOUND, "create it with");
    unknown("file", HF_NOT_FOUND, "no profile 'file'"); /* no folder */
    unknown(".deleted", HF_INVALID, "no profile name");
    unknown("Alpha", HF_INVALID, "'Alpha'");
    unknown("../r", HF_INVALID, "no profile name");
    unknown("-x", HF_INVALID, "no profile name");
    assert_int_equal(
        hf__home_find(scratch_path(dir, "r/profiles/.deleted"), NULL, &h, &err),
        HF_INVALID);
    assert_int_equal(hf__home_find(scratch_path(dir, "r/profiles/new"), NULL, &h, &err),
                     HF_NOT_FOUND);
}

static void
names(void **state)
{
    char name[70];

    (void)state;
    assert_true(hf__profile_name_ok("a"));
    assert_true(hf__profile_name_ok("0-_z"));
    assert_false(hf__profile_name_ok(""));
    assert_false(hf__profile_name_ok("_a"));
    assert_false(hf__profile_name_ok("a.b"));
    assert_false(hf__profile_name_ok("a/b"));
    assert_false(hf__profile_name_ok("a\n"));
    memset(name, 'a', sizeof name);
    name[64] = '\0';
    assert_true(hf__profile_name_ok(name));
    name[64] = 'a';
    name[65] = '\0';
    assert_false(hf__profile_name_ok(name));
}

static void
without_a_home_variable(void **state)
{
    struct hf__home h = {0};

    (void)state;
    unsetenv("HOME");
    /* The user database may or may not know us; either way it is no crash. */
    if (hf__home_find(NULL, NULL, &h, &err) == HF_OK) {
        assert_int_equal(h.root[0], '/');
        hf__home_free(&h);
    } else {
        assert_int_equal(err.code, HF_CONFIG);
        assert_non_null(strstr(err.message, "--home"));
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(order_of_the_sources),
        T(a_folder_below_profiles),
        T(links),
        T(relative_ones_are_made_absolute),
        T(profiles_that_are_none),
        T(names),
        T(without_a_home_variable),
    };

    return cmocka_run_group_tests_name("home", tests, NULL, NULL);
}
