/* ours.c - the work, done through Holdfast's public interface. */
#include "bench.h"

#include <stdlib.h>

/* Sums up what was read, so that no compiler leaves the reading out. */
static volatile uint64_t sink;

static void
check(int rc, const struct hf_error *err)
{
    if (rc != HF_OK)
        die("%s: %s", hf_code_name(rc), err->message);
}

void
ours_open(struct bench *b)
{
    struct hf_error err;
    check(hf_store_open(b->runtime, NULL, &b->store, &err), &err);
}

void
ours_close(struct bench *b)
{
    hf_store_close(&b->store);
}

static void
append(struct bench *b, uint64_t n_messages, uint64_t seed)
{
    struct hf_message messages[BATCH];
    const struct hf_message *pointers[BATCH];
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended done[BATCH];
    static char texts[BATCH][1024];
    struct hf_error err;

    for (uint64_t i = 0; i < n_messages; i++) {
        messages[i] = HF_INIT(struct hf_message);
        messages[i].role = hf_str("user");
        messages[i].content =
            hf_text(texts[i], text_make(texts[i], sizeof texts[i], seed + i));
        messages[i].timestamp = 1750000000.0 + (double)(seed + i);
        messages[i].token_count = HF_NO_INT;
        pointers[i] = &messages[i];
    }
    what.session_id = hf_str(SESSION_APPEND);
    what.messages = pointers;
    what.n_messages = n_messages;
    check(hf_store_append(b->store, &what, done, &err), &err);
}

uint64_t
ours_append_one(struct bench *b)
{
    for (int i = 0; i < b->appends; i++)
        append(b, 1, 1000000 + (uint64_t)i);
    return (uint64_t)b->appends;
}

uint64_t
ours_append_batch(struct bench *b)
{
    for (int i = 0; i < b->appends / 10; i++)
        append(b, BATCH, 2000000 + (uint64_t)i * BATCH);
    return (uint64_t)(b->appends / 10);
}

static int
message_see(void *ctx, const struct hf_message *message)
{
    uint64_t *n = ctx;
    sink += message->content.len + message->role.len;
    ++*n;
    return 0;
}

uint64_t
ours_read(struct bench *b)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_text id = hf_str(SESSION_LONG);
    struct hf_error err;
    uint64_t n = 0;

    check(hf_store_read(b->store, &id, &query, message_see, &n, &err), &err);
    return n;
}

static int
session_see(void *ctx, const struct hf_session *session)
{
    uint64_t *n = ctx;
    sink += session->id.len + session->preview.len;
    ++*n;
    return 0;
}

uint64_t
ours_list(struct bench *b)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct hf_error err;
    uint64_t n = 0;

    query.limit = PAGE_SESSIONS;
    check(hf_store_session_list(b->store, &query, session_see, &n, &err), &err);
    return n;
}

static int
hit_see(void *ctx, const struct hf_hit *hit)
{
    uint64_t *n = ctx;
    sink += hit->snippet.len;
    ++*n;
    return 0;
}

static uint64_t
search(struct bench *b, const char *word)
{
    struct hf_search query = HF_INIT(struct hf_search);
    struct hf_search_info info = HF_INIT(struct hf_search_info);
    struct hf_error err;
    uint64_t n = 0;

    query.text = hf_str(word);
    query.limit = HITS;
    check(hf_store_search(b->store, &query, hit_see, &n, &info, &err), &err);
    if (info.degraded)
        die("the search for \"%s\" did not use the index: %s", word, info.note);
    return n;
}

uint64_t
ours_search_rare(struct bench *b)
{
    return search(b, WORD_RARE);
}

uint64_t
ours_search_common(struct bench *b)
{
    return search(b, WORD_COMMON);
}

static int
export_see(void *ctx, const char *bytes, size_t len)
{
    uint64_t *lines = ctx;
    for (size_t i = 0; i < len; i++)
        *lines += bytes[i] == '\n';
    sink += len;
    return 0;
}

uint64_t
ours_export(struct bench *b)
{
    struct hf_export_options options = HF_INIT(struct hf_export_options);
    struct hf_error err;
    uint64_t lines = 0;

    check(hf_store_export_jsonl(b->store, &options, export_see, &lines, &err), &err);
    return lines;
}

uint64_t
ours_open_settled(struct bench *b)
{
    struct hf_store *store;
    struct hf_error err;

    check(hf_store_open(b->runtime, NULL, &store, &err), &err);
    hf_store_close(&store);
    return 1;
}
