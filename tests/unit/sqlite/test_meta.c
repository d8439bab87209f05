/* Key/values of the store. */
#include "store_fixture.h"

static int
keep_value(void *ctx, const struct hf_text *value)
{
    struct hf__buf *out = ctx;
    hf__buf_clear(out);
    hf__buf_add(out, value->ptr, (size_t)value->len);
    return 0;
}

static void
set_get_remove(void **state)
{
    struct fixture *f = *state;
    struct hf_text key = text_of("k"), value = hf_text("a\0b", 3), none = {0};
    struct hf__buf out = {0};
    assert_int_equal(f->ops->meta_get(f->store, &key, keep_value, &out, &f->err),
                     HF_NOT_FOUND);
    assert_ok(f, f->ops->meta_set(f->store, &key, &value, &f->err));
    assert_ok(f, f->ops->meta_get(f->store, &key, keep_value, &out, &f->err));
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.ptr, "a\0b", 3);
    value = text_of("");
    assert_ok(f, f->ops->meta_set(f->store, &key, &value, &f->err));
    assert_ok(f, f->ops->meta_get(f->store, &key, keep_value, &out, &f->err));
    assert_int_equal(out.len, 0); /* empty is not gone */
    assert_ok(f, f->ops->meta_set(f->store, &key, &none, &f->err));
    assert_int_equal(f->ops->meta_get(f->store, &key, keep_value, &out, &f->err),
                     HF_NOT_FOUND);
    hf__buf_free(&out);
}

static void
reading_only(void **state)
{
    struct fixture *f = *state;
    struct hf_text key = text_of("holdfast_schema");
    struct hf__buf out = {0};
    fixture_close(f);
    fixture_open(f, 1);
    assert_int_equal(f->ops->meta_set(f->store, &key, &key, &f->err), HF_READ_ONLY);
    assert_ok(f, f->ops->meta_get(f->store, &key, keep_value, &out, &f->err));
    assert_string_equal(out.ptr, "1");
    hf__buf_free(&out);
}

static void
missing_store_is_empty(void **state)
{
    struct fixture *f = *state;
    struct hf_text key = text_of("k");
    struct hf_stats stats = HF_INIT(struct hf_stats);
    fixture_close(f);
    remove(scratch_path(f->home, "state.db"));
    remove(scratch_path(f->home, "state.db-wal"));
    remove(scratch_path(f->home, "state.db-shm"));
    fixture_open(f, 1);
    assert_int_equal(f->ops->meta_get(f->store, &key, keep_value, NULL, &f->err),
                     HF_NOT_FOUND);
    assert_int_equal(f->ops->session_get(f->store, &key, 0, NULL, NULL, &f->err),
                     HF_NOT_FOUND);
    assert_int_equal(f->ops->message_read(f->store, &key, NULL, NULL, NULL, &f->err),
                     HF_NOT_FOUND);
    assert_ok(f, f->ops->usage_read(f->store, &key, NULL, NULL, &f->err));
    assert_ok(f, f->ops->stats(f->store, &stats, NULL, NULL, &f->err));
    assert_int_equal(stats.sessions, 0);
    assert_ok(f, f->ops->flush(f->store, &f->err));
    assert_int_equal(f->ops->meta_set(f->store, &key, &key, &f->err), HF_READ_ONLY);
    assert_int_not_equal(access(scratch_path(f->home, "state.db"), F_OK), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(set_get_remove), TEST(reading_only), TEST(missing_store_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
