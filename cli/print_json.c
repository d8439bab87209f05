/* print_json.c - members of a JSON object, with their commas. */
#include <string.h>

#include "print.h"

void
json_open(struct hf__buf *out, int *any, const char *key)
{
    hf__json_comma(out, any);
    hf__json_key(out, key);
}

void
json_text(struct hf__buf *out, int *any, const char *key, const struct hf_text *t)
{
    json_open(out, any, key);
    if (t->ptr)
        hf__json_string(out, t->ptr, (size_t)t->len);
    else
        hf__buf_adds(out, "null");
}

void
json_str(struct hf__buf *out, int *any, const char *key, const char *s)
{
    struct hf_text t = hf_str(s);

    json_text(out, any, key, &t);
}

void
json_int(struct hf__buf *out, int *any, const char *key, int64_t value)
{
    json_open(out, any, key);
    if (value == HF_NO_INT)
        hf__buf_adds(out, "null");
    else
        hf__json_int(out, value);
}

void
json_time(struct hf__buf *out, int *any, const char *key, double value)
{
    json_open(out, any, key);
    hf__json_real(out, value);
}

void
json_bool(struct hf__buf *out, int *any, const char *key, int value)
{
    json_open(out, any, key);
    hf__buf_adds(out, value ? "true" : "false");
}

int
json_sink(void *ctx, const char *bytes, size_t len)
{
    struct hf__buf *out = ctx;

    hf__buf_add(out, bytes, len);
    return out->failed ? HF_NO_MEMORY : 0;
}
