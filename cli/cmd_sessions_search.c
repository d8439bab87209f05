/* cmd_sessions_search.c - `holdfast sessions search`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "print.h"
#include "times.h"

#define MATCH_BEGIN ">>>"
#define MATCH_END "<<<"

struct found {
    const struct cli *cli;
    struct hf__buf out;
    uint64_t n;
    int any;
};

static int
hit_json(void *ctx, const struct hf_hit *hit)
{
    struct found *found = ctx;
    struct hf__buf *out = &found->out;
    int any = 0;

    found->n++;
    hf__json_comma(out, &found->any);
    hf__buf_addc(out, '{');
    json_int(out, &any, "message_id", hit->message_id);
    json_text(out, &any, "session_id", &hit->session_id);
    json_text(out, &any, "role", &hit->role);
    json_time(out, &any, "timestamp", hit->timestamp);
    json_text(out, &any, "snippet", &hit->snippet);
    json_text(out, &any, "title", &hit->title);
    hf__buf_addc(out, '}');
    return out->failed ? HF_NO_MEMORY : 0;
}

/* Appends a snippet on one line, its matches in colour, or marked where there is none. */
static void
print_snippet(const struct cli *cli, struct hf__buf *out, const struct hf_text *snippet)
{
    struct hf__buf flat = {0};
    const char *s, *end;
    size_t i;

    for (i = 0; i < snippet->len; i++) {
        char c = snippet->ptr[i];
        hf__buf_addc(&flat, c == '\n' || c == '\t' || c == '\r' ? ' ' : c);
    }
    s = flat.ptr;
    end = s + flat.len;
    while (!flat.failed && s < end) {
        const char *mark = end;
        size_t left = (size_t)(end - s);
        const char *b = memmem(s, left, MATCH_BEGIN, 3), *e = memmem(s, left, MATCH_END, 3);
        if (b)
            mark = b;
        if (e && e < mark)
            mark = e;
        print_safe(out, s, (size_t)(mark - s));
        if (mark == end)
            break;
        if (cli->color)
            hf__buf_adds(out, *mark == '>' ? style_on(cli, STYLE_MATCH) : style_off(cli));
        else
            hf__buf_add(out, mark, 3);
        s = mark + 3;
    }
    hf__buf_adds(out, style_off(cli));
    hf__buf_free(&flat);
}

static int
hit_text(void *ctx, const struct hf_hit *hit)
{
    struct found *found = ctx;
    struct hf__buf *out = &found->out;
    char when[32];

    found->n++;
    times_full(hit->timestamp, when, sizeof when);
    hf__buf_adds(out, style_on(found->cli, STYLE_BOLD));
    print_safe(out, hit->session_id.ptr, (size_t)hit->session_id.len);
    hf__buf_addf(out, "%s  %s#%lld  ", style_off(found->cli),
                 style_on(found->cli, STYLE_DIM), (long long)hit->message_id);
    print_safe(out, hit->role.ptr ? hit->role.ptr : "?",
               hit->role.ptr ? (size_t)hit->role.len : 1);
    hf__buf_addf(out, "  %s%s", when, style_off(found->cli));
    if (hit->title.ptr && hit->title.len) {
        hf__buf_adds(out, "  ");
        print_safe(out, hit->title.ptr, (size_t)hit->title.len);
    }
    hf__buf_adds(out, "\n    ");
    if (hit->snippet.ptr)
        print_snippet(found->cli, out, &hit->snippet);
    hf__buf_addc(out, '\n');
    return out->failed ? HF_NO_MEMORY : 0;
}

static void
json_head(struct hf__buf *out, const struct hf_search *query,
          const struct hf_search_info *info)
{
    int any = 0;

    hf__buf_addc(out, '{');
    json_text(out, &any, "query", &query->text);
    json_bool(out, &any, "degraded", info->degraded != 0);
    json_str(out, &any, "note", info->note[0] ? info->note : NULL);
    hf__buf_adds(out, ",\"hits\":[");
}

