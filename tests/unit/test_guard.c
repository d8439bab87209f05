/* test_guard.c - the thread models, a handle in a child of fork(), and an emit callback
 * that calls back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "internal.h"

struct pair {
    struct hf__backend backend;
    struct hf_store a, b;
};

static void
pair_make(struct pair *pair, uint32_t threads)
{
    memset(pair, 0, sizeof *pair);
    pair->backend.ops.threads = threads;
    pthread_mutex_init(&pair->backend.serial, NULL);
    pair->a.backend = pair->b.backend = &pair->backend;
    pair->a.pid = pair->b.pid = (int)getpid();
    pthread_mutex_init(&pair->a.lock, NULL);
    pthread_mutex_init(&pair->b.lock, NULL);
}

/* A second thread that enters and leaves a store, and whether it got in. */
struct visitor {
    struct hf_store *store;
    int entered;
    pthread_t thread;
};

static void *
visit(void *ctx)
{
    struct visitor *v = ctx;

    if (hf__guard_enter(v->store, NULL) == HF_OK) {
        __atomic_store_n(&v->entered, 1, __ATOMIC_SEQ_CST);
        hf__guard_leave(v->store);
    }
    return NULL;
}

/* While this thread is inside INSIDE: does another one get into STORE? */
static int
gets_in(struct hf_store *inside, struct hf_store *store)
{
    struct visitor v = {.store = store};
    int early;

    assert_int_equal(hf__guard_enter(inside, NULL), HF_OK);
    assert_int_equal(pthread_create(&v.thread, NULL, visit, &v), 0);
    for (int i = 0; i < 20 && !__atomic_load_n(&v.entered, __ATOMIC_SEQ_CST); i++)
        hf__sleep_ms(5);
    early = __atomic_load_n(&v.entered, __ATOMIC_SEQ_CST);
    hf__guard_leave(inside);
    pthread_join(v.thread, NULL);
    assert_int_equal(v.entered, 1);
    return early;
}

static void
models(void **state)
{
    struct pair pair;

    (void)state;
    pair_make(&pair, HF_THREADS_SERIAL);
    assert_false(gets_in(&pair.a, &pair.a));
    assert_false(gets_in(&pair.a, &pair.b));
    pair_make(&pair, HF_THREADS_PER_STORE);
    assert_false(gets_in(&pair.a, &pair.a));
    assert_true(gets_in(&pair.a, &pair.b));
    pair_make(&pair, HF_THREADS_PARALLEL);
    assert_true(gets_in(&pair.a, &pair.a));
    pair_make(&pair, 5); /* a model of the future: the strictest */
    assert_false(gets_in(&pair.a, &pair.b));
}

static void
calling_back(void **state)
{
    struct pair pair;
    struct hf_error err;

    (void)state;
    pair_make(&pair, HF_THREADS_PARALLEL);
    assert_int_equal(hf__guard_enter(&pair.a, &err), HF_OK);
    assert_int_equal(hf__guard_enter(&pair.a, &err), HF_MISUSE);
    assert_non_null(strstr(err.message, "emit callback"));
    assert_int_equal(hf__guard_enter(&pair.b, &err), HF_OK);
    hf__guard_leave(&pair.b);
    hf__guard_leave(&pair.a);
    assert_int_equal(hf__guard_enter(&pair.a, &err), HF_OK);
    hf__guard_leave(&pair.a);
    pair_make(&pair, HF_THREADS_SERIAL);
    assert_int_equal(hf__guard_enter(&pair.a, &err), HF_OK);
    assert_int_equal(hf__guard_enter(&pair.b, &err), HF_MISUSE);
    hf__guard_leave(&pair.a);
}

static void
forked(void **state)
{
    struct pair pair;
    struct hf_error err;
    int status = 0;
    pid_t child;

    (void)state;
    pair_make(&pair, HF_THREADS_PARALLEL);
    child = fork();
    if (child == 0)
        _exit(hf__guard_enter(&pair.a, &err) == HF_MISUSE && strstr(err.message, "fork")
                  ? 7
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),
        cmocka_unit_test(calling_back),
        cmocka_unit_test(forked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
