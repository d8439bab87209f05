/* opt.c - the options of a command as a table: parsed, checked, and printed as help. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "print.h"
#include "times.h"
#include "util/misc.h"

#define N_GLOBALS 8
#define MAX_NAMES 64

/* The global options as a table over CLI, with room for its end. */
static void
globals_make(struct cli *cli, struct opt *ret)
{
    const struct opt table[N_GLOBALS + 1] = {
        {"home", 0, OPT_TEXT, &cli->home, "DIR",
         "the home to work on (else $HOLDFAST_HOME,\n"
         "$HERMES_HOME, ~/.hermes, ~/.holdfast)"},
        {"profile", 'p', OPT_TEXT, &cli->profile, "NAME", "the profile of that home"},
        {"json", 0, OPT_FLAG, &cli->json, NULL, "one JSON document on standard output"},
        {"no-color", 0, OPT_FLAG, &cli->no_color, NULL, "no colours ($NO_COLOR too)"},
        {"quiet", 'q', OPT_FLAG, &cli->quiet, NULL, "only errors on standard error"},
        {"verbose", 'v', OPT_FLAG, &cli->verbose, NULL, "say more on standard error"},
        {"help", 'h', OPT_FLAG, &cli->help, NULL, "this text"},
        {"version", 0, OPT_FLAG, &cli->version, NULL, "the version"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    memcpy(ret, table, sizeof table);
}

static const struct opt *
find_name(const struct opt *table, const char *name, size_t len)
{
    for (; table && table->name; table++)
        if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
            return table;
    return NULL;
}

static const struct opt *
find_letter(const struct opt *table, char letter)
{
    for (; table && table->name; table++)
        if (table->letter && table->letter == letter)
            return table;
    return NULL;
}

static int
unknown_option(struct cli *cli, const char *path, const struct opt *opts,
               const struct opt *globals, const char *arg)
{
    const char *names[MAX_NAMES + 1], *near;
    char word[64];
    const struct opt *o;
    size_t n = 0, len = strcspn(arg, "=");

    for (o = opts; o && o->name && n < MAX_NAMES; o++)
        names[n++] = o->name;
    for (o = globals; o->name && n < MAX_NAMES; o++)
        names[n++] = o->name;
    names[n] = NULL;
    snprintf(word, sizeof word, "%.*s", (int)len, arg);
    near = strncmp(word, "--", 2) == 0 ? hf__near_miss(word + 2, names) : NULL;
    if (near)
        return print_usage(cli, path, "unknown option %s; did you mean --%s?", word,
                           near);
    return print_usage(cli, path,
                       "unknown option %s (put -- before a word that begins with -)",
                       word);
}

static int
add_text(struct opt_texts *texts, const char *value)
{
    struct hf_text *more = realloc(texts->v, (size_t)(texts->n + 1) * sizeof *more);

    if (!more)
        return -1;
    more[texts->n++] = hf_str(value);
    texts->v = more;
    return 0;
}

static int
store_value(struct cli *cli, const char *path, const struct opt *opt, const char *value)
{
    struct opt_time *t;
    unsigned long long n;
    char *end;

    switch (opt->kind) {
    case OPT_FLAG:
        *(int *)opt->dest = 1;
        return EXIT_GO_ON;
    case OPT_TEXT:
        *(const char **)opt->dest = value;
        return EXIT_GO_ON;
    case OPT_TEXTS:
        if (add_text(opt->dest, value) == 0)
            return EXIT_GO_ON;
        print_no_memory();
        return EXIT_PROBLEM;
    case OPT_COUNT:
        errno = 0;
        n = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end || errno)
            return print_usage(cli, path, "--%s takes a number, not \"%s\"", opt->name,
                               value);
        *(uint64_t *)opt->dest = n;
        return EXIT_GO_ON;
    case OPT_TIME:
        t = opt->dest;
        if (times_parse(value, cli->now, &t->value) != 0)
            return print_usage(cli, path,
                               "--%s takes a duration (90d, 12h, 2w, 30m), a date "
                               "(YYYY-MM-DD[ HH:MM[:SS]]) or seconds since 1970, not "
                               "\"%s\"",
                               opt->name, value);
        t->text = value;
        return EXIT_GO_ON;
    }
    return EXIT_GO_ON;
}

/* Parses the option at argv[*at] and moves *at to its last word. */
static int
parse_option(struct cli *cli, const char *path, const struct opt *opts,
             const struct opt *globals, int argc, char **argv, int *at)
{
    const char *arg = argv[*at], *value = NULL;
    const struct opt *opt;

    if (arg[1] == '-') {
        size_t len = strcspn(arg + 2, "=");
        opt = find_name(opts, arg + 2, len);
        if (!opt)
            opt = find_name(globals, arg + 2, len);
        if (opt && arg[2 + len] == '=')
            value = arg + 3 + len;
    } else {
        opt = find_letter(opts, arg[1]);
        if (!opt)
            opt = find_letter(globals, arg[1]);
        if (opt && arg[2] != '\0') {
            /* "-pNAME"; letters of flags are not run together. */
            if (opt->kind == OPT_FLAG)
                opt = NULL;
            else
                value = arg + 2;
        }
    }
    if (!opt)
        return unknown_option(cli, path, opts, globals, arg);
    if (opt->kind == OPT_FLAG && value)
        return print_usage(cli, path, "--%s takes no value", opt->name);
    if (opt->kind != OPT_FLAG && !value) {
        if (*at + 1 >= argc)
            return print_usage(cli, path, "--%s needs a value (%s)", opt->name,
                               opt->arg ? opt->arg : "TEXT");
        value = argv[++*at];
    }
    return store_value(cli, path, opt, value);
}

static void
print_option(const struct opt *opt)
{
    char left[64];
    const char *help = opt->help, *line;

    if (!help)
        return;
    snprintf(left, sizeof left, "%c%c%s --%s%s%s", opt->letter ? '-' : ' ',
             opt->letter ? opt->letter : ' ', opt->letter ? "," : " ", opt->name,
             opt->arg ? " " : "", opt->arg ? opt->arg : "");
    printf("  %-26s ", left);
    while ((line = strchr(help, '\n')) != NULL) {
        printf("%.*s\n%29s", (int)(line - help), help, "");
        help = line + 1;
    }
    printf("%s\n", help);
}

void
opt_print_globals(void)
{
    struct opt globals[N_GLOBALS + 1];
    struct cli none = {0};
    const struct opt *o;

    globals_make(&none, globals);
    for (o = globals; o->name; o++)
        print_option(o);
}

static void
print_help(const struct cmd *cmd, const struct opt *opts)
{
    const struct opt *o;

    printf("Usage: %s%s%s\n\n%s\n", cmd->path, *cmd->synopsis ? " " : "", cmd->synopsis,
           cmd->summary);
    if (cmd->details)
        printf("\n%s", cmd->details);
    if (opts && opts->name) {
        printf("\nOptions:\n");
        for (o = opts; o->name; o++)
            print_option(o);
    }
    printf("\nGlobal options:\n");
    opt_print_globals();
    if (cmd->examples)
        printf("\nExamples:\n%s", cmd->examples);
    printf("\n%s", EXIT_HELP);
}

int
opt_parse(struct cli *cli, const struct cmd *cmd, const struct opt *opts, int argc,
          char **argv, int min, int max, struct opt_words *ret_words)
{
    struct opt globals[N_GLOBALS + 1];
    int i, rc, only_words = 0;

    globals_make(cli, globals);
    ret_words->n = 0;
    ret_words->v = calloc((size_t)argc + 1, sizeof *ret_words->v);
    if (!ret_words->v) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    for (i = 0; i < argc; i++) {
        if (only_words || argv[i][0] != '-' || argv[i][1] == '\0') {
            ret_words->v[ret_words->n++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            only_words = 1;
            continue;
        }
        rc = parse_option(cli, cmd->path, opts, globals, argc, argv, &i);
        if (rc != EXIT_GO_ON)
            return rc;
    }
    if (cli->help) {
        print_help(cmd, opts);
        return print_finish(cli, EXIT_FINE);
    }
    if (ret_words->n < min)
        return print_usage(cli, cmd->path, "something is missing: %s %s", cmd->path,
                           cmd->synopsis);
    if (max >= 0 && ret_words->n > max)
        return print_usage(cli, cmd->path, "\"%s\" is one word too many",
                           ret_words->v[max]);
    cli->json_early = 0;
    if (cli->no_color)
        cli->color = 0;
    return EXIT_GO_ON;
}

int
opt_globals(struct cli *cli, const char *path, int argc, char **argv)
{
    struct opt globals[N_GLOBALS + 1];
    int i;

    globals_make(cli, globals);
    for (i = 0; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            return i;
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (parse_option(cli, path, NULL, globals, argc, argv, &i) != EXIT_GO_ON)
            return -1;
    }
    return argc;
}

int
opt_window(struct cli *cli, const struct cmd *cmd, const struct opt_time *since,
           const struct opt_time *until)
{
    char a[32], b[32];

    if (since->value <= 0.0 || until->value <= 0.0 || since->value < until->value)
        return EXIT_GO_ON;
    times_full(since->value, a, sizeof a);
    times_full(until->value, b, sizeof b);
    return print_usage(cli, cmd->path,
                       "the window is empty: it begins at %s (\"%s\") and ends before "
                       "%s (\"%s\")",
                       a, since->text, b, until->text);
}

void
opt_words_free(struct opt_words *words)
{
    free(words->v);
    words->v = NULL;
    words->n = 0;
}

void
opt_texts_free(struct opt_texts *texts)
{
    free(texts->v);
    texts->v = NULL;
    texts->n = 0;
}
