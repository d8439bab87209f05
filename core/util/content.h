/* content.h - what is in a content or tool_calls cell.  Here rather than in the core,
 * since backends preview and count too. */
#ifndef HF_UTIL_CONTENT_H
#define HF_UTIL_CONTENT_H

#include <jansson.h>
#include <stdint.h>

#include <holdfast/record.h>

#include "buf.h"

/* The value of a structured cell (NUL "json:" JSON), to be released with json_decref();
 * NULL when the cell is plain text, which broken JSON after the mark is too. */
json_t *hf__content_parse(const struct hf_text *content);
/* The text parts of a content cell (plain, or NUL "json:" JSON), appended to OUT; parts
 * are separated by newlines. */
void hf__content_text(struct hf__buf *out, const struct hf_text *content);
/* The calls in a tool_calls cell; 0 when it is no array. */
int64_t hf__tool_call_count(const struct hf_text *tool_calls);
/* Appends the preview of a first user message: white space folded, 60 characters and
 * "..." (SPEC 11). */
void hf__preview(struct hf__buf *out, const struct hf_text *content);

#endif
