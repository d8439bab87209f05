/* test_transfer.c - export and import over the memory backend: round trips, skipping,
 * merging, titles and parents, broken lines, and that no half session stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_store.h"

struct source {
    const char *bytes;
    size_t len, at, step;
    int fail; /* code given once the bytes are used up */
};

static int64_t
source_read(void *ctx, char *buf, size_t size, struct hf_error *err)
{
    struct source *source = ctx;
    size_t n = source->len - source->at;

    if (!n && source->fail)
        return hf_error_set(err, source->fail, NULL, "the disk is gone");
    if (n > size)
        n = size;
    if (source->step && n > source->step)
        n = source->step;
    memcpy(buf, source->bytes + source->at, n);
    source->at += n;
    return (int64_t)n;
}

static int
collect(void *ctx, const char *bytes, size_t len)
{
    hf__buf_add(ctx, bytes, len);
    return 0;
}

static struct hf_import_result result;
static struct hf_error error;

static int
import(struct memory_store *m, const char *lines, uint32_t merge, size_t step)
{
    struct hf_import_options options = HF_INIT(struct hf_import_options);
    struct source source = {.bytes = lines, .len = strlen(lines), .step = step};

    options.merge = merge;
    options.name = "file.jsonl";
    memset(&error, 0, sizeof error);
    result = HF_INIT(struct hf_import_result);
    return hf_store_import_jsonl(&m->store, &options, source_read, &source, &result,
                                 &error);
}

static char *
export(struct memory_store *m)
{
    struct hf__buf out = {0};

    assert_int_equal(hf_store_export_jsonl(&m->store, NULL, collect, &out, &error), HF_OK);
    return hf__buf_take(&out);
}

static size_t
count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

#define SESSION(id, more) "{\"id\":\"" id "\",\"source\":\"cli\"" more
#define MESSAGE(id, content) \
    "{\"id\":" id ",\"role\":\"user\",\"content\":" content ",\"timestamp\":5.0}"

static const char two_sessions[] =
    SESSION("a", ",\"started_at\":100.0,\"title\":\"T\",\"message_count\":2,\"cwd\":\"/x\","
            "\"messages\":[") MESSAGE("1", "\"one\"") ","
    MESSAGE("2", "[{\"type\":\"text\",\"text\":\"two\\u2028\"}]") "]}\n"
    "\n \r\n"
    SESSION("b", ",\"started_at\":200.0,\"messages\":[]}\r\n")
    SESSION("c", ",\"started_at\":50}"); /* the last line has no newline */

static void
round_trip(void **state)
{
    static const size_t steps[] = {0, 1, 7, 100};
    char *first, *again;

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct memory_store *a = memory_store_open(), *b = memory_store_open();
        assert_int_equal(import(a, two_sessions, 0, steps[i]), HF_OK);
        assert_int_equal(result.sessions, 3);
        assert_int_equal(result.messages, 2);
        first = export(a);
        assert_int_equal(count(first, "\n"), 3);
        /* Oldest first. */
        assert_true(strstr(first, "\"id\":\"c\"") < strstr(first, "\"id\":\"a\""));
        assert_true(strstr(first, "\"id\":\"a\"") < strstr(first, "\"id\":\"b\""));
        assert_non_null(strstr(first, "\"content\":[{\"type\":\"text\","));
        assert_non_null(strstr(first, "\"messages\":[]}\n"));
        assert_int_equal(import(b, first, 0, 0), HF_OK);
        again = export(b);
        assert_string_equal(first, again);
        free(first);
        free(again);
        memory_store_close(a);
        memory_store_close(b);
    }
}

static void
existing_sessions(void **state)
{
    struct memory_store *m = memory_store_open();
    char *out;

    (void)state;
    assert_int_equal(import(m, two_sessions, 0, 0), HF_OK);
    assert_int_equal(import(m, two_sessions, 0, 0), HF_OK);
    assert_int_equal(result.sessions, 0);
    assert_int_equal(result.skipped, 3);
    assert_int_equal(import(m, two_sessions, 1, 0), HF_OK);
    assert_int_equal(result.merged, 0);
    assert_int_equal(result.messages, 0);

    /* One message that it has, one said again, one new; ids that are taken. */
    assert_int_equal(import(m, SESSION("a", ",\"messages\":[") MESSAGE("1", "\"one\"") ","
                               MESSAGE("2", "\"one\"") "," MESSAGE("1", "\"three\"") "]}",
                            1, 0), HF_OK);
    assert_int_equal(result.merged, 1);
    assert_int_equal(result.messages, 2);
    out = export(m);
    assert_int_equal(count(out, "\"content\":\"one\""), 2);
    assert_int_equal(count(out, "\"content\":\"three\""), 1);
    free(out);
    memory_store_close(m);
}

