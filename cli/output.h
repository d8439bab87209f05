/* output.h - a file that appears under its name whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "print.h"

struct output {
    const struct cli *cli;
    const char *path;  /* as named; NULL: standard output */
    char *temp;        /* where it is written until it is complete, if it has a name */
    int fd;
    int nameless;      /* a file without a name until then */
    int force;
    int failed;        /* errno of the first failed write */
    struct hf__buf buf;
};

/* Begins PATH (NULL or "-": standard output).  Refused: a file that exists (without
 * FORCE), a symlink, and any file of a store.  EXIT_GO_ON, or an exit status after saying
 * why. */
int output_open(struct cli *cli, const char *path, int force, struct output *ret);
/* hf_write_fn; CTX is the struct output. */
int output_write(void *ctx, const char *bytes, size_t len);
/* Syncs and gives it its name.  EXIT_FINE, or an exit status after saying why not. */
int output_commit(struct output *output);
/* Removes what was not committed.  To be called in every case. */
void output_close(struct output *output);

#endif
