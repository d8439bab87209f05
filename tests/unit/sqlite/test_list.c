/* Lists: chains, branches, delegates, cycles, bad cells, previews, pages. */
#include "store_fixture.h"

static char seen[4096];

static int
keep(void *ctx, const struct hf_session *s)
{
    size_t n = strlen(seen);
    (void)ctx;
    snprintf(seen + n, sizeof seen - n, "%s%.*s", n ? " " : "", (int)s->id.len, s->id.ptr);
    return 0;
}

static const char *
listed(struct fixture *f, const struct hf_session_query *q)
{
    struct hf_sqlite_store *st = f->store;
    sqlite3_stmt *stmt = NULL;
    seen[0] = '\0';
    assert_ok(f, f->ops->session_list(f->store, q, keep, NULL, &f->err));
    if (st->readers[0])
        st = st->readers[0];
    /* A statement left open would hold back every checkpoint. */
    while ((stmt = sqlite3_next_stmt(hf_sqlite_handle(st->db), stmt)))
        assert_false(sqlite3_stmt_busy(stmt));
    return seen;
}

static const char *
listed_as(struct fixture *f, uint32_t view, uint32_t order)
{
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    q.view = view;
    q.order = order;
    return listed(f, &q);
}

/* Inserts sessions as other programs write them: ID, parent, start, end, reason. */
static void
row(struct fixture *f, const char *id, const char *parent, const char *start,
    const char *end, const char *reason, const char *config)
{
    char sql[1024];
    snprintf(sql, sizeof sql,
             "INSERT INTO sessions(id, source, parent_session_id, started_at, ended_at,"
             " end_reason, model_config) VALUES('%s', 'cli', %s%s%s, %s, %s, %s%s%s, %s)",
             id, parent ? "'" : "", parent ? parent : "NULL", parent ? "'" : "", start,
             end ? end : "NULL", reason ? "'" : "", reason ? reason : "NULL",
             reason ? "'" : "", config ? config : "NULL");
    fixture_sql(f, sql);
}

static void
chains_and_children(void **state)
{
    struct fixture *f = *state;
    row(f, "root", NULL, "100", "200", "compression", NULL);
    row(f, "mid", "root", "199.998", "300", "compression", NULL);
    row(f, "tip", "mid", "301", NULL, NULL, NULL);
    row(f, "delegate", "root", "150", NULL, NULL, NULL);
    row(f, "marked", "tip", "400", NULL, NULL, "'{\"_delegate_from\": \"tip\"}'");
    row(f, "branch", "tip", "410", NULL, NULL, "'{\"_branched_from\": \"tip\"}'");
    row(f, "reset", "branch", "420", NULL, NULL, "'{\"_reset_from\": \"branch\"}'");
    row(f, "left", NULL, "50", "60", "branched", NULL);
    row(f, "old_branch", "left", "61", NULL, NULL, NULL);
    row(f, "before", "left", "51", NULL, NULL, NULL);
    row(f, "orphan", "gone", "10", NULL, NULL, NULL);
    row(f, "nulled", "tip", "430", NULL, NULL, "'{\"_branched_from\": null}'");

    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, HF_BY_STARTED),
                        "reset branch tip old_branch left orphan");
    /* By activity the tip stands where it was last active. */
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, HF_BY_RECENT),
                        "reset branch tip old_branch left orphan");
    assert_string_equal(listed_as(f, HF_VIEW_ALL, HF_BY_STARTED),
                        "nulled reset branch marked tip mid delegate root old_branch"
                        " before left orphan");
}

static int
tip_only(void *ctx, const struct hf_session *s)
{
    double *times = ctx;
    times[0] = s->started_at;
    times[1] = s->sort_time;
    times[2] = s->last_active;
    return 0;
}

static void
tip_has_the_start_of_its_root(void **state)
{
    struct fixture *f = *state;
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    double times[3] = {0};
    row(f, "a", NULL, "100", "200", "compression", NULL);
    row(f, "b", "a", "201", NULL, NULL, NULL);
    fixture_sql(f, "INSERT INTO messages(session_id, role, content, timestamp) VALUES"
                   "('b', 'user', 'x', 250), ('b', 'user', 'y', 'not-a-date'),"
                   "('b', 'user', 'z', 8.4e252)");
    assert_ok(f, f->ops->session_list(f->store, &q, tip_only, times, &f->err));
    assert_true(times[0] == 100 && times[1] == 100 && times[2] == 250);
    fixture_sql(f, "UPDATE sessions SET last_activity_at = 260 WHERE id = 'b'");
    assert_ok(f, f->ops->session_list(f->store, &q, tip_only, times, &f->err));
    if (times[2] != 260)
        fail_msg("last active %f", times[2]);
}

