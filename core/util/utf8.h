/* utf8.h - reading and repairing UTF-8, and how wide it is on a terminal. */
#ifndef HF_UTIL_UTF8_H
#define HF_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Decodes one code point at S (LEN > 0 bytes).  Returns how many bytes it took (at least
 * 1) and sets *ret_cp, to -1 for bytes that are no UTF-8 (surrogates, overlong forms and
 * values past U+10FFFF are none). */
size_t hf__utf8_next(const char *s, size_t len, int32_t *ret_cp);
int hf__utf8_valid(const char *s, size_t len);
size_t hf__utf8_count(const char *s, size_t len); /* code points; a bad byte is one */
void hf__utf8_put(struct hf__buf *buf, int32_t cp);
/* Appends S with every bad sequence as U+FFFD. */
void hf__utf8_repair(struct hf__buf *buf, const char *s, size_t len);
/* White space of any script (tabs, newlines and U+3000 too). */
int hf__utf8_is_space(int32_t cp);
/* What shows nothing or changes how its neighbours are shown: controls (C0, DEL, C1),
 * zero-width and bidirectional characters, line separators. */
int hf__utf8_is_unseen(int32_t cp);
/* Terminal columns of one code point (0, 1 or 2: CJK and emoji are 2), whatever the
 * process's locale is. */
int hf__utf8_width(int32_t cp);
/* Appends S for a terminal or table: repaired, and every control character (C0, DEL, C1),
 * bidirectional override and zero-width character as a visible escape. */
void hf__utf8_safe(struct hf__buf *buf, const char *s, size_t len);

#endif
