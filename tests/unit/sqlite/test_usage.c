/* Tokens and cost by model. */
#include "store_fixture.h"

static char rows[1024];

static int
keep_usage(void *ctx, const struct hf_usage *u)
{
    (void)ctx;
    snprintf(rows + strlen(rows), sizeof rows - strlen(rows),
             "%.*s %.*s %lld %lld %.2f %.0f;", (int)u->model.len, u->model.ptr,
             (int)u->task.len, u->task.ptr, (long long)u->input_tokens,
             (long long)u->output_tokens, u->actual_cost_usd, u->seen_at);
    return 0;
}

static void
adds_up(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s");
    struct hf_usage u = HF_INIT(struct hf_usage);
    fixture_session(f, "s");
    u.session_id = s;
    u.model = text_of("m");
    u.input_tokens = 5;
    u.output_tokens = HF_NO_INT;
    u.actual_cost_usd = 0.25;
    u.estimated_cost_usd = (double)NAN;
    u.seen_at = 100;
    assert_ok(f, f->ops->usage_add(f->store, &u, &f->err));
    u.seen_at = 50;
    u.cost_status = text_of("final");
    assert_ok(f, f->ops->usage_add(f->store, &u, &f->err));
    u.cost_status = text_of(NULL);
    u.task = text_of("title");
    assert_ok(f, f->ops->usage_add(f->store, &u, &f->err));
    rows[0] = '\0';
    assert_ok(f, f->ops->usage_read(f->store, &s, keep_usage, NULL, &f->err));
    assert_string_equal(rows, "m  10 0 0.50 100;m title 5 0 0.25 50;");
    assert_string_equal(fixture_sql(f, "SELECT first_seen || cost_status FROM"
                                       " session_model_usage WHERE task = ''"),
                        "50.0final");
    u.session_id = text_of("nobody");
    assert_int_equal(f->ops->usage_add(f->store, &u, &f->err), HF_NOT_FOUND);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(adds_up, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
