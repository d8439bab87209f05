/* cmd_sessions_new.c - `holdfast sessions new`: makes a session and prints its id. */
#include "opt.h"
#include "print.h"

#define ID_SIZE 600

static int
new_run(struct cli *cli, const struct hf_session *session, const char *parent)
{
    struct hf_session made = *session;
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    struct hf__buf out = {0};
    char id[ID_SIZE];
    int any = 0, rc = cli_store(cli, NULL, 0, &store);

    if (rc != EXIT_GO_ON)
        return rc;
    made.parent_id = hf_str(parent);
    if (hf_store_session_create(store, &made, id, sizeof id, &err) != HF_OK)
        rc = print_error(cli, &err);
    else {
        if (cli->json) {
            hf__buf_addc(&out, '{');
            json_str(&out, &any, "id", id);
            hf__buf_adds(&out, "}\n");
        } else
            hf__buf_addf(&out, "%s\n", id);
        rc = print_flush(&out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    }
    hf__buf_free(&out);
    hf_store_close(&store);
    return rc;
}

int
cmd_sessions_new(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_session session = HF_INIT(struct hf_session);
    struct opt_words words = {0};
    const char *id = NULL, *source = "cli", *title = NULL, *model = NULL, *parent = NULL;
    int rc;
    const struct opt opts[] = {
        {"id", 0, OPT_TEXT, &id, "ID", "its id; else one is made from the time"},
        {"source", 0, OPT_TEXT, &source, "S", "where it comes from (cli)"},
        {"title", 0, OPT_TEXT, &title, "T", "its title"},
        {"model", 0, OPT_TEXT, &model, "M", "the model"},
        {"parent", 0, OPT_TEXT, &parent, "ID", "the session that it goes on from"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 0, 0, &words);
    if (rc == EXIT_GO_ON) {
        session.id = hf_str(id);
        session.source = hf_str(source);
        session.title = hf_str(title);
        session.model = hf_str(model);
        session.started_at = session.ended_at = HF_NO_TIME;
        session.last_active = session.sort_time = HF_NO_TIME;
        session.estimated_cost_usd = session.actual_cost_usd = HF_NO_TIME;
        rc = new_run(cli, &session, parent);
    }
    opt_words_free(&words);
    return rc;
}
