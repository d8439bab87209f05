/* log.c - one line to the embedder's log, made safe to show.
 *
 * Callers hold no lock of Holdfast's: the callback is foreign code and may block. */
#include "internal.h"

#include "util/utf8.h"

void
hf__vlog(const struct hf__log *log, int level, const char *event, const char *path,
         const char *fmt, va_list ap)
{
    struct hf__buf raw = {0}, text = {0};
    va_list again;
    int n;

    if (!log->fn)
        return;
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return;
    char *line = malloc((size_t)n + 1);
    if (!line)
        return;
    vsnprintf(line, (size_t)n + 1, fmt, ap);
    hf__buf_add(&raw, line, (size_t)n);
    free(line);
    /* Paths and stored text end up here: a newline would forge a second line of the
     * log, an escape sequence would reach the operator's terminal. */
    if (!raw.failed && raw.len > 0)
        hf__utf8_safe(&text, raw.ptr, raw.len);
    if (!raw.failed && !text.failed)
        log->fn(log->ctx, level, event, path, text.ptr ? text.ptr : "");
    hf__buf_free(&raw);
    hf__buf_free(&text);
}

void
hf__log(const struct hf__log *log, int level, const char *event, const char *path,
        const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    hf__vlog(log, level, event, path, fmt, ap);
    va_end(ap);
}
