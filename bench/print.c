/* print.c - the figures, as a table for people and as JSON for programs. */
#include "bench.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Microseconds of one operation. */
static double
micro(double run, uint64_t operations)
{
    return operations ? run * 1e6 / (double)operations : 0;
}

static void
table_print(const struct bench *b, const struct figure *figures, size_t n)
{
    printf("SQLite %s; medians of %d; microseconds an operation; ratio = ours / bare\n\n",
           sqlite3_libversion(), b->rounds);
    printf("%-20s %12s %12s %8s\n", "case", "ours", "bare", "ratio");
    for (size_t i = 0; i < n; i++) {
        const struct figure *f = &figures[i];
        printf("%-20s %12.1f %12.1f %8.2f\n", f->name, micro(f->ours, f->operations),
               micro(f->bare, f->operations), f->ours / f->bare);
    }
}

static void
json_print(const struct bench *b, const struct figure *figures, size_t n)
{
    json_t *rows = json_array(), *document;

    for (size_t i = 0; i < n; i++) {
        const struct figure *f = &figures[i];
        json_array_append_new(
            rows, json_pack("{s:s,s:s,s:f,s:f,s:f}", "name", f->name, "unit", "us",
                            "ours", micro(f->ours, f->operations), "bare",
                            micro(f->bare, f->operations), "ratio", f->ours / f->bare));
    }
    document = json_pack("{s:s,s:i,s:o}", "sqlite", sqlite3_libversion(), "rounds",
                         b->rounds, "rows", rows);
    json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(document);
}

void
figures_print(const struct bench *b, const struct figure *figures, size_t n)
{
    if (b->json)
        json_print(b, figures, n);
    else
        table_print(b, figures, n);
}
