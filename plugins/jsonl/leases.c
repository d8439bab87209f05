/* leases.c - named leases, one JSON record each among the key/values (SPEC 2.6).  What
 * the record means, and who may have the lease, is decided in util/lease.c. */
#include "private.h"
#include "util/lease.h"

static int
lease_change(struct hf_jsonl_store *st, json_t *meta, int *ret_write, void *ctx,
             struct hf_error *err)
{
    struct hf__lease_ask *ask = ctx;
    struct hf__buf key_buf = {0}, record = {0};
    struct hf_text key, stored;
    const json_t *found;
    int rc;

    hf__buf_adds(&key_buf, HF__LEASE_KEY);
    hf__buf_add(&key_buf, ask->name->ptr, (size_t)ask->name->len);
    key = hf_text(key_buf.ptr, key_buf.len);
    rc = key_buf.failed ? HF_NO_MEMORY : HF_OK;
    if (rc == HF_OK) {
        found = hf__jl_meta_find(meta, &key, NULL);
        stored = hf__jl_string(found);
        rc = hf__lease_decide(ask, found ? &stored : NULL, st->host->now(st->host->ctx),
                              st->dir, &record);
    }
    if (rc == HF_OK && record.len) {
        stored = hf_text(record.ptr, record.len);
        rc = hf__jl_meta_put(meta, &key, &stored) < 0 ? HF_NO_MEMORY : HF_OK;
        *ret_write = 1;
    }
    hf__buf_free(&key_buf);
    hf__buf_free(&record);
    return rc < 0 ? hf_error_set(err, rc, NULL, "out of memory") : HF_OK;
}

static int
lease_run(struct hf_jsonl_store *st, struct hf__lease_ask *ask, struct hf_error *err)
{
    int rc = hf__lease_check(ask, st->dir, err);

    if (rc == HF_OK)
        rc = hf__jl_meta_change(st, lease_change, ask, err);
    if (rc == HF_OK && ask->outcome < 0) {
        *err = ask->why;
        rc = ask->outcome;
    }
    return rc;
}

int
hf__jl_lease_acquire(void *store, const struct hf_text *name,
                     const struct hf_text *holder, double ttl_seconds,
                     uint64_t *ret_generation, struct hf_error *err)
{
    struct hf__lease_ask ask = {.verb = HF__LEASE_ACQUIRE,
                                .name = name,
                                .holder = holder,
                                .ttl = ttl_seconds};
    int rc = lease_run(store, &ask, err);

    if (rc == HF_OK)
        *ret_generation = ask.generation;
    return rc;
}

int
hf__jl_lease_renew(void *store, const struct hf_text *name,
                   const struct hf_text *holder, uint64_t generation,
                   double ttl_seconds, struct hf_error *err)
{
    struct hf__lease_ask ask = {.verb = HF__LEASE_RENEW,
                                .name = name,
                                .holder = holder,
                                .ttl = ttl_seconds,
                                .generation = generation};
    return lease_run(store, &ask, err);
}

int
hf__jl_lease_release(void *store, const struct hf_text *name,
                     const struct hf_text *holder, uint64_t generation,
                     struct hf_error *err)
{
    struct hf__lease_ask ask = {.verb = HF__LEASE_RELEASE,
                                .name = name,
                                .holder = holder,
                                .generation = generation};
    return lease_run(store, &ask, err);
}
