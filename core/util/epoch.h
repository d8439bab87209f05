/* epoch.h - stored times (SPEC 7).  The core exports the reading as hf_epoch_coerce();
 * backends, which link nothing of the core, use this. */
#ifndef HF_UTIL_EPOCH_H
#define HF_UTIL_EPOCH_H

#include <stdint.h>

#include <holdfast/record.h>

/* Whether T may be written: finite and inside the window. */
int hf__time_valid(double t);
/* See hf_epoch_coerce(). */
double hf__epoch_coerce(uint32_t type, int64_t integer, double real,
                        const struct hf_text *text, uint32_t *ret_bad);

#endif
