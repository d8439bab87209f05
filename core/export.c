/* export.c - a store as JSON Lines: one session a line, its messages last (SPEC 14).
 * Memory stays flat: the ids are collected first, then every session is read in pieces,
 * and nothing is handed to the writer while the store is held. */
#include <string.h>

#include "internal.h"

enum {
    LIST_PAGE = 900,
    PIECE_BYTES = 1 << 20, /* a piece is handed on once it has that much */
    PIECE_FULL = 1         /* what an emit callback stops with */
};

struct exporter {
    struct hf_store *store;
    struct hf_export_options options;
    hf_write_fn *write;
    void *ctx;
    struct hf__buf out;
    int64_t max_messages;  /* of one session; 0: no limit */
    /* While a session is read: */
    int64_t last_id;
    int64_t n_messages;
    int any, matches;
};

/* The ids of all sessions, end to end; as an id may hold any byte, with lengths. */
struct id_list {
    struct hf__buf bytes, lengths;
    uint64_t n;
    double last_time;
    struct hf__buf last_id;
};

static int
id_collect(void *ctx, const struct hf_session *session)
{
    struct id_list *list = ctx;
    uint64_t len = session->id.len;

    hf__buf_add(&list->bytes, session->id.ptr, len);
    hf__buf_add(&list->lengths, &len, sizeof len);
    list->n++;
    list->last_time = session->sort_time;
    hf__buf_clear(&list->last_id);
    hf__buf_add(&list->last_id, session->id.ptr, len);
    return list->bytes.failed || list->lengths.failed || list->last_id.failed
               ? HF_NO_MEMORY
               : 0;
}

static int
ids_collect(struct exporter *ex, struct id_list *list, struct hf_error *err)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    uint64_t before;
    int rc;

    query.view = HF_VIEW_ALL;
    query.limit = LIST_PAGE;
    query.sources = ex->options.sources;
    query.n_sources = ex->options.n_sources;
    query.since = ex->options.since;
    query.until = ex->options.until;
    do {
        before = list->n;
        rc = hf_store_session_list(ex->store, &query, id_collect, list, err);
        if (rc != HF_OK)
            break;
        query.after_id = hf_text(list->last_id.ptr, list->last_id.len);
        query.after_time = list->last_time;
    } while (list->n - before == LIST_PAGE);
    if (rc == HF_NO_MEMORY)
        hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for the list of sessions");
    return rc;
}

/* The filters, for sessions that were named and not found through them. */
static int
session_matches(const struct exporter *ex, const struct hf_session *session)
{
    const struct hf_export_options *o = &ex->options;
    double t = session->last_active;
    uint64_t i;

    if (o->sources) {
        for (i = 0; i < o->n_sources; i++)
            if (session->source.ptr && o->sources[i].len == session->source.len &&
                !memcmp(o->sources[i].ptr, session->source.ptr, session->source.len))
                break;
        if (i == o->n_sources)
            return 0;
    }
    if (o->since > 0 && !(t >= o->since))
        return 0;
    return !(o->until > 0) || t < o->until;
}

static int
session_add(void *ctx, const struct hf_session *session)
{
    struct exporter *ex = ctx;

    ex->matches = session_matches(ex, session);
    if (ex->matches)
        hf__session_json(&ex->out, session);
    return 0;
}

static int
message_add(void *ctx, const struct hf_message *message)
{
    struct exporter *ex = ctx;

    if (ex->max_messages > 0 && ++ex->n_messages > ex->max_messages)
        return HF_TOO_BIG;
    ex->last_id = message->id;
    if (ex->any)
        hf__buf_addc(&ex->out, ',');
    ex->any = 1;
    hf__message_json(&ex->out, message);
    if (ex->out.failed)
        return HF_NO_MEMORY;
    return ex->out.len >= PIECE_BYTES ? PIECE_FULL : 0;
}

