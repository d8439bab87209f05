/* Damage of the search index never stops a write (SPEC 4.4). */
#include "store_fixture.h"

static void
append_ok(struct fixture *f, const char *uid)
{
    struct hf_message m = fixture_message(uid, "user", "canonical words");
    int64_t id = fixture_append(f, "s", &m);
    if (id < 0)
        fail_msg("%s: %s", uid, f->err.message);
}

/* Everything that goes on working with a stale index, and after the next open. */
static void
goes_on(struct fixture *f)
{
    struct hf_text s = text_of("s");
    uint64_t n = 0;
    assert_string_equal(fixture_sql(f, "SELECT value FROM state_meta"
                                       " WHERE key = 'fts_stale'"), "1");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type ="
                                       " 'trigger' AND name LIKE 'messages_fts%'"), "0");
    assert_non_null(strstr(f->log, "fts_index"));
    assert_non_null(strstr(f->log, "canonical transcript intact"));
    fixture_close(f);
    fixture_open(f, 0);
    /* The open has built the index anew. */
    assert_non_null(strstr(f->log, "fts_healed"));
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type ="
                                       " 'trigger' AND name LIKE 'messages_fts%'"), "6");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM state_meta WHERE key IN"
                                       " ('fts_stale', 'holdfast_fts_heal',"
                                       " 'fts_rebuild_high_water')"), "0");
    append_ok(f, "u9");
    assert_int_equal(((struct hf_sqlite_store *)f->store)->shape.fts_layout,
                     HF_FTS_EXTERNAL);
    assert_string_equal(fixture_sql(f, "SELECT (SELECT COUNT(*) FROM messages_fts WHERE"
                                       " messages_fts MATCH 'canonical') ="
                                       " (SELECT COUNT(*) FROM messages)"), "1");
    fixture_sql(f, "INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')");
    assert_ok(f, f->ops->message_rewind(f->store, &s, 1, &n, &f->err));
    assert_string_equal(fixture_sql(f, "SELECT message_count = (SELECT COUNT(*) FROM"
                                       " messages) FROM sessions"), "1");
}

static void
index_table_is_gone(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    append_ok(f, "u1");
    fixture_sql(f, "DROP TABLE messages_fts");
    append_ok(f, "u2"); /* on the handle that knew it */
    goes_on(f);
}

static void
index_table_is_gone_before_the_open(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    append_ok(f, "u1");
    fixture_close(f);
    fixture_sql(f, "DROP TABLE messages_fts_trigram");
    fixture_open(f, 0);
    append_ok(f, "u2");
    goes_on(f);
}

static void
index_is_damaged(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    append_ok(f, "u1");
    fixture_close(f);
    fixture_sql(f, "UPDATE messages_fts_data SET block = x'0102' WHERE id = 10");
    fixture_open(f, 0);
    append_ok(f, "u2");
    goes_on(f);
    fixture_sound(f);
}

static void
delete_beside_damage(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = text_of("s");
    uint64_t deleted = 0;
    fixture_session(f, "s");
    append_ok(f, "u1");
    fixture_close(f);
    fixture_sql(f, "UPDATE messages_fts_data SET block = x'0102' WHERE id = 10");
    fixture_open(f, 0);
    assert_ok(f, f->ops->session_delete(f->store, &s, 1, &deleted, &f->err));
    assert_int_equal(deleted, 1);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages"), "0");
}

/* A search table whose tokenizer this program does not have. */
static void
cjk_make(struct fixture *f)
{
    fixture_sql(
        f,
        "PRAGMA writable_schema = ON;"
        "INSERT INTO sqlite_master VALUES ('table', 'messages_fts_cjk',"
        " 'messages_fts_cjk', 0, 'CREATE VIRTUAL TABLE messages_fts_cjk USING"
        " fts5(content, tokenize=''cjk_of_elsewhere'')');"
        "INSERT INTO sqlite_master VALUES ('trigger', 'messages_fts_cjk_insert',"
        " 'messages', 0, 'CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages"
        " BEGIN INSERT INTO messages_fts_cjk(rowid, content) VALUES (new.id,"
        " new.content); END');"
        "INSERT INTO sqlite_master VALUES ('trigger', 'messages_fts_cjk_delete',"
        " 'messages', 0, 'CREATE TRIGGER messages_fts_cjk_delete AFTER DELETE ON messages"
        " BEGIN DELETE FROM messages_fts_cjk WHERE rowid = old.id; END');"
        "PRAGMA writable_schema = RESET");
}

