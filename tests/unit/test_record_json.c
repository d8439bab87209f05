/* test_record_json.c - records as JSON and back: the order of columns, defaults of what
 * an older file lacks, decoded content, exact numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "record_columns.h"
#include "record_parse.h"
#include "util/json_write.h"

static int
collect(void *ctx, const char *bytes, size_t len)
{
    hf__buf_add(ctx, bytes, len);
    return 0;
}

static int
refuse(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    return 42;
}

static struct hf_message
message_make(const char *content, size_t len)
{
    struct hf_message m = HF_INIT(struct hf_message);

    m.id = 7;
    m.session_id = hf_str("s");
    m.role = hf_str("user");
    m.content = hf_text(content, len);
    m.timestamp = 1785000000.0;
    m.token_count = HF_NO_INT;
    return m;
}

/* The value of MEMBER in the JSON of a message with this content. */
static void
content_is(const char *content, size_t len, const char *expected)
{
    struct hf_message m = message_make(content, len), *back;
    struct hf__buf out = {0}, again = {0}, member = {0};
    struct hf__parsed parsed;
    struct hf_error err;
    json_t *json;

    hf__message_json(&out, &m);
    json = hf__json_parse(out.ptr, out.len);
    assert_non_null(json);
    hf__json_value(&member, json_object_get(json, "content"));
    assert_string_equal(member.ptr, expected);
    json_decref(json);
    /* And back: what comes out of the copy is the same text. */
    assert_int_equal(hf__message_parse(out.ptr, out.len, &parsed, &err), HF_OK);
    back = &parsed.u.message;
    back->session_id = m.session_id;
    hf__message_json(&again, back);
    assert_string_equal(again.ptr, out.ptr);
    hf__parsed_free(&parsed);
    hf__buf_free(&out);
    hf__buf_free(&again);
    hf__buf_free(&member);
}
#define CONTENT_IS(cell, expected) content_is(cell, sizeof cell - 1, expected)

static void
contents(void **state)
{
    (void)state;
    content_is(NULL, 0, "null");
    CONTENT_IS("", "\"\"");
    CONTENT_IS("5", "\"5\"");
    CONTENT_IS("head\0tail", "\"head\\u0000tail\"");
    CONTENT_IS("\0", "\"\\u0000\"");
    CONTENT_IS("\xFF", "\"\xEF\xBF\xBD\"");
    CONTENT_IS("\0json:[{\"type\": \"text\", \"text\": \"\\u00e4\"}]",
               "[{\"type\":\"text\",\"text\":\"\xC3\xA4\"}]");
    CONTENT_IS("\0json:5", "5");
    CONTENT_IS("\0json:1785000000.0", "1785000000.0");
    CONTENT_IS("\0json:\"s\"", "\"s\"");
    CONTENT_IS("\0json:{bad", "\"\\u0000json:{bad\"");
    CONTENT_IS("\0json:[1]\0", "\"\\u0000json:[1]\\u0000\"");
    CONTENT_IS("\0json:\"\\u0000json:[1]\"",
               "\"\\u0000json:\\\"\\\\u0000json:[1]\\\"\"");
    CONTENT_IS("\0json:99999999999999999999", "\"\\u0000json:99999999999999999999\"");
}

static void
calls_are(const char *cell, const char *expected)
{
    struct hf_message m = message_make("x", 1);
    struct hf__buf out = {0}, again = {0};
    struct hf__parsed parsed;
    struct hf_error err;
    char key[256];

    m.tool_calls = hf_str(cell);
    hf__message_json(&out, &m);
    snprintf(key, sizeof key, "\"tool_calls\":%s,\"tool_name\":null", expected);
    assert_non_null(strstr(out.ptr, key));
    assert_int_equal(hf__message_parse(out.ptr, out.len, &parsed, &err), HF_OK);
    parsed.u.message.session_id = m.session_id;
    hf__message_json(&again, &parsed.u.message);
    assert_string_equal(again.ptr, out.ptr);
    hf__parsed_free(&parsed);
    hf__buf_free(&out);
    hf__buf_free(&again);
}