static int
piece_send(struct exporter *ex, struct hf_error *err)
{
    int rc;

    if (ex->out.failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a piece of export");
    rc = ex->write(ex->ctx, ex->out.ptr, ex->out.len);
    if (rc < 0 && err && err->code != rc)
        hf_error_set(err, rc, NULL, "the export could not be written");
    /* One huge message must not keep its memory until the end. */
    if (ex->out.cap > 8 * PIECE_BYTES)
        hf__buf_free(&ex->out);
    hf__buf_clear(&ex->out);
    return rc;
}

static int
messages_export(struct exporter *ex, const struct hf_text *id, struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    int rc;

    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED;
    query.want = HF_WANT_EXTRA;
    ex->last_id = ex->n_messages = 0;
    ex->any = 0;
    do {
        query.after_id = ex->last_id;
        rc = hf_store_read(ex->store, id, &query, message_add, ex, err);
        if (rc == PIECE_FULL) {
            int sent = piece_send(ex, err);
            if (sent)
                return sent;
        }
    } while (rc == PIECE_FULL);
    if (rc == HF_TOO_BIG && ex->max_messages > 0 && ex->n_messages > ex->max_messages)
        hf_error_set(err, rc, NULL,
                     "session %.*s has more than %lld messages; raise "
                     "sessions.max_export_messages in config.yaml to export it",
                     (int)(id->len < 512 ? id->len : 512), id->ptr,
                     (long long)ex->max_messages);
    else if (rc == HF_NO_MEMORY && ex->out.failed)
        hf_error_set(err, rc, NULL, "no memory for a message of session %.*s",
                     (int)(id->len < 512 ? id->len : 512), id->ptr);
    return rc;
}

/* NAMED: the caller asked for exactly this one, so that its absence is an error. */
static int
session_export(struct exporter *ex, const struct hf_text *id, int named,
               struct hf_error *err)
{
    int rc;

    hf__buf_clear(&ex->out);
    ex->matches = 0;
    rc = hf_store_session_get(ex->store, id, HF_WANT_EXTRA, session_add, ex, err);
    if (rc == HF_NOT_FOUND && !named)
        return HF_OK; /* deleted since it was listed */
    if (rc != HF_OK || !ex->matches)
        return rc;
    if (ex->out.len) /* reopens the object for its last member */
        ex->out.len--;
    hf__buf_adds(&ex->out, ",\"messages\":[");
    rc = messages_export(ex, id, err);
    if (rc != HF_OK)
        return rc;
    hf__buf_adds(&ex->out, "]}\n");
    return piece_send(ex, err);
}

int
hf_store_export_jsonl(struct hf_store *store, const struct hf_export_options *options,
                      hf_write_fn *write, void *ctx, struct hf_error *err)
{
    struct exporter ex = {.store = store, .write = write, .ctx = ctx};
    struct id_list list = {0};
    uint64_t i, done = 0, total, start = 0;
    int rc = HF_OK;

    if (!store || !write)
        return hf_error_set(err, HF_INVALID, NULL, "export: an argument is NULL");
    if (options)
        hf__abi_copy(&ex.options, sizeof ex.options, options);
    if (ex.options.n_ids && !ex.options.ids)
        return hf_error_set(err, HF_INVALID, NULL, "export: the ids are NULL");
    if (store->config)
        ex.max_messages = hf__config_int(store->config, "sessions.max_export_messages");

    if (ex.options.n_ids) {
        total = ex.options.n_ids;
        for (i = 0; rc == HF_OK && i < total; i++) {
            rc = session_export(&ex, &ex.options.ids[i], 1, err);
            if (rc == HF_OK && ex.options.progress)
                ex.options.progress(ex.options.progress_ctx, i + 1, total);
        }
        goto out;
    }
    rc = ids_collect(&ex, &list, err);
    total = list.n;
    start = list.bytes.len;
    /* Oldest first, so that an import meets parents before their children. */
    for (i = total; rc == HF_OK && i-- > 0;) {
        struct hf_text id;
        memcpy(&id.len, list.lengths.ptr + i * sizeof id.len, sizeof id.len);
        start -= id.len;
        id.ptr = list.bytes.ptr + start;
        rc = session_export(&ex, &id, 0, err);
        if (rc == HF_OK && ex.options.progress)
            ex.options.progress(ex.options.progress_ctx, ++done, total);
    }
out:
    hf__buf_free(&list.bytes);
    hf__buf_free(&list.lengths);
    hf__buf_free(&list.last_id);
    hf__buf_free(&ex.out);
    return rc;
}
