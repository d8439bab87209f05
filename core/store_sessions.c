/* store_sessions.c - the front of the session operations: check arguments, take the
 * guard, call, check the answer. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* HF_OK for an id that a store can hold.  One that it cannot is no session's, so
 * looking for it is an ordinary miss. */
static int
id_findable(const struct hf_text *id, struct hf_error *err)
{
    if (!id || !id->ptr)
        return hf_error_set(err, HF_INVALID, NULL, "the session's id is NULL");
    if (hf__session_id_check(id, NULL) < 0)
        return hf_error_set(err, HF_NOT_FOUND, NULL,
                            "no session has this id: %llu bytes that no id can be",
                            (unsigned long long)id->len);
    return HF_OK;
}

/* Copies SESSION into *ret with id, source, title and times ready to be stored.  ID_BUF
 * holds a made id, *ret_title (to be freed) the clean title. */
static int
session_prepare(const struct hf_session *session, struct hf_session *ret, char *id_buf,
                size_t id_size, char **ret_title, struct hf_error *err)
{
    int rc = hf__abi_ok(session, "struct hf_session", err);

    if (rc < 0)
        return rc;
    hf__abi_copy(ret, sizeof *ret, session);
    if (!ret->id.ptr) {
        hf__session_id_make(id_buf, id_size);
        ret->id = hf_str(id_buf);
    } else {
        rc = hf__session_id_check(&ret->id, err);
        if (rc < 0)
            return rc;
    }
    if (!ret->source.ptr)
        ret->source = hf_str("holdfast");
    if (ret->title.ptr) {
        rc = hf__title_clean(&ret->title, ret_title, err);
        if (rc < 0)
            return rc;
        ret->title = hf_str(*ret_title);
    }
    /* A zeroed struct means "not given" here: no session began in 1970. */
    ret->started_at =
        hf__time_or_now(ret->started_at == 0 ? HF_NO_TIME : ret->started_at);
    if (!ret->end_reason.ptr && ret->ended_at == 0)
        ret->ended_at = HF_NO_TIME;
    else if (!isnan(ret->ended_at))
        ret->ended_at = hf__time_or_now(ret->ended_at);
    return HF_OK;
}

static int
session_put(struct hf_store *store, const struct hf_session *session, uint32_t mode,
            const char *what, char *ret_id, size_t id_size, struct hf_error *err)
{
    struct hf__call call;
    struct hf_session mine;
    char made[48], *title = NULL;
    int rc = session_prepare(session, &mine, made, sizeof made, &title, err);

    if (rc == HF_OK && ret_id && id_size <= mine.id.len)
        rc = hf_error_set(err, HF_INVALID, NULL,
                          "%s: the buffer for the id has %zu bytes, %llu are needed",
                          what, id_size, (unsigned long long)mine.id.len + 1);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, what, 1, err);
    if (rc == HF_OK) {
        rc = HF__OP(store, session_put, &mine, mode, call.err);
        rc = hf__call_end(&call, rc, 0);
    }
    if (rc == HF_OK && ret_id) {
        memcpy(ret_id, mine.id.ptr, mine.id.len);
        ret_id[mine.id.len] = '\0';
    }
    free(title);
    return rc;
}

int
hf_store_session_create(struct hf_store *store, const struct hf_session *session,
                        char *ret_id, size_t id_size, struct hf_error *err)
{
    return session_put(store, session, HF_PUT_CREATE, "create a session", ret_id,
                       id_size, err);
}

int
hf_store_session_ensure(struct hf_store *store, const struct hf_session *session,
                        struct hf_error *err)
{
    int rc = hf__abi_ok(session, "struct hf_session", err);

    if (rc < 0)
        return rc;
    if (session->abi.size < offsetof(struct hf_session, source) || !session->id.ptr)
        return hf_error_set(err, HF_INVALID, NULL, "ensure a session: it has no id");
    return session_put(store, session, HF_PUT_ENSURE, "ensure a session", NULL, 0, err);
}

