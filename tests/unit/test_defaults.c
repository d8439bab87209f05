/* test_defaults.c - what the core does for each callback that a backend does not bring:
 * the meaning that stands beside it in backend.h. */
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
on_usage(void *ctx, const struct hf_usage *usage)
{
    (void)ctx, (void)usage;
    return 0;
}

static void
unsupported(void **state)
{
    struct storetest *t = *state;
    struct hf_text id = hf_str("s"), key = hf_str("k"), value;
    struct hf_usage usage = HF_INIT(struct hf_usage);

    assert_int_equal(storetest_create(t, "s", NULL, 0), 0);
    usage.session_id = id;
    usage.model = hf_str("m");
    assert_int_equal(hf_store_rewind(t->store, &id, 1, NULL, &t->err), HF_UNSUPPORTED);
    assert_non_null(strstr(t->err.message, "memory"));
    assert_int_equal(hf_store_restore(t->store, &id, 1, NULL, &t->err), HF_UNSUPPORTED);
    assert_int_equal(hf_store_compact(t->store, &id, 1, NULL, 0, NULL, &t->err),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_store_meta_get(t->store, &key, &value, &t->err),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_store_meta_set(t->store, &key, NULL, &t->err), HF_UNSUPPORTED);
    assert_int_equal(hf_store_usage_add(t->store, &usage, &t->err), HF_UNSUPPORTED);
    assert_int_equal(hf_store_usage_read(t->store, &id, on_usage, NULL, &t->err),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_store_backup(t->store, "/nowhere", &t->err), HF_UNSUPPORTED);
}

static void
quiet(void **state)
{
    struct storetest *t = *state;
    struct hf_state now = HF_INIT(struct hf_state);

    assert_int_equal(hf_store_state(t->store, &now, &t->err), 0);
    assert_int_equal(now.condition, HF_HEALTHY);
    assert_true(isnan(now.since));
    assert_int_equal(hf_store_flush(t->store, &t->err), 0);
    hf_store_interrupt(t->store);
}

static int
on_hit(void *ctx, const struct hf_hit *hit)
{
    hf__buf_addf(ctx, "%lld:%.*s;", (long long)hit->message_id, (int)hit->snippet.len,
                 hit->snippet.ptr);
    return 0;
}

static void
finds(struct storetest *t, struct hf_search query, const char *text, const char *want)
{
    struct hf_search_info info = HF_INIT(struct hf_search_info);
    struct hf__buf got = {0};

    hf__buf_adds(&got, "");
    query.text = hf_str(text);
    assert_int_equal(hf_store_search(t->store, &query, on_hit, &got, &info, &t->err),
                     0);
    assert_string_equal(got.ptr, want);
    assert_true(info.degraded);
    assert_true(info.note[0]);
    hf__buf_free(&got);
}

static void
searching(void **state)
{
    struct storetest *t = *state;
    struct hf_search query = HF_INIT(struct hf_search);
    struct hf_text roles[] = {hf_str("tool")}, sources[] = {hf_str("holdfast")};
    char long_text[5000];

    assert_int_equal(storetest_create(t, "a", NULL, 100), 0);
    assert_int_equal(storetest_create(t, "b", NULL, 200), 0);
    assert_int_equal(storetest_say(t, "a", "The Quick fox", 1001), 1);
    assert_int_equal(storetest_say(t, "b", "a quick dog, 100_000", 1002), 2);
    assert_int_equal(storetest_say(t, "b", "\xe6\x95\xb0\xe6\x8d\xae fox", 1003), 3);

    finds(t, query, "quick", "2:a >>>quick<<< dog, 100_000;1:The >>>Quick<<< fox;");
    finds(t, query, "quick FOX", "1:The >>>Quick<<< fox;");
    finds(t, query, "\"quick fox\"", "1:The >>>Quick fox<<<;");
    finds(t, query, "\"fox quick\"", "");
    finds(t, query, "dog OR the",
          "2:a quick >>>dog<<<, 100_000;1:>>>The<<< Quick fox;");
    finds(t, query, "quick NOT dog", "1:The >>>Quick<<< fox;");
    finds(t, query, "qui*", "2:a >>>qui<<<ck dog, 100_000;1:The >>>Qui<<<ck fox;");
    finds(t, query, "100%000", "");
    finds(t, query, "\xe6\x8d\xae", "3:\xe6\x95\xb0>>>\xe6\x8d\xae<<< fox;");
    finds(t, query, "\"quick", "2:a >>>quick<<< dog, 100_000;1:The >>>Quick<<< fox;");
    finds(t, query, "AND", "");
    finds(t, query, "OR NOT", "");
    finds(t, query, "*", "");
    finds(t, query, "\"\"", "");
    finds(t, query, "", "");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    finds(t, query, long_text, "");

    query.limit = 1;
    finds(t, query, "quick", "2:a >>>quick<<< dog, 100_000;");
    query.offset = 1;
    finds(t, query, "quick", "1:The >>>Quick<<< fox;");
    query.limit = query.offset = 0;
    query.order = HF_BY_OLDEST;
    query.since = 1002;
    finds(t, query, "o",
          "2:a quick d>>>o<<<g, 100_000;3:\xe6\x95\xb0\xe6\x8d\xae "
          "f>>>o<<<x;");
    query.until = 1003;
    finds(t, query, "o", "2:a quick d>>>o<<<g, 100_000;");
    query.session_id = hf_str("a");
    finds(t, query, "o", "");
    query = (struct hf_search)HF_INIT(struct hf_search);
    query.roles = roles;
    query.n_roles = 1;
    finds(t, query, "quick", "");
    query.n_roles = 0;
    query.exclude_sources = sources;
    query.n_exclude_sources = 1;
    finds(t, query, "quick", "");
}

