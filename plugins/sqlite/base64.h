/* base64.h - BLOBs in JSON. */
#ifndef HF_SQLITE_BASE64_H
#define HF_SQLITE_BASE64_H

#include <stddef.h>

#include "util/buf.h"

void hf__base64_write(struct hf__buf *out, const void *bytes, size_t len);
/* Appends the decoded bytes and returns 1, or returns 0 for text that is no base64. */
int hf__base64_read(struct hf__buf *out, const char *s, size_t len);

#endif
