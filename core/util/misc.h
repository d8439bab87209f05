/* misc.h - clock, random names, paths, near misses. */
#ifndef HF_UTIL_MISC_H
#define HF_UTIL_MISC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/error.h>
#include <holdfast/record.h>

double hf__now(void);             /* seconds since 1970 UTC */
int64_t hf__monotonic_ms(void);
void hf__sleep_ms(int64_t ms);    /* goes on after EINTR */
/* 2*N hex digits and a NUL into RET; from the kernel's random source. */
void hf__random_hex(char *ret, size_t n_bytes);
uint32_t hf__random_below(uint32_t bound);

/* "A/B" for the caller to free(); NULL without memory. */
char *hf__path_join(const char *a, const char *b);
/* Makes PATH and its missing parents with mode 0700 (whatever the umask says). */
int hf__mkdirs(const char *path, struct hf_error *err);
/* PATH made absolute and free of symlinks as far as it exists; the rest is taken as
 * written.  For the caller to free(). */
char *hf__path_resolve(const char *path);
/* Reads a whole regular file of at most MAX bytes; *ret for the caller to free(), ends
 * in a NUL that is not counted. */
int hf__read_file(const char *path, size_t max, char **ret, size_t *ret_len,
                  struct hf_error *err);
/* The candidate (of a NULL-ended list) that WORD was probably meant to be, or NULL. */
const char *hf__near_miss(const char *word, const char *const *candidates);
/* Whether T holds exactly the bytes of S. */
int hf__text_is(const struct hf_text *t, const char *s);
/* A NUL-ended copy for the caller to free(); NULL for NULL or without memory. */
char *hf__text_dup(const struct hf_text *t);
/* Copies what both sides know of a size-stamped struct over a zeroed one.  DST_SIZE is
 * the receiver's size; the stamp in DST is then the receiver's own. */
void hf__abi_copy(void *dst, size_t dst_size, const void *src);

#endif
