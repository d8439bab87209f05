/* opening.c - a backend whose open, and some calls, go wrong in the way that its option
 * says (field case F49).  Its close counts, and ends the process when it is called more
 * often than an open succeeded. */
#include <stdlib.h>

#include "stub.h"

static const struct hf_option options[] = {
    {"how", "enum:good|first|always|no_handle|both|no_text|long_text|odd_code|positive",
     "good", "what open does"},
    {NULL, NULL, NULL, NULL},
};

static int opened, tried;

static int
opening_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
             struct hf_error *err)
{
    const char *what = "good";

    (void)host;
    for (const struct hf_setting *s = how->settings; s && s->key; s++)
        if (!strcmp(s->key, "how"))
            what = s->value;
    if (!strcmp(what, "no_handle"))
        return HF_OK;
    if (!strcmp(what, "positive"))
        return 7;
    if (!strcmp(what, "odd_code"))
        return hf_error_set(err, -1000, NULL, "a code of its own");
    if (!strcmp(what, "no_text"))
        return HF_IO;
    if (!strcmp(what, "long_text")) {
        char *text = malloc(1u << 20);
        if (text) {
            memset(text, 'x', (1u << 20) - 1);
            text[(1u << 20) - 1] = '\0';
            hf_error_set(err, HF_IO, NULL, "%s", text);
            free(text);
        }
        /* And what a careless one leaves behind: no end, and control characters. */
        memset(err->message + 5, '\n', 3);
        err->message[sizeof err->message - 1] = 'x';
        err->path[sizeof err->path - 1] = 'x';
        return HF_IO;
    }
    if (!strcmp(what, "both")) {
        *ret_store = &stub_handle;
        return hf_error_set(err, HF_IO, NULL, "an error and a handle");
    }
    if (!strcmp(what, "always") || (!strcmp(what, "first") && !tried++))
        return hf_error_set(err, HF_BUSY, NULL, "not now");
    opened++;
    *ret_store = &opened;
    return HF_OK;
}

static void
opening_close(void *store)
{
    if (store != &opened || opened-- <= 0)
        abort();
}

static const struct hf_backend ops = {
    .abi = HF_ABI(struct hf_backend),
    .name = "opening",
    .version = "1.0",
    .summary = "opens badly",
    .threads = HF_THREADS_SERIAL,
    .options = options,
    .open = opening_open,
    .close = opening_close,
    .session_put = stub_session_put,
    .session_get = stub_session_get,
    .session_list = stub_session_list,
    .session_update = stub_session_update,
    .session_delete = stub_session_delete,
    .message_append = stub_message_append,
    .message_read = stub_message_read,
};
HF_BACKEND_EXPORT(opening, ops);
