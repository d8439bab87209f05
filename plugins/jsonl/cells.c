/* cells.c - the structs of record.h as members of a line, and back.  Columns have the
 * names of the Hermes schema; what has no typed member comes and goes in `extra`. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "private.h"
#include "util/epoch.h"
#include "util/json_write.h"

enum kind { TEXT, TIME, REAL, INT, COUNT, FLAG };
struct column {
    const char *name;
    enum kind kind;
    size_t at;
};

#define S(member) offsetof(struct hf_session, member)
static const struct column session_columns[] = {
    {"id", TEXT, S(id)},
    {"source", TEXT, S(source)},
    {"title", TEXT, S(title)},
    {"model", TEXT, S(model)},
    {"parent_session_id", TEXT, S(parent_id)},
    {"end_reason", TEXT, S(end_reason)},
    {"model_config", TEXT, S(model_config)},
    {"system_prompt", TEXT, S(system_prompt)},
    {"started_at", TIME, S(started_at)},
    {"ended_at", TIME, S(ended_at)},
    {"message_count", COUNT, S(message_count)},
    {"tool_call_count", COUNT, S(tool_call_count)},
    {"input_tokens", COUNT, S(input_tokens)},
    {"output_tokens", COUNT, S(output_tokens)},
    {"cache_read_tokens", COUNT, S(cache_read_tokens)},
    {"cache_write_tokens", COUNT, S(cache_write_tokens)},
    {"reasoning_tokens", COUNT, S(reasoning_tokens)},
    {"estimated_cost_usd", REAL, S(estimated_cost_usd)},
    {"actual_cost_usd", REAL, S(actual_cost_usd)},
    {"archived", FLAG, S(archived)},
    {"hidden", FLAG, S(hidden)},
    {"pinned", FLAG, S(pinned)},
    {NULL, TEXT, 0},
};
#undef S

/* The other columns of today's schema: they can be changed by name. */
static const char *const more_columns[] = {"created_source",
                                           "user_id",
                                           "session_key",
                                           "chat_id",
                                           "chat_type",
                                           "thread_id",
                                           "display_name",
                                           "origin_json",
                                           "expiry_finalized",
                                           "system_prompt_hash",
                                           "cwd",
                                           "git_branch",
                                           "git_repo_root",
                                           "git_metadata_generation",
                                           "billing_provider",
                                           "billing_base_url",
                                           "billing_mode",
                                           "cost_status",
                                           "cost_source",
                                           "pricing_version",
                                           "title_source",
                                           "last_activity_at",
                                           "last_activity_description",
                                           "last_activity_provenance",
                                           "api_call_count",
                                           "handoff_state",
                                           "handoff_platform",
                                           "handoff_error",
                                           "compression_failure_cooldown_until",
                                           "compression_failure_error",
                                           "compression_fallback_streak",
                                           "compression_ineffective_count",
                                           "compression_recovery_deadline",
                                           "compression_overload_streak",
                                           "profile_name",
                                           "transport_profile",
                                           "rewind_count",
                                           "auto_archived",
                                           "last_read_at",
                                           "tool_names",
                                           NULL};

#define M(member) offsetof(struct hf_message, member)
static const struct column message_columns[] = {
    {"role", TEXT, M(role)},
    {"content", TEXT, M(content)},
    {"tool_call_id", TEXT, M(tool_call_id)},
    {"tool_calls", TEXT, M(tool_calls)},
    {"tool_name", TEXT, M(tool_name)},
    {"finish_reason", TEXT, M(finish_reason)},
    {"reasoning", TEXT, M(reasoning)},
    {"platform_message_id", TEXT, M(platform_message_id)},
    {"timestamp", TIME, M(timestamp)},
    {"token_count", INT, M(token_count)},
    {"observed", FLAG, M(observed)},
    {"_compressed_summary", FLAG, M(is_summary)},
    {NULL, TEXT, 0},
};
#undef M

static const struct column *
column_find(const struct column *columns, const char *name)
{
    for (; columns->name; columns++)
        if (!strcmp(columns->name, name))
            return columns;
    return NULL;
}

int
hf__jl_column_known(const char *name)
{
    if (column_find(session_columns, name))
        return strcmp(name, "id") != 0;
    for (size_t i = 0; more_columns[i]; i++)
        if (!strcmp(more_columns[i], name))
            return 1;
    return 0;
}

