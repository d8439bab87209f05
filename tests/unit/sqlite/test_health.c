/* The health probe: what it finds, and that it writes nothing. */
#include "store_fixture.h"

#include "health.h"

static char seen[4096];

static int
keep(void *ctx, const struct hf_finding *finding)
{
    (void)ctx;
    assert_true(finding->text && finding->text[0] && !strchr(finding->text, '\n'));
    if (finding->severity >= HF_SEV_WARNING)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s ", finding->code);
    return 0;
}

static const char *
checked(struct fixture *f, uint32_t level)
{
    seen[0] = '\0';
    assert_ok(f, f->ops->check(f->store, level, keep, NULL, &f->err));
    return seen;
}

static void
fill(struct fixture *f)
{
    fixture_session(f, "s");
    for (int i = 0; i < 200; i++) {
        char uid[33], text[400];
        struct hf_message m;
        snprintf(uid, sizeof uid, "%032x", i + 1);
        snprintf(text, sizeof text, "message %d about words that differ %d%d%d", i, i * 7,
                 i * 13, i * 31);
        m = fixture_message(uid, i % 3 ? "user" : "tool", text);
        assert_true(fixture_append(f, "s", &m) > 0);
    }
}

static void
sound_store(void **state)
{
    struct fixture *f = *state;
    fill(f);
    for (uint32_t level = HF_CHECK_QUICK; level <= HF_CHECK_DEEP; level += 10)
        assert_string_equal(checked(f, level), "");
}

static void
lost_index_rows(void **state)
{
    struct fixture *f = *state;
    fill(f);
    fixture_sql(f, "DELETE FROM messages_fts_docsize WHERE id = 7");
    assert_string_equal(checked(f, HF_CHECK_QUICK), "fts_rows_lost ");
}

static void
index_beside_its_source(void **state)
{
    struct fixture *f = *state;
    fill(f);
    /* A row that no trigger saw. */
    fixture_sql(f, "DROP TRIGGER messages_fts_insert;"
                   "INSERT INTO messages(session_id, role, content, timestamp)"
                   " VALUES('s', 'user', 'unseen', 1)");
    assert_string_equal(checked(f, HF_CHECK_FULL), "fts_rows_differ ");
}

/* Closes the store, overwrites the cell pointers on the root page of TABLE, and opens the
 * store again to read. */
static void
page_damage(struct fixture *f, const char *table)
{
    const char *path = scratch_path(f->home, "state.db");
    char sql[160];
    long root;
    FILE *file;

    snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_master WHERE name = '%s'",
             table);
    root = atol(fixture_sql(f, sql));
    assert_true(root > 1);
    assert_ok(f, f->ops->flush(f->store, &f->err));
    fixture_close(f);
    file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (root - 1) * 4096 + 8, SEEK_SET), 0);
    assert_int_equal(fwrite("\xff\xff\xff\xff\xff\xff\xff\xff", 1, 8, file), 8);
    fclose(file);
    fixture_open(f, 1);
}

static void
damaged_index(void **state)
{
    struct fixture *f = *state;
    fill(f);
    page_damage(f, "messages_fts_data");
    for (uint32_t level = HF_CHECK_FULL; level <= HF_CHECK_DEEP; level += 10) {
        checked(f, level);
        assert_null(strstr(seen, "structural_damage"));
        assert_non_null(strstr(seen, "fts_damage"));
    }
}

static void
damaged_table(void **state)
{
    struct fixture *f = *state;
    fill(f);
    page_damage(f, "messages");
    checked(f, HF_CHECK_FULL);
    assert_non_null(strstr(seen, "structural_damage"));
}

static void
stale_and_dangling(void **state)
{
    struct fixture *f = *state;
    fill(f);
    fixture_sql(f, "INSERT INTO state_meta(key, value) VALUES('fts_stale', '1')");
    assert_string_equal(checked(f, HF_CHECK_QUICK), "fts_stale ");
    fixture_sql(f, "DELETE FROM state_meta WHERE key = 'fts_stale'");
    fixture_sql(f, "UPDATE messages SET session_id = 'gone' WHERE id = 3");
    assert_string_equal(checked(f, HF_CHECK_FULL), "foreign_keys ");
}

