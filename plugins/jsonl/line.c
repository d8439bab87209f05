/* line.c - one line of a file: how it is written, and its checksum.  A line is a JSON
 * object whose last member, "crc", is the CRC-32 of all bytes of the line before it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "private.h"
#include "util/json_write.h"
#include "util/misc.h"
#include "util/utf8.h"

#define CRC_LEN 17 /* "crc":"01234567"} */

static uint32_t
crc_of(const char *s, size_t len)
{
    uLong crc = crc32(0, NULL, 0);

    while (len > 0) { /* zlib takes an unsigned int */
        uInt n = len > (1u << 30) ? 1u << 30 : (uInt)len;
        crc = crc32(crc, (const Bytef *)s, n);
        s += n;
        len -= n;
    }
    return (uint32_t)crc;
}

void
hf__jl_uid_new(char *ret)
{
    hf__random_hex(ret, (HF_UID_SIZE - 1) / 2);
}

void
hf__jl_line_key(struct hf__buf *out, const char *key)
{
    hf__buf_addc(out, ',');
    hf__json_key(out, key);
}

void
hf__jl_line_begin(struct hf__buf *out, size_t *ret_start, const struct hf_text *uid)
{
    char fresh[HF_UID_SIZE];

    *ret_start = out->len;
    hf__buf_adds(out, "{\"uid\":");
    if (uid && uid->ptr) {
        hf__jl_text(out, uid->ptr, (size_t)uid->len);
    } else {
        hf__jl_uid_new(fresh);
        hf__json_string(out, fresh, strlen(fresh));
    }
}

void
hf__jl_line_end(struct hf__buf *out, size_t start)
{
    hf__buf_addc(out, ',');
    if (out->failed)
        return;
    hf__buf_addf(out, "\"crc\":\"%08x\"}\n",
                 (unsigned)crc_of(out->ptr + start, out->len - start));
}

void
hf__jl_text(struct hf__buf *out, const char *s, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    if (hf__utf8_valid(s, len)) {
        hf__json_string(out, s, len);
        return;
    }
    hf__buf_adds(out, "{\"$hex\":\"");
    for (size_t i = 0; i < len; i++) {
        hf__buf_addc(out, digits[(unsigned char)s[i] >> 4]);
        hf__buf_addc(out, digits[(unsigned char)s[i] & 15]);
    }
    hf__buf_adds(out, "\"}");
}

void
hf__jl_value(struct hf__buf *out, const json_t *value)
{
    if (json_is_string(value))
        hf__jl_text(out, json_string_value(value), json_string_length(value));
    else
        hf__json_value(out, value);
}

int
hf__jl_crc_ok(const char *s, size_t len)
{
    char expected[CRC_LEN + 1];

    if (len < CRC_LEN + 2 || s[0] != '{' ||
        memcmp(s + len - CRC_LEN, "\"crc\":\"", 7) != 0 || s[len - 1] != '}')
        return 0;
    snprintf(expected, sizeof expected, "\"crc\":\"%08x\"}",
             (unsigned)crc_of(s, len - CRC_LEN));
    return !memcmp(s + len - CRC_LEN, expected, CRC_LEN);
}

static int
hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of a {"$hex":"..."} as a string; NULL for anything else. */
static json_t *
bytes_of(const json_t *value)
{
    const json_t *hex =
        json_object_size(value) == 1 ? json_object_get(value, "$hex") : NULL;
    const char *s = json_string_value(hex);
    size_t len = json_string_length(hex);
    char *bytes;
    json_t *ret;

    if (!s || len % 2 || !(bytes = malloc(len / 2 + 1)))
        return NULL;
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(s[i]), low = hex_value(s[i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return NULL;
        }
        bytes[i / 2] = (char)(high * 16 + low);
    }
    ret = json_stringn_nocheck(bytes, len / 2);
    free(bytes);
    return ret;
}

static void
bytes_restore(json_t *object)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(object, key, value)
    {
        json_t *bytes = bytes_of(value);
        if (bytes)
            json_object_set_new_nocheck(object, key, bytes);
    }
    json_array_foreach(object, i, value)
    { /* a field: [name, op, value] */
        for (size_t k = 0; k <= 2; k += 2) {
            json_t *bytes = bytes_of(json_array_get(value, k));
            if (bytes)
                json_array_set_new(value, k, bytes);
        }
    }
}

json_t *
hf__jl_parse(const char *s, size_t len)
{
    json_t *json = json_loadb(s, len, JSON_ALLOW_NUL, NULL);

    if (!json_is_object(json)) {
        json_decref(json);
        return NULL;
    }
    bytes_restore(json);
    bytes_restore(json_object_get(json, "session"));
    bytes_restore(json_object_get(json, "message"));
    bytes_restore(json_object_get(json, "fields"));
    bytes_restore(json_object_get(json, "usage"));
    return json;
}
