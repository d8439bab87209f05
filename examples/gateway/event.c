/* event.c - one line of input as an event. */
#include "gateway.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum op op;
    int needs_session;
} ops[] = {
    {"message", OP_MESSAGE, 1}, {"session", OP_SESSION, 1}, {"end", OP_END, 1},
    {"title", OP_TITLE, 1},     {"rewind", OP_REWIND, 1},   {"read", OP_READ, 1},
    {"flush", OP_FLUSH, 0},     {"state", OP_STATE, 0},     {"sync", OP_SYNC, 0},
};

struct hf_text
event_text(const struct event *event, const char *name)
{
    const json_t *value = json_object_get(event->json, name);
    return hf_text(json_string_value(value), json_string_length(value));
}

int64_t
event_int(const struct event *event, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(event->json, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

static int
event_fill(struct event *event, struct hf_error *err)
{
    const char *name = json_string_value(json_object_get(event->json, "op"));
    struct hf_text profile = event_text(event, "profile");
    size_t i = 0, n = sizeof ops / sizeof ops[0];

    while (i < n && (!name || strcmp(ops[i].name, name) != 0))
        i++;
    if (i == n)
        return hf_error_set(err, HF_INVALID, NULL, "event without a known \"op\"");
    event->op = ops[i].op;
    event->op_name = ops[i].name;
    event->ref = event_text(event, "id");
    event->session = event_text(event, "session");
    if (ops[i].needs_session && !event->session.ptr)
        return hf_error_set(err, HF_INVALID, NULL, "\"%s\" needs a \"session\"", name);
    /* A profile's name travels as a C string: one with a NUL in it is no name. */
    if (profile.ptr && strlen(profile.ptr) != profile.len)
        return hf_error_set(err, HF_INVALID, NULL, "no profile has a NUL in its name");
    event->profile = profile.ptr;
    return HF_OK;
}

struct event *
event_parse(const char *line, size_t len, struct hf_error *err)
{
    struct event *event = calloc(1, sizeof *event);
    json_error_t error;

    if (!event) {
        hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        return NULL;
    }
    event->json = json_loadb(line, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(event->json)) {
        hf_error_set(err, HF_INVALID, NULL, "a line of input is no JSON object: %s",
                     event->json ? "it is another kind of value" : error.text);
        event_free(event);
        return NULL;
    }
    if (event_fill(event, err) != HF_OK) {
        event_free(event);
        return NULL;
    }
    return event;
}

void
event_free(struct event *event)
{
    if (!event)
        return;
    json_decref(event->json);
    free(event);
}
