/* After a loss: what the handle had committed, and no file may have. */
#include <unistd.h>

#include "store_fixture.h"

struct told {
    char text[2048];
    struct fixture *f;
};

static int
tell_message(void *ctx, const struct hf_message *m)
{
    struct told *told = ctx;
    size_t n = strlen(told->text);
    snprintf(told->text + n, sizeof told->text - n, " %.*s/%u", (int)m->uid.len,
             m->uid.ptr, m->state);
    return 0;
}

static int
tell(void *ctx, const struct hf_transfer *t, struct hf_error *err)
{
    struct told *told = ctx;
    size_t n = strlen(told->text);
    snprintf(told->text + n, sizeof told->text - n, "[%.*s", (int)t->session->id.len,
             t->session->id.ptr);
    for (uint64_t i = 0; i < t->n_fields; i++)
        if (!strcmp(t->fields[i].name, "title")) {
            n = strlen(told->text);
            snprintf(told->text + n, sizeof told->text - n, " '%.*s'",
                     (int)t->fields[i].text.len, t->fields[i].text.ptr);
        }
    assert_int_equal(t->messages(t->ctx, tell_message, told, err), HF_OK);
    assert_int_equal(t->messages(t->ctx, tell_message, &(struct told){{0}, NULL}, err),
                     HF_OK);
    strcat(told->text, "]");
    return HF_OK;
}

static const char *
unsettled(struct fixture *f)
{
    static struct told told;
    told.text[0] = '\0';
    assert_ok(f, f->ops->unsettled(f->store, tell, &told, &f->err));
    return told.text;
}

static int64_t
append(struct fixture *f, const char *session, const char *uid)
{
    struct hf_message m = fixture_message(uid, "user", "words");
    return fixture_append(f, session, &m);
}

static void
sidecars_deleted(struct fixture *f)
{
    unlink(scratch_path(f->home, "state.db-wal"));
    unlink(scratch_path(f->home, "state.db-shm"));
}

static void
since_the_open(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    assert_true(append(f, "s", "u1") > 0);
    assert_true(append(f, "s", "u2") > 0);
    assert_string_equal(unsettled(f), "");
    sidecars_deleted(f);
    assert_int_equal(append(f, "s", "u3"), HF_WAL_LOST);
    assert_string_equal(unsettled(f), "[s u1/1 u2/1]");
    assert_string_equal(unsettled(f), "[s u1/1 u2/1]");
}

static void
since_the_checkpoint(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s");
    struct hf_field title = {.name = "title", .type = HF_TEXT, .text = text_of("new")};
    uint64_t n;
    fixture_session(f, "s");
    fixture_session(f, "still");
    fixture_session(f, "t");
    append(f, "s", "u1");
    append(f, "s", "u2");
    append(f, "still", "u3");
    assert_ok(f, f->ops->flush(f->store, &f->err));
    append(f, "s", "u4");
    assert_ok(f, f->ops->message_rewind(f->store, &s, 2, &n, &f->err));
    append(f, "s", "u5");
    s = text_of("t");
    assert_ok(f, f->ops->session_update(f->store, &s, &title, 1, &f->err));
    sidecars_deleted(f);
    assert_int_equal(append(f, "s", "u6"), HF_WAL_LOST);
    assert_string_equal(unsettled(f), "[s u2/4 u4/4 u5/1][t 'new']");
}

static void
settled(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    append(f, "s", "u1");
    assert_ok(f, f->ops->flush(f->store, &f->err));
    sidecars_deleted(f);
    assert_int_equal(append(f, "s", "u2"), HF_WAL_LOST);
    assert_string_equal(unsettled(f), "");
}

static void
replaced(void **state)
{
    struct fixture *f = *state;
    char from[4096];
    fixture_session(f, "s");
    append(f, "s", "u1");
    assert_ok(f, f->ops->flush(f->store, &f->err));
    append(f, "s", "u2");
    snprintf(from, sizeof from, "%s", scratch_path(f->home, "other.db"));
    assert_ok(f, f->ops->backup(f->store, from, &f->err));
    assert_int_equal(rename(from, scratch_path(f->home, "state.db")), 0);
    assert_int_equal(append(f, "s", "u3"), HF_REPLACED);
    assert_string_equal(unsettled(f), "[s u1/1 u2/1]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(since_the_open, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(since_the_checkpoint, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(settled, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(replaced, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
