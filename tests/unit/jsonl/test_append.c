/* test_append.c - writes that go wrong: short ones, a full disk, a disk that cannot say
 * whether it has the bytes.  Nothing half written stays, nothing is acknowledged, and a
 * repetition stores the message once.  The system calls are wrapped (see CMakeLists.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../support/scratch.h"
#include "private.h"

hf_plugin_fn holdfast_plugin_jsonl;

/* Under either of the names that pwrite() has, by the size of off_t. */
ssize_t __real_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t len, off_t at);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

/* What the next writes do: at most this many bytes each (0: all), and an error once this
 * many bytes were written (-1: never). */
static size_t write_most;
static int64_t write_room = -1;
static int write_errno;
static atomic_int sync_errno, syncs;
static int slow_syncs;

ssize_t
__wrap_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    if (write_room == 0) {
        errno = write_errno;
        return -1;
    }
    if (write_most && len > write_most)
        len = write_most;
    if (write_room > 0 && len > (size_t)write_room)
        len = (size_t)write_room;
    if (write_room > 0)
        write_room -= (int64_t)len;
    return __real_pwrite(fd, bytes, len, at);
}

ssize_t
__wrap_pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
    return __wrap_pwrite(fd, bytes, len, at);
}

int
__wrap_fdatasync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    if (slow_syncs)
        nanosleep(&(struct timespec){0, 50 * 1000000L}, NULL);
    if (atomic_load(&sync_errno)) {
        errno = atomic_load(&sync_errno);
        return -1;
    }
    return __real_fdatasync(fd);
}

static void
host_log(void *ctx, int32_t level, const char *event, const char *path, const char *fmt,
         ...)
{
    (void)ctx, (void)level, (void)event, (void)path, (void)fmt;
}

static double
host_now(void *ctx)
{
    (void)ctx;
    return 1785000000.0;
}

static const struct hf_host host = {
    .abi = HF_ABI(struct hf_host), .log = host_log, .now = host_now};

struct fixture {
    char *dir;
    const struct hf_backend *ops;
    void *store;
};

static int
setup(void **state)
{
    static const struct hf_setting none[] = {{NULL, NULL}};
    struct fixture *f = calloc(1, sizeof *f);
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_error err;

    write_most = 0;
    write_room = -1;
    slow_syncs = 0;
    atomic_store(&sync_errno, 0);
    f->dir = scratch_make();
    f->ops = holdfast_plugin_jsonl(&host)->ops;
    how.home = how.root = f->dir;
    how.profile = "default";
    how.settings = how.database = none;
    session.id = hf_str("s1");
    session.source = hf_str("cli");
    session.started_at = 1785000000.0;
    *state = f;
    return f->ops->open(&host, &how, &f->store, &err) < 0 ||
           f->ops->session_put(f->store, &session, HF_PUT_CREATE, &err) < 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    f->ops->close(f->store);
    scratch_remove(f->dir);
    free(f);
    return 0;
}

static int
say(struct fixture *f, const char *uid, const char *content, int64_t *ret_id)
{
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *messages[] = {&message};
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_appended ret = {0};
    struct hf_error err;
    int rc;

    message.role = hf_str("user");
    message.content = hf_str(content);
    message.uid = hf_str(uid);
    message.token_count = HF_NO_INT;
    append.session_id = hf_str("s1");
    append.messages = messages;
    append.n_messages = 1;
    rc = f->ops->message_append(f->store, &append, &ret, &err);
    if (rc < 0)
        assert_true(err.code == rc && err.message[0]);
    if (ret_id)
        *ret_id = ret.id;
    return rc;
}

static int
on_message(void *ctx, const struct hf_message *m)
{
    hf__buf_addf(ctx, "%lld=%.*s ", (long long)m->id, (int)m->content.len,
                 m->content.ptr);
    return 0;
}

static void
check(struct fixture *f, const char *expected)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_text id = hf_str("s1");
    struct hf__buf found = {0};
    struct hf_error err;

    assert_int_equal(
        f->ops->message_read(f->store, &id, &query, on_message, &found, &err), HF_OK);
    assert_string_equal(found.ptr ? found.ptr : "", expected);
    hf__buf_free(&found);
}

