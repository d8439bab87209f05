/* cmd_store.c - commands on a whole store: meta, leases, usage, state, upkeep, transfer. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>

static int
cmd_meta_get(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text key = arg_text(call, "key"), value = {NULL, 0};
    int rc = store ? hf_store_meta_get(store, &key, &value, &call->err) : HF_INVALID;

    if (!rc) {
        json_object_set_new(call->out, "value", text_write(&value));
        free((void *)(uintptr_t)value.ptr);
    }
    return rc;
}

static int
cmd_meta_set(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text key = arg_text(call, "key"), value = arg_text(call, "value");

    return store ? hf_store_meta_set(store, &key, &value, &call->err) : HF_INVALID;
}

/* lease_acquire, lease_renew, lease_release: {"name","holder","ttl","generation"}. */
static int
cmd_lease_acquire(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text name = arg_text(call, "name"), holder = arg_text(call, "holder");
    uint64_t generation = 0;
    int rc = store ? hf_store_lease_acquire(store, &name, &holder,
                                            arg_real(call, "ttl", 30), &generation,
                                            &call->err)
                   : HF_INVALID;

    if (!rc)
        json_object_set_new(call->out, "generation",
                            json_integer((json_int_t)generation));
    return rc;
}

static int
cmd_lease_renew(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text name = arg_text(call, "name"), holder = arg_text(call, "holder");

    return store ? hf_store_lease_renew(store, &name, &holder,
                                        (uint64_t)arg_int(call, "generation", 0),
                                        arg_real(call, "ttl", 30), &call->err)
                 : HF_INVALID;
}

static int
cmd_lease_release(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text name = arg_text(call, "name"), holder = arg_text(call, "holder");

    return store ? hf_store_lease_release(store, &name, &holder,
                                          (uint64_t)arg_int(call, "generation", 0),
                                          &call->err)
                 : HF_INVALID;
}

/* usage_add: {"usage":{...}}; usage_read: {"session":ID} gives {"usage":[...]}. */
static int
cmd_usage_add(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_usage usage = HF_INIT(struct hf_usage);
    int rc = store ? HF_OK : HF_INVALID;

    usage.seen_at = HF_NO_TIME;
    if (!rc)
        rc = members_read(call, json_object_get(call->in, "usage"), usage_members,
                          &usage);
    return rc ? rc : hf_store_usage_add(store, &usage, &call->err);
}

static int
usage_emit(void *ctx, const struct hf_usage *usage)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "usage"),
                     members_write(usage_members, usage), call);
}

static int
cmd_usage_read(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_text id = arg_text(call, "session");

    json_object_set_new(call->out, "usage", json_array());
    return store ? hf_store_usage_read(store, &id, usage_emit, call, &call->err)
                 : HF_INVALID;
}

static int
cmd_state(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_state state = HF_INIT(struct hf_state);
    int rc = store ? hf_store_state(store, &state, &call->err) : HF_INVALID;

    if (!rc)
        json_object_set_new(call->out, "state", members_write(state_members, &state));
    return rc;
}

static int
source_emit(void *ctx, const struct hf_text *source, uint64_t sessions)
{
    struct call *call = ctx;
    json_t *row = json_pack("[o,I]", text_write(source), (json_int_t)sessions);

    json_array_append_new(json_object_get(call->out, "by_source"), row);
    return 0;
}

static int
cmd_stats(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_stats stats = HF_INIT(struct hf_stats);
    int rc;

    json_object_set_new(call->out, "by_source", json_array());
    rc = store ? hf_store_stats(store, &stats, source_emit, call, &call->err)
               : HF_INVALID;
    if (!rc)
        json_object_set_new(call->out, "stats", members_write(stats_members, &stats));
    return rc;
}

static int
finding_emit(void *ctx, const struct hf_finding *finding)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "findings"),
                     members_write(finding_members, finding), call);
}

/* check: {"level"}; repair: {"dry_run"}; optimize: all give {"findings":[...]}. */
static int
cmd_check(struct call *call)
{
    struct hf_store *store = store_get(call);

    json_object_set_new(call->out, "findings", json_array());
    return store ? hf_store_check(store, (uint32_t)arg_int(call, "level", HF_CHECK_FULL),
                                  finding_emit, call, &call->err)
                 : HF_INVALID;
}

