/* line_split.c - takes an exported session apart without making a tree of it: a line
 * with a long transcript would need many times its size as one. */
#include <string.h>

#include "record_parse.h"
#include "util/json_write.h"

static size_t
blanks(const char *s, size_t len, size_t at)
{
    while (at < len &&
           (s[at] == ' ' || s[at] == '\t' || s[at] == '\r' || s[at] == '\n'))
        at++;
    return at;
}

/* Where the value at AT ends, judged by its quotes and brackets alone; 0 when it does
 * not end.  Whether it is JSON is found when it is parsed. */
static size_t
value_end(const char *s, size_t len, size_t at)
{
    size_t level = 0, i;

    for (i = at; i < len; i++) {
        char c = s[i];
        if (c == '"') {
            for (i++; i < len && s[i] != '"'; i++)
                if (s[i] == '\\')
                    i++;
            if (i >= len)
                return 0;
            if (!level)
                return i + 1;
        } else if (c == '{' || c == '[')
            level++;
        else if (c == '}' || c == ']') {
            if (!level)
                return i; /* the end of what a bare value stands in */
            if (!--level)
                return i + 1;
        } else if (!level && (c == ',' || c == ' ' || c == '\t' || c == '\r' ||
                              c == '\n'))
            return i;
    }
    return level ? 0 : len;
}

static int
broken(struct hf_error *err, size_t at, const char *expected)
{
    return hf_error_set(err, HF_INVALID, NULL, "not JSON at byte %zu: expected %s",
                        at + 1, expected);
}

int
hf__element_next(const char *s, size_t len, size_t *at, const char **ret,
                 size_t *ret_len, struct hf_error *err)
{
    size_t i = blanks(s, len, *at), end;
    int first = *at == 0;

    if (first) {
        if (i >= len || s[i] != '[')
            return broken(err, i, "an array");
        i = blanks(s, len, i + 1);
    }
    if (i < len && s[i] == ']') {
        if (blanks(s, len, i + 1) != len)
            return broken(err, i + 1, "the end of the array");
        return 0;
    }
    if (!first) {
        if (i >= len || s[i] != ',')
            return broken(err, i, "',' or ']'");
        i = blanks(s, len, i + 1);
    }
    end = i < len ? value_end(s, len, i) : 0;
    if (end <= i)
        return broken(err, i, "a value");
    *ret = s + i;
    *ret_len = end - i;
    *at = end;
    return 1;
}

/* One "key": value of the object; 1, with *AT behind it. */
static int
member_next(const char *s, size_t len, size_t *at, json_t **ret_key, size_t *ret_value,
            struct hf_error *err)
{
    size_t i = *at, end;

    if (i >= len || s[i] != '"' || !(end = value_end(s, len, i)))
        return broken(err, i, "a member's name in quotes");
    *ret_key = hf__json_parse(s + i, end - i);
    if (!json_is_string(*ret_key))
        return broken(err, i, "a member's name in quotes");
    i = blanks(s, len, end);
    if (i >= len || s[i] != ':')
        return broken(err, i, "':'");
    i = blanks(s, len, i + 1);
    end = i < len ? value_end(s, len, i) : 0;
    if (end <= i)
        return broken(err, i, "a value");
    *ret_value = i;
    *at = end;
    return 1;
}

int
hf__line_split(const char *s, size_t len, json_t **ret_session,
               const char **ret_messages, size_t *ret_messages_len,
               struct hf_error *err)
{
    json_t *session = json_object(), *key = NULL, *value;
    const char *messages = NULL;
    size_t i = blanks(s, len, 0), messages_len = 0, from = 0;
    int rc = HF_OK;

    if (!session)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory");
    if (i >= len || s[i] != '{') {
        rc = broken(err, i, "an object");
        goto out;
    }
    i = blanks(s, len, i + 1);
    while (i < len && s[i] != '}') {
        rc = member_next(s, len, &i, &key, &from, err);
        if (rc < 0)
            goto out;
        rc = HF_OK;
        if (!strcmp(json_string_value(key), "messages")) {
            messages = s + from;
            messages_len = i - from;
        } else {
            value = hf__json_parse(s + from, i - from);
            if (!value || json_object_set_new(session, json_string_value(key), value)) {
                rc = broken(err, from, "a value");
                goto out;
            }
        }
        json_decref(key);
        key = NULL;
        i = blanks(s, len, i);
        if (i < len && s[i] == ',') {
            i = blanks(s, len, i + 1);
            if (i < len && s[i] == '}') {
                rc = broken(err, i, "a member after ','");
                goto out;
            }
        } else if (i < len && s[i] != '}') {
            rc = broken(err, i, "',' or '}'");
            goto out;
        }
    }
    if (i >= len || blanks(s, len, i + 1) != len) {
        rc = broken(err, i, i >= len ? "'}'" : "the end of the line after '}'");
        goto out;
    }
    *ret_session = session;
    *ret_messages = messages;
    *ret_messages_len = messages_len;
    session = NULL;
out:
    json_decref(key);
    json_decref(session);
    return rc;
}
