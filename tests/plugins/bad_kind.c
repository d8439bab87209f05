/* bad_kind.c - a kind of plugin that this core does not know. */
#include "stub.h"

HF_EXTERN_C __attribute__((visibility("default")))
hf_plugin_fn holdfast_plugin_bad_kind;

const struct hf_plugin *
holdfast_plugin_bad_kind(const struct hf_host *host)
{
    static const struct hf_backend ops = {STUB_MEMBERS("bad_kind")};
    static const struct hf_plugin plugin = {HF_ABI(struct hf_plugin), 77, 0, &ops};
    (void)host;
    return &plugin;
}
