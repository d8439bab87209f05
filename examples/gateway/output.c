/* output.c - answers on standard output, the log on standard error.
 *
 * Each line is built first and written in one piece under a lock: lines of several
 * threads never mix. */
#include "gateway.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_style log_style;

void
output_init(enum log_style style)
{
    log_style = style;
}

static void
line_write(FILE *to, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    pthread_mutex_lock(&lock);
    fputs(text ? text : "{\"ok\":false,\"code\":\"HF_NO_MEMORY\"}", to);
    fputc('\n', to);
    fflush(to);
    pthread_mutex_unlock(&lock);
    free(text);
}

void
output_line(json_t *object)
{
    line_write(stdout, object);
}

/* Text of a store may hold any byte, JSON only UTF-8: what cannot be said is said so. */
json_t *
text_json(const struct hf_text *text)
{
    json_t *value = text->ptr ? json_stringn(text->ptr, text->len) : json_null();
    return value ? value : json_string("(not UTF-8)");
}

const char *
condition_name(uint32_t condition)
{
    switch (condition) {
    case HF_HEALTHY:
        return "healthy";
    case HF_DEGRADED:
        return "degraded";
    case HF_RECOVERING:
        return "recovering";
    default:
        return "lost";
    }
}

json_t *
output_answer(const struct event *event)
{
    json_t *answer = json_pack("{s:b,s:s}", "ok", 1, "op", event->op_name);

    if (event->ref.ptr)
        json_object_set_new(answer, "id", text_json(&event->ref));
    if (event->profile)
        json_object_set_new(answer, "profile", json_string(event->profile));
    if (event->session.ptr)
        json_object_set_new(answer, "session", text_json(&event->session));
    return answer;
}

void
output_failure(const struct event *event, const struct hf_error *err)
{
    json_t *answer = event ? output_answer(event) : json_object();
    struct hf_text message = hf_str(err->message);

    json_object_set_new(answer, "ok", json_false());
    json_object_set_new(answer, "code", json_string(hf_code_name(err->code)));
    json_object_set_new(answer, "message", text_json(&message));
    line_write(stdout, answer);
}

static const char *
level_name(int32_t level)
{
    return level >= HF_LOG_ERROR     ? "error"
           : level >= HF_LOG_WARNING ? "warning"
           : level >= HF_LOG_INFO    ? "info"
                                     : "debug";
}

/* The library calls this from any thread, for what the person who runs the gateway should
 * know; it holds no lock of its own meanwhile. */
void
output_log(void *ctx, int32_t level, const char *event, const char *path,
           const char *text)
{
    struct hf_text path_text = hf_str(path), line_text = hf_str(text);
    json_t *line;

    (void)ctx;
    if (level < HF_LOG_INFO)
        return;
    if (log_style == LOG_TEXT) {
        pthread_mutex_lock(&lock);
        fprintf(stderr, "%s: %s: %s\n", level_name(level), event, text);
        pthread_mutex_unlock(&lock);
        return;
    }
    line = json_pack("{s:s,s:s}", "level", level_name(level), "event", event);
    json_object_set_new(line, "path", text_json(&path_text));
    json_object_set_new(line, "text", text_json(&line_text));
    line_write(stderr, line);
}
