/* cmd_config.c - `holdfast config show`: each setting and where it came from. */
#include <string.h>

#include "opt.h"
#include "print.h"

struct show {
    const struct cli *cli;
    struct hf__buf json;
    struct table *table;
    int any;
};

static int
setting(void *ctx, const char *key, const char *value, const char *source)
{
    struct show *show = ctx;
    struct hf__buf *out = &show->json;
    int any = 0;

    if (value && !*value)
        value = NULL; /* unset */
    if (show->table) {
        table_cell(show->table, key, strlen(key), 0);
        table_cell(show->table, value ? value : "-", value ? strlen(value) : 1, !value);
        table_cell(show->table, source, strlen(source), strcmp(source, "default") == 0);
        return 0;
    }
    hf__json_comma(out, &show->any);
    hf__buf_addc(out, '{');
    json_str(out, &any, "key", key);
    json_str(out, &any, "value", value);
    json_str(out, &any, "source", source);
    hf__buf_addc(out, '}');
    return out->failed ? HF_NO_MEMORY : 0;
}

static int
show_run(struct cli *cli)
{
    static const struct table_column columns[] = {
        {"KEY", 0, 0}, {"VALUE", 0, 0}, {"SOURCE", 0, 0}};
    struct show show = {.cli = cli};
    struct hf_error err = {0};
    int rc = cli_runtime(cli);

    if (rc != EXIT_GO_ON)
        return rc;
    if (cli->json)
        hf__buf_adds(&show.json, "{\"config\":[");
    else
        show.table = table_new(cli, columns, 3);
    if (!cli->json && !show.table) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    if (hf_runtime_config(cli->rt, NULL, setting, &show, &err) != HF_OK)
        rc = print_error(cli, &err);
    else {
        if (cli->json)
            hf__buf_adds(&show.json, "]}\n");
        else
            table_print(show.table, &show.json);
        rc = print_flush(&show.json) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    }
    table_free(&show.table);
    hf__buf_free(&show.json);
    return rc;
}

int
cmd_config(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    static const struct opt opts[] = {{NULL, 0, OPT_FLAG, NULL, NULL, NULL}};
    struct opt_words words = {0};
    int rc = opt_parse(cli, cmd, opts, argc, argv, 1, 1, &words);

    if (rc == EXIT_GO_ON && strcmp(words.v[0], "show") != 0)
        rc = print_usage(cli, cmd->path, "unknown command \"config %s\"; there is \"show\"",
                         words.v[0]);
    if (rc == EXIT_GO_ON)
        rc = show_run(cli);
    opt_words_free(&words);
    return rc;
}
