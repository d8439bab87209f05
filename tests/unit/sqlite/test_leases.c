/* Named leases: holder, time to live, a generation that only grows. */
#include "store_fixture.h"

static int
acquire(struct fixture *f, const char *holder, double ttl, uint64_t *ret)
{
    struct hf_text name = text_of("cron"), who = text_of(holder);
    return f->ops->lease_acquire(f->store, &name, &who, ttl, ret, &f->err);
}

static int
renew(struct fixture *f, const char *holder, uint64_t generation, double ttl)
{
    struct hf_text name = text_of("cron"), who = text_of(holder);
    return f->ops->lease_renew(f->store, &name, &who, generation, ttl, &f->err);
}

static int
release(struct fixture *f, const char *holder, uint64_t generation)
{
    struct hf_text name = text_of("cron"), who = text_of(holder);
    return f->ops->lease_release(f->store, &name, &who, generation, &f->err);
}

static void
life_of_a_lease(void **state)
{
    struct fixture *f = *state;
    uint64_t a = 0, b = 0;
    f->now = 1000;
    assert_ok(f, acquire(f, "A", 30, &a));
    assert_int_equal(a, 1);
    assert_ok(f, acquire(f, "A", 30, &b)); /* its own, alive */
    assert_int_equal(b, 1);
    assert_int_equal(acquire(f, "B", 30, &b), HF_BUSY);
    assert_non_null(strstr(f->err.message, "held by A"));
    f->now = 1020;
    assert_ok(f, renew(f, "A", a, 30));
    f->now = 1045;
    assert_int_equal(acquire(f, "B", 30, &b), HF_BUSY);
    f->now = 1051;
    assert_ok(f, acquire(f, "B", 30, &b));
    assert_int_equal(b, 2);
    assert_int_equal(renew(f, "A", a, 30), HF_STALE_LEASE);
    assert_int_equal(release(f, "A", a), HF_STALE_LEASE);
    assert_int_equal(renew(f, "A", b, 30), HF_STALE_LEASE);
    assert_ok(f, release(f, "B", b));
    assert_int_equal(renew(f, "B", b, 30), HF_STALE_LEASE);
    assert_ok(f, acquire(f, "A", 30, &a));
    assert_int_equal(a, 3); /* it survived the release */
    assert_string_equal(
        fixture_sql(f, "SELECT json_extract(value, '$.holder') ||"
                       " json_extract(value, '$.generation') ||"
                       " json_extract(value, '$.expires') FROM state_meta"
                       " WHERE key = 'holdfast_lease:cron'"), "A31081.0");
}

static void
clock_that_went_back(void **state)
{
    struct fixture *f = *state;
    uint64_t g = 0;
    f->now = 100000;
    assert_ok(f, acquire(f, "A", 30, &g));
    f->now = 500; /* the expiry is now a day ahead: it counts as one time to live */
    assert_int_equal(acquire(f, "B", 30, &g), HF_BUSY);
    f->now = 529;
    assert_int_equal(acquire(f, "B", 30, &g), HF_BUSY);
    f->now = 531;
    assert_ok(f, acquire(f, "B", 30, &g));
    assert_int_equal(g, 2);
}

static void
a_short_asker_does_not_shorten(void **state)
{
    struct fixture *f = *state;
    uint64_t g = 0;
    f->now = 1000;
    assert_ok(f, acquire(f, "A", 3600, &g));
    assert_int_equal(acquire(f, "B", 1, &g), HF_BUSY);
    f->now = 1100;
    assert_int_equal(acquire(f, "B", 1, &g), HF_BUSY);
    assert_ok(f, renew(f, "A", 1, 3600));
}

static void
garbage_never_blocks(void **state)
{
    static const char *const garbage[] = {
        "'not json'", "'[]'", "x'00ff'", "NULL", "'{\"holder\":5}'", "''",
        "'{\"holder\":\"A\",\"generation\":\"x\",\"expires\":\"never\"}'",
        "'{\"holder\":\"A\",\"generation\":-4,\"expires\":1e300,\"ttl\":-1}'",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        char sql[300];
        uint64_t g = 0;
        int rc;
        f->now = 1000;
        snprintf(sql, sizeof sql,
                 "INSERT OR REPLACE INTO state_meta VALUES ('holdfast_lease:cron', %s)",
                 garbage[i]);
        fixture_sql(f, sql);
        rc = acquire(f, "B", 30, &g);
        if (rc == HF_BUSY) { /* a holder and an expiry: for one time to live at most */
            f->now = 1031;
            rc = acquire(f, "B", 30, &g);
        }
        if (rc < 0)
            fail_msg("%s: %s", garbage[i], f->err.message);
        assert_true(g > 0);
        assert_ok(f, renew(f, "B", g, 30));
    }
}

