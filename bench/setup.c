/* setup.c - one store, made and filled by Holdfast, and its copy for the bare side. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void
session_fill(struct bench *b, const char *id, int n_messages, uint64_t *number)
{
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_message *messages = calloc((size_t)n_messages + 1, sizeof *messages);
    const struct hf_message **pointers =
        calloc((size_t)n_messages + 1, sizeof *pointers);
    char *texts = malloc(1024 * ((size_t)n_messages + 1));
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_error err;

    if (!messages || !pointers || !texts)
        die("out of memory");
    session.id = hf_str(id);
    session.source = hf_str("bench");
    /* Distinct starts, so that both sides list in the same order. */
    session.started_at = 1700000000.0 + (double)*number;
    session.ended_at = session.last_active = session.sort_time = HF_NO_TIME;
    session.estimated_cost_usd = session.actual_cost_usd = HF_NO_TIME;
    if (hf_store_session_create(b->store, &session, NULL, 0, &err) != HF_OK)
        die("create %s: %s", id, err.message);
    for (int i = 0; i < n_messages; i++) {
        char *text = texts + 1024 * (size_t)i;
        messages[i] = HF_INIT(struct hf_message);
        messages[i].role = hf_str(i % 2 ? "assistant" : "user");
        messages[i].content = hf_text(text, text_make(text, 1024, (*number)++));
        messages[i].timestamp = session.started_at + i;
        messages[i].token_count = HF_NO_INT;
        pointers[i] = &messages[i];
    }
    what.session_id = session.id;
    what.messages = pointers;
    what.n_messages = (uint64_t)n_messages;
    if (n_messages && hf_store_append(b->store, &what, NULL, &err) != HF_OK)
        die("append to %s: %s", id, err.message);
    free(messages);
    free(pointers);
    free(texts);
}

static void
file_copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = 0;

    while (in >= 0 && out >= 0 && (n = sendfile(out, in, NULL, 1 << 20)) > 0)
        ;
    if (in < 0 || out < 0 || n < 0)
        die("copy %s to %s: %s", from, to, strerror(errno));
    close(in);
    close(out);
}

void
setup_make(struct bench *b)
{
    struct hf_runtime_options options = HF_INIT(struct hf_runtime_options);
    struct hf_error err;
    uint64_t number = 0;
    char id[32];

    if (!mkdtemp(b->dir))
        die("cannot make a folder like %s: %s", b->dir, strerror(errno));
    if (asprintf(&b->home, "%s/home", b->dir) < 0
        || asprintf(&b->path, "%s/state.db", b->home) < 0
        || asprintf(&b->bare_path, "%s/bare.db", b->dir) < 0)
        die("out of memory");
    options.home = b->home;
    if (hf_runtime_new(&options, &b->runtime, &err) != HF_OK)
        die("%s", err.message);
    ours_open(b);
    for (int i = 0; i < b->sessions; i++) {
        snprintf(id, sizeof id, "bench-%05d", i);
        session_fill(b, id, 5, &number);
    }
    session_fill(b, SESSION_LONG, b->long_session, &number);
    session_fill(b, SESSION_APPEND, 0, &number);
    ours_close(b);
    /* The last close empties the WAL: the main file is all of it. */
    file_copy(b->path, b->bare_path);
    ours_open(b);
    bare_open(b);
}

static int
entry_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void
setup_remove(struct bench *b)
{
    bare_close(b);
    ours_close(b);
    hf_runtime_free(&b->runtime);
    if (nftw(b->dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "holdfast-bench: cannot remove %s\n", b->dir);
    free(b->bare_path);
    free(b->path);
    free(b->home);
    free(b->dir);
}
