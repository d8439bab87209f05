/* version.c - a backend that stamps its table with another version or size than ours;
 * built several times, with NAME, ABI_MAJOR, ABI_MINOR and ABI_SIZE.  It has eight
 * bytes more than struct hf_backend: a callback that this core does not know.  Any call
 * but the entry symbol of a refused one ends the process. */
#include <stdlib.h>

#include "stub.h"

#define NAME_OF_2(x) #x
#define NAME_OF(x) NAME_OF_2(x)
#define EXPORT(name, ops) HF_BACKEND_EXPORT(name, ops)

struct newer_backend {
    struct hf_backend ops;
    void (*added_later)(void *store);
};

static int
upkeep_is_past_the_end(void *store, uint32_t *ret_again_ms, struct hf_error *err)
{
    (void)store, (void)ret_again_ms, (void)err;
    abort(); /* the table says that it ends before this member */
}

static void
added_later(void *store)
{
    (void)store;
    abort();
}

/* The first callback that anyone calls; every other one needs its store. */
static int
version_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
             struct hf_error *err)
{
    if (ABI_MAJOR != HF_ABI_MAJOR ||
        ABI_SIZE < offsetof(struct hf_backend, message_rewind))
        abort();
    return stub_open(host, how, ret_store, err);
}

static const struct newer_backend newer = {
    {
        .abi = {ABI_MAJOR, ABI_MINOR, ABI_SIZE},
        .name = NAME_OF(NAME),
        .version = "1.0",
        .summary = "another version",
        .threads = HF_THREADS_PER_STORE,
        .open = version_open,
        .close = stub_close,
        .session_put = stub_session_put,
        .session_get = stub_session_get,
        .session_list = stub_session_list,
        .session_update = stub_session_update,
        .session_delete = stub_session_delete,
        .message_append = stub_message_append,
        .message_read = stub_message_read,
        .upkeep = ABI_SIZE < sizeof(struct hf_backend) ? upkeep_is_past_the_end : NULL,
    },
    added_later,
};
#define ops newer.ops
EXPORT(NAME, ops);