static void
calls(void **state)
{
    (void)state;
    calls_are(NULL, "null");
    calls_are("[{\"id\": \"c1\"}]", "[{\"id\":\"c1\"}]");
    calls_are("[broken", "\"[broken\"");
    calls_are("5", "\"5\"");
    calls_are("\"5\"", "\"\\\"5\\\"\"");
    calls_are("null", "\"null\"");
    calls_are("", "\"\"");
}

static void
columns_in_order(void **state)
{
    struct hf_session s = HF_INIT(struct hf_session);
    const struct hf__record_column *column;
    struct hf__buf out = {0};
    const char *key;
    json_t *json, *value;

    (void)state;
    s.id = hf_str("s");
    s.source = hf_str("cli");
    s.started_at = 1785000000.0;
    s.ended_at = HF_NO_TIME;
    s.estimated_cost_usd = s.actual_cost_usd = NAN;
    /* Another file's order, one column that Holdfast does not know, one that it does
     * keep elsewhere. */
    s.extra = hf_str("{\"zz_new\":{\"$base64\":\"AAE=\"},\"tool_names\":\"[]\",\"cwd\":null,"
                     "\"rewind_count\":3,\"title\":\"no\",\"api_call_count\":null}");
    hf__session_json(&out, &s);
    json = hf__json_parse(out.ptr, out.len);
    column = hf__session_record;
    json_object_foreach(json, key, value) {
        if (!column->name) {
            assert_string_equal(key, "zz_new");
            continue;
        }
        assert_string_equal(key, column->name);
        column++;
    }
    assert_int_equal(json_object_size(json), 63);
    assert_int_equal(json_integer_value(json_object_get(json, "rewind_count")), 3);
    assert_true(json_is_integer(json_object_get(json, "api_call_count")));
    assert_true(json_is_integer(json_object_get(json, "expiry_finalized")));
    assert_true(json_is_integer(json_object_get(json, "compression_overload_streak")));
    assert_true(json_is_null(json_object_get(json, "title")));
    assert_true(json_is_null(json_object_get(json, "ended_at")));
    assert_true(json_is_null(json_object_get(json, "estimated_cost_usd")));
    assert_non_null(strstr(out.ptr, "\"started_at\":1785000000.0,"));
    assert_non_null(strstr(out.ptr, "\"zz_new\":{\"$base64\":\"AAE=\"}}"));
    json_decref(json);
    hf__buf_free(&out);
}

static void
times_in_extra(void **state)
{
    static const struct { const char *cell, *expected; } cases[] = {
        {"1785000000.5", "1785000000.5"}, {"1785000000", "1785000000"},
        {"\"1.7e9\"", "1700000000.0"},    {"\"not-a-date\"", "null"},
        {"8.4e252", "null"},              {"-1", "null"},
        {"{\"$base64\":\"AA==\"}", "null"}, {"null", "null"}, {"0", "0"}};
    struct hf_session s = HF_INIT(struct hf_session);
    char extra[128], expected[128];

    (void)state;
    s.id = hf_str("s");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf__buf out = {0};
        snprintf(extra, sizeof extra, "{\"last_activity_at\":%s}", cases[i].cell);
        snprintf(expected, sizeof expected, "\"last_activity_at\":%s,", cases[i].expected);
        s.extra = hf_str(extra);
        hf__session_json(&out, &s);
        assert_non_null(strstr(out.ptr, expected));
        hf__buf_free(&out);
    }
}