/* The words as one query, so that quotes are needed only for what the shell would eat. */
static int
join_words(const struct opt_words *words, struct hf__buf *ret)
{
    int i;

    for (i = 0; i < words->n; i++) {
        if (i)
            hf__buf_addc(ret, ' ');
        hf__buf_adds(ret, words->v[i]);
    }
    if (!ret->failed)
        return EXIT_GO_ON;
    print_no_memory();
    return EXIT_PROBLEM;
}

static int
search_run(struct cli *cli, const struct hf_search *query)
{
    struct hf_search_info info = HF_INIT(struct hf_search_info);
    struct found found = {.cli = cli};
    struct hf__buf head = {0};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    int rc = cli_store(cli, NULL, 1, &store);

    if (rc != EXIT_GO_ON)
        return rc;
    if (hf_store_search(store, query, cli->json ? hit_json : hit_text, &found, &info,
                        &err) != HF_OK) {
        rc = print_error(cli, &err);
        goto out;
    }
    if (cli->json) {
        json_head(&head, query, &info);
        hf__buf_adds(&found.out, "]}\n");
    } else {
        if (info.note[0])
            print_note(cli, "holdfast: note: %s", info.note);
        if (found.n == 0)
            hf__buf_adds(&head, "No messages found.\n");
    }
    rc = print_flush(&head) == 0 && print_flush(&found.out) == 0 ? EXIT_FINE
                                                                 : EXIT_PROBLEM;
out:
    hf__buf_free(&head);
    hf__buf_free(&found.out);
    hf_store_close(&store);
    return rc;
}

int
cmd_sessions_search(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_search query = HF_INIT(struct hf_search);
    struct opt_texts roles = {0}, sources = {0}, without = {0};
    struct opt_time since = {0}, until = {0};
    struct opt_words words = {0};
    struct hf__buf text = {0};
    const char *session = NULL;
    uint64_t limit = 20, offset = 0;
    int newest = 0, oldest = 0, rc;
    const struct opt opts[] = {
        {"limit", 'n', OPT_COUNT, &limit, "N", "at most N hits; 0: no limit (20)"},
        {"offset", 0, OPT_COUNT, &offset, "N", "leave out the first N"},
        {"role", 0, OPT_TEXTS, &roles, "R", "only messages of this role (again: or R)"},
        {"source", 0, OPT_TEXTS, &sources, "S", "only sessions of this source"},
        {"exclude-source", 0, OPT_TEXTS, &without, "S", "no session of this source"},
        {"session", 0, OPT_TEXT, &session, "ID", "only in this session"},
        {"since", 0, OPT_TIME, &since, "T", "messages since T"},
        {"until", 0, OPT_TIME, &until, "T", "messages before T"},
        {"newest", 0, OPT_FLAG, &newest, NULL, "newest first, not by relevance"},
        {"oldest", 0, OPT_FLAG, &oldest, NULL, "oldest first"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 1, -1, &words);
    if (rc == EXIT_GO_ON && newest && oldest)
        rc = print_usage(cli, cmd->path, "--newest and --oldest exclude each other");
    if (rc == EXIT_GO_ON)
        rc = opt_window(cli, cmd, &since, &until);
    if (rc == EXIT_GO_ON)
        rc = join_words(&words, &text);
    if (rc == EXIT_GO_ON) {
        query.text = hf_text(text.ptr, text.len);
        query.limit = limit;
        query.offset = offset;
        query.order = newest   ? HF_BY_NEWEST
                      : oldest ? HF_BY_OLDEST
                               : HF_BY_RELEVANCE;
        query.roles = roles.v;
        query.n_roles = roles.n;
        query.sources = sources.v;
        query.n_sources = sources.n;
        query.exclude_sources = without.v;
        query.n_exclude_sources = without.n;
        query.session_id = hf_str(session);
        query.since = since.value;
        query.until = until.value;
        rc = search_run(cli, &query);
    }
    hf__buf_free(&text);
    opt_words_free(&words);
    opt_texts_free(&roles);
    opt_texts_free(&sources);
    opt_texts_free(&without);
    return rc;
}
