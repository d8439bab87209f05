/* json_write.c - writing JSON: valid UTF-8 whatever goes in, numbers that read back
 * exactly, and none of it depending on the locale of the host. */
#include "json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

void
hf__json_string(struct hf__buf *out, const char *s, size_t len)
{
    static const char short_form[] = "btnvfr"; /* 0x08 to 0x0D; \v is no JSON escape */
    size_t i = 0, start = 0;

    hf__buf_addc(out, '"');
    while (i < len) {
        unsigned char c = (unsigned char)s[i];
        size_t n = 1;
        int32_t cp = c;

        if (c >= 0x80)
            n = hf__utf8_next(s + i, len - i, &cp);
        if (cp >= 0x20 && cp != '"' && cp != '\\' && cp != 0x7F) {
            i += n;
            continue;
        }
        hf__buf_add(out, s + start, i - start);
        if (cp < 0)
            hf__utf8_put(out, 0xFFFD);
        else if (cp == '"' || cp == '\\') {
            hf__buf_addc(out, '\\');
            hf__buf_addc(out, (char)cp);
        } else if (cp >= 0x08 && cp <= 0x0D && cp != 0x0B) {
            hf__buf_addc(out, '\\');
            hf__buf_addc(out, short_form[cp - 0x08]);
        } else
            hf__buf_addf(out, "\\u%04x", (unsigned)cp);
        i += n;
        start = i;
    }
    hf__buf_add(out, s + start, len - start);
    hf__buf_addc(out, '"');
}

void
hf__json_int(struct hf__buf *out, int64_t value)
{
    hf__buf_addf(out, "%lld", (long long)value);
}

void
hf__json_real(struct hf__buf *out, double value)
{
    char digits[64];
    int precision, real = 0;
    size_t i;

    if (!isfinite(value)) {
        hf__buf_adds(out, "null");
        return;
    }
    for (precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    /* Whatever stands between the digits is the locale's decimal point. */
    for (i = 0; digits[i]; i++) {
        char c = digits[i];
        if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e') {
            real |= c == 'e';
            hf__buf_addc(out, c);
        } else {
            if (!real)
                hf__buf_addc(out, '.');
            real = 1;
        }
    }
    if (!real)
        hf__buf_adds(out, ".0");
}

void
hf__json_value(struct hf__buf *out, const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    int any = 0;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        hf__buf_addc(out, '{');
        /* jansson keeps the order of the text, and has no const iterator. */
        json_object_foreach((json_t *)(uintptr_t)value, key, item) {
            hf__json_comma(out, &any);
            hf__json_key(out, key);
            hf__json_value(out, item);
        }
        hf__buf_addc(out, '}');
        break;
    case JSON_ARRAY:
        hf__buf_addc(out, '[');
        for (i = 0; i < json_array_size(value); i++) {
            hf__json_comma(out, &any);
            hf__json_value(out, json_array_get(value, i));
        }
        hf__buf_addc(out, ']');
        break;
    case JSON_STRING:
        hf__json_string(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        hf__json_int(out, json_integer_value(value));
        break;
    case JSON_REAL:
        hf__json_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
        hf__buf_adds(out, "true");
        break;
    case JSON_FALSE:
        hf__buf_adds(out, "false");
        break;
    case JSON_NULL:
    default:
        hf__buf_adds(out, "null");
        break;
    }
}

void
hf__json_comma(struct hf__buf *out, int *ret_any)
{
    if (*ret_any)
        hf__buf_addc(out, ',');
    *ret_any = 1;
}

void
hf__json_key(struct hf__buf *out, const char *key)
{
    hf__json_string(out, key, strlen(key));
    hf__buf_addc(out, ':');
}

int
hf__json_levels(const char *s, size_t len)
{
    int level = 0, deepest = 0, quoted = 0;
    size_t i;

    for (i = 0; i < len; i++) {
        char c = s[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = 0;
        } else if (c == '"')
            quoted = 1;
        else if (c == '[' || c == '{') {
            if (++level > deepest)
                deepest = level;
        } else if ((c == ']' || c == '}') && level > 0)
            level--;
    }
    return deepest;
}

json_t *
hf__json_parse(const char *s, size_t len)
{
    json_error_t error;

    if (!s || hf__json_levels(s, len) > HF_MAX_JSON_LEVELS)
        return NULL;
    return json_loadb(s, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
}
