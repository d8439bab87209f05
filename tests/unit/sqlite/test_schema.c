/* The schema of new files, upgrades of old ones, and opens that write nothing. */
#include <stdio.h>

#include "store_fixture.h"

static void
new_file_has_everything(void **state)
{
    struct fixture *f = *state;
    for (const struct hf__table_decl *t = hf__tables; t->name; t++) {
        char sql[256];
        int n = 0;
        for (const struct hf__column *c = t->columns; c->name; c++)
            n++;
        snprintf(sql, sizeof sql, "SELECT COUNT(*) = %d FROM pragma_table_info('%s')", n,
                 t->name);
        assert_string_equal(fixture_sql(f, sql), "1");
    }
    for (const struct hf__index_decl *i = hf__indexes; i->name; i++) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name = '%s'",
                 i->name);
        assert_string_equal(fixture_sql(f, sql), "1");
    }
    assert_string_equal(fixture_sql(f, "SELECT version FROM schema_version"), "30");
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM schema_version"), "1");
    assert_string_equal(
        fixture_sql(f, "SELECT value FROM state_meta WHERE key = 'holdfast_schema'"), "1");
    assert_string_equal(
        fixture_sql(f, "SELECT length(value) FROM state_meta"
                       " WHERE key = 'db_file_generation'"), "32");
    assert_string_not_equal(fixture_sql(f, "PRAGMA application_id"), "0");
    assert_string_equal(
        fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'"), "10");
    assert_string_equal(
        fixture_sql(f, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'"
                       " AND sql LIKE '%/* holdfast:1 */%'"), "10");
    fixture_sound(f);
}

static void
application_id_follows_generation(void **state)
{
    struct fixture *f = *state;
    char generation[64];
    unsigned long id;
    snprintf(generation, sizeof generation, "%s",
             fixture_sql(f, "SELECT substr(value, 1, 8) FROM state_meta"
                            " WHERE key = 'db_file_generation'"));
    id = strtoul(generation, NULL, 16) & 0x7fffffffUL;
    assert_int_equal(strtoul(fixture_sql(f, "PRAGMA application_id"), NULL, 10),
                     id ? id : 1);
}

/* What a connection of ours changed, as SQLite counts it. */
static int
is_stale(struct fixture *f)
{
    struct hf_sqlite_store st = {.host = &f->host, .path = (char *)"state.db"};
    sqlite3 *db = NULL;
    uint32_t stale = 7;
    assert_int_equal(sqlite3_open(scratch_path(f->home, "state.db"), &db), SQLITE_OK);
    assert_ok(f, hf__schema_is_current(&st, db, &stale, &f->err));
    assert_int_equal(sqlite3_total_changes(db), 0);
    sqlite3_close(db);
    return (int)stale;
}

static void
settled_after_one_open(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(is_stale(f), 0);
    fixture_close(f);
    fixture_open(f, 0);
    assert_int_equal(is_stale(f), 0);
}

static void
each_missing_object_comes_back(void **state)
{
    static const char *const losses[] = {
        "DROP INDEX idx_messages_session_id",
        "DROP TRIGGER messages_fts_delete",
        "DROP TRIGGER messages_fts_trigram_update",
        "DROP TRIGGER messages_display_order_insert",
        "DROP TABLE gateway_heartbeats",
        "ALTER TABLE sessions DROP COLUMN tool_names",
        "DELETE FROM state_meta WHERE key = 'holdfast_schema'",
        "DELETE FROM state_meta WHERE key = 'db_file_generation'",
        "PRAGMA application_id = 0",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        fixture_close(f);
        fixture_sql(f, losses[i]);
        if (!is_stale(f))
            fail_msg("not noticed: %s", losses[i]);
        fixture_open(f, 0);
        if (is_stale(f))
            fail_msg("not repaired: %s", losses[i]);
    }
    fixture_sound(f);
}

static void
strangers_stay(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    fixture_sql(f,
                "CREATE TABLE theirs(x); CREATE INDEX theirs_x ON theirs(x);"
                "ALTER TABLE sessions ADD COLUMN from_the_future TEXT DEFAULT 'f';"
                "CREATE TRIGGER theirs_t AFTER INSERT ON sessions BEGIN"
                " INSERT INTO theirs VALUES (new.id); END;"
                "UPDATE schema_version SET version = 99");
    assert_int_equal(is_stale(f), 0);
    fixture_open(f, 0);
    fixture_session(f, "s1");
    assert_string_equal(fixture_sql(f, "SELECT x FROM theirs"), "s1");
    assert_string_equal(fixture_sql(f, "SELECT version FROM schema_version"), "99");
    assert_string_equal(fixture_sql(f, "SELECT from_the_future FROM sessions"), "f");
}

