/* test_merge.c - a session that comes from another store: created or completed, its
 * messages counted, their states taken over, and nothing twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "two_stores.h"

struct parcel {
    struct hf_message messages[8];
    size_t n;
    struct hf_session session;
    struct hf_field fields[4];
    struct hf_usage usage[2];
    const struct hf_usage *deltas[2];
    struct hf_transfer what;
};

static int
parcel_walk(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    const struct parcel *p = ctx;
    int rc = 0;

    (void)err;
    for (size_t i = 0; !rc && i < p->n; i++)
        rc = emit(emit_ctx, &p->messages[i]);
    return rc;
}

static void
add(struct parcel *p, const char *uid, const char *content, uint32_t state)
{
    p->messages[p->n] = message(uid, content, state);
    p->messages[p->n].timestamp += (double)p->n;
    p->messages[p->n++].id = 100;
}

static struct parcel *
parcel_make(const char *id)
{
    struct parcel *p = calloc(1, sizeof *p);

    p->session = HF_INIT(struct hf_session);
    p->session.id = hf_str(id);
    p->session.source = hf_str("cli");
    p->session.started_at = 1785000000.0;
    p->session.ended_at = HF_NO_TIME;
    p->session.estimated_cost_usd = p->session.actual_cost_usd = HF_NO_TIME;
    p->session.message_count = 77;
    p->session.tool_call_count = 7;
    p->session.input_tokens = 1000;
    p->session.parent_id = hf_str("elsewhere");
    p->session.extra = hf_str("{\"cwd\":\"/w\",\"of_tomorrow\":1}");
    p->fields[0] = (struct hf_field){"input_tokens", HF_FIELD_ADD, HF_INT, 5, 0, {0}};
    p->fields[1] = (struct hf_field){"model", HF_FIELD_SET, HF_TEXT, 0, 0, {"m", 1}};
    p->fields[2] = (struct hf_field){"input_tokens", HF_FIELD_ADD, HF_INT, 1, 0, {0}};
    for (int i = 0; i < 2; i++) {
        p->usage[i] = HF_INIT(struct hf_usage);
        p->usage[i].session_id = hf_str(id);
        p->usage[i].model = hf_str("big");
        p->usage[i].seen_at = HF_NO_TIME;
        p->usage[i].input_tokens = 3 + i;
        p->deltas[i] = &p->usage[i];
    }
    p->what = HF_INIT(struct hf_transfer);
    p->what.session = &p->session;
    p->what.messages = parcel_walk;
    p->what.ctx = p;
    p->what.fields = p->fields;
    p->what.usage = p->deltas;
    return p;
}

static void
merge(struct fixture *f, const struct parcel *p, uint64_t messages, uint64_t states,
      uint32_t created)
{
    struct hf_transferred ret = HF_INIT(struct hf_transferred);
    struct hf_error err = {0};
    int rc = f->ops->session_merge(f->store, &p->what, &ret, &err);

    if (rc < 0)
        print_error("%s\n", err.message);
    assert_int_equal(rc, HF_OK);
    assert_int_equal(ret.messages, messages);
    assert_int_equal(ret.states, states);
    assert_int_equal(ret.created, created);
}

/* Both as this handle knows it and as the file tells it to another. */
static void
check_twice(struct fixture *f, const char *id, const char *expected)
{
    void *other = store_open(f->ops, f->dir);

    check(f, f->store, id, expected);
    check(f, other, id, expected);
    f->ops->close(other);
}

