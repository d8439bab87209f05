/* cmd_backends.c - `holdfast backends`: what can be loaded, and why the rest cannot. */
#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "print.h"

struct shown {
    const struct cli *cli;
    struct hf__buf out;
    int any, failed;
};

static const char *
threads_word(uint32_t threads)
{
    return threads >= HF_THREADS_PARALLEL    ? "parallel"
           : threads >= HF_THREADS_PER_STORE ? "per-store"
                                             : "serial";
}

static const struct {
    uint32_t bit;
    const char *word;
} caps[] = {{HF_CAP_DURABLE, "durable"},
            {HF_CAP_MULTI_PROCESS, "multi-process"},
            {HF_CAP_LIST_VIEW, "list-view"}};

static void
abi_text(const struct hf_backend_info *info, char *ret, size_t size)
{
    snprintf(ret, size, "%u.%u", (unsigned)info->abi_major, (unsigned)info->abi_minor);
}

static void
option_json(struct hf__buf *out, const struct hf_option *o)
{
    int any = 0;

    hf__buf_addc(out, '{');
    json_str(out, &any, "key", o->key);
    json_str(out, &any, "type", o->type);
    json_str(out, &any, "default", o->fallback);
    json_str(out, &any, "help", o->help);
    hf__buf_addc(out, '}');
}

static int
backend_json(void *ctx, const struct hf_backend_info *info)
{
    struct shown *shown = ctx;
    struct hf__buf *out = &shown->out;
    const struct hf_option *o;
    const char *const *name;
    char abi[32];
    size_t i;
    int any = 0, inner;

    shown->failed |= info->error != NULL;
    hf__json_comma(out, &shown->any);
    hf__buf_addc(out, '{');
    json_str(out, &any, "name", info->name);
    json_str(out, &any, "path", info->path);
    json_str(out, &any, "version", info->error ? NULL : info->version);
    json_str(out, &any, "summary", info->error ? NULL : info->summary);
    abi_text(info, abi, sizeof abi);
    json_str(out, &any, "abi", info->error ? NULL : abi);
    json_str(out, &any, "kind",
             info->error                          ? NULL
             : info->kind == HF_KIND_SHARED_STATE ? "shared_state"
                                                  : "store");
    json_str(out, &any, "threads", info->error ? NULL : threads_word(info->threads));
    json_open(out, &any, "capabilities");
    hf__buf_addc(out, '[');
    for (i = 0, inner = 0; i < sizeof caps / sizeof *caps; i++)
        if (!info->error && (info->caps & caps[i].bit)) {
            hf__json_comma(out, &inner);
            hf__json_string(out, caps[i].word, strlen(caps[i].word));
        }
    hf__buf_addc(out, ']');
    json_open(out, &any, "callbacks");
    hf__buf_addc(out, '[');
    for (name = info->callbacks, inner = 0; name && *name; name++) {
        hf__json_comma(out, &inner);
        hf__json_string(out, *name, strlen(*name));
    }
    hf__buf_addc(out, ']');
    json_open(out, &any, "options");
    hf__buf_addc(out, '[');
    for (o = info->options, inner = 0; o && o->key; o++) {
        hf__json_comma(out, &inner);
        option_json(out, o);
    }
    hf__buf_addc(out, ']');
    json_str(out, &any, "error", info->error);
    hf__buf_addc(out, '}');
    return out->failed ? HF_NO_MEMORY : 0;
}

static void
field(struct hf__buf *out, const char *name, const char *value)
{
    hf__buf_addf(out, "  %-13s ", name);
    print_safe(out, value, strlen(value));
    hf__buf_addc(out, '\n');
}

static int
backend_text(void *ctx, const struct hf_backend_info *info)
{
    struct shown *shown = ctx;
    struct hf__buf *out = &shown->out, words = {0};
    const struct hf_option *o;
    const char *const *name;
    char abi[32];
    size_t i;

    shown->failed |= info->error != NULL;
    if (shown->any++)
        hf__buf_addc(out, '\n');
    hf__buf_adds(out, style_on(shown->cli, STYLE_BOLD));
    print_safe(out, info->name ? info->name : "?", info->name ? strlen(info->name) : 1);
    hf__buf_addf(out, "%s\n", style_off(shown->cli));
    if (info->path)
        field(out, "path", info->path);
    if (info->error) {
        hf__buf_adds(out, style_on(shown->cli, STYLE_BAD));
        field(out, "error", info->error);
        hf__buf_adds(out, style_off(shown->cli));
        return out->failed ? HF_NO_MEMORY : 0;
    }
    if (info->summary)
        field(out, "summary", info->summary);
    field(out, "version", info->version ? info->version : "?");
    abi_text(info, abi, sizeof abi);
    field(out, "abi", abi);
    field(out, "kind", info->kind == HF_KIND_SHARED_STATE ? "shared_state" : "store");
    field(out, "threads", threads_word(info->threads));
    hf__buf_adds(&words, "");
    for (i = 0; i < sizeof caps / sizeof *caps; i++)
        if (info->caps & caps[i].bit)
            hf__buf_addf(&words, "%s%s", words.len ? " " : "", caps[i].word);
    if (words.len)
        field(out, "capabilities", words.ptr);
    hf__buf_clear(&words);
    for (name = info->callbacks; name && *name; name++)
        hf__buf_addf(&words, "%s%s", words.len ? " " : "", *name);
    if (words.len)
        field(out, "callbacks", words.ptr);
    for (o = info->options; o && o->key; o++) {
        hf__buf_clear(&words);
        hf__buf_addf(&words, "%s (%s, default \"%s\") %s", o->key, o->type,
                     o->fallback ? o->fallback : "", o->help ? o->help : "");
        if (!words.failed)
            field(out, "option", words.ptr);
    }
    if (words.failed)
        out->failed = 1;
    hf__buf_free(&words);
    return out->failed ? HF_NO_MEMORY : 0;
}

int
cmd_backends(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    static const struct opt opts[] = {{NULL, 0, OPT_FLAG, NULL, NULL, NULL}};
    struct shown shown = {.cli = cli};
    struct opt_words words = {0};
    struct hf_error err = {0};
    int rc = opt_parse(cli, cmd, opts, argc, argv, 0, 1, &words);

    if (rc == EXIT_GO_ON)
        rc = cli_runtime(cli);
    if (rc != EXIT_GO_ON)
        goto out;
    if (cli->json)
        hf__buf_adds(&shown.out, "{\"backends\":[");
    if (hf_runtime_backends(cli->rt, words.n ? words.v[0] : NULL,
                            cli->json ? backend_json : backend_text, &shown,
                            &err) != HF_OK) {
        rc = print_error(cli, &err);
        goto out;
    }
    if (cli->json)
        hf__buf_adds(&shown.out, "]}\n");
    else if (!shown.any)
        hf__buf_adds(&shown.out, "No backends.\n");
    rc = print_flush(&shown.out) == 0 && !shown.failed ? EXIT_FINE : EXIT_PROBLEM;
out:
    hf__buf_free(&shown.out);
    opt_words_free(&words);
    return rc;
}
