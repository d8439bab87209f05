/* settings.c - what a backend is opened with: its own options from backends.NAME.*, and
 * the database keys (SPEC 2.4). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct hf_setting *v;
    size_t n;
};

static int
settings_add(struct settings *s, const char *key, const char *value)
{
    struct hf_setting *v = realloc(s->v, (s->n + 2) * sizeof *v);
    char *k = strdup(key), *t = strdup(value);

    if (v)
        s->v = v;
    if (!v || !k || !t) {
        free(k);
        free(t);
        return 0;
    }
    v[s->n++] = (struct hf_setting){k, t};
    v[s->n] = (struct hf_setting){NULL, NULL};
    return 1;
}

static int
settings_give(struct settings *s, int ok, struct hf_setting **ret, struct hf_error *err)
{
    if (ok && !s->v) { /* a backend without options still gets an end */
        s->v = calloc(1, sizeof *s->v);
        ok = s->v != NULL;
    }
    if (!ok) {
        hf__settings_free(&s->v);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    *ret = s->v;
    return HF_OK;
}

void
hf__settings_free(struct hf_setting **settings)
{
    struct hf_setting *v = *settings;
    size_t i;

    for (i = 0; v && v[i].key; i++) {
        free((char *)(uintptr_t)v[i].key);
        free((char *)(uintptr_t)v[i].value);
    }
    free(v);
    *settings = NULL;
}

static const struct hf_option *
option_find(const struct hf_option *table, const char *key)
{
    for (; table && table->key; table++)
        if (strcmp(table->key, key) == 0)
            return table;
    return NULL;
}

static void
place(const struct hf__config_entry *entry, struct hf__buf *out)
{
    hf__buf_addf(out, "%s:%d:%d", entry->file, entry->line, entry->column);
}

static int
unknown(const struct hf__config_entry *entry, const char *backend, const char *key,
        const struct hf_option *table, struct hf_error *err)
{
    const char *list[65] = {NULL}, *near;
    struct hf__buf text = {0};
    size_t n = 0, i;
    int rc;

    for (; table && table[n].key && n < 64; n++)
        list[n] = table[n].key;
    near = hf__near_miss(key, list);
    place(entry, &text);
    hf__buf_addf(&text, ": %s: backend %s has no option '%s'", entry->key, backend,
                 key);
    if (near)
        hf__buf_addf(&text, " (did you mean '%s'?)", near);
    hf__buf_adds(&text, n ? "; allowed: " : "; it has no options");
    for (i = 0; i < n; i++)
        hf__buf_addf(&text, "%s%s", i ? ", " : "", list[i]);
    rc = text.failed ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory")
                     : hf_error_set(err, HF_CONFIG, entry->file, "%s", text.ptr);
    hf__buf_free(&text);
    return rc;
}

/* The value of OPTION as ENTRY has it, or its default; for free(). */
static int
option_value(const struct hf_option *option, const struct hf__config_entry *entry,
             char **ret, struct hf_error *err)
{
    struct hf__buf where = {0};
    int rc;

    if (!entry || (!entry->value && strncmp(option->type, "int:", 4) == 0)) {
        *ret = strdup(option->fallback ? option->fallback : "");
        return *ret ? HF_OK : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    place(entry, &where);
    if (where.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    else if (!entry->value)
        rc = hf__option_refuse(option->type, entry->key, "nothing (null)", where.ptr,
                               entry->file, err);
    else
        rc = hf__option_value(option->type, entry->key, entry->value, entry->quoted,
                              where.ptr, entry->file, ret, err);
    hf__buf_free(&where);
    return rc;
}

int
hf__settings_make(const struct hf__config *config, const char *name,
                  const struct hf_option *table, struct hf_setting **ret,
                  struct hf_error *err)
{
    struct settings s = {0};
    struct hf__buf prefix = {0}, key = {0};
    const struct hf_option *option;
    size_t i;
    int rc = HF_OK, ok = 1;

    hf__buf_addf(&prefix, "backends.%s.", name);
    if (prefix.failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (i = 0; i < config->n && rc == HF_OK; i++) {
        const struct hf__config_entry *entry = &config->entries[i];

        if (strncmp(entry->key, prefix.ptr, prefix.len) == 0 &&
            !option_find(table, entry->key + prefix.len))
            rc = unknown(entry, name, entry->key + prefix.len, table, err);
    }
    for (option = table; rc == HF_OK && ok && option && option->key; option++) {
        char *value = NULL;

        hf__buf_clear(&key);
        hf__buf_addf(&key, "%s%s", prefix.ptr, option->key);
        ok = !key.failed;
        if (ok)
            rc = option_value(option, hf__config_find(config, key.ptr), &value, err);
        if (ok && rc == HF_OK)
            ok = settings_add(&s, option->key, value);
        free(value);
    }
    hf__buf_free(&prefix);
    hf__buf_free(&key);
    if (rc != HF_OK) {
        hf__settings_free(&s.v);
        return rc;
    }
    return settings_give(&s, ok, ret, err);
}

/* The digit that SQLite's pragma takes for a name of SPEC 1.4. */
static const char *
synchronous_digit(const char *name)
{
    return strcmp(name, "off") == 0      ? "0"
           : strcmp(name, "normal") == 0 ? "1"
           : strcmp(name, "extra") == 0  ? "3"
                                         : "2";
}

int
hf__settings_database(const struct hf__config *config, struct hf_setting **ret,
                      struct hf_error *err)
{
    static const char prefix[] = "database.";
    struct settings s = {0};
    int i, ok = 1;

    for (i = 0; ok && hf__config_keys[i].key; i++) {
        const char *key = hf__config_keys[i].key, *value = hf__config_get(config, key);

        if (!value)
            value = "";
        if (strcmp(key, "sessions.index") == 0) {
            ok = settings_add(&s, key, value);
            continue;
        }
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 ||
            strcmp(key, "database.backend") == 0 ||
            strcmp(key, "database.plugin_path") == 0)
            continue;
        if (strcmp(hf__config_keys[i].type, "synchronous") == 0)
            value = synchronous_digit(value);
        ok = settings_add(&s, key + sizeof prefix - 1, value);
    }
    return settings_give(&s, ok, ret, err);
}
