/* cmd_runtime.c - commands on runtimes, and opening and closing stores. */
#include "driver.h"

#include <stdlib.h>

int
emit_into(json_t *list, json_t *item, struct call *call)
{
    int64_t stop = arg_int(call, "stop_after", 0);

    json_array_append_new(list, item);
    return stop > 0 && (int64_t)json_array_size(list) >= stop ? 77 : 0;
}

/* runtime: {"name","home","profile","may_thread","log":false}. */
static int
cmd_runtime(struct call *call)
{
    struct hf_runtime_options options = HF_INIT(struct hf_runtime_options);
    struct hf_runtime *runtime = NULL;
    int rc;

    options.home = arg_string(call, "home", NULL);
    options.profile = arg_string(call, "profile", NULL);
    options.may_thread = (uint32_t)arg_int(call, "may_thread", 0);
    if (arg_int(call, "log", 1))
        options.log = log_collect;
    rc = hf_runtime_new(&options, &runtime, &call->err);
    if (rc)
        return rc;
    rc = runtime_put(call, arg_string(call, "name", "main"), runtime);
    if (rc) {
        hf_runtime_free(&runtime);
        return rc;
    }
    json_object_set_new(call->out, "root", json_string(hf_runtime_root(runtime)));
    json_object_set_new(call->out, "home", json_string(hf_runtime_home(runtime)));
    json_object_set_new(call->out, "profile", json_string(hf_runtime_profile(runtime)));
    return HF_OK;
}

static int
cmd_runtime_free(struct call *call)
{
    struct hf_runtime *runtime = runtime_take(call);

    if (!runtime)
        return HF_INVALID;
    hf_runtime_free(&runtime);
    return HF_OK;
}

static int
cmd_reload(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);
    return runtime ? hf_runtime_reload(runtime, &call->err) : HF_INVALID;
}

static int
config_emit(void *ctx, const char *key, const char *value, const char *source)
{
    struct call *call = ctx;
    struct hf_text v = hf_str(value), s = hf_str(source);
    json_t *row = json_object();

    json_object_set_new(row, "value", text_write(&v));
    json_object_set_new(row, "source", text_write(&s));
    json_object_set_new(json_object_get(call->out, "config"), key, row);
    return 0;
}

static int
cmd_config(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);

    json_object_set_new(call->out, "config", json_object());
    return runtime ? hf_runtime_config(runtime, arg_string(call, "profile", NULL),
                                       config_emit, call, &call->err)
                   : HF_INVALID;
}

static int
profile_emit(void *ctx, const char *name, const char *home)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "profiles"),
                     json_pack("{s:s,s:s}", "name", name, "home", home), call);
}

static int
cmd_profiles(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);

    json_object_set_new(call->out, "profiles", json_array());
    return runtime ? hf_runtime_profiles(runtime, profile_emit, call, &call->err)
                   : HF_INVALID;
}

static int
backend_emit(void *ctx, const struct hf_backend_info *info)
{
    struct call *call = ctx;
    json_t *row = json_pack("{s:s?,s:s?,s:s?,s:s?,s:i,s:i,s:i,s:i}", "name", info->name,
                            "path", info->path, "version", info->version, "error",
                            info->error, "abi_major", (int)info->abi_major, "threads",
                            (int)info->threads, "caps", (int)info->caps, "kind",
                            (int)info->kind);

    return emit_into(json_object_get(call->out, "backends"), row, call);
}

static int
cmd_backends(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);

    json_object_set_new(call->out, "backends", json_array());
    return runtime ? hf_runtime_backends(runtime, arg_string(call, "which", NULL),
                                         backend_emit, call, &call->err)
                   : HF_INVALID;
}

static int
finding_emit(void *ctx, const struct hf_finding *finding)
{
    struct call *call = ctx;
    return emit_into(json_object_get(call->out, "findings"),
                     members_write(finding_members, finding), call);
}

static int
cmd_doctor(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);
    struct hf_doctor_options options = HF_INIT(struct hf_doctor_options);

    options.all_profiles = (uint32_t)arg_int(call, "all_profiles", 0);
    options.fix = (uint32_t)arg_int(call, "fix", 0);
    options.deep = (uint32_t)arg_int(call, "deep", 0);
    json_object_set_new(call->out, "findings", json_array());
    return runtime ? hf_doctor(runtime, &options, finding_emit, call, &call->err)
                   : HF_INVALID;
}

/* open: {"store","runtime","profile","read_only","read_only_first"}. */
static int
cmd_open(struct call *call)
{
    struct hf_runtime *runtime = runtime_get(call);
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    struct hf_store *store = NULL;
    int rc;

    if (!runtime)
        return HF_INVALID;
    options.profile = arg_string(call, "profile", NULL);
    options.read_only = (uint32_t)arg_int(call, "read_only", 0);
    options.read_only_first = (uint32_t)arg_int(call, "read_only_first", 0);
    rc = hf_store_open(runtime, &options, &store, &call->err);
    if (rc)
        return rc;
    rc = store_put(call, arg_string(call, "store", "main"), store);
    if (rc) {
        hf_store_close(&store);
        return rc;
    }
    json_object_set_new(call->out, "backend", json_string(hf_store_backend(store)));
    json_object_set_new(call->out, "profile", json_string(hf_store_profile(store)));
    return HF_OK;
}

static int
cmd_close(struct call *call)
{
    struct hf_store *store = store_take(call);

    if (!store)
        return HF_INVALID;
    hf_store_close(&store);
    return HF_OK;
}

const struct command runtime_commands[] = {
    {"runtime", cmd_runtime}, {"runtime_free", cmd_runtime_free},
    {"reload", cmd_reload},   {"config", cmd_config},
    {"profiles", cmd_profiles}, {"backends", cmd_backends},
    {"doctor", cmd_doctor},   {"open", cmd_open},
    {"close", cmd_close},     {NULL, NULL}};