static void
writes_nothing(void **state)
{
    struct fixture *f = *state;
    char before[64];
    sqlite3 *other;
    fill(f);
    snprintf(before, sizeof before, "%s", fixture_sql(f, "PRAGMA data_version"));
    /* Somebody else holds the write lock all the time. */
    assert_int_equal(sqlite3_open(scratch_path(f->home, "state.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_string_equal(checked(f, HF_CHECK_DEEP), "");
    sqlite3_close(other);
}

static void
interrupted(void **state)
{
    struct fixture *f = *state;
    struct hf__probe p = {.st = f->store, .err = &f->err, .emit = keep};
    assert_int_equal(hf__probe_stop(&p, SQLITE_CORRUPT), HF_OK);
    assert_int_equal(hf__probe_stop(&p, SQLITE_DONE), HF_OK);
    assert_int_equal(hf__probe_stop(&p, SQLITE_INTERRUPT), HF_CANCELLED);
    assert_int_equal(hf__probe_stop(&p, SQLITE_NOMEM), HF_NO_MEMORY);
}

static void
vulnerable_versions(void **state)
{
    static const struct { int version, yes; } rows[] = {
        {3006023, 0}, {3007000, 1}, {3040001, 1}, {3044005, 1}, {3044006, 0},
        {3044009, 0}, {3045000, 1}, {3050006, 1}, {3050007, 0}, {3051000, 1},
        {3051002, 1}, {3051003, 0}, {3052000, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(hf__wal_reset_vulnerable(rows[i].version), rows[i].yes);
}

/* A client of its own that comes while a closed store is looked at. */
static sqlite3 *writer;

static void
writer_comes(struct fixture *f)
{
    char path[300];
    snprintf(path, sizeof path, "%s/state.db", f->home);
    assert_int_equal(sqlite3_open(path, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer,
                                  "DELETE FROM messages WHERE id % 3 = 0;"
                                  "UPDATE sessions SET tool_call_count = random()",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
}

static int
keep_and_write(void *ctx, const struct hf_finding *finding)
{
    if (!writer)
        writer_comes(ctx);
    return keep(NULL, finding);
}

static int
write_meanwhile(void *ctx, const struct hf_message *message)
{
    (void)message;
    if (!writer)
        writer_comes(ctx);
    return 0;
}

static void
closed_store_opened_again(struct fixture *f)
{
    if (writer)
        assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    fixture_close(f);
    writer_comes(f); /* the last close of an ordinary client removes the sidecars */
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    writer = NULL;
    fixture_open(f, 1);
}

static void
written_while_looked_at(void **state)
{
    struct fixture *f = *state;
    struct hf_text s = hf_str("s");
    fill(f);
    closed_store_opened_again(f);
    seen[0] = '\0';
    assert_int_equal(f->ops->check(f->store, HF_CHECK_FULL, keep_and_write, f, &f->err),
                     HF_BUSY);
    assert_string_equal(checked(f, HF_CHECK_FULL), "");

    closed_store_opened_again(f);
    assert_int_equal(
        f->ops->message_read(f->store, &s, NULL, write_meanwhile, f, &f->err), HF_BUSY);
    assert_ok(f, f->ops->message_read(f->store, &s, NULL, write_meanwhile, f, &f->err));

    /* An idle handle is exchanged at the start, never under the feet of the check. */
    closed_store_opened_again(f);
    writer_comes(f);
    hf__sleep_ms(1100);
    assert_string_equal(checked(f, HF_CHECK_FULL), "");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void
no_store(void **state)
{
    struct fixture *f = fixture_new();
    (void)state;
    fixture_open(f, 1);
    assert_string_equal(checked(f, HF_CHECK_FULL), "");
    fixture_free(f);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(sound_store), T(lost_index_rows), T(index_beside_its_source), T(damaged_index),
        T(damaged_table), T(stale_and_dangling), T(writes_nothing), T(interrupted),
        T(written_while_looked_at),
        cmocka_unit_test(vulnerable_versions), cmocka_unit_test(no_store),
    };
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