/* A record as somebody else may have stored it, held by A. */
static void
stored(struct fixture *f, const char *generation, const char *expires, const char *ttl)
{
    char sql[400];
    snprintf(sql, sizeof sql,
             "INSERT OR REPLACE INTO state_meta VALUES ('holdfast_lease:cron',"
             " '{\"holder\":\"A\",\"generation\":%s,\"expires\":%s,\"ttl\":%s}')",
             generation, expires, ttl);
    fixture_sql(f, sql);
}

static void
a_time_to_live_that_is_none(void **state)
{
    static const char *const ttls[] = {"1e300", "4200000001", "0", "-1", "-1e300",
                                       "\"x\"", "null", "\"NaN\"", "[]"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof ttls / sizeof *ttls; i++) {
        uint64_t g = 0;
        stored(f, "7", "1e300", ttls[i]);
        f->now = 1000;
        assert_int_equal(acquire(f, "B", 30, &g), HF_BUSY);
        assert_non_null(strstr(f->err.message, "another 31 s"));
        f->now = 1031;
        if (acquire(f, "B", 30, &g) < 0)
            fail_msg("ttl %s: %s", ttls[i], f->err.message);
        assert_int_equal(g, 8);
    }
}

static void
a_generation_at_its_limit(void **state)
{
    struct fixture *f = *state;
    uint64_t g = 0, limit = INT64_MAX;
    stored(f, "9223372036854775807", "1010", "30");
    f->now = 1000;
    assert_ok(f, acquire(f, "A", 30, &g)); /* its own */
    assert_true(g == limit);
    assert_ok(f, renew(f, "A", limit, 30));
    assert_int_equal(acquire(f, "B", 30, &g), HF_BUSY);
    f->now = 1031;
    g = 0;
    assert_int_equal(acquire(f, "B", 30, &g), HF_TOO_BIG);
    assert_non_null(strstr(f->err.message, "holdfast_lease:cron"));
    assert_int_equal(acquire(f, "A", 30, &g), HF_TOO_BIG);
    assert_int_equal(g, 0);
    assert_ok(f, release(f, "A", limit));
    assert_int_equal(acquire(f, "B", 30, &g), HF_TOO_BIG);

    stored(f, "9223372036854775806", "0", "30");
    assert_ok(f, acquire(f, "B", 30, &g)); /* the last one */
    assert_true(g == limit);
}

static void
generations_grow_over_garbage(void **state)
{
    struct fixture *f = *state;
    uint64_t last = 0, g = 0;
    f->now = 1764000000;
    for (int i = 0; i < 50; i++) {
        f->now += 0.01;
        if (i % 10 == 5)
            fixture_sql(f, "UPDATE state_meta SET value = 'garbage'"
                           " WHERE key = 'holdfast_lease:cron'");
        assert_ok(f, acquire(f, "A", 30, &g));
        assert_true(g > last);
        last = g;
        assert_ok(f, release(f, "A", g));
    }
}

static void
bad_arguments(void **state)
{
    struct fixture *f = *state;
    uint64_t g = 7;
    assert_int_equal(acquire(f, "A", 0, &g), HF_INVALID);
    assert_int_equal(acquire(f, "A", (double)NAN, &g), HF_INVALID);
    assert_int_equal(acquire(f, NULL, 5, &g), HF_INVALID);
    assert_int_equal(g, 7);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(life_of_a_lease), TEST(clock_that_went_back),
        TEST(a_short_asker_does_not_shorten), TEST(garbage_never_blocks),
        TEST(a_time_to_live_that_is_none), TEST(a_generation_at_its_limit),
        TEST(generations_grow_over_garbage), TEST(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
