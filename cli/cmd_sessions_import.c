/* cmd_sessions_import.c - `holdfast sessions import`: reads what export wrote. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"
#include "print.h"

static int64_t
read_some(void *ctx, char *buf, size_t size, struct hf_error *err)
{
    int fd = *(int *)ctx;
    ssize_t n;

    do
        n = read(fd, buf, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return hf_error_set(err, HF_IO, NULL, "cannot read the import: %s",
                            strerror(errno));
    return n;
}

static int
print_result(const struct cli *cli, const struct hf_import_result *r)
{
    struct hf__buf out = {0};
    int any = 0, rc;

    if (cli->json) {
        hf__buf_addc(&out, '{');
        json_int(&out, &any, "sessions", (int64_t)r->sessions);
        json_int(&out, &any, "skipped", (int64_t)r->skipped);
        json_int(&out, &any, "merged", (int64_t)r->merged);
        json_int(&out, &any, "messages", (int64_t)r->messages);
        hf__buf_adds(&out, "}\n");
    } else
        hf__buf_addf(&out,
                     "%llu sessions and %llu messages imported, %llu sessions merged, "
                     "%llu skipped\n",
                     (unsigned long long)r->sessions, (unsigned long long)r->messages,
                     (unsigned long long)r->merged, (unsigned long long)r->skipped);
    rc = print_flush(&out) == 0 ? EXIT_FINE : EXIT_PROBLEM;
    hf__buf_free(&out);
    return rc;
}

int
cmd_sessions_import(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_import_options options = HF_INIT(struct hf_import_options);
    struct hf_import_result result = HF_INIT(struct hf_import_result);
    struct opt_words words = {0};
    struct hf_store *store = NULL;
    struct hf_error err = {0};
    int merge = 0, fd = -1, standard, rc;
    const struct opt opts[] = {
        {"merge", 0, OPT_FLAG, &merge, NULL,
         "add the messages that existing sessions lack"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 1, 1, &words);
    if (rc != EXIT_GO_ON)
        goto out;
    standard = strcmp(words.v[0], "-") == 0;
    fd = standard ? STDIN_FILENO : open(words.v[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        rc = print_fail(cli, errno == ENOENT ? HF_NOT_FOUND : HF_IO, words.v[0],
                        "cannot open %s: %s", words.v[0], strerror(errno));
        goto out;
    }
    rc = cli_store(cli, NULL, 0, &store);
    if (rc != EXIT_GO_ON)
        goto out;
    options.name = standard ? "standard input" : words.v[0];
    options.merge = merge != 0;
    if (hf_store_import_jsonl(store, &options, read_some, &fd, &result, &err) != HF_OK)
        rc = print_error(cli, &err);
    else
        rc = print_result(cli, &result);
out:
    hf_store_close(&store);
    if (fd > STDIN_FILENO)
        close(fd);
    opt_words_free(&words);
    return rc;
}
