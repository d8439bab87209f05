/* batch.c - messages to append, read from JSON Lines.  A key that is no column of a
 * message is refused: dropping it in silence would lose what somebody meant to keep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "batch.h"
#include "util/misc.h"

#define MARK "\0json:"
#define MARK_LEN 6u

struct batch_item {
    struct hf_message message;
    json_t *object;               /* owns the plain texts */
    struct hf__buf content, calls, extra;
};

enum target { T_TEXT, T_CONTENT, T_CALLS, T_TIME, T_TOKENS, T_OBSERVED, T_EXTRA };
static const struct {
    const char *key;
    enum target target;
    size_t offset; /* T_TEXT: of the struct hf_text */
} keys[] = {
    {"role", T_TEXT, offsetof(struct hf_message, role)},
    {"content", T_CONTENT, 0},
    {"timestamp", T_TIME, 0},
    {"tool_calls", T_CALLS, 0},
    {"tool_name", T_TEXT, offsetof(struct hf_message, tool_name)},
    {"tool_call_id", T_TEXT, offsetof(struct hf_message, tool_call_id)},
    {"finish_reason", T_TEXT, offsetof(struct hf_message, finish_reason)},
    {"reasoning", T_TEXT, offsetof(struct hf_message, reasoning)},
    {"platform_message_id", T_TEXT, offsetof(struct hf_message, platform_message_id)},
    {"message_uid", T_TEXT, offsetof(struct hf_message, uid)},
    {"token_count", T_TOKENS, 0},
    {"observed", T_OBSERVED, 0},
    {"effect_disposition", T_EXTRA, 0},
    {"reasoning_content", T_EXTRA, 0},
    {"reasoning_details", T_EXTRA, 0},
    {"codex_reasoning_items", T_EXTRA, 0},
    {"codex_message_items", T_EXTRA, 0},
    {"api_content", T_EXTRA, 0},
    {"display_kind", T_EXTRA, 0},
    {"display_metadata", T_EXTRA, 0}};
#define N_KEYS (sizeof keys / sizeof *keys)

static int
unknown_key(const struct cli *cli, const char *name, size_t line, const char *key)
{
    const char *names[N_KEYS + 1], *near;
    size_t i;

    for (i = 0; i < N_KEYS; i++)
        names[i] = keys[i].key;
    names[N_KEYS] = NULL;
    near = hf__near_miss(key, names);
    return print_fail(cli, HF_INVALID, NULL,
                      "%s, line %zu: unknown key \"%s\"%s%s%s; nothing was stored", name,
                      line, key, near ? ", did you mean \"" : "", near ? near : "",
                      near ? "\"?" : "");
}

/* Stores VALUE where KEYS[AT] says; returns what was expected, or NULL when it fits. */
static const char *
set_value(struct batch_item *item, size_t at, json_t *value, int *any_extra)
{
    struct hf_message *m = &item->message;
    struct hf_text *text;

    switch (keys[at].target) {
    case T_TEXT:
        text = (struct hf_text *)(void *)((char *)m + keys[at].offset);
        if (json_is_null(value))
            return NULL;
        if (!json_is_string(value))
            return "a string";
        *text = hf_text(json_string_value(value), json_string_length(value));
        return NULL;
    case T_CONTENT:
        if (json_is_string(value))
            m->content = hf_text(json_string_value(value), json_string_length(value));
        else if (!json_is_null(value)) {
            hf__buf_add(&item->content, MARK, MARK_LEN);
            hf__json_value(&item->content, value);
            m->content = hf_text(item->content.ptr, item->content.len);
        }
        return NULL;
    case T_CALLS:
        if (json_is_string(value))
            m->tool_calls = hf_text(json_string_value(value), json_string_length(value));
        else if (json_is_array(value)) {
            hf__json_value(&item->calls, value);
            m->tool_calls = hf_text(item->calls.ptr, item->calls.len);
        } else if (!json_is_null(value))
            return "an array, or a string that holds one";
        return NULL;
    case T_TIME:
        if (!json_is_number(value) && !json_is_null(value))
            return "a number of seconds";
        if (json_is_number(value))
            m->timestamp = json_number_value(value);
        return NULL;
    case T_TOKENS:
        if (!json_is_integer(value) && !json_is_null(value))
            return "a whole number";
        if (json_is_integer(value))
            m->token_count = json_integer_value(value);
        return NULL;
    case T_OBSERVED:
        if (!json_is_boolean(value) && !json_is_integer(value) && !json_is_null(value))
            return "true or false";
        m->observed = json_is_true(value) || json_integer_value(value) != 0;
        return NULL;
    case T_EXTRA:
        hf__buf_addc(&item->extra, *any_extra ? ',' : '{');
        *any_extra = 1;
        hf__json_key(&item->extra, keys[at].key);
        hf__json_value(&item->extra, value);
        return NULL;
    }
    return NULL;
}

