/* bad_library.c - needs a library that no folder of the loader holds. */
#include "stub.h"

int hf_test_gone(void);

static int
open_with_library(const struct hf_host *host, const struct hf_open *how,
                  void **ret_store, struct hf_error *err)
{
    return hf_test_gone() ? stub_open(host, how, ret_store, err) : HF_IO;
}

static const struct hf_backend ops = {
    .abi = HF_ABI(struct hf_backend),
    .name = "bad_library",
    .open = open_with_library,
    .close = stub_close,
    .session_put = stub_session_put,
    .session_get = stub_session_get,
    .session_list = stub_session_list,
    .session_update = stub_session_update,
    .session_delete = stub_session_delete,
    .message_append = stub_message_append,
    .message_read = stub_message_read,
};
HF_BACKEND_EXPORT(bad_library, ops);