int
hf_store_session_get(struct hf_store *store, const struct hf_text *id, uint32_t want,
                     hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__relay relay = {.emit.session = emit, .ctx = ctx};
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "get a session: emit is NULL");
    rc = id_findable(id, err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "get a session", 0, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, session_get, id, want, hf__relay_session, &relay, call.err);
    if (rc == HF_OK && !relay.seen && !relay.stop)
        rc = hf_error_set(call.err, HF_PLUGIN, NULL,
                          "backend %s: get a session succeeded without giving one",
                          store->backend->name);
    return hf__call_end(&call, rc, relay.stop);
}

int
hf_store_session_list(struct hf_store *store, const struct hf_session_query *query,
                      hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__relay relay = {.emit.session = emit, .ctx = ctx};
    struct hf_session_query mine = HF_INIT(struct hf_session_query);
    struct hf__call call;
    int rc;

    if (!emit)
        return hf_error_set(err, HF_INVALID, NULL, "list sessions: emit is NULL");
    if (query) {
        rc = hf__abi_ok(query, "struct hf_session_query", err);
        if (rc < 0)
            return rc;
        hf__abi_copy(&mine, sizeof mine, query);
    }
    rc = hf__call_begin(&call, store, "list sessions", 0, err);
    if (rc < 0)
        return rc;
    if (store->backend->ops.caps & HF_CAP_LIST_VIEW)
        rc = HF__OP(store, session_list, &mine, hf__relay_session, &relay, call.err);
    else
        rc = hf__list_view(store, &mine, hf__relay_session, &relay, call.err);
    return hf__call_end(&call, rc, relay.stop);
}

/* Checks FIELDS as far as it can be done without the store; a title among them is
 * cleaned, into *ret_title and *ret_fields (both to be freed; NULL: nothing changed).
 */
static int
fields_prepare(const struct hf_field *fields, uint64_t n, struct hf_field **ret_fields,
               char **ret_title, struct hf_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        const struct hf_field *f = &fields[i];
        int rc;
        if (!f->name || !f->name[0])
            return hf_error_set(err, HF_INVALID, NULL, "change %llu has no field name",
                                (unsigned long long)i + 1);
        if (!strcmp(f->name, "id"))
            return hf_error_set(err, HF_INVALID, NULL, "a session's id never changes");
        if (f->op != HF_FIELD_SET && f->op != HF_FIELD_SET_IF_NULL &&
            f->op != HF_FIELD_ADD)
            return hf_error_set(err, HF_INVALID, NULL, "%s: %u is no way to change it",
                                f->name, f->op);
        if (f->type != HF_NULL && f->type != HF_INT && f->type != HF_REAL &&
            f->type != HF_TEXT)
            return hf_error_set(err, HF_INVALID, NULL, "%s: %u is no type of value",
                                f->name, f->type);
        if (f->op == HF_FIELD_ADD && f->type != HF_INT && f->type != HF_REAL)
            return hf_error_set(err, HF_INVALID, NULL, "%s: only a number can be added",
                                f->name);
        if (f->type == HF_TEXT && !f->text.ptr)
            return hf_error_set(err, HF_INVALID, NULL,
                                "%s: its text is NULL (HF_NULL is the type for that)",
                                f->name);
        if (f->type == HF_TEXT && f->text.len > HF_MAX_MESSAGE)
            return hf_error_set(err, HF_TOO_BIG, NULL,
                                "%s: %llu bytes are more than a field may have (%u)",
                                f->name, (unsigned long long)f->text.len,
                                HF_MAX_MESSAGE);
        if (strcmp(f->name, "title") != 0 || f->type != HF_TEXT)
            continue;
        if (*ret_fields)
            return hf_error_set(err, HF_INVALID, NULL, "title is changed twice");
        rc = hf__title_clean(&f->text, ret_title, err);
        if (rc < 0)
            return rc;
        *ret_fields = malloc(n * sizeof **ret_fields);
        if (!*ret_fields)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        memcpy(*ret_fields, fields, n * sizeof **ret_fields);
        (*ret_fields)[i].type = *ret_title ? HF_TEXT : HF_NULL;
        (*ret_fields)[i].text = hf_str(*ret_title);
    }
    return HF_OK;
}

