/* cmd_session.c - commands on sessions. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static int
session_arg(struct call *call, struct hf_session *ret)
{
    *ret = HF_INIT(struct hf_session);
    ret->started_at = ret->ended_at = ret->last_active = ret->sort_time = HF_NO_TIME;
    ret->estimated_cost_usd = ret->actual_cost_usd = HF_NO_TIME;
    return members_read(call, json_object_get(call->in, "session"), session_members,
                        ret);
}

/* create, ensure: {"store","session":{...}}; create gives {"id"}. */
static int
cmd_create(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_session session;
    char id[1024] = "";
    int rc = store ? session_arg(call, &session) : HF_INVALID;

    if (!rc)
        rc = hf_store_session_create(store, &session, id, sizeof id, &call->err);
    if (!rc)
        json_object_set_new(call->out, "id", json_string(id));
    return rc;
}

static int
cmd_ensure(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_session session;
    int rc = store ? session_arg(call, &session) : HF_INVALID;

    return rc ? rc : hf_store_session_ensure(store, &session, &call->err);
}

static int
session_emit(void *ctx, const struct hf_session *session)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "sessions"),
                     members_write(session_members, session), call);
}

/* get: {"store","session":ID,"want"} gives {"session":{...}}. */
static int
cmd_get(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");
    int rc;

    json_object_set_new(call->out, "sessions", json_array());
    rc = store ? hf_store_session_get(store, &id, (uint32_t)arg_int(call, "want", 0),
                                      session_emit, call, &call->err)
               : HF_INVALID;
    if (!rc)
        json_object_set(call->out, "session",
                        json_array_get(json_object_get(call->out, "sessions"), 0));
    return rc;
}

static int
cmd_resolve(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text arg = arg_text(call, "session"), id = {NULL, 0};
    int rc = store ? hf_store_session_resolve(store, &arg, &id, &call->err) : HF_INVALID;

    if (!rc) {
        json_object_set_new(call->out, "id", text_write(&id));
        free((void *)(uintptr_t)id.ptr);
    }
    return rc;
}

/* list: {"store","query":{...}} gives {"sessions":[...]}. */
static int
cmd_list(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    int rc = store ? members_read(call, json_object_get(call->in, "query"), list_members,
                                  &query)
                   : HF_INVALID;

    json_object_set_new(call->out, "sessions", json_array());
    return rc ? rc
              : hf_store_session_list(store, &query, session_emit, call, &call->err);
}

/* The member "fields": {"column": value} sets it; [{"name","op","type",...}] is any
 * change. */
int
fields_arg(struct call *call, const struct hf_field **ret, uint64_t *ret_n)
{
    json_t *in = json_object_get(call->in, "fields"), *value;
    size_t n = json_is_object(in) ? json_object_size(in) : json_array_size(in);
    struct hf_field *fields = call_keep(call, (n + 1) * sizeof *fields);
    const char *key;
    size_t i = 0;
    int rc = HF_OK;

    for (; json_is_array(in) && i < n && !rc; i++)
        rc = members_read(call, json_array_get(in, i), field_members, &fields[i]);
    json_object_foreach(in, key, value) {
        fields[i].name = key;
        fields[i].i = json_integer_value(value);
        fields[i].d = json_real_value(value);
        fields[i].type = json_is_integer(value) ? HF_INT
                         : json_is_real(value)  ? HF_REAL
                         : json_is_null(value)  ? HF_NULL
                                                : HF_TEXT;
        if (fields[i].type == HF_TEXT && !rc)
            rc = text_read(call, value, &fields[i].text);
        i++;
    }
    *ret = fields;
    *ret_n = n;
    return rc;
}

/* update: {"store","session":ID,"fields"}. */
static int
cmd_update(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");
    const struct hf_field *fields;
    uint64_t n;
    int rc = store ? fields_arg(call, &fields, &n) : HF_INVALID;

    return rc ? rc : hf_store_session_update(store, &id, fields, n, &call->err);
}

static int
cmd_rename(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session"), title = arg_text(call, "title");

    return store ? hf_store_session_rename(store, &id, &title, &call->err) : HF_INVALID;
}

static int
cmd_end(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session"), reason = arg_text(call, "reason");

    return store ? hf_store_session_end(store, &id, &reason, &call->err) : HF_INVALID;
}

static int
cmd_reopen(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");

    return store ? hf_store_session_reopen(store, &id, &call->err) : HF_INVALID;
}

/* delete: {"store","sessions":[ID,...]} gives {"deleted":N}. */
static int
cmd_delete(struct call *call)
{
    struct hf_store *store = store_get(call);
    json_t *in = json_object_get(call->in, "sessions");
    size_t n = json_array_size(in);
    struct hf_text *ids = call_keep(call, (n + 1) * sizeof *ids);
    uint64_t deleted = 0;
    int rc = store ? HF_OK : HF_INVALID;

    for (size_t i = 0; i < n && !rc; i++)
        rc = text_read(call, json_array_get(in, i), &ids[i]);
    if (!rc)
        rc = hf_store_session_delete(store, ids, n, &deleted, &call->err);
    if (!rc)
        json_object_set_new(call->out, "deleted", json_integer((json_int_t)deleted));
    return rc;
}

const struct command session_commands[] = {
    {"create", cmd_create}, {"ensure", cmd_ensure}, {"get", cmd_get},
    {"resolve", cmd_resolve}, {"list", cmd_list},   {"update", cmd_update},
    {"rename", cmd_rename}, {"end", cmd_end},       {"reopen", cmd_reopen},
    {"delete", cmd_delete}, {NULL, NULL}};
