/* import_known.c - which messages a session has already.  Only 128-bit digests are
 * kept, so that a long transcript costs little; they need not withstand an attacker,
 * who could as well leave the message out of the file. */
#include <stdlib.h>
#include <string.h>

#include "import.h"

struct digest {
    uint64_t a, b;
};

struct hf__known {
    struct digest *uids, *keys; /* sorted */
    unsigned char *used;        /* keys that have been matched */
    size_t n_uids, n_keys;
    struct hf__buf uid_bytes, key_bytes; /* while they are collected */
};

static void
digest_add(struct digest *d, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++) {
        d->a = (d->a ^ p[i]) * 0x100000001B3u;
        d->b = (d->b + p[i] + 1) * 0x9E3779B97F4A7C15u;
        d->b ^= d->b >> 32;
    }
}

static void
text_digest(struct digest *d, const struct hf_text *text)
{
    uint64_t len = text->ptr ? text->len : UINT64_MAX; /* NULL differs from empty */

    digest_add(d, &len, sizeof len);
    if (text->ptr)
        digest_add(d, text->ptr, text->len);
}

static struct digest
digest_of_uid(const struct hf_message *message)
{
    struct digest d = {0xCBF29CE484222325u, 1};

    text_digest(&d, &message->uid);
    return d;
}

static struct digest
digest_of_key(const struct hf_message *message)
{
    struct digest d = {0xCBF29CE484222325u, 2};
    double t = isnan(message->timestamp) ? -1 : message->timestamp;

    text_digest(&d, &message->role);
    digest_add(&d, &t, sizeof t);
    text_digest(&d, &message->content);
    return d;
}

static int
digest_cmp(const void *a, const void *b)
{
    const struct digest *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b == y->b ? 0 : x->b < y->b ? -1 : 1;
}

static int
message_collect(void *ctx, const struct hf_message *message)
{
    struct hf__known *known = ctx;
    struct digest d = digest_of_key(message);

    hf__buf_add(&known->key_bytes, &d, sizeof d);
    if (message->uid.ptr) {
        d = digest_of_uid(message);
        hf__buf_add(&known->uid_bytes, &d, sizeof d);
    }
    return known->key_bytes.failed || known->uid_bytes.failed ? HF_NO_MEMORY : 0;
}

static int
known_read(struct hf_store *store, const struct hf_text *session_id, int inside,
           struct hf__known **ret, struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    struct hf__known *known = calloc(1, sizeof *known);
    int rc;

    if (!known)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory to merge a session");
    /* Rewound ones too: what was taken back must not come back by a merge. */
    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND;
    rc = inside ? HF__OP(store, message_read, session_id, &query, message_collect, known,
                         err)
                : hf_store_read(store, session_id, &query, message_collect, known, err);
    if (rc == HF_OK) {
        known->n_keys = known->key_bytes.len / sizeof *known->keys;
        known->n_uids = known->uid_bytes.len / sizeof *known->uids;
        known->keys = (struct digest *)(void *)hf__buf_take(&known->key_bytes);
        known->uids = (struct digest *)(void *)hf__buf_take(&known->uid_bytes);
        known->used = calloc(known->n_keys + 1, 1);
        if (!known->keys || !known->uids || !known->used)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "no memory to merge a session");
    }
    if (rc < 0) {
        hf__known_free(&known);
        return rc;
    }
    qsort(known->keys, known->n_keys, sizeof *known->keys, digest_cmp);
    qsort(known->uids, known->n_uids, sizeof *known->uids, digest_cmp);
    *ret = known;
    return HF_OK;
}

int
hf__known_has(struct hf__known *known, const struct hf_message *message)
{
    struct digest d, *found;
    size_t i;

    if (message->uid.ptr) {
        d = digest_of_uid(message);
        return bsearch(&d, known->uids, known->n_uids, sizeof d, digest_cmp) != NULL;
    }
    d = digest_of_key(message);
    found = bsearch(&d, known->keys, known->n_keys, sizeof d, digest_cmp);
    if (!found)
        return 0;
    /* The same words may have been said twice in the same instant. */
    i = (size_t)(found - known->keys);
    while (i > 0 && !digest_cmp(&known->keys[i - 1], &d))
        i--;
    for (; i < known->n_keys && !digest_cmp(&known->keys[i], &d); i++)
        if (!known->used[i]) {
            known->used[i] = 1;
            return 1;
        }
    return 0;
}

void
hf__known_free(struct hf__known **known)
{
    if (!*known)
        return;
    hf__buf_free(&(*known)->uid_bytes);
    hf__buf_free(&(*known)->key_bytes);
    free((*known)->uids);
    free((*known)->keys);
    free((*known)->used);
    free(*known);
    *known = NULL;
}

int
hf__known_read(struct hf_store *store, const struct hf_text *session_id,
               struct hf__known **ret, struct hf_error *err)
{
    return known_read(store, session_id, 0, ret, err);
}

int
hf__known_read_inside(struct hf_store *store, const struct hf_text *session_id,
                      struct hf__known **ret, struct hf_error *err)
{
    return known_read(store, session_id, 1, ret, err);
}

void
hf__message_digest(const struct hf_message *message, uint64_t ret[2])
{
    struct digest d = message->uid.ptr ? digest_of_uid(message) : digest_of_key(message);

    ret[0] = d.a;
    ret[1] = d.b;
}
