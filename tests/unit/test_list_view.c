/* test_list_view.c - SPEC 11 "What a list shows", made by the core for a backend that
 * only lists all rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_store.h"

static struct hf_error error;

struct row {
    const char *id, *parent, *end, *config, *source;
    double started, ended;
    uint32_t archived, hidden;
};

static void
put(struct memory_store *m, const struct row *row)
{
    struct hf_session s = HF_INIT(struct hf_session);
    struct hf__call call;

    s.id = hf_str(row->id);
    s.source = hf_str(row->source ? row->source : "cli");
    s.parent_id = hf_str(row->parent);
    s.end_reason = hf_str(row->end);
    s.model_config = hf_str(row->config);
    s.started_at = row->started;
    s.ended_at = row->ended ? row->ended : HF_NO_TIME;
    s.archived = row->archived;
    s.hidden = row->hidden;
    assert_int_equal(hf__call_begin(&call, &m->store, "put", 1, &error), HF_OK);
    assert_int_equal(hf__call_end(&call, m->backend.ops.session_put(m->store.handle, &s,
                                                                    HF_PUT_VERBATIM,
                                                                    &error), 0), HF_OK);
}

static void
say(struct memory_store *m, const char *id, const char *role, const char *content,
    double t, uint32_t state)
{
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *pointer = &message;
    struct hf_append append = HF_INIT(struct hf_append);

    message.role = hf_str(role);
    message.content = hf_str(content);
    message.timestamp = t;
    message.state = state;
    append.session_id = hf_str(id);
    append.messages = &pointer;
    append.n_messages = 1;
    append.flags = HF_APPEND_VERBATIM;
    assert_int_equal(hf_store_append(&m->store, &append, NULL, &error), HF_OK);
}

/* "id id id" of what the query lists; the last row is kept for paging. */
static struct hf__buf listed;
static char last_id[64];
static double last_time;
static struct hf_session last;
static char last_preview[256];

static int
row_take(void *ctx, const struct hf_session *session)
{
    (void)ctx;
    if (listed.len)
        hf__buf_addc(&listed, ' ');
    hf__buf_add(&listed, session->id.ptr, session->id.len);
    snprintf(last_id, sizeof last_id, "%.*s", (int)session->id.len, session->id.ptr);
    snprintf(last_preview, sizeof last_preview, "%.*s", (int)session->preview.len,
             session->preview.ptr);
    last_time = session->sort_time;
    last = *session;
    return 0;
}

static const char *
list(struct memory_store *m, const struct hf_session_query *query)
{
    hf__buf_clear(&listed);
    assert_int_equal(hf_store_session_list(&m->store, query, row_take, NULL, &error),
                     HF_OK);
    return listed.ptr ? listed.ptr : "";
}

static void
paged(struct memory_store *m, struct hf_session_query query, const char *expected)
{
    struct hf__buf all = {0};
    char id[64];

    for (query.limit = 1; query.limit <= 3; query.limit++) {
        hf__buf_clear(&all);
        query.after_id = hf_text(NULL, 0);
        for (int i = 0; i < 100 && list(m, &query)[0]; i++) {
            if (all.len)
                hf__buf_addc(&all, ' ');
            hf__buf_adds(&all, listed.ptr);
            memcpy(id, last_id, sizeof id);
            query.after_id = hf_str(id);
            query.after_time = last_time;
        }
        assert_string_equal(all.ptr, expected);
    }
    hf__buf_free(&all);
}

static const struct row family[] = {
    {.id = "plain", .started = 100},
    {.id = "root", .started = 200, .ended = 300, .end = "compression"},
    {.id = "mid", .parent = "root", .started = 300.5, .ended = 400, .end = "compression"},
    {.id = "tip", .parent = "mid", .started = 399},
    {.id = "branched", .started = 500, .ended = 510, .end = "branched"},
    {.id = "branch", .parent = "branched", .started = 510,
     .config = "{\"_branched_from\": \"branched\"}"},
    {.id = "old_branch", .parent = "branched", .started = 511},
    {.id = "delegator", .started = 600},
    {.id = "delegate", .parent = "delegator", .started = 601,
     .config = "{\"_delegate_from\":\"delegator\"}"},
    {.id = "unmarked", .parent = "delegator", .started = 602},
    {.id = "reset", .started = 700, .ended = 710, .end = "session_reset"},
    {.id = "after", .parent = "reset", .started = 711,
     .config = "{\"_reset_from\":\"reset\"}"},
    {.id = "orphan", .parent = "gone", .started = 800},
    {.id = "bad_config", .started = 810, .config = "{\"_delegate_from\""},
    {.id = "tool", .source = "tool", .started = 900},
    {.id = "archived", .started = 910, .archived = 1},
    {.id = "hidden", .started = 920, .hidden = 1},
};

static struct memory_store *
family_make(void)
{
    struct memory_store *m = memory_store_open();

    for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
        put(m, &family[i]);
    return m;
}

