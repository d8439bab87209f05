/* test_lease.c - who may have a lease, as a pure function of the stored record, the
 * clock and the question (util/lease.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "util/lease.h"

static const struct hf_text name = {"turn", 4}, me = {"me", 2};

/* Asks once; *RET_RECORD is what is stored afterwards. */
static int
asked(struct hf__lease_ask *ask, enum hf__lease_verb verb, const char *stored,
      double now, struct hf__buf *ret_record)
{
    struct hf_text text = {stored, stored ? strlen(stored) : 0};

    ask->verb = verb;
    ask->name = &name;
    ask->holder = &me;
    hf__buf_free(ret_record);
    assert_int_equal(hf__lease_decide(ask, &text, now, "state.db", ret_record), HF_OK);
    return ask->outcome;
}

static void
nobody_had_it(void **state)
{
    struct hf__lease_ask ask = {.verb = HF__LEASE_ACQUIRE, .name = &name, .holder = &me,
                                .ttl = 30};
    struct hf__buf out = {0};

    (void)state;
    assert_int_equal(hf__lease_decide(&ask, NULL, 1000, NULL, &out), HF_OK);
    assert_int_equal(ask.outcome, HF_OK);
    assert_int_equal(ask.generation, 1);
    assert_string_equal(out.ptr, "{\"holder\":\"me\",\"generation\":1,"
                                 "\"expires\":1030.0,\"ttl\":30.0}");
    hf__buf_free(&out);
}

/* Records that block nobody; what is given out next is above all that was given out. */
static void
no_record(void **state)
{
    static const char *const records[] = {
        "", "garbage", "null", "[]", "{", "{}", "7", "\"x\"", "{\"holder\":\"x\"}",
        "{\"holder\":7,\"generation\":3,\"expires\":4e9}",
        "{\"holder\":\"x\",\"generation\":3,\"expires\":\"4e9\"}",
        "{\"holder\":\"x\",\"generation\":3,\"expires\":null}",
        "{\"holder\":\"x\",\"generation\":3,\"expires\":1e400}",
        "{\"holder\":\"x\",\"generation\":99999999999999999999,\"expires\":4e9}",
        "{\"holder\":\"x\",\"generation\":3,\"expires\":NaN}",
        "{\"holder\":\"x\",\"generation\":3,\"expires\":-1e300}",
        "{\"holder\":\"x\",\"generation\":-3,\"expires\":0}",
        "{\"holder\":\"x\",\"generation\":3.5,\"expires\":0}", NULL};
    struct hf__buf out = {0};
    size_t n = sizeof records / sizeof *records;

    (void)state;
    for (size_t i = 0; i < n; i++) { /* with NULL, a value that is no text */
        struct hf__lease_ask ask = {.ttl = 30};
        int counted = records[i] && strstr(records[i], "\"generation\":3,") != NULL &&
                      !strstr(records[i], "1e400") && !strstr(records[i], "NaN");
        if (asked(&ask, HF__LEASE_ACQUIRE, records[i], 1764e6, &out) < 0)
            fail_msg("%s: %s", records[i], ask.why.message);
        if (counted)
            assert_int_equal(ask.generation, 4);
        else
            assert_true(ask.generation == 1764000000000001);
        assert_int_equal(asked(&ask, HF__LEASE_RENEW, records[i], 1764e6, &out),
                         HF_STALE_LEASE);
        assert_int_equal(out.len, 0);
    }
    hf__buf_free(&out);
}

