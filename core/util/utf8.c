/* utf8.c - reading and repairing UTF-8.  Where bytes are no UTF-8, the longest start of
 * a sequence that could have become one counts as a single bad character, as Unicode
 * recommends and other programs do. */
#include "utf8.h"

#include <stdio.h>

size_t
hf__utf8_next(const char *s, size_t len, int32_t *ret_cp)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned char low = 0x80, high = 0xBF; /* bounds of the second byte */
    size_t need, i;
    int32_t cp;

    if (p[0] < 0x80) {
        *ret_cp = p[0];
        return 1;
    }
    *ret_cp = -1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        need = 1;
        cp = p[0] & 0x1F;
    } else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        need = 2;
        cp = p[0] & 0x0F;
        if (p[0] == 0xE0)
            low = 0xA0; /* below: overlong */
        else if (p[0] == 0xED)
            high = 0x9F; /* above: surrogates */
    } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        need = 3;
        cp = p[0] & 0x07;
        if (p[0] == 0xF0)
            low = 0x90;
        else if (p[0] == 0xF4)
            high = 0x8F; /* above: past U+10FFFF */
    } else
        return 1;
    for (i = 1; i <= need; i++) {
        if (i >= len || p[i] < low || p[i] > high)
            return i;
        cp = (int32_t)((uint32_t)cp << 6) | (p[i] & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *ret_cp = cp;
    return need + 1;
}

int
hf__utf8_valid(const char *s, size_t len)
{
    size_t i = 0;
    int32_t cp;

    while (i < len) {
        i += hf__utf8_next(s + i, len - i, &cp);
        if (cp < 0)
            return 0;
    }
    return 1;
}

size_t
hf__utf8_count(const char *s, size_t len)
{
    size_t i = 0, n = 0;
    int32_t cp;

    for (; i < len; n++)
        i += hf__utf8_next(s + i, len - i, &cp);
    return n;
}

void
hf__utf8_put(struct hf__buf *buf, int32_t cp)
{
    uint32_t c = (uint32_t)cp;
    char b[4];

    if (cp < 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        hf__buf_addc(buf, (char)c);
    } else if (c < 0x800) {
        b[0] = (char)(0xC0 | (c >> 6));
        b[1] = (char)(0x80 | (c & 0x3F));
        hf__buf_add(buf, b, 2);
    } else if (c < 0x10000) {
        b[0] = (char)(0xE0 | (c >> 12));
        b[1] = (char)(0x80 | ((c >> 6) & 0x3F));
        b[2] = (char)(0x80 | (c & 0x3F));
        hf__buf_add(buf, b, 3);
    } else {
        b[0] = (char)(0xF0 | (c >> 18));
        b[1] = (char)(0x80 | ((c >> 12) & 0x3F));
        b[2] = (char)(0x80 | ((c >> 6) & 0x3F));
        b[3] = (char)(0x80 | (c & 0x3F));
        hf__buf_add(buf, b, 4);
    }
}

void
hf__utf8_repair(struct hf__buf *buf, const char *s, size_t len)
{
    size_t i = 0, start = 0, n;
    int32_t cp;

    while (i < len) {
        n = hf__utf8_next(s + i, len - i, &cp);
        if (cp < 0) {
            hf__buf_add(buf, s + start, i - start);
            hf__utf8_put(buf, 0xFFFD);
            start = i + n;
        }
        i += n;
    }
    hf__buf_add(buf, s + start, len - start);
}

int
hf__utf8_is_space(int32_t cp)
{
    return (cp >= 0x09 && cp <= 0x0D) || (cp >= 0x1C && cp <= 0x20) || cp == 0x85 ||
           cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

int
hf__utf8_is_unseen(int32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp <= 0x9F) || cp == 0xAD || cp == 0x34F ||
           cp == 0x61C || cp == 0x115F || cp == 0x1160 || cp == 0x17B4 ||
           cp == 0x17B5 || (cp >= 0x180B && cp <= 0x180E) ||
           (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x2028 && cp <= 0x202E) ||
           (cp >= 0x2060 && cp <= 0x206F) || cp == 0x3164 || cp == 0xFEFF ||
           cp == 0xFFA0 || (cp >= 0xFFF9 && cp <= 0xFFFC) ||
           (cp >= 0xE0000 && cp <= 0xE007F);
}

void
hf__utf8_safe(struct hf__buf *buf, const char *s, size_t len)
{
    size_t i = 0;
    int32_t cp;

    while (i < len) {
        size_t n = hf__utf8_next(s + i, len - i, &cp);
        if (cp < 0)
            hf__utf8_put(buf, 0xFFFD);
        else if (cp == '\n')
            hf__buf_adds(buf, "\\n");
        else if (cp == '\r')
            hf__buf_adds(buf, "\\r");
        else if (cp == '\t')
            hf__buf_adds(buf, "\\t");
        else if (!hf__utf8_is_unseen(cp))
            hf__buf_add(buf, s + i, n);
        else if (cp < 0x100)
            hf__buf_addf(buf, "\\x%02x", (unsigned)cp);
        else if (cp < 0x10000)
            hf__buf_addf(buf, "\\u%04x", (unsigned)cp);
        else
            hf__buf_addf(buf, "\\U%08x", (unsigned)cp);
        i += n;
    }
}