static int
read_object(const struct cli *cli, struct batch_item *item, const char *name,
            size_t line)
{
    const char *key, *wanted;
    json_t *value;
    int any_extra = 0;
    size_t i;

    json_object_foreach(item->object, key, value)
    {
        for (i = 0; i < N_KEYS && strcmp(keys[i].key, key) != 0; i++)
            ;
        if (i == N_KEYS)
            return unknown_key(cli, name, line, key);
        wanted = set_value(item, i, value, &any_extra);
        if (wanted)
            return print_fail(cli, HF_INVALID, NULL,
                              "%s, line %zu: \"%s\" takes %s; nothing was stored", name,
                              line, key, wanted);
    }
    if (any_extra) {
        hf__buf_addc(&item->extra, '}');
        item->message.extra = hf_text(item->extra.ptr, item->extra.len);
    }
    if (!item->message.role.ptr || !item->message.role.len)
        return print_fail(cli, HF_INVALID, NULL,
                          "%s, line %zu: a message needs a \"role\"; nothing was stored",
                          name, line);
    if (item->content.failed || item->calls.failed || item->extra.failed) {
        print_no_memory();
        return EXIT_PROBLEM;
    }
    return EXIT_GO_ON;
}

static struct batch_item *
add_item(struct batch *batch)
{
    struct batch_item *item;

    if (batch->n == batch->cap) {
        size_t cap = batch->cap ? batch->cap * 2 : 64;
        struct batch_item *more = realloc(batch->items, cap * sizeof *more);
        if (!more)
            return NULL;
        batch->items = more;
        batch->cap = cap;
    }
    item = &batch->items[batch->n++];
    memset(item, 0, sizeof *item);
    item->message = HF_INIT(struct hf_message);
    item->message.timestamp = HF_NO_TIME;
    item->message.token_count = HF_NO_INT;
    return item;
}

int
batch_read(const struct cli *cli, struct batch *batch, const char *name,
           const char *text, size_t len)
{
    const char *s = text, *end = text + len;
    size_t line = 0;

    while (s < end) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        const char *stop = newline ? newline : end;
        size_t n = (size_t)(stop - s), blank = 0;
        struct batch_item *item;
        json_error_t error;
        int rc;

        line++;
        while (blank < n && strchr(" \t\r", s[blank]) && s[blank])
            blank++;
        if (blank < n) {
            item = add_item(batch);
            if (!item) {
                print_no_memory();
                return EXIT_PROBLEM;
            }
            /* Content and tool_calls stand in an object. */
            if (hf__json_levels(s, n) > HF_MAX_JSON_LEVELS + 1)
                return print_fail(cli, HF_TOO_BIG, NULL,
                                  "%s, line %zu: JSON is nested more than %d levels "
                                  "deep; nothing was stored",
                                  name, line, HF_MAX_JSON_LEVELS);
            item->object = json_loadb(s, n, JSON_ALLOW_NUL, &error);
            if (!json_is_object(item->object))
                return print_fail(cli, HF_INVALID, NULL,
                                  "%s, line %zu: not a JSON object; nothing was stored",
                                  name, line);
            rc = read_object(cli, item, name, line);
            if (rc != EXIT_GO_ON)
                return rc;
        }
        s = newline ? newline + 1 : end;
    }
    return EXIT_GO_ON;
}

const struct hf_message **
batch_messages(const struct batch *batch)
{
    const struct hf_message **v = calloc(batch->n + 1, sizeof *v);
    size_t i;

    for (i = 0; v && i < batch->n; i++)
        v[i] = &batch->items[i].message;
    return v;
}

void
batch_free(struct batch *batch)
{
    size_t i;

    for (i = 0; i < batch->n; i++) {
        json_decref(batch->items[i].object);
        hf__buf_free(&batch->items[i].content);
        hf__buf_free(&batch->items[i].calls);
        hf__buf_free(&batch->items[i].extra);
    }
    free(batch->items);
    memset(batch, 0, sizeof *batch);
}
