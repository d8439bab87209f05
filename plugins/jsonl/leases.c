/* leases.c - named leases, one JSON record each among the key/values (SPEC 2.6):
 * {"holder", "generation", "expires", "ttl"}.  The generation only grows: it survives
 * release and expiry, so that a holder who was replaced can tell. */
#include <math.h>
#include <string.h>

#include "private.h"
#include "util/json_write.h"

enum verb { ACQUIRE, RENEW, RELEASE };
struct call {
    enum verb verb;
    const struct hf_text *name, *holder;
    double ttl;
    uint64_t generation; /* given, or for ACQUIRE the result */
    int outcome;         /* of the caller: decided inside, told after the write */
    struct hf_error why;
};
struct lease {
    struct hf_text holder; /* NULL: released, or never held */
    uint64_t generation;
    double expires, ttl;
};

/* A record that is none at all, or garbage, blocks nobody. */
static void
lease_read(const json_t *value, json_t **ret_json, double now, struct lease *ret)
{
    const char *s = json_string_value(value);
    json_t *json = s ? hf__json_parse(s, json_string_length(value)) : NULL;
    const json_t *generation = json_object_get(json, "generation");
    const json_t *expires = json_object_get(json, "expires");

    *ret = (struct lease){{NULL, 0}, 0, 0, 0};
    *ret_json = json;
    if (!value)
        return;
    if (json_is_integer(generation) && json_integer_value(generation) > 0)
        ret->generation = (uint64_t)json_integer_value(generation);
    else /* whatever it was, what is given out next must be above it */
        ret->generation = now > 0 ? (uint64_t)now : 1;
    if (json_is_number(expires)) {
        ret->holder = hf__jl_string(json_object_get(json, "holder"));
        ret->expires = json_number_value(expires);
    }
    ret->ttl = json_number_value(json_object_get(json, "ttl"));
}

static int
lease_write(json_t *meta, const struct hf_text *key, const struct hf_text *holder,
            uint64_t generation, double expires, double ttl, struct hf_error *err)
{
    struct hf__buf out = {0};
    struct hf_text value;
    int rc = -1;

    hf__buf_adds(&out, "{\"holder\":");
    if (holder->ptr)
        hf__json_string(&out, holder->ptr, (size_t)holder->len);
    else
        hf__buf_adds(&out, "null");
    hf__buf_adds(&out, ",\"generation\":");
    hf__json_int(&out, (int64_t)generation);
    hf__buf_adds(&out, ",\"expires\":");
    hf__json_real(&out, expires);
    hf__buf_adds(&out, ",\"ttl\":");
    hf__json_real(&out, ttl);
    hf__buf_addc(&out, '}');
    value = hf_text(out.ptr, out.len);
    if (!out.failed)
        rc = hf__jl_meta_put(meta, key, &value);
    hf__buf_free(&out);
    return rc < 0 ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory") : HF_OK;
}

static int
same(const struct hf_text *a, const struct hf_text *b)
{
    return a->ptr && a->len == b->len && !memcmp(a->ptr, b->ptr, (size_t)a->len);
}

static int
acquire(struct call *call, json_t *meta, const struct hf_text *key,
        const struct lease *lease, double now, int *ret_write, struct hf_error *err)
{
    double ttl = lease->ttl > 0 ? lease->ttl : call->ttl, left = lease->expires - now;
    int live = lease->holder.ptr && left > 0;

    if (live && !same(&lease->holder, call->holder)) {
        int rc = HF_OK;
        /* Further ahead than it can be (a clock that went back): from here on it lives
         * for one time to live, and the record says so to everyone. */
        if (left > ttl) {
            left = ttl;
            *ret_write = 1;
            rc = lease_write(meta, key, &lease->holder, lease->generation, now + ttl,
                             ttl, err);
        }
        call->outcome =
            hf_error_set(&call->why, HF_BUSY, NULL,
                         "lease %.*s is held by %.*s for another %lld s at most",
                         HF__JL_ID_ARGS(call->name), HF__JL_ID_ARGS(&lease->holder),
                         (long long)left + 1);
        return rc;
    }
    call->generation = lease->generation + (live ? 0 : 1);
    *ret_write = 1;
    return lease_write(meta, key, call->holder, call->generation, now + call->ttl,
                       call->ttl, err);
}

