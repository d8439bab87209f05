/* import.c - JSON Lines into a store, the inverse of export.c: cuts the stream into
 * lines and says which line an error is about. */
#include <string.h>

#include "import.h"

enum { READ_BYTES = 1 << 16 };
#define MAX_LINE ((size_t)2 << 30) /* a session with its messages */

struct reader {
    hf_read_fn *read;
    void *ctx;
    struct hf__buf buf;
    size_t start, looked; /* of the line in buf; how far there is no newline */
    int ended;
};

static int
more_read(struct reader *reader, struct hf_error *err)
{
    char chunk[READ_BYTES];
    int64_t n;

    if (err) {
        err->code = HF_OK;
        err->message[0] = err->path[0] = '\0';
    }
    n = reader->read(reader->ctx, chunk, sizeof chunk, err);
    if (n < 0) {
        if (err && !err->message[0])
            hf_error_set(err, (int)n, NULL, "the file could not be read");
        return (int)n;
    }
    if (n > (int64_t)sizeof chunk)
        return hf_error_set(err, HF_INVALID, NULL,
                            "import: the reader returned more bytes than it was asked "
                            "for");
    reader->ended = n == 0;
    /* What lies before the line is of no more use. */
    if (reader->start && reader->start >= reader->buf.len / 2) {
        memmove(reader->buf.ptr, reader->buf.ptr + reader->start,
                reader->buf.len - reader->start);
        reader->buf.len -= reader->start;
        reader->looked -= reader->start;
        reader->start = 0;
    }
    if (reader->buf.len - reader->start + (size_t)n > MAX_LINE)
        return hf_error_set(err, HF_TOO_BIG, NULL, "a line has more than %zu bytes",
                            MAX_LINE);
    hf__buf_add(&reader->buf, chunk, (size_t)n);
    if (reader->buf.failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a line");
    return HF_OK;
}

/* 1 and the line, 0 at the end, or an error.  Only '\n' ends a line. */
static int
line_next(struct reader *reader, const char **ret, size_t *ret_len,
          struct hf_error *err)
{
    for (;;) {
        const char *end = NULL;
        if (reader->buf.len > reader->looked)
            end = memchr(reader->buf.ptr + reader->looked, '\n',
                         reader->buf.len - reader->looked);
        if (end || (reader->ended && reader->buf.len > reader->start)) {
            const char *line = reader->buf.ptr + reader->start;
            *ret = line;
            *ret_len = end ? (size_t)(end - line) : reader->buf.len - reader->start;
            reader->start += *ret_len + (end ? 1 : 0);
            reader->looked = reader->start;
            return 1;
        }
        if (reader->ended)
            return 0;
        reader->looked = reader->buf.len;
        int rc = more_read(reader, err);
        if (rc < 0)
            return rc;
    }
}

static int
is_blank(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return 0;
    return 1;
}

static int
name_line(struct hf__import *im, uint64_t line, int rc, struct hf_error *err)
{
    struct hf_error said = *err;

    hf_error_set(err, rc, said.path[0] ? said.path : im->options.name,
                 "%s, line %llu: %s", im->options.name ? im->options.name : "import",
                 (unsigned long long)line, said.message);
    err->sys_errno = said.sys_errno;
    return rc;
}

int
hf_store_import_jsonl(struct hf_store *store, const struct hf_import_options *options,
                      hf_read_fn *read, void *ctx, struct hf_import_result *ret,
                      struct hf_error *err)
{
    struct hf__import im = {.store = store, .result = HF_INIT(struct hf_import_result)};
    struct reader reader = {.read = read, .ctx = ctx};
    struct hf_error own = {0};
    const char *line;
    size_t len;
    uint64_t number = 0;
    int rc;

    if (!err)
        err = &own;
    if (!store || !read)
        return hf_error_set(err, HF_INVALID, NULL, "import: an argument is NULL");
    if (options)
        hf__abi_copy(&im.options, sizeof im.options, options);
    while ((rc = line_next(&reader, &line, &len, err)) > 0) {
        number++;
        if (number == 1 && len >= 3 && !memcmp(line, "\xEF\xBB\xBF", 3)) {
            line += 3; /* the mark that some editors put before a text */
            len -= 3;
        }
        if (is_blank(line, len))
            continue;
        rc = hf__import_line(&im, line, len, err);
        if (rc < 0) {
            rc = name_line(&im, number, rc, err);
            break;
        }
    }
    /* Also after a failure: what was imported before it stays, with its parents. */
    if (rc == HF_OK)
        rc = hf__import_parents(&im, err);
    else {
        struct hf_error ignored;
        hf__import_parents(&im, &ignored);
    }
    if (rc == HF_OK && ret) {
        uint32_t size = ret->abi.size < sizeof im.result ? ret->abi.size
                                                         : (uint32_t)sizeof im.result;
        im.result.abi = ret->abi;
        memcpy(ret, &im.result, size);
    }
    hf__buf_free(&im.orphans);
    hf__buf_free(&reader.buf);
    return rc;
}
