/* check.c - what is wrong with the folder: damaged and torn lines, what was set aside,
 * files that are not ours.  Changes nothing. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "private.h"

struct look {
    hf_finding_fn *emit;
    void *ctx;
    uint64_t sessions, messages, bad;
};

static int
tell(struct look *look, uint32_t severity, const char *code, const char *path,
     const char *remedy, const char *text)
{
    struct hf_finding finding = HF_INIT(struct hf_finding);

    look->bad += severity >= HF_SEV_WARNING;
    finding.severity = severity;
    finding.code = code;
    finding.path = path;
    finding.text = text;
    finding.remedy = remedy;
    return look->emit(look->ctx, &finding);
}

/* "3, 17 and 5 more" */
static void
lines_text(const struct hf__jl_file *file, char *ret, size_t size)
{
    size_t at = 0, i;

    for (i = 0; i < file->n_damaged && i < 8 && at < size; i++)
        at += (size_t)snprintf(ret + at, size - at, "%s%llu", i ? ", " : "",
                               (unsigned long long)file->damaged[i]);
    if (i < file->n_damaged && at < size)
        snprintf(ret + at, size - at, " and %zu more", file->n_damaged - i);
}

static int
look_at(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
        struct hf_error *err)
{
    struct look *look = ctx;
    char text[512], lines[256] = "";
    int marked, misnamed, headless, torn, rc = HF_OK;
    int64_t size;
    size_t n_damaged;

    (void)err;
    pthread_mutex_lock(&file->lock);
    marked = file->marked;
    misnamed = file->misnamed;
    headless = file->headless;
    torn = file->torn_at >= 0;
    size = file->size;
    n_damaged = file->n_damaged;
    lines_text(file, lines, sizeof lines);
    pthread_mutex_unlock(&file->lock);
    if (view->row) {
        look->sessions++;
        look->messages += view->messages;
    }
    if (!marked && size > 0)
        return tell(look, HF_SEV_INFO, "jsonl_foreign", file->path,
                    "holdfast sessions import FILE",
                    "not Holdfast's file: it is neither read nor changed");
    if (misnamed)
        rc =
            tell(look, HF_SEV_WARNING, "jsonl_misnamed", file->path,
                 "move it out of the folder",
                 "holds the session of another file's name: a copy, which is not read");
    if (rc == HF_OK && headless)
        rc = tell(
            look, HF_SEV_WARNING, "jsonl_headless", file->path, NULL,
            "the line with the session is damaged: source, title and model are lost, "
            "the messages are there");
    if (rc == HF_OK && n_damaged) {
        snprintf(text, sizeof text,
                 "damaged in line %s: skipped, its bytes stay in the file", lines);
        rc = tell(look, HF_SEV_WARNING, "jsonl_damaged", file->path, NULL, text);
    } else if (rc == HF_OK && torn)
        rc =
            tell(look, HF_SEV_INFO, "jsonl_torn", file->path, NULL,
                 "the last line is torn; it is set aside at the next open for writing");
    return rc;
}

static int
is_aside(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);

    return len > 11 && !strcmp(entry->d_name + len - 11, ".quarantine");
}

static int
asides_tell(struct hf_jsonl_store *st, struct look *look)
{
    struct dirent **names = NULL;
    int n = scandir(st->dir, &names, is_aside, alphasort), rc = HF_OK;

    for (int i = 0; i < n; i++) {
        struct hf__buf path = {0};
        hf__buf_addf(&path, "%s/%s", st->dir, names[i]->d_name);
        if (rc == HF_OK && !path.failed)
            rc = tell(look, HF_SEV_INFO, "jsonl_quarantine", path.ptr, NULL,
                      "torn lines were set aside here: remove it when it is of no use");
        hf__buf_free(&path);
        free(names[i]);
    }
    free(names);
    return rc;
}

int
hf__jl_check(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
             struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct look look = {emit, ctx, 0, 0, 0};
    char text[160];
    int rc;

    (void)level; /* reading a file is looking at each of its checksums */
    rc = hf__jl_each(st, 1, look_at, &look, err);
    if (rc == HF_OK)
        rc = asides_tell(st, &look);
    if (rc != HF_OK || look.bad)
        return rc;
    snprintf(text, sizeof text, "%llu sessions and %llu messages can be read",
             (unsigned long long)look.sessions, (unsigned long long)look.messages);
    return tell(&look, HF_SEV_OK, "jsonl_readable", st->dir, NULL, text);
}
