/* cmd.h - the shape of a command, and what all commands share. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stddef.h>

#include <holdfast/holdfast.h>

#include "exitcode.h"

/* One run of the program: its global options and its runtime. */
struct cli {
    const char *home, *profile; /* --home, --profile; NULL: not given */
    int json, no_color, quiet, verbose, help, version;
    int color;              /* standard output takes colours */
    int json_early;         /* --json stands somewhere; holds until options are read */
    double now;             /* one moment for everything that counts back from it */
    int may_thread;         /* the runtime may start a thread */
    struct hf_runtime *rt;  /* cli_runtime() makes it */
};

/* An entry of a table of commands; the table ends with a NULL name. */
struct cmd {
    const char *name;     /* "list" */
    const char *path;     /* "holdfast sessions list" */
    const char *synopsis; /* "[options] ID" */
    const char *summary;  /* one line for the list of commands */
    const char *details;  /* what --help says further; may be NULL */
    const char *examples; /* lines of --help, each with its indentation */
    int (*run)(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
};

extern const struct cmd session_commands[];

/* The entry called NAME, or NULL. */
const struct cmd *cmd_find(const struct cmd *table, const char *name);
/* Says that WORD is no command of TABLE, with the near miss; returns EXIT_USAGE. */
int cmd_unknown(struct cli *cli, const struct cmd *table, const char *path,
                const char *word);

/* ---- context.c: runtime and store of a run ---- */

/* Makes cli->rt once.  Returns EXIT_GO_ON, or an exit status after saying why not. */
int cli_runtime(struct cli *cli);
/* Opens the store of PROFILE (NULL: the one that was asked for). */
int cli_store(struct cli *cli, const char *profile, int read_only,
              struct hf_store **ret_store);
/* Opens the store that a session argument names and resolves it there: an id or a unique
 * prefix in one's own profile, or "@session:PROFILE/ID".  *ret_id is for free(); *
 * ret_named is 1 when the argument named the profile. */
int cli_session(struct cli *cli, const char *arg, int read_only,
                struct hf_store **ret_store, struct hf_text *ret_id, int *ret_named);

int cmd_doctor(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_config(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_backends(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_list(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_show(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_search(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_new(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_append(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_end(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_rename(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_stats(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_export(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
int cmd_sessions_import(struct cli *cli, const struct cmd *cmd, int argc, char **argv);

#endif
