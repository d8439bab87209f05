/* options.c - option types, and values checked against them (SPEC 2.4). */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/utf8.h"

/* A whole number in decimal, as strictly as it can be said: no blanks, no other base,
 * no leading zero, which YAML 1.1 would take for octal. */
static int
int_read(const char *s, size_t len, int64_t *ret)
{
    char text[24], *end;
    size_t i = 0;
    long long value;

    if (len == 0 || len >= sizeof text)
        return 0;
    memcpy(text, s, len);
    text[len] = '\0';
    if (text[0] == '-' || text[0] == '+')
        i++;
    if (text[i] < '0' || text[i] > '9' || (text[i] == '0' && text[i + 1]))
        return 0;
    for (; text[i]; i++)
        if (text[i] < '0' || text[i] > '9')
            return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || *end)
        return 0;
    *ret = value;
    return 1;
}

static int
range_read(const char *type, int64_t *ret_low, int64_t *ret_high)
{
    const char *s = type + strlen("int:"), *dots = strstr(s, "..");

    return dots && int_read(s, (size_t)(dots - s), ret_low) &&
           int_read(dots + 2, strlen(dots + 2), ret_high) && *ret_low <= *ret_high;
}

static int
starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The choice of an enum type at *AT, its length in *ret_len; NULL at the end. */
static const char *
choice_next(const char **at, size_t *ret_len)
{
    const char *s = *at;

    if (!s)
        return NULL;
    *ret_len = strcspn(s, "|");
    *at = s[*ret_len] ? s + *ret_len + 1 : NULL;
    return s;
}

/* The choices of TYPE as an enum; "synchronous" is one that also takes digits. */
static const char *
choices(const char *type)
{
    if (starts(type, "enum:"))
        return type + strlen("enum:");
    if (strcmp(type, "synchronous") == 0)
        return "off|normal|full|extra";
    if (strcmp(type, "bool") == 0)
        return "true|false";
    return NULL;
}

const char *
hf__option_type_bad(const char *type)
{
    int64_t low, high;

    if (!type)
        return "it is missing";
    if (strcmp(type, "string") == 0 || strcmp(type, "path") == 0 ||
        strcmp(type, "bool") == 0)
        return NULL;
    if (starts(type, "int:"))
        return range_read(type, &low, &high) ? NULL
                                             : "int needs a range, as in int:1..64";
    if (starts(type, "enum:")) {
        const char *at = type + strlen("enum:"), *s, *rest, *t;
        size_t len, n;

        while ((s = choice_next(&at, &len))) {
            if (len == 0)
                return "enum has an empty choice";
            for (rest = at; (t = choice_next(&rest, &n));)
                if (n == len && strncasecmp(s, t, n) == 0)
                    return "enum has a choice twice";
        }
        return NULL;
    }
    return "known are int:LOW..HIGH, enum:a|b, string, path and bool";
}

void
hf__option_allowed(struct hf__buf *out, const char *type)
{
    const char *at = choices(type), *s;
    int64_t low, high;
    size_t len;
    int any = 0;

    if (at) {
        while ((s = choice_next(&at, &len))) {
            hf__buf_adds(out, any++ ? ", " : "");
            hf__buf_add(out, s, len);
        }
        if (strcmp(type, "synchronous") == 0)
            hf__buf_adds(out, ", or 0 to 3");
    } else if (starts(type, "int:") && range_read(type, &low, &high)) {
        if (low <= -INT64_MAX && high == INT64_MAX)
            hf__buf_adds(out, "a whole number");
        else if (high == INT64_MAX)
            hf__buf_addf(out, "a whole number, at least %lld", (long long)low);
        else
            hf__buf_addf(out, "a whole number from %lld to %lld", (long long)low,
                         (long long)high);
    } else if (strcmp(type, "path") == 0) {
        hf__buf_adds(out, "an absolute path");
    } else if (strcmp(type, "paths") == 0) {
        hf__buf_adds(out, "a list of absolute folders");
    } else if (strcmp(type, "backend") == 0) {
        hf__buf_adds(out,
                     "a backend's name (a to z, 0 to 9 and '_', a letter first), or "
                     "the absolute path of its file");
    } else {
        hf__buf_adds(out, "a text");
    }
}

