/* size.c - sizes of files for people. */
#include <stdio.h>

#include "size.h"

void
hf__size_text(uint64_t bytes, char *ret, size_t size)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    unsigned long long tenths;
    size_t unit = 0;

    /* From 1023.95 on the one decimal would round up to 1024.0. */
    while (value >= (unit ? 1023.95 : 1024.0) && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024.0;
        unit++;
    }
    /* By integers, since the decimal point of printf depends on the locale. */
    tenths = (unsigned long long)(value * 10.0 + 0.5);
    if (unit == 0)
        snprintf(ret, size, "%llu B", (unsigned long long)bytes);
    else
        snprintf(ret, size, "%llu.%llu %s", tenths / 10, tenths % 10, units[unit]);
}
