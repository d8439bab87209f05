/* store_messages.c - the front of the message operations: append, read, rewind,
 * restore, compact.  Every message gets its uid here, so that each backend has the same
 * names. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Messages as they go to the backend: copies of the embedder's structs (which may be of
 * another age) with uid and time filled in.  Few of them need no allocation. */
#define FEW 8
struct batch {
    struct hf_message *messages;
    const struct hf_message **pointers;
    char (*uids)[HF_UID_SIZE];
    struct hf_message few_messages[FEW];
    const struct hf_message *few_pointers[FEW];
    char few_uids[FEW][HF_UID_SIZE];
};

static void
batch_free(struct batch *batch)
{
    if (batch->messages != batch->few_messages) {
        free(batch->messages);
        free(batch->pointers);
        free(batch->uids);
    }
}

static int
message_check(const struct hf_message *m, uint64_t n, struct hf_error *err)
{
    uint64_t size =
        m->content.len + m->tool_calls.len + m->reasoning.len + m->extra.len;

    if (m->content.len > HF_MAX_MESSAGE || m->tool_calls.len > HF_MAX_MESSAGE ||
        m->reasoning.len > HF_MAX_MESSAGE || m->extra.len > HF_MAX_MESSAGE ||
        size > HF_MAX_MESSAGE)
        return hf_error_set(
            err, HF_TOO_BIG, NULL, "message %llu has %llu bytes: a message may have %u",
            (unsigned long long)n, (unsigned long long)size, HF_MAX_MESSAGE);
    if (!m->role.ptr || !m->role.len)
        return hf_error_set(err, HF_INVALID, NULL, "message %llu has no role",
                            (unsigned long long)n);
    if (m->uid.ptr && !m->uid.len)
        return hf_error_set(err, HF_INVALID, NULL, "the uid of message %llu is empty",
                            (unsigned long long)n);
    if (m->state > HF_MSG_REWOUND || (m->state & (m->state - 1u)))
        return hf_error_set(err, HF_INVALID, NULL,
                            "message %llu: %u is no state of a message",
                            (unsigned long long)n, m->state);
    return HF_OK;
}

