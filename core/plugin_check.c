/* plugin_check.c - a module's descriptor against the rules, before anything of it is
 * registered or called: version, size, name, required callbacks, option table. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define SLOT(op) #op, offsetof(struct hf_backend, op)

static const struct hf__slot required[] = {
    {SLOT(open)},           {SLOT(close)},          {SLOT(session_put)},
    {SLOT(session_get)},    {SLOT(session_list)},   {SLOT(session_update)},
    {SLOT(session_delete)}, {SLOT(message_append)}, {SLOT(message_read)},
};
/* What every version 1 module has: all up to the last required callback. */
#define SIZE_MIN                                                                       \
    (offsetof(struct hf_backend, message_read) +                                       \
     sizeof(((struct hf_backend *)0)->message_read))
#define OPTIONS_MAX 256

static int
abi_check(const struct hf_abi *abi, size_t size_min, const char *what, const char *path,
          struct hf_error *err)
{
    if (abi->major != HF_ABI_MAJOR)
        return hf_error_set(
            err, HF_PLUGIN, path,
            "%s: %s is made for version %u.%u of the backend interface, "
            "expected %u.x (this is %u.%u); build it anew",
            path, what, abi->major, abi->minor, HF_ABI_MAJOR, HF_ABI_MAJOR,
            HF_ABI_MINOR);
    if (abi->size < size_min)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s: %s is too small: it says %lu bytes, expected at least "
                            "%lu; build it anew",
                            path, what, (unsigned long)abi->size,
                            (unsigned long)size_min);
    return HF_OK;
}

static int
key_ok(const char *key)
{
    return hf__backend_name_ok(key);
}

static int
options_check(const struct hf_option *options, const char *path, struct hf_error *err)
{
    struct hf_error why;

    for (size_t i = 0; options && options[i].key; i++) {
        const struct hf_option *o = &options[i];
        const char *bad;
        if (i == OPTIONS_MAX)
            return hf_error_set(
                err, HF_PLUGIN, path,
                "%s: its option table has no end: expected a last entry "
                "with a NULL key among the first %d",
                path, OPTIONS_MAX);
        if (!key_ok(o->key))
            return hf_error_set(err, HF_PLUGIN, path,
                                "%s: its option %zu has the bad key '%.64s': expected "
                                "[a-z][a-z0-9_]*",
                                path, i + 1, o->key);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(options[j].key, o->key))
                return hf_error_set(err, HF_PLUGIN, path,
                                    "%s: its option table names '%s' twice", path,
                                    o->key);
        bad = o->type ? hf__option_type_bad(o->type) : "it has none";
        if (bad)
            return hf_error_set(err, HF_PLUGIN, path,
                                "%s: its option '%s' has the bad type '%.64s': %s",
                                path, o->key, o->type ? o->type : "", bad);
        if (o->fallback && hf__option_check(o, o->fallback, o->key, &why) < 0)
            return hf_error_set(err, HF_PLUGIN, path,
                                "%s: its option '%s' has a default that its own type "
                                "forbids: %s",
                                path, o->key, why.message);
    }
    return HF_OK;
}

/* Whether a module brought the callback at OFFSET.  A function pointer is read as
 * bytes: all callbacks have different types. */
static int
slot_is_set(const struct hf_backend *ops, size_t offset)
{
    static const unsigned char zero[sizeof(void *)];
    return memcmp((const char *)ops + offset, zero, sizeof zero) != 0;
}

static int
callbacks_list(struct hf__backend *ret, struct hf_error *err)
{
    size_t n = 0, k = 0;

    while (hf__optional_slots[n].name)
        n++;
    ret->callbacks = calloc(n + 1, sizeof *ret->callbacks);
    if (!ret->callbacks)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (slot_is_set(&ret->ops, hf__optional_slots[i].offset))
            ret->callbacks[k++] = hf__optional_slots[i].name;
    return HF_OK;
}

int
hf__plugin_check(const struct hf_plugin *plugin, const char *path, const char *name,
                 struct hf__backend *ret, struct hf_error *err)
{
    struct hf_backend *ops = &ret->ops;
    int rc;

    if (!plugin)
        return hf_error_set(
            err, HF_PLUGIN, path,
            "%s: holdfast_plugin_%s() returned NULL: it refuses to work "
            "with this version (%s); its own reason is in the log",
            path, name, hf_version());
    rc = abi_check(&plugin->abi, sizeof *plugin, "its descriptor", path, err);
    if (rc < 0)
        return rc;
    if (plugin->kind != HF_KIND_STORE)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is of kind %u: expected %d (a store)", path,
                            plugin->kind, HF_KIND_STORE);
    if (!plugin->ops)
        return hf_error_set(err, HF_PLUGIN, path, "%s: its table of operations is NULL",
                            path);
    memcpy(&ret->abi, plugin->ops, sizeof ret->abi);
    rc = abi_check(&ret->abi, SIZE_MIN, "its table of operations", path, err);
    if (rc < 0)
        return rc;
    hf__abi_copy(ops, sizeof *ops, plugin->ops);
    ret->kind = plugin->kind;

    if (!ops->name || strcmp(ops->name, name) != 0)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s: it calls itself '%.64s', expected '%s' as its file is "
                            "named",
                            path, ops->name ? ops->name : "", name);
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!slot_is_set(ops, required[i].offset))
            return hf_error_set(err, HF_PLUGIN, path,
                                "%s lacks the required callback %s", path,
                                required[i].name);
    rc = options_check(ops->options, path, err);
    if (rc < 0)
        return rc;
    if (!ops->version)
        ops->version = "";
    if (!ops->summary)
        ops->summary = "";
    return callbacks_list(ret, err);
}