static void
test_created(void **state)
{
    struct fixture *f = *state;
    struct parcel *p = parcel_make("s1");
    const char *expected = "1=one 2=two/rewound 3=same 4=same \n"
                           "title=t messages=4 calls=2 tokens=1006 parent=elsewhere "
                           "big:7";
    off_t size;

    p->session.title = hf_str("t");
    add(p, "u1", "one", HF_MSG_ACTIVE);
    add(p, "u2", "two", HF_MSG_REWOUND);
    add(p, NULL, "same", HF_MSG_ACTIVE);
    add(p, NULL, "same", HF_MSG_ACTIVE);
    p->messages[3].timestamp = p->messages[2].timestamp;
    p->messages[0].tool_calls = hf_str("[{},{}]");
    p->what.n_fields = 3;
    p->what.n_usage = 2;
    p->what.stamp = hf_str("stamp");
    p->n = 3;
    merge(f, p, 3, 0, 1);
    p->n = 4; /* two that are alike, of which one is there */
    merge(f, p, 1, 0, 0);
    check_twice(f, "s1", expected);
    size = size_of(f, "jsonl/s1.jsonl");
    merge(f, p, 0, 0, 0);
    assert_int_equal(size_of(f, "jsonl/s1.jsonl"), size);
    check_twice(f, "s1", expected);
    /* More under the same stamp, and all of it under another. */
    p->what.n_fields = 4;
    p->fields[3] =
        (struct hf_field){"input_tokens", HF_FIELD_MAX, HF_INT, 2000, 0, {0}};
    merge(f, p, 0, 0, 0);
    check_twice(f, "s1",
                "1=one 2=two/rewound 3=same 4=same \n"
                "title=t messages=4 calls=2 tokens=2000 parent=elsewhere big:7");
    p->what.stamp = hf_str("other");
    merge(f, p, 0, 0, 0);
    check_twice(f, "s1",
                "1=one 2=two/rewound 3=same 4=same \n"
                "title=t messages=4 calls=2 tokens=2006 parent=elsewhere big:14");
    free(p);
}

static void
test_completed(void **state)
{
    struct fixture *f = *state;
    struct parcel *p = parcel_make("s1");
    off_t size;

    assert_int_equal(make(f, "s1", NULL), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u1", "one", NULL, 0), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u2", "two", NULL, 0), HF_OK);
    p->session.title = hf_str("t");
    add(p, "u1", "one", HF_MSG_ACTIVE);
    add(p, "u2", "two", HF_MSG_REWOUND);
    add(p, "u3", "three", HF_MSG_ACTIVE);
    merge(f, p, 1, 1, 0);
    check_twice(f, "s1",
                "1=one 2=two/rewound 3=three \n"
                "title=t messages=3 calls=0 tokens=0 parent=elsewhere");
    size = size_of(f, "jsonl/s1.jsonl");
    merge(f, p, 0, 0, 0);
    assert_int_equal(size_of(f, "jsonl/s1.jsonl"), size);
    p->messages[1].state = HF_MSG_ACTIVE;
    merge(f, p, 0, 1, 0);
    check_twice(f, "s1",
                "1=one 2=two 3=three \n"
                "title=t messages=3 calls=0 tokens=0 parent=elsewhere");
    /* Compacted there: the counters are those of what is active. */
    p->messages[0].state = p->messages[1].state = HF_MSG_COMPACTED;
    add(p, "u4", "sum", HF_MSG_ACTIVE);
    merge(f, p, 1, 2, 0);
    check_twice(f, "s1",
                "1=one/compacted 2=two/compacted 3=three 4=sum \n"
                "title=t messages=2 calls=0 tokens=0 parent=elsewhere");
    merge(f, p, 0, 0, 0);
    free(p);
}

/* Without a time and without a uid: told apart by what they say. */
static void
test_without_time(void **state)
{
    struct fixture *f = *state;
    struct parcel *p = parcel_make("s1");
    off_t size;

    add(p, NULL, "one", HF_MSG_ACTIVE);
    add(p, NULL, "one", HF_MSG_ACTIVE);
    add(p, NULL, "two", HF_MSG_ACTIVE);
    for (int i = 0; i < 3; i++)
        p->messages[i].timestamp = i ? HF_NO_TIME : -HF_NO_TIME;
    merge(f, p, 3, 0, 1);
    size = size_of(f, "jsonl/s1.jsonl");
    merge(f, p, 0, 0, 0);
    assert_int_equal(size_of(f, "jsonl/s1.jsonl"), size);
    check_twice(f, "s1",
                "1=one 2=one 3=two \n"
                "title= messages=3 calls=0 tokens=1000 parent=elsewhere");
    p->messages[2].timestamp = 1785000000.0; /* a time is not as good as none */
    merge(f, p, 1, 0, 0);
    free(p);
}

