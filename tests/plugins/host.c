/* host.c - a host program that exports names which backends and their libraries use for
 * themselves, and ends when one of its own is called (field case F46).  Arguments: one
 * home after the other; prints the id of the newest session of each. */
#include <dlfcn.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int sqlite3_open_v2(const char *, void **, int, const char *);
EXPORTED int log_message(void);
EXPORTED char *hf_strdup(const char *);

static void
called(const char *name)
{
    fprintf(stderr, "the host's own %s was called\n", name);
    abort();
}

int
sqlite3_open_v2(const char *path, void **db, int flags, const char *vfs)
{
    (void)path, (void)db, (void)flags, (void)vfs;
    called("sqlite3_open_v2");
    return 1;
}

int
log_message(void)
{
    called("log_message");
    return -1;
}

char *
hf_strdup(const char *s)
{
    (void)s;
    called("hf_strdup");
    return NULL;
}

static int
on_session(void *ctx, const struct hf_session *session)
{
    (void)ctx;
    printf("%.*s\n", (int)session->id.len, session->id.ptr);
    return 1;
}

static int
one_home(const char *home, struct hf_runtime **ret_rt, struct hf_store **ret_store,
         struct hf_error *err)
{
    struct hf_runtime_options options = HF_INIT(struct hf_runtime_options);
    struct hf_session session = HF_INIT(struct hf_session);
    int rc;

    options.home = home;
    rc = hf_runtime_new(&options, ret_rt, err);
    if (rc == HF_OK)
        rc = hf_store_open(*ret_rt, NULL, ret_store, err);
    session.id = hf_str("stored");
    if (rc == HF_OK)
        rc = hf_store_session_create(*ret_store, &session, NULL, 0, err);
    if (rc == HF_OK)
        rc = hf_store_session_list(*ret_store, NULL, on_session, NULL, err);
    return rc < 0 ? rc : HF_OK;
}

int
main(int argc, char **argv)
{
    static const char *const hidden[] = {"state", "holdfast_plugin_sqlite",
                                         "holdfast_plugin_clash_1",
                                         "hf_sqlite_open_db"};
    struct hf_runtime *rts[8] = {NULL};
    struct hf_store *stores[8] = {NULL};
    struct hf_error err;
    int status = 0;

    /* All are open at the same time. */
    for (int i = 1; i < argc && i < 8; i++)
        if (one_home(argv[i], &rts[i], &stores[i], &err) < 0) {
            fprintf(stderr, "%s: %s\n", argv[i], err.message);
            status = 1;
        }
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (dlsym(RTLD_DEFAULT, hidden[i])) {
            fprintf(stderr, "%s is found through the global scope\n", hidden[i]);
            status = 1;
        }
    for (int i = 1; i < argc && i < 8; i++) {
        hf_store_close(&stores[i]);
        hf_runtime_free(&rts[i]);
    }
    return status;
}
