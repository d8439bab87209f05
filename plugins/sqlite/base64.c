/* base64.c - BLOBs in JSON: the standard alphabet, padded, in one line. */
#include "base64.h"

#include <string.h>

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
hf__base64_write(struct hf__buf *out, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        unsigned long v = (unsigned long)p[i] << 16;
        if (have > 1)
            v |= (unsigned long)p[i + 1] << 8;
        if (have > 2)
            v |= p[i + 2];
        hf__buf_addc(out, letters[v >> 18]);
        hf__buf_addc(out, letters[v >> 12 & 63]);
        hf__buf_addc(out, have > 1 ? letters[v >> 6 & 63] : '=');
        hf__buf_addc(out, have > 2 ? letters[v & 63] : '=');
    }
}

int
hf__base64_read(struct hf__buf *out, const char *s, size_t len)
{
    if (len % 4)
        return 0;
    for (size_t i = 0; i < len; i += 4) {
        unsigned long v = 0;
        size_t pad = 0;
        for (size_t k = 0; k < 4; k++) {
            const char *at = s[i + k] ? strchr(letters, s[i + k]) : NULL;
            if (!at && s[i + k] == '=' && i + 4 == len && k >= 2)
                pad++;
            else if (!at || pad)
                return 0;
            v = v << 6 | (at ? (unsigned long)(at - letters) : 0);
        }
        hf__buf_addc(out, (char)(v >> 16));
        if (pad < 2)
            hf__buf_addc(out, (char)(v >> 8 & 255));
        if (pad < 1)
            hf__buf_addc(out, (char)(v & 255));
    }
    return 1;
}
