/* times.h - times as people write and read them, in the local zone. */
#ifndef CLI_TIMES_H
#define CLI_TIMES_H

#include <stddef.h>

/* Reads "90d", "12h", "2w", "30m" (that long before NOW), "YYYY-MM-DD[ HH:MM[:SS]]" in
 * local time, or seconds since 1970.  Returns 0, or -1 when TEXT is none of them. */
int times_parse(const char *text, double now, double *ret);
/* "just now", "5m ago", "3h ago", "yesterday", "4d ago", then the date; "?" for none. */
void times_ago(double t, double now, char *ret, size_t size);
/* "2026-08-01 10:00:00", or "?". */
void times_full(double t, char *ret, size_t size);

#endif
