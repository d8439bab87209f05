/* test_store.c - the front of a store: what it checks, makes and passes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "internal.h"
#include "storetest.h"

static int
on_row(void *ctx, const struct hf_session *s)
{
    struct hf_session *row = ctx;

    *row = *s; /* what the tests look at is no pointer, or lives in the backend */
    return 0;
}

static struct hf_session
get(struct storetest *t, const char *id)
{
    struct hf_text text = hf_str(id);
    struct hf_session row = HF_INIT(struct hf_session);

    assert_int_equal(hf_store_session_get(t->store, &text, 0, on_row, &row, &t->err),
                     0);
    return row;
}

static void
create(void **state)
{
    struct storetest *t = *state;
    struct hf_session session = HF_INIT(struct hf_session), row;
    char id[64] = "", longest[513];

    session.title = hf_str("  a \n title ");
    assert_int_equal(
        hf_store_session_create(t->store, &session, id, sizeof id, &t->err), 0);
    assert_int_equal(strlen(id), 22);
    row = get(t, id);
    assert_true(hf__text_is(&row.title, "a title"));
    assert_true(hf__text_is(&row.source, "holdfast"));
    assert_true(row.started_at > 1.7e9);
    assert_true(isnan(row.ended_at));
    /* The title is taken, and its owner named. */
    assert_int_equal(storetest_create(t, "s2", "a title", 0), HF_EXISTS);
    assert_non_null(strstr(t->err.message, id));
    assert_int_equal(storetest_create(t, id, NULL, 0), HF_EXISTS);
    assert_int_equal(storetest_create(t, "", NULL, 0), HF_INVALID);
    assert_int_equal(storetest_create(t, "a\nb", NULL, 0), HF_INVALID);
    memset(longest, 'a', sizeof longest);
    longest[512] = '\0';
    assert_int_equal(storetest_create(t, longest, NULL, 0), 0);
    session.id = hf_text(longest, 513);
    session.title = hf_str(NULL);
    assert_int_equal(hf_store_session_create(t->store, &session, NULL, 0, &t->err),
                     HF_INVALID);
    session.id = hf_str("long-enough");
    assert_int_equal(hf_store_session_create(t->store, &session, id, 4, &t->err),
                     HF_INVALID);
    /* A time that is none. */
    assert_int_equal(storetest_create(t, "t", NULL, 8e252), 0);
    assert_true(get(t, "t").started_at < HF_MAX_TIME);
}

static void
structs_of_another_age(void **state)
{
    struct storetest *t = *state;
    struct {
        struct hf_session session;
        char later[32];
    } newer;
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_stats stats = HF_INIT(struct hf_stats);

    /* Older: it ends after the source; what lies there is not read. */
    memset((char *)&session + offsetof(struct hf_session, title), 0xff,
           sizeof session - offsetof(struct hf_session, title));
    session.abi.size = offsetof(struct hf_session, title);
    session.id = hf_str("old");
    assert_int_equal(hf_store_session_create(t->store, &session, NULL, 0, &t->err), 0);
    assert_null(get(t, "old").title.ptr);

    memset(&newer, 0xff, sizeof newer);
    newer.session = HF_INIT(struct hf_session);
    newer.session.abi.size = sizeof newer;
    newer.session.abi.minor = 9;
    newer.session.id = hf_str("new");
    assert_int_equal(
        hf_store_session_create(t->store, &newer.session, NULL, 0, &t->err), 0);

    session = HF_INIT(struct hf_session);
    session.abi.major = 2;
    assert_int_equal(hf_store_session_create(t->store, &session, NULL, 0, &t->err),
                     HF_INVALID);
    memset(&session, 0, sizeof session); /* not made with HF_INIT */
    assert_int_equal(hf_store_session_create(t->store, &session, NULL, 0, &t->err),
                     HF_INVALID);
    assert_non_null(strstr(t->err.message, "HF_INIT"));

    /* An output: nothing is written behind the caller's end, the stamp stays. */
    stats.abi.size = offsetof(struct hf_stats, messages);
    stats.messages = 77;
    assert_int_equal(hf_store_stats(t->store, &stats, NULL, NULL, &t->err), 0);
    assert_int_equal(stats.sessions, 2);
    assert_int_equal(stats.messages, 77);
    assert_int_equal(stats.abi.size, offsetof(struct hf_stats, messages));
}

