/* cmd_sessions_list.c - `holdfast sessions list`. */
#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "print.h"
#include "times.h"

struct list {
    const struct cli *cli;
    struct hf__buf json;
    struct table *table;
    uint64_t limit, n; /* rows to show; rows seen, at most one more */
    double now;
    int any;
};

static const struct table_column columns[] = {
    {"ID", 0, 0},    {"TITLE", 0, 1}, {"SOURCE", 0, 0},
    {"MODEL", 0, 1}, {"MSGS", 1, 0},  {"LAST ACTIVE", 0, 0}};

static void
row_json(struct list *list, const struct hf_session *s)
{
    struct hf__buf *out = &list->json;
    int any = 0;

    hf__json_comma(out, &list->any);
    hf__buf_addc(out, '{');
    json_text(out, &any, "id", &s->id);
    json_text(out, &any, "title", &s->title);
    json_text(out, &any, "preview", &s->preview);
    json_text(out, &any, "source", &s->source);
    json_text(out, &any, "model", &s->model);
    json_time(out, &any, "started_at", s->started_at);
    json_time(out, &any, "last_active", s->last_active);
    json_int(out, &any, "message_count", s->message_count);
    json_bool(out, &any, "archived", s->archived != 0);
    json_bool(out, &any, "pinned", s->pinned != 0);
    json_text(out, &any, "parent_session_id", &s->parent_id);
    hf__buf_addc(out, '}');
}

static void
text_cell(struct table *table, const struct hf_text *t, int dim)
{
    if (t->ptr && t->len)
        table_cell(table, t->ptr, (size_t)t->len, dim);
    else
        table_cell(table, "-", 1, 1);
}

static void
row_table(struct list *list, const struct hf_session *s)
{
    char text[32];

    text_cell(list->table, &s->id, 0);
    if (s->title.ptr && s->title.len)
        text_cell(list->table, &s->title, 0);
    else
        text_cell(list->table, &s->preview, 1);
    text_cell(list->table, &s->source, 0);
    text_cell(list->table, &s->model, 0);
    snprintf(text, sizeof text, "%lld", (long long)s->message_count);
    if (s->message_count == HF_NO_INT)
        snprintf(text, sizeof text, "?");
    table_cell(list->table, text, strlen(text), 0);
    times_ago(s->last_active, list->now, text, sizeof text);
    table_cell(list->table, text, strlen(text), 0);
}

static int
row(void *ctx, const struct hf_session *s)
{
    struct list *list = ctx;

    list->n++;
    if (list->limit && list->n > list->limit)
        return 0;
    if (list->table)
        row_table(list, s);
    else
        row_json(list, s);
    return 0;
}

static int
list_print(struct list *list)
{
    struct hf__buf *out = &list->json, text = {0};
    int more = list->limit && list->n > list->limit;

    if (!list->table) {
        hf__buf_addf(out, "],\"more\":%s}\n", more ? "true" : "false");
        return print_flush(out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    }
    if (list->n == 0)
        hf__buf_adds(&text, "No sessions.\n");
    else
        table_print(list->table, &text);
    if (more)
        hf__buf_addf(&text,
                     "%sThere are more: --limit N shows N of them, --limit 0 all.%s\n",
                     style_on(list->cli, STYLE_DIM), style_off(list->cli));
    more = print_flush(&text);
    hf__buf_free(&text);
    return more == 0 ? EXIT_FINE : EXIT_PROBLEM;
}

static int
list_run(struct cli *cli, const struct hf_session_query *query, uint64_t limit)
{
    struct list list = {.cli = cli, .limit = limit, .now = cli->now};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    int rc = cli_store(cli, NULL, 1, &store);

    if (rc != EXIT_GO_ON)
        return rc;
    if (cli->json)
        hf__buf_adds(&list.json, "{\"sessions\":[");
    else
        list.table = table_new(cli, columns, sizeof columns / sizeof *columns);
    if (!cli->json && !list.table) {
        print_no_memory();
        rc = EXIT_PROBLEM;
    } else if (hf_store_session_list(store, query, row, &list, &err) != HF_OK)
        rc = print_error(cli, &err);
    else
        rc = list_print(&list);
    table_free(&list.table);
    hf__buf_free(&list.json);
    hf_store_close(&store);
    return rc;
}

int
cmd_sessions_list(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct opt_texts sources = {0};
    struct opt_time since = {0}, until = {0};
    struct opt_words words = {0};
    const char *sort = "started";
    uint64_t limit = 20;
    int all = 0, archived = 0, rc;
    const struct opt opts[] = {
        {"limit", 'n', OPT_COUNT, &limit, "N", "at most N; 0: no limit (20)"},
        {"source", 0, OPT_TEXTS, &sources, "S", "only of this source (again: or S)"},
        {"since", 0, OPT_TIME, &since, "T", "active since T"},
        {"until", 0, OPT_TIME, &until, "T", "last active before T"},
        {"archived", 0, OPT_FLAG, &archived, NULL, "only the archived ones"},
        {"all", 'a', OPT_FLAG, &all, NULL, "every one: continued, delegated, hidden too"},
        {"sort", 0, OPT_TEXT, &sort, "ORDER", "started or recent (started)"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 0, 0, &words);
    if (rc == EXIT_GO_ON && all && archived)
        rc = print_usage(cli, cmd->path, "--all and --archived exclude each other");
    if (rc == EXIT_GO_ON && strcmp(sort, "started") != 0 && strcmp(sort, "recent") != 0)
        rc = print_usage(cli, cmd->path, "--sort takes started or recent, not \"%s\"",
                         sort);
    if (rc == EXIT_GO_ON)
        rc = opt_window(cli, cmd, &since, &until);
    if (rc == EXIT_GO_ON) {
        query.limit = limit ? limit + 1 : 0; /* one more tells whether there is more */
        query.view = all ? HF_VIEW_ALL : archived ? HF_VIEW_ARCHIVED : HF_VIEW_DEFAULT;
        query.order = strcmp(sort, "recent") == 0 ? HF_BY_RECENT : HF_BY_STARTED;
        query.sources = sources.v;
        query.n_sources = sources.n;
        query.since = since.value;
        query.until = until.value;
        rc = list_run(cli, &query, limit);
    }
    opt_words_free(&words);
    opt_texts_free(&sources);
    return rc;
}
