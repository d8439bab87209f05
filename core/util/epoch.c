/* epoch.c - reading a stored time, whatever stands in its cell. */
#include "epoch.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

int
hf__time_valid(double t)
{
    return t >= 0 && t <= HF_MAX_TIME; /* NaN fails both */
}

static int
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a decimal number, blanks round it allowed, into *RET.  Checked by hand, since
 * strtod() also takes "inf", hexadecimal and the decimal point of the host's locale. */
static int
number_read(const struct hf_text *text, double *ret)
{
    struct hf__buf copy = {0};
    const char *p = text->ptr, *end = p + text->len;
    int digits = 0, ok;

    if (!p || text->len > 400) /* a double has no more digits than that */
        return 0;
    while (p < end && is_blank(*p))
        p++;
    while (end > p && is_blank(end[-1]))
        end--;
    if (p < end && (*p == '+' || *p == '-'))
        hf__buf_addc(&copy, *p++);
    for (; p < end && is_digit(*p); digits++)
        hf__buf_addc(&copy, *p++);
    if (p < end && *p == '.') {
        hf__buf_adds(&copy, localeconv()->decimal_point);
        for (p++; p < end && is_digit(*p); digits++)
            hf__buf_addc(&copy, *p++);
    }
    if (digits && p < end && (*p == 'e' || *p == 'E')) {
        hf__buf_addc(&copy, *p++);
        if (p < end && (*p == '+' || *p == '-'))
            hf__buf_addc(&copy, *p++);
        digits = p < end && is_digit(*p);
        while (p < end && is_digit(*p))
            hf__buf_addc(&copy, *p++);
    }
    ok = digits && p == end && !copy.failed;
    if (ok)
        *ret = strtod(copy.ptr, NULL);
    hf__buf_free(&copy);
    return ok;
}

double
hf__epoch_coerce(uint32_t type, int64_t integer, double real,
                 const struct hf_text *text, uint32_t *ret_bad)
{
    double t = HF_NO_TIME;
    uint32_t bad = 0;

    switch (type) {
    case HF_NULL:
        break;
    case HF_INT:
        t = (double)integer;
        bad = !hf__time_valid(t);
        break;
    case HF_REAL:
        t = real;
        bad = !isnan(t) && !hf__time_valid(t);
        break;
    case HF_TEXT:
        bad = !number_read(text, &t) || !hf__time_valid(t);
        break;
    default: /* a BLOB */
        bad = 1;
        break;
    }
    if (ret_bad)
        *ret_bad = bad;
    return bad ? HF_NO_TIME : t;
}
