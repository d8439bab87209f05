/* test_runtime.c - the runtime: resolved once, reloaded whole or not at all. */
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
    scratch_folder(scratch_path(dir, "profiles"));
    scratch_folder(scratch_path(dir, "profiles/beta"));
    scratch_folder(scratch_path(dir, "profiles/alpha"));
    scratch_folder(scratch_path(dir, "profiles/.deleted"));
    scratch_folder(scratch_path(dir, "profiles/default"));
    scratch_text(scratch_path(dir, "profiles/zfile"), "");
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

static struct hf_runtime *
runtime(const char *home, const char *profile)
{
    struct hf_runtime_options o = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *rt = NULL;

    o.home = home;
    o.profile = profile;
    if (hf_runtime_new(&o, &rt, &err) != HF_OK)
        fail_msg("%s", err.message);
    return rt;
}

/* "VALUE SOURCE" of one key, as config show gets it. */
static char shown[9000];
static const char *wanted;
static int
show(void *ctx, const char *key, const char *value, const char *source)
{
    (void)ctx;
    if (strcmp(key, wanted) == 0)
        snprintf(shown, sizeof shown, "%s %s", value, source);
    return 0;
}

static const char *
setting(struct hf_runtime *rt, const char *profile, const char *key)
{
    shown[0] = '\0';
    wanted = key;
    assert_int_equal(hf_runtime_config(rt, profile, show, NULL, &err), HF_OK);
    return shown;
}

static void
starts_from_nothing(void **state)
{
    struct hf_runtime *rt;
    const char *home = strdup(scratch_path(dir, "new"));

    (void)state;
    rt = runtime(home, NULL);
    assert_string_equal(hf_runtime_home(rt), home);
    assert_string_equal(hf_runtime_root(rt), home);
    assert_string_equal(hf_runtime_profile(rt), "default");
    assert_string_equal(setting(rt, NULL, "database.journal_mode"), "wal default");
    assert_int_equal(rt->host.abi.size, sizeof(struct hf_host));
    hf_runtime_free(&rt);
    assert_null(rt);
    hf_runtime_free(&rt);
    hf_runtime_free(NULL);
    assert_int_not_equal(access(home, F_OK), 0); /* creates nothing */
    free((char *)(uintptr_t)home);
    assert_null(hf_runtime_home(NULL));
    assert_int_equal(hf_runtime_new(NULL, NULL, &err), HF_INVALID);
    assert_int_equal(hf_runtime_reload(NULL, &err), HF_INVALID);
}

static void
refuses_a_bad_configuration(void **state)
{
    struct hf_runtime_options o = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *rt = NULL;

    (void)state;
    scratch_text(scratch_path(dir, "config.yaml"),
                 "database:\n  journal_mode: dlete\n");
    o.home = dir;
    assert_int_equal(hf_runtime_new(&o, &rt, &err), HF_CONFIG);
    assert_null(rt);
    assert_non_null(strstr(err.message,
                           "config.yaml:2:17: database.journal_mode: found "
                           "'dlete', allowed: wal, delete (did you mean "
                           "'delete'?)"));
    unlink(scratch_path(dir, "config.yaml"));
    o.profile = "gamma";
    assert_int_equal(hf_runtime_new(&o, &rt, &err), HF_NOT_FOUND);
    assert_int_equal(hf_runtime_new(&o, &rt, NULL), HF_NOT_FOUND);
}

static void
an_older_embedder(void **state)
{
    struct hf_runtime_options o = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *rt = NULL;

    (void)state;
    o.home = dir;
    o.profile = "gamma"; /* beyond what its struct had */
    o.abi.size = offsetof(struct hf_runtime_options, profile);
    assert_int_equal(hf_runtime_new(&o, &rt, &err), HF_OK);
    assert_string_equal(hf_runtime_profile(rt), "default");
    hf_runtime_free(&rt);
}

