/* bad_null_ops.c - a descriptor without a table. */
#include "stub.h"

HF_EXTERN_C __attribute__((visibility("default")))
hf_plugin_fn holdfast_plugin_bad_null_ops;

const struct hf_plugin *
holdfast_plugin_bad_null_ops(const struct hf_host *host)
{
    static const struct hf_plugin plugin = {HF_ABI(struct hf_plugin), HF_KIND_STORE, 0,
                                            NULL};
    (void)host;
    return &plugin;
}