static void
cycles_end(void **state)
{
    struct fixture *f = *state;
    row(f, "a", "c", "100", "200", "compression", NULL);
    row(f, "b", "a", "201", "300", "compression", NULL);
    row(f, "c", "b", "301", "90", "compression", NULL);
    row(f, "self", "self", "400", "401", "compression", NULL);
    row(f, "ok", NULL, "1", NULL, NULL, NULL);
    listed_as(f, HF_VIEW_DEFAULT, HF_BY_STARTED);
    assert_non_null(strstr(seen, "ok"));
    assert_non_null(strstr(seen, "self"));
    assert_string_equal(listed_as(f, HF_VIEW_ALL, HF_BY_STARTED), "self c b a ok");
}

static void
two_continuations(void **state)
{
    struct fixture *f = *state;
    row(f, "a", NULL, "100", "200", "compression", NULL);
    row(f, "first", "a", "201", NULL, NULL, NULL);
    row(f, "second", "a", "202", NULL, NULL, NULL);
    /* The later one continues; the other is not lost. */
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, HF_BY_STARTED), "first second");
}

static void
flags_and_filters(void **state)
{
    struct fixture *f = *state;
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    static const struct hf_text tool = {"tool", 4}, cli = {"cli", 3};
    row(f, "plain", NULL, "10", NULL, NULL, NULL);
    row(f, "archived", NULL, "20", NULL, NULL, NULL);
    row(f, "hidden", NULL, "30", NULL, NULL, NULL);
    row(f, "tool", NULL, "40", NULL, NULL, NULL);
    fixture_sql(f, "UPDATE sessions SET archived = 1 WHERE id = 'archived'");
    fixture_sql(f, "UPDATE sessions SET hidden = 1 WHERE id = 'hidden'");
    fixture_sql(f, "UPDATE sessions SET source = 'tool' WHERE id = 'tool'");

    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, 0), "plain");
    assert_string_equal(listed_as(f, HF_VIEW_ARCHIVED, 0), "archived");
    assert_string_equal(listed_as(f, HF_VIEW_WITH_ARCHIVED, 0), "archived plain");
    assert_string_equal(listed_as(f, HF_VIEW_ALL, 0), "tool hidden archived plain");
    q.sources = &tool;
    q.n_sources = 1;
    assert_string_equal(listed(f, &q), "tool");
    q.sources = NULL;
    q.n_sources = 0;
    q.view = HF_VIEW_ALL;
    q.exclude_sources = &cli;
    q.n_exclude_sources = 1;
    assert_string_equal(listed(f, &q), "tool");
    q.n_exclude_sources = 0;
    q.exclude_sources = NULL;
    q.id_prefix = hf_str("h");
    assert_string_equal(listed(f, &q), "hidden");
    q.id_prefix = hf_str("%");
    assert_string_equal(listed(f, &q), "");
    q.id_prefix = hf_text(NULL, 0);
    q.since = 20;
    q.until = 40;
    assert_string_equal(listed(f, &q), "hidden archived");
}

static void
bad_cells(void **state)
{
    struct fixture *f = *state;
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    char first[64];
    row(f, "good", NULL, "100", NULL, NULL, NULL);
    row(f, "text", NULL, "'not-a-date'", NULL, NULL, NULL);
    row(f, "blob", NULL, "x'0102'", NULL, NULL, NULL);
    row(f, "huge", NULL, "8.4e252", NULL, NULL, NULL);
    row(f, "inf", NULL, "9e999", NULL, NULL, NULL);
    row(f, "minus", NULL, "-1", NULL, NULL, NULL);
    row(f, "zero", NULL, "0", NULL, NULL, NULL);
    row(f, "numeric", NULL, "'1.7e9'", NULL, NULL, NULL);
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, HF_BY_STARTED),
                        "numeric good zero text minus inf huge blob");
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, HF_BY_RECENT),
                        "numeric good zero text minus inf huge blob");
    /* A page that ends among the bad ones goes on there. */
    q.limit = 2;
    q.after_id = hf_str("minus");
    q.after_time = -1;
    snprintf(first, sizeof first, "%s", listed(f, &q));
    assert_string_equal(first, "inf huge");
    q.order = HF_BY_RECENT;
    assert_string_equal(listed(f, &q), "inf huge");
}

static void
broken_model_config(void **state)
{
    struct fixture *f = *state;
    static const char *const configs[] = {
        "'{bad'", "''", "'[1'", "'null'", "'\"x\"'", "'{\"a\":1}' || char(0) || 'junk'",
        "replace(hex(zeroblob(2097152)), '0', '[')", "x'7b7d'",
        "'{\"_delegate_from\"'",
    };
    char id[16];
    size_t n = sizeof configs / sizeof *configs;
    row(f, "parent", NULL, "1", "2", "branched", NULL);
    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof id, "s%zu", i);
        row(f, id, "parent", "10", NULL, NULL, configs[i]);
    }
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, 0),
                        "s8 s7 s6 s5 s4 s3 s2 s1 s0 parent");
}