/* The choice that FOUND was probably meant to be, for free(); NULL: none is close. */
static char *
choice_near(const char *type, const char *found)
{
    const char *at = choices(type), *s, *near;
    char *list[64] = {NULL}, *ret = NULL;
    size_t len, n = 0, i;

    while (n < 63 && (s = choice_next(&at, &len)))
        if (!(list[n] = strndup(s, len)))
            break;
        else
            n++;
    near = hf__near_miss(found, (const char *const *)list);
    if (near)
        ret = strdup(near);
    for (i = 0; i < n; i++)
        free(list[i]);
    return ret;
}

/* At most 80 bytes of a value in quotes, safe to show. */
static void
value_show(struct hf__buf *out, const char *value)
{
    struct hf__buf safe = {0};
    size_t len = strlen(value), cut = len;

    if (cut > 80)
        for (cut = 80; cut > 0 && ((unsigned char)value[cut] & 0xC0u) == 0x80u;)
            cut--;
    hf__utf8_safe(&safe, value, cut);
    hf__buf_addf(out, "'%s%s'", safe.ptr ? safe.ptr : "", cut < len ? "..." : "");
    hf__buf_free(&safe);
}

static int
refuse(const char *type, const char *name, const char *value, const char *found,
       const char *where, const char *file, struct hf_error *err)
{
    struct hf__buf text = {0};
    char *near = value ? choice_near(type, value) : NULL;
    int rc;

    if (where)
        hf__buf_addf(&text, "%s: ", where);
    hf__buf_addf(&text, "%s: found %s, allowed: ", name, found);
    hf__option_allowed(&text, type);
    if (near)
        hf__buf_addf(&text, " (did you mean '%s'?)", near);
    rc = text.failed ? hf_error_set(err, HF_NO_MEMORY, file, "out of memory")
                     : hf_error_set(err, HF_CONFIG, file, "%s", text.ptr);
    free(near);
    hf__buf_free(&text);
    return rc;
}

int
hf__option_refuse(const char *type, const char *name, const char *found,
                  const char *where, const char *file, struct hf_error *err)
{
    return refuse(type, name, NULL, found, where, file, err);
}

/* VALUE in the one spelling of TYPE, for free(); NULL when TYPE does not allow it. */
static char *
spell(const char *type, const char *value, int quoted)
{
    const char *at = choices(type), *s;
    int64_t low, high, number;
    size_t len;
    char text[24];
    int i;

    if (at) {
        for (i = 0; (s = choice_next(&at, &len)); i++)
            if (strlen(value) == len && strncasecmp(value, s, len) == 0)
                return strndup(s, len);
            else if (strcmp(type, "synchronous") == 0 && value[0] == '0' + i &&
                     !value[1])
                return strndup(s, len);
        if (strcmp(type, "bool") != 0)
            return NULL;
        if (!strcasecmp(value, "yes") || !strcasecmp(value, "on") ||
            !strcmp(value, "1"))
            return strdup("true");
        if (!strcasecmp(value, "no") || !strcasecmp(value, "off") ||
            !strcmp(value, "0"))
            return strdup("false");
        return NULL;
    }
    if (starts(type, "int:")) {
        if (quoted || !int_read(value, strlen(value), &number) ||
            !range_read(type, &low, &high) || number < low || number > high)
            return NULL;
        snprintf(text, sizeof text, "%lld", (long long)number);
        return strdup(text);
    }
    if (strcmp(type, "path") == 0 && value[0] != '/')
        return NULL;
    /* A name that is only wrong in its case goes on to the registry, which knows what
     * could have been meant. */
    if (strcmp(type, "backend") == 0 && value[0] != '/' &&
        (!hf__backend_word(value) || (value[0] >= '0' && value[0] <= '9')))
        return NULL;
    return strdup(value);
}

int
hf__option_value(const char *type, const char *name, const char *value, int quoted,
                 const char *where, const char *file, char **ret, struct hf_error *err)
{
    char *text = spell(type, value, quoted);
    struct hf__buf found = {0};
    int rc;

    if (text) {
        *ret = text;
        return HF_OK;
    }
    value_show(&found, value);
    if (quoted && starts(type, "int:"))
        hf__buf_adds(&found, " in quotes, which is a text");
    rc = refuse(type, name, value, found.ptr ? found.ptr : "?", where, file, err);
    hf__buf_free(&found);
    return rc;
}

int
hf__option_check(const struct hf_option *option, const char *value, const char *where,
                 struct hf_error *err)
{
    char *text = NULL;
    int rc =
        hf__option_value(option->type, option->key, value, 0, where, NULL, &text, err);

    free(text);
    return rc;
}
