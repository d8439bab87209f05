/* Search: the matcher word by word, against the index and without it. */
#include "store_fixture.h"

#include "search.h"

static int64_t ids[64];
static size_t n_ids;

static int
keep(void *ctx, const struct hf_hit *hit)
{
    (void)ctx;
    assert_true(n_ids < 64);
    ids[n_ids++] = hit->message_id;
    return 0;
}

static struct hf_search_info info;

static size_t
search(struct fixture *f, const char *text)
{
    struct hf_search q = HF_INIT(struct hf_search);
    struct hf_sqlite_store *st = f->store;
    sqlite3_stmt *stmt = NULL;
    if (st->readers[0])
        st = st->readers[0];
    q.text = hf_str(text);
    q.order = HF_BY_OLDEST;
    n_ids = 0;
    info = HF_INIT(struct hf_search_info);
    assert_ok(f, f->ops->search(f->store, &q, keep, NULL, &info, &f->err));
    while ((stmt = sqlite3_next_stmt(hf_sqlite_handle(st->db), stmt)))
        assert_false(sqlite3_stmt_busy(stmt));
    return n_ids;
}

/* Whether the query TEXT holds for the message text S by the matcher alone. */
static int
matches(struct fixture *f, const char *text, const char *s)
{
    struct hf_text query_text = hf_str(text), cell = hf_str(s), none = {0};
    struct hf__query query;
    struct hf__matcher m;
    uint32_t holds = 0;

    assert_int_equal(hf__query_parse(&query_text, &query), 0);
    assert_ok(f, hf__matcher_open(f->store, &query, &m, &f->err));
    assert_int_equal(hf__matcher_message(&m, HF_FTS_EXTERNAL, &cell, &none, &none, &holds),
                     SQLITE_OK);
    hf__matcher_close(&m);
    hf__query_free(&query);
    return (int)holds;
}

static const struct { const char *query, *text; int holds; } pairs[] = {
    {"word", "a word here", 1}, {"WORD", "a Word, here", 1}, {"wor", "a word here", 0},
    {"wor*", "a word here", 1}, {"ord", "a word", 0}, {"*ord", "a word", 0},
    {"ord*", "a word", 0},
    {"deploiement", "le D\xc3\xa9ploiement", 1}, {"d\xc3\xa9ploiement", "deploiement", 1},
    {"\"two words\"", "of two, words", 1}, {"\"two words\"", "words two", 0},
    {"\"two words\"", "two other words", 0}, {"\"a a b\"", "a a a b", 1},
    {"\"two wor\"*", "two words", 1}, {"\"two wor\"", "two words", 0},
    {"a_b", "a_b", 1}, {"a_b", "a b", 1}, {"a_b", "ab", 0}, {"100_000", "1000000", 0},
    {"x NOT y", "x z", 1}, {"x NOT y", "x y", 0}, {"x OR y", "y", 1}, {"x y", "y", 0},
    {"demo", "\xe6\xa3\x80\xe6\x9f\xa5" "demo\xe6\x95\xb0", 1},
    {"demo", "\xe6\xa3\x80\xe6\x9f\xa5" "demos\xe6\x95\xb0", 0},
    {"demo*", "\xe6\xa3\x80\xe6\x9f\xa5" "demos\xe6\x95\xb0", 1},
    {"demo", "\xe6\xa3\x80mydemo", 0}, {"\xe6\x9f\xa5", "\xe6\xa3\x80\xe6\x9f\xa5", 1},
    {"\xe6\x9f\xa5\xe6\xa3\x80", "\xe6\xa3\x80\xe6\x9f\xa5", 0},
    {"\xe6\x9f\xa5" "de", "\xe6\xa3\x80\xe6\x9f\xa5" "DEMO", 1},
    {"\"\xe6\x9f\xa5 x\"", "\xe6\xa3\x80\xe6\x9f\xa5 x", 1},
    {"\xf0\x9f\x9a\x80", "to the \xf0\x9f\x9a\x80 moon", 1},
    {"\xf0\x9f\x9a\x80", "to the moon", 0},
    {"\xd0\xb8\xd0\xbd\xd0\xb4\xd0\xb5\xd0\xba\xd1\x81",
     "\xd0\x98\xd0\x9d\xd0\x94\xd0\x95\xd0\x9a\xd0\xa1!", 1},
    {"one NOT two NOT three", "one four", 1}, {"one NOT two NOT three", "one three", 0},
};

static void
matcher(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (matches(f, pairs[i].query, pairs[i].text) != pairs[i].holds)
            fail_msg("[%s] in [%s]: not %d", pairs[i].query, pairs[i].text,
                     pairs[i].holds);
}