static void
broken_model_config_stays_text(void **state)
{
    struct hf_session s = HF_INIT(struct hf_session);
    struct hf__buf out = {0};

    (void)state;
    s.id = hf_str("s");
    s.model_config = hf_text("{\"a\":1}\0junk", 12);
    hf__session_json(&out, &s);
    assert_non_null(strstr(out.ptr, "\"model_config\":\"{\\\"a\\\":1}\\u0000junk\""));
    hf__buf_clear(&out);
    s.model_config = hf_str("{\"a\":1}"); /* and so does a good one */
    hf__session_json(&out, &s);
    assert_non_null(strstr(out.ptr, "\"model_config\":\"{\\\"a\\\":1}\""));
    hf__buf_free(&out);
}

static void
states_and_places(void **state)
{
    static const struct { uint32_t state; const char *expected; } cases[] = {
        {0, "\"active\":1,\"compacted\":0"},
        {HF_MSG_ACTIVE, "\"active\":1,\"compacted\":0"},
        {HF_MSG_COMPACTED, "\"active\":0,\"compacted\":1"},
        {HF_MSG_REWOUND, "\"active\":0,\"compacted\":0"}};
    struct hf_message m = message_make("x", 1);
    struct hf__buf out = {0};
    struct hf__parsed parsed;
    struct hf_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        m.state = cases[i].state;
        hf__buf_clear(&out);
        hf__message_json(&out, &m);
        assert_non_null(strstr(out.ptr, cases[i].expected));
        assert_int_equal(hf__message_parse(out.ptr, out.len, &parsed, &err), HF_OK);
        assert_int_equal(parsed.u.message.state, m.state ? m.state : HF_MSG_ACTIVE);
        hf__parsed_free(&parsed);
    }
    /* No place of its own: its id; read back, the store is left to give it one. */
    assert_non_null(strstr(out.ptr, "\"display_identity\":null,\"display_order\":7,"));
    assert_int_equal(hf__message_parse(out.ptr, out.len, &parsed, &err), HF_OK);
    assert_null(parsed.u.message.extra.ptr
                    ? strstr(parsed.u.message.extra.ptr, "display_order")
                    : NULL);
    hf__parsed_free(&parsed);
    m.extra = hf_str("{\"display_order\":3,\"display_identity\":{\"$base64\":\"AA==\"}}");
    hf__buf_clear(&out);
    hf__message_json(&out, &m);
    assert_non_null(strstr(out.ptr, "\"display_order\":3,"));
    assert_int_equal(hf__message_parse(out.ptr, out.len, &parsed, &err), HF_OK);
    assert_non_null(strstr(parsed.u.message.extra.ptr, "\"display_order\":3"));
    hf__parsed_free(&parsed);
    hf__buf_free(&out);
}

static void
tolerant_reading(void **state)
{
    static const char line[] =
        "{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":\"1.7e9\",\"token_count\":5.0,"
        "\"tool_calls\":[{\"a\": 1}],\"lineage\":{\"x\":[1]},\"note\":\"kept\","
        "\"display_metadata\":{\"k\":1}}";
    struct hf__parsed parsed;
    struct hf_error err = {0};

    (void)state;
    assert_int_equal(hf__message_parse(line, sizeof line - 1, &parsed, &err), HF_OK);
    assert_true(parsed.u.message.timestamp == 1.7e9);
    assert_int_equal(parsed.u.message.token_count, 5);
    assert_true(hf__text_is(&parsed.u.message.tool_calls, "[{\"a\":1}]"));
    assert_true(hf__text_is(&parsed.u.message.extra,
                            "{\"note\":\"kept\",\"display_metadata\":\"{\\\"k\\\":1}\"}"));
    assert_null(parsed.u.message.uid.ptr);
    hf__parsed_free(&parsed);
    assert_int_equal(hf__message_parse("{\"content\":\"x\"}", 15, &parsed, &err),
                     HF_INVALID);
    assert_non_null(strstr(err.message, "role"));
    assert_int_equal(hf__message_parse("[1]", 3, &parsed, &err), HF_INVALID);
    assert_int_equal(hf__message_parse("{\"role\":", 8, &parsed, &err), HF_INVALID);
}

