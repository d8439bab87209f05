/* defaults_walk.c - stats and check for backends without: by listing every session and
 * reading every message. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Session ids are collected first: a backend need not allow a read within a list. */
struct ids {
    char **ids;
    uint64_t *lens;
    size_t n, cap;
};

struct source {
    char *name;
    uint64_t len, sessions;
};

struct walk {
    struct ids ids;
    struct source *sources;
    size_t n_sources;
    int no_memory;
};

static void
walk_free(struct walk *walk)
{
    for (size_t i = 0; i < walk->ids.n; i++)
        free(walk->ids.ids[i]);
    free(walk->ids.ids);
    free(walk->ids.lens);
    for (size_t i = 0; i < walk->n_sources; i++)
        free(walk->sources[i].name);
    free(walk->sources);
}

static int
id_add(struct ids *ids, const struct hf_text *id)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 64;
        char **grown = realloc(ids->ids, cap * sizeof *grown);
        uint64_t *lens;
        if (!grown)
            return -1;
        ids->ids = grown;
        lens = realloc(ids->lens, cap * sizeof *lens);
        if (!lens)
            return -1;
        ids->lens = lens;
        ids->cap = cap;
    }
    ids->ids[ids->n] = hf__text_dup(id);
    if (!ids->ids[ids->n])
        return -1;
    ids->lens[ids->n++] = id->len;
    return 0;
}

static int
source_count(struct walk *walk, const struct hf_text *source)
{
    struct source *grown;

    for (size_t i = 0; i < walk->n_sources; i++) {
        struct source *s = &walk->sources[i];
        if (s->len == source->len && !memcmp(s->name, source->ptr, s->len)) {
            s->sessions++;
            return 0;
        }
    }
    grown = realloc(walk->sources, (walk->n_sources + 1) * sizeof *grown);
    if (!grown)
        return -1;
    walk->sources = grown;
    grown[walk->n_sources] = (struct source){hf__text_dup(source), source->len, 1};
    if (!grown[walk->n_sources].name)
        return -1;
    walk->n_sources++;
    return 0;
}

static int
on_session(void *ctx, const struct hf_session *session)
{
    struct walk *walk = ctx;
    struct hf_text source = session->source.ptr ? session->source : hf_str("");

    if (id_add(&walk->ids, &session->id) < 0 || source_count(walk, &source) < 0) {
        walk->no_memory = 1;
        return 1;
    }
    return 0;
}

static int
sessions_collect(struct hf_store *store, struct walk *walk, struct hf_error *err)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    int rc;

    query.view = HF_VIEW_ALL;
    rc = HF__OP(store, session_list, &query, on_session, walk, err);
    if (walk->no_memory)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    return rc;
}

static int
on_message(void *ctx, const struct hf_message *message)
{
    uint64_t *count = ctx;

    (void)message;
    ++*count;
    return 0;
}

static int
session_read(struct hf_store *store, const struct walk *walk, size_t i, uint64_t *count,
             struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_text id = hf_text(walk->ids.ids[i], walk->ids.lens[i]);

    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND;
    return HF__OP(store, message_read, &id, &query, on_message, count, err);
}

int
hf__default_stats(void *ctx, struct hf_stats *ret, hf_source_fn *emit_source,
                  void *emit_ctx, struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct walk walk = {0};
    uint64_t messages = 0;
    int rc = sessions_collect(store, &walk, err);

    for (size_t i = 0; rc == HF_OK && i < walk.ids.n; i++) {
        rc = session_read(store, &walk, i, &messages, err);
        if (rc == HF_NOT_FOUND)
            rc = HF_OK; /* deleted meanwhile by another process */
    }
    for (size_t i = 0; rc == HF_OK && i < walk.n_sources && emit_source; i++) {
        struct hf_text name = hf_text(walk.sources[i].name, walk.sources[i].len);
        rc = emit_source(emit_ctx, &name, walk.sources[i].sessions);
    }
    if (rc == HF_OK) {
        ret->sessions = walk.ids.n;
        ret->messages = messages;
    }
    walk_free(&walk);
    return rc;
}

int
hf__default_check(void *ctx, uint32_t level, hf_finding_fn *emit, void *emit_ctx,
                  struct hf_error *err)
{
    struct hf_store *store = ctx;
    struct walk walk = {0};
    struct hf_error why;
    uint64_t messages = 0, bad = 0;
    int rc = sessions_collect(store, &walk, err);

    (void)level;
    for (size_t i = 0; rc == HF_OK && i < walk.ids.n; i++) {
        struct hf_finding finding = HF_INIT(struct hf_finding);
        struct hf__buf text = {0};
        int got = session_read(store, &walk, i, &messages, &why);
        if (got == HF_OK || got == HF_NOT_FOUND)
            continue;
        if (got == HF_CANCELLED) {
            rc = hf_error_set(err, got, why.path, "%s", why.message);
            break;
        }
        bad++;
        hf__buf_addf(&text, "session %s cannot be read: %s (%s)", walk.ids.ids[i],
                     why.message, hf_code_name(got));
        finding.code = "session_unreadable";
        finding.path = store->home;
        finding.text = text.failed ? "a session cannot be read" : text.ptr;
        finding.severity = HF_SEV_FAILURE;
        rc = emit(emit_ctx, &finding);
        hf__buf_free(&text);
    }
    if (rc == HF_OK && !bad) {
        struct hf_finding finding = HF_INIT(struct hf_finding);
        char text[128];
        snprintf(text, sizeof text, "%llu sessions and %llu messages can be read",
                 (unsigned long long)walk.ids.n, (unsigned long long)messages);
        finding.code = "store_readable";
        finding.path = store->home;
        finding.text = text;
        finding.severity = HF_SEV_OK;
        rc = emit(emit_ctx, &finding);
    }
    walk_free(&walk);
    return rc;
}