/* What the store answers is what the matcher says, by index and by scan. */
static void
index_and_scan_agree(void **state)
{
    struct fixture *f = *state;
    size_t n = sizeof pairs / sizeof *pairs;

    fixture_session(f, "s");
    for (size_t i = 0; i < n; i++) {
        struct hf_message m = fixture_message(NULL, "user", pairs[i].text);
        char uid[33];
        snprintf(uid, sizeof uid, "%032zx", i + 1);
        m.uid = hf_str(uid);
        assert_int_equal(fixture_append(f, "s", &m), i + 1);
    }
    for (int degraded = 0; degraded < 2; degraded++) {
        for (size_t i = 0; i < n; i++) {
            search(f, pairs[i].query);
            assert_int_equal(info.degraded, degraded);
            for (size_t k = 0, at = 0; k < n; k++) {
                int hit = at < n_ids && ids[at] == (int64_t)k + 1;
                at += (size_t)hit;
                if (hit != matches(f, pairs[i].query, pairs[k].text))
                    fail_msg("[%s] in [%s] (%s): %d", pairs[i].query, pairs[k].text,
                             degraded ? "scan" : "index", hit);
            }
        }
        fixture_sql(f, "INSERT OR REPLACE INTO state_meta VALUES('fts_stale', '1')");
    }
}

static void
pieces(void **state)
{
    /* Texts longer than what is read at once: words, phrases and runs without spaces
     * across the seams. */
    struct fixture *f = *state;
    size_t n = 300000;
    char *text = malloc(n + 64);

    assert_non_null(text);
    for (size_t at = 65000; at < 66200; at += 7) {
        memset(text, 'x', n);
        for (size_t i = 0; i < n; i += 10)
            text[i] = ' ';
        memcpy(text + at, " needle in hay ", 15);
        memcpy(text + n, " end", 5);
        assert_true(matches(f, "needle", text));
        assert_true(matches(f, "\"needle in hay\" end", text));
        assert_false(matches(f, "nee", text));
    }
    for (size_t i = 0; i + 3 <= n; i += 3)
        memcpy(text + i, "\xe6\xa3\x80", 3);
    text[n / 3 * 3] = '\0';
    memcpy(text + 150000, "\xe6\x9f\xa5", 3);
    assert_true(matches(f, "\xe6\x9f\xa5", text));
    assert_false(matches(f, "\xe6\x95\xb0", text));
    free(text);
}

static void
long_queries(void **state)
{
    struct fixture *f = *state;
    static const char *const parts[] = {"a NOT ", "b OR ", "c AND ", "d ", "\"e f\" NOT "};
    struct hf_message m = fixture_message("00000000000000000000000000000001", "user",
                                          "a b c d e");
    fixture_session(f, "s");
    assert_true(fixture_append(f, "s", &m) > 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[8192] = "";
        size_t len = strlen(parts[i]);
        for (size_t k = 0; k + len < sizeof text; k += len)
            memcpy(text + k, parts[i], len + 1);
        search(f, text);
        assert_int_equal(info.degraded, 0);
        assert_non_null(strstr(info.note, "2048"));
    }
}

static void
empty_store(void **state)
{
    struct fixture *f = fixture_new();
    struct hf_search q = HF_INIT(struct hf_search);
    (void)state;
    fixture_open(f, 1); /* there is no file */
    q.text = hf_str("word");
    info = HF_INIT(struct hf_search_info);
    assert_ok(f, f->ops->search(f->store, &q, keep, NULL, &info, &f->err));
    assert_string_equal(info.note, "no message matches");
    fixture_free(f);
}

static int
stop_at_once(void *ctx, const struct hf_hit *hit)
{
    (void)ctx;
    (void)hit;
    return 77;
}

static void
emit_stops_the_walk(void **state)
{
    struct fixture *f = *state;
    struct hf_search q = HF_INIT(struct hf_search);
    struct hf_message m = fixture_message("00000000000000000000000000000001", "user",
                                          "word");
    fixture_session(f, "s");
    assert_true(fixture_append(f, "s", &m) > 0);
    q.text = hf_str("word");
    info = HF_INIT(struct hf_search_info);
    assert_int_equal(f->ops->search(f->store, &q, stop_at_once, NULL, &info, &f->err), 77);
    assert_string_equal(info.note, "");
    assert_int_equal(search(f, "word"), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(matcher), T(index_and_scan_agree), T(pieces), T(long_queries),
        cmocka_unit_test(empty_store), T(emit_stops_the_walk),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
