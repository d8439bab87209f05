/* storetest.h - a store over the memory backend for one test, and short ways to use it.
 */
#ifndef HF_TEST_STORETEST_H
#define HF_TEST_STORETEST_H

#include "../support/scratch.h"
#include "plugins.h"

struct storetest {
    char *home;
    struct hf_runtime *rt;
    struct hf_store *store;
    struct hf_error err;
};

static inline int
storetest_setup(void **state)
{
    struct storetest *t = calloc(1, sizeof *t);

    t->home = scratch_make();
    *state = t;
    if (plugins_open(t->home, "memory", &t->rt, NULL, &t->store, &t->err) < 0) {
        fprintf(stderr, "%s\n", t->err.message);
        return -1;
    }
    return 0;
}

static inline int
storetest_teardown(void **state)
{
    struct storetest *t = *state;

    hf_store_close(&t->store);
    hf_runtime_free(&t->rt);
    scratch_remove(t->home);
    free(t);
    return 0;
}

static inline int
storetest_create(struct storetest *t, const char *id, const char *title, double started)
{
    struct hf_session session = HF_INIT(struct hf_session);

    session.id = hf_str(id);
    session.title = hf_str(title);
    session.started_at = started;
    return hf_store_session_create(t->store, &session, NULL, 0, &t->err);
}

/* Appends one message of the user; its id, or a negative code. */
static inline int64_t
storetest_say(struct storetest *t, const char *id, const char *content, double time)
{
    struct hf_message message = HF_INIT(struct hf_message);
    const struct hf_message *messages[] = {&message};
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_appended ret;
    int rc;

    message.role = hf_str("user");
    message.content = hf_str(content);
    message.timestamp = time;
    append.session_id = hf_str(id);
    append.messages = messages;
    append.n_messages = 1;
    rc = hf_store_append(t->store, &append, &ret, &t->err);
    return rc < 0 ? rc : ret.id;
}

/* What emit callbacks collect, as text: "a b c". */
static inline int
storetest_session(void *ctx, const struct hf_session *s)
{
    hf__buf_addf(ctx, "%s%.*s", ((struct hf__buf *)ctx)->len ? " " : "", (int)s->id.len,
                 s->id.ptr);
    return 0;
}

static inline int
storetest_message(void *ctx, const struct hf_message *m)
{
    hf__buf_addf(ctx, "%s%lld", ((struct hf__buf *)ctx)->len ? " " : "",
                 (long long)m->id);
    return 0;
}

#endif
