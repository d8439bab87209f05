/* failover_states.c - rewind, restore and compaction in a degraded store: the messages
 * they concern, those of the primary too, are written to the fallback with their new
 * states, and the merge carries the states over. */
#include "failover.h"

#include <stdlib.h>
#include <string.h>

#include "failover_states.h"

struct held {
    struct held *next;
    struct hf_message message;
};
struct collected {
    struct held *first, **end;
    int64_t from, to; /* ids, inclusive */
    uint32_t state;   /* the new one */
    uint64_t n;
    int failed;
};

/* A copy of MESSAGE with all its texts, in one piece of memory. */
static struct held *
held_make(const struct hf_message *message)
{
    struct hf_message m;
    struct hf_text *texts[] = {
        &m.uid,          &m.session_id,          &m.role,      &m.content,
        &m.tool_call_id, &m.tool_calls,          &m.tool_name, &m.finish_reason,
        &m.reasoning,    &m.platform_message_id, &m.extra};
    size_t size = sizeof(struct held);
    struct held *held;
    char *at;

    hf__abi_copy(&m, sizeof m, message);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        size += texts[i]->ptr ? (size_t)texts[i]->len + 1 : 0;
    held = malloc(size);
    if (!held)
        return NULL;
    at = (char *)(held + 1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!texts[i]->ptr)
            continue;
        memcpy(at, texts[i]->ptr, (size_t)texts[i]->len);
        at[texts[i]->len] = '\0';
        texts[i]->ptr = at;
        at += texts[i]->len + 1;
    }
    held->message = m;
    held->next = NULL;
    return held;
}

static int
hold(void *ctx, const struct hf_message *message)
{
    struct collected *c = ctx;
    struct held *held;

    if (message->id < c->from || message->id > c->to)
        return 0;
    held = held_make(message);
    if (!held) {
        c->failed = 1;
        return 1;
    }
    held->message.state = c->state;
    *c->end = held;
    c->end = &held->next;
    c->n++;
    return 0;
}

static int
emit_held(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    const struct collected *c = ctx;
    int rc = HF_OK;

    (void)err;
    for (const struct held *h = c->first; rc == HF_OK && h; h = h->next)
        rc = emit(emit_ctx, &h->message);
    return rc;
}

int
hf__states_change(struct hf_store *store, const struct hf_text *id,
                  const struct hf__states *what, uint64_t *ret_count,
                  struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_transfer transfer = HF_INIT(struct hf_transfer);
    struct hf_transferred done = HF_INIT(struct hf_transferred);
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_field rewound = {"rewind_count", HF_FIELD_ADD, HF_INT, 1, 0, {0}};
    struct collected c = {.from = what->from, .to = what->to, .state = what->to_state};
    int rc;

    c.end = &c.first;
    query.states = what->of_state;
    query.want = HF_WANT_EXTRA;
    rc = hf__union_read(store, id, &query, hold, &c, err);
    if (c.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    c.from = INT64_MIN, c.to = INT64_MAX, c.state = HF_MSG_ACTIVE;
    for (uint64_t i = 0; rc == HF_OK && i < what->n_more; i++) {
        if (hold(&c, what->more[i]))
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        else
            c.n--;
    }
    if (rc == HF_OK) {
        session.id = *id;
        transfer.session = &session;
        transfer.messages = emit_held;
        transfer.ctx = &c;
        transfer.fields = &rewound;
        transfer.n_fields = what->to_state == HF_MSG_REWOUND;
        rc = HF__BACK(store, session_merge, &transfer, &done, err);
    }
    if (rc == HF_OK && ret_count)
        *ret_count = c.n;
    while (c.first) {
        struct held *next = c.first->next;
        free(c.first);
        c.first = next;
    }
    return rc;
}
