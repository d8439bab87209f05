/* store_resolve.c - the session that a person means by an id or the beginning of one.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define CANDIDATES 5

struct found {
    char *ids[CANDIDATES + 1];
    uint64_t lens[CANDIDATES + 1];
    int n, no_memory;
};

static int
on_session(void *ctx, const struct hf_session *session)
{
    struct found *found = ctx;

    if (found->n > CANDIDATES)
        return 0; /* a backend that does not keep to the limit */
    found->ids[found->n] = hf__text_dup(&session->id);
    if (!found->ids[found->n]) {
        found->no_memory = 1;
        return 1;
    }
    found->lens[found->n++] = session->id.len;
    return 0;
}

/* A miss says how to ask elsewhere, and never looks there. */
static int
miss(const struct hf_store *store, const struct hf_text *id, struct hf_error *err)
{
    struct hf__buf shown = {0};
    int rc;

    for (uint64_t i = 0; i < id->len && i < 80; i++)
        hf__buf_addc(&shown, (unsigned char)id->ptr[i] < 0x20 || id->ptr[i] == 0x7f
                                 ? '?'
                                 : id->ptr[i]);
    rc = hf_error_set(err, HF_NOT_FOUND, NULL,
                      "no session '%s'%s in profile %s; to ask another profile, use "
                      "--profile NAME, or @session:PROFILE/ID as the id",
                      shown.ptr ? shown.ptr : "", id->len > 80 ? "..." : "",
                      store->profile);
    hf__buf_free(&shown);
    return rc;
}

static int
ambiguous(const struct found *found, const struct hf_text *id, struct hf_error *err)
{
    struct hf__buf text = {0};

    hf__buf_addf(&text, "'%.*s' is the beginning of more than one id:", (int)id->len,
                 id->ptr);
    for (int i = 0; i < found->n && i < CANDIDATES; i++)
        hf__buf_addf(&text, "%s %s", i ? "," : "", found->ids[i]);
    if (found->n > CANDIDATES)
        hf__buf_adds(&text, " and more");
    hf_error_set(err, HF_INVALID, NULL, "%s", text.failed ? "ambiguous id" : text.ptr);
    hf__buf_free(&text);
    return HF_INVALID;
}

/* The id without "@session:PROFILE/", which must name this very profile. */
static int
own_id(const struct hf_store *store, const struct hf_text *arg, struct hf_text *ret_id,
       struct hf_error *err)
{
    char *profile = NULL;
    int rc = hf__session_address_parse(arg, &profile, ret_id, err);

    if (rc == HF_OK && profile && strcmp(profile, store->profile) != 0)
        rc = hf_error_set(err, HF_INVALID, NULL,
                          "the address names profile %s, this store is that of %s",
                          profile, store->profile);
    free(profile);
    return rc;
}

int
hf_store_session_resolve(struct hf_store *store, const struct hf_text *arg,
                         struct hf_text *ret_id, struct hf_error *err)
{
    struct hf_session_query query = HF_INIT(struct hf_session_query);
    struct hf_error own;
    struct found found = {0};
    struct hf_text id;
    int rc;

    if (!err)
        err = &own;
    if (!store || !arg || !arg->ptr || !ret_id)
        return hf_error_set(err, HF_INVALID, NULL,
                            "find a session: an argument is NULL");
    rc = own_id(store, arg, &id, err);
    if (rc < 0)
        return rc;
    if (hf__session_id_check(&id, NULL) < 0)
        return miss(store, &id, err);
    rc = hf_store_session_get(store, &id, 0, on_session, &found, err);
    if (rc == HF_NOT_FOUND) {
        query.view = HF_VIEW_ALL;
        query.limit = CANDIDATES + 1;
        query.id_prefix = id;
        rc = hf_store_session_list(store, &query, on_session, &found, err);
        if (rc == HF_OK && found.n == 0)
            rc = miss(store, &id, err);
        else if (rc == HF_OK && found.n > 1)
            rc = ambiguous(&found, &id, err);
    }
    if (found.no_memory)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (rc == HF_OK) {
        *ret_id = hf_text(found.ids[0], found.lens[0]);
        found.ids[0] = NULL;
    }
    for (int i = 0; i < found.n; i++)
        free(found.ids[i]);
    return rc;
}
