/* clash.c - defines global names that others define too (field case F46): built twice,
 * with NAME and VALUE, not hidden by the version script.  Its version says which one's
 * log_message() it called. */
#include "stub.h"

#define NAME_OF_2(x) #x
#define NAME_OF(x) NAME_OF_2(x)
#define EXPORT(name, ops) HF_BACKEND_EXPORT(name, ops)

__attribute__((visibility("default"))) int state = VALUE;
__attribute__((visibility("default"))) int log_message(void);

int
log_message(void)
{
    return state;
}

static int
clash_list(void *store, const struct hf_session_query *query, hf_session_fn *emit,
           void *ctx, struct hf_error *err)
{
    struct hf_session row = HF_INIT(struct hf_session);
    char id[16];

    (void)store, (void)query, (void)err;
    snprintf(id, sizeof id, "called-%d", log_message());
    row.id = hf_str(id);
    row.source = hf_str("test");
    return emit(ctx, &row);
}

static int
clash_get(void *store, const struct hf_text *id, uint32_t want, hf_session_fn *emit,
          void *ctx, struct hf_error *err)
{
    (void)id, (void)want;
    return clash_list(store, NULL, emit, ctx, err);
}

static int
clash_read(void *store, const struct hf_text *session_id,
           const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
           struct hf_error *err)
{
    (void)store, (void)session_id, (void)query, (void)emit, (void)ctx, (void)err;
    return HF_OK;
}

static const struct hf_backend ops = {
    .abi = HF_ABI(struct hf_backend),
    .name = NAME_OF(NAME),
    .version = "1.0",
    .summary = "defines what others define",
    .open = stub_open,
    .close = stub_close,
    .session_put = stub_session_put,
    .session_get = clash_get,
    .session_list = clash_list,
    .session_update = stub_session_update,
    .session_delete = stub_session_delete,
    .message_append = stub_message_append,
    .message_read = clash_read,
};
EXPORT(NAME, ops);
