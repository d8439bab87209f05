/* content.h - a message's content as lines for a terminal. */
#ifndef CLI_CONTENT_H
#define CLI_CONTENT_H

#include "print.h"

/* Appends CONTENT, plain or structured (NUL "json:" JSON), indented by INDENT, each line
 * safe for a terminal and ended by a newline. */
void content_print(struct hf__buf *out, const struct hf_text *content,
                   const char *indent);
/* Appends one line a call of a tool_calls cell: "-> name(arguments)". */
void content_calls(struct hf__buf *out, const struct hf_text *calls, const char *indent);

#endif
