/* json_write.h - writing JSON: valid UTF-8 whatever goes in, numbers that read back
 * exactly.  Reading JSON is jansson's job. */
#ifndef HF_UTIL_JSON_WRITE_H
#define HF_UTIL_JSON_WRITE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Appends one JSON value, or a key with its colon.  Commas are the writer's: call
 * hf__json_comma() before each item, with a flag that starts at 0. */
void hf__json_string(struct hf__buf *out, const char *s, size_t len);
void hf__json_int(struct hf__buf *out, int64_t value);
/* The shortest digits that read back the same; always with '.' or 'e', so that a real
 * stays a real; NaN and infinities are null. */
void hf__json_real(struct hf__buf *out, double value);
void hf__json_value(struct hf__buf *out, const json_t *value);
void hf__json_comma(struct hf__buf *out, int *ret_any);
void hf__json_key(struct hf__buf *out, const char *key);
#define HF_MAX_JSON_LEVELS 64 /* of arrays and objects in a stored value */
/* Parses text of at most 64 levels; NULL when it is not JSON.  Never an error text: the
 * callers have their own way to say it.  NULs in strings are allowed. */
json_t *hf__json_parse(const char *s, size_t len);
/* How deeply the arrays and objects of a JSON text are nested. */
int hf__json_levels(const char *s, size_t len);

#endif
