/* bad_second_call.c - its entry symbol returns garbage when called again. */
#include "stub.h"

HF_EXTERN_C __attribute__((visibility("default")))
hf_plugin_fn holdfast_plugin_bad_second_call;

const struct hf_plugin *
holdfast_plugin_bad_second_call(const struct hf_host *host)
{
    static const struct hf_backend ops = {STUB_MEMBERS("bad_second_call")};
    static const struct hf_plugin plugin = {HF_ABI(struct hf_plugin), HF_KIND_STORE, 0,
                                            &ops};
    static int calls;
    (void)host;
    return calls++ ? (const struct hf_plugin *)&calls : &plugin;
}