static void
writers_answer(void **state)
{
    struct hf_message m = message_make("x", 1);
    struct hf_session s = HF_INIT(struct hf_session);
    struct hf__buf out = {0};

    (void)state;
    s.id = hf_str("s");
    assert_int_equal(hf_message_write_json(&m, collect, &out), 0);
    assert_int_equal(out.ptr[0], '{');
    assert_int_equal(hf_message_write_json(&m, refuse, NULL), 42);
    assert_int_equal(hf_session_write_json(&s, refuse, NULL), 42);
    assert_int_equal(hf_session_write_json(NULL, refuse, NULL), HF_INVALID);
    hf__buf_free(&out);
}

static void
split_is(const char *line, const char *session, const char *messages)
{
    struct hf__buf out = {0};
    struct hf_error err = {0};
    const char *from = NULL;
    json_t *json = NULL;
    size_t len = 0;
    int rc = hf__line_split(line, strlen(line), &json, &from, &len, &err);

    if (!session) {
        assert_int_equal(rc, HF_INVALID);
        assert_non_null(strstr(err.message, "not JSON at byte"));
        return;
    }
    assert_int_equal(rc, HF_OK);
    hf__json_value(&out, json);
    assert_string_equal(out.ptr, session);
    if (messages) {
        assert_int_equal(len, strlen(messages));
        assert_memory_equal(from, messages, len);
    } else
        assert_null(from);
    json_decref(json);
    hf__buf_free(&out);
}

static void
lines(void **state)
{
    static const char array[] = " [ {\"a\":\"]}\\\"\"} , [1,[2]],\"x\" ,4 ] ";
    static const char *const expected[] = {"{\"a\":\"]}\\\"\"}", "[1,[2]]", "\"x\"", "4"};
    static const char *const broken[] = {"[1 2]", "[1,]", "[,1]", "[1", "{}", "[1] x",
                                         "[\"a]", "[[1]", ""};
    struct hf_error err;
    const char *element;
    size_t at = 0, len, n = 0;

    (void)state;
    split_is("{}", "{}", NULL);
    split_is(" {\"id\" : \"s\", \"messages\" :[{\"x\":\"}\"}] , \"z\":null}\r",
             "{\"id\":\"s\",\"z\":null}", "[{\"x\":\"}\"}]");
    split_is("{\"id\":\"s\"} x", NULL, NULL);
    split_is("{\"id\":\"s\",}", NULL, NULL);
    split_is("{\"id\":}", NULL, NULL);
    split_is("{\"id\":\"s\"", NULL, NULL);
    split_is("{\"id\" \"s\"}", NULL, NULL);
    split_is("{id:1}", NULL, NULL);
    split_is("{\"id\":tru}", NULL, NULL);
    split_is("[]", NULL, NULL);
    split_is("\"messages\"", NULL, NULL);
    split_is("{\"messages\":[1,\"", NULL, NULL);

    while (hf__element_next(array, sizeof array - 1, &at, &element, &len, &err) > 0) {
        assert_true(n < 4);
        assert_int_equal(len, strlen(expected[n]));
        assert_memory_equal(element, expected[n], len);
        n++;
    }
    assert_int_equal(n, 4);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        int rc;
        at = 0;
        while ((rc = hf__element_next(broken[i], strlen(broken[i]), &at, &element, &len,
                                      &err)) > 0)
            ;
        assert_int_equal(rc, HF_INVALID);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents), cmocka_unit_test(calls),
        cmocka_unit_test(columns_in_order), cmocka_unit_test(times_in_extra),
        cmocka_unit_test(broken_model_config_stays_text),
        cmocka_unit_test(states_and_places), cmocka_unit_test(tolerant_reading),
        cmocka_unit_test(writers_answer), cmocka_unit_test(lines),
    };

    return cmocka_run_group_tests_name("record_json", tests, NULL, NULL);
}
