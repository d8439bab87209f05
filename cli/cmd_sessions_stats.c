/* cmd_sessions_stats.c - `holdfast sessions stats`: counts and sizes. */
#include <string.h>

#include "opt.h"
#include "print.h"
#include "util/size.h"

struct stats {
    const struct cli *cli;
    struct hf__buf sources;
    int any;
};

static int
source(void *ctx, const struct hf_text *name, uint64_t sessions)
{
    struct stats *stats = ctx;
    struct hf__buf *out = &stats->sources;

    if (stats->cli->json) {
        hf__json_comma(out, &stats->any);
        hf__json_string(out, name->ptr ? name->ptr : "", (size_t)name->len);
        hf__buf_addc(out, ':');
        hf__json_int(out, (int64_t)sessions);
    } else {
        hf__buf_addf(out, "  %8llu  ", (unsigned long long)sessions);
        print_safe(out, name->ptr ? name->ptr : "", (size_t)name->len);
        hf__buf_addc(out, '\n');
    }
    return out->failed ? HF_NO_MEMORY : 0;
}

static const char *
condition_word(uint32_t condition)
{
    switch (condition) {
    case HF_HEALTHY:
        return "healthy";
    case HF_DEGRADED:
        return "degraded";
    case HF_RECOVERING:
        return "recovering";
    }
    return "lost";
}

static void
stats_json(const struct stats *stats, const struct hf_stats *s,
           const struct hf_state *state, struct hf__buf *out)
{
    int any = 0, inner = 0;

    hf__buf_addc(out, '{');
    json_int(out, &any, "sessions", (int64_t)s->sessions);
    json_int(out, &any, "messages", (int64_t)s->messages);
    json_open(out, &any, "by_source");
    hf__buf_addc(out, '{');
    hf__buf_add(out, stats->sources.ptr, stats->sources.len);
    hf__buf_addc(out, '}');
    json_open(out, &any, "bytes");
    hf__buf_addc(out, '{');
    json_int(out, &inner, "main", (int64_t)s->bytes_main);
    json_int(out, &inner, "wal", (int64_t)s->bytes_wal);
    hf__buf_addc(out, '}');
    json_str(out, &any, "journal_mode", s->journal_mode[0] ? s->journal_mode : NULL);
    json_str(out, &any, "state", condition_word(state->condition));
    json_int(out, &any, "pending_fallback", (int64_t)s->pending_fallback);
    hf__buf_adds(out, "}\n");
}

static void
stats_text(const struct stats *stats, const struct hf_stats *s,
           const struct hf_state *state, const char *backend, struct hf__buf *out)
{
    char size_main[32], size_wal[32];

    hf__size_text(s->bytes_main, size_main, sizeof size_main);
    hf__size_text(s->bytes_wal, size_wal, sizeof size_wal);
    hf__buf_addf(out, "sessions      %llu\n", (unsigned long long)s->sessions);
    hf__buf_add(out, stats->sources.ptr, stats->sources.len);
    hf__buf_addf(out, "messages      %llu\n", (unsigned long long)s->messages);
    hf__buf_addf(out, "size          %s, log %s\n", size_main, size_wal);
    hf__buf_addf(out, "backend       %s\n", backend);
    if (s->journal_mode[0])
        hf__buf_addf(out, "journal mode  %s\n", s->journal_mode);
    hf__buf_addf(out, "state         %s", condition_word(state->condition));
    if (state->reason[0]) {
        hf__buf_adds(out, ": ");
        print_safe(out, state->reason, strlen(state->reason));
    }
    hf__buf_addc(out, '\n');
    if (s->pending_fallback)
        hf__buf_addf(out, "in fallback   %llu sessions\n",
                     (unsigned long long)s->pending_fallback);
}

int
cmd_sessions_stats(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    static const struct opt opts[] = {{NULL, 0, OPT_FLAG, NULL, NULL, NULL}};
    struct hf_stats numbers = HF_INIT(struct hf_stats);
    struct hf_state state = HF_INIT(struct hf_state);
    struct stats stats = {.cli = cli};
    struct opt_words words = {0};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    struct hf__buf out = {0};
    int rc = opt_parse(cli, cmd, opts, argc, argv, 0, 0, &words);

    if (rc == EXIT_GO_ON)
        rc = cli_store(cli, NULL, 1, &store);
    if (rc != EXIT_GO_ON)
        goto out;
    if (hf_store_stats(store, &numbers, source, &stats, &err) != HF_OK ||
        hf_store_state(store, &state, &err) != HF_OK) {
        rc = print_error(cli, &err);
        goto out;
    }
    if (cli->json)
        stats_json(&stats, &numbers, &state, &out);
    else
        stats_text(&stats, &numbers, &state, hf_store_backend(store), &out);
    rc = print_flush(&out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
out:
    hf__buf_free(&out);
    hf__buf_free(&stats.sources);
    hf_store_close(&store);
    opt_words_free(&words);
    return rc;
}
