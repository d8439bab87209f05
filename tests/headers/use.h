/* use.h - each macro and inline function of the public headers, compiled as strict C11 and
 * as C++17 by test_headers.py; never run. */
#include <holdfast/backend.h>
#include <holdfast/holdfast.h>

static int
use_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
         struct hf_error *err)
{
    struct hf_mount mount = HF_INIT(struct hf_mount);

    host->log(host->ctx, HF_LOG_INFO, "opened", how->home, "%s", how->profile);
    host->mount_classify(host->ctx, how->home, &mount);
    (void)ret_store;
    return hf_error_set(err, HF_UNSUPPORTED, how->home, "%s", hf_code_name(HF_BUSY));
}

static void
use_close(void *store)
{
    (void)store;
}

static const struct hf_option use_options[] = {{"dir", "path", NULL, "where"},
                                               {NULL, NULL, NULL, NULL}};
static const struct hf_backend use_ops = {HF_ABI(struct hf_backend),
                                          "use",
                                          "1.0",
                                          "compiles",
                                          HF_THREADS_SERIAL,
                                          HF_CAP_DURABLE,
                                          use_options,
                                          use_open,
                                          use_close,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
HF_BACKEND_EXPORT(use, use_ops);

static int
use_message(void *ctx, const struct hf_message *message)
{
    (void)ctx;
    return message->id > 0 ? 0 : 1;
}

int use_embed(struct hf_runtime *runtime);

int
use_embed(struct hf_runtime *runtime)
{
    struct hf_store_options options = HF_INIT(struct hf_store_options);
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *messages[1];
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_text id = hf_str("s1");
    struct hf_store *store = NULL;
    struct hf_error err;
    int rc;

    options.read_only = 0;
    rc = hf_store_open(runtime, &options, &store, &err);
    message.role = hf_str("user");
    message.content = hf_text("hi", 2);
    message.timestamp = HF_NO_TIME;
    messages[0] = &message;
    append.session_id = id;
    append.messages = messages;
    append.n_messages = 1;
    if (rc == HF_OK)
        rc = hf_store_append(store, &append, NULL, &err);
    if (rc == HF_OK)
        rc = hf_store_read(store, &id, NULL, use_message, NULL, &err);
    hf_store_close(&store);
    return rc;
}
