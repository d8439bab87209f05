/* call.c - what every front function does round its call of a backend: check the
 * handle, take the guard, and afterwards check that the answer keeps the contract. */
#include "internal.h"

#include <string.h>

int
hf__call_begin(struct hf__call *call, struct hf_store *store, const char *what,
               uint32_t writes, struct hf_error *err)
{
    int rc;

    if (!store)
        return hf_error_set(err, HF_INVALID, NULL, "%s: the store is NULL", what);
    rc = hf__guard_enter(store, err);
    if (rc < 0)
        return rc;
    if (writes && store->read_only) {
        hf__guard_leave(store);
        return hf_error_set(err, HF_READ_ONLY, store->home,
                            "%s: this store was opened read-only", what);
    }
    call->store = store;
    call->what = what;
    call->writes = writes;
    call->err = err ? err : &call->own;
    /* Told apart below from a text that the backend wrote. */
    call->err->code = HF_OK;
    call->err->sys_errno = 0;
    call->err->message[0] = '\0';
    call->err->path[0] = '\0';
    return HF_OK;
}

/* A text is one line, whatever a backend put there. */
static void
one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

int
hf__call_check(const char *backend, const char *what, int rc, struct hf_error *err)
{
    err->message[sizeof err->message - 1] = '\0';
    err->path[sizeof err->path - 1] = '\0';
    if (rc == HF_OK)
        return HF_OK;
    one_line(err->message);
    if (!strcmp(hf_code_name(rc), "HF_UNKNOWN")) {
        char said[256];
        memcpy(said, err->message, sizeof said - 1);
        said[sizeof said - 1] = '\0';
        return hf_error_set(err, HF_PLUGIN, NULL,
                            "backend %s: %s returned %d, which is no result code%s%s",
                            backend, what, rc, said[0] ? ": " : "", said);
    }
    if (!err->message[0])
        return hf_error_set(err, rc, NULL,
                            "backend %s: %s failed with %s and did not say why",
                            backend, what, hf_code_name(rc));
    err->code = rc;
    return rc;
}

int
hf__call_end(struct hf__call *call, int rc, int stop)
{
    hf__guard_leave(call->store);
    if (call->writes)
        hf__upkeep_wake(call->store);
    if (stop) {
        /* The walk ended because the caller wanted it to: its own value goes back. */
        if (stop < 0 && !call->err->message[0])
            hf_error_set(call->err, stop, NULL, "%s: stopped by the caller",
                         call->what);
        return stop;
    }
    return hf__call_check(call->store->backend->name, call->what, rc, call->err);
}

int
hf__abi_ok(const void *src, const char *what, struct hf_error *err)
{
    struct hf_abi abi;

    if (!src)
        return hf_error_set(err, HF_INVALID, NULL, "%s is NULL", what);
    memcpy(&abi, src, sizeof abi);
    if (abi.major != HF_ABI_MAJOR || abi.size < sizeof abi)
        return hf_error_set(err, HF_INVALID, NULL,
                            "%s was not made with HF_INIT: it says version %u.%u, "
                            "%lu bytes; expected version %u",
                            what, abi.major, abi.minor, (unsigned long)abi.size,
                            HF_ABI_MAJOR);
    return HF_OK;
}

void
hf__abi_give(void *dst, const void *src)
{
    struct hf_abi theirs, ours;

    memcpy(&theirs, dst, sizeof theirs);
    memcpy(&ours, src, sizeof ours);
    memcpy(dst, src, theirs.size < ours.size ? theirs.size : ours.size);
    memcpy(dst, &theirs, sizeof theirs);
}
