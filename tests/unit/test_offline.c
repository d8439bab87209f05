/* test_offline.c - reading a file that might be a database which is open. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "internal.h"

static struct hf_error err;
static char got[100];
static size_t got_len;
static char *dir;
static const char *db;

static int
take(void *ctx, const void *bytes, uint64_t len)
{
    if (ctx)
        return *(int *)ctx;
    assert_true(got_len + len < sizeof got);
    memcpy(got + got_len, bytes, len);
    got_len += len;
    got[got_len] = '\0';
    return 0;
}

static int
read_it(const char *path)
{
    got_len = 0;
    got[0] = '\0';
    return hf_offline_read(path, take, NULL, &err);
}

static int
before(void **state)
{
    (void)state;
    dir = scratch_make();
    db = strdup(scratch_path(dir, "state.db"));
    scratch_text(db, "bytes");
    return 0;
}

static int
after(void **state)
{
    (void)state;
    free((char *)db);
    scratch_remove(dir);
    return 0;
}

static void
plain_files_are_read(void **state)
{
    int stop = 77;

    (void)state;
    assert_int_equal(read_it(db), HF_OK);
    assert_string_equal(got, "bytes");
    assert_int_equal(hf_offline_read(db, take, &stop, &err), 77);
    assert_int_equal(read_it(scratch_path(dir, "none")), HF_NOT_FOUND);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(read_it(dir), HF_INVALID);
    assert_int_equal(mkfifo(scratch_path(dir, "pipe"), 0600), 0);
    assert_int_equal(read_it(scratch_path(dir, "pipe")), HF_INVALID);
    assert_int_equal(read_it(""), HF_INVALID);
    assert_int_equal(read_it(NULL), HF_INVALID);
    /* Nothing is kept. */
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    hf__live_untrack(db);
}

static void
an_open_database_is_refused_by_any_name(void **state)
{
    static const char *const names[] = {"state.db", "hard", "soft", "state.db-wal",
                                        "state.db-shm", "wal-hard", "wal-soft"};
    const char *wal = scratch_path(dir, "state.db-wal");
    size_t i;

    (void)state;
    scratch_text(wal, "wal");
    scratch_text(scratch_path(dir, "state.db-shm"), "shm");
    scratch_text(scratch_path(dir, "other"), "other");
    assert_int_equal(link(db, scratch_path(dir, "hard")), 0);
    assert_int_equal(symlink(db, scratch_path(dir, "soft")), 0);
    assert_int_equal(link(wal, scratch_path(dir, "wal-hard")), 0);
    assert_int_equal(symlink(wal, scratch_path(dir, "wal-soft")), 0);
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        struct hf_guard *guard = NULL;
        assert_int_equal(read_it(scratch_path(dir, names[i])), HF_BUSY);
        assert_int_equal(got_len, 0);
        assert_int_equal(
            hf_offline_guard(scratch_path(dir, names[i]), &guard, &err), HF_BUSY);
        assert_null(guard);
    }
    assert_int_equal(read_it(scratch_path(dir, "other")), HF_OK);
    /* Moved away it is the same file. */
    assert_int_equal(rename(db, scratch_path(dir, "moved")), 0);
    assert_int_equal(read_it(scratch_path(dir, "moved")), HF_BUSY);
    hf__live_untrack(db);
    assert_int_equal(read_it(scratch_path(dir, "moved")), HF_OK);
    assert_int_equal(read_it(wal), HF_OK);
}

static void
nothing_opens_under_a_guard(void **state)
{
    static const char *const guarded[] = {"state.db", "state.db-wal", "state.db-shm",
                                          "state.db-journal", "hard", "soft"};
    size_t i;

    (void)state;
    assert_int_equal(link(db, scratch_path(dir, "hard")), 0);
    assert_int_equal(symlink(db, scratch_path(dir, "soft")), 0);
    for (i = 0; i < sizeof guarded / sizeof *guarded; i++) {
        struct hf_guard *one = NULL, *two = NULL;
        const char *path = scratch_path(dir, guarded[i]);

        assert_int_equal(hf_offline_guard(path, &one, &err), HF_OK);
        assert_int_equal(hf_offline_guard(path, &two, &err), HF_OK);
        assert_int_equal(hf__live_track(db, &err), HF_BUSY);
        assert_int_equal(hf__live_track(scratch_path(dir, "free.db"), &err), HF_OK);
        hf__live_untrack(scratch_path(dir, "free.db"));
        hf_offline_unguard(&one);
        assert_null(one);
        hf_offline_unguard(&one);
        assert_int_equal(hf__live_track(db, &err), HF_BUSY);
        hf_offline_unguard(&two);
        assert_int_equal(hf__live_track(db, &err), HF_OK);
        hf__live_untrack(db);
    }
}

static void
a_guard_ends_although_the_name_changed(void **state)
{
    struct hf_guard *guard = NULL;
    const char *late = scratch_path(dir, "late.db");

    (void)state;
    assert_int_equal(hf_offline_guard(late, &guard, &err), HF_OK);
    scratch_text(late, "made under the guard");
    assert_int_equal(link(late, scratch_path(dir, "alias.db")), 0);
    assert_int_equal(hf__live_track(scratch_path(dir, "alias.db"), &err), HF_BUSY);
    assert_int_equal(hf__live_track(late, &err), HF_BUSY);
    assert_int_equal(rename(late, scratch_path(dir, "gone")), 0);
    hf_offline_unguard(&guard);
    assert_int_equal(hf__live_track(late, &err), HF_OK);
    hf__live_untrack(late);
}

static void
what_the_process_has_open_is_refused(void **state)
{
    int fd = open(db, O_RDONLY | O_CLOEXEC), path_only;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(read_it(db), HF_BUSY);
    assert_non_null(strstr(err.message, "open in this process"));
    assert_int_equal(hf__live_track(db, &err), HF_OK); /* the refused guard is gone */
    hf__live_untrack(db);
    close(fd);
    path_only = open(db, O_PATH | O_CLOEXEC);
    assert_int_equal(read_it(db), HF_OK); /* such a descriptor has no say in locks */
    close(path_only);
}

/* The locks of this process on the file survive a read that is refused. */
static void
locks_survive(void **state)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(db, O_RDWR | O_CLOEXEC), pipes[2];
    pid_t pid;
    char seen = 0;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    assert_int_equal(read_it(db), HF_BUSY);
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct flock probe = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        char c = fcntl(fd, F_GETLK, &probe) == 0 && probe.l_type != F_UNLCK ? 'y' : 'n';
        _exit(write(pipes[1], &c, 1) != 1);
    }
    assert_int_equal(read(pipes[0], &seen, 1), 1);
    assert_int_equal(seen, 'y');
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
}

static void *
reader(void *ctx)
{
    intptr_t failed = 0;
    struct hf_error own;
    int i, zero = 0;

    (void)ctx;
    for (i = 0; i < 300; i++)
        failed += hf_offline_read(db, take, &zero, &own) != HF_OK;
    return (void *)failed;
}

static void
readers_do_not_refuse_each_other(void **state)
{
    pthread_t threads[4];
    void *failed;
    size_t i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, NULL), 0);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_int_equal((intptr_t)failed, 0);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, before, after)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(plain_files_are_read),
        T(an_open_database_is_refused_by_any_name),
        T(nothing_opens_under_a_guard),
        T(a_guard_ends_although_the_name_changed),
        T(what_the_process_has_open_is_refused),
        T(locks_survive),
        T(readers_do_not_refuse_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
