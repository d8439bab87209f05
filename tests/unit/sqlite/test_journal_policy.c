/* test_journal_policy.c - every row of the table in SPEC 3.2, and the kinds of header.
 */
#include "db_test.h"

static struct hf__journal_plan
decide(uint32_t known, uint32_t wal, uint32_t content, uint32_t configured,
       uint32_t cross_vm, uint32_t no_map, uint32_t require)
{
    struct hf__journal_facts f = {known,    wal,    content, configured,
                                  cross_vm, no_map, require};
    return hf__journal_decide(&f);
}

#define WAL HF_JOURNAL_WAL
#define DEL HF_JOURNAL_DELETE
#define EXPECT(PLAN, ACTION, SAY, CODE)                                                \
    do {                                                                               \
        struct hf__journal_plan p_ = PLAN;                                             \
        assert_int_equal(p_.action, ACTION);                                           \
        assert_int_equal(p_.say, SAY);                                                 \
        assert_int_equal(p_.code, CODE);                                               \
    } while (0)

static void
row_1_wal_is_never_downgraded(void **state)
{
    (void)state;
    EXPECT(decide(1, 1, 1, WAL, 0, 0, 0), HF__JOURNAL_KEEP_WAL, 0, 0);
    EXPECT(decide(1, 1, 1, DEL, 0, 0, 0), HF__JOURNAL_KEEP_WAL,
           HF__SAY_DELETE_OVERRIDDEN, 0);
    EXPECT(decide(1, 1, 1, WAL, 1, 0, 0), HF__JOURNAL_KEEP_WAL, HF__SAY_CROSS_VM_WAL,
           0);
    EXPECT(decide(1, 1, 1, DEL, 1, 0, 0), HF__JOURNAL_KEEP_WAL,
           HF__SAY_CROSS_VM_WAL | HF__SAY_DELETE_OVERRIDDEN, 0);
    EXPECT(decide(1, 1, 1, WAL, 1, 0, 1), HF__JOURNAL_KEEP_WAL, HF__SAY_CROSS_VM_WAL,
           0);
    EXPECT(decide(1, 1, 1, WAL, 0, 1, 0), HF__JOURNAL_REFUSE, HF__SAY_WAL_UNUSABLE,
           HF_UNSUPPORTED);
}

static void
row_2_unknown_is_left_alone(void **state)
{
    (void)state;
    EXPECT(decide(0, 0, 1, WAL, 0, 0, 0), HF__JOURNAL_INHERIT, HF__SAY_MODE_UNKNOWN, 0);
    EXPECT(decide(0, 0, 1, WAL, 1, 0, 0), HF__JOURNAL_INHERIT, HF__SAY_MODE_UNKNOWN, 0);
    EXPECT(decide(0, 0, 1, DEL, 0, 0, 0), HF__JOURNAL_REFUSE, HF__SAY_MODE_UNKNOWN,
           HF_BUSY);
    EXPECT(decide(0, 0, 1, WAL, 0, 0, 1), HF__JOURNAL_REFUSE, HF__SAY_MODE_UNKNOWN,
           HF_UNSUPPORTED);
}

static void
row_3_configured_delete(void **state)
{
    (void)state;
    EXPECT(decide(1, 0, 0, DEL, 0, 0, 0), HF__JOURNAL_SET_DELETE, 0, 0);
    EXPECT(decide(1, 0, 1, DEL, 1, 0, 0), HF__JOURNAL_SET_DELETE, 0, 0);
    EXPECT(decide(1, 0, 1, DEL, 0, 0, 1), HF__JOURNAL_REFUSE,
           HF__SAY_WAL_NOT_CONFIGURED, HF_UNSUPPORTED);
}

static void
row_4_cross_vm(void **state)
{
    (void)state;
    EXPECT(decide(1, 0, 0, WAL, 1, 0, 0), HF__JOURNAL_SET_DELETE,
           HF__SAY_CROSS_VM_DELETE, 0);
    EXPECT(decide(1, 0, 1, WAL, 1, 0, 0), HF__JOURNAL_SET_DELETE,
           HF__SAY_CROSS_VM_DELETE, 0);
    EXPECT(decide(1, 0, 0, WAL, 1, 0, 1), HF__JOURNAL_REFUSE, HF__SAY_CROSS_VM_DELETE,
           HF_UNSUPPORTED);
}

static void
row_5_otherwise(void **state)
{
    (void)state;
    EXPECT(decide(1, 0, 0, WAL, 0, 0, 0), HF__JOURNAL_SET_WAL, 0, 0);
    EXPECT(decide(1, 0, 1, WAL, 0, 0, 0), HF__JOURNAL_SET_WAL, HF__SAY_JOURNAL_UPGRADED,
           0);
    EXPECT(decide(1, 0, 0, WAL, 0, 1, 0), HF__JOURNAL_SET_DELETE, HF__SAY_WAL_REFUSED,
           0);
    EXPECT(decide(1, 0, 0, WAL, 0, 1, 1), HF__JOURNAL_REFUSE, HF__SAY_WAL_REFUSED,
           HF_UNSUPPORTED);
}

static void
headers(void **state)
{
    (void)state;
    unsigned char h[100] = "SQLite format 3";
    h[16] = 16;
    h[21] = 64;
    h[22] = h[23] = 32;
    h[18] = h[19] = 1;
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_ROLLBACK);
    assert_int_equal(hf__header_kind(h, 99), HF__HEADER_BAD);
    assert_int_equal(hf__header_kind(h, 0), HF__HEADER_NONE);
    h[18] = h[19] = 2;
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_WAL);
    h[19] = 1;
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_MIXED);
    h[18] = h[19] = 0;
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_BAD);
    h[18] = h[19] = 1;
    h[16] = 0, h[17] = 1; /* 65536 */
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_ROLLBACK);
    h[16] = 3, h[17] = 0; /* no power of two */
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_BAD);
    h[16] = 16;
    h[21] = 0;
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_BAD);
    h[21] = 64;
    h[15] = 'x';
    assert_int_equal(hf__header_kind(h, 100), HF__HEADER_BAD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_1_wal_is_never_downgraded),
        cmocka_unit_test(row_2_unknown_is_left_alone),
        cmocka_unit_test(row_3_configured_delete),
        cmocka_unit_test(row_4_cross_vm),
        cmocka_unit_test(row_5_otherwise),
        cmocka_unit_test(headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