static void
append(void **state)
{
    struct storetest *t = *state;
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *messages[20];
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended ret[20];
    uint64_t over = HF_MAX_MESSAGE - 2;

    assert_int_equal(storetest_create(t, "s1", NULL, 0), 0);
    assert_int_equal(storetest_say(t, "none", "x", HF_NO_TIME), HF_NOT_FOUND);
    assert_int_equal(storetest_say(t, "a\nb", "x", HF_NO_TIME), HF_NOT_FOUND);

    message.role = hf_str("assistant");
    message.timestamp = HF_NO_TIME;
    message.tool_calls = hf_str("[{\"id\":1},{\"id\":2}]");
    for (int i = 0; i < 20; i++)
        messages[i] = &message;
    what.session_id = hf_str("s1");
    what.messages = messages;
    what.n_messages = 20;
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ret[i].id, i + 1);
        assert_int_equal(strlen(ret[i].uid), 32);
        assert_true(i == 0 || strcmp(ret[i].uid, ret[i - 1].uid) != 0);
    }
    assert_int_equal(get(t, "s1").message_count, 20);
    assert_int_equal(get(t, "s1").tool_call_count, 40);
    what.n_messages = 0;
    assert_int_equal(hf_store_append(t->store, &what, NULL, &t->err), 0);
    assert_int_equal(get(t, "s1").message_count, 20);

    what.n_messages = 1;
    message.role = hf_str(NULL);
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), HF_INVALID);
    message.role = hf_str("user");
    message.state = 3;
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), HF_INVALID);
    message.state = 0;
    /* Only lengths are looked at: each fits, together they do not. */
    message.content = hf_text("", HF_MAX_MESSAGE + (uint64_t)1);
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), HF_TOO_BIG);
    message.content = hf_text("", over);
    message.reasoning = hf_str("abc");
    message.tool_calls = hf_str(NULL);
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), HF_TOO_BIG);
    assert_non_null(strstr(t->err.message, "67108865"));
    messages[0] = NULL;
    assert_int_equal(hf_store_append(t->store, &what, ret, &t->err), HF_INVALID);
    assert_int_equal(get(t, "s1").message_count, 20);
}

static void
changes(void **state)
{
    struct storetest *t = *state;
    struct hf_text id = hf_str("s1"), none = hf_str("none"), text;
    struct hf_field field = {.name = "model", .type = HF_TEXT, .text = hf_str("m")};
    struct hf_session row;

    assert_int_equal(storetest_create(t, "s1", "first", 0), 0);
    assert_int_equal(hf_store_session_update(t->store, &id, &field, 1, &t->err), 0);
    assert_int_equal(hf_store_session_update(t->store, &none, &field, 1, &t->err),
                     HF_NOT_FOUND);
    field.name = "no_such_column";
    assert_int_equal(hf_store_session_update(t->store, &id, &field, 1, &t->err),
                     HF_INVALID);
    field.name = "id";
    assert_int_equal(hf_store_session_update(t->store, &id, &field, 1, &t->err),
                     HF_INVALID);
    field.name = "model";
    field.op = HF_FIELD_ADD;
    assert_int_equal(hf_store_session_update(t->store, &id, &field, 1, &t->err),
                     HF_INVALID);
    field.op = 3;
    assert_int_equal(hf_store_session_update(t->store, &id, &field, 1, &t->err),
                     HF_INVALID);

    text = hf_str(" new\t name ");
    assert_int_equal(hf_store_session_rename(t->store, &id, &text, &t->err), 0);
    row = get(t, "s1");
    assert_true(hf__text_is(&row.title, "new name"));
    text = hf_str("  ");
    assert_int_equal(hf_store_session_rename(t->store, &id, &text, &t->err), 0);
    assert_null(get(t, "s1").title.ptr);
    text = hf_str("done");
    assert_int_equal(hf_store_session_end(t->store, &id, &text, &t->err), 0);
    text = hf_str("later");
    assert_int_equal(hf_store_session_end(t->store, &id, &text, &t->err), 0);
    row = get(t, "s1");
    assert_true(hf__text_is(&row.end_reason, "done"));
    assert_true(row.ended_at > 1.7e9);
    assert_int_equal(hf_store_session_reopen(t->store, &id, &t->err), 0);
    row = get(t, "s1");
    assert_null(row.end_reason.ptr);
    assert_true(isnan(row.ended_at));
}