static int
lease_change(struct hf_jsonl_store *st, json_t *meta, int *ret_write, void *ctx,
             struct hf_error *err)
{
    static const struct hf_text nobody = {NULL, 0};
    struct call *call = ctx;
    struct hf__buf key_bytes = {0};
    struct hf_text key;
    struct lease lease;
    json_t *json;
    double now = st->host->now(st->host->ctx);
    int rc = HF_OK;

    call->outcome = HF_OK;
    hf__buf_adds(&key_bytes, "holdfast_lease:");
    hf__buf_add(&key_bytes, call->name->ptr, (size_t)call->name->len);
    if (key_bytes.failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    key = hf_text(key_bytes.ptr, key_bytes.len);
    lease_read(hf__jl_meta_find(meta, &key, NULL), &json, now, &lease);
    if (call->verb == ACQUIRE) {
        rc = acquire(call, meta, &key, &lease, now, ret_write, err);
    } else if (!same(&lease.holder, call->holder) ||
               lease.generation != call->generation) {
        call->outcome = hf_error_set(
            &call->why, HF_STALE_LEASE, NULL,
            "lease %.*s is no longer yours: its generation is %llu, not %llu",
            HF__JL_ID_ARGS(call->name), (unsigned long long)lease.generation,
            (unsigned long long)call->generation);
    } else {
        *ret_write = 1;
        rc =
            call->verb == RENEW
                ? lease_write(meta, &key, &lease.holder, lease.generation,
                              now + call->ttl, call->ttl, err)
                : lease_write(meta, &key, &nobody, lease.generation, 0, lease.ttl, err);
    }
    json_decref(json);
    hf__buf_free(&key_bytes);
    return rc;
}

static int
lease_run(void *store, struct call *call, struct hf_error *err)
{
    int rc;

    if (!call->name->ptr || !call->holder->ptr)
        return hf_error_set(err, HF_INVALID, NULL, "a lease needs a name and a holder");
    if (call->verb != RELEASE && !(call->ttl > 0 && isfinite(call->ttl)))
        return hf_error_set(err, HF_INVALID, NULL,
                            "a lease needs a time to live above 0 seconds");
    rc = hf__jl_meta_change(store, lease_change, call, err);
    if (rc == HF_OK && call->outcome < 0) {
        *err = call->why;
        rc = call->outcome;
    }
    return rc;
}

int
hf__jl_lease_acquire(void *store, const struct hf_text *name,
                     const struct hf_text *holder, double ttl_seconds,
                     uint64_t *ret_generation, struct hf_error *err)
{
    struct call call = {
        .verb = ACQUIRE, .name = name, .holder = holder, .ttl = ttl_seconds};
    int rc = lease_run(store, &call, err);

    if (rc == HF_OK)
        *ret_generation = call.generation;
    return rc;
}

int
hf__jl_lease_renew(void *store, const struct hf_text *name,
                   const struct hf_text *holder, uint64_t generation,
                   double ttl_seconds, struct hf_error *err)
{
    struct call call = {.verb = RENEW,
                        .name = name,
                        .holder = holder,
                        .ttl = ttl_seconds,
                        .generation = generation};
    return lease_run(store, &call, err);
}

int
hf__jl_lease_release(void *store, const struct hf_text *name,
                     const struct hf_text *holder, uint64_t generation,
                     struct hf_error *err)
{
    struct call call = {
        .verb = RELEASE, .name = name, .holder = holder, .generation = generation};
    return lease_run(store, &call, err);
}
