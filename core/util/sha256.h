/* sha256.h - SHA-256 (FIPS 180-4), for names that must not collide. */
#ifndef HF_UTIL_SHA256_H
#define HF_UTIL_SHA256_H

#include <stddef.h>

void hf__sha256(const void *bytes, size_t len, unsigned char ret[32]);

#endif