/* F35, second run: the environment counts when the runtime is made, and never again. */
static void
f35_later_changes_change_nothing(void **state)
{
    struct hf_runtime *rt;
    struct hf__config *config = NULL;
    char *alpha = strdup(scratch_path(dir, "profiles/alpha")), *home = NULL;

    (void)state;
    setenv("HOLDFAST_HOME", alpha, 1);
    assert_int_equal(chdir(dir), 0);
    rt = runtime(NULL, NULL);
    setenv("HOLDFAST_HOME", scratch_path(dir, "profiles/beta"), 1);
    setenv("HERMES_HOME", scratch_path(dir, "profiles/beta"), 1);
    setenv("HOME", scratch_path(dir, "profiles/beta"), 1);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(hf_runtime_reload(rt, &err), HF_OK);
    assert_string_equal(hf_runtime_home(rt), alpha);
    assert_string_equal(hf_runtime_profile(rt), "alpha");
    assert_string_equal(hf_runtime_root(rt), dir);
    assert_int_equal(hf__runtime_profile(rt, NULL, &config, &home, &err), HF_OK);
    assert_string_equal(home, alpha);
    free(home);
    hf__config_unref(&config);
    hf_runtime_free(&rt);
    unsetenv("HOLDFAST_HOME");
    unsetenv("HERMES_HOME");
    /* A relative home is made absolute when the runtime is made. */
    assert_int_equal(chdir(dir), 0);
    rt = runtime("profiles/alpha", NULL);
    assert_int_equal(chdir("/"), 0);
    assert_string_equal(hf_runtime_home(rt), alpha);
    hf_runtime_free(&rt);
    free(alpha);
}

static char list[9000];
static int
note_profile(void *ctx, const char *name, const char *home)
{
    size_t len = strlen(list);

    snprintf(list + len, sizeof list - len, "%s=%s;", name, home + strlen(dir));
    return ctx ? 77 : 0;
}

static void
f35_profiles(void **state)
{
    struct hf_runtime *rt = runtime(dir, "alpha");
    struct hf__config *config = NULL;
    char *home = NULL;

    (void)state;
    list[0] = '\0';
    assert_int_equal(hf_runtime_profiles(rt, note_profile, NULL, &err), HF_OK);
    assert_string_equal(list, "default=;alpha=/profiles/alpha;beta=/profiles/beta;");
    list[0] = '\0';
    assert_int_equal(hf_runtime_profiles(rt, note_profile, list, &err), 77);
    assert_string_equal(list, "default=;");
    scratch_text(scratch_path(dir, "profiles/beta/config.yaml"),
                 "database: {patience_ms: 5}\n");
    assert_string_equal(setting(rt, "default", "database.patience_ms"),
                        "20000 default");
    assert_string_equal(setting(rt, "alpha", "database.patience_ms"), "20000 default");
    assert_non_null(strstr(setting(rt, "beta", "database.patience_ms"),
                           "/profiles/beta/config.yaml:1"));
    assert_int_equal(hf__runtime_profile(rt, "gamma", &config, &home, &err),
                     HF_NOT_FOUND);
    assert_null(config);
    assert_null(home);
    assert_int_equal(hf__runtime_profile(rt, "../alpha", &config, &home, &err),
                     HF_INVALID);
    hf_runtime_free(&rt);
}

static void
no_profiles_folder(void **state)
{
    struct hf_runtime *rt = runtime(scratch_path(dir, "none"), NULL);

    (void)state;
    list[0] = '\0';
    assert_int_equal(hf_runtime_profiles(rt, note_profile, NULL, &err), HF_OK);
    assert_string_equal(list, "default=/none;");
    hf_runtime_free(&rt);
}

