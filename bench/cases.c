/* cases.c - what is measured, and how often.
 *
 * The two sides take turns within each round, so that what the machine does meanwhile
 * falls on both; the figure is the median of the rounds. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_case {
    const char *name;
    uint64_t (*ours)(struct bench *b);
    uint64_t (*bare)(struct bench *b);
    int repeat;     /* calls that make up one run */
    int per_result; /* the figure is for one of what it returns, not for one call */
    int held;       /* while another process holds the write lock */
};

static const struct bench_case cases[] = {
    {"append_one", ours_append_one, bare_append_one, 1, 1, 0},
    {"append_batch_100", ours_append_batch, bare_append_batch, 1, 1, 0},
    {"read_session", ours_read, bare_read, 10, 0, 0},
    {"list_50", ours_list, bare_list, 10, 0, 0},
    {"search_rare", ours_search_rare, bare_search_rare, 20, 0, 0},
    {"search_common", ours_search_common, bare_search_common, 5, 0, 0},
    {"export_all", ours_export, bare_export, 1, 0, 0},
    {"open_settled", ours_open_settled, bare_open_settled, 20, 0, 0},
    {"open_write_locked", ours_open_settled, bare_open_settled, 20, 0, 1},
};

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
double_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, double_compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double
run(struct bench *b, uint64_t (*side)(struct bench *), int repeat, uint64_t *ret_result)
{
    double start = seconds();
    for (int i = 0; i < repeat; i++)
        *ret_result = side(b);
    return seconds() - start;
}

static void
case_run(struct bench *b, const struct bench_case *c, struct figure *ret)
{
    double *ours = calloc((size_t)b->rounds, sizeof *ours);
    double *bare = calloc((size_t)b->rounds, sizeof *bare);
    struct holder *holder = c->held ? holder_start(b) : NULL;
    int repeat = b->rounds == 1 ? 1 : c->repeat;
    uint64_t n_ours, n_bare;

    if (!ours || !bare)
        die("out of memory");
    /* Caches are warm from here on, on both sides.  What is appended stays, so that
     * appends are not run in advance. */
    if (!c->per_result) {
        run(b, c->ours, 1, &n_ours);
        run(b, c->bare, 1, &n_bare);
    }
    for (int i = 0; i < b->rounds; i++) {
        ours[i] = run(b, c->ours, repeat, &n_ours);
        bare[i] = run(b, c->bare, repeat, &n_bare);
        if (n_ours != n_bare)
            die("%s: %llu results, and %llu with the bare SQLite", c->name,
                (unsigned long long)n_ours, (unsigned long long)n_bare);
    }
    if (holder)
        holder_stop(&holder);
    ret->name = c->name;
    ret->operations = (uint64_t)repeat * (c->per_result ? n_ours : 1);
    ret->ours = median(ours, b->rounds);
    ret->bare = median(bare, b->rounds);
    free(ours);
    free(bare);
}

size_t
cases_run(struct bench *b, struct figure **ret)
{
    size_t n_cases = sizeof cases / sizeof cases[0], n = 0;
    struct figure *figures = calloc(n_cases, sizeof *figures);

    if (!figures)
        die("out of memory");
    for (size_t i = 0; i < n_cases; i++)
        if (!b->only || strstr(cases[i].name, b->only))
            case_run(b, &cases[i], &figures[n++]);
    *ret = figures;
    return n;
}
