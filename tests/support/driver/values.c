/* values.c - JSON into the library's structs and back.  Text may hold any byte: what is
 * no UTF-8 travels as {"$hex":"..."}, a number that JSON lacks as {"$real":"nan"}. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
call_keep(struct call *call, size_t size)
{
    void *p = calloc(1, size ? size : 1);
    void **kept = realloc(call->kept, (call->n_kept + 1) * sizeof *kept);

    if (!p || !kept)
        abort();
    call->kept = kept;
    call->kept[call->n_kept++] = p;
    return p;
}

int
bad(struct call *call, const char *what)
{
    return hf_error_set(&call->err, HF_INVALID, NULL, "hf-driver: %s", what);
}

static int
hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static int
hex_read(struct call *call, const char *hex, struct hf_text *ret)
{
    size_t n = strlen(hex) / 2;
    char *bytes = call_keep(call, n + 1);

    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return bad(call, "$hex takes lower-case hex digits");
        bytes[i] = (char)(high << 4 | low);
    }
    *ret = hf_text(bytes, n);
    return HF_OK;
}

int
text_read(struct call *call, const json_t *value, struct hf_text *ret)
{
    const char *hex;

    if (!value || json_is_null(value)) {
        *ret = hf_text(NULL, 0);
        return HF_OK;
    }
    if (json_is_string(value)) {
        *ret = hf_text(json_string_value(value), json_string_length(value));
        return HF_OK;
    }
    hex = json_string_value(json_object_get(value, "$hex"));
    return hex ? hex_read(call, hex, ret)
               : bad(call, "text must be a string, null or {\"$hex\":...}");
}

json_t *
text_write(const struct hf_text *text)
{
    json_t *plain;
    char *hex;

    if (!text->ptr)
        return json_null();
    plain = json_stringn(text->ptr, text->len);
    if (plain)
        return plain;
    hex = malloc(2 * text->len + 1);
    if (!hex)
        abort();
    for (size_t i = 0; i < text->len; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)text->ptr[i]);
    plain = json_pack("{s:s}", "$hex", hex);
    free(hex);
    return plain;
}

json_t *
real_write(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int
real_read(struct call *call, const json_t *value, double *ret)
{
    const char *word = json_string_value(json_object_get(value, "$real"));

    if (json_is_number(value))
        *ret = json_number_value(value);
    else if (json_is_null(value))
        *ret = HF_NO_TIME;
    else if (word)
        *ret = strtod(word, NULL);
    else
        return bad(call, "a number must be a number, null or {\"$real\":...}");
    return HF_OK;
}

static int
texts_read(struct call *call, const json_t *value, char *at, char *count_at)
{
    size_t n = json_array_size(value);
    struct hf_text *texts = call_keep(call, (n + 1) * sizeof *texts);
    uint64_t count = n;
    int rc = HF_OK;

    if (!json_is_array(value))
        return bad(call, "a list of texts is expected");
    for (size_t i = 0; i < n && !rc; i++)
        rc = text_read(call, json_array_get(value, i), &texts[i]);
    memcpy(at, &texts, sizeof texts);
    memcpy(count_at, &count, sizeof count);
    return rc;
}

static int
member_read(struct call *call, const json_t *value, enum kind kind, char *at,
            char *count_at)
{
    int64_t number = json_is_boolean(value) ? json_is_true(value)
                     : json_is_null(value)  ? HF_NO_INT
                                            : json_integer_value(value);
    uint32_t narrow = (uint32_t)number;
    struct hf_text text;
    char *copy;
    int rc;

    switch (kind) {
    case K_TEXT:
        return text_read(call, value, (struct hf_text *)(void *)at);
    case K_TEXTS:
        return texts_read(call, value, at, count_at);
    case K_REAL:
        return real_read(call, value, (double *)(void *)at);
    case K_STRING:
        rc = text_read(call, value, &text);
        if (rc)
            return rc;
        copy = text.ptr ? call_keep(call, text.len + 1) : NULL;
        if (copy)
            memcpy(copy, text.ptr, text.len);
        memcpy(at, &copy, sizeof copy);
        return HF_OK;
    default:
        if (!json_is_integer(value) && !json_is_boolean(value) && !json_is_null(value))
            return bad(call, "a whole number is expected");
        if (kind == K_U32)
            memcpy(at, &narrow, sizeof narrow);
        else
            memcpy(at, &number, sizeof number);
        return HF_OK;
    }
}

int
members_read(struct call *call, const json_t *object, const struct member *table,
             void *ret)
{
    const char *key;
    json_t *value;

    if (object && !json_is_object(object))
        return bad(call, "an object is expected");
    json_object_foreach((json_t *)object, key, value) {
        const struct member *m = table;
        int rc;
        while (m->name && strcmp(m->name, key) != 0)
            m++;
        if (!m->name)
            return hf_error_set(&call->err, HF_INVALID, NULL,
                                "hf-driver: there is no member \"%s\"", key);
        rc = member_read(call, value, m->kind, (char *)ret + m->offset,
                         (char *)ret + m->count);
        if (rc)
            return rc;
    }
    return HF_OK;
}

static json_t *
member_write(enum kind kind, const char *at)
{
    const char *string;
    uint32_t narrow;
    int64_t number;
    double real;

    switch (kind) {
    case K_TEXT:
        return text_write((const struct hf_text *)(const void *)at);
    case K_REAL:
        memcpy(&real, at, sizeof real);
        return real_write(real);
    case K_CHARS:
        return json_string(at);
    case K_STRING:
        memcpy(&string, at, sizeof string);
        return text_write(&(struct hf_text){string, string ? strlen(string) : 0});
    case K_U32:
        memcpy(&narrow, at, sizeof narrow);
        return json_integer(narrow);
    case K_TEXTS:
        return json_null();
    default:
        memcpy(&number, at, sizeof number);
        return number == HF_NO_INT ? json_null() : json_integer(number);
    }
}

json_t *
members_write(const struct member *table, const void *from)
{
    json_t *object = json_object();

    for (const struct member *m = table; m->name; m++)
        json_object_set_new(object, m->name,
                            member_write(m->kind, (const char *)from + m->offset));
    return object;
}

struct hf_text
arg_text(struct call *call, const char *name)
{
    struct hf_text text = {NULL, 0};
    text_read(call, json_object_get(call->in, name), &text);
    return text;
}

const char *
arg_string(struct call *call, const char *name, const char *fallback)
{
    struct hf_text text = arg_text(call, name);
    char *copy;

    if (!text.ptr)
        return fallback;
    copy = call_keep(call, text.len + 1);
    memcpy(copy, text.ptr, text.len);
    return copy;
}

int64_t
arg_int(struct call *call, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(call->in, name);

    if (json_is_boolean(value))
        return json_is_true(value);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

double
arg_real(struct call *call, const char *name, double fallback)
{
    const json_t *value = json_object_get(call->in, name);
    double real = fallback;

    if (value)
        real_read(call, value, &real);
    return real;
}
