/* cmd_sessions_append.c - `holdfast sessions append`: one message from the command line,
 * or many from JSON Lines, in one transaction. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "input.h"
#include "opt.h"
#include "print.h"
#include "util/json_write.h"

/* A batch is held in memory, since all of it is one transaction. */
#define MAX_BATCH ((size_t)1 << 30)

static int
print_ids(const struct cli *cli, const struct hf_appended *ids, size_t n,
          const struct hf_state *state)
{
    struct hf__buf out = {0};
    int any = 0, rc;
    size_t i;

    if (cli->json)
        hf__buf_adds(&out, "{\"ids\":[");
    for (i = 0; i < n; i++) {
        if (cli->json)
            hf__json_comma(&out, &any);
        hf__buf_addf(&out, cli->json ? "%lld" : "%lld\n", (long long)ids[i].id);
    }
    if (cli->json)
        hf__buf_addf(&out, "],\"state\":\"%s\"}\n",
                     state->condition == HF_HEALTHY ? "healthy" : "degraded");
    rc = print_flush(&out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    hf__buf_free(&out);
    return rc;
}

static int
append_run(struct cli *cli, const char *arg, const struct hf_message *const *messages,
           size_t n)
{
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_state state = HF_INIT(struct hf_state);
    struct hf_appended *ids = calloc(n + 1, sizeof *ids);
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    int named, rc;

    if (!ids || !messages) {
        print_no_memory();
        rc = EXIT_PROBLEM;
        goto out;
    }
    rc = cli_session(cli, arg, 0, &store, &what.session_id, &named);
    if (rc != EXIT_GO_ON)
        goto out;
    what.messages = messages;
    what.n_messages = n;
    if (hf_store_append(store, &what, ids, &err) != HF_OK) {
        rc = print_error(cli, &err);
        goto out;
    }
    /* The messages are stored by now; that the state cannot be told does not undo it. */
    if (hf_store_state(store, &state, &err) != HF_OK)
        state.condition = HF_DEGRADED;
    rc = print_ids(cli, ids, n, &state);
    if (state.condition != HF_HEALTHY && !cli->json)
        print_note(cli, "holdfast: warning: the store is degraded: %s", state.reason);
out:
    free(ids);
    free((char *)(uintptr_t)what.session_id.ptr);
    hf_store_close(&store);
    return rc;
}

static int
append_lines(struct cli *cli, const char *arg, const char *file)
{
    struct batch batch = {0};
    struct hf__buf text = {0};
    const struct hf_message **messages = NULL;
    const char *name = strcmp(file, "-") == 0 ? "standard input" : file;
    int rc = input_read(cli, file, MAX_BATCH, &text);

    if (rc == EXIT_GO_ON)
        rc = batch_read(cli, &batch, name, text.ptr, text.len);
    if (rc == EXIT_GO_ON && batch.n == 0)
        rc = print_fail(cli, HF_INVALID, NULL, "%s holds no message", name);
    if (rc == EXIT_GO_ON) {
        messages = batch_messages(&batch);
        rc = append_run(cli, arg, messages, batch.n);
    }
    free(messages);
    batch_free(&batch);
    hf__buf_free(&text);
    return rc;
}

static int
append_one(struct cli *cli, const char *arg, struct hf_message *message,
           const char *content, const char *file)
{
    const struct hf_message *messages[1] = {message};
    struct hf__buf text = {0};
    int rc = EXIT_GO_ON;

    if (file) {
        rc = input_read(cli, file, HF_MAX_MESSAGE, &text);
        message->content = hf_text(text.ptr ? text.ptr : "", text.len);
    } else
        message->content = hf_str(content);
    if (rc == EXIT_GO_ON)
        rc = append_run(cli, arg, messages, 1);
    hf__buf_free(&text);
    return rc;
}

static int
is_json(const char *text)
{
    json_t *value = hf__json_parse(text, strlen(text));
    int is = value != NULL;
    json_decref(value);
    return is;
}

int
cmd_sessions_append(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_message message = HF_INIT(struct hf_message);
    struct opt_words words = {0};
    const char *role = NULL, *content = NULL, *file = NULL, *lines = NULL;
    const char *tool_name = NULL, *call_id = NULL, *calls = NULL;
    int sources, rc;
    const struct opt opts[] = {
        {"role", 0, OPT_TEXT, &role, "R", "user, assistant, tool, system, ..."},
        {"content", 0, OPT_TEXT, &content, "TEXT", "its content"},
        {"content-file", 0, OPT_TEXT, &file, "F", "its content from a file (-: input)"},
        {"jsonl", 0, OPT_TEXT, &lines, "F", "messages from a file, one a line"},
        {"tool-name", 0, OPT_TEXT, &tool_name, "NAME", "the tool that answers"},
        {"tool-call-id", 0, OPT_TEXT, &call_id, "ID", "the call that it answers"},
        {"tool-calls", 0, OPT_TEXT, &calls, "JSON", "calls of an assistant's message"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 1, 2, &words);
    if (rc != EXIT_GO_ON)
        goto out;
    if (words.n == 2 && strcmp(words.v[1], "-") != 0) {
        rc = print_usage(cli, cmd->path, "\"%s\" is one word too many (--content TEXT?)",
                         words.v[1]);
        goto out;
    }
    sources = (content != NULL) + (file != NULL) + (lines != NULL) + (words.n == 2);
    if (sources > 1)
        rc = print_usage(cli, cmd->path,
                         "--content, --content-file, --jsonl and - exclude each other");
    else if (lines && (role || tool_name || call_id || calls))
        rc = print_usage(cli, cmd->path, "with --jsonl the lines say role and tools");
    else if (!lines && !role)
        rc = print_usage(cli, cmd->path, "--role is missing");
    else if (!lines && !*role)
        rc = print_usage(cli, cmd->path, "the role is empty");
    else if (!sources && !calls)
        rc = print_usage(cli, cmd->path,
                         "the content is missing: --content TEXT, --content-file F or -");
    else if (calls && !is_json(calls))
        rc = print_usage(cli, cmd->path, "--tool-calls takes JSON, not \"%s\"", calls);
    else if (lines)
        rc = append_lines(cli, words.v[0], lines);
    else {
        message.role = hf_str(role);
        message.tool_name = hf_str(tool_name);
        message.tool_call_id = hf_str(call_id);
        message.tool_calls = hf_str(calls);
        message.timestamp = HF_NO_TIME;
        message.token_count = HF_NO_INT;
        rc = append_one(cli, words.v[0], &message, content, words.n == 2 ? "-" : file);
    }
out:
    opt_words_free(&words);
    return rc;
}
