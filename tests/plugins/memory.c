/* memory.c - a whole backend, to be read first by whoever writes one.  It keeps what it
 * is given in memory while a store is open.  Only the required callbacks are here: the
 * core fills in the others, locks (HF_THREADS_PER_STORE), makes views and previews. */
#include <holdfast/backend.h>

#include "rows.h"

struct session {
    struct session *next; /* newest first */
    struct hf_session row;
    struct messages messages;
};
struct store {
    struct keep *all; /* every byte of it, given back when it is closed */
    struct session *sessions;
    int64_t last_id;
};

#define S(member) offsetof(struct hf_session, member)
/* The columns that can be changed; others are refused by name. */
static const struct column columns[] = {
    {"source", HF_TEXT, S(source)}, {"title", HF_TEXT, S(title)},
    {"model", HF_TEXT, S(model)}, {"parent_session_id", HF_TEXT, S(parent_id)},
    {"end_reason", HF_TEXT, S(end_reason)}, {"ended_at", HF_REAL, S(ended_at)},
    {"input_tokens", HF_INT, S(input_tokens)},
    {"output_tokens", HF_INT, S(output_tokens)}, {NULL, 0, 0}};
static const size_t session_texts[] = {
    S(id), S(source), S(title), S(model), S(parent_id), S(end_reason), S(model_config),
    S(system_prompt), S(preview), S(extra), 0};

static int
no_memory(struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
}

static int
no_session(struct hf_error *err)
{
    return hf_error_set(err, HF_NOT_FOUND, NULL, "no such session");
}

/* The link to the session of this id; to NULL, at the end, when there is none. */
static struct session **
find(struct store *st, const struct hf_text *id)
{
    struct session **at = &st->sessions;
    while (*at && !text_equal(&(*at)->row.id, id))
        at = &(*at)->next;
    return at;
}

/* Makes ROW the session's, if no other one has its title. */
static int
set(struct store *st, struct session *s, struct hf_session *row, struct hf_error *err)
{
    for (const struct session *o = st->sessions; o; o = o->next)
        if (o != s && text_equal(&o->row.title, &row->title))
            return hf_error_set(err, HF_EXISTS, NULL, "the title is that of %.*s",
                                (int)o->row.id.len, o->row.id.ptr);
    if (keep_texts(&st->all, row, &s->row, session_texts) < 0)
        return no_memory(err);
    s->row = *row;
    return HF_OK;
}

static int
memory_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
            struct hf_error *err)
{
    struct store *st = calloc(1, sizeof *st);
    (void)host, (void)how; /* read_only: the core lets no writing call through */
    if (!st)
        return no_memory(err);
    *ret_store = st;
    return HF_OK;
}

static void
memory_close(void *store)
{
    struct store *st = store;
    keep_free(&st->all);
    free(st);
}

static int
session_put(void *store, const struct hf_session *session, uint32_t mode,
            struct hf_error *err)
{
    struct store *st = store;
    struct session **at = find(st, &session->id), *s = *at, *fresh;
    struct hf_session row = *session;
    int rc;
    if (s && mode != HF_PUT_ENSURE)
        return hf_error_set(err, HF_EXISTS, NULL, "the session exists");
    if (s) { /* fill in what is NULL */
        row = s->row;
        fill_texts(&row, session, session_texts);
        return set(st, s, &row, err);
    }
    if (mode != HF_PUT_VERBATIM)
        row.message_count = row.tool_call_count = 0;
    row.last_active = row.sort_time = row.started_at;
    fresh = keep_bytes(&st->all, NULL, sizeof *fresh);
    rc = fresh ? set(st, fresh, &row, err) : no_memory(err);
    if (rc < 0)
        return rc;
    for (at = &st->sessions; *at && (*at)->row.started_at > row.started_at;)
        at = &(*at)->next;
    fresh->next = *at;
    *at = fresh;
    return HF_OK;
}

static int
session_get(void *store, const struct hf_text *id, uint32_t want, hf_session_fn *emit,
            void *ctx, struct hf_error *err)
{
    struct session *s = *find(store, id);
    (void)want; /* to give more than was asked for does no harm */
    return s ? emit(ctx, &s->row) : no_session(err);
}

