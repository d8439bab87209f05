/* two_stores.h - what the tests of merging and of handing over share: a store of the
 * jsonl backend in a folder of its own, and what is said to it. */
#ifndef HF_TEST_TWO_STORES_H
#define HF_TEST_TWO_STORES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../support/scratch.h"
#include "private.h"

hf_plugin_fn holdfast_plugin_jsonl;

static void
host_log(void *ctx, int32_t level, const char *event, const char *path, const char *fmt,
         ...)
{
    (void)ctx, (void)level, (void)event, (void)path, (void)fmt;
}

static double
host_now(void *ctx)
{
    (void)ctx;
    return 1785000000.0;
}

static const struct hf_host host = {
    .abi = HF_ABI(struct hf_host), .log = host_log, .now = host_now};

struct fixture {
    char *dir;
    const struct hf_backend *ops;
    void *store;
};

static inline void *
store_open(const struct hf_backend *ops, const char *dir)
{
    static const struct hf_setting none[] = {{NULL, NULL}};
    struct hf_open how = HF_INIT(struct hf_open);
    struct hf_error err;
    void *store = NULL;

    how.home = how.root = dir;
    how.profile = "default";
    how.settings = how.database = none;
    assert_int_equal(ops->open(&host, &how, &store, &err), HF_OK);
    return store;
}

static inline int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->dir = scratch_make();
    f->ops = holdfast_plugin_jsonl(&host)->ops;
    f->store = store_open(f->ops, f->dir);
    *state = f;
    return 0;
}

static inline int
teardown(void **state)
{
    struct fixture *f = *state;

    f->ops->close(f->store);
    scratch_remove(f->dir);
    free(f);
    return 0;
}

static inline int
make(struct fixture *f, const char *id, const char *title)
{
    struct hf_session session = HF_INIT(struct hf_session);
    struct hf_error err;

    session.id = hf_str(id);
    session.source = hf_str("cli");
    session.title = hf_str(title);
    session.started_at = 1785000000.0;
    return f->ops->session_put(f->store, &session, HF_PUT_CREATE, &err);
}

static inline struct hf_message
message(const char *uid, const char *content, uint32_t state)
{
    struct hf_message m = HF_INIT(struct hf_message);

    m.role = hf_str("user");
    m.content = hf_str(content);
    m.uid = hf_str(uid);
    m.timestamp = 1785000001.0;
    m.token_count = HF_NO_INT;
    m.state = state;
    return m;
}

static inline int
say(struct fixture *f, void *store, const char *id, const char *uid,
    const char *content, const struct hf_field *fields, uint64_t n_fields)
{
    struct hf_message m = message(uid, content, HF_MSG_ACTIVE);
    const struct hf_message *messages[] = {&m};
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_appended ret = {0};
    struct hf_error err;

    append.session_id = hf_str(id);
    append.messages = messages;
    append.n_messages = 1;
    append.fields = fields;
    append.n_fields = n_fields;
    return f->ops->message_append(store, &append, &ret, &err);
}

static inline int
message_tell(void *ctx, const struct hf_message *m)
{
    hf__buf_addf(ctx, "%lld=%.*s%s ", (long long)m->id, (int)m->content.len,
                 m->content.ptr,
                 m->state == HF_MSG_ACTIVE      ? ""
                 : m->state == HF_MSG_COMPACTED ? "/compacted"
                                                : "/rewound");
    return 0;
}

static inline int
session_tell(void *ctx, const struct hf_session *s)
{
    hf__buf_addf(ctx, "title=%.*s messages=%lld calls=%lld tokens=%lld parent=%.*s",
                 (int)s->title.len, s->title.ptr ? s->title.ptr : "",
                 (long long)s->message_count, (long long)s->tool_call_count,
                 (long long)s->input_tokens, (int)s->parent_id.len,
                 s->parent_id.ptr ? s->parent_id.ptr : "");
    return 0;
}

static inline int
usage_tell(void *ctx, const struct hf_usage *u)
{
    hf__buf_addf(ctx, " %.*s:%lld", (int)u->model.len, u->model.ptr,
                 (long long)u->input_tokens);
    return 0;
}

/* The messages of a session in every state, a newline, and the session. */
static inline void
check(struct fixture *f, void *store, const char *name, const char *expected)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf_text id = hf_str(name);
    struct hf__buf found = {0};
    struct hf_error err;

    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND;
    assert_int_equal(
        f->ops->message_read(store, &id, &query, message_tell, &found, &err), HF_OK);
    hf__buf_adds(&found, "\n");
    assert_int_equal(
        f->ops->session_get(store, &id, HF_WANT_EXTRA, session_tell, &found, &err),
        HF_OK);
    assert_int_equal(f->ops->usage_read(store, &id, usage_tell, &found, &err), HF_OK);
    assert_string_equal(found.ptr, expected);
    hf__buf_free(&found);
}

static inline off_t
size_of(struct fixture *f, const char *name)
{
    struct stat sb;
    return stat(scratch_path(f->dir, name), &sb) ? -1 : sb.st_size;
}

#endif
