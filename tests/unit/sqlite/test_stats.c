/* Counts and sizes; flush and backup. */
#include "store_fixture.h"

static char sources[256];

static int
keep_source(void *ctx, const struct hf_text *source, uint64_t n)
{
    (void)ctx;
    snprintf(sources + strlen(sources), sizeof sources - strlen(sources), "%.*s=%llu;",
             (int)source->len, source->ptr, (unsigned long long)n);
    return 0;
}

static void
fill(struct fixture *f)
{
    struct hf_message m = fixture_message("u1", "user", "kept safe");
    fixture_session(f, "a");
    fixture_session(f, "b");
    fixture_session(f, "c");
    assert_true(fixture_append(f, "a", &m) > 0);
    fixture_sql(f, "UPDATE sessions SET source = 'web', hidden = 1 WHERE id = 'b'");
}

static void
counts(void **state)
{
    struct fixture *f = *state;
    struct hf_stats stats = HF_INIT(struct hf_stats);
    fill(f);
    sources[0] = '\0';
    assert_ok(f, f->ops->stats(f->store, &stats, keep_source, NULL, &f->err));
    assert_int_equal(stats.sessions, 3);
    assert_int_equal(stats.messages, 1);
    assert_string_equal(sources, "cli=2;web=1;");
    assert_string_equal(stats.journal_mode, "wal");
    assert_true(stats.bytes_main > 0);
    assert_true(stats.bytes_wal > 0);
    assert_int_equal(stats.abi.size, sizeof stats);
}

static void
flush_moves_the_wal(void **state)
{
    struct fixture *f = *state;
    char before[64];
    fill(f);
    assert_ok(f, f->ops->flush(f->store, &f->err));
    /* The main file alone has everything now. */
    fixture_close(f);
    remove(scratch_path(f->home, "state.db-wal"));
    remove(scratch_path(f->home, "state.db-shm"));
    snprintf(before, sizeof before, "%s",
             fixture_sql(f, "SELECT COUNT(*) FROM messages"));
    assert_string_equal(before, "1");
}

static void
backup_stands_alone(void **state)
{
    struct fixture *f = *state;
    const char *path = scratch_path(f->home, "copy.db");
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char head[20];
    FILE *in;
    fill(f);
    assert_ok(f, f->ops->backup(f->store, path, &f->err));
    in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fread(head, 1, 20, in), 20);
    fclose(in);
    assert_int_equal(head[18], 1); /* no log beside it is needed */
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT content FROM messages", -1, &stmt,
                                        NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "kept safe");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    assert_int_equal(f->ops->backup(f->store, path, &f->err), HF_EXISTS);
    assert_int_equal(f->ops->backup(f->store, scratch_path(f->home, "no/where.db"),
                                    &f->err), HF_IO);
    assert_int_not_equal(access(scratch_path(f->home, "copy.db-wal"), F_OK), 0);
    /* The store goes on. */
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages"), "1");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(counts), TEST(flush_moves_the_wal), TEST(backup_stands_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
