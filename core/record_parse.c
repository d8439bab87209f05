/* record_parse.c - a JSON object back into a session or message: the inverse of
 * record_json.c, and tolerant of what other programs write (numbers as text, decoded
 * JSON where the store has text, further members). */
#include "record_parse.h"

#include <stdlib.h>
#include <string.h>

#include "record_columns.h"
#include "util/json_write.h"

static int
no_memory(struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a record");
}

/* Hands the bytes of BUF to the record. */
static int
own(struct hf__parsed *parsed, struct hf__buf *buf, struct hf_text *ret,
    struct hf_error *err)
{
    size_t len = buf->len;
    char *bytes = NULL;

    if (parsed->n_owned < (int)(sizeof parsed->owned / sizeof parsed->owned[0]))
        bytes = hf__buf_take(buf);
    hf__buf_free(buf);
    if (!bytes)
        return no_memory(err);
    parsed->owned[parsed->n_owned++] = bytes;
    *ret = hf_text(bytes, len);
    return HF_OK;
}

/* A text cell: a string as it is, anything else as JSON text, after PREFIX. */
static int
text_read(struct hf__parsed *parsed, const json_t *value, const char *prefix,
          size_t prefix_len, struct hf_text *ret, struct hf_error *err)
{
    struct hf__buf buf = {0};

    if (!value || json_is_null(value))
        return HF_OK;
    if (json_is_string(value)) {
        *ret = hf_text(json_string_value(value), json_string_length(value));
        return HF_OK;
    }
    hf__buf_add(&buf, prefix, prefix_len);
    hf__json_value(&buf, value);
    return own(parsed, &buf, ret, err);
}

static double
time_read(const json_t *value)
{
    struct hf_text text = {NULL, 0};

    if (json_is_string(value)) {
        text = hf_text(json_string_value(value), json_string_length(value));
        return hf__epoch_coerce(HF_TEXT, 0, 0, &text, NULL);
    }
    if (json_is_integer(value))
        return (double)json_integer_value(value);
    return json_is_real(value) ? json_real_value(value) : HF_NO_TIME;
}

static int64_t
int_read(const json_t *value, int64_t fallback)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_true(value) || json_is_false(value))
        return json_is_true(value);
    /* A whole number that another program wrote as a real. */
    if (json_is_real(value) && json_real_value(value) >= -9e15 &&
        json_real_value(value) <= 9e15)
        return (int64_t)json_real_value(value);
    return fallback;
}

/* Reads what has a typed member; the rest is for extra_read(). */
static int
column_read(struct hf__parsed *parsed, const struct hf__record_column *column,
            struct hf_error *err)
{
    const json_t *value = json_object_get(parsed->json, column->name);
    void *member = (char *)&parsed->u + column->offset;
    int64_t number;

    switch (column->kind) {
    case HF_COL_TEXT:
    case HF_COL_CALLS:
        return text_read(parsed, value, "", 0, member, err);
    case HF_COL_CONTENT:
        return text_read(parsed, value, "\0json:", 6, member, err);
    case HF_COL_TIME:
        *(double *)member = time_read(value);
        break;
    case HF_COL_REAL:
        *(double *)member = json_is_number(value) ? json_number_value(value) : NAN;
        break;
    case HF_COL_INT:
        *(int64_t *)member = int_read(value, column->fallback);
        break;
    case HF_COL_FLAG:
        *(uint32_t *)member = int_read(value, column->fallback) != 0;
        break;
    case HF_COL_ACTIVE: /* stands before `compacted`, which decides when this is 0 */
        number = int_read(value, column->fallback);
        *(uint32_t *)member = number ? HF_MSG_ACTIVE : HF_MSG_REWOUND;
        break;
    case HF_COL_COMPACTED:
        if (*(uint32_t *)member != HF_MSG_ACTIVE && int_read(value, column->fallback))
            *(uint32_t *)member = HF_MSG_COMPACTED;
        break;
    case HF_COL_ORDER:
    case HF_COL_EXTRA:
    case HF_COL_EXTRA_TIME:
        break;
    }
    return HF_OK;
}

static int
is_blob(const json_t *value)
{
    return json_object_size(value) == 1 &&
           json_is_string(json_object_get(value, "$base64"));
}

/* Whether this place is only the message's own id, which the store gives it anyway; a
 * message that gets another id must not keep the old one as its place. */
