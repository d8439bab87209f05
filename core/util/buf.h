/* buf.h - a growable run of bytes.  A failed allocation is remembered in `failed`, so
 * that a caller checks once at the end. */
#ifndef HF_UTIL_BUF_H
#define HF_UTIL_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct hf__buf {
    char *ptr; /* ends in a NUL that len does not count, once something was added */
    size_t len, cap;
    int failed;
};

void hf__buf_add(struct hf__buf *buf, const void *bytes, size_t len);
void hf__buf_adds(struct hf__buf *buf, const char *s);
void hf__buf_addc(struct hf__buf *buf, char c);
void hf__buf_addf(struct hf__buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void hf__buf_clear(struct hf__buf *buf); /* keeps the memory */
void hf__buf_free(struct hf__buf *buf);  /* leaves an empty one */
/* The bytes, for the caller to free(); NULL when an allocation failed. */
char *hf__buf_take(struct hf__buf *buf);

#endif
