/* cmd_sessions_export.c - `holdfast sessions export`: sessions as JSON Lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"
#include "output.h"
#include "print.h"

static void
progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    if (done % 50 == 0 || done == total)
        fprintf(stderr, "\rexporting %llu of %llu sessions%s", (unsigned long long)done,
                (unsigned long long)total, done == total ? "\n" : "");
}

/* Turns the words into the ids of sessions.  "-" among them stands for standard output.
 * The argument of an unknown id might have been meant as a file: say so. */
static int
resolve_ids(struct cli *cli, struct hf_store *store, const struct opt_words *words,
            struct hf_text *ids, uint64_t *n)
{
    struct hf_error err = {0};
    int i, rc;

    for (i = 0; i < words->n; i++) {
        struct hf_text word = hf_str(words->v[i]);
        if (strcmp(words->v[i], "-") == 0)
            continue;
        if (hf_store_session_resolve(store, &word, &ids[*n], &err) == HF_OK) {
            (*n)++;
            continue;
        }
        rc = print_error(cli, &err);
        if (err.code == HF_NOT_FOUND && words->n == 1)
            print_note(cli, "holdfast: words of `export` are session ids; to write every "
                            "session to a file use: holdfast sessions export -o %s",
                       words->v[i]);
        return rc;
    }
    return EXIT_GO_ON;
}

static int
export_run(struct cli *cli, const struct opt_words *words,
           struct hf_export_options *options, const char *path, int force)
{
    struct hf_text *ids = calloc((size_t)words->n + 1, sizeof *ids);
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    struct output output = {.fd = -1};
    uint64_t n_ids = 0, i;
    int rc;

    if (!ids) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    rc = cli_runtime(cli);
    /* Looked at before the store is open: a descriptor on a file of an open store may
     * not be closed in this process. */
    if (rc == EXIT_GO_ON)
        rc = output_open(cli, path, force, &output);
    if (rc == EXIT_GO_ON)
        rc = cli_store(cli, NULL, 1, &store);
    if (rc == EXIT_GO_ON)
        rc = resolve_ids(cli, store, words, ids, &n_ids);
    if (rc != EXIT_GO_ON)
        goto out;
    options->ids = ids;
    options->n_ids = n_ids;
    if (isatty(STDERR_FILENO) && output.path && !cli->quiet)
        options->progress = progress;
    rc = hf_store_export_jsonl(store, options, output_write, &output, &err);
    if (rc == HF_OK || output.failed)
        rc = output_commit(&output);
    else
        rc = print_error(cli, &err);
out:
    output_close(&output);
    hf_store_close(&store);
    for (i = 0; i < n_ids; i++)
        free((char *)(uintptr_t)ids[i].ptr);
    free(ids);
    return rc;
}

int
cmd_sessions_export(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_export_options options = HF_INIT(struct hf_export_options);
    struct opt_texts sources = {0};
    struct opt_time since = {0}, until = {0};
    struct opt_words words = {0};
    const char *path = NULL, *format = "jsonl";
    int force = 0, i, dash = 0, rc;
    const struct opt opts[] = {
        {"output", 'o', OPT_TEXT, &path, "FILE", "write to FILE (-: standard output)"},
        {"force", 'f', OPT_FLAG, &force, NULL, "replace FILE"},
        {"format", 0, OPT_TEXT, &format, "F", "jsonl"},
        {"source", 0, OPT_TEXTS, &sources, "S", "only of this source (again: or S)"},
        {"since", 0, OPT_TIME, &since, "T", "active since T (also --newer-than, --after)"},
        {"newer-than", 0, OPT_TIME, &since, "T", NULL},
        {"after", 0, OPT_TIME, &since, "T", NULL},
        {"until", 0, OPT_TIME, &until, "T",
         "last active before T (also --older-than,\n--before)"},
        {"older-than", 0, OPT_TIME, &until, "T", NULL},
        {"before", 0, OPT_TIME, &until, "T", NULL},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 0, -1, &words);
    for (i = 0; rc == EXIT_GO_ON && i < words.n; i++)
        dash |= strcmp(words.v[i], "-") == 0;
    if (rc == EXIT_GO_ON && dash && path)
        rc = print_usage(cli, cmd->path, "both - and -o are given");
    if (rc == EXIT_GO_ON && strcmp(format, "jsonl") != 0)
        rc = print_usage(cli, cmd->path, "--format takes jsonl, not \"%s\"", format);
    if (rc == EXIT_GO_ON && words.n > dash && (sources.n || since.text || until.text))
        rc = print_usage(cli, cmd->path, "ids and filters exclude each other");
    if (rc == EXIT_GO_ON)
        rc = opt_window(cli, cmd, &since, &until);
    if (rc == EXIT_GO_ON) {
        options.sources = sources.v;
        options.n_sources = sources.n;
        options.since = since.value;
        options.until = until.value;
        rc = export_run(cli, &words, &options, path, force);
    }
    opt_words_free(&words);
    opt_texts_free(&sources);
    return rc;
}