static int
batch_make(struct batch *batch, const struct hf_message *const *messages, uint64_t n,
           uint32_t verbatim, struct hf_error *err)
{
    batch->messages = batch->few_messages;
    batch->pointers = batch->few_pointers;
    batch->uids = batch->few_uids;
    if (n > FEW) {
        batch->messages = calloc(n, sizeof *batch->messages);
        batch->pointers = calloc(n, sizeof *batch->pointers);
        batch->uids = calloc(n, sizeof *batch->uids);
        if (!batch->messages || !batch->pointers || !batch->uids)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    for (uint64_t i = 0; i < n; i++) {
        struct hf_message *m = &batch->messages[i];
        int rc = hf__abi_ok(messages[i], "struct hf_message", err);
        if (rc < 0)
            return rc;
        hf__abi_copy(m, sizeof *m, messages[i]);
        rc = message_check(m, i + 1, err);
        if (rc < 0)
            return rc;
        m->n_tool_calls = m->tool_calls.ptr ? hf__tool_call_count(&m->tool_calls) : 0;
        if (!verbatim) {
            m->timestamp = hf__time_or_now(m->timestamp);
            if (!m->uid.ptr) {
                hf__random_hex(batch->uids[i], (HF_UID_SIZE - 1) / 2);
                m->uid = hf_text(batch->uids[i], HF_UID_SIZE - 1);
            }
        }
        batch->pointers[i] = m;
    }
    return HF_OK;
}

/* HF_OK for an id that a store can hold; another one is no session's. */
static int
session_findable(const struct hf_text *id, struct hf_error *err)
{
    if (!id || !id->ptr)
        return hf_error_set(err, HF_INVALID, NULL, "the session's id is NULL");
    if (hf__session_id_check(id, NULL) < 0)
        return hf_error_set(err, HF_NOT_FOUND, NULL,
                            "no session has this id: %llu bytes that no id can be",
                            (unsigned long long)id->len);
    return HF_OK;
}

/* Room for N answers: the caller's own is written on success only. */
static int
answers_make(uint64_t n, struct hf_appended *few, struct hf_appended **ret,
             struct hf_error *err)
{
    *ret = n > FEW ? calloc(n, sizeof **ret) : few;
    if (!*ret)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    return HF_OK;
}

/* A backend that acknowledges without an id has not stored anything that can be found
 * again. */
static int
answers_check(const struct hf_store *store, const struct hf_appended *answers,
              uint64_t n, struct hf_error *err)
{
    for (uint64_t i = 0; i < n; i++)
        if (answers[i].id <= 0 || !memchr(answers[i].uid, '\0', HF_UID_SIZE))
            return hf_error_set(
                err, HF_PLUGIN, NULL,
                "backend %s: append succeeded without an id for message "
                "%llu",
                store->backend->name, (unsigned long long)i + 1);
    return HF_OK;
}

int
hf_store_append(struct hf_store *store, const struct hf_append *what,
                struct hf_appended *ret, struct hf_error *err)
{
    struct hf__call call;
    struct hf_append mine;
    struct hf_appended few[FEW], *answers = few;
    struct batch batch;
    int rc = hf__abi_ok(what, "struct hf_append", err);

    if (rc < 0)
        return rc;
    hf__abi_copy(&mine, sizeof mine, what);
    if ((mine.n_messages && !mine.messages) || (mine.n_fields && !mine.fields))
        return hf_error_set(err, HF_INVALID, NULL, "append: an array is NULL");
    rc = session_findable(&mine.session_id, err);
    if (rc < 0)
        return rc;
    memset(few, 0, sizeof few);
    rc = batch_make(&batch, mine.messages, mine.n_messages,
                    mine.flags & HF_APPEND_VERBATIM, err);
    if (rc == HF_OK)
        rc = answers_make(mine.n_messages, few, &answers, err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "append to a session", 1, err);
    if (rc == HF_OK) {
        mine.messages = batch.pointers;
        rc = HF__OP(store, message_append, &mine, answers, call.err);
        if (rc == HF_OK)
            rc = answers_check(store, answers, mine.n_messages, call.err);
        rc = hf__call_end(&call, rc, 0);
    }
    if (rc == HF_OK && ret && mine.n_messages)
        memcpy(ret, answers, mine.n_messages * sizeof *ret);
    batch_free(&batch);
    if (answers != few)
        free(answers);
    return rc;
}

int
hf_store_read(struct hf_store *store, const struct hf_text *session_id,
              const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
              struct hf_error *err)
{
    struct hf__relay relay = {.emit.message = emit, .ctx = ctx};
    struct hf_message_query mine = HF_INIT(struct hf_message_query);
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "read a session: emit is NULL");
    if (query) {
        rc = hf__abi_ok(query, "struct hf_message_query", err);
        if (rc < 0)
            return rc;
        hf__abi_copy(&mine, sizeof mine, query);
    }
    if (!mine.states)
        mine.states = HF_MSG_ACTIVE;
    rc = session_findable(session_id, err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "read a session", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, message_read, session_id, &mine, hf__relay_message, &relay,
                call.err);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_rewind(struct hf_store *store, const struct hf_text *session_id,
                int64_t from_id, uint64_t *ret_count, struct hf_error *err)
{
    struct hf__call call;
    uint64_t count = 0;
    int rc = session_findable(session_id, err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "rewind a session", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, message_rewind, session_id, from_id, &count, call.err);
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK && ret_count)
        *ret_count = count;
    return rc;
}

int
hf_store_restore(struct hf_store *store, const struct hf_text *session_id,
                 int64_t from_id, uint64_t *ret_count, struct hf_error *err)
{
    struct hf__call call;
    uint64_t count = 0;
    int rc = session_findable(session_id, err);

    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "restore messages", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, message_restore, session_id, from_id, &count, call.err);
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK && ret_count)
        *ret_count = count;
    return rc;
}

int
hf_store_compact(struct hf_store *store, const struct hf_text *session_id,
                 int64_t watermark, const struct hf_message *const *summary,
                 uint64_t n_summary, struct hf_appended *ret, struct hf_error *err)
{
    struct hf__call call;
    struct hf_appended few[FEW], *answers = few;
    struct batch batch;
    int rc;

    if (n_summary && !summary)
        return hf_error_set(err, HF_INVALID, NULL, "compact: summary is NULL");
    rc = session_findable(session_id, err);
    if (rc < 0)
        return rc;
    memset(few, 0, sizeof few);
    rc = batch_make(&batch, summary, n_summary, 0, err);
    for (uint64_t i = 0; rc == HF_OK && i < n_summary; i++)
        batch.messages[i].is_summary = 1;
    if (rc == HF_OK)
        rc = answers_make(n_summary, few, &answers, err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "compact a session", 1, err);
    if (rc == HF_OK) {
        rc = HF__OP(store, message_compact, session_id, watermark, batch.pointers,
                    n_summary, answers, call.err);
        if (rc == HF_OK)
            rc = answers_check(store, answers, n_summary, call.err);
        rc = hf__call_end(&call, rc, 0);
    }
    if (rc == HF_OK && ret && n_summary)
        memcpy(ret, answers, n_summary * sizeof *ret);
    batch_free(&batch);
    if (answers != few)
        free(answers);
    return rc;
}
