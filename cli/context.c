/* context.c - the runtime and the store of one run of the program. */
#include <stdlib.h>

#include "print.h"

int
cli_runtime(struct cli *cli)
{
    struct hf_runtime_options options = HF_INIT(struct hf_runtime_options);
    struct hf_error err = {0};

    if (cli->rt)
        return EXIT_GO_ON;
    /* An empty variable of a script, not the wish for another store than was meant. */
    if (cli->home && !*cli->home)
        return print_usage(cli, "holdfast", "--home is empty: it takes a folder");
    if (cli->profile && !*cli->profile)
        return print_usage(cli, "holdfast", "--profile is empty: it takes a name");
    options.home = cli->home;
    options.profile = cli->profile;
    options.log = print_log;
    options.log_ctx = cli;
    options.may_thread = cli->may_thread != 0;
    if (hf_runtime_new(&options, &cli->rt, &err) == HF_OK)
        return EXIT_GO_ON;
    print_error(cli, &err);
    /* A home or profile that is none is a mistake of the command line. */
    return err.code == HF_NO_MEMORY || err.code == HF_IO ? EXIT_PROBLEM : EXIT_USAGE;
}

int
cli_store(struct cli *cli, const char *profile, int read_only,
          struct hf_store **ret_store)
{
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    struct hf_error err = {0};
    int rc = cli_runtime(cli);

    if (rc != EXIT_GO_ON)
        return rc;
    options.profile = profile;
    options.read_only = read_only != 0;
    if (hf_store_open(cli->rt, &options, ret_store, &err) == HF_OK)
        return EXIT_GO_ON;
    rc = print_error(cli, &err);
    return profile && err.code == HF_NOT_FOUND ? EXIT_USAGE : rc;
}

int
cli_session(struct cli *cli, const char *arg, int read_only,
            struct hf_store **ret_store, struct hf_text *ret_id, int *ret_named)
{
    struct hf_error err = {0};
    struct hf_text word = hf_str(arg), id;
    char *profile = NULL;
    int rc;

    if (hf_session_address(&word, &profile, &id, &err) != HF_OK) {
        print_error(cli, &err);
        return err.code == HF_NO_MEMORY ? EXIT_PROBLEM : EXIT_USAGE;
    }
    *ret_named = profile != NULL;
    rc = cli_store(cli, profile, read_only, ret_store);
    free(profile);
    if (rc != EXIT_GO_ON)
        return rc;
    if (hf_store_session_resolve(*ret_store, &id, ret_id, &err) == HF_OK)
        return EXIT_GO_ON;
    return print_error(cli, &err);
}
