/* config_file.c - one config.yaml: our sections in it, each value checked, with the
 * place where it stands (SPEC 1.5).
 *
 * Lenient where other programs' keys live, strict where ours do: a key of ours that is
 * not understood is an error, because its default could cost data. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

/* Names are looked for one by one; so many stand in no real file. */
#define MAX_BACKENDS 256
#define MAX_OPTIONS 2000

struct reading {
    const char *file;
    const struct hf_host *host;
    struct hf__config_file *out;
    struct hf_error *err;
};

static int
no_memory(struct reading *r)
{
    return hf_error_set(r->err, HF_NO_MEMORY, r->file, "out of memory reading %s",
                        r->file);
}

/* "FILE:LINE:COLUMN" in BUF. */
static const char *
place(struct reading *r, const struct hf__yaml_node *node, struct hf__buf *buf)
{
    hf__buf_clear(buf);
    hf__buf_addf(buf, "%s:%d:%d", r->file, node->line, node->column);
    return buf->ptr ? buf->ptr : r->file;
}

__attribute__((format(printf, 3, 4))) static int
fail(struct reading *r, const struct hf__yaml_node *node, const char *fmt, ...)
{
    struct hf__buf where = {0};
    char text[1500];
    va_list ap;
    int rc;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rc = hf_error_set(r->err, HF_CONFIG, r->file, "%s: %s", place(r, node, &where),
                      text);
    hf__buf_free(&where);
    return rc;
}

/* The bare names of our keys below SECTION, as a list for a near miss. */
static size_t
names_below(const char *section, const char **ret, size_t size)
{
    size_t len = strlen(section), n = 0;
    int i;

    for (i = 0; hf__config_keys[i].key && n + 1 < size; i++)
        if (strncmp(hf__config_keys[i].key, section, len) == 0 &&
            hf__config_keys[i].key[len] == '.')
            ret[n++] = hf__config_keys[i].key + len + 1;
    ret[n] = NULL;
    return n;
}

static int
unknown_key(struct reading *r, const struct hf__yaml_node *at, const char *section,
            const char *name)
{
    const char *list[64];
    size_t n = names_below(section, list, 64), i;
    const char *near = hf__near_miss(name, list);
    struct hf__buf text = {0}, safe = {0};
    int rc;

    hf__utf8_safe(&safe, name, strnlen(name, 80));
    hf__buf_addf(&text, "unknown key '%s.%s'", section, safe.ptr ? safe.ptr : "");
    if (near)
        hf__buf_addf(&text, " (did you mean '%s'?)", near);
    for (i = 0; i < n; i++)
        hf__buf_addf(&text, "%s%s", i ? ", " : "; allowed: ", list[i]);
    rc = text.failed ? no_memory(r) : fail(r, at, "%s", text.ptr);
    hf__buf_free(&safe);
    hf__buf_free(&text);
    return rc;
}

static int
entry_set(struct reading *r, struct hf__config_entry *entry, const char *key,
          const struct hf__yaml_node *node, char *value)
{
    entry->key = strdup(key);
    entry->file = strdup(r->file);
    entry->value = value;
    entry->line = node->line;
    entry->column = node->column;
    entry->quoted =
        hf__yaml_real(node)->kind == HF__YAML_SCALAR && !hf__yaml_real(node)->plain;
    return entry->key && entry->file ? HF_OK : no_memory(r);
}

/* A list of absolute folders, joined by newlines. */
static int
paths_value(struct reading *r, const struct hf__config_key *key,
            const struct hf__yaml_node *node, char **ret)
{
    const struct hf__yaml_node *list = hf__yaml_real(node);
    struct hf__buf joined = {0}, where = {0};
    int rc = HF_OK;
    size_t i;

    if (list->kind != HF__YAML_LIST) {
        rc = hf__option_refuse(key->type, key->key, hf__yaml_kind_name(node),
                               place(r, node, &where), r->file, r->err);
        hf__buf_free(&where);
        return rc;
    }
    for (i = 0; i < list->n && rc == HF_OK; i++) {
        const struct hf__yaml_node *item = hf__yaml_real(list->items[i]);
        const char *text = hf__yaml_key(item);
        char *one = NULL;

        if (!text || hf__yaml_is_null(item))
            rc = hf__option_refuse("path", key->key, hf__yaml_kind_name(item),
                                   place(r, list->items[i], &where), r->file, r->err);
        else if (strchr(text, '\n'))
            rc = fail(r, item,
                      "%s: a folder's name with a line end in it is not allowed",
                      key->key);
        else
            rc = hf__option_value("path", key->key, text, 0,
                                  place(r, list->items[i], &where), r->file, &one,
                                  r->err);
        if (rc == HF_OK) {
            hf__buf_adds(&joined, i ? "\n" : "");
            hf__buf_adds(&joined, one);
        }
        free(one);
    }
    hf__buf_free(&where);
    if (rc == HF_OK && !(*ret = joined.len ? strdup(joined.ptr) : strdup("")))
        rc = no_memory(r);
    hf__buf_free(&joined);
    return rc;
}

