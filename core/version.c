/* version.c - what was built. */
#include "internal.h"

const char *
hf_version(void)
{
    return HF_VERSION;
}
