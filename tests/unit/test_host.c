/* test_host.c - the table that backends get, and the registry of live files. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "internal.h"

static struct hf_error err;
static char said[200];

static void
take(void *ctx, int32_t level, const char *event, const char *path, const char *text)
{
    (void)ctx;
    snprintf(said, sizeof said, "%d %s %s %s", (int)level, event, path, text);
}

static void
the_table(void **state)
{
    struct hf_runtime rt = {0};
    struct {
        struct hf_mount m;
        char canary[16];
    } old;
    struct hf_host host;

    (void)state;
    hf__host_init(&host, &rt);
    assert_int_equal(host.abi.size, sizeof host);
    host.log(host.ctx, HF_LOG_INFO, "e", "/p", "nobody listens");
    rt.log.fn = take;
    host.log(host.ctx, HF_LOG_INFO, "e", "/p", "%d\n", 7);
    assert_string_equal(said, "20 e /p 7\\n");
    assert_true(host.now(host.ctx) > 1.6e9);
    /* A plugin that knows a shorter struct keeps the rest of its memory. */
    memset(&old, 'x', sizeof old);
    old.m.abi = (struct hf_abi){1, 0, offsetof(struct hf_mount, fs_type)};
    host.mount_classify(host.ctx, "/tmp", &old.m);
    assert_int_equal(old.m.abi.size, offsetof(struct hf_mount, fs_type));
    assert_int_equal(old.m.fs_type[0], 'x');
    assert_int_not_equal(old.m.sandbox, 0x78787878);
    assert_int_equal(old.canary[0], 'x');
}

static void
tracks_nest(void **state)
{
    char *dir = scratch_make();
    const char *db = scratch_path(dir, "state.db");

    (void)state;
    assert_false(hf__live_is(db));
    assert_int_equal(hf__live_track(db, &err), HF_OK); /* not there yet */
    scratch_text(db, "x");
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    assert_true(hf__live_is(db));
    hf__live_untrack(db);
    assert_true(hf__live_is(db));
    hf__live_untrack(db);
    assert_false(hf__live_is(db));
    hf__live_untrack(db); /* one too many harms nothing */
    assert_false(hf__live_is(db));
    scratch_remove(dir);
}

static void
a_path_is_a_file_not_a_spelling(void **state)
{
    char *dir = scratch_make();
    const char *db = scratch_path(dir, "state.db");

    (void)state;
    scratch_text(db, "x");
    assert_int_equal(symlink(dir, scratch_path(dir, "link")), 0);
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    assert_true(hf__live_is(scratch_path(dir, "link/./state.db")));
    assert_false(hf__live_is(scratch_path(dir, "state.db2")));
    hf__live_untrack(scratch_path(dir, "link/state.db"));
    assert_false(hf__live_is(db));
    scratch_remove(dir);
}

static void
a_guard_and_a_live_file_exclude_each_other(void **state)
{
    char *dir = scratch_make();
    const char *db = scratch_path(dir, "state.db"), *other = scratch_path(dir, "b.db");

    (void)state;
    scratch_text(db, "x");
    assert_int_equal(hf__live_guard(db, &err), HF_OK);
    assert_int_equal(hf__live_guard(db, &err), HF_OK);
    assert_int_equal(hf__live_track(db, &err), HF_BUSY);
    assert_string_equal(err.path, db);
    assert_int_equal(hf__live_track(other, &err), HF_OK);
    hf__live_unguard(db);
    assert_int_equal(hf__live_track(db, &err), HF_BUSY);
    hf__live_unguard(db);
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    assert_int_equal(hf__live_guard(db, &err), HF_BUSY);
    hf__live_untrack(db);
    assert_int_equal(hf__live_guard(db, &err), HF_OK);
    hf__live_unguard(db);
    hf__live_untrack(other);
    scratch_remove(dir);
}

static void *
track_often(void *path)
{
    struct hf_error own;
    int i;

    for (i = 0; i < 2000; i++) {
        if (hf__live_track(path, &own) != HF_OK)
            return path;
        hf__live_untrack(path);
    }
    return NULL;
}

static void
any_thread(void **state)
{
    char *dir = scratch_make(), *db = strdup(scratch_path(dir, "state.db"));
    pthread_t threads[4];
    void *bad;
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, track_often, db), 0);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    assert_false(hf__live_is(db));
    free(db);
    scratch_remove(dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(tracks_nest),
        cmocka_unit_test(a_path_is_a_file_not_a_spelling),
        cmocka_unit_test(a_guard_and_a_live_file_exclude_each_other),
        cmocka_unit_test(any_thread),
    };

    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
