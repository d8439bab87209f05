/* defaults_merge.c - taking a session over from another store, for backends that cannot do
 * it in one transaction: the session, what it lacks of the messages, the changes.  States
 * of messages that are there already are left as they are. */
#include "import.h"
#include "internal.h"

struct merge {
    struct hf_store *store;
    const struct hf_text *id;
    struct hf__known *known;
    struct hf_transferred *ret;
    struct hf_error *err;
    int64_t calls;
    double before; /* the time of the message before */
};

static int
message_take(void *ctx, const struct hf_message *message)
{
    struct merge *merge = ctx;
    struct hf_message mine;
    const struct hf_message *one = &mine;
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_appended answer;
    int rc;

    hf__abi_copy(&mine, sizeof mine, message);
    mine.id = 0;
    if (!isfinite(mine.timestamp)) {
        /* One without a time has that of the one before it: the same whenever it comes. */
        if (hf__known_has(merge->known, &mine))
            return HF_OK;
        mine.timestamp = merge->before;
    }
    merge->before = mine.timestamp;
    if (hf__known_has(merge->known, &mine))
        return HF_OK;
    append.session_id = *merge->id;
    append.messages = &one;
    append.n_messages = 1;
    append.flags = HF_APPEND_VERBATIM;
    rc = HF__OP(merge->store, message_append, &append, &answer, merge->err);
    if (rc == HF_OK) {
        merge->ret->messages++;
        merge->calls += mine.tool_calls.ptr ? hf__tool_call_count(&mine.tool_calls) : 0;
    }
    return rc;
}

/* What cannot be carried out here, as a column that only another version has, must not
 * keep all else away. */
static int
field_take(struct merge *merge, const struct hf_field *field)
{
    int rc = HF__OP(merge->store, session_update, merge->id, field, 1, merge->err);

    if (rc != HF_INVALID)
        return rc;
    hf__log(&merge->store->rt->log, HF_LOG_WARNING, "field_left_out", NULL,
            "session %.*s came with a change that this store cannot carry out, which is "
            "left out: %s",
            (int)(merge->id->len < 200 ? merge->id->len : 200), merge->id->ptr,
            merge->err->message);
    return HF_OK;
}

/* The counters of what was added, and the changes that came along. */
static int
changes_make(struct merge *merge, const struct hf_transfer *what)
{
    struct hf_field counters[2] = {
        {"message_count", HF_FIELD_ADD, HF_INT, (int64_t)merge->ret->messages, 0, {0}},
        {"tool_call_count", HF_FIELD_ADD, HF_INT, merge->calls, 0, {0}},
    };
    int rc = HF_OK;

    if (merge->ret->messages)
        rc = HF__OP(merge->store, session_update, merge->id, counters, 2, merge->err);
    for (uint64_t i = 0; rc == HF_OK && i < what->n_fields; i++)
        rc = field_take(merge, &what->fields[i]);
    for (uint64_t i = 0; rc == HF_OK && i < what->n_usage; i++)
        rc = HF__OP(merge->store, usage_add, what->usage[i], merge->err);
    return rc;
}

int
hf__default_session_merge(void *store, const struct hf_transfer *what,
                          struct hf_transferred *ret, struct hf_error *err)
{
    struct hf_session session;
    struct merge merge = {.store = store, .ret = ret, .err = err};
    int rc;

    hf__abi_copy(&session, sizeof session, what->session);
    session.message_count = session.tool_call_count = 0;
    merge.id = &session.id;
    merge.before = hf__time_valid(session.started_at) ? session.started_at : 0;
    rc = HF__OP(merge.store, session_put, &session, HF_PUT_ENSURE, err);
    if (rc == HF_OK)
        rc = hf__known_read_inside(merge.store, merge.id, &merge.known, err);
    if (rc == HF_OK)
        rc = what->messages(what->ctx, message_take, &merge, err);
    if (rc == HF_OK)
        rc = changes_make(&merge, what);
    hf__known_free(&merge.known);
    return rc;
}