/* A title that another session has; an id whose file has a hash for its name. */
static void
test_names(void **state)
{
    struct fixture *f = *state;
    char id[400];
    struct parcel *p;

    memset(id, 'x', sizeof id);
    id[sizeof id - 1] = 0;
    p = parcel_make(id);
    assert_int_equal(make(f, "s1", "t"), HF_OK);
    assert_int_equal(make(f, "s2", "t #2"), HF_OK);
    p->session.title = hf_str("t");
    p->fields[0] = (struct hf_field){"title", HF_FIELD_SET, HF_TEXT, 0, 0, {"t #2", 4}};
    add(p, "u1", "one", HF_MSG_ACTIVE);
    merge(f, p, 1, 0, 1);
    check_twice(f, id,
                "1=one \ntitle=t #3 messages=1 calls=0 tokens=1000 parent=elsewhere");
    merge(f, p, 0, 0, 0);
    p->what.n_fields = 1;
    merge(f, p, 0, 0, 0);
    check_twice(f, id,
                "1=one \ntitle=t #2 #2 messages=1 calls=0 tokens=1000 "
                "parent=elsewhere");
    free(p);
}

/* Cut anywhere, nothing of it counts. */
static void
test_torn(void **state)
{
    struct fixture *f = *state;
    struct parcel *p = parcel_make("s1");
    off_t before, after;

    assert_int_equal(make(f, "s1", "t"), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u1", "one", NULL, 0), HF_OK);
    add(p, "u1", "one", HF_MSG_COMPACTED);
    add(p, "u2", "two", HF_MSG_ACTIVE);
    p->what.n_fields = 3;
    p->what.n_usage = 2;
    p->what.stamp = hf_str("stamp");
    before = size_of(f, "jsonl/s1.jsonl");
    merge(f, p, 1, 1, 0);
    after = size_of(f, "jsonl/s1.jsonl");
    for (off_t at = after - 2; at >= before; at -= 60) {
        assert_int_equal(truncate(scratch_path(f->dir, "jsonl/s1.jsonl"), at), 0);
        f->ops->close(f->store);
        f->store = store_open(f->ops, f->dir);
        check(f, f->store, "s1", "1=one \ntitle=t messages=1 calls=0 tokens=0 parent=");
        merge(f, p, 1, 1, 0);
        check_twice(f, "s1",
                    "1=one/compacted 2=two \n"
                    "title=t messages=1 calls=0 tokens=6 parent=elsewhere "
                    "big:7");
    }
    free(p);
}

static int
take(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    struct hf_transferred ret = HF_INIT(struct hf_transferred);
    struct fixture *f = ctx;
    return f->ops->session_merge(f->store, what, &ret, err);
}

/* From one store into another and on, by way of the two callbacks. */
static void
test_there_and_on(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {scratch_make(), f->ops, NULL};
    struct parcel *p = parcel_make("s1");
    struct hf_text id = hf_str("s1");
    struct hf_error err;

    other.store = store_open(f->ops, other.dir);
    add(p, "u1", "one", HF_MSG_COMPACTED);
    add(p, "u2", "two", HF_MSG_REWOUND);
    add(p, NULL, "three", HF_MSG_ACTIVE);
    p->what.n_fields = 3;
    p->what.n_usage = 2;
    merge(f, p, 3, 0, 1);
    assert_int_equal(f->ops->session_hand_over(f->store, &id, take, &other, &err),
                     HF_OK);
    check_twice(&other, "s1",
                "1=one/compacted 2=two/rewound 3=three \n"
                "title= messages=1 calls=0 tokens=1006 "
                "parent=elsewhere big:7");
    f->ops->close(other.store);
    scratch_remove(other.dir);
    free(p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_created, setup, teardown),
        cmocka_unit_test_setup_teardown(test_completed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_there_and_on, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
