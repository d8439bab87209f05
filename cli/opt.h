/* opt.h - the options of a command as a table: parsed, checked, and printed as help. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdint.h>

#include "cmd.h"

enum opt_kind {
    OPT_FLAG,  /* int, set to 1 */
    OPT_TEXT,  /* const char * */
    OPT_TEXTS, /* struct opt_texts: may be given again */
    OPT_COUNT, /* uint64_t */
    OPT_TIME   /* struct opt_time: a duration back from now, or a date */
};
struct opt_texts {
    struct hf_text *v;
    uint64_t n;
};
struct opt_time {
    double value;     /* 0: not given */
    const char *text; /* as typed */
};
struct opt {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* 0: none */
    enum opt_kind kind;
    void *dest;
    const char *arg;  /* name of its value in the help; NULL for flags */
    const char *help; /* NULL: another name of the option before, not in the help */
};
/* The words of a command line that are no options. */
struct opt_words {
    const char **v;
    int n;
};

/* Parses ARGV (without the command's own name) against OPTS and the global options.
 * Returns EXIT_GO_ON, EXIT_FINE after --help, or EXIT_USAGE after saying what is wrong,
 * also when there are fewer than MIN words or more than MAX (MAX -1: any number). */
int opt_parse(struct cli *cli, const struct cmd *cmd, const struct opt *opts, int argc,
              char **argv, int min, int max, struct opt_words *ret_words);
/* Parses global options up to the first word, which is the command's name.  Returns its
 * index (ARGC: none), or -1 after saying what is wrong. */
int opt_globals(struct cli *cli, const char *path, int argc, char **argv);
void opt_print_globals(void);
/* EXIT_USAGE, naming both bounds, when no time lies between them. */
int opt_window(struct cli *cli, const struct cmd *cmd, const struct opt_time *since,
               const struct opt_time *until);
void opt_words_free(struct opt_words *words);
void opt_texts_free(struct opt_texts *texts);

#endif
