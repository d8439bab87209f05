/* test_upkeep.c - the thread of an open store: when it is there, what wakes it, and that
 * the close of the store waits for its end. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "internal.h"

static struct {
    atomic_uint turns, calls_of_signals, closed, turns_at_close, inside, close_inside;
    atomic_uint slow_ms;
} seen;
static struct hf_runtime runtime;
static struct hf__backend backend;
static int handle;

static int
upkeep(void *store, uint32_t *ret_again_ms, struct hf_error *err)
{
    sigset_t blocked;

    assert_ptr_equal(store, &handle);
    *ret_again_ms = 600000; /* the core calls once a second all the same */
    atomic_store(&seen.inside, 1);
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) || !sigismember(&blocked, SIGTERM))
        atomic_fetch_add(&seen.calls_of_signals, 1);
    hf__sleep_ms(atomic_load(&seen.slow_ms));
    atomic_store(&seen.inside, 0);
    atomic_fetch_add(&seen.turns, 1);
    return hf_error_set(err, HF_IO, NULL, "nobody hears of this");
}

static void
close_store(void *store)
{
    assert_ptr_equal(store, &handle);
    atomic_fetch_add(&seen.closed, 1);
    atomic_store(&seen.close_inside, atomic_load(&seen.inside));
    atomic_store(&seen.turns_at_close, atomic_load(&seen.turns));
}

static struct hf_store *
store_make(uint32_t may_thread, uint32_t read_only, uint32_t threads)
{
    struct hf_store *store = calloc(1, sizeof *store);

    assert_non_null(store);
    memset(&seen, 0, sizeof seen);
    runtime.may_thread = may_thread;
    backend.name = (char *)"test";
    backend.ops.threads = threads;
    backend.ops.upkeep = upkeep;
    backend.ops.close = close_store;
    store->rt = &runtime;
    store->backend = &backend;
    store->handle = &handle;
    store->read_only = read_only;
    store->pid = (int)getpid();
    pthread_mutex_init(&store->lock, NULL);
    hf__upkeep_start(store);
    return store;
}

/* Whether there were more than TURNS within ten seconds. */
static int
turns_pass(uint32_t turns)
{
    for (int i = 0; i < 1000 && atomic_load(&seen.turns) <= turns; i++)
        hf__sleep_ms(10);
    return atomic_load(&seen.turns) > turns;
}

static void
write_call(struct hf_store *store, uint32_t writes)
{
    struct hf__call call;
    struct hf_error err;

    assert_int_equal(hf__call_begin(&call, store, "test", writes, &err), HF_OK);
    assert_int_equal(hf__call_end(&call, HF_OK, 0), HF_OK);
}

static void
not_where_it_may_not_be(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct hf_store *store =
            store_make(i == 2, i != 0, HF_THREADS_PARALLEL);
        assert_null(store->upkeep);
        write_call(store, 0);
        hf_store_close(&store);
        assert_int_equal(atomic_load(&seen.turns), 0);
        assert_int_equal(atomic_load(&seen.closed), 1);
    }
}

static void
comes_by_itself_and_after_writes(void **state)
{
    static const uint32_t models[] = {HF_THREADS_SERIAL, HF_THREADS_PER_STORE,
                                      HF_THREADS_PARALLEL};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hf_store *store = store_make(1, 0, models[i]);
        uint32_t turns;
        assert_non_null(store->upkeep);
        assert_true(turns_pass(1));
        for (int w = 0; w < 3; w++) {
            turns = atomic_load(&seen.turns);
            write_call(store, 1);
            assert_true(turns_pass(turns));
        }
        hf_store_close(&store);
        assert_int_equal(atomic_load(&seen.calls_of_signals), 0);
    }
}

/* A thousand writes in a row are not a thousand turns. */
static void
writes_share_a_turn(void **state)
{
    struct hf_store *store = store_make(1, 0, HF_THREADS_PARALLEL);
    (void)state;
    for (int i = 0; i < 5000; i++)
        write_call(store, 1);
    assert_true(turns_pass(0));
    assert_in_range(atomic_load(&seen.turns), 1, 500);
    hf_store_close(&store);
}

static void
close_waits_for_the_turn(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct hf_store *store =
            store_make(1, 0, i & 1 ? HF_THREADS_PER_STORE : HF_THREADS_PARALLEL);
        atomic_store(&seen.slow_ms, 60);
        write_call(store, 1);
        for (int w = 0; w < 1000 && !atomic_load(&seen.inside); w++)
            hf__sleep_ms(2);
        hf_store_close(&store);
        assert_null(store);
        assert_int_equal(atomic_load(&seen.closed), 1);
        assert_int_equal(atomic_load(&seen.close_inside), 0);
        hf__sleep_ms(5);
        assert_int_equal(atomic_load(&seen.turns), atomic_load(&seen.turns_at_close));
    }
}

/* The thread is the parent's: a child's close neither waits for it nor calls anything. */
static void
a_child_leaves_it_alone(void **state)
{
    struct hf_store *store = store_make(1, 0, HF_THREADS_PARALLEL);
    int status = -1;
    pid_t pid;
    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(20);
        hf_store_close(&store);
        _exit(store != NULL || atomic_load(&seen.closed) != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(turns_pass(atomic_load(&seen.turns)));
    hf_store_close(&store);
    assert_int_equal(atomic_load(&seen.closed), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_where_it_may_not_be),
        cmocka_unit_test(comes_by_itself_and_after_writes),
        cmocka_unit_test(writes_share_a_turn),
        cmocka_unit_test(close_waits_for_the_turn),
        cmocka_unit_test(a_child_leaves_it_alone),
    };
    int failed;
    pthread_mutex_init(&backend.serial, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    pthread_mutex_destroy(&backend.serial);
    return failed;
}
