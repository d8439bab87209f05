/* failover_back.c - what a degraded store writes, as its fallback does it (SPEC 5.2): a
 * session is copied there before anything of it changes, so that its file tells all
 * that the merge needs. */
#include "failover_back.h"

#include <string.h>

/* What the fallback cannot do for a store that is coming back. */
int
hf__back_not_now(struct hf_store *store, const char *what, struct hf_error *err)
{
    return hf_error_set(err, HF_BUSY, store->failover->dir,
                        "%s: not while the store is degraded; try again when it has "
                        "recovered (%.600s)",
                        what, store->failover->reason);
}

/* ---- sessions ---- */

struct bring {
    struct hf_store *store;
    struct hf_error *err;
    int rc;
};

static int
no_messages(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    (void)ctx, (void)emit, (void)emit_ctx, (void)err;
    return HF_OK;
}

static int
bring_row(void *ctx, const struct hf_session *session)
{
    struct bring *bring = ctx;
    struct hf_transfer transfer = HF_INIT(struct hf_transfer);
    struct hf_transferred done = HF_INIT(struct hf_transferred);

    transfer.session = session;
    transfer.messages = no_messages;
    bring->rc = HF__BACK(bring->store, session_merge, &transfer, &done, bring->err);
    return 0;
}

static int
ignore_row(void *ctx, const struct hf_session *session)
{
    (void)ctx, (void)session;
    return 0;
}

/* Makes sure that the fallback has the session, as the primary has it. */
static int
bring(struct hf_store *store, struct hf__primary *p, const struct hf_text *id,
      struct hf_error *err)
{
    struct bring bring = {.store = store, .err = err};
    struct hf_session session = HF_INIT(struct hf_session);
    int rc = HF__BACK(store, session_get, id, 0, ignore_row, NULL, err);

    if (rc != HF_NOT_FOUND)
        return rc;
    if (p) {
        rc = HF__AT(store, p, session_get, id, HF_WANT_EXTRA, bring_row, &bring, err);
        if (rc == HF_OK || rc == HF_NOT_FOUND)
            return rc == HF_OK ? bring.rc : rc;
    }
    /* Nobody can tell now: what is written must not be lost. */
    session.id = *id;
    (void)bring_row(&bring, &session);
    return bring.rc;
}

static int
in_primary(struct hf_store *store, struct hf__primary *p, const struct hf_text *id,
           struct hf_error *err)
{
    return p && HF__AT(store, p, session_get, id, 0, ignore_row, NULL, err) == HF_OK;
}

int
hf__back_put(struct hf_store *store, struct hf__primary *p,
             const struct hf_session *session, uint32_t mode, struct hf_error *err)
{
    if (mode == HF_PUT_ENSURE) {
        int rc = in_primary(store, p, &session->id, err)
                     ? bring(store, p, &session->id, err)
                     : HF_OK;
        return rc < 0 ? rc : HF__BACK(store, session_put, session, mode, err);
    }
    if (in_primary(store, p, &session->id, err))
        return hf_error_set(err, HF_EXISTS, NULL, "there is a session %.*s already",
                            (int)(session->id.len < 200 ? session->id.len : 200),
                            session->id.ptr);
    return HF__BACK(store, session_put, session, mode, err);
}

int
hf__back_update(struct hf_store *store, struct hf__primary *p, const struct hf_text *id,
                const struct hf_field *fields, uint64_t n_fields, struct hf_error *err)
{
    int rc = bring(store, p, id, err);
    return rc < 0 ? rc : HF__BACK(store, session_update, id, fields, n_fields, err);
}

int
hf__back_delete(struct hf_store *store, struct hf__primary *p,
                const struct hf_text *ids, uint64_t n_ids, uint64_t *ret_deleted,
                struct hf_error *err)
{
    for (uint64_t i = 0; i < n_ids; i++)
        if (!p || in_primary(store, p, &ids[i], err))
            return hf__back_not_now(store, "delete a session", err);
    return HF__BACK(store, session_delete, ids, n_ids, ret_deleted, err);
}

/* ---- messages ---- */

int
hf__back_append(struct hf_store *store, struct hf__primary *p,
                const struct hf_append *what, struct hf_appended *ret,
                struct hf_error *err)
{
    int rc = HF_NOT_FOUND;

    /* Another process may merge the file between the two. */
    for (int i = 0; i < 10 && rc == HF_NOT_FOUND; i++) {
        rc = bring(store, p, &what->session_id, err);
        if (rc < 0)
            return rc;
        rc = HF__BACK(store, message_append, what, ret, err);
    }
    for (uint64_t i = 0; rc == HF_OK && i < what->n_messages; i++) {
        ret[i].id += HF__FALLBACK_IDS;
        ret[i].in_fallback = 1;
    }
    return rc;
}

int
hf__back_states(struct hf_store *store, struct hf__primary *p, const struct hf_text *id,
                const struct hf__states *what, uint64_t *ret_count,
                struct hf_error *err)
{
    int rc = bring(store, p, id, err);
    return rc < 0 ? rc : hf__states_change(store, id, what, ret_count, err);
}

/* The ids of the summaries, by their uids. */
struct found {
    const struct hf_message *const *summary;
    uint64_t n;
    struct hf_appended *ret;
};

static int
summary_find(void *ctx, const struct hf_message *m)
{
    struct found *found = ctx;

    for (uint64_t i = 0; i < found->n; i++) {
        const struct hf_text *uid = &found->summary[i]->uid;
        if (m->uid.ptr && m->uid.len == uid->len && uid->len < HF_UID_SIZE &&
            !memcmp(m->uid.ptr, uid->ptr, (size_t)uid->len)) {
            found->ret[i].id = m->id;
            memcpy(found->ret[i].uid, uid->ptr, (size_t)uid->len);
            found->ret[i].in_fallback = 1;
        }
    }
    return 0;
}

int
hf__back_compact(struct hf_store *store, struct hf__primary *p,
                 const struct hf_text *id, const struct hf__states *what,
                 struct hf_appended *ret, struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct found found = {what->more, what->n_more, ret};
    int rc = hf__back_states(store, p, id, what, NULL, err);

    query.states = HF_MSG_ACTIVE;
    return rc < 0 ? rc : hf__union_read(store, id, &query, summary_find, &found, err);
}

/* ---- usage ---- */

int
hf__back_usage(struct hf_store *store, struct hf__primary *p,
               const struct hf_usage *delta, struct hf_error *err)
{
    int rc = bring(store, p, &delta->session_id, err);
    return rc < 0 ? rc : HF__BACK(store, usage_add, delta, err);
}
