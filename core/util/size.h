/* size.h - sizes of files for people. */
#ifndef HF_UTIL_SIZE_H
#define HF_UTIL_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* "264.0 KB" into RET: steps of 1024, one decimal, whatever the locale. */
void hf__size_text(uint64_t bytes, char *ret, size_t size);

#endif
