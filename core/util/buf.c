/* buf.c - a growable run of bytes.  It grows by half, and once an allocation has failed
 * it stays failed and takes nothing more, so that no caller ever sees a text with a
 * hole in it. */
#include "buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for LEN more bytes and a NUL. */
static int
room_make(struct hf__buf *buf, size_t len)
{
    size_t need, cap;
    char *ptr;

    if (buf->failed)
        return 0;
    if (len > SIZE_MAX / 4 || buf->len > SIZE_MAX / 4) {
        buf->failed = 1;
        return 0;
    }
    need = buf->len + len + 1;
    if (need <= buf->cap)
        return 1;
    cap = buf->cap + buf->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    ptr = realloc(buf->ptr, cap);
    if (!ptr) {
        buf->failed = 1;
        return 0;
    }
    buf->ptr = ptr;
    buf->cap = cap;
    return 1;
}

void
hf__buf_add(struct hf__buf *buf, const void *bytes, size_t len)
{
    if (!room_make(buf, len))
        return;
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void
hf__buf_adds(struct hf__buf *buf, const char *s)
{
    hf__buf_add(buf, s, strlen(s));
}

void
hf__buf_addc(struct hf__buf *buf, char c)
{
    hf__buf_add(buf, &c, 1);
}

void
hf__buf_addf(struct hf__buf *buf, const char *fmt, ...)
{
    va_list ap, again;
    char small[256];
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0)
        buf->failed = 1;
    else if ((size_t)n < sizeof small)
        hf__buf_add(buf, small, (size_t)n);
    else if (room_make(buf, (size_t)n)) {
        vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void
hf__buf_clear(struct hf__buf *buf)
{
    buf->len = 0;
    buf->failed = 0;
    if (buf->ptr)
        buf->ptr[0] = '\0';
}

void
hf__buf_free(struct hf__buf *buf)
{
    free(buf->ptr);
    memset(buf, 0, sizeof *buf);
}

char *
hf__buf_take(struct hf__buf *buf)
{
    char *ptr = NULL;

    hf__buf_add(buf, "", 0); /* an empty buffer is an empty string, not NULL */
    if (!buf->failed) {
        ptr = buf->ptr;
        buf->ptr = NULL;
    }
    hf__buf_free(buf);
    return ptr;
}
