/* config.c - one resolved configuration: defaults, the root's file over them, the
 * profile's over that, key by key (SPEC 1.4). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int
no_memory(struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
}

/* What a key is without any file. */
static char *
fallback_of(const struct hf__config_key *key, const char *home)
{
    if (strcmp(key->key, "database.fallback_dir") == 0)
        return hf__path_join(home, "fallback");
    return strdup(key->fallback);
}

/* Moves FROM over TO. */
static void
move(struct hf__config_entry *to, struct hf__config_entry *from)
{
    hf__config_entry_clear(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static int
lay_backends(struct hf__config *config, struct hf__config_file *file,
             struct hf_error *err)
{
    size_t i, k;

    for (i = 0; i < file->n_backends; i++) {
        struct hf__config_entry *from = &file->backends[i], *entries;

        for (k = 0; k < config->n; k++)
            if (strcmp(config->entries[k].key, from->key) == 0)
                break;
        if (k == config->n) {
            entries = realloc(config->entries, (k + 1) * sizeof *entries);
            if (!entries)
                return no_memory(err);
            memset(&entries[k], 0, sizeof entries[k]);
            config->entries = entries;
            config->n++;
        }
        move(&config->entries[k], from);
    }
    return HF_OK;
}

/* Lays what FILE says over CONFIG.  A null takes a key back to its default, so that a
 * profile can undo what the root sets. */
static int
lay_over(struct hf__config *config, struct hf__config_file *file, const char *home,
         struct hf_error *err)
{
    int i;

    for (i = 0; hf__config_keys[i].key; i++) {
        struct hf__config_entry *from = &file->known[i], *to = &config->entries[i];
        char *value;

        if (!from->key)
            continue;
        if (from->value) {
            move(to, from);
            continue;
        }
        value = fallback_of(&hf__config_keys[i], home);
        if (!value)
            return no_memory(err);
        free(to->value);
        free(to->file);
        to->value = value;
        to->file = NULL;
        to->line = to->column = 0;
    }
    return lay_backends(config, file, err);
}

static int
make_defaults(struct hf__config *config, const char *home, struct hf_error *err)
{
    size_t n = 0, i;

    while (hf__config_keys[n].key)
        n++;
    config->entries = calloc(n, sizeof *config->entries);
    if (!config->entries)
        return no_memory(err);
    config->n = n;
    for (i = 0; i < n; i++) {
        config->entries[i].key = strdup(hf__config_keys[i].key);
        config->entries[i].value = fallback_of(&hf__config_keys[i], home);
        if (!config->entries[i].key || !config->entries[i].value)
            return no_memory(err);
    }
    return HF_OK;
}

/* Hermes' own sessions.read_pool_max counts where database.read_pool_max is absent. */
static int
lay_pool(struct hf__config *config, struct hf__config_file *file, struct hf_error *err)
{
    int i = hf__config_key_index("database.read_pool_max");
    char *key;

    if (!file->pool.value || config->entries[i].file)
        return HF_OK;
    key = strdup("database.read_pool_max");
    if (!key)
        return no_memory(err);
    move(&config->entries[i], &file->pool);
    free(config->entries[i].key);
    config->entries[i].key = key;
    return HF_OK;
}

/* HOME/sessions holds transcripts of Hermes; nothing of ours may land there. */
static int
check_fallback_dir(const struct hf__config *config, const char *home,
                   struct hf_error *err)
{
    const struct hf__config_entry *e = hf__config_find(config, "database.fallback_dir");
    char *theirs = hf__path_join(home, "sessions"), *ours = hf__path_resolve(e->value);
    size_t len;
    int rc = HF_OK;

    if (!theirs || !ours) {
        rc = no_memory(err);
    } else {
        len = strlen(theirs);
        if (strncmp(ours, theirs, len) == 0 && (ours[len] == '/' || !ours[len]))
            rc = hf_error_set(
                err, HF_CONFIG, e->file,
                "%s:%d:%d: database.fallback_dir: found '%s', which belongs "
                "to Hermes, allowed: any folder outside %s",
                e->file ? e->file : home, e->line, e->column, e->value, theirs);
    }
    free(theirs);
    free(ours);
    return rc;
}

int
hf__config_load(const char *root, const char *home, const struct hf_host *host,
                struct hf__config **ret, struct hf_error *err)
{
    struct hf__config_file first = {0}, second = {0};
    struct hf__config *config = calloc(1, sizeof *config);
    char *path = hf__path_join(root, "config.yaml");
    char *own = strcmp(root, home) == 0 ? NULL : hf__path_join(home, "config.yaml");
    int rc;

    if (!config || !path || (!own && strcmp(root, home) != 0)) {
        rc = no_memory(err);
        goto out;
    }
    config->refs = 1;
    rc = make_defaults(config, home, err);
    if (rc == HF_OK)
        rc = hf__config_file_read(path, host, &first, err);
    if (rc == HF_OK && own)
        rc = hf__config_file_read(own, host, &second, err);
    if (rc == HF_OK)
        rc = lay_over(config, &first, home, err);
    if (rc == HF_OK && own)
        rc = lay_over(config, &second, home, err);
    /* The profile's before the root's: the first one found stays. */
    if (rc == HF_OK && own)
        rc = lay_pool(config, &second, err);
    if (rc == HF_OK)
        rc = lay_pool(config, &first, err);
    if (rc == HF_OK)
        rc = check_fallback_dir(config, home, err);
    if (rc == HF_OK) {
        config->backend_explicit =
            hf__config_find(config, "database.backend")->file != NULL;
        *ret = config;
        config = NULL;
    }
out:
    if (first.known)
        hf__config_file_free(&first);
    if (second.known)
        hf__config_file_free(&second);
    if (config) {
        config->refs = 1;
        hf__config_unref(&config);
    }
    free(path);
    free(own);
    return rc;
}

struct hf__config *
hf__config_ref(struct hf__config *config)
{
    __atomic_add_fetch(&config->refs, 1, __ATOMIC_RELAXED);
    return config;
}

void
hf__config_unref(struct hf__config **config)
{
    struct hf__config *c = *config;
    size_t i;

    *config = NULL;
    if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (i = 0; i < c->n; i++)
        hf__config_entry_clear(&c->entries[i]);
    free(c->entries);
    free(c);
}

const struct hf__config_entry *
hf__config_find(const struct hf__config *config, const char *key)
{
    size_t i;

    for (i = 0; i < config->n; i++)
        if (strcmp(config->entries[i].key, key) == 0)
            return &config->entries[i];
    return NULL;
}

const char *
hf__config_get(const struct hf__config *config, const char *key)
{
    const struct hf__config_entry *entry = hf__config_find(config, key);

    return entry ? entry->value : NULL;
}

/* HF_NO_INT for a number that is not set. */
int64_t
hf__config_int(const struct hf__config *config, const char *key)
{
    const char *value = hf__config_get(config, key);

    return value && value[0] ? strtoll(value, NULL, 10) : HF_NO_INT;
}
