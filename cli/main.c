/* main.c - the program `holdfast`: its table of commands, and what a process needs before
 * any of them runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"
#include "print.h"
#include "util/misc.h"

static const struct cmd commands[] = {
    {"doctor", "holdfast doctor", "[--fix] [--all-profiles] [--deep]",
     "Looks at the store and its surroundings and says what is wrong.",
     "Plain doctor writes nothing and takes no write lock.\n",
     "  holdfast doctor\n"
     "  holdfast --json doctor --all-profiles\n"
     "  holdfast -p work doctor --fix\n",
     cmd_doctor},
    {"config", "holdfast config", "show",
     "Shows each setting, its value, and where it came from.", NULL,
     "  holdfast config show\n"
     "  holdfast --json -p work config show\n",
     cmd_config},
    {"backends", "holdfast backends", "[NAME|PATH]",
     "Lists the storage backends that can be loaded, and why others cannot.",
     "PATH is the absolute path of a module, hf_NAME.so.\n",
     "  holdfast backends\n"
     "  holdfast --json backends sqlite\n",
     cmd_backends},
    {"sessions", "holdfast sessions", "COMMAND ...",
     "Lists, shows, searches, writes, exports and imports sessions.", NULL, NULL,
     cmd_sessions},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL}};

static void
help(void)
{
    const struct cmd *c;

    printf("Usage: holdfast [options] COMMAND ...\n\n"
           "Keeps the sessions of an agent gateway.\n\nCommands:\n");
    for (c = commands; c->name; c++)
        printf("  %-12s %s\n", c->name, c->summary);
    printf("\nOptions:\n");
    opt_print_globals();
    printf("\n`holdfast COMMAND --help` says more.\n\n%s", EXIT_HELP);
}

const struct cmd *
cmd_find(const struct cmd *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

int
cmd_unknown(struct cli *cli, const struct cmd *table, const char *path,
            const char *word)
{
    const char *names[32], *near;
    size_t n = 0;

    for (; table->name && n < 31; table++)
        names[n++] = table->name;
    names[n] = NULL;
    near = hf__near_miss(word, names);
    if (near)
        return print_usage(cli, path, "unknown command \"%s\"; did you mean \"%s\"?",
                           word, near);
    return print_usage(cli, path, "unknown command \"%s\"", word);
}

/* A file that gets the number of a closed standard stream would be written to by the
 * messages of this program.  The stand-in for an output refuses writes, so that they are
 * reported and not lost. */
static int
streams_open(void)
{
    int fd;

    for (fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    return 0;
}

static int
wants_json(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return 1;
    return 0;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    const struct cmd *cmd;
    const char *no_color = getenv("NO_COLOR");
    int at;

    /* Known before the command line is read, since it may be wrong before that word. */
    cli->now = hf__now();
    cli->json_early = wants_json(argc, argv);
    cli->color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    at = opt_globals(cli, "holdfast", argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (cli->version) {
        printf("holdfast %s\n", hf_version());
        return EXIT_FINE;
    }
    if (at == argc) {
        if (!cli->help)
            return print_usage(cli, "holdfast", "which command?");
        help();
        return EXIT_FINE;
    }
    cmd = cmd_find(commands, argv[at]);
    if (!cmd)
        return cmd_unknown(cli, commands, "holdfast", argv[at]);
    return cmd->run(cli, cmd, argc - at - 1, argv + at + 1);
}

int
main(int argc, char **argv)
{
    struct cli cli = {0};
    int status;

    if (streams_open() != 0)
        return EXIT_PROBLEM;
    /* A closed pipe becomes a failed write, with a message and a status. */
    signal(SIGPIPE, SIG_IGN);
    status = run(&cli, argc - 1, argv + 1);
    hf_runtime_free(&cli.rt);
    return print_finish(&cli, status);
}