static int
order_is_own(const struct hf__parsed *parsed, const json_t *value)
{
    const json_t *identity = json_object_get(parsed->json, "display_identity");

    return json_integer_value(value) == parsed->u.message.id &&
           (!identity || json_is_null(identity));
}

static int
extra_read(struct hf__parsed *parsed, const struct hf__record_column *columns,
           struct hf_text *ret, struct hf_error *err)
{
    struct hf__buf buf = {0}, inner = {0};
    const char *key;
    json_t *value;
    int any = 0;

    hf__buf_addc(&buf, '{');
    json_object_foreach(parsed->json, key, value) {
        const struct hf__record_column *column = hf__record_column_find(columns, key);
        int nested = (json_is_array(value) || json_is_object(value)) && !is_blob(value);
        if (column && column->kind != HF_COL_EXTRA &&
            column->kind != HF_COL_EXTRA_TIME && column->kind != HF_COL_ORDER)
            continue;
        if (column && column->kind == HF_COL_ORDER && order_is_own(parsed, value))
            continue;
        if (nested && !column)
            continue; /* another program's addition, which no column can hold */
        hf__json_comma(&buf, &any);
        hf__json_key(&buf, key);
        if (nested) {
            hf__buf_clear(&inner);
            hf__json_value(&inner, value);
            hf__json_string(&buf, inner.ptr ? inner.ptr : "", inner.len);
        } else
            hf__json_value(&buf, value);
    }
    hf__buf_addc(&buf, '}');
    if (inner.failed)
        buf.failed = 1;
    hf__buf_free(&inner);
    if (!any) {
        hf__buf_free(&buf);
        return HF_OK;
    }
    return own(parsed, &buf, ret, err);
}

static int
record_read(struct hf__parsed *parsed, const struct hf__record_column *columns,
            struct hf_text *extra, struct hf_error *err)
{
    const struct hf__record_column *column;
    int rc = HF_OK;

    for (column = columns; rc == HF_OK && column->name; column++)
        rc = column_read(parsed, column, err);
    return rc == HF_OK ? extra_read(parsed, columns, extra, err) : rc;
}

int
hf__session_parse(json_t *object, struct hf__parsed *ret, struct hf_error *err)
{
    struct hf_session *session = &ret->u.session;
    int rc;

    memset(ret, 0, sizeof *ret);
    *session = HF_INIT(struct hf_session);
    ret->json = json_incref(object);
    rc = record_read(ret, hf__session_record, &session->extra, err);
    if (rc == HF_OK && !json_is_string(json_object_get(object, "id")))
        rc = hf_error_set(err, HF_INVALID, NULL, "the session has no id");
    if (rc == HF_OK && !session->source.ptr)
        session->source = hf_str("import");
    if (rc < 0)
        hf__parsed_free(ret);
    return rc;
}

int
hf__message_parse(const char *s, size_t len, struct hf__parsed *ret,
                  struct hf_error *err)
{
    struct hf_message *message = &ret->u.message;
    json_error_t json_error;
    int rc;

    memset(ret, 0, sizeof *ret);
    *message = HF_INIT(struct hf_message);
    ret->size = len;
    /* Content and tool_calls may be as deep as any value, and stand in an object. */
    if (hf__json_levels(s, len) > HF_MAX_JSON_LEVELS + 1)
        return hf_error_set(err, HF_TOO_BIG, NULL,
                            "JSON is nested more than %d levels deep",
                            HF_MAX_JSON_LEVELS);
    ret->json = json_loadb(s, len, JSON_ALLOW_NUL, &json_error);
    if (!json_is_object(ret->json)) {
        rc = hf_error_set(err, HF_INVALID, NULL, "a message is no JSON object: %s",
                          ret->json ? "it is another value" : json_error.text);
        hf__parsed_free(ret);
        return rc;
    }
    rc = record_read(ret, hf__message_record, &message->extra, err);
    if (rc == HF_OK && message->id < 0)
        message->id = 0;
    if (rc == HF_OK && (!message->role.ptr || !message->role.len))
        rc = hf_error_set(err, HF_INVALID, NULL, "a message has no role");
    if (rc < 0)
        hf__parsed_free(ret);
    return rc;
}

void
hf__parsed_free(struct hf__parsed *parsed)
{
    while (parsed->n_owned > 0)
        free(parsed->owned[--parsed->n_owned]);
    json_decref(parsed->json);
    parsed->json = NULL;
}