static int
cmd_repair(struct call *call)
{
    struct hf_store *store = store_get(call);

    json_object_set_new(call->out, "findings", json_array());
    return store ? hf_store_repair(store, (uint32_t)arg_int(call, "dry_run", 0),
                                   finding_emit, call, &call->err)
                 : HF_INVALID;
}

static int
cmd_optimize(struct call *call)
{
    struct hf_store *store = store_get(call);

    json_object_set_new(call->out, "findings", json_array());
    return store ? hf_store_optimize(store, finding_emit, call, &call->err) : HF_INVALID;
}

static int
cmd_flush(struct call *call)
{
    struct hf_store *store = store_get(call);
    return store ? hf_store_flush(store, &call->err) : HF_INVALID;
}

static int
cmd_backup(struct call *call)
{
    struct hf_store *store = store_get(call);
    return store ? hf_store_backup(store, arg_string(call, "file", ""), &call->err)
                 : HF_INVALID;
}

/* Comes from another command's thread: the store that it names must stay open. */
static int
cmd_interrupt(struct call *call)
{
    struct hf_store *store = store_get(call);

    if (!store)
        return HF_INVALID;
    hf_store_interrupt(store);
    return HF_OK;
}

static int
file_write(void *ctx, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, ctx) == len ? 0 : 99;
}

/* export: {"file","ids":[...],"since","until"}. */
static int
cmd_export(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_export_options options = HF_INIT(struct hf_export_options);
    const char *path = arg_string(call, "file", "");
    json_t *in = json_object_get(call->in, "ids");
    size_t n = json_array_size(in);
    struct hf_text *ids = call_keep(call, (n + 1) * sizeof *ids);
    FILE *file;
    int rc = store ? HF_OK : HF_INVALID;

    for (size_t i = 0; i < n && !rc; i++)
        rc = text_read(call, json_array_get(in, i), &ids[i]);
    if (rc)
        return rc;
    options.ids = ids;
    options.n_ids = n;
    options.since = arg_real(call, "since", 0);
    options.until = arg_real(call, "until", 0);
    file = fopen(path, "wb");
    if (!file)
        return hf_error_set(&call->err, HF_IO, path, "hf-driver: %s: %s", path,
                            strerror(errno));
    rc = hf_store_export_jsonl(store, &options, file_write, file, &call->err);
    fclose(file);
    return rc;
}

static int64_t
file_read(void *ctx, char *buf, size_t size, struct hf_error *err)
{
    (void)err;
    return (int64_t)fread(buf, 1, size, ctx);
}

/* import: {"file","merge"} gives {"result":{...}}. */
static int
cmd_import(struct call *call)
{
    struct hf_store *store = store_get(call);
    struct hf_import_options options = HF_INIT(struct hf_import_options);
    struct hf_import_result result = HF_INIT(struct hf_import_result);
    const char *path = arg_string(call, "file", "");
    FILE *file;
    int rc;

    if (!store)
        return HF_INVALID;
    options.name = path;
    options.merge = (uint32_t)arg_int(call, "merge", 0);
    file = fopen(path, "rb");
    if (!file)
        return hf_error_set(&call->err, HF_IO, path, "hf-driver: %s: %s", path,
                            strerror(errno));
    rc = hf_store_import_jsonl(store, &options, file_read, file, &result, &call->err);
    fclose(file);
    json_object_set_new(call->out, "result", members_write(import_members, &result));
    return rc;
}

const struct command store_commands[] = {
    {"meta_get", cmd_meta_get},
    {"meta_set", cmd_meta_set},
    {"lease_acquire", cmd_lease_acquire},
    {"lease_renew", cmd_lease_renew},
    {"lease_release", cmd_lease_release},
    {"usage_add", cmd_usage_add},
    {"usage_read", cmd_usage_read},
    {"state", cmd_state},
    {"stats", cmd_stats},
    {"check", cmd_check},
    {"repair", cmd_repair},
    {"optimize", cmd_optimize},
    {"flush", cmd_flush},
    {"backup", cmd_backup},
    {"interrupt", cmd_interrupt},
    {"export", cmd_export},
    {"import", cmd_import},
    {NULL, NULL}};
