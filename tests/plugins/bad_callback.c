/* bad_callback.c - lacks one required callback. */
#include "stub.h"

static const struct hf_backend ops = {
    .abi = HF_ABI(struct hf_backend),
    .name = "bad_callback",
    .open = stub_open,
    .close = stub_close,
    .session_put = stub_session_put,
    .session_get = stub_session_get,
    .session_list = stub_session_list,
    .session_update = stub_session_update,
    .session_delete = NULL,
    .message_append = stub_message_append,
    .message_read = stub_message_read,
};
HF_BACKEND_EXPORT(bad_callback, ops);