static void
uids_decide(void **state)
{
    static const char one[] =
        SESSION("a", ",\"messages\":[{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1.0,"
                "\"message_uid\":\"u1\"}]}\n");
    static const char other[] =
        SESSION("a", ",\"messages\":[{\"role\":\"user\",\"content\":\"y\",\"timestamp\":2.0,"
                "\"message_uid\":\"u1\"},{\"role\":\"user\",\"content\":\"x\","
                "\"timestamp\":1.0,\"message_uid\":\"u2\"}]}\n");
    struct memory_store *m = memory_store_open();
    char *out;

    (void)state;
    assert_int_equal(import(m, one, 0, 0), HF_OK);
    assert_int_equal(import(m, other, 1, 0), HF_OK);
    assert_int_equal(result.messages, 1);
    out = export(m);
    assert_null(strstr(out, "\"content\":\"y\""));
    assert_non_null(strstr(out, "\"message_uid\":\"u2\""));
    free(out);
    memory_store_close(m);
}

static void
taken_titles(void **state)
{
    struct memory_store *m = memory_store_open();
    char *out;

    (void)state;
    assert_int_equal(import(m, SESSION("a", ",\"title\":\"T\"}\n")
                               SESSION("b", ",\"title\":\"T\"}\n")
                               SESSION("c", ",\"title\":\"T #2\"}\n"), 0, 0), HF_OK);
    assert_int_equal(result.sessions, 3);
    assert_int_equal(count(m->log, "import_title"), 2);
    out = export(m);
    assert_int_equal(count(out, "\"title\":\"T\""), 1);
    assert_int_equal(count(out, "\"title\":\"T #2\""), 1);
    assert_int_equal(count(out, "\"title\":\"T #3\""), 1);
    free(out);
    memory_store_close(m);
}

static void
parents(void **state)
{
    struct memory_store *m = memory_store_open();
    char *out;

    (void)state;
    assert_int_equal(import(m, SESSION("child", ",\"parent_session_id\":\"late\"}\n")
                               SESSION("lost", ",\"parent_session_id\":\"nowhere\"}\n")
                               SESSION("late", "}\n"), 0, 0), HF_OK);
    out = export(m);
    assert_int_equal(count(out, "\"parent_session_id\":\"late\""), 1);
    assert_int_equal(count(out, "\"parent_session_id\":null"), 2);
    assert_int_equal(count(m->log, "import_parent"), 1);
    free(out);
    memory_store_close(m);
}

static void
refused(const char *lines, int code, const char *text, const char *text2)
{
    struct memory_store *m = memory_store_open();
    char *out;

    assert_int_equal(import(m, lines, 0, 0), code);
    if (!strstr(error.message, text) || !strstr(error.message, text2))
        fail_msg("the text is: %s", error.message);
    /* What came before stays, of the broken one nothing. */
    out = export(m);
    assert_int_equal(count(out, "\"id\":\"fine\""), 1);
    assert_int_equal(count(out, "\n"), 1);
    free(out);
    memory_store_close(m);
}

static void
broken_lines(void **state)
{
#define FINE SESSION("fine", "}\n\n")
    (void)state;
    refused(FINE "{\"id\":", HF_INVALID, "file.jsonl, line 3: ", "not JSON");
    refused(FINE "null\n", HF_INVALID, "line 3", "expected an object");
    refused(FINE "{\"source\":\"cli\"}\n", HF_INVALID, "line 3", "no id");
    refused(FINE "{\"id\":\"\"}\n", HF_INVALID, "line 3", "empty");
    refused(FINE "{\"id\":\"a\\nb\"}\n", HF_INVALID, "line 3", "U+000A");
    refused(FINE "{\"id\":\"a\\ud800\"}\n", HF_INVALID, "line 3", "not JSON");
    refused(FINE SESSION("x", ",\"messages\":{}}\n"), HF_INVALID, "line 3", "an array");
    refused(FINE SESSION("x", ",\"messages\":[") MESSAGE("1", "\"a\"") ",7]}\n", HF_INVALID,
            "line 3", "message 2");
    refused(FINE SESSION("x", ",\"messages\":[") MESSAGE("1", "\"a\"") ",{}]}\n",
            HF_INVALID, "line 3", "no role");
    refused(FINE SESSION("x", ",\"messages\":[") MESSAGE("1", "\"a\"") " 1]}\n", HF_INVALID,
            "line 3", "byte");
}

static void
failing_reader(void **state)
{
    struct memory_store *m = memory_store_open();
    struct source source = {.bytes = two_sessions, .len = 40, .fail = HF_IO};

    (void)state;
    assert_int_equal(hf_store_import_jsonl(&m->store, NULL, source_read, &source, NULL,
                                           &error), HF_IO);
    assert_string_equal(error.message, "the disk is gone");
    assert_int_equal(hf_store_import_jsonl(&m->store, NULL, source_read, &source, NULL,
                                           NULL), HF_IO);
    memory_store_close(m);
}

/* The backend's append, failing from a number of calls on. */
static int appends_left;

static int
append_or_fail(void *store, const struct hf_append *what, struct hf_appended *ret,
               struct hf_error *err)
{
    if (!appends_left--)
        return hf_error_set(err, HF_DISK_FULL, NULL, "no room");
    return memory.message_append(store, what, ret, err);
}

