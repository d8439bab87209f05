/* bad_null_plugin.c - refuses to work with this core: returns NULL. */
#include "stub.h"

HF_EXTERN_C __attribute__((visibility("default")))
hf_plugin_fn holdfast_plugin_bad_null_plugin;

const struct hf_plugin *
holdfast_plugin_bad_null_plugin(const struct hf_host *host)
{
    host->log(host->ctx, HF_LOG_ERROR, "too_old", NULL, "needs a newer host than %u.%u",
              host->abi.major, host->abi.minor);
    return NULL;
}