/* Without HF_CAP_LIST_VIEW the core asks for all sessions, and chooses itself. */
static int
session_list(void *store, const struct hf_session_query *query, hf_session_fn *emit,
             void *ctx, struct hf_error *err)
{
    const struct session *s = ((const struct store *)store)->sessions;
    int stop = HF_OK;
    (void)query, (void)err;
    for (; s && !stop; s = s->next)
        stop = emit(ctx, &s->row);
    return stop;
}

static int
session_update(void *store, const struct hf_text *id, const struct hf_field *fields,
               uint64_t n_fields, struct hf_error *err)
{
    struct session *s = *find(store, id);
    struct hf_session row = s ? s->row : HF_INIT(struct hf_session);
    int rc = s ? row_change(&row, columns, fields, n_fields, err) : no_session(err);
    return rc < 0 ? rc : set(store, s, &row, err);
}

static int
session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
               uint64_t *ret_deleted, struct hf_error *err)
{
    struct store *st = store;
    (void)err;
    *ret_deleted = 0;
    for (uint64_t i = 0; i < n_ids; i++) {
        struct session **at = find(st, &ids[i]);
        if (*at) {
            *at = (*at)->next;
            ++*ret_deleted;
        }
    }
    return HF_OK;
}

static int
continued(const struct session *next, const struct hf_text *id, struct hf_error *err)
{
    while (next && !text_equal(&next->row.parent_id, id))
        next = next->next;
    return hf_error_set(err, HF_CONTINUED, NULL, "the session was compressed into %.*s",
                        next ? (int)next->row.id.len : 0,
                        next ? next->row.id.ptr : "");
}

/* Everything that can fail comes first; then the session takes all of it at once. */
static int
message_append(void *store, const struct hf_append *what, struct hf_appended *ret,
               struct hf_error *err)
{
    struct store *st = store;
    struct session *s = *find(st, &what->session_id);
    uint32_t verbatim = what->flags & HF_APPEND_VERBATIM;
    int64_t last_id = st->last_id;
    struct messages list;
    struct hf_session row;
    int rc;
    if (!s)
        return no_session(err);
    if (!verbatim && text_is(&s->row.end_reason, "compression"))
        return continued(st->sessions, &s->row.id, err);
    row = s->row;
    list = s->messages;
    for (uint64_t i = 0; i < what->n_messages; i++) {
        struct hf_message m = *what->messages[i];
        ret[i].id = messages_find(&list, &m.uid);
        for (struct session *o = st->sessions; o && !ret[i].id; o = o->next)
            ret[i].id = messages_find(&o->messages, &m.uid);
        snprintf(ret[i].uid, sizeof ret[i].uid, "%.*s", (int)m.uid.len,
                 m.uid.ptr ? m.uid.ptr : "");
        if (ret[i].id)
            continue; /* it is there already */
        if (!verbatim || m.id <= last_id)
            m.id = last_id + 1;
        ret[i].id = last_id = m.id;
        m.session_id = row.id;
        if (messages_add(&st->all, &list, &m) < 0)
            return no_memory(err);
        row.message_count += verbatim ? 0 : 1;
        row.tool_call_count += verbatim ? 0 : m.n_tool_calls;
        if (m.timestamp > row.last_active)
            row.last_active = m.timestamp;
    }
    rc = row_change(&row, columns, what->fields, what->n_fields, err);
    if (rc == HF_OK)
        rc = set(st, s, &row, err);
    if (rc < 0)
        return rc;
    s->messages = list;
    st->last_id = last_id;
    return HF_OK;
}

static int
message_read(void *store, const struct hf_text *session_id,
             const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
             struct hf_error *err)
{
    const struct session *s = *find(store, session_id);
    return s ? messages_read(&s->messages, query, emit, ctx) : no_session(err);
}

static const struct hf_backend memory = {
    .abi = HF_ABI(struct hf_backend),
    .name = "memory",
    .version = "1.0",
    .summary = "sessions in memory, gone when the store is closed",
    .threads = HF_THREADS_PER_STORE,
    .open = memory_open,
    .close = memory_close,
    .session_put = session_put,
    .session_get = session_get,
    .session_list = session_list,
    .session_update = session_update,
    .session_delete = session_delete,
    .message_append = message_append,
    .message_read = message_read,
};
HF_BACKEND_EXPORT(memory, memory);
