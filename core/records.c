/* records.c - titles, session ids and times, as they may be written (SPEC 7). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"
#include "util/epoch.h"
#include "util/utf8.h"

enum { MAX_ID_BYTES = 512 };

int
hf__title_clean(const struct hf_text *title, char **ret, struct hf_error *err)
{
    struct hf__buf clean = {0};
    size_t i = 0, length;
    int space = 0;
    char *taken;

    if (title->len > HF__MAX_TITLE_BYTES)
        return hf_error_set(err, HF_TOO_BIG, NULL,
                            "the title has %llu bytes; at most %d are allowed",
                            (unsigned long long)title->len, HF__MAX_TITLE_BYTES);
    while (title->ptr && i < title->len) {
        int32_t cp;
        size_t n = hf__utf8_next(title->ptr + i, title->len - i, &cp);
        if (hf__utf8_is_space(cp))
            space = clean.len > 0;
        else if (cp < 0 || !hf__utf8_is_unseen(cp)) {
            if (space)
                hf__buf_addc(&clean, ' ');
            space = 0;
            hf__buf_add(&clean, title->ptr + i, n); /* bad bytes are kept */
        }
        i += n;
    }
    if (!clean.len && !clean.failed) {
        *ret = NULL;
        return HF_OK;
    }
    length = hf__utf8_count(clean.ptr, clean.len);
    if (length > HF_MAX_TITLE) {
        hf__buf_free(&clean);
        return hf_error_set(err, HF_INVALID, NULL,
                            "the title is %zu characters long; at most %u are allowed",
                            length, HF_MAX_TITLE);
    }
    taken = hf__buf_take(&clean);
    if (!taken)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a title");
    *ret = taken;
    return HF_OK;
}

void
hf__session_id_make(char *ret, size_t size)
{
    time_t now = (time_t)hf__now();
    struct tm tm;
    char hex[7];

    hf__random_hex(hex, 3);
    if (!localtime_r(&now, &tm))
        gmtime_r(&now, &tm);
    snprintf(ret, size, "%04d%02d%02d_%02d%02d%02d_%s", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, hex);
}

int
hf__session_id_check(const struct hf_text *id, struct hf_error *err)
{
    size_t i = 0;

    if (!id->ptr || !id->len)
        return hf_error_set(err, HF_INVALID, NULL, "a session id must not be empty");
    if (id->len > MAX_ID_BYTES)
        return hf_error_set(err, HF_INVALID, NULL,
                            "a session id of %llu bytes is too long; at most %d are "
                            "allowed",
                            (unsigned long long)id->len, MAX_ID_BYTES);
    while (i < id->len) {
        int32_t cp;
        size_t n = hf__utf8_next(id->ptr + i, id->len - i, &cp);
        if (cp < 0)
            return hf_error_set(err, HF_INVALID, NULL,
                                "the session id is not valid UTF-8 at byte %zu", i);
        if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
            return hf_error_set(err, HF_INVALID, NULL,
                                "the session id has a control character (U+%04X) at "
                                "byte %zu",
                                (unsigned)cp, i);
        i += n;
    }
    return HF_OK;
}

double
hf__time_or_now(double t)
{
    return hf__time_valid(t) ? t : hf__now();
}
