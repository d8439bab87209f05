/* stub.h - callbacks that are there and do as little as they may: an empty store.  Each
 * bad_*.c takes them and breaks one thing. */
#ifndef HF_TEST_STUB_H
#define HF_TEST_STUB_H

#include <holdfast/backend.h>

static int stub_handle;

static inline int
stub_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
          struct hf_error *err)
{
    (void)host, (void)how, (void)err;
    *ret_store = &stub_handle;
    return HF_OK;
}

static inline void
stub_close(void *store)
{
    (void)store;
}

static inline int
stub_missing(struct hf_error *err)
{
    return hf_error_set(err, HF_NOT_FOUND, NULL, "no such session");
}

static inline int
stub_session_put(void *store, const struct hf_session *session, uint32_t mode,
                 struct hf_error *err)
{
    (void)store, (void)session, (void)mode, (void)err;
    return HF_OK;
}

static inline int
stub_session_get(void *store, const struct hf_text *id, uint32_t want,
                 hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    (void)store, (void)id, (void)want, (void)emit, (void)ctx;
    return stub_missing(err);
}

static inline int
stub_session_list(void *store, const struct hf_session_query *query,
                  hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    (void)store, (void)query, (void)emit, (void)ctx, (void)err;
    return HF_OK;
}

static inline int
stub_session_update(void *store, const struct hf_text *id,
                    const struct hf_field *fields, uint64_t n_fields,
                    struct hf_error *err)
{
    (void)store, (void)id, (void)fields, (void)n_fields;
    return stub_missing(err);
}

static inline int
stub_session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
                    uint64_t *ret_deleted, struct hf_error *err)
{
    (void)store, (void)ids, (void)n_ids, (void)err;
    *ret_deleted = 0;
    return HF_OK;
}

static inline int
stub_message_append(void *store, const struct hf_append *what, struct hf_appended *ret,
                    struct hf_error *err)
{
    (void)store, (void)what, (void)ret;
    return stub_missing(err);
}

static inline int
stub_message_read(void *store, const struct hf_text *session_id,
                  const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
                  struct hf_error *err)
{
    (void)store, (void)session_id, (void)query, (void)emit, (void)ctx;
    return stub_missing(err);
}

/* The members of a struct hf_backend that is right; what follows it in an initializer
 * replaces its members. */
#define STUB_MEMBERS(NAME)                                                             \
    .abi = HF_ABI(struct hf_backend), .name = NAME, .version = "1.0",                  \
    .summary = "keeps nothing", .threads = HF_THREADS_PER_STORE, .open = stub_open,    \
    .close = stub_close, .session_put = stub_session_put,                              \
    .session_get = stub_session_get, .session_list = stub_session_list,                \
    .session_update = stub_session_update, .session_delete = stub_session_delete,      \
    .message_append = stub_message_append, .message_read = stub_message_read

#endif
