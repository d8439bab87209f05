/* test_read_pool.c - readers of one store beside each other and beside its writer: how
 * many connections there are, and what happens when there can be no more. */
#include <setjmp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store_fixture.h"

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, fixture_setup, fixture_teardown)

static struct hf_sqlite_store *
store(void **state)
{
    return ((struct fixture *)*state)->store;
}

static int
count(void *ctx, const struct hf_session *session)
{
    (void)session;
    ++*(int *)ctx;
    return 0;
}

static int
sessions(struct fixture *f)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    int n = 0;
    query.limit = 10;
    assert_ok(f, f->ops->session_list(f->store, &query, count, &n, &f->err));
    return n;
}

static void
taken_lazily_and_again(void **state)
{
    struct hf_sqlite_store *st = store(state), *r[9];
    assert_int_equal(st->n_readers, 0);
    for (int i = 0; i < 8; i++) {
        r[i] = hf__reader_acquire(st);
        assert_ptr_not_equal(r[i], st);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(r[i], r[j]);
        assert_int_equal(st->n_readers, i + 1);
    }
    /* Full: the queue. */
    r[8] = hf__reader_acquire(st);
    assert_ptr_equal(r[8], st);
    hf__reader_release(st, r[8]);
    hf__reader_release(st, r[3]);
    assert_ptr_equal(hf__reader_acquire(st), r[3]);
    assert_ptr_equal(hf__reader_acquire(st), st);
    for (int i = 0; i < 8; i++)
        hf__reader_release(st, r[i]);
    assert_int_equal(st->readers_busy, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sessions(*state), 0);
    assert_int_equal(st->n_readers, 8);
    assert_int_equal(st->readers_busy, 0);
}

/* The writer's own lock is held, and every other reader is busy: reading goes on. */
static void
beside_writer_and_readers(void **state)
{
    struct fixture *f = *state;
    struct hf_sqlite_store *st = store(state), *other = hf__reader_acquire(st);
    fixture_session(f, "s1");
    pthread_mutex_lock(&st->lock);
    pthread_mutex_lock(&other->lock);
    assert_int_equal(sessions(f), 1);
    pthread_mutex_unlock(&other->lock);
    pthread_mutex_unlock(&st->lock);
    hf__reader_release(st, other);
}

static void
no_descriptor_left(void **state)
{
    struct fixture *f = *state;
    struct hf_sqlite_store *st = store(state);
    struct rlimit old, none;
    fixture_session(f, "s1");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int n = sessions(f);
    int again = sessions(f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(n, 1);
    assert_int_equal(again, 1);
    assert_int_equal(st->n_readers, 0);
    st->reader_retry_ms = 0;
    assert_int_equal(sessions(f), 1);
    assert_int_equal(st->n_readers, 1);
}

static void
nothing_is_opened_after_a_loss(void **state)
{
    struct fixture *f = *state;
    struct hf_sqlite_store *st = store(state), *r;
    fixture_session(f, "s1");
    r = hf__reader_acquire(st);
    assert_ptr_not_equal(r, st);
    assert_int_equal(unlink(scratch_path(f->home, "state.db-wal")), 0);
    assert_ptr_equal(hf__reader_acquire(st), st);
    assert_int_equal(st->n_readers, 1);
    hf__reader_release(st, r);
    assert_ptr_equal(hf__reader_acquire(st), r); /* what there is goes on */
    hf__reader_release(st, r);
    assert_int_equal(sessions(f), 1);
}

static struct {
    struct fixture *f;
    atomic_uint stop, failed;
} shared;

static void *
read_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&shared.stop)) {
        struct hf_session_query query = HF_INIT(struct hf_session_query);
        struct hf_error err;
        int n = 0;
        query.limit = 10;
        int rc = shared.f->ops->session_list(shared.f->store, &query, count, &n, &err);
        if ((rc != HF_OK && rc != HF_CANCELLED) || (rc == HF_OK && n != 1)) {
            if (!atomic_fetch_add(&shared.failed, 1))
                print_message("%d, %d rows: %s\n", rc, n, rc < 0 ? err.message : "");
        }
    }
    return NULL;
}

static void
many_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t thread[12];
    uint32_t again;
    fixture_session(f, "s1");
    shared.f = f;
    atomic_store(&shared.stop, 0);
    atomic_store(&shared.failed, 0);
    for (int i = 0; i < 12; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_on, NULL), 0);
    for (int i = 0; i < 60; i++) {
        char uid[20];
        snprintf(uid, sizeof uid, "u%d", i);
        struct hf_message m = fixture_message(uid, "user", "hello");
        /* An interrupt may hit an append as well; both are answers. */
        int64_t id = fixture_append(f, "s1", &m);
        assert_true(id > 0 || id == HF_CANCELLED);
        assert_ok(f, f->ops->upkeep(f->store, &again, &f->err));
        if (i % 10 == 0)
            f->ops->interrupt(f->store);
    }
    atomic_store(&shared.stop, 1);
    for (int i = 0; i < 12; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&shared.failed), 0);
    assert_in_range(store(state)->n_readers, 1, 8);
    assert_int_equal(store(state)->readers_busy, 0);
    fixture_sound(f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(taken_lazily_and_again),      TEST(beside_writer_and_readers),
        TEST(no_descriptor_left),          TEST(nothing_is_opened_after_a_loss),
        TEST(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
