/* bad_symbol.c - needs a symbol that nobody defines; without RTLD_NOW it would load and
 * die at its first call. */
#include "stub.h"

int hf_test_nobody_defines_this(void);

static int
session_put(void *store, const struct hf_session *session, uint32_t mode,
            struct hf_error *err)
{
    (void)store, (void)session, (void)mode, (void)err;
    return hf_test_nobody_defines_this();
}

static const struct hf_backend ops = {
    .abi = HF_ABI(struct hf_backend),
    .name = "bad_symbol",
    .open = stub_open,
    .close = stub_close,
    .session_put = session_put,
    .session_get = stub_session_get,
    .session_list = stub_session_list,
    .session_update = stub_session_update,
    .session_delete = stub_session_delete,
    .message_append = stub_message_append,
    .message_read = stub_message_read,
};
HF_BACKEND_EXPORT(bad_symbol, ops);