/* F37, second run: a broken file on reload leaves the process as it was. */
static void
f37_reload(void **state)
{
    struct hf_runtime *rt;
    struct hf__config *held;
    const char *file = strdup(scratch_path(dir, "config.yaml"));
    const char *other = strdup(scratch_path(dir, "profiles/beta/config.yaml"));

    (void)state;
    scratch_text(file, "database:\n  journal_mode: delete\n");
    scratch_text(other, "database:\n  patience_ms: 5\n");
    rt = runtime(dir, NULL);
    assert_non_null(strstr(setting(rt, "beta", "database.patience_ms"), "5 "));
    held = hf__config_ref(rt->config);
    scratch_text(file, "database:\n\tjournal_mode: wal\n");
    assert_int_equal(hf_runtime_reload(rt, &err), HF_CONFIG);
    assert_string_equal(err.path, file);
    assert_non_null(strstr(setting(rt, NULL, "database.journal_mode"), "delete "));
    assert_non_null(strstr(setting(rt, "beta", "database.journal_mode"), "delete "));
    /* A good root with a broken profile in use: nothing changes either. */
    scratch_text(file, "database:\n  journal_mode: wal\n");
    scratch_text(other, "database:\n  patience_ms: x\n");
    assert_int_equal(hf_runtime_reload(rt, &err), HF_CONFIG);
    assert_string_equal(err.path, other);
    assert_non_null(strstr(setting(rt, NULL, "database.journal_mode"), "delete "));
    /* Without a reload the files are not looked at. */
    scratch_text(other, "database:\n  patience_ms: 6\n");
    assert_non_null(strstr(setting(rt, "beta", "database.patience_ms"), "5 "));
    assert_int_equal(hf_runtime_reload(rt, &err), HF_OK);
    assert_non_null(strstr(setting(rt, NULL, "database.journal_mode"), "wal "));
    assert_non_null(strstr(setting(rt, "beta", "database.patience_ms"), "6 "));
    /* Who held the old configuration still has it. */
    assert_string_equal(hf__config_get(held, "database.journal_mode"), "delete");
    hf__config_unref(&held);
    hf_runtime_free(&rt);
    free((char *)(uintptr_t)file);
    free((char *)(uintptr_t)other);
}

static int said;
static void
count(void *ctx, int32_t level, const char *event, const char *path, const char *text)
{
    (void)ctx;
    (void)level;
    (void)event;
    (void)path;
    (void)text;
    said++;
}

static void
a_host_table_outlives_its_runtime(void **state)
{
    struct hf_runtime_options o = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *rt = NULL;
    const struct hf_host *host;

    (void)state;
    o.home = dir;
    o.log = count;
    assert_int_equal(hf_runtime_new(&o, &rt, &err), HF_OK);
    host = &rt->host;
    host->log(host->ctx, HF_LOG_INFO, "e", NULL, "x");
    assert_int_equal(said, 1);
    hf_runtime_free(&rt);
    host->log(host->ctx, HF_LOG_INFO, "e", NULL, "x");
    assert_int_equal(said, 1);
}

static int
count_entry(void *ctx, const char *key, const char *value, const char *source)
{
    (void)key;
    (void)source;
    *(int *)ctx += value != NULL;
    return 0;
}

static void *
ask_often(void *rt)
{
    struct hf_error own;
    int i, n;

    for (i = 0; i < 100; i++) {
        n = 0;
        if (hf_runtime_config(rt, i % 2 ? "beta" : NULL, count_entry, &n, &own) ||
            n < 18)
            return rt;
    }
    return NULL;
}

static void
any_thread_beside_a_reload(void **state)
{
    struct hf_runtime *rt = runtime(dir, "alpha");
    pthread_t threads[3];
    void *bad;
    int i;

    (void)state;
    scratch_text(scratch_path(dir, "config.yaml"), "database: {patience_ms: 5}\n");
    for (i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, rt), 0);
    for (i = 0; i < 50; i++)
        assert_int_equal(hf_runtime_reload(rt, &err), HF_OK);
    for (i = 0; i < 3; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    hf_runtime_free(&rt);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(starts_from_nothing),
        T(refuses_a_bad_configuration),
        T(an_older_embedder),
        T(f35_later_changes_change_nothing),
        T(f35_profiles),
        T(no_profiles_folder),
        T(f37_reload),
        T(a_host_table_outlives_its_runtime),
        T(any_thread_beside_a_reload),
    };

    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