static void
triggers_by_tag(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    /* Hermes' own (no tag) and a newer Holdfast's stay; an older one of ours goes. */
    fixture_sql(f,
                "DROP TRIGGER messages_display_identity_delete;"
                "CREATE TRIGGER messages_display_identity_delete AFTER DELETE ON messages"
                " BEGIN SELECT 'untagged'; END;"
                "DROP TRIGGER messages_display_visibility_update;"
                "CREATE TRIGGER messages_display_visibility_update AFTER UPDATE OF active"
                " ON messages BEGIN /* holdfast:7 */ SELECT 1; END");
    assert_int_equal(is_stale(f), 0);
    fixture_sql(f,
                "DROP TRIGGER messages_display_identity_update;"
                "CREATE TRIGGER messages_display_identity_update AFTER UPDATE OF role"
                " ON messages BEGIN /* holdfast:0 */ SELECT 1; END");
    assert_int_equal(is_stale(f), 1);
    fixture_open(f, 0);
    assert_string_equal(
        fixture_sql(f, "SELECT group_concat(instr(sql, 'holdfast:1'), ',') FROM"
                       " (SELECT sql FROM sqlite_master WHERE name LIKE"
                       " 'messages_display_identity_delete' OR name LIKE"
                       " 'messages_display_visibility_update' ORDER BY name)"), "0,0");
    assert_string_not_equal(
        fixture_sql(f, "SELECT instr(sql, 'holdfast:1') FROM sqlite_master WHERE name ="
                       " 'messages_display_identity_update'"), "0");
}

static void
null_active_is_repaired_once(void **state)
{
    struct fixture *f = *state;
    struct hf_message m = fixture_message("u1", "user", "hello");
    fixture_session(f, "s1");
    assert_true(fixture_append(f, "s1", &m) > 0);
    fixture_close(f);
    fixture_sql(f, "DROP INDEX idx_messages_session_active;"
                   "DROP INDEX idx_messages_active_null;"
                   "DROP INDEX idx_messages_display_identity;"
                   "DROP TRIGGER messages_display_order_insert;"
                   "DROP TRIGGER messages_display_visibility_update;"
                   "DROP TRIGGER messages_display_identity_update;"
                   "DROP TRIGGER messages_display_identity_delete;"
                   "ALTER TABLE messages DROP COLUMN active;"
                   "ALTER TABLE messages ADD COLUMN active INTEGER");
    fixture_open(f, 0);
    assert_string_equal(fixture_sql(f, "SELECT active FROM messages"), "1");
    assert_int_equal(is_stale(f), 0);
}

static void
equal_titles_do_not_stop_an_open(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    fixture_sql(f, "DROP INDEX idx_sessions_title_unique;"
                   "INSERT INTO sessions(id, source, started_at, title) VALUES"
                   " ('a', 'cli', 1, 'T'), ('b', 'cli', 2, 'T')");
    assert_int_equal(is_stale(f), 0);
    fixture_open(f, 0);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM sessions WHERE title = 'T'"),
                        "2");
}

static void
not_a_session_store(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    fixture_sql(f, "DROP TABLE messages; CREATE TABLE messages(body TEXT)");
    assert_int_equal(fixture_try_open(f, 1), HF_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "no column"));
    assert_int_equal(fixture_try_open(f, 0), HF_UNSUPPORTED);
    assert_string_equal(fixture_sql(f, "SELECT COUNT(*) FROM pragma_table_info('messages')"),
                        "1");
}

static void
display_order(void **state)
{
    struct fixture *f = *state;
    fixture_sql(f,
                "INSERT INTO sessions(id, source, started_at) VALUES ('s', 'cli', 1);"
                "INSERT INTO messages(id, session_id, role, timestamp, display_identity)"
                " VALUES (10, 's', 'user', 1, x'01'), (11, 's', 'user', 1, x'02'),"
                " (12, 's', 'user', 1, x'01'), (13, 's', 'user', 1, NULL)");
#define ORDERS                                                                        \
    fixture_sql(f, "SELECT group_concat(COALESCE(display_order, '-'), ',') FROM"      \
                   " (SELECT display_order FROM messages ORDER BY id)")
    assert_string_equal(ORDERS, "10,11,10,13");
    /* The first one is hidden: the peer that is left takes its own place. */
    fixture_sql(f, "UPDATE messages SET active = 0 WHERE id = 10");
    assert_string_equal(ORDERS, "10,11,12,13");
    fixture_sql(f, "UPDATE messages SET active = 1 WHERE id = 10");
    assert_string_equal(ORDERS, "10,11,10,13");
    fixture_sql(f, "DELETE FROM messages WHERE id = 10");
    assert_string_equal(ORDERS, "11,12,13");
    fixture_sql(f, "UPDATE messages SET content = 'x' WHERE id = 11");
    assert_string_equal(ORDERS, "-,12,13");
    fixture_sound(f);
#undef ORDERS
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(new_file_has_everything),
        TEST(application_id_follows_generation),
        TEST(settled_after_one_open),
        TEST(each_missing_object_comes_back),
        TEST(strangers_stay),
        TEST(triggers_by_tag),
        TEST(null_active_is_repaired_once),
        TEST(equal_titles_do_not_stop_an_open),
        TEST(not_a_session_store),
        TEST(display_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
