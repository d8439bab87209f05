/* cmd_sessions_end.c - `holdfast sessions end`; the first reason stays. */
#include <stdint.h>
#include <stdlib.h>

#include "opt.h"
#include "print.h"

int
cmd_sessions_end(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    static const struct opt opts[] = {{NULL, 0, OPT_FLAG, NULL, NULL, NULL}};
    struct opt_words words = {0};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    struct hf_text id = {0}, reason;
    int named, rc = opt_parse(cli, cmd, opts, argc, argv, 2, 2, &words);

    if (rc == EXIT_GO_ON && !*words.v[1])
        rc = print_usage(cli, cmd->path, "the reason is empty");
    if (rc == EXIT_GO_ON)
        rc = cli_session(cli, words.v[0], 0, &store, &id, &named);
    if (rc == EXIT_GO_ON) {
        reason = hf_str(words.v[1]);
        rc = hf_store_session_end(store, &id, &reason, &err) == HF_OK
                 ? EXIT_FINE
                 : print_error(cli, &err);
    }
    free((char *)(uintptr_t)id.ptr);
    hf_store_close(&store);
    opt_words_free(&words);
    return rc;
}
