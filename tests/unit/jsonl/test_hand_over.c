/* test_hand_over.c - a session that is given away: what the taker is told, where the
 * file is afterwards, and that nothing is lost that is added meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "two_stores.h"

static int
hand_over(struct fixture *f, const char *name, hf_transfer_fn *take, void *ctx)
{
    struct hf_text id = hf_str(name);
    struct hf_error err;
    int rc = f->ops->session_hand_over(f->store, &id, take, ctx, &err);

    if (rc < 0)
        assert_true(err.code == rc && err.message[0]);
    return rc;
}

struct taken {
    struct hf__buf text;
    char stamp[64];
    int answer;
};

static int
take(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    static const char *const ops[] = {"set", "if_null", "add", "max"};
    struct taken *t = ctx;

    hf__buf_clear(&t->text);
    session_tell(&t->text, what->session);
    hf__buf_addf(&t->text, " source=%.*s\n", (int)what->session->source.len,
                 what->session->source.ptr);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(what->messages(what->ctx, message_tell, &t->text, err), 0);
        hf__buf_adds(&t->text, "\n");
    }
    for (uint64_t i = 0; i < what->n_fields; i++) {
        const struct hf_field *field = &what->fields[i];
        hf__buf_addf(&t->text, "%s %s ", field->name, ops[field->op / 10]);
        if (field->type == HF_INT)
            hf__buf_addf(&t->text, "%lld,", (long long)field->i);
        else if (field->type == HF_REAL)
            hf__buf_addf(&t->text, "%g,", field->d);
        else
            hf__buf_addf(&t->text, "%.*s,", (int)field->text.len,
                         field->text.ptr ? field->text.ptr : "");
    }
    hf__buf_adds(&t->text, "\n");
    for (uint64_t i = 0; i < what->n_usage; i++)
        usage_tell(&t->text, what->usage[i]);
    snprintf(t->stamp, sizeof t->stamp, "%.*s", (int)what->stamp.len, what->stamp.ptr);
    return t->answer == HF_OK ? HF_OK : hf_error_set(err, t->answer, NULL, "not today");
}

static void
fill(struct fixture *f)
{
    struct hf_field more[] = {
        {"input_tokens", HF_FIELD_ADD, HF_INT, 5, 0, {0}},
        {"last_read_at", HF_FIELD_MAX, HF_REAL, 0, 1785000005, {0}},
        {"model", HF_FIELD_SET_IF_NULL, HF_TEXT, 0, 0, {"m", 1}}};
    struct hf_field title = {"title", HF_FIELD_SET, HF_TEXT, 0, 0, {"later", 5}};
    struct hf_usage usage = HF_INIT(struct hf_usage);
    struct hf_text id = hf_str("s1");
    struct hf_error err;
    uint64_t n;

    usage.session_id = id;
    usage.model = hf_str("big");
    usage.seen_at = HF_NO_TIME;
    usage.input_tokens = 3;
    assert_int_equal(make(f, "s1", "first"), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u1", "one", more, 3), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u2", "two", NULL, 0), HF_OK);
    assert_int_equal(f->ops->message_rewind(f->store, &id, 2, &n, &err), HF_OK);
    assert_int_equal(f->ops->session_update(f->store, &id, &title, 1, &err), HF_OK);
    assert_int_equal(f->ops->usage_add(f->store, &usage, &err), HF_OK);
    usage.input_tokens = 4;
    assert_int_equal(f->ops->usage_add(f->store, &usage, &err), HF_OK);
}

#define FILLED                                                                         \
    "title=first messages=0 calls=0 tokens=0 parent= source=cli\n"                     \
    "1=one 2=two/rewound \n1=one 2=two/rewound \n"                                     \
    "input_tokens add 5,last_read_at max 1.785e+09,model if_null m,"                   \
    "rewind_count add 1,title set later,\n big:3 big:4"

/* A taker that fails changes nothing; one that does not gets the same again. */
static void
test_told(void **state)
{
    struct fixture *f = *state;
    struct taken t = {.answer = HF_BUSY};
    struct stat sb;
    char stamp[64];
    off_t size;

    fill(f);
    size = size_of(f, "jsonl/s1.jsonl");
    assert_int_equal(hand_over(f, "s1", take, &t), HF_BUSY);
    assert_string_equal(t.text.ptr, FILLED);
    assert_int_equal(strlen(t.stamp), 32);
    memcpy(stamp, t.stamp, sizeof stamp);
    assert_int_equal(size_of(f, "jsonl/s1.jsonl"), size);
    assert_int_equal(size_of(f, "jsonl/merged"), -1);
    t.answer = HF_OK;
    assert_int_equal(hand_over(f, "s1", take, &t), HF_OK);
    assert_string_equal(t.text.ptr, FILLED);
    assert_string_equal(t.stamp, stamp);
    assert_int_equal(size_of(f, "jsonl/s1.jsonl"), -1);
    assert_int_equal(size_of(f, "jsonl/merged/s1.jsonl"), size);
    assert_int_equal(stat(scratch_path(f->dir, "jsonl/merged"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0700);
    assert_int_equal(hand_over(f, "s1", take, &t), HF_NOT_FOUND);
    assert_int_equal(say(f, f->store, "s1", "u3", "three", NULL, 0), HF_NOT_FOUND);
    hf__buf_free(&t.text);
}

/* Made anew and given away again: what was moved away first stays. */
static void
test_again(void **state)
{
    struct fixture *f = *state;
    struct taken t = {.answer = HF_OK};
    off_t size;

    fill(f);
    size = size_of(f, "jsonl/s1.jsonl");
    assert_int_equal(hand_over(f, "s1", take, &t), HF_OK);
    for (int i = 1; i < 3; i++) {
        char name[64];
        assert_int_equal(make(f, "s1", "first"), HF_OK);
        assert_int_equal(say(f, f->store, "s1", "u1", "other", NULL, 0), HF_OK);
        check(f, f->store, "s1",
              "1=other \ntitle=first messages=1 calls=0 tokens=0 parent=");
        assert_int_equal(hand_over(f, "s1", take, &t), HF_OK);
        snprintf(name, sizeof name, "jsonl/merged/s1.jsonl.%d", i);
        assert_true(size_of(f, name) > 0);
    }
    assert_int_equal(size_of(f, "jsonl/merged/s1.jsonl"), size);
    hf__buf_free(&t.text);
}

/* Without its first line. */
static void
test_headless(void **state)
{
    struct fixture *f = *state;
    struct taken t = {.answer = HF_OK};
    FILE *file;

    assert_int_equal(make(f, "s1", "first"), HF_OK);
    assert_int_equal(say(f, f->store, "s1", "u1", "one", NULL, 0), HF_OK);
    file = fopen(scratch_path(f->dir, "jsonl/s1.jsonl"), "r+");
    fseek(file, 60, SEEK_SET);
    fputs("???", file);
    fclose(file);
    assert_int_equal(hand_over(f, "s1", take, &t), HF_OK);
    assert_string_equal(t.text.ptr, "title= messages=0 calls=0 tokens=0 parent= "
                                    "source=unknown\n1=one \n1=one \n\n");
    assert_string_equal(t.stamp, "u1");
    hf__buf_free(&t.text);
}

/* ---- while others write ---- */

struct inside {
    struct fixture *f;
    void *other;
    pthread_t thread;
    int rc;
};

static void *
say_late(void *ctx)
{
    struct inside *in = ctx;
    in->rc = say(in->f, in->other, "s1", "u9", "late", NULL, 0);
    return NULL;
}

static int
take_slowly(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    struct inside *in = ctx;
    struct timespec moment = {0, 300 * 1000000L};
    struct hf_text id = hf_str("s1");
    struct hf_error ignored;

    (void)what, (void)err;
    assert_int_equal(
        in->f->ops->session_hand_over(in->other, &id, take, NULL, &ignored), HF_BUSY);
    assert_int_equal(pthread_create(&in->thread, NULL, say_late, in), 0);
    nanosleep(&moment, NULL);
    return HF_OK;
}

/* Whoever waits for the file finds it gone, through this handle and another one. */
static void
test_waiting(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        struct inside in = {.f = f, .rc = 1};
        in.other = i ? store_open(f->ops, f->dir) : f->store;
        assert_int_equal(make(f, "s1", NULL), HF_OK);
        assert_int_equal(hand_over(f, "s1", take_slowly, &in), HF_OK);
        pthread_join(in.thread, NULL);
        assert_int_equal(in.rc, HF_NOT_FOUND);
        if (i)
            f->ops->close(in.other);
    }
}

#define SAID 300

/* Says all of them, making the session anew whenever it is gone. */
static int
say_all(struct fixture *f, void *store, const char *who)
{
    for (int i = 0; i < SAID; i++) {
        char uid[32];
        int rc;
        snprintf(uid, sizeof uid, "%s-%d", who, i);
        while ((rc = say(f, store, "s1", uid, uid, NULL, 0)) == HF_NOT_FOUND) {
            struct fixture as = {f->dir, f->ops, store};
            rc = make(&as, "s1", NULL);
            if (rc < 0 && rc != HF_EXISTS)
                return rc;
        }
        if (rc < 0)
            return rc;
    }
    return HF_OK;
}

struct talker {
    struct fixture *f;
    atomic_int done;
    int rc;
};

static void *
talk(void *ctx)
{
    struct talker *t = ctx;
    t->rc = say_all(t->f, t->f->store, "thread");
    atomic_store(&t->done, 1);
    return NULL;
}

struct heard {
    int n[2][SAID];
};

static int
hear(void *ctx, const struct hf_message *m)
{
    struct heard *h = ctx;
    int is_child = !memcmp(m->uid.ptr, "child", 5);
    char uid[32];

    snprintf(uid, sizeof uid, "%.*s", (int)m->uid.len, m->uid.ptr);
    h->n[is_child][atoi(strchr(uid, '-') + 1)]++;
    return 0;
}

static int
take_heard(void *ctx, const struct hf_transfer *what, struct hf_error *err)
{
    return what->messages(what->ctx, hear, ctx, err);
}

static void
test_nothing_lost(void **state)
{
    struct fixture *f = *state;
    struct talker talker = {.f = f};
    struct heard heard = {0};
    pthread_t thread;
    pid_t child;
    int status, over = 0, moved = 0, last;

    assert_int_equal(make(f, "s1", NULL), HF_OK);
    child = fork();
    if (!child)
        _exit(say_all(f, store_open(f->ops, f->dir), "child") == HF_OK ? 0 : 1);
    assert_int_equal(pthread_create(&thread, NULL, talk, &talker), 0);
    do {
        struct timespec moment = {0, 1000000L};
        int rc = hand_over(f, "s1", take_heard, &heard);
        assert_true(rc == HF_OK || rc == HF_BUSY || rc == HF_NOT_FOUND);
        moved += rc == HF_OK;
        if (!over && waitpid(child, &status, WNOHANG) == child) {
            assert_int_equal(status, 0);
            over = 1;
        }
        nanosleep(&moment, NULL);
    } while (!over || !atomic_load(&talker.done));
    pthread_join(thread, NULL);
    assert_int_equal(talker.rc, HF_OK);
    last = hand_over(f, "s1", take_heard, &heard);
    assert_true(last == HF_OK || last == HF_NOT_FOUND);
    assert_true(moved + (last == HF_OK) > 1);
    for (int who = 0; who < 2; who++)
        for (int i = 0; i < SAID; i++)
            assert_int_equal(heard.n[who][i], 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_headless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_lost, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