int
hf_store_session_update(struct hf_store *store, const struct hf_text *id,
                        const struct hf_field *fields, uint64_t n_fields,
                        struct hf_error *err)
{
    struct hf__call call;
    struct hf_field *own = NULL;
    char *title = NULL;
    int rc;

    if (n_fields && !fields)
        return hf_error_set(err, HF_INVALID, NULL, "change a session: fields is NULL");
    rc = id_findable(id, err);
    if (rc == HF_OK)
        rc = fields_prepare(fields, n_fields, &own, &title, err);
    if (rc == HF_OK)
        rc = hf__call_begin(&call, store, "change a session", 1, err);
    if (rc == HF_OK) {
        rc = HF__OP(store, session_update, id, own ? own : fields, n_fields, call.err);
        rc = hf__call_end(&call, rc, 0);
    }
    free(own);
    free(title);
    return rc;
}

int
hf_store_session_rename(struct hf_store *store, const struct hf_text *id,
                        const struct hf_text *title, struct hf_error *err)
{
    struct hf_field field = {.name = "title", .op = HF_FIELD_SET, .type = HF_NULL};

    if (title && title->ptr) {
        field.type = HF_TEXT;
        field.text = *title;
    }
    return hf_store_session_update(store, id, &field, 1, err);
}

int
hf_store_session_end(struct hf_store *store, const struct hf_text *id,
                     const struct hf_text *reason, struct hf_error *err)
{
    /* The first reason wins because both are set only where there is none. */
    struct hf_field fields[] = {
        {.name = "ended_at",
         .op = HF_FIELD_SET_IF_NULL,
         .type = HF_REAL,
         .d = hf__now()},
        {.name = "end_reason", .op = HF_FIELD_SET_IF_NULL, .type = HF_TEXT},
    };

    if (!reason || !reason->ptr || !reason->len)
        return hf_error_set(err, HF_INVALID, NULL,
                            "end a session: the reason is empty");
    fields[1].text = *reason;
    return hf_store_session_update(store, id, fields, 2, err);
}

int
hf_store_session_reopen(struct hf_store *store, const struct hf_text *id,
                        struct hf_error *err)
{
    static const struct hf_field fields[] = {
        {.name = "ended_at", .op = HF_FIELD_SET, .type = HF_NULL},
        {.name = "end_reason", .op = HF_FIELD_SET, .type = HF_NULL},
    };

    return hf_store_session_update(store, id, fields, 2, err);
}

int
hf_store_session_delete(struct hf_store *store, const struct hf_text *ids,
                        uint64_t n_ids, uint64_t *ret_deleted, struct hf_error *err)
{
    struct hf__call call;
    uint64_t deleted = 0;
    int rc;

    if (n_ids && !ids)
        return hf_error_set(err, HF_INVALID, NULL, "delete sessions: ids is NULL");
    for (uint64_t i = 0; i < n_ids; i++)
        if (!ids[i].ptr)
            return hf_error_set(err, HF_INVALID, NULL,
                                "delete sessions: an id is NULL");
    rc = hf__call_begin(&call, store, "delete sessions", 1, err);
    if (rc < 0)
        return rc;
    rc = n_ids ? HF__OP(store, session_delete, ids, n_ids, &deleted, call.err) : HF_OK;
    rc = hf__call_end(&call, rc, 0);
    if (rc == HF_OK && ret_deleted)
        *ret_deleted = deleted;
    return rc;
}