static void
no_half_session(void **state)
{
    struct memory_store *m = memory_store_open();
    struct hf__buf line = {0};
    char *out;

    (void)state;
    m->backend.ops.message_append = append_or_fail;
    hf__buf_adds(&line, SESSION("fine", "}\n") SESSION("long", ",\"messages\":["));
    for (int i = 1; i <= 1200; i++)
        hf__buf_addf(&line, "%s{\"id\":%d,\"role\":\"user\",\"content\":\"x\"}",
                     i > 1 ? "," : "", i);
    hf__buf_adds(&line, "]}\n");
    appends_left = 1; /* the second batch fails */
    assert_int_equal(import(m, line.ptr, 0, 0), HF_DISK_FULL);
    assert_non_null(strstr(error.message, "file.jsonl, line 2: "));
    out = export(m);
    assert_int_equal(count(out, "\n"), 1);
    assert_null(strstr(out, "\"id\":\"long\""));
    free(out);
    appends_left = 100;
    assert_int_equal(import(m, line.ptr, 0, 0), HF_OK);
    assert_int_equal(result.messages, 1200);
    hf__buf_free(&line);
    memory_store_close(m);
}

struct stop {
    int calls, at;
};

static int
stop_write(void *ctx, const char *bytes, size_t len)
{
    struct stop *stop = ctx;

    (void)bytes;
    (void)len;
    return ++stop->calls == stop->at ? 42 : 0;
}

static void
progress(void *ctx, uint64_t done, uint64_t total)
{
    uint64_t *last = ctx;

    assert_int_equal(done, *last + 1);
    assert_int_equal(total, 3);
    *last = done;
}

static void
export_options(void **state)
{
    struct hf_export_options options = HF_INIT(struct hf_export_options);
    struct hf_text ids[2], source = hf_str("cli"), other = hf_str("telegram");
    struct memory_store *m = memory_store_open();
    struct stop stop = {.at = 2};
    struct hf__buf out = {0};
    uint64_t done = 0;

    (void)state;
    assert_int_equal(import(m, two_sessions, 0, 0), HF_OK);
    ids[0] = hf_str("b");
    ids[1] = hf_str("a");
    options.ids = ids;
    options.n_ids = 2;
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_OK);
    assert_int_equal(count(out.ptr, "\n"), 2);
    assert_true(strstr(out.ptr, "\"id\":\"b\"") < strstr(out.ptr, "\"id\":\"a\""));
    options.since = 150;
    hf__buf_clear(&out);
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_OK);
    assert_int_equal(count(out.ptr, "\n"), 1);
    options.n_ids = 0;
    options.until = 150; /* an empty window */
    hf__buf_clear(&out);
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_OK);
    assert_int_equal(out.len, 0);
    options.since = options.until = 0;
    options.sources = &other;
    options.n_sources = 1;
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_OK);
    assert_int_equal(out.len, 0);
    options.sources = &source;
    options.progress = progress;
    options.progress_ctx = &done;
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_OK);
    assert_int_equal(done, 3);
    assert_int_equal(hf_store_export_jsonl(&m->store, NULL, stop_write, &stop, &error), 42);
    assert_int_equal(stop.calls, 2);
    ids[1] = hf_str("absent");
    options = HF_INIT(struct hf_export_options);
    options.ids = ids;
    options.n_ids = 2;
    assert_int_equal(hf_store_export_jsonl(&m->store, &options, collect, &out, &error),
                     HF_NOT_FOUND);
    hf__buf_free(&out);
    memory_store_close(m);
}

static void
long_transcripts_come_in_pieces(void **state)
{
    struct memory_store *m = memory_store_open();
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *pointer = &message;
    struct hf_append append = HF_INIT(struct hf_append);
    struct stop stop = {0};
    char *text = malloc(300000), *out;

    (void)state;
    memset(text, 'x', 300000);
    session.id = append.session_id = hf_str("s");
    assert_int_equal(hf_store_session_create(&m->store, &session, NULL, 0, &error), HF_OK);
    message.role = hf_str("user");
    message.content = hf_text(text, 300000);
    append.messages = &pointer;
    append.n_messages = 1;
    for (int i = 0; i < 10; i++)
        assert_int_equal(hf_store_append(&m->store, &append, NULL, &error), HF_OK);
    assert_int_equal(hf_store_export_jsonl(&m->store, NULL, stop_write, &stop, &error),
                     HF_OK);
    assert_true(stop.calls >= 3); /* 3 MB in pieces of about one */
    out = export(m);
    assert_int_equal(count(out, "\"role\":\"user\""), 10);
    free(out);
    free(text);
    memory_store_close(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),    cmocka_unit_test(existing_sessions),
        cmocka_unit_test(uids_decide),   cmocka_unit_test(taken_titles),
        cmocka_unit_test(parents),       cmocka_unit_test(broken_lines),
        cmocka_unit_test(failing_reader), cmocka_unit_test(no_half_session),
        cmocka_unit_test(export_options),
        cmocka_unit_test(long_transcripts_come_in_pieces),
    };

    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
