/* misc.c - clock, random names, near misses, and texts that travel by pointer and
 * length.  Paths and files are in path.c. */
#include "misc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

double
hf__now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int64_t
hf__monotonic_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void
hf__sleep_ms(int64_t ms)
{
    struct timespec ts;

    if (ms <= 0)
        return;
    ts.tv_sec = (time_t)(ms / 1000);
    ts.tv_nsec = (long)(ms % 1000) * 1000000L;
    while (nanosleep(&ts, &ts) && errno == EINTR)
        ;
}

/* The kernel's random bytes; where a sandbox forbids the call, those of its device. */
static void
random_fill(void *ret, size_t len)
{
    unsigned char *p = ret;
    size_t done = 0;
    int fd = -1;

    while (done < len) {
        ssize_t n = fd < 0 ? getrandom(p + done, len - done, 0)
                           : read(fd, p + done, len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (fd < 0 && (fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC)) >= 0)
            continue;
        else
            break;
    }
    if (fd >= 0)
        close(fd);
    /* With neither source names must still differ between processes and calls. */
    for (; done < len; done++) {
        static uint64_t counter;
        struct timespec ts;
        uint64_t x = __atomic_add_fetch(&counter, 0x9E3779B97F4A7C15u,
                                        __ATOMIC_RELAXED);
        clock_gettime(CLOCK_REALTIME, &ts);
        x ^= (uint64_t)ts.tv_nsec * 0xBF58476D1CE4E5B9u ^ (uint64_t)getpid() << 32;
        x ^= x >> 29;
        p[done] = (unsigned char)(x * 0x94D049BB133111EBu >> 56);
    }
}

void
hf__random_hex(char *ret, size_t n_bytes)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[32];
    size_t i = 0;

    while (i < n_bytes) {
        size_t n = n_bytes - i < sizeof bytes ? n_bytes - i : sizeof bytes, j;
        random_fill(bytes, n);
        for (j = 0; j < n; j++, i++) {
            ret[2 * i] = hex[bytes[j] >> 4];
            ret[2 * i + 1] = hex[bytes[j] & 15];
        }
    }
    ret[2 * n_bytes] = '\0';
}

uint32_t
hf__random_below(uint32_t bound)
{
    uint32_t x, limit;

    if (bound < 2)
        return 0;
    limit = UINT32_MAX - UINT32_MAX % bound; /* beyond it the low values would win */
    do
        random_fill(&x, sizeof x);
    while (x >= limit);
    return x % bound;
}

/* How many insertions, deletions, changes and swaps of neighbours lead from A to B;
 * words longer than the table are "far". */
static size_t
word_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    unsigned char d[LONGEST + 1][LONGEST + 1];
    size_t la = strlen(a), lb = strlen(b), i, j;

    if (la > LONGEST || lb > LONGEST)
        return LONGEST;
    for (i = 0; i <= la; i++)
        d[i][0] = (unsigned char)i;
    for (j = 0; j <= lb; j++)
        d[0][j] = (unsigned char)j;
    for (i = 1; i <= la; i++)
        for (j = 1; j <= lb; j++) {
            int same = !strncasecmp(a + i - 1, b + j - 1, 1);
            unsigned best = d[i - 1][j - 1] + (same ? 0u : 1u);
            if (d[i - 1][j] + 1u < best)
                best = d[i - 1][j] + 1u;
            if (d[i][j - 1] + 1u < best)
                best = d[i][j - 1] + 1u;
            if (i > 1 && j > 1 && !strncasecmp(a + i - 1, b + j - 2, 1) &&
                !strncasecmp(a + i - 2, b + j - 1, 1) && d[i - 2][j - 2] + 1u < best)
                best = d[i - 2][j - 2] + 1u;
            d[i][j] = (unsigned char)best;
        }
    return d[la][lb];
}

const char *
hf__near_miss(const char *word, const char *const *candidates)
{
    const char *found = NULL;
    size_t best = 3, len = strlen(word);

    for (; *candidates; candidates++) {
        size_t distance = word_distance(word, *candidates);
        if (distance < best && 2 * distance < len) {
            best = distance;
            found = *candidates;
        }
    }
    return found;
}

int
hf__text_is(const struct hf_text *t, const char *s)
{
    return t->ptr && t->len == strlen(s) && !memcmp(t->ptr, s, t->len);
}

char *
hf__text_dup(const struct hf_text *t)
{
    char *copy;

    if (!t->ptr || t->len >= SIZE_MAX)
        return NULL;
    copy = malloc((size_t)t->len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, t->ptr, (size_t)t->len);
    copy[t->len] = '\0';
    return copy;
}

void
hf__abi_copy(void *dst, size_t dst_size, const void *src)
{
    struct hf_abi abi;
    size_t n;

    memcpy(&abi, src, sizeof abi);
    n = abi.size < dst_size ? abi.size : dst_size;
    memset(dst, 0, dst_size);
    memcpy(dst, src, n);
    abi.major = HF_ABI_MAJOR;
    abi.minor = HF_ABI_MINOR;
    abi.size = (uint32_t)dst_size;
    memcpy(dst, &abi, sizeof abi);
}
