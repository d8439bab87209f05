/* test_scan.c - lines, their checksums, and what a scan makes of damaged bytes: every
 * prefix of a file gives the records that are whole in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/scratch.h"
#include "private.h"

#define LINES 6

struct seen {
    int records[64], n;  /* the number in each record */
    uint64_t damaged[64];
    int n_damaged;
};

struct fixture {
    char *dir;
    struct hf__buf bytes;
    size_t ends[LINES]; /* behind each newline */
};

static int
on_record(void *ctx, const struct hf__jl_record *record, struct hf_error *err)
{
    struct seen *seen = ctx;

    (void)err;
    assert_true(seen->n < 64);
    seen->records[seen->n++] =
        (int)hf__jl_int(json_object_get(record->json, "number"), -1);
    return HF_OK;
}

static int
on_damage(void *ctx, int64_t at, uint64_t line, struct hf_error *err)
{
    struct seen *seen = ctx;

    (void)at, (void)err;
    assert_true(seen->n_damaged < 64);
    seen->damaged[seen->n_damaged++] = line;
    return HF_OK;
}

static void
scan(struct fixture *f, const char *bytes, size_t len, struct hf__jl_scan *ret,
     struct seen *seen)
{
    const char *path = scratch_path(f->dir, "file");
    struct hf_error err;
    int fd;

    memset(seen, 0, sizeof *seen);
    *ret = (struct hf__jl_scan){
        .record = on_record, .damage = on_damage, .ctx = seen};
    scratch_write(path, bytes, len);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hf__jl_scan(fd, path, ret, &err), HF_OK);
    close(fd);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    static const char tricky[] = "{\"uid\":\"\n\0,\"crc\":\"00000000\"}";
    size_t start;

    f->dir = scratch_make();
    for (int i = 0; i < LINES; i++) {
        hf__jl_line_begin(&f->bytes, &start, NULL);
        hf__jl_line_key(&f->bytes, "number");
        hf__buf_addf(&f->bytes, "%d", i);
        hf__jl_line_key(&f->bytes, "text");
        hf__jl_text(&f->bytes, tricky, sizeof tricky - 1);
        hf__jl_line_end(&f->bytes, start);
        f->ends[i] = f->bytes.len;
    }
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    hf__buf_free(&f->bytes);
    scratch_remove(f->dir);
    free(f);
    return 0;
}

static void
test_every_prefix(void **state)
{
    struct fixture *f = *state;
    struct hf__jl_scan result;
    struct seen seen;

    for (size_t len = 0; len <= f->bytes.len; len++) {
        int whole = 0, at_end = 0;
        size_t rest;
        while (whole < LINES && f->ends[whole] - 1 <= len)
            whole++;
        at_end = whole && f->ends[whole - 1] - 1 == len; /* all but its newline */
        rest = whole ? f->ends[whole - 1] : 0;
        scan(f, f->bytes.ptr, len, &result, &seen);
        assert_int_equal(seen.n, whole);
        assert_int_equal(seen.n_damaged, 0);
        assert_int_equal(result.unterminated, at_end);
        assert_int_equal(result.torn_at, len > rest ? (int64_t)rest : -1);
        assert_int_equal(result.line, at_end ? whole - 1 : whole);
    }
}

/* A byte changed anywhere costs at most the record in which it stands, or none. */
static void
test_every_byte(void **state)
{
    struct fixture *f = *state;
    struct hf__jl_scan result;
    struct seen seen;

    for (size_t at = 0; at < f->bytes.len; at++) {
        char *copy = malloc(f->bytes.len);
        int line = 0, newline;
        while (f->ends[line] <= at)
            line++;
        newline = f->ends[line] - 1 == at;
        memcpy(copy, f->bytes.ptr, f->bytes.len);
        copy[at] = (char)(copy[at] ^ 0x15);
        scan(f, copy, f->bytes.len, &result, &seen);
        free(copy);
        assert_int_equal(seen.n, newline ? LINES : LINES - 1);
        for (int i = 0, k = 0; i < LINES; i++)
            if (newline || i != line)
                assert_int_equal(seen.records[k++], i);
        if (newline && line == LINES - 1)
            assert_true(result.torn_at >= 0);
        else
            assert_true(seen.n_damaged == 1 || seen.n_damaged == 2);
    }
}

static void
test_glued(void **state)
{
    struct fixture *f = *state;
    struct hf__jl_scan result;
    struct hf__buf bytes = {0};
    struct seen seen;

    for (int i = 0; i < LINES; i++) {
        size_t from = i ? f->ends[i - 1] : 0;
        hf__buf_add(&bytes, f->bytes.ptr + from, f->ends[i] - 1 - from);
    }
    scan(f, bytes.ptr, bytes.len, &result, &seen);
    assert_int_equal(seen.n, LINES);
    assert_int_equal(result.unterminated, 1);
    hf__buf_adds(&bytes, "  \r\n\n\r\n");
    scan(f, bytes.ptr, bytes.len, &result, &seen);
    assert_int_equal(seen.n, LINES);
    assert_int_equal(seen.n_damaged, 0);
    assert_int_equal(result.line, 3);
    hf__buf_free(&bytes);
}

static void
test_text(void **state)
{
    static const char odd[] = "\xff\0\xc3\xa9";
    struct hf__buf line = {0};
    struct hf_text back;
    json_t *json;
    size_t start;

    (void)state;
    hf__jl_line_begin(&line, &start, NULL);
    hf__jl_line_key(&line, "message");
    hf__buf_adds(&line, "{\"content\":");
    hf__jl_text(&line, odd, 4);
    hf__buf_addc(&line, '}');
    hf__jl_line_end(&line, start);
    assert_int_equal(line.ptr[line.len - 1], '\n');
    assert_true(hf__jl_crc_ok(line.ptr, line.len - 1));
    assert_non_null(strstr(line.ptr, "{\"$hex\":\"ff00c3a9\"}"));
    json = hf__jl_parse(line.ptr, line.len - 1);
    back = hf__jl_string(json_object_get(json_object_get(json, "message"), "content"));
    assert_int_equal(back.len, 4);
    assert_memory_equal(back.ptr, odd, 4);
    json_decref(json);
    hf__buf_free(&line);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(test_glued, setup, teardown),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
