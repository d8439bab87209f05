/* cmd_sessions.c - `holdfast sessions`: the table of its commands. */
#include <stdio.h>

#include "opt.h"
#include "print.h"

#define WHEN                                                                        \
    "T is a duration back from now (90d, 12h, 2w, 30m), a local date\n"             \
    "(YYYY-MM-DD[ HH:MM[:SS]]) or seconds since 1970.  The window begins at\n"      \
    "--since and ends before --until.\n"
#define WHICH                                                                       \
    "ID is a session's id or its unique beginning; @session:PROFILE/ID is one of\n" \
    "another profile.\n"

const struct cmd session_commands[] = {
    {"list", "holdfast sessions list", "[options]", "Lists sessions, newest first.",
     "Continued, delegated, archived and hidden sessions, and those of source \"tool\",\n"
     "are left out unless asked for.  Times are of the last activity.\n" WHEN,
     "  holdfast sessions list\n"
     "  holdfast sessions list --source telegram --since 7d --sort recent\n"
     "  holdfast --json sessions list --all --limit 0\n",
     cmd_sessions_list},
    {"show", "holdfast sessions show", "[options] ID", "Shows a session's transcript.",
     WHICH,
     "  holdfast sessions show 20260801_101500_a1b2c3\n"
     "  holdfast sessions show 20260801_10 --limit 5\n"
     "  holdfast --json sessions show @session:work/20260801_101500_a1b2c3 --all\n",
     cmd_sessions_show},
    {"search", "holdfast sessions search", "[options] QUERY...",
     "Finds messages by their words.",
     "Words are AND-ed; \"a phrase\", OR, NOT and word* mean what they say.\n" WHEN,
     "  holdfast sessions search 'disk full'\n"
     "  holdfast sessions search '\"exit status\" OR crash' --role assistant\n"
     "  holdfast --json sessions search backup --since 30d --newest\n",
     cmd_sessions_search},
    {"new", "holdfast sessions new", "[options]",
     "Makes a session and prints its id.", NULL,
     "  holdfast sessions new --title 'Nightly report'\n"
     "  id=$(holdfast sessions new --source cron)\n",
     cmd_sessions_new},
    {"append", "holdfast sessions append", "[options] ID [-]",
     "Appends messages to a session and prints their ids.",
     WHICH
     "With --jsonl each line is an object with role and content and perhaps timestamp,\n"
     "tool_calls, tool_name, tool_call_id and other columns; all lines are stored in\n"
     "one transaction, or none is.  \"-\" is standard input.\n",
     "  holdfast sessions append ID --role user --content 'Good morning'\n"
     "  git log -1 | holdfast sessions append ID --role tool --tool-name git -\n"
     "  holdfast sessions append ID --jsonl messages.jsonl\n",
     cmd_sessions_append},
    {"end", "holdfast sessions end", "ID REASON",
     "Ends a session; the first reason stays.", WHICH,
     "  holdfast sessions end 20260801_101500_a1b2c3 user_exit\n",
     cmd_sessions_end},
    {"rename", "holdfast sessions rename", "ID TITLE",
     "Gives a session another title; '' removes it.", WHICH,
     "  holdfast sessions rename 20260801_101500_a1b2c3 'Disk alarm'\n"
     "  holdfast sessions rename 20260801_101500_a1b2c3 ''\n",
     cmd_sessions_rename},
    {"stats", "holdfast sessions stats", "", "Counts sessions and messages, and sizes.",
     NULL,
     "  holdfast sessions stats\n"
     "  holdfast --json -p work sessions stats\n",
     cmd_sessions_stats},
    {"export", "holdfast sessions export", "[options] [ID...]",
     "Writes sessions as JSON Lines, one session a line.",
     "Without ID and filters every session, open, archived and hidden too.  Words are\n"
     "always ids: a file is named with -o, and standard output is the default.\n" WHEN,
     "  holdfast sessions export -o all.jsonl\n"
     "  holdfast sessions export 20260801_101500_a1b2c3 | jq .title\n"
     "  holdfast sessions export --source telegram --newer-than 30d -o - | gzip >t.gz\n",
     cmd_sessions_export},
    {"import", "holdfast sessions import", "[--merge] FILE|-",
     "Reads what export wrote.",
     "Sessions that exist are skipped, or with --merge get the messages they lack.\n",
     "  holdfast sessions import all.jsonl\n"
     "  zcat t.gz | holdfast -p work sessions import --merge -\n",
     cmd_sessions_import},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL}};

static void
help(const struct cmd *cmd)
{
    const struct cmd *c;

    printf("Usage: %s %s\n\n%s\n\nCommands:\n", cmd->path, cmd->synopsis, cmd->summary);
    for (c = session_commands; c->name; c++)
        printf("  %-12s %s\n", c->name, c->summary);
    printf("\nGlobal options:\n");
    opt_print_globals();
    printf("\n`holdfast sessions COMMAND --help` says more.\n\n%s", EXIT_HELP);
}

int
cmd_sessions(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    const struct cmd *sub;
    int at = opt_globals(cli, cmd->path, argc, argv);

    if (at < 0)
        return EXIT_USAGE;
    if (at == argc) {
        if (!cli->help)
            return print_usage(cli, cmd->path, "which command of `holdfast sessions`?");
        help(cmd);
        return EXIT_FINE;
    }
    sub = cmd_find(session_commands, argv[at]);
    if (!sub)
        return cmd_unknown(cli, session_commands, cmd->path, argv[at]);
    return sub->run(cli, sub, argc - at - 1, argv + at + 1);
}
