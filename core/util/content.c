/* content.c - what is in a content or tool_calls cell: text, or structured content
 * stored as NUL, "json:" and JSON. */
#include "content.h"

#include <string.h>

#include "json_write.h"
#include "utf8.h"

static const char mark[] = {'\0', 'j', 's', 'o', 'n', ':'};
enum { PREVIEW_LENGTH = 60 };

json_t *
hf__content_parse(const struct hf_text *content)
{
    if (!content->ptr || content->len < sizeof mark ||
        memcmp(content->ptr, mark, sizeof mark) != 0)
        return NULL;
    return hf__json_parse(content->ptr + sizeof mark, content->len - sizeof mark);
}

static void
part_add(struct hf__buf *out, size_t start, const char *s, size_t len)
{
    if (out->len > start)
        hf__buf_addc(out, '\n');
    hf__buf_add(out, s, len);
}

/* Text stands in strings of a list and under "text" or "content" of a part; other
 * members (types, addresses, base64 images) are nothing that a person wrote. */
static void
parts_add(struct hf__buf *out, size_t start, const json_t *value)
{
    size_t i;

    switch (json_typeof(value)) {
    case JSON_STRING:
        part_add(out, start, json_string_value(value), json_string_length(value));
        break;
    case JSON_ARRAY:
        for (i = 0; i < json_array_size(value); i++)
            parts_add(out, start, json_array_get(value, i));
        break;
    case JSON_OBJECT: {
        const json_t *text = json_object_get(value, "text");
        const json_t *inner = json_object_get(value, "content");
        if (json_is_string(text))
            parts_add(out, start, text);
        if (inner)
            parts_add(out, start, inner);
        break;
    }
    default:
        break;
    }
}

void
hf__content_text(struct hf__buf *out, const struct hf_text *content)
{
    json_t *value;

    if (!content->ptr)
        return;
    value = hf__content_parse(content);
    if (!value) {
        hf__buf_add(out, content->ptr, content->len);
        return;
    }
    parts_add(out, out->len, value);
    json_decref(value);
}

int64_t
hf__tool_call_count(const struct hf_text *tool_calls)
{
    json_t *value;
    int64_t n = 0;

    if (!tool_calls->ptr)
        return 0;
    value = hf__json_parse(tool_calls->ptr, tool_calls->len);
    if (json_is_array(value))
        n = (int64_t)json_array_size(value);
    json_decref(value);
    return n;
}

void
hf__preview(struct hf__buf *out, const struct hf_text *content)
{
    struct hf__buf text = {0};
    const char *s = content->ptr;
    size_t len = s ? content->len : 0, i = 0, n = 0;
    int space = 0;

    /* Only structured content has to be looked at as a whole. */
    if (len >= sizeof mark && !memcmp(s, mark, sizeof mark)) {
        hf__content_text(&text, content);
        s = text.ptr;
        len = text.len;
    }
    while (i < len) {
        int32_t cp;
        i += hf__utf8_next(s + i, len - i, &cp);
        if (hf__utf8_is_space(cp)) {
            space = n > 0;
            continue;
        }
        if (space && n < PREVIEW_LENGTH) {
            hf__buf_addc(out, ' ');
            n++;
        }
        space = 0;
        if (n == PREVIEW_LENGTH) {
            hf__buf_adds(out, "...");
            break;
        }
        hf__utf8_put(out, cp > 0 ? cp : 0xFFFD);
        n++;
    }
    if (text.failed)
        out->failed = 1;
    hf__buf_free(&text);
}
