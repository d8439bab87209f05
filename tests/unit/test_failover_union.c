/* What a healthy store reads while sessions wait in its fallback: each message once,
 * also when they are merged in the middle of the read, at any of its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "failover.h"

#define MAIN_MESSAGES 3
#define ALL_MESSAGES 5

/* Where the read stops, while everything that waits is merged. */
enum when { NEVER, BEFORE_BACK, AFTER_BACK, BEFORE_GET, IN_EMIT };

static struct {
    enum when when;
    int merged;
    struct hf_store *store;
    struct hf_backend real;
} halt;

struct test {
    char *home;
    struct hf_runtime *rt;
    struct hf_store *store;
    struct hf_error err;
};

static void
merge_now(enum when when)
{
    if (halt.when != when || halt.merged)
        return;
    halt.merged = 1;
    halt.store->failover->retry_ms = 0;
    hf__failover_retry(halt.store);
    assert_false(hf__back_waits(halt.store->failover));
}

static int
halted_read(void *back, const struct hf_text *id, const struct hf_message_query *query,
            hf_message_fn *emit, void *ctx, struct hf_error *err)
{
    int rc;

    merge_now(BEFORE_BACK);
    rc = halt.real.message_read(back, id, query, emit, ctx, err);
    merge_now(AFTER_BACK);
    return rc;
}

static int
halted_get(void *back, const struct hf_text *id, uint32_t want, hf_session_fn *emit,
           void *ctx, struct hf_error *err)
{
    merge_now(BEFORE_GET);
    return halt.real.session_get(back, id, want, emit, ctx, err);
}

/* ---- a store that finds files in its fallback ---- */

static void
say(struct test *t, const char *id, int n)
{
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *messages[] = {&message};
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_appended ret;
    char text[16];

    snprintf(text, sizeof text, "m%d", n);
    message.role = hf_str("user");
    message.content = hf_str(text);
    append.session_id = hf_str(id);
    append.messages = messages;
    append.n_messages = 1;
    if (hf_store_append(t->store, &append, &ret, &t->err) < 0)
        fail_msg("%s", t->err.message);
}

static void
create(struct test *t, const char *id)
{
    struct hf_session session = HF_INIT(struct hf_session);

    session.id = hf_str(id);
    assert_int_equal(hf_store_session_create(t->store, &session, NULL, 0, &t->err),
                     HF_OK);
}

static void
path_of(const struct test *t, const char *name, char ret[4096])
{
    snprintf(ret, 4096, "%s/%s", t->home, name);
}

static int
setup(void **state)
{
    struct test *t = calloc(1, sizeof *t);
    struct hf_runtime_options how = HF_INIT(struct hf_runtime_options);
    char path[4096], away[4096], *slash;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    FILE *f;

    path[n] = '\0';
    for (int up = 3; up--;) { /* BUILD/tests/unit/NAME */
        slash = strrchr(path, '/');
        *slash = '\0';
    }
    strcat(path, "/lib/holdfast/backends");
    setenv("HOLDFAST_PLUGIN_PATH", path, 1);
    t->home = scratch_make();
    path_of(t, "config.yaml", path);
    f = fopen(path, "w");
    fputs("database:\n  fallback_retry_seconds: 600\n", f);
    fclose(f);
    how.home = t->home;
    assert_int_equal(hf_runtime_new(&how, &t->rt, &t->err), HF_OK);
    if (hf_store_open(t->rt, NULL, &t->store, &t->err) < 0)
        fail_msg("%s", t->err.message);
    create(t, "both");
    for (int i = 0; i < MAIN_MESSAGES; i++)
        say(t, "both", i);
    hf_store_close(&t->store); /* the log is in the database now */
    assert_int_equal(hf_store_open(t->rt, NULL, &t->store, &t->err), HF_OK);
    path_of(t, "state.db-wal", path);
    unlink(path);
    path_of(t, "state.db-shm", path);
    unlink(path);
    for (int i = MAIN_MESSAGES; i < ALL_MESSAGES; i++)
        say(t, "both", i);
    create(t, "new");
    say(t, "new", 0);
    assert_int_equal(hf__condition(t->store), HF_DEGRADED);
    hf_store_close(&t->store);
    /* One that is opened while they are not there merges nothing. */
    path_of(t, "fallback", path);
    path_of(t, "away", away);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(hf_store_open(t->rt, NULL, &t->store, &t->err), HF_OK);
    (void)rmdir(path);
    assert_int_equal(rename(away, path), 0);
    assert_int_equal(hf__condition(t->store), HF_HEALTHY);
    assert_true(hf__is_union(t->store));
    memset(&halt, 0, sizeof halt);
    halt.store = t->store;
    halt.real = t->store->failover->fallback->ops;
    t->store->failover->fallback->ops.message_read = halted_read;
    t->store->failover->fallback->ops.session_get = halted_get;
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    struct test *t = *state;

    t->store->failover->fallback->ops = halt.real;
    hf_store_close(&t->store);
    hf_runtime_free(&t->rt);
    scratch_remove(t->home);
    free(t);
    return 0;
}