/* The checked value of KEY; *ret NULL for a null, which means unset. */
static int
key_value(struct reading *r, const struct hf__config_key *key,
          const struct hf__yaml_node *node, char **ret)
{
    const struct hf__yaml_node *at = hf__yaml_real(node);
    struct hf__buf where = {0};
    int rc;

    if (at->tagged)
        return fail(r, node, "%s: a YAML tag is not allowed here", key->key);
    if (hf__yaml_is_null(node) && strncmp(key->type, "int:", 4) == 0) {
        *ret = NULL;
        return HF_OK;
    }
    if (strcmp(key->type, "paths") == 0)
        return paths_value(r, key, node, ret);
    place(r, node, &where);
    if (at->kind != HF__YAML_SCALAR || hf__yaml_is_null(node))
        rc = hf__option_refuse(key->type, key->key, hf__yaml_kind_name(node), where.ptr,
                               r->file, r->err);
    else if (strlen(at->text) != at->len)
        rc = hf__option_refuse(key->type, key->key, "a text with a NUL in it",
                               where.ptr, r->file, r->err);
    else
        rc = hf__option_value(key->type, key->key, at->text, !at->plain, where.ptr,
                              r->file, ret, r->err);
    hf__buf_free(&where);
    return rc;
}

static int
set_known(struct reading *r, struct hf__config_entry *entry,
          const struct hf__config_key *key, const struct hf__yaml_node *at,
          const struct hf__yaml_node *node)
{
    char *value = NULL;
    int rc;

    if (entry->key)
        return fail(r, at, "%s stands twice (first on line %d); which one counts?",
                    key->key, entry->line);
    rc = key_value(r, key, node, &value);
    return rc == HF_OK ? entry_set(r, entry, key->key, node, value) : rc;
}

static int
merge_key(struct reading *r, const struct hf__yaml_node *key, const char *section)
{
    return fail(r, key,
                "%s: a merge key ('<<') is not resolved here; write the keys out",
                section);
}

static int
database_section(struct reading *r, const struct hf__yaml_node *map)
{
    size_t i;
    int rc = HF_OK;

    for (i = 0; i + 1 < map->n && rc == HF_OK; i += 2) {
        const char *name = hf__yaml_key(map->items[i]);
        struct hf__buf full = {0};
        int k;

        if (name && strcmp(name, "<<") == 0)
            return merge_key(r, map->items[i], "database");
        hf__buf_addf(&full, "database.%s", name ? name : "");
        k = full.failed ? -1 : hf__config_key_index(full.ptr);
        hf__buf_free(&full);
        if (!name)
            rc = fail(r, map->items[i], "database: a key must be a name");
        else if (k < 0)
            rc = unknown_key(r, map->items[i], "database", name);
        else
            rc = set_known(r, &r->out->known[k], &hf__config_keys[k], map->items[i],
                           map->items[i + 1]);
    }
    return rc;
}

static void
near_miss_info(struct reading *r, const struct hf__yaml_node *at, const char *name,
               const char *near)
{
    if (r->host && near)
        r->host->log(
            r->host->ctx, HF_LOG_INFO, "config_near_miss", r->file,
            "%s:%d:%d: '%s' is none of Holdfast's keys and ignored (did you mean "
            "'%s'?)",
            r->file, at->line, at->column, name, near);
}

