/* log.c - collects what the library logs, until a test asks for it. */
#include "driver.h"

#include <pthread.h>

static json_t *lines;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
log_collect(void *ctx, int32_t level, const char *event, const char *path,
            const char *text)
{
    json_t *line = json_object();
    struct hf_text event_text = hf_str(event), path_text = hf_str(path);
    struct hf_text line_text = hf_str(text);

    (void)ctx;
    json_object_set_new(line, "level", json_integer(level));
    json_object_set_new(line, "event", text_write(&event_text));
    json_object_set_new(line, "path", text_write(&path_text));
    json_object_set_new(line, "text", text_write(&line_text));
    pthread_mutex_lock(&lock);
    if (!lines)
        lines = json_array();
    json_array_append_new(lines, line);
    pthread_mutex_unlock(&lock);
}

/* log: the lines since the last time. */
int
cmd_log(struct call *call)
{
    pthread_mutex_lock(&lock);
    json_object_set_new(call->out, "lines", lines ? lines : json_array());
    lines = NULL;
    pthread_mutex_unlock(&lock);
    return HF_OK;
}
