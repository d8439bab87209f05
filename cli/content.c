/* content.c - a message's content as lines for a terminal.  Structured content is shown
 * by its text parts, and the other parts by their type. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "content.h"

#define MARK "\0json:"
#define MARK_LEN 6u
#define ARGUMENTS_SHOWN 200u

static void
print_lines(struct hf__buf *out, const char *s, size_t len, const char *indent)
{
    const char *end = s + len;

    do {
        const char *newline = len ? memchr(s, '\n', (size_t)(end - s)) : NULL;
        const char *stop = newline ? newline : end;
        hf__buf_adds(out, indent);
        while (s < stop) {
            const char *tab = memchr(s, '\t', (size_t)(stop - s));
            size_t n = (size_t)((tab ? tab : stop) - s);
            print_safe(out, s, n);
            s += n;
            if (tab) {
                hf__buf_adds(out, "    ");
                s++;
            }
        }
        hf__buf_addc(out, '\n');
        s = newline ? newline + 1 : end;
    } while (s < end);
}

static void
print_part(struct hf__buf *out, const json_t *part, const char *indent)
{
    const json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
    const char *type = json_string_value(json_object_get(part, "type"));
    struct hf__buf line = {0};

    if (json_is_string(text)) {
        print_lines(out, json_string_value(text), json_string_length(text), indent);
        return;
    }
    hf__buf_addf(&line, "[%s]", type ? type : "data");
    if (!line.failed)
        print_lines(out, line.ptr, line.len, indent);
    hf__buf_free(&line);
}

void
content_print(struct hf__buf *out, const struct hf_text *content, const char *indent)
{
    json_t *root = NULL;
    size_t i;

    if (!content->ptr || !content->len)
        return;
    if (content->len > MARK_LEN && memcmp(content->ptr, MARK, MARK_LEN) == 0)
        root = hf__json_parse(content->ptr + MARK_LEN,
                              (size_t)content->len - MARK_LEN);
    if (!root)
        print_lines(out, content->ptr, (size_t)content->len, indent);
    else if (json_is_array(root))
        for (i = 0; i < json_array_size(root); i++)
            print_part(out, json_array_get(root, i), indent);
    else
        print_part(out, root, indent);
    json_decref(root);
}

static void
print_call(struct hf__buf *out, const json_t *call, const char *indent)
{
    const json_t *function = json_object_get(call, "function");
    const json_t *holder = json_is_object(function) ? function : call;
    const char *name = json_string_value(json_object_get(holder, "name"));
    const json_t *arguments = json_object_get(holder, "arguments");
    struct hf__buf args = {0};
    size_t shown;

    if (json_is_string(arguments))
        hf__buf_add(&args, json_string_value(arguments), json_string_length(arguments));
    else if (arguments)
        hf__json_value(&args, arguments);
    shown = args.len > ARGUMENTS_SHOWN ? ARGUMENTS_SHOWN : args.len;
    while (shown < args.len && shown > 0 && ((unsigned char)args.ptr[shown] & 0xC0) == 0x80)
        shown--;
    hf__buf_addf(out, "%s-> ", indent);
    print_safe(out, name ? name : "?", name ? strlen(name) : 1);
    hf__buf_addc(out, '(');
    if (shown)
        print_safe(out, args.ptr, shown);
    hf__buf_adds(out, shown < args.len ? "...)\n" : ")\n");
    hf__buf_free(&args);
}

void
content_calls(struct hf__buf *out, const struct hf_text *calls, const char *indent)
{
    json_t *root = calls->ptr ? hf__json_parse(calls->ptr, (size_t)calls->len) : NULL;
    size_t i;

    if (json_is_array(root))
        for (i = 0; i < json_array_size(root); i++)
            print_call(out, json_array_get(root, i), indent);
    json_decref(root);
}
