/* cmd_sessions_show.c - `holdfast sessions show`: a session and its transcript. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "opt.h"
#include "print.h"
#include "times.h"

struct show {
    const struct cli *cli;
    struct hf__buf out;
    int64_t first_id;   /* of the last N messages; 0: none seen */
    uint64_t n;
    int any;
};

static void
line(struct hf__buf *out, const char *name, const struct hf_text *value)
{
    if (!value->ptr)
        return;
    hf__buf_addf(out, "%-9s ", name);
    print_safe(out, value->ptr, (size_t)value->len);
    hf__buf_addc(out, '\n');
}

static int
session_text(void *ctx, const struct hf_session *s)
{
    struct show *show = ctx;
    struct hf__buf *out = &show->out;
    char when[32];

    hf__buf_adds(out, style_on(show->cli, STYLE_BOLD));
    if (s->title.ptr)
        print_safe(out, s->title.ptr, (size_t)s->title.len);
    else
        hf__buf_adds(out, "(no title)");
    hf__buf_addf(out, "%s\n", style_off(show->cli));
    line(out, "id", &s->id);
    line(out, "source", &s->source);
    line(out, "model", &s->model);
    line(out, "parent", &s->parent_id);
    times_full(s->started_at, when, sizeof when);
    hf__buf_addf(out, "%-9s %s\n", "started", when);
    if (s->end_reason.ptr || s->ended_at == s->ended_at) {
        times_full(s->ended_at, when, sizeof when);
        hf__buf_addf(out, "%-9s %s", "ended", when);
        if (s->end_reason.ptr) {
            hf__buf_adds(out, " (");
            print_safe(out, s->end_reason.ptr, (size_t)s->end_reason.len);
            hf__buf_addc(out, ')');
        }
        hf__buf_addc(out, '\n');
    }
    if (s->message_count != HF_NO_INT)
        hf__buf_addf(out, "%-9s %lld\n", "messages", (long long)s->message_count);
    return print_flush(out) == 0 ? 0 : HF_IO;
}

static int
session_json(void *ctx, const struct hf_session *s)
{
    struct show *show = ctx;

    return hf_session_write_json(s, json_sink, &show->out);
}

static const char *
state_word(const struct hf_message *m)
{
    if (m->state & HF_MSG_COMPACTED)
        return " (compacted)";
    if (m->state & HF_MSG_REWOUND)
        return " (rewound)";
    return m->is_summary ? " (summary)" : "";
}

static int
message_text(void *ctx, const struct hf_message *m)
{
    struct show *show = ctx;
    struct hf__buf *out = &show->out;
    char when[32];

    show->n++;
    times_full(m->timestamp, when, sizeof when);
    hf__buf_addf(out, "\n%s", style_on(show->cli, STYLE_NOTE));
    print_safe(out, m->role.ptr ? m->role.ptr : "?", m->role.ptr ? (size_t)m->role.len : 1);
    if (m->tool_name.ptr && m->tool_name.len) {
        hf__buf_addc(out, ' ');
        print_safe(out, m->tool_name.ptr, (size_t)m->tool_name.len);
    }
    hf__buf_addf(out, "%s  %s#%lld  %s%s%s\n", style_off(show->cli),
                 style_on(show->cli, STYLE_DIM), (long long)m->id, when, state_word(m),
                 style_off(show->cli));
    content_print(out, &m->content, "  ");
    content_calls(out, &m->tool_calls, "  ");
    return print_flush(out) == 0 ? 0 : HF_IO;
}

static int
message_json(void *ctx, const struct hf_message *m)
{
    struct show *show = ctx;
    int rc;

    show->n++;
    hf__json_comma(&show->out, &show->any);
    rc = hf_message_write_json(m, json_sink, &show->out);
    if (rc == 0 && print_flush(&show->out) != 0)
        rc = HF_IO;
    return rc;
}

static int
note_first(void *ctx, const struct hf_message *m)
{
    ((struct show *)ctx)->first_id = m->id;
    return 0;
}

/* Lets QUERY begin at the last LIMIT messages. */
static int
find_last(struct hf_store *store, const struct hf_text *id, uint64_t limit,
          struct show *show, struct hf_message_query *query, struct hf_error *err)
{
    struct hf_message_query back = *query;
    int rc;

    if (!limit)
        return HF_OK;
    back.limit = limit;
    back.backwards = 1;
    back.want = 0;
    rc = hf_store_read(store, id, &back, note_first, show, err);
    if (rc == HF_OK && show->first_id)
        query->after_id = show->first_id - 1;
    return rc;
}

static int
show_run(struct cli *cli, const char *arg, uint64_t limit, int all)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct show show = {.cli = cli};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    struct hf_text id = {0};
    int named = 0, rc = cli_session(cli, arg, 1, &store, &id, &named);

    if (rc != EXIT_GO_ON)
        goto out;
    query.states = all ? HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND : HF_MSG_ACTIVE;
    query.want = cli->json ? HF_WANT_EXTRA : 0;
    if (cli->json) {
        hf__buf_addc(&show.out, '{');
        if (named) {
            int any = 0;
            json_str(&show.out, &any, "profile", hf_store_profile(store));
            hf__buf_addc(&show.out, ',');
        }
        hf__buf_adds(&show.out, "\"session\":");
    } else if (named)
        hf__buf_addf(&show.out, "%-9s %s\n", "profile", hf_store_profile(store));
    rc = hf_store_session_get(store, &id, query.want,
                              cli->json ? session_json : session_text, &show, &err);
    if (rc == HF_OK)
        rc = find_last(store, &id, limit, &show, &query, &err);
    if (rc == HF_OK && cli->json)
        hf__buf_adds(&show.out, ",\"messages\":[");
    if (rc == HF_OK)
        rc = hf_store_read(store, &id, &query, cli->json ? message_json : message_text,
                           &show, &err);
    if (rc == HF_OK && cli->json)
        hf__buf_adds(&show.out, "]}\n");
    if (rc == HF_OK)
        rc = print_flush(&show.out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    else if (ferror(stdout))
        rc = EXIT_PROBLEM; /* print_finish() says it */
    else
        rc = print_error(cli, &err);
out:
    free((char *)(uintptr_t)id.ptr);
    hf__buf_free(&show.out);
    hf_store_close(&store);
    return rc;
}

int
cmd_sessions_show(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct opt_words words = {0};
    uint64_t limit = 0;
    int all = 0, rc;
    const struct opt opts[] = {
        {"limit", 'n', OPT_COUNT, &limit, "N", "only the last N messages"},
        {"all", 'a', OPT_FLAG, &all, NULL, "compacted and rewound messages too"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 1, 1, &words);
    if (rc == EXIT_GO_ON)
        rc = show_run(cli, words.v[0], limit, all);
    opt_words_free(&words);
    return rc;
}