static void
another_holder_counts_for_one_lease_time(void **state)
{
    static const struct {
        const char *expires, *ttl;
        int seconds; /* for which another holder lives from 1000 on */
    } rows[] = {
        {"1010", "60", 10},   {"1060", "60", 60},    {"1061", "60", 60},
        {"4e9", "60", 60},    {"1e300", "60", 60},   {"1e300", "4.2e9", -1},
        {"4e9", "1e300", 30}, {"1e300", "1e300", 30}, {"4e9", "4.3e9", 30},
        {"4e9", "0", 30},     {"4e9", "-5", 30},     {"4e9", "-1e300", 30},
        {"4e9", "\"60\"", 30}, {"4e9", "null", 30},  {"4e9", "{}", 30},
        {"1010", "1e300", 10},
    };
    struct hf__buf out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf__lease_ask ask = {.ttl = 30};
        char record[200], then[200];
        snprintf(record, sizeof record,
                 "{\"holder\":\"x\",\"generation\":7,\"expires\":%s,\"ttl\":%s}",
                 rows[i].expires, rows[i].ttl);
        assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, record, 1000, &out), HF_BUSY);
        assert_string_equal(ask.why.path, "state.db");
        snprintf(then, sizeof then, "%s", out.len ? out.ptr : record);
        if (rows[i].seconds < 0)
            continue;
        assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, then, 999.5 + rows[i].seconds,
                               &out), HF_BUSY);
        if (asked(&ask, HF__LEASE_ACQUIRE, then, 1000 + rows[i].seconds, &out) < 0)
            fail_msg("%s: %s", record, ask.why.message);
        assert_int_equal(ask.generation, 8);
    }
    hf__buf_free(&out);
}

#define LAST(holder)                                              \
    "{\"holder\":\"" holder "\",\"generation\":9223372036854775807," \
    "\"expires\":1010,\"ttl\":30}"

/* A generation that cannot grow is never given out twice, nor a lower one after it. */
static void
the_last_generation(void **state)
{
    struct hf__lease_ask ask = {.ttl = 30};
    struct hf__buf out = {0};
    char record[200];

    (void)state;
    assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, LAST("x"), 1000, &out), HF_BUSY);
    assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, LAST("x"), 1011, &out), HF_TOO_BIG);
    assert_int_equal(out.len, 0);
    assert_int_equal(ask.generation, 0);
    assert_non_null(strstr(ask.why.message, "holdfast_lease:turn"));

    assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, LAST("me"), 1000, &out), HF_OK);
    assert_true(ask.generation == INT64_MAX);
    assert_int_equal(asked(&ask, HF__LEASE_RENEW, LAST("me"), 1011, &out), HF_OK);
    assert_int_equal(asked(&ask, HF__LEASE_RELEASE, LAST("me"), 1000, &out), HF_OK);
    snprintf(record, sizeof record, "%s", out.ptr);
    assert_non_null(strstr(record, "9223372036854775807"));
    assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE, record, 1000, &out), HF_TOO_BIG);

    ask.generation = 0;
    assert_int_equal(asked(&ask, HF__LEASE_ACQUIRE,
                           "{\"generation\":9223372036854775806}", 1000, &out), HF_OK);
    assert_true(ask.generation == INT64_MAX);
    hf__buf_free(&out);
}

static void
questions(void **state)
{
    static const struct hf_text none = {NULL, 0};
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300, 4200000001.0};
    struct hf__lease_ask ask = {.verb = HF__LEASE_RENEW, .name = &name, .holder = &me};
    struct hf_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ask.ttl = bad[i];
        assert_int_equal(hf__lease_check(&ask, NULL, &err), HF_INVALID);
    }
    ask.ttl = 1e-3;
    assert_int_equal(hf__lease_check(&ask, NULL, &err), HF_OK);
    ask.holder = &none;
    assert_int_equal(hf__lease_check(&ask, NULL, &err), HF_INVALID);
    ask.holder = &me;
    ask.ttl = 0; /* a release needs none */
    ask.verb = HF__LEASE_RELEASE;
    assert_int_equal(hf__lease_check(&ask, NULL, &err), HF_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_had_it),
        cmocka_unit_test(no_record),
        cmocka_unit_test(another_holder_counts_for_one_lease_time),
        cmocka_unit_test(the_last_generation),
        cmocka_unit_test(questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