double
hf__jl_time(const json_t *value, uint32_t *ret_bad)
{
    struct hf_text text = hf__jl_string(value);
    uint32_t bad = 0;
    double t;

    if (json_is_integer(value))
        t = hf__epoch_coerce(HF_INT, json_integer_value(value), 0, &text, &bad);
    else if (json_is_real(value))
        t = hf__epoch_coerce(HF_REAL, 0, json_real_value(value), &text, &bad);
    else if (json_is_string(value))
        t = hf__epoch_coerce(HF_TEXT, 0, 0, &text, &bad);
    else {
        t = HF_NO_TIME;
        bad = value && !json_is_null(value);
    }
    if (ret_bad)
        *ret_bad = bad != 0;
    return t;
}

int64_t
hf__jl_int(const json_t *value, int64_t fallback)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_real(value) && fabs(json_real_value(value)) <= 9e15)
        return (int64_t)json_real_value(value);
    if (json_is_boolean(value))
        return json_is_true(value);
    return fallback;
}

struct hf_text
hf__jl_string(const json_t *value)
{
    return hf_text(json_string_value(value), json_string_length(value));
}

/* ---- sessions ---- */

static json_t *
string_of(const struct hf_text *text)
{
    return text->ptr ? json_stringn_nocheck(text->ptr, (size_t)text->len) : NULL;
}

static void
put(json_t *row, const char *name, json_t *value)
{
    if (value)
        json_object_set_new_nocheck(row, name, value);
}

json_t *
hf__jl_row(const struct hf_session *s, uint32_t mode, double now)
{
    uint32_t verbatim = mode == HF_PUT_VERBATIM;
    json_t *row = json_object(), *extra, *value;
    const char *name;

    for (const struct column *c = session_columns; row && c->name; c++) {
        const void *member = (const char *)s + c->at;
        double d = c->kind == TIME || c->kind == REAL ? *(const double *)member : 0;
        switch (c->kind) {
        case TEXT:
            put(row, c->name, string_of(member));
            break;
        case TIME:
            if (isnan(d) && strcmp(c->name, "started_at") != 0)
                break;
            put(row, c->name,
                json_real(hf__time_valid(d) || (verbatim && isfinite(d)) ? d : now));
            break;
        case REAL:
            if (verbatim && isfinite(d))
                put(row, c->name, json_real(d));
            break;
        case INT:
        case COUNT:
            if (verbatim && *(const int64_t *)member != HF_NO_INT)
                put(row, c->name, json_integer(*(const int64_t *)member));
            break;
        case FLAG:
            if (mode != HF_PUT_ENSURE)
                put(row, c->name, json_integer(*(const uint32_t *)member != 0));
            break;
        }
    }
    extra = s->extra.ptr
                ? json_loadb(s->extra.ptr, (size_t)s->extra.len, JSON_ALLOW_NUL, NULL)
                : NULL;
    json_object_foreach(extra, name, value) if (row &&
                                                !column_find(session_columns, name) &&
                                                (!json_is_null(value) || verbatim))
        json_object_set_nocheck(row, name, value);
    json_decref(extra);
    return row;
}

/* Writes the columns of OBJECT that no typed member holds. */
static void
extra_write(struct hf__buf *out, json_t *object, const struct column *columns,
            double activity, struct hf_text *ret)
{
    const char *name;
    json_t *value;
    int any = 0;

    hf__buf_clear(out);
    hf__buf_addc(out, '{');
    json_object_foreach(object, name, value)
    {
        int is_activity = !isnan(activity) && !strcmp(name, "last_activity_at");
        if (column_find(columns, name) || is_activity || !strcmp(name, "message_uid") ||
            (columns == message_columns &&
             (!strcmp(name, "id") || !strcmp(name, "active") ||
              !strcmp(name, "compacted"))))
            continue;
        hf__json_comma(out, &any);
        hf__json_key(out, name);
        hf__json_value(out, value);
    }
    if (!isnan(activity)) {
        hf__json_comma(out, &any);
        hf__json_key(out, "last_activity_at");
        hf__json_real(out, activity);
    }
    hf__buf_addc(out, '}');
    if (any && !out->failed)
        *ret = hf_text(out->ptr, out->len);
}

void
hf__jl_session(const struct hf__jl_view *view, uint32_t want, struct hf__buf *scratch,
               struct hf_session *ret)
{
    uint32_t bad;

