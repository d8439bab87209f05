/* times.c - times as people write and read them, in the local zone. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "times.h"

#define LAST_TIME 4200000000.0

/* N digits of TEXT as a number in LOW..HIGH; -1 when they are not. */
static int
digits(const char *text, int n, int low, int high)
{
    int value = 0, i;

    for (i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value >= low && value <= high ? value : -1;
}

static int
parse_date(const char *text, double *ret)
{
    size_t len = strlen(text);
    int year, month, day, hour = 0, minute = 0, second = 0;
    struct tm tm = {0};
    time_t t;

    if (len < 10 || text[4] != '-' || text[7] != '-')
        return -1;
    year = digits(text, 4, 1970, 2103);
    month = digits(text + 5, 2, 1, 12);
    day = digits(text + 8, 2, 1, 31);
    if (len > 10) {
        if ((len != 16 && len != 19) || (text[10] != ' ' && text[10] != 'T') ||
            text[13] != ':' || (len == 19 && text[16] != ':'))
            return -1;
        hour = digits(text + 11, 2, 0, 23);
        minute = digits(text + 14, 2, 0, 59);
        second = len == 19 ? digits(text + 17, 2, 0, 59) : 0;
    }
    if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
        return -1;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    tm.tm_isdst = -1;
    t = mktime(&tm);
    /* mktime() turns the 31st of February into a day of March. */
    if (t == (time_t)-1 || tm.tm_mday != day || tm.tm_mon != month - 1)
        return -1;
    *ret = (double)t;
    return 0;
}

/* Seconds of an "s", "m", "h", "d" or "w"; 0 for any other letter. */
static double
unit_seconds(char unit)
{
    switch (unit) {
    case 's':
        return 1.0;
    case 'm':
        return 60.0;
    case 'h':
        return 3600.0;
    case 'd':
        return 86400.0;
    case 'w':
        return 7 * 86400.0;
    }
    return 0.0;
}

int
times_parse(const char *text, double now, double *ret)
{
    unsigned long long n;
    double unit, fraction = 0.0, scale = 0.1, value;
    char *end;

    if (parse_date(text, ret) == 0)
        return 0;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno)
        return -1;
    unit = unit_seconds(*end);
    if (unit > 0.0 && end[1] == '\0') {
        value = now - (double)n * unit;
        *ret = value > 1.0 ? value : 1.0; /* 0 would mean "no bound" */
        return 0;
    }
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10.0)
            fraction += (*end - '0') * scale;
    value = (double)n + fraction;
    if (*end || value > LAST_TIME)
        return -1;
    *ret = value > 0.0 ? value : 1e-9;
    return 0;
}

static int
local(double t, struct tm *ret)
{
    time_t whole;

    if (!(t >= 0.0 && t <= LAST_TIME))
        return -1;
    whole = (time_t)floor(t);
    return localtime_r(&whole, ret) ? 0 : -1;
}

/* Days since some fixed day of the local calendar. */
static long
day_number(const struct tm *tm)
{
    long y = tm->tm_year + 1900L - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + tm->tm_yday;
}

void
times_ago(double t, double now, char *ret, size_t size)
{
    struct tm then, today;
    double age = now - t;
    long days;

    if (local(t, &then) != 0 || local(now, &today) != 0) {
        snprintf(ret, size, "?");
        return;
    }
    days = day_number(&today) - day_number(&then);
    if (age < -60.0 || days > 6)
        strftime(ret, size, "%Y-%m-%d", &then);
    else if (age < 60.0)
        snprintf(ret, size, "just now");
    else if (age < 3600.0)
        snprintf(ret, size, "%dm ago", (int)(age / 60.0));
    else if (days == 0 || age < 6 * 3600.0)
        snprintf(ret, size, "%dh ago", (int)(age / 3600.0));
    else if (days == 1)
        snprintf(ret, size, "yesterday");
    else
        snprintf(ret, size, "%ldd ago", days);
}

void
times_full(double t, char *ret, size_t size)
{
    struct tm tm;

    if (local(t, &tm) != 0 || strftime(ret, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(ret, size, "?");
}