static void
leases(void **state)
{
    struct storetest *t = *state;
    struct hf_text name = hf_str("n"), me = hf_str("me"), you = hf_str("you");
    struct hf_store *second = NULL;
    uint64_t mine = 0, again = 0, yours = 0;

    assert_int_equal(hf_store_lease_acquire(t->store, &name, &me, 60, &mine, &t->err),
                     0);
    assert_int_equal(hf_store_lease_acquire(t->store, &name, &me, 60, &again, &t->err),
                     0);
    assert_int_equal(mine, again);
    /* Another handle on the same home sees it. */
    assert_int_equal(hf_store_open(t->rt, NULL, &second, &t->err), 0);
    assert_int_equal(hf_store_lease_acquire(second, &name, &you, 60, &yours, &t->err),
                     HF_BUSY);
    assert_non_null(strstr(t->err.message, "'me'"));
    assert_int_equal(hf_store_lease_renew(t->store, &name, &me, mine, 60, &t->err), 0);
    assert_int_equal(hf_store_lease_renew(t->store, &name, &me, mine + 1, 60, &t->err),
                     HF_STALE_LEASE);
    assert_int_equal(hf_store_lease_release(t->store, &name, &you, mine, &t->err),
                     HF_STALE_LEASE);
    assert_int_equal(hf_store_lease_release(t->store, &name, &me, mine, &t->err), 0);
    assert_int_equal(hf_store_lease_renew(t->store, &name, &me, mine, 60, &t->err),
                     HF_STALE_LEASE);
    assert_int_equal(
        hf_store_lease_acquire(second, &name, &you, 0.001, &yours, &t->err), 0);
    assert_int_equal(yours, mine + 1); /* the generation survives the release */
    hf__sleep_ms(20);
    assert_int_equal(hf_store_lease_acquire(t->store, &name, &me, 60, &mine, &t->err),
                     0);
    assert_int_equal(mine, yours + 1);
    assert_int_equal(hf_store_lease_renew(second, &name, &you, yours, 60, &t->err),
                     HF_STALE_LEASE);
    assert_int_equal(hf_store_lease_acquire(t->store, &name, &me, 0, &mine, &t->err),
                     HF_INVALID);
    assert_int_equal(hf_store_lease_acquire(t->store, &name, &me, -1, &mine, &t->err),
                     HF_INVALID);
    hf_store_close(&second);
}

static int
on_source(void *ctx, const struct hf_text *source, uint64_t sessions)
{
    hf__buf_addf(ctx, "%.*s=%llu ", (int)source->len, source->ptr,
                 (unsigned long long)sessions);
    return 0;
}

static int
on_finding(void *ctx, const struct hf_finding *f)
{
    hf__buf_addf(ctx, "%s %u %s", f->code, f->severity, f->text);
    return 0;
}

static void
counting(void **state)
{
    struct storetest *t = *state;
    struct hf_stats stats = HF_INIT(struct hf_stats);
    struct hf__buf got = {0};

    assert_int_equal(storetest_create(t, "a", NULL, 100), 0);
    assert_int_equal(storetest_create(t, "b", NULL, 200), 0);
    assert_int_equal(storetest_say(t, "a", "x", 1001), 1);
    assert_int_equal(hf_store_stats(t->store, &stats, on_source, &got, &t->err), 0);
    assert_int_equal(stats.sessions, 2);
    assert_int_equal(stats.messages, 1);
    assert_string_equal(got.ptr, "holdfast=2 ");
    hf__buf_clear(&got);
    assert_int_equal(hf_store_check(t->store, HF_CHECK_FULL, on_finding, &got, &t->err),
                     0);
    assert_string_equal(got.ptr,
                        "store_readable 0 2 sessions and 1 messages can be read");
    hf__buf_clear(&got);
    assert_int_equal(hf_store_repair(t->store, 1, on_finding, &got, &t->err),
                     HF_UNSUPPORTED);
    assert_int_equal(hf_store_optimize(t->store, on_finding, &got, &t->err),
                     HF_UNSUPPORTED);
    hf__buf_free(&got);
}

static int
some_renew(void *store, const struct hf_text *name, const struct hf_text *holder,
           uint64_t generation, double ttl, struct hf_error *err)
{
    (void)store, (void)name, (void)holder, (void)generation, (void)ttl, (void)err;
    return HF_OK;
}

static void
filling(void **state)
{
    struct hf__backend backend;

    (void)state;
    memset(&backend, 0, sizeof backend);
    hf__defaults_fill(&backend);
    for (const struct hf__slot *s = hf__optional_slots; s->name; s++) {
        static const unsigned char zero[sizeof(void *)];
        assert_memory_not_equal((char *)&backend.ops + s->offset, zero, sizeof zero);
        assert_true(backend.defaulted[s->offset / sizeof(void *)]);
    }
    /* Required ones have no default. */
    assert_false(backend.defaulted[offsetof(struct hf_backend, open) / sizeof(void *)]);
    assert_true(backend.ops.message_read == NULL);
    /* Every slot behind the last required one is optional: none was forgotten. */
    for (size_t at = offsetof(struct hf_backend, message_rewind);
         at < sizeof(struct hf_backend); at += sizeof(void *))
        assert_true(backend.defaulted[at / sizeof(void *)]);
    /* Half a family of leases is none. */
    memset(&backend, 0, sizeof backend);
    backend.ops.lease_renew = some_renew;
    hf__defaults_fill(&backend);
    assert_true(backend.ops.lease_renew != some_renew);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, storetest_setup, storetest_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unsupported), TEST(quiet),    TEST(searching),
        TEST(leases),      TEST(counting), cmocka_unit_test(filling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
