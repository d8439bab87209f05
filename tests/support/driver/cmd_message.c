/* cmd_message.c - commands on messages: append, read, rewind, restore, compact, search. */
#include "driver.h"

#include <stdlib.h>

/* The array NAME of the command as messages. */
static int
messages_arg(struct call *call, const char *name,
             const struct hf_message *const **ret, uint64_t *ret_n)
{
    json_t *in = json_object_get(call->in, name);
    size_t n = json_array_size(in);
    struct hf_message *messages = call_keep(call, (n + 1) * sizeof *messages);
    const struct hf_message **pointers = call_keep(call, (n + 1) * sizeof *pointers);
    int rc = HF_OK;

    for (size_t i = 0; i < n && !rc; i++) {
        messages[i] = HF_INIT(struct hf_message);
        messages[i].timestamp = HF_NO_TIME;
        messages[i].token_count = HF_NO_INT;
        messages[i].role = hf_str("user");
        rc = members_read(call, json_array_get(in, i), message_members, &messages[i]);
        pointers[i] = &messages[i];
    }
    *ret = pointers;
    *ret_n = n;
    return rc;
}

static void
appended_answer(struct call *call, const struct hf_appended *appended, uint64_t n)
{
    json_t *ids = json_array(), *uids = json_array();

    for (uint64_t i = 0; i < n; i++) {
        json_array_append_new(ids, json_integer(appended[i].id));
        json_array_append_new(uids, json_string(appended[i].uid));
    }
    json_object_set_new(call->out, "ids", ids);
    json_object_set_new(call->out, "uids", uids);
}

/* append: {"store","session":ID,"messages":[...],"fields","flags"} gives
 * {"ids":[...],"uids":[...]}. */
static int
cmd_append(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_append what = HF_INIT(struct hf_append);
    struct hf_appended *appended;
    int rc = store ? messages_arg(call, "messages", &what.messages, &what.n_messages)
                   : HF_INVALID;

    if (rc || (rc = fields_arg(call, &what.fields, &what.n_fields)) != 0)
        return rc;
    what.session_id = arg_text(call, "session");
    what.flags = (uint32_t)arg_int(call, "flags", 0);
    appended = call_keep(call, (what.n_messages + 1) * sizeof *appended);
    rc = hf_store_append(store, &what, appended, &call->err);
    if (!rc)
        appended_answer(call, appended, what.n_messages);
    return rc;
}

static int
message_emit(void *ctx, const struct hf_message *message)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "messages"),
                     members_write(message_members, message), call);
}

/* read: {"store","session":ID,"query":{...}} gives {"messages":[...]}. */
static int
cmd_read(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_text id = arg_text(call, "session");
    int rc = store ? members_read(call, json_object_get(call->in, "query"), read_members,
                                  &query)
                   : HF_INVALID;

    json_object_set_new(call->out, "messages", json_array());
    return rc ? rc : hf_store_read(store, &id, &query, message_emit, call, &call->err);
}

/* rewind, restore: {"store","session":ID,"from":MESSAGE ID} give {"count"}. */
static int
from_run(struct call *call, int (*run)(struct hf_store *, const struct hf_text *,
                                       int64_t, uint64_t *, struct hf_error *))
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");
    uint64_t count = 0;
    int rc = store ? run(store, &id, arg_int(call, "from", 0), &count, &call->err)
                   : HF_INVALID;

    if (!rc)
        json_object_set_new(call->out, "count", json_integer((json_int_t)count));
    return rc;
}

static int
cmd_rewind(struct call *call)
{
    return from_run(call, hf_store_rewind);
}

static int
cmd_restore(struct call *call)
{
    return from_run(call, hf_store_restore);
}

/* compact: {"store","session":ID,"watermark":MESSAGE ID,"summary":[...]}. */
static int
cmd_compact(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");
    const struct hf_message *const *summary;
    struct hf_appended *appended;
    uint64_t n;
    int rc = store ? messages_arg(call, "summary", &summary, &n) : HF_INVALID;

    if (rc)
        return rc;
    appended = call_keep(call, (n + 1) * sizeof *appended);
    rc = hf_store_compact(store, &id, arg_int(call, "watermark", 0), summary, n,
                          appended, &call->err);
    if (!rc)
        appended_answer(call, appended, n);
    return rc;
}

static int
hit_emit(void *ctx, const struct hf_hit *hit)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "hits"), members_write(hit_members, hit),
                     call);
}

/* search: {"store","query":{"text",...}} gives {"hits":[...],"degraded","note"}. */
static int
cmd_search(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_search query = HF_INIT(struct hf_search);
    struct hf_search_info info = HF_INIT(struct hf_search_info);
    json_t *said;
    int rc = store ? members_read(call, json_object_get(call->in, "query"),
                                  search_members, &query)
                   : HF_INVALID;

    if (rc)
        return rc;
    json_object_set_new(call->out, "hits", json_array());
    rc = hf_store_search(store, &query, hit_emit, call, &info, &call->err);
    said = members_write(search_info_members, &info);
    json_object_update(call->out, said);
    json_decref(said);
    return rc;
}

const struct command message_commands[] = {
    {"append", cmd_append},   {"read", cmd_read},       {"rewind", cmd_rewind},
    {"restore", cmd_restore}, {"compact", cmd_compact}, {"search", cmd_search},
    {NULL, NULL}};