    *ret = HF_INIT(struct hf_session);
    for (const struct column *c = session_columns; c->name; c++) {
        const json_t *value = json_object_get(view->row, c->name);
        void *member = (char *)ret + c->at;
        switch (c->kind) {
        case TEXT:
            if (c->at != offsetof(struct hf_session, system_prompt) ||
                want & HF_WANT_EXTRA)
                *(struct hf_text *)member = hf__jl_string(value);
            break;
        case TIME:
            *(double *)member = hf__jl_time(value, &bad);
            if (bad)
                ret->bad_times |= strcmp(c->name, "ended_at") ? 1u : 2u;
            break;
        case REAL:
            *(double *)member = json_is_number(value) ? json_number_value(value) : NAN;
            break;
        case INT:
        case COUNT:
            *(int64_t *)member = hf__jl_int(value, 0);
            break;
        case FLAG:
            *(uint32_t *)member = hf__jl_int(value, 0) != 0;
            break;
        }
    }
    ret->message_count += view->n_counted;
    ret->tool_call_count += view->n_calls;
    ret->last_active =
        isnan(view->activity)
            ? hf__jl_time(json_object_get(view->row, "last_activity_at"), &bad)
            : view->activity;
    if (isnan(view->activity) && bad)
        ret->bad_times |= 4u;
    if (isnan(ret->last_active) || view->newest > ret->last_active)
        ret->last_active = view->newest;
    if (isnan(ret->last_active))
        ret->last_active = ret->started_at;
    ret->sort_time = ret->started_at;
    if (want & HF_WANT_EXTRA)
        extra_write(scratch, view->row, session_columns, view->activity, &ret->extra);
}

/* ---- messages ---- */

static void
member(struct hf__buf *out, int *any, const char *name)
{
    hf__json_comma(out, any);
    hf__json_key(out, name);
}

void
hf__jl_message_write(struct hf__buf *out, const struct hf_message *m, int64_t id,
                     double time)
{
    json_t *extra = m->extra.ptr ? json_loadb(m->extra.ptr, (size_t)m->extra.len,
                                              JSON_ALLOW_NUL, NULL)
                                 : NULL;
    const char *name;
    json_t *value;
    int any = 0;

    hf__buf_addc(out, '{');
    member(out, &any, "id");
    hf__json_int(out, id);
    for (const struct column *c = message_columns; c->name; c++) {
        const void *at = (const char *)m + c->at;
        const struct hf_text *text = at;
        if (c->kind == TEXT && text->ptr) {
            member(out, &any, c->name);
            hf__jl_text(out, text->ptr, (size_t)text->len);
        } else if (c->kind == TIME) {
            member(out, &any, c->name);
            hf__json_real(out, time);
        } else if (c->kind == INT && *(const int64_t *)at != HF_NO_INT) {
            member(out, &any, c->name);
            hf__json_int(out, *(const int64_t *)at);
        } else if (c->kind == FLAG && *(const uint32_t *)at) {
            member(out, &any, c->name);
            hf__buf_addc(out, '1');
        }
    }
    if (m->state && m->state != HF_MSG_ACTIVE) {
        member(out, &any, "active");
        hf__buf_addc(out, '0');
        member(out, &any, "compacted");
        hf__buf_addc(out, m->state == HF_MSG_COMPACTED ? '1' : '0');
    }
    if (!m->uid.ptr) {
        member(out, &any, "message_uid");
        hf__buf_adds(out, "null");
    }
    json_object_foreach(extra, name, value)
    {
        if (column_find(message_columns, name) || !strcmp(name, "id") ||
            !strcmp(name, "session_id") || !strcmp(name, "message_uid") ||
            !strcmp(name, "active") || !strcmp(name, "compacted"))
            continue;
        member(out, &any, name);
        hf__jl_value(out, value);
    }
    hf__buf_addc(out, '}');
    json_decref(extra);
}

void
hf__jl_message(json_t *record, const struct hf_text *session_id, int64_t id,
               uint32_t state, uint32_t want, struct hf__buf *scratch,
               struct hf_message *ret)
{
    json_t *object = json_object_get(record, "message");
    const json_t *own = json_object_get(object, "message_uid");

    *ret = HF_INIT(struct hf_message);
    for (const struct column *c = message_columns; c->name; c++) {
        const json_t *value = json_object_get(object, c->name);
        void *at = (char *)ret + c->at;
        if (c->kind == TEXT)
            *(struct hf_text *)at = hf__jl_string(value);
        else if (c->kind == TIME)
            *(double *)at = hf__jl_time(value, &ret->bad_time);
        else if (c->kind == INT)
            *(int64_t *)at = hf__jl_int(value, HF_NO_INT);
        else
            *(uint32_t *)at = hf__jl_int(value, 0) != 0;
    }
    ret->id = id;
    ret->session_id = *session_id;
    ret->uid = hf__jl_string(own ? own : json_object_get(record, "uid"));
    ret->state = state;
    ret->n_tool_calls = hf__jl_int(json_object_get(record, "calls"), 0);
    if (want & HF_WANT_EXTRA)
        extra_write(scratch, object, message_columns, HF_NO_TIME, &ret->extra);
}