static void
cjk_detached(struct fixture *f)
{
    assert_string_equal(fixture_sql(f, "SELECT value FROM state_meta"
                                       " WHERE key = 'fts_cjk_stale'"), "1");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM state_meta"
                                       " WHERE key = 'fts_stale'"), "0");
    assert_string_equal(fixture_sql(f, "SELECT group_concat(name) FROM sqlite_master WHERE"
                                       " type = 'trigger' AND name LIKE '%cjk%'"), "");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages_fts WHERE"
                                       " messages_fts MATCH 'canonical'"), "1");
    /* The table itself is somebody's: it stays. */
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE"
                                       " name = 'messages_fts_cjk'"), "1");
}

static void
unknown_tokenizer(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_close(f);
    cjk_make(f);
    fixture_open(f, 0);
    append_ok(f, "u1");
    cjk_detached(f);
}

static void
unknown_tokenizer_in_an_upgrade(void **state)
{
    struct fixture *f = *state;
    fixture_session(f, "s");
    fixture_close(f);
    fixture_sql(f, "ALTER TABLE sessions DROP COLUMN tool_names;"
                   "DROP INDEX idx_messages_holdfast_uid;"
                   "ALTER TABLE messages DROP COLUMN message_uid;"
                   "DELETE FROM state_meta WHERE key = 'holdfast_schema'");
    cjk_make(f);
    fixture_open(f, 0);
    append_ok(f, "u1");
    cjk_detached(f);
}

/* Damage of something else is not hidden behind the index. */
static void
other_failures_stay_failures(void **state)
{
    struct fixture *f = *state;
    struct hf_message m = fixture_message("u1", "user", "x");
    fixture_session(f, "s");
    fixture_sql(f, "CREATE TRIGGER no BEFORE INSERT ON messages BEGIN"
                   " SELECT RAISE(ABORT, 'not today'); END");
    assert_true(fixture_append(f, "s", &m) < 0);
    assert_non_null(strstr(f->err.message, "not today"));
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM state_meta"
                                       " WHERE key = 'fts_stale'"), "0");
    fixture_sql(f, "DROP TRIGGER no; CREATE TRIGGER no BEFORE INSERT ON messages BEGIN"
                   " INSERT INTO elsewhere VALUES (1); END");
    assert_true(fixture_append(f, "s", &m) < 0);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type ="
                                       " 'trigger' AND name LIKE 'messages_fts%'"), "6");
}

static int
fails_a_while(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    int *left = ctx;
    if ((*left)-- > 0)
        return hf__sql_fail(st, SQLITE_CORRUPT, "a read that the disk refused", err);
    return HF_OK;
}

/* SQLite says CORRUPT for a read error, which may pass: once costs no index. */
static void
passing_failure_keeps_the_index(void **state)
{
    struct fixture *f = *state;
    struct hf_sqlite_store *st = f->store;
    int left = 1;
    assert_ok(f, hf__write(st, -1, fails_a_while, &left, &f->err));
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type ="
                                       " 'trigger' AND name LIKE 'messages_fts%'"), "6");
    assert_null(strstr(f->log, "fts_index"));
    left = 2;
    assert_ok(f, hf__write(st, -1, fails_a_while, &left, &f->err));
    assert_non_null(strstr(f->log, "fts_index"));
}

/* A page of the messages themselves: proof stops every handle of the path, reading goes
 * on, and another file at the path is another matter. */
static void
damaged_file_takes_no_writes(void **state)
{
    struct fixture *f = *state;
    struct hf_sqlite_store *st = f->store;
    struct hf_message m = fixture_message("u9", "user", "x");
    struct hf_state now = HF_INIT(struct hf_state);
    int left = 9;
    fixture_session(f, "s");
    append_ok(f, "u1");
    assert_int_equal(hf__write(st, -1, fails_a_while, &left, &f->err), HF_CORRUPT);
    assert_int_equal(left, 6); /* as it was, once more, and without the index */
    assert_int_equal(fixture_append(f, "s", &m), HF_CORRUPT);
    assert_non_null(strstr(f->err.message, "a read that the disk refused"));
    assert_non_null(strstr(f->err.message, "sessions recover"));
    assert_ok(f, f->ops->state(f->store, &now, &f->err));
    assert_int_equal(now.condition, HF_LOST);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM messages"), "1");
    fixture_close(f);
    fixture_open(f, 0); /* another handle */
    assert_int_equal(fixture_append(f, "s", &m), HF_CORRUPT);
    fixture_sql(f, "INSERT INTO state_meta VALUES ('holdfast_repaired', 'once')");
    append_ok(f, "u2");
    assert_ok(f, f->ops->state(f->store, &now, &f->err));
    assert_int_equal(now.condition, HF_HEALTHY);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(index_table_is_gone), TEST(index_table_is_gone_before_the_open),
        TEST(index_is_damaged), TEST(delete_beside_damage), TEST(unknown_tokenizer),
        TEST(unknown_tokenizer_in_an_upgrade), TEST(other_failures_stay_failures),
        TEST(passing_failure_keeps_the_index),
        TEST(damaged_file_takes_no_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