static int
sessions_section(struct reading *r, const struct hf__yaml_node *map)
{
    static const struct hf__config_key pool = {"sessions.read_pool_max", "int:1..64",
                                               ""};
    size_t i;
    int rc = HF_OK;

    for (i = 0; i + 1 < map->n && rc == HF_OK; i += 2) {
        const char *name = hf__yaml_key(map->items[i]), *list[64];
        const struct hf__yaml_node *target = map->items[i];

        if (!name)
            continue;
        if (strcmp(name, "<<") == 0)
            rc = merge_key(r, target, "sessions");
        else if (strcmp(name, "read_pool_max") == 0)
            rc = set_known(r, &r->out->pool, &pool, target, map->items[i + 1]);
        else if (strcmp(name, "index") == 0 ||
                 strcmp(name, "max_export_messages") == 0) {
            int k = hf__config_key_index(
                name[0] == 'i' ? "sessions.index" : "sessions.max_export_messages");
            rc = set_known(r, &r->out->known[k], &hf__config_keys[k], target,
                           map->items[i + 1]);
        } else {
            names_below("sessions", list, 64);
            near_miss_info(r, target, name, hf__near_miss(name, list));
        }
    }
    return rc;
}

static int
backend_option(struct reading *r, const char *backend, const struct hf__yaml_node *at,
               const struct hf__yaml_node *node)
{
    const char *name = hf__yaml_key(at);
    struct hf__config_entry *list;
    struct hf__buf key = {0};
    char *value = NULL;
    int rc = HF_OK;
    size_t i;

    if (!name || !name[0])
        return fail(r, at, "backends.%s: a key must be a name", backend);
    if (strcmp(name, "<<") == 0)
        return merge_key(r, at, "backends");
    if (r->out->n_backends == MAX_OPTIONS)
        return fail(r, at, "backends: more than %d options", MAX_OPTIONS);
    hf__buf_addf(&key, "backends.%s.%s", backend, name);
    if (key.failed)
        return no_memory(r);
    for (i = 0; i < r->out->n_backends && rc == HF_OK; i++)
        if (strcmp(r->out->backends[i].key, key.ptr) == 0)
            rc = fail(r, at, "%s stands twice (first on line %d); which one counts?",
                      key.ptr, r->out->backends[i].line);
    if (rc == HF_OK &&
        (hf__yaml_real(node)->kind != HF__YAML_SCALAR || hf__yaml_real(node)->tagged))
        rc =
            fail(r, node, "%s: found %s, allowed: one plain value", key.ptr,
                 hf__yaml_real(node)->tagged ? "a YAML tag" : hf__yaml_kind_name(node));
    if (rc == HF_OK && strlen(hf__yaml_real(node)->text) != hf__yaml_real(node)->len)
        rc = fail(r, node, "%s: found a text with a NUL in it", key.ptr);
    if (rc == HF_OK && !hf__yaml_is_null(node) &&
        !(value = strdup(hf__yaml_real(node)->text)))
        rc = no_memory(r);
    if (rc == HF_OK) {
        list = realloc(r->out->backends, (r->out->n_backends + 1) * sizeof *list);
        if (list) {
            r->out->backends = list;
            memset(&list[r->out->n_backends], 0, sizeof *list);
            rc = entry_set(r, &list[r->out->n_backends++], key.ptr, node, value);
        } else {
            free(value);
            rc = no_memory(r);
        }
    }
    hf__buf_free(&key);
    return rc;
}

static int
backends_section(struct reading *r, const struct hf__yaml_node *map)
{
    size_t i, k;
    int rc = HF_OK;

    if (map->n > 2 * MAX_BACKENDS)
        return fail(r, map, "backends: more than %d backends", MAX_BACKENDS);
    for (i = 0; i + 1 < map->n && rc == HF_OK; i += 2) {
        const struct hf__yaml_node *options = hf__yaml_real(map->items[i + 1]);
        const char *name = hf__yaml_key(map->items[i]), *other;

        if (name && strcmp(name, "<<") == 0)
            return merge_key(r, map->items[i], "backends");
        if (!name || !hf__backend_name_ok(name))
            return fail(
                r, map->items[i],
                "backends: a backend's name is allowed here (a to z, 0 to 9 and "
                "'_', a letter first)");
        for (k = 0; k < i; k += 2) {
            other = hf__yaml_key(map->items[k]);
            if (other && strcmp(other, name) == 0)
                return fail(r, map->items[i],
                            "backends.%s stands twice (first on line %d); which one "
                            "counts?",
                            name, map->items[k]->line);
        }
        if (hf__yaml_is_null(options))
            continue;
        if (options->kind != HF__YAML_MAP)
            return fail(r, map->items[i + 1],
                        "backends.%s: found %s, allowed: the backend's options, one "
                        "'key: value' a line",
                        name, hf__yaml_kind_name(options));
        for (k = 0; k + 1 < options->n && rc == HF_OK; k += 2)
            rc = backend_option(r, name, options->items[k], options->items[k + 1]);
    }
    return rc;
}