static void
pages(void **state)
{
    struct fixture *f = *state;
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    /* A chain in the middle; equal starts all over. */
    row(f, "a", NULL, "100", "200", "compression", NULL);
    row(f, "z", "a", "201", NULL, NULL, NULL);
    row(f, "b", NULL, "100", NULL, NULL, NULL);
    row(f, "c", NULL, "100", NULL, NULL, NULL);
    row(f, "d", NULL, "99", NULL, NULL, NULL);
    assert_string_equal(listed_as(f, HF_VIEW_DEFAULT, 0), "c b z d");
    q.limit = 1;
    q.after_time = 100;
    q.after_id = hf_str("c");
    assert_string_equal(listed(f, &q), "b");
    q.after_id = hf_str("b");
    assert_string_equal(listed(f, &q), "z");
    q.after_id = hf_str("z");
    assert_string_equal(listed(f, &q), "d");
    q.after_time = 99;
    q.after_id = hf_str("d");
    assert_string_equal(listed(f, &q), "");
}

static int
keep_preview(void *ctx, const struct hf_session *s)
{
    (void)ctx;
    snprintf(seen, sizeof seen, "%.*s", (int)s->preview.len, s->preview.ptr);
    return 0;
}

static const char *
preview_of(struct fixture *f, const char *sql_value)
{
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    char sql[2048];
    fixture_sql(f, "DELETE FROM messages");
    snprintf(sql, sizeof sql,
             "INSERT INTO messages(session_id, role, content, timestamp) VALUES"
             "('s', 'assistant', 'hello', 1), ('s', 'user', NULL, 2),"
             "('s', 'user', %s, 3), ('s', 'user', 'later', 4)",
             sql_value);
    fixture_sql(f, sql);
    seen[0] = '\0';
    assert_ok(f, f->ops->session_list(f->store, &q, keep_preview, NULL, &f->err));
    return seen;
}

static void
previews(void **state)
{
    struct fixture *f = *state;
    row(f, "s", NULL, "10", NULL, NULL, NULL);
    assert_string_equal(preview_of(f, "'one' || char(13, 10) || '  two'"), "one two");
    assert_string_equal(preview_of(f, "replace(hex(zeroblob(40)), '0', 'x')"),
                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...");
    assert_string_equal(preview_of(f, "char(0) || 'json:[{\"type\":\"text\","
                                      "\"text\":\"look\"}]'"),
                        "look");
    /* Too long to be parsed for the sake of sixty characters. */
    assert_string_equal(preview_of(f, "char(0) || 'json:[{\"type\":\"text\", \"text\": "
                                      "\"see \\u00e9\"},{\"url\":\"' ||"
                                      " hex(zeroblob(1048576)) || '\"}]'"),
                        "see \xc3\xa9");
    assert_string_equal(preview_of(f, "char(0) || 'json:{broken'"),
                        "\xEF\xBF\xBDjson:{broken");
    /* Rewound messages are nowhere. */
    preview_of(f, "'gone'");
    fixture_sql(f, "UPDATE messages SET active = 0 WHERE content = 'gone'");
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    assert_ok(f, f->ops->session_list(f->store, &q, keep_preview, NULL, &f->err));
    assert_string_equal(seen, "later");
}

static int
stop_at_once(void *ctx, const struct hf_session *s)
{
    (void)s;
    (*(int *)ctx)++;
    return 77;
}

static void
emit_stops_the_walk(void **state)
{
    struct fixture *f = *state;
    struct hf_session_query q = HF_INIT(struct hf_session_query);
    int n = 0;
    row(f, "a", NULL, "10", NULL, NULL, NULL);
    row(f, "b", NULL, "11", NULL, NULL, NULL);
    assert_int_equal(f->ops->session_list(f->store, &q, stop_at_once, &n, &f->err), 77);
    q.order = HF_BY_RECENT;
    assert_int_equal(f->ops->session_list(f->store, &q, stop_at_once, &n, &f->err), 77);
    assert_int_equal(n, 2);
    /* No transaction is left open. */
    fixture_session(f, "c");
    assert_string_equal(listed_as(f, HF_VIEW_ALL, HF_BY_STARTED), "c b a");
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(chains_and_children), T(tip_has_the_start_of_its_root), T(cycles_end),
        T(two_continuations), T(flags_and_filters), T(bad_cells),
        T(broken_model_config), T(pages), T(previews), T(emit_stops_the_walk),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