static off_t
size(struct fixture *f)
{
    struct stat sb;
    assert_int_equal(stat(scratch_path(f->dir, "jsonl/s1.jsonl"), &sb), 0);
    return sb.st_size;
}

static void
test_short_writes(void **state)
{
    struct fixture *f = *state;

    write_most = 7;
    assert_int_equal(say(f, "u1", "one", NULL), HF_OK);
    write_most = 1;
    assert_int_equal(say(f, "u2", "two", NULL), HF_OK);
    check(f, "1=one 2=two ");
}

/* After each number of bytes in turn. */
static void
test_failing_writes(void **state)
{
    static const struct {
        int sys, code;
    } rows[] = {{ENOSPC, HF_DISK_FULL}, {EDQUOT, HF_DISK_FULL}, {EFBIG, HF_DISK_FULL},
                {EIO, HF_IO}};
    struct fixture *f = *state;
    off_t before;

    assert_int_equal(say(f, "u1", "one", NULL), HF_OK);
    before = size(f);
    for (int64_t room = 0; room < 80; room++) {
        write_room = room;
        write_errno = rows[room % 4].sys;
        assert_int_equal(say(f, "u2", "two", NULL), rows[room % 4].code);
        assert_int_equal(size(f), before);
        write_room = -1;
        check(f, "1=one ");
    }
    assert_int_equal(say(f, "u2", "two", NULL), HF_OK);
    check(f, "1=one 2=two ");
}

static void
test_failing_sync(void **state)
{
    struct fixture *f = *state;
    off_t before;
    int64_t id;

    assert_int_equal(say(f, "u1", "one", NULL), HF_OK);
    before = size(f);
    atomic_store(&sync_errno, EIO);
    assert_int_equal(say(f, "u2", "two", NULL), HF_IO);
    assert_int_equal(size(f), before);
    check(f, "1=one ");
    atomic_store(&sync_errno, ENOSPC);
    assert_int_equal(say(f, "u2", "two", NULL), HF_DISK_FULL);
    atomic_store(&sync_errno, 0);
    assert_int_equal(say(f, "u2", "two", &id), HF_OK);
    assert_int_equal(id, 2);
    assert_int_equal(say(f, "u2", "two", &id), HF_OK);
    assert_int_equal(id, 2);
    check(f, "1=one 2=two ");
}

static void
test_no_room_for_a_session(void **state)
{
    struct fixture *f = *state;
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_error err;

    session.id = hf_str("s2");
    session.source = hf_str("cli");
    write_room = 20;
    write_errno = ENOSPC;
    assert_int_equal(f->ops->session_put(f->store, &session, HF_PUT_CREATE, &err),
                     HF_DISK_FULL);
    assert_int_equal(access(scratch_path(f->dir, "jsonl/s2.jsonl"), F_OK), -1);
    write_room = -1;
    assert_int_equal(f->ops->session_put(f->store, &session, HF_PUT_CREATE, &err),
                     HF_OK);
}

struct job {
    struct fixture *f;
    char uid[16];
    int rc;
    pthread_t thread;
};

static void *
run(void *ctx)
{
    struct job *job = ctx;
    job->rc = say(job->f, job->uid, job->uid, NULL);
    return NULL;
}

/* Appends that wait while another one is made durable share the next fdatasync. */
static void
test_shared_sync(void **state)
{
    struct fixture *f = *state;
    struct job jobs[16];

    slow_syncs = 1;
    atomic_store(&syncs, 0);
    for (int i = 0; i < 16; i++) {
        jobs[i].f = f;
        snprintf(jobs[i].uid, sizeof jobs[i].uid, "u%d", i);
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, run, &jobs[i]), 0);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(jobs[i].thread, NULL);
        assert_int_equal(jobs[i].rc, HF_OK);
    }
    assert_in_range(atomic_load(&syncs), 1, 15);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_sync, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_room_for_a_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_sync, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