static const char *const section_names[] = {"database", "sessions", "backends", NULL};

static int
section_index(const char *name)
{
    int i;

    for (i = 0; name && section_names[i]; i++)
        if (strcmp(name, section_names[i]) == 0)
            return i;
    return -1;
}

/* A merge at the top could bring in a section of ours, which must not go unseen. */
static int
merges_section(const struct hf__yaml_node *node)
{
    size_t i;

    node = hf__yaml_real(node);
    for (i = 0; node->kind == HF__YAML_LIST && i < node->n; i++)
        if (hf__yaml_real(node->items[i])->kind == HF__YAML_MAP &&
            merges_section(node->items[i]))
            return 1;
    for (i = 0; node->kind == HF__YAML_MAP && i + 1 < node->n; i += 2) {
        const char *name = hf__yaml_key(node->items[i]);

        if (section_index(name) >= 0)
            return 1;
        if (name && strcmp(name, "<<") == 0 && merges_section(node->items[i + 1]))
            return 1;
    }
    return 0;
}

static int
top_level(struct reading *r, const struct hf__yaml_node *root)
{
    static int (*const read[])(struct reading *, const struct hf__yaml_node *) = {
        database_section, sessions_section, backends_section};
    const struct hf__yaml_node *seen[3] = {NULL};
    int rc = HF_OK, s;
    size_t i;

    if (!root || hf__yaml_is_null(root))
        return HF_OK;
    if (root->kind != HF__YAML_MAP)
        return fail(r, root, "found %s, allowed: sections, one 'name:' a line",
                    hf__yaml_kind_name(root));
    for (i = 0; i + 1 < root->n && rc == HF_OK; i += 2) {
        const struct hf__yaml_node *at = root->items[i], *value = root->items[i + 1];
        const char *name = hf__yaml_key(at);

        s = section_index(name);
        if (s < 0) {
            if (name && strcmp(name, "<<") == 0 && merges_section(value))
                return merge_key(r, at, "database, sessions and backends");
            if (name)
                near_miss_info(r, at, name, hf__near_miss(name, section_names));
            continue;
        }
        if (seen[s])
            return fail(r, at,
                        "the section '%s' stands twice (first on line %d); which "
                        "one counts?",
                        name, seen[s]->line);
        seen[s] = at;
        if (hf__yaml_is_null(value)) /* every line below it is a comment */
            continue;
        if (hf__yaml_real(value)->kind != HF__YAML_MAP)
            return fail(r, value,
                        "%s: found %s, allowed: keys, one 'key: value' a line", name,
                        hf__yaml_kind_name(value));
        rc = read[s](r, hf__yaml_real(value));
    }
    return rc;
}

int
hf__config_file_read(const char *path, const struct hf_host *host,
                     struct hf__config_file *ret, struct hf_error *err)
{
    struct hf__config_file out = {0};
    struct hf__yaml yaml = {0};
    struct reading r = {path, host, &out, err};
    char *text = NULL;
    size_t len = 0, n = 0;
    int rc;

    while (hf__config_keys[n].key)
        n++;
    out.known = calloc(n, sizeof *out.known);
    if (!out.known)
        return no_memory(&r);
    rc = hf__config_text(path, &text, &len, err);
    if (rc == HF_OK && text)
        rc = hf__yaml_parse(path, text, len, &yaml, err);
    if (rc == HF_OK && text)
        rc = top_level(&r, yaml.root);
    hf__yaml_free(&yaml);
    free(text);
    if (rc == HF_OK)
        *ret = out;
    else
        hf__config_file_free(&out);
    return rc;
}

void
hf__config_entry_clear(struct hf__config_entry *entry)
{
    free(entry->key);
    free(entry->value);
    free(entry->file);
    memset(entry, 0, sizeof *entry);
}

void
hf__config_file_free(struct hf__config_file *file)
{
    size_t i;

    for (i = 0; file->known && hf__config_keys[i].key; i++)
        hf__config_entry_clear(&file->known[i]);
    for (i = 0; i < file->n_backends; i++)
        hf__config_entry_clear(&file->backends[i]);
    hf__config_entry_clear(&file->pool);
    free(file->known);
    free(file->backends);
    memset(file, 0, sizeof *file);
}
