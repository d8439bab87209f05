/* handle.c - what each event means: calls of the library, and one answer. */
#include "gateway.h"

#include <stdlib.h>
#include <string.h>

/* A session without a source is "gateway"; ensure fills in only what is still NULL, so
 * that it can be repeated. */
static int
session_ensure(struct hf_store *store, const struct event *event, struct hf_error *err)
{
    struct hf_session session = HF_INIT(struct hf_session);

    session.id = event->session;
    session.source = event_text(event, "source");
    if (!session.source.ptr)
        session.source = hf_str("gateway");
    session.title = event_text(event, "title");
    session.model = event_text(event, "model");
    session.parent_id = event_text(event, "parent");
    session.started_at = session.ended_at = HF_NO_TIME;
    session.last_active = session.sort_time = HF_NO_TIME;
    session.estimated_cost_usd = session.actual_cost_usd = HF_NO_TIME;
    return hf_store_session_ensure(store, &session, err);
}

static void
message_fill(const struct event *event, struct hf_message *ret)
{
    const json_t *time = json_object_get(event->json, "timestamp");

    ret->role = event_text(event, "role");
    ret->content = event_text(event, "content");
    ret->tool_calls = event_text(event, "tool_calls");
    ret->tool_call_id = event_text(event, "tool_call_id");
    ret->tool_name = event_text(event, "tool_name");
    ret->platform_message_id = event->ref;
    /* A sender that gives its own uid may send a message twice: it is stored once. */
    ret->uid = event_text(event, "uid");
    ret->token_count = event_int(event, "token_count", HF_NO_INT);
    ret->timestamp = json_is_number(time) ? json_number_value(time) : HF_NO_TIME;
}

/* The tokens of this turn are added to the session in the transaction of its message. */
static uint64_t
fields_fill(const struct event *event, struct hf_field fields[2])
{
    static const char *const names[] = {"input_tokens", "output_tokens"};
    uint64_t n = 0;

    for (size_t i = 0; i < 2; i++) {
        int64_t tokens = event_int(event, names[i], 0);
        if (tokens)
            fields[n++] = (struct hf_field){
                .name = names[i], .op = HF_FIELD_ADD, .type = HF_INT, .i = tokens};
    }
    return n;
}

static int
do_message(struct hf_store *store, const struct event *event, json_t *answer,
           struct hf_error *err)
{
    struct hf_message message = HF_INIT(struct hf_message);
    struct hf_append what = HF_INIT(struct hf_append);
    const struct hf_message *messages[] = {&message};
    struct hf_field fields[2];
    struct hf_appended done;
    int rc;

    message_fill(event, &message);
    if (!message.role.ptr)
        return hf_error_set(err, HF_INVALID, NULL, "a message needs a \"role\"");
    what.session_id = event->session;
    what.messages = messages;
    what.n_messages = 1;
    what.fields = fields;
    what.n_fields = fields_fill(event, fields);
    rc = hf_store_append(store, &what, &done, err);
    if (rc == HF_NOT_FOUND) {
        /* The first message of a session that nobody announced. */
        rc = session_ensure(store, event, err);
        if (rc == HF_OK)
            rc = hf_store_append(store, &what, &done, err);
    }
    if (rc != HF_OK)
        return rc;
    json_object_set_new(answer, "message_id", json_integer(done.id));
    json_object_set_new(answer, "uid", json_string(done.uid));
    return HF_OK;
}

static int
do_rewind(struct hf_store *store, const struct event *event, json_t *answer,
          struct hf_error *err)
{
    uint64_t count;
    int rc = hf_store_rewind(store, &event->session, event_int(event, "from", 0), &count,
                             err);

    if (rc == HF_OK)
        json_object_set_new(answer, "rewound", json_integer((json_int_t)count));
    return rc;
}

static int
message_emit(void *ctx, const struct hf_message *message)
{
    json_t *row = json_object();

    /* Borrowed text lives as long as this call: what is kept is copied. */
    json_object_set_new(row, "message_id", json_integer(message->id));
    json_object_set_new(row, "role", text_json(&message->role));
    json_object_set_new(row, "content", text_json(&message->content));
    return json_array_append_new(ctx, row) == 0 ? 0 : HF_NO_MEMORY;
}

/* The newest messages of a session, oldest first: what an agent resumes from. */
static int
do_read(struct hf_store *store, const struct event *event, json_t *answer,
        struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    json_t *newest = json_array(), *messages = json_array();
    int rc;

    query.limit = (uint64_t)event_int(event, "limit", 50);
    query.backwards = 1;
    rc = hf_store_read(store, &event->session, &query, message_emit, newest, err);
    for (size_t i = json_array_size(newest); rc == HF_OK && i-- > 0;)
        json_array_append(messages, json_array_get(newest, i));
    json_decref(newest);
    json_object_set_new(answer, "messages", messages);
    return rc;
}

static int
do_state(struct hf_store *store, json_t *answer, struct hf_error *err)
{
    struct hf_state state = HF_INIT(struct hf_state);
    int rc = hf_store_state(store, &state, err);

    if (rc != HF_OK)
        return rc;
    json_object_set_new(answer, "state", json_string(condition_name(state.condition)));
    json_object_set_new(answer, "reason", json_string(state.reason));
    json_object_set_new(answer, "pending", json_integer((json_int_t)state.pending));
    json_object_set_new(answer, "backend", json_string(hf_store_backend(store)));
    return HF_OK;
}

static int
event_do(struct hf_store *store, const struct event *event, json_t *answer,
         struct hf_error *err)
{
    struct hf_text text;

    switch (event->op) {
    case OP_MESSAGE:
        return do_message(store, event, answer, err);
    case OP_SESSION:
        return session_ensure(store, event, err);
    case OP_END:
        text = event_text(event, "reason");
        return hf_store_session_end(store, &event->session, &text, err);
    case OP_TITLE:
        text = event_text(event, "title");
        return hf_store_session_rename(store, &event->session, &text, err);
    case OP_REWIND:
        return do_rewind(store, event, answer, err);
    case OP_READ:
        return do_read(store, event, answer, err);
    case OP_FLUSH:
        return hf_store_flush(store, err);
    case OP_STATE:
        return do_state(store, answer, err);
    case OP_SYNC:
        break; /* main.c's own */
    }
    return HF_OK;
}

/* The answer is printed after the library returned: whoever reads "ok" for a message may
 * rely on it after a crash of this process, of the machine too with the default
 * database.synchronous. */
void
event_handle(struct stores *stores, const struct event *event)
{
    json_t *answer = output_answer(event);
    struct hf_store *store;
    struct hf_error err;
    int rc = stores_get(stores, event->profile, &store, &err);

    if (rc == HF_OK)
        rc = event_do(store, event, answer, &err);
    if (rc == HF_OK) {
        output_line(answer);
    } else {
        json_decref(answer);
        output_failure(event, &err);
    }
    stores_watch(stores);
}