/* ---- reading ---- */

struct seen {
    int numbers[20];
    size_t n;
    int64_t last;
    int backwards;
};

static int
see(void *ctx, const struct hf_message *m)
{
    struct seen *seen = ctx;

    merge_now(IN_EMIT);
    assert_true(seen->n < 20);
    if (seen->n)
        assert_true(seen->backwards ? m->id < seen->last : m->id > seen->last);
    seen->last = m->id;
    seen->numbers[seen->n++] = atoi(m->content.ptr + 1);
    return 0;
}

static void
read_all(struct test *t, const char *id, int count, int backwards)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct seen seen = {.backwards = backwards};
    struct hf_text name = hf_str(id);
    int rc;

    query.backwards = (uint32_t)backwards;
    rc = hf_store_read(t->store, &name, &query, see, &seen, &t->err);
    if (rc < 0)
        fail_msg("%s: %s", id, t->err.message);
    assert_int_equal(seen.n, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(seen.numbers[i], backwards ? count - 1 - i : i);
}

static void
read_at(struct test *t, enum when when)
{
    halt.when = when;
    read_all(t, "both", ALL_MESSAGES, 0);
    assert_true(halt.merged);
    read_all(t, "both", ALL_MESSAGES, 0); /* and of the store alone */
    read_all(t, "new", 1, 0);
}

static void
test_nothing_merged(void **state)
{
    read_all(*state, "both", ALL_MESSAGES, 0);
    read_all(*state, "both", ALL_MESSAGES, 1);
    read_all(*state, "new", 1, 0);
}

static void
test_before_the_fallback(void **state)
{
    read_at(*state, BEFORE_BACK);
}

static void
test_behind_the_fallback(void **state)
{
    read_at(*state, AFTER_BACK);
}

static void
test_while_emitting(void **state)
{
    read_at(*state, IN_EMIT);
}

static void
test_while_emitting_backwards(void **state)
{
    struct test *t = *state;

    halt.when = AFTER_BACK;
    read_all(t, "both", ALL_MESSAGES, 1);
}

/* The store had no handle of the primary when the read began. */
static void
test_primary_comes_meanwhile(void **state)
{
    struct test *t = *state;

    assert_int_equal(hf__primary_set(t->store, NULL, 0, &t->err), HF_OK);
    t->store->failover->salvaged = 1;
    hf__condition_set(t->store, HF_DEGRADED, "for a test");
    read_at(t, BEFORE_BACK);
    assert_int_equal(hf__condition(t->store), HF_HEALTHY);
}

static int
count_one(void *ctx, const struct hf_session *session)
{
    int64_t *counts = ctx;

    counts[session->id.len == 3] = session->message_count;
    counts[2]++;
    return 0;
}

/* A session that only the fallback has is there also when it is merged just then. */
static void
test_get(void **state)
{
    struct test *t = *state;
    struct hf_text id = hf_str("new");
    int64_t counts[3] = {0};

    halt.when = BEFORE_GET;
    if (hf_store_session_get(t->store, &id, 0, count_one, counts, &t->err) < 0)
        fail_msg("%s", t->err.message);
    assert_true(halt.merged);
    assert_int_equal(counts[1], 1);
}

static void
test_list(void **state)
{
    struct test *t = *state;
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    int64_t counts[3] = {0};

    halt.when = BEFORE_GET;
    assert_int_equal(hf_store_session_list(t->store, &all, count_one, counts, &t->err),
                     HF_OK);
    assert_true(halt.merged);
    assert_int_equal(counts[2], 2);
    assert_int_equal(counts[0], ALL_MESSAGES);
    assert_int_equal(counts[1], 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_merged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_before_the_fallback, setup, teardown),
        cmocka_unit_test_setup_teardown(test_behind_the_fallback, setup, teardown),
        cmocka_unit_test_setup_teardown(test_while_emitting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_while_emitting_backwards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_primary_comes_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