static void
views(void **state)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct hf_text source = hf_str("tool"), cli = hf_str("cli");
    struct memory_store *m = family_make();

    (void)state;
    assert_string_equal(list(m, NULL), "bad_config orphan after reset delegator old_branch "
                                       "branch branched tip plain");
    paged(m, query, "bad_config orphan after reset delegator old_branch branch branched "
                    "tip plain");
    query.view = HF_VIEW_ARCHIVED;
    assert_string_equal(list(m, &query), "archived");
    query.view = HF_VIEW_WITH_ARCHIVED;
    query.limit = 2;
    assert_string_equal(list(m, &query), "archived bad_config");
    query.view = HF_VIEW_ALL;
    query.limit = 0;
    paged(m, query, "hidden archived tool bad_config orphan after reset unmarked delegate "
                    "delegator old_branch branch branched tip mid root plain");
    query.view = HF_VIEW_DEFAULT;
    query.sources = &source;
    query.n_sources = 1;
    assert_string_equal(list(m, &query), "tool");
    query.sources = NULL;
    query.exclude_sources = &cli;
    query.n_exclude_sources = 1;
    assert_string_equal(list(m, &query), "");
    query.exclude_sources = NULL;
    query.id_prefix = hf_str("b");
    assert_string_equal(list(m, &query), "bad_config branch branched");
    query.id_prefix = hf_text(NULL, 0);
    query.parent_id = hf_str("branched");
    assert_string_equal(list(m, &query), "old_branch branch");
    memory_store_close(m);
}

static void
chains(void **state)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct memory_store *m = family_make();

    (void)state;
    say(m, "root", "user", "in the root", 210, 0);
    say(m, "tip", "assistant", "hello", 1000, 0);
    say(m, "tip", "user", "rewound", 1001, HF_MSG_REWOUND);
    say(m, "tip", "user", " in\nthe tip ", 1002, HF_MSG_COMPACTED);
    say(m, "tip", "user", "later", 1003, 0);
    query.id_prefix = hf_str("tip");
    assert_string_equal(list(m, &query), "tip");
    assert_true(last.started_at == 200); /* the start of its root */
    assert_true(last.sort_time == 200);
    assert_true(last.last_active == 1003);
    assert_string_equal(last_preview, "in the tip");
    query.id_prefix = hf_text(NULL, 0);
    query.order = HF_BY_RECENT;
    assert_string_equal(list(m, &query), "tip bad_config orphan after reset delegator "
                                         "old_branch branch branched plain");
    paged(m, query, "tip bad_config orphan after reset delegator old_branch branch "
                    "branched plain");
    query.since = 700;
    query.until = 810;
    assert_string_equal(list(m, &query), "orphan after reset");
    memory_store_close(m);
}

static void
knots(void **state)
{
    static const struct row rows[] = {
        {.id = "a", .parent = "b", .started = 10, .ended = 11, .end = "compression"},
        {.id = "b", .parent = "a", .started = 10, .ended = 11, .end = "compression"},
        {.id = "self", .parent = "self", .started = 20, .ended = 21, .end = "compression"},
        {.id = "p", .started = 30, .ended = 31, .end = "compression"},
        {.id = "abandoned", .parent = "p", .started = 32},
        {.id = "retried", .parent = "p", .started = 33},
    };
    struct memory_store *m = memory_store_open();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        put(m, &rows[i]);
    /* Sessions that are each other's parent have no root: each is shown, as the tip of
     * the other. */
    assert_string_equal(list(m, NULL), "abandoned retried self a b");
    memory_store_close(m);
}

static void
unreadable_starts_come_last(void **state)
{
    static const struct row rows[] = {{.id = "x", .started = NAN}, {.id = "y", .started = 5},
                                      {.id = "z", .started = NAN}};
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct memory_store *m = memory_store_open();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        put(m, &rows[i]);
    assert_string_equal(list(m, NULL), "y z x");
    paged(m, query, "y z x");
    query.view = HF_VIEW_ALL;
    paged(m, query, "y z x");
    memory_store_close(m);
}

static int
stop_at_second(void *ctx, const struct hf_session *session)
{
    int *seen = ctx;

    (void)session;
    return ++*seen == 2 ? HF_NOT_FOUND : 0; /* the worst value to stop with */
}

static void
stops_when_told(void **state)
{
    struct memory_store *m = family_make();
    int seen = 0;

    (void)state;
    assert_int_equal(hf_store_session_list(&m->store, NULL, stop_at_second, &seen, &error),
                     HF_NOT_FOUND);
    assert_int_equal(seen, 2);
    memory_store_close(m);
}

static int
done(void **state)
{
    (void)state;
    hf__buf_free(&listed);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views),
        cmocka_unit_test(chains),
        cmocka_unit_test(knots),
        cmocka_unit_test(unreadable_starts_come_last),
        cmocka_unit_test(stops_when_told),
    };

    return cmocka_run_group_tests_name("list_view", tests, NULL, done);
}
