/* scan.c - the bytes of a file as records.  Only a newline ends a line, and a checksum
 * says which bytes belong together: records that were glued onto one line are all
 * found, and what is none of them is reported and stepped over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define CHUNK (256u << 10)

/* A record begins with one of these.  Within a record neither can stand in a text,
 * where its quotes would be escaped. */
static const char begin_uid[] = "{\"uid\":";
static const char begin_mark[] = "{\"holdfast\":";

static const char *
find(const char *s, size_t len, const char *what, size_t what_len)
{
    return len ? memmem(s, len, what, what_len) : NULL;
}

/* Where the next record could begin at or after AT; LEN when nowhere. */
static size_t
next_begin(const char *s, size_t len, size_t at)
{
    const char *uid, *mark;

    if (at >= len)
        return len;
    uid = find(s + at, len - at, begin_uid, sizeof begin_uid - 1);
    if (uid)
        len = (size_t)(uid - s);
    mark = find(s + at, len - at, begin_mark, sizeof begin_mark - 1);
    return mark ? (size_t)(mark - s) : len;
}

/* The end of the record that begins at FROM and must end by LIMIT; 0: there is none. */
static size_t
record_end(const char *s, size_t from, size_t limit)
{
    static const char crc[] = ",\"crc\":\"";
    size_t at = from;

    while (at < limit) {
        const char *p = find(s + at, limit - at, crc, sizeof crc - 1);
        size_t end;
        if (!p)
            return 0;
        end = (size_t)(p - s) + sizeof crc - 1 + 8 + 2;
        if (end <= limit && hf__jl_crc_ok(s + from, end - from))
            return end;
        at = (size_t)(p - s) + 1;
    }
    return 0;
}

static int
is_blank(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return 0;
    return 1;
}

/* Hands over one record; 0 when it turns out to be none. */
static int
record_take(struct hf__jl_scan *scan, const char *s, size_t len, int64_t at,
            int *ret_rc, struct hf_error *err)
{
    struct hf__jl_record record = {NULL, at, (uint32_t)len, scan->line + 1};

    record.json = len < UINT32_MAX ? hf__jl_parse(s, len) : NULL;
    if (!record.json)
        return 0;
    *ret_rc = scan->record(scan->ctx, &record, err);
    json_decref(record.json);
    return 1;
}

/* One line, without its newline if it had one. */
static int
line_take(struct hf__jl_scan *scan, const char *s, size_t len, int64_t at, int ended,
          struct hf_error *err)
{
    size_t pos = 0, bad = 0, bad_from = 0;
    int rc = HF_OK;

    if (len && s[len - 1] == '\r')
        len--;
    if (is_blank(s, len))
        return HF_OK;
    if (hf__jl_crc_ok(s, len) && record_take(scan, s, len, at, &rc, err)) {
        scan->unterminated = !ended;
        return rc;
    }
    while (rc == HF_OK && pos < len) {
        size_t from = next_begin(s, len, pos), limit = next_begin(s, len, from + 1);
        size_t end = from < len ? record_end(s, from, limit) : 0;
        if (end &&
            record_take(scan, s + from, end - from, at + (int64_t)from, &rc, err)) {
            if (rc == HF_OK && (bad || !is_blank(s + pos, from - pos)))
                rc = scan->damage(scan->ctx, at + (int64_t)(bad ? bad_from : pos),
                                  scan->line + 1, err);
            bad = 0;
            pos = end;
            continue;
        }
        if (!bad && !is_blank(s + pos, limit - pos)) {
            bad = 1;
            bad_from = pos;
        }
        pos = limit;
    }
    if (rc == HF_OK && bad && ended)
        return scan->damage(scan->ctx, at + (int64_t)bad_from, scan->line + 1, err);
    if (bad)
        scan->torn_at = at + (int64_t)bad_from;
    else
        scan->unterminated = !ended;
    return rc;
}

int
hf__jl_scan(int fd, const char *path, struct hf__jl_scan *scan, struct hf_error *err)
{
    char *buf = NULL;
    size_t have = 0, cap = 0, searched = 0, used = 0;
    int64_t base = scan->at; /* where buf[0] stands in the file */
    int rc = HF_OK;

    scan->torn_at = -1;
    scan->unterminated = 0;
    for (;;) {
        ssize_t n;
        char *end;
        while (rc == HF_OK &&
               (end = memchr(buf ? buf + searched : "", '\n', have - searched))) {
            size_t stop = (size_t)(end - buf);
            rc = line_take(scan, buf + used, stop - used, base + (int64_t)used, 1, err);
            used = searched = stop + 1;
            scan->at = base + (int64_t)used;
            scan->line++;
        }
        if (rc < 0)
            goto out;
        searched = have;
        if (used) {
            memmove(buf, buf + used, have - used);
            base += (int64_t)used;
            have -= used;
            searched = have;
            used = 0;
        }
        if (cap - have < CHUNK) {
            char *grown = realloc(buf, have * 2 + CHUNK);
            if (!grown) {
                rc = hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
                goto out;
            }
            buf = grown;
            cap = have * 2 + CHUNK;
        }
        do
            n = pread(fd, buf + have, cap - have, base + (int64_t)have);
        while (n < 0 && errno == EINTR);
        if (n < 0) {
            rc = hf__jl_fail(err, errno, path, "reading");
            goto out;
        }
        if (!n)
            break;
        have += (size_t)n;
    }
    scan->end = base + (int64_t)have;
    if (have)
        rc = line_take(scan, buf, have, base, 0, err);
out:
    free(buf);
    return rc;
}
