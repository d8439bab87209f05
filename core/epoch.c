/* epoch.c - exports the reading of stored times. */
#include "util/epoch.h"

#include "internal.h"

double
hf_epoch_coerce(uint32_t type, int64_t integer, double real, const struct hf_text *text,
                uint32_t *ret_bad)
{
    return hf__epoch_coerce(type, integer, real, text, ret_bad);
}
