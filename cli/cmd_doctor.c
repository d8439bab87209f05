/* cmd_doctor.c - `holdfast doctor`: findings as rows of glyph, text and remedy. */
#include <string.h>

#include "opt.h"
#include "print.h"

#define UNCHECKED "_unchecked"

struct shown {
    const struct cli *cli;
    struct hf__buf out;
    unsigned long counts[4]; /* ok, info, warning, failure */
    int problems, unchecked;
    int any;
};

static const struct {
    const char *glyph, *word;
    enum style style;
} kinds[] = {{"\xe2\x9c\x93", "ok", STYLE_GOOD},
             {"\xe2\x86\x92", "info", STYLE_NOTE},
             {"\xe2\x9a\xa0", "warning", STYLE_WARN},
             {"\xe2\x9c\x97", "failure", STYLE_BAD}};

static size_t
kind_of(uint32_t severity)
{
    return severity >= HF_SEV_FAILURE   ? 3
           : severity >= HF_SEV_WARNING ? 2
           : severity >= HF_SEV_INFO    ? 1
                                        : 0;
}

static void
row_json(struct hf__buf *out, const struct hf_finding *f, size_t kind)
{
    int any = 0;

    hf__buf_addc(out, '{');
    json_str(out, &any, "code", f->code);
    json_str(out, &any, "severity", kinds[kind].word);
    json_str(out, &any, "path", f->path);
    json_str(out, &any, "text", f->text);
    json_str(out, &any, "remedy", f->remedy);
    json_bool(out, &any, "fixable", f->fixable != 0);
    hf__buf_addc(out, '}');
}

static int
row(void *ctx, const struct hf_finding *f)
{
    struct shown *shown = ctx;
    struct hf__buf *out = &shown->out;
    size_t kind = kind_of(f->severity), len = f->code ? strlen(f->code) : 0;
    const size_t tail = sizeof UNCHECKED - 1;
    int unchecked = len > tail && strcmp(f->code + len - tail, UNCHECKED) == 0;

    shown->counts[kind]++;
    shown->unchecked |= unchecked;
    shown->problems |= kind >= 2 && !unchecked;
    if (shown->cli->json) {
        hf__json_comma(out, &shown->any);
        row_json(out, f, kind);
        return out->failed ? HF_NO_MEMORY : 0;
    }
    hf__buf_addf(out, "%s%s%s ", style_on(shown->cli, kinds[kind].style),
                 kinds[kind].glyph, style_off(shown->cli));
    print_safe(out, f->text, strlen(f->text));
    if (f->remedy) {
        hf__buf_addf(out, " %s(", style_on(shown->cli, STYLE_DIM));
        print_safe(out, f->remedy, strlen(f->remedy));
        hf__buf_addf(out, ")%s", style_off(shown->cli));
    }
    hf__buf_addc(out, '\n');
    return out->failed ? HF_NO_MEMORY : 0;
}

static void
counts(struct shown *shown)
{
    struct hf__buf *out = &shown->out;
    size_t i;
    int any = 0;

    if (!shown->cli->json) {
        hf__buf_addf(out, "%lu ok, %lu for information, %lu warning%s, %lu failure%s\n",
                     shown->counts[0], shown->counts[1], shown->counts[2],
                     shown->counts[2] == 1 ? "" : "s", shown->counts[3],
                     shown->counts[3] == 1 ? "" : "s");
        return;
    }
    hf__buf_adds(out, "],\"counts\":{");
    for (i = 0; i < 4; i++)
        json_int(out, &any, kinds[i].word, (int64_t)shown->counts[i]);
    hf__buf_adds(out, "}}\n");
}

int
cmd_doctor(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
    struct hf_doctor_options options = HF_INIT(struct hf_doctor_options);
    struct shown shown = {.cli = cli};
    struct opt_words words = {0};
    struct hf_error err = {0};
    int fix = 0, all = 0, deep = 0, rc;
    const struct opt opts[] = {
        {"fix", 0, OPT_FLAG, &fix, NULL, "tighten loose modes, make missing folders"},
        {"all-profiles", 0, OPT_FLAG, &all, NULL, "every profile of the home"},
        {"deep", 0, OPT_FLAG, &deep, NULL, "the whole health probe, however long"},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL}};

    rc = opt_parse(cli, cmd, opts, argc, argv, 0, 0, &words);
    cli->may_thread = 1; /* a timer bounds the health probe */
    if (rc == EXIT_GO_ON)
        rc = cli_runtime(cli);
    if (rc != EXIT_GO_ON)
        goto out;
    options.fix = fix != 0;
    options.all_profiles = all != 0;
    options.deep = deep != 0;
    if (cli->json)
        hf__buf_adds(&shown.out, "{\"findings\":[");
    if (hf_doctor(cli->rt, &options, row, &shown, &err) != HF_OK) {
        print_error(cli, &err);
        rc = EXIT_UNCHECKED;
        goto out;
    }
    counts(&shown);
    rc = shown.problems    ? EXIT_PROBLEM
         : shown.unchecked ? EXIT_UNCHECKED
                           : EXIT_FINE;
    if (print_flush(&shown.out) != 0)
        rc = EXIT_PROBLEM;
out:
    hf__buf_free(&shown.out);
    opt_words_free(&words);
    return rc;
}
