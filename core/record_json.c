/* record_json.c - one session or message as a JSON object: the typed members and those
 * of `extra` merged into the order of today's schema, then what Holdfast does not know
 * in the order of the store (SPEC 11, 14). */
#include <stdlib.h>

#include "internal.h"
#include "record_columns.h"
#include "util/json_write.h"

static void
text_write(struct hf__buf *out, const struct hf_text *text)
{
    if (text->ptr)
        hf__json_string(out, text->ptr, text->len);
    else
        hf__buf_adds(out, "null");
}

static void
int_write(struct hf__buf *out, int64_t value)
{
    if (value == HF_NO_INT)
        hf__buf_adds(out, "null");
    else
        hf__json_int(out, value);
}

static void
content_write(struct hf__buf *out, const struct hf_text *content)
{
    json_t *value = hf__content_parse(content);
    struct hf_text inner = {NULL, 0};
    json_t *again = NULL;

    if (json_is_string(value)) {
        /* A string that would be taken for structured content when it is read back must
         * stay in its envelope. */
        inner = hf_text(json_string_value(value), json_string_length(value));
        again = hf__content_parse(&inner);
    }
    if (value && !again)
        hf__json_value(out, value);
    else
        text_write(out, content);
    json_decref(again);
    json_decref(value);
}

static void
calls_write(struct hf__buf *out, const struct hf_text *calls)
{
    json_t *value = calls->ptr ? hf__json_parse(calls->ptr, calls->len) : NULL;

    /* A bare number or string stays text: read back as text it is the same cell. */
    if (json_is_array(value) || json_is_object(value))
        hf__json_value(out, value);
    else
        text_write(out, calls);
    json_decref(value);
}

static void
order_write(struct hf__buf *out, const void *record, const json_t *extra)
{
    const struct hf_message *message = record;
    const json_t *order = json_object_get(extra, "display_order");
    const json_t *identity = json_object_get(extra, "display_identity");

    /* The trigger of today's schema gives a message without peers its own id; a file
     * that has no such trigger means the same. */
    if (order && !json_is_null(order))
        hf__json_value(out, order);
    else if (message->id > 0 && (!identity || json_is_null(identity)))
        hf__json_int(out, message->id);
    else
        hf__buf_adds(out, "null");
}

/* A time among the columns of `extra`: a number in the window as it is, numeric text as
 * the number, anything else null. */
static void
time_write(struct hf__buf *out, const json_t *value)
{
    struct hf_text text = {NULL, 0};

    if (json_is_string(value)) {
        text = hf_text(json_string_value(value), json_string_length(value));
        hf__json_real(out, hf__epoch_coerce(HF_TEXT, 0, 0, &text, NULL));
    } else if (json_is_number(value) && hf__time_valid(json_number_value(value)))
        hf__json_value(out, value);
    else
        hf__buf_adds(out, "null");
}

static void
column_write(struct hf__buf *out, const struct hf__record_column *column,
             const void *record, const json_t *extra)
{
    const void *member = (const char *)record + column->offset;
    const json_t *value;

    switch (column->kind) {
    case HF_COL_EXTRA:
        value = json_object_get(extra, column->name);
        if (value && (!json_is_null(value) || column->fallback == HF_NO_INT))
            hf__json_value(out, value);
        else
            int_write(out, column->fallback);
        break;
    case HF_COL_EXTRA_TIME:
        time_write(out, json_object_get(extra, column->name));
        break;
    case HF_COL_TEXT:
        text_write(out, member);
        break;
    case HF_COL_TIME:
    case HF_COL_REAL:
        hf__json_real(out, *(const double *)member); /* NaN is null */
        break;
    case HF_COL_INT:
        int_write(out, *(const int64_t *)member);
        break;
    case HF_COL_FLAG:
        hf__json_int(out, *(const uint32_t *)member != 0);
        break;
    case HF_COL_CONTENT:
        content_write(out, member);
        break;
    case HF_COL_CALLS:
        calls_write(out, member);
        break;
    case HF_COL_ACTIVE: /* no state at all is active, as when appending */
        hf__json_int(out, !*(const uint32_t *)member ||
                              (*(const uint32_t *)member & HF_MSG_ACTIVE));
        break;
    case HF_COL_COMPACTED:
        hf__json_int(out, (*(const uint32_t *)member & HF_MSG_COMPACTED) != 0);
        break;
    case HF_COL_ORDER:
        order_write(out, record, extra);
        break;
    }
}

static void
record_write(struct hf__buf *out, const struct hf__record_column *columns,
             const void *record, const struct hf_text *extra_text)
{
    json_t *extra = extra_text->ptr ? hf__json_parse(extra_text->ptr, extra_text->len)
                                    : NULL;
    const struct hf__record_column *column;
    const char *key;
    json_t *value;
    int any = 0;

    hf__buf_addc(out, '{');
    for (column = columns; column->name; column++) {
        hf__json_comma(out, &any);
        hf__json_key(out, column->name);
        column_write(out, column, record, extra);
    }
    json_object_foreach(extra, key, value) {
        if (hf__record_column_find(columns, key))
            continue;
        hf__json_comma(out, &any);
        hf__json_key(out, key);
        hf__json_value(out, value);
    }
    hf__buf_addc(out, '}');
    json_decref(extra);
}

void
hf__session_json(struct hf__buf *out, const struct hf_session *session)
{
    record_write(out, hf__session_record, session, &session->extra);
}

void
hf__message_json(struct hf__buf *out, const struct hf_message *message)
{
    record_write(out, hf__message_record, message, &message->extra);
}

static int
buf_send(struct hf__buf *out, hf_write_fn *write, void *ctx)
{
    int rc = out->failed ? HF_NO_MEMORY : write(ctx, out->ptr, out->len);

    hf__buf_free(out);
    return rc;
}

int
hf_session_write_json(const struct hf_session *session, hf_write_fn *write, void *ctx)
{
    struct hf__buf out = {0};
    struct hf_session own;

    if (!session || !write)
        return HF_INVALID;
    hf__abi_copy(&own, sizeof own, session);
    hf__session_json(&out, &own);
    return buf_send(&out, write, ctx);
}

int
hf_message_write_json(const struct hf_message *message, hf_write_fn *write, void *ctx)
{
    struct hf__buf out = {0};
    struct hf_message own;

    if (!message || !write)
        return HF_INVALID;
    hf__abi_copy(&own, sizeof own, message);
    hf__message_json(&out, &own);
    return buf_send(&out, write, ctx);
}