static void
resolve(void **state)
{
    struct storetest *t = *state;
    struct hf_text arg, id = {NULL, 0};
    char name[16];

    assert_int_equal(storetest_create(t, "abc", NULL, 0), 0);
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "abcd%d", i);
        assert_int_equal(storetest_create(t, name, NULL, 0), 0);
    }
    arg = hf_str("abc"); /* exact, although others begin so */
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err), 0);
    assert_true(hf__text_is(&id, "abc"));
    free((char *)id.ptr);
    arg = hf_str("@session:default/abcd3");
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err), 0);
    assert_true(hf__text_is(&id, "abcd3"));
    free((char *)id.ptr);
    arg = hf_str("abcd");
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err),
                     HF_INVALID);
    assert_non_null(strstr(t->err.message, "and more"));
    arg = hf_str("abcd%");
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err),
                     HF_NOT_FOUND);
    assert_non_null(strstr(t->err.message, "--profile NAME"));
    assert_non_null(strstr(t->err.message, "@session:PROFILE/ID"));
    arg = hf_str("a\nb");
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err),
                     HF_NOT_FOUND);
    assert_null(strchr(t->err.message, '\n'));
    arg = hf_str("@session:other/abc");
    assert_int_equal(hf_store_session_resolve(t->store, &arg, &id, &t->err),
                     HF_INVALID);
}

static void
address_is(const char *arg, int rc, const char *profile, const char *id)
{
    struct hf_text text = hf_str(arg), ret_id = {NULL, 0};
    char *ret_profile = NULL;

    assert_int_equal(hf_session_address(&text, &ret_profile, &ret_id, NULL), rc);
    if (rc < 0)
        return;
    assert_true(profile ? !strcmp(ret_profile, profile) : !ret_profile);
    assert_true(hf__text_is(&ret_id, id));
    free(ret_profile);
}

static void
addresses(void **state)
{
    (void)state;
    address_is("abc", HF_OK, NULL, "abc");
    address_is("", HF_OK, NULL, "");
    address_is("@session:work/abc", HF_OK, "work", "abc");
    address_is("@session:work/a/b", HF_OK, "work", "a/b");
    address_is("@session:work", HF_INVALID, NULL, NULL);
    address_is("@session:/abc", HF_INVALID, NULL, NULL);
    address_is("@session:work/", HF_INVALID, NULL, NULL);
    address_is("@session:../abc", HF_INVALID, NULL, NULL);
}

static void
read_only(void **state)
{
    struct storetest *t = *state;
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    struct hf_store *store = NULL, *kept = t->store;
    struct hf_text id = hf_str("s");

    options.read_only = 1;
    assert_int_equal(plugins_open(t->home, "memory", &t->rt, &options, &store, &t->err),
                     0);
    t->store = store;
    assert_int_equal(storetest_create(t, "s", NULL, 0), HF_READ_ONLY);
    assert_int_equal(storetest_say(t, "s", "x", 0), HF_READ_ONLY);
    assert_int_equal(hf_store_session_delete(store, &id, 1, NULL, &t->err),
                     HF_READ_ONLY);
    assert_int_equal(hf_store_session_reopen(store, &id, &t->err), HF_READ_ONLY);
    assert_int_equal(hf_store_flush(store, &t->err), HF_OK);
    hf_store_close(&store);
    t->store = kept;
}

static int
stop(void *ctx, const struct hf_session *session)
{
    (void)session;
    return *(int *)ctx;
}

static int
call_back(void *ctx, const struct hf_session *session)
{
    struct storetest *t = ctx;

    (void)session;
    assert_int_equal(hf_store_flush(t->store, &t->err), HF_MISUSE);
    return 0;
}

static void
emitting(void **state)
{
    struct storetest *t = *state;
    int value = 42;

    assert_int_equal(storetest_create(t, "a", NULL, 0), 0);
    assert_int_equal(hf_store_session_list(t->store, NULL, stop, &value, &t->err), 42);
    value = HF_CONFLICT;
    assert_int_equal(hf_store_session_list(t->store, NULL, stop, &value, &t->err),
                     HF_CONFLICT);
    assert_int_equal(hf_store_session_list(t->store, NULL, call_back, t, &t->err), 0);
    assert_int_equal(hf_store_session_list(t->store, NULL, NULL, NULL, &t->err),
                     HF_INVALID);
    assert_int_equal(hf_store_flush(NULL, &t->err), HF_INVALID);
    assert_int_equal(hf_store_flush(NULL, NULL), HF_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, storetest_setup, storetest_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(create),  TEST(structs_of_another_age), TEST(append),    TEST(changes),
        TEST(resolve), cmocka_unit_test(addresses),  TEST(read_only), TEST(emitting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
