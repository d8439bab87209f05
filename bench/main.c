/* main.c - holdfast-bench: options, and the order of things. */
#include "bench.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("holdfast-bench: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

static void
usage(FILE *to)
{
    fputs("usage: holdfast-bench [--all | --only NAME] [--dir DIR] [--rounds N]\n"
          "                      [--quick] [--json]\n"
          "Times Holdfast's sqlite backend and the bare SQLite C API at the same work,\n"
          "in a fresh folder below DIR (default: TMPDIR, else /tmp).\n"
          "  --only NAME  cases whose name holds NAME\n"
          "  --rounds N   medians of N runs (default 5)\n"
          "  --quick      small and once: shows that it works, not how fast\n",
          to);
}

static int
options_read(struct bench *b, const char **ret_dir, int argc, char **argv)
{
    static const struct option names[] = {
        {"all", no_argument, NULL, 'a'},       {"only", required_argument, NULL, 'o'},
        {"dir", required_argument, NULL, 'd'}, {"rounds", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, 'q'},     {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        switch (c) {
        case 'a':
            b->only = NULL;
            break;
        case 'o':
            b->only = optarg;
            break;
        case 'd':
            *ret_dir = optarg;
            break;
        case 'r':
            b->rounds = atoi(optarg);
            break;
        case 'q':
            b->rounds = 1;
            b->sessions = 60;
            b->long_session = 200;
            b->appends = 20;
            break;
        case 'j':
            b->json = 1;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return -1;
        }
    }
    return optind == argc && b->rounds >= 1 ? 0 : -1;
}

int
main(int argc, char **argv)
{
    struct bench b = {.rounds = 5, .sessions = 2000, .long_session = 1000,
                      .appends = 500};
    const char *dir = getenv("TMPDIR");
    struct figure *figures;
    size_t n;

    if (argc > 2 && strcmp(argv[1], "--hold") == 0)
        return holder_main(argc - 2, argv + 2);
    if (options_read(&b, &dir, argc, argv) != 0) {
        usage(stderr);
        return 2;
    }
    if (asprintf(&b.dir, "%s/holdfast-bench-XXXXXX", dir && *dir ? dir : "/tmp") < 0)
        die("out of memory");
    setup_make(&b);
    n = cases_run(&b, &figures);
    setup_remove(&b);
    figures_print(&b, figures, n);
    free(figures);
    if (n == 0)
        die("no case is called \"%s\"", b.only ? b.only : "");
    return 0;
}
