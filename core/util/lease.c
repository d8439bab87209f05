/* lease.c - who may take, renew and release a named lease, and the record it leaves. */
#include "lease.h"

#include <math.h>
#include <string.h>

#include "epoch.h"
#include "json_write.h"

#define SHOWN(text) (int)((text)->len < 200 ? (text)->len : 200), (text)->ptr

struct lease {
    struct hf_text holder; /* ptr NULL: released, or never held */
    uint64_t generation;
    double expires, ttl; /* a ttl of 0: none that counts */
};

static int
ttl_valid(double ttl)
{
    return ttl > 0 && hf__time_valid(ttl);
}

/* Reads what is stored into *RET, whose holder is borrowed from the returned JSON. */
static json_t *
lease_read(const struct hf_text *stored, double now, struct lease *ret)
{
    json_t *json = NULL;
    const json_t *holder, *generation, *expires;

    *ret = (struct lease){{NULL, 0}, 0, 0, 0};
    if (!stored)
        return NULL;
    if (stored->ptr)
        json = hf__json_parse(stored->ptr, (size_t)stored->len);
    holder = json_object_get(json, "holder");
    generation = json_object_get(json, "generation");
    expires = json_object_get(json, "expires");
    if (json_is_integer(generation) && json_integer_value(generation) > 0)
        ret->generation = (uint64_t)json_integer_value(generation);
    else /* whatever it was, what is given out next must be above it */
        ret->generation = now > 0 && hf__time_valid(now) ? (uint64_t)(now * 1e6) : 1;
    if (json_is_string(holder) && json_is_number(expires)) {
        ret->holder = hf_text(json_string_value(holder), json_string_length(holder));
        ret->expires = json_number_value(expires);
    }
    ret->ttl = json_number_value(json_object_get(json, "ttl"));
    if (!ttl_valid(ret->ttl))
        ret->ttl = 0;
    return json;
}

/* HOLDER NULL: nobody's from now on. */
static void
lease_write(struct hf__buf *out, const struct hf_text *holder, uint64_t generation,
            double expires, double ttl)
{
    hf__buf_adds(out, "{\"holder\":");
    if (holder)
        hf__json_string(out, holder->ptr, (size_t)holder->len);
    else
        hf__buf_adds(out, "null");
    hf__buf_adds(out, ",\"generation\":");
    hf__json_int(out, (int64_t)generation);
    hf__buf_adds(out, ",\"expires\":");
    hf__json_real(out, expires);
    hf__buf_adds(out, ",\"ttl\":");
    hf__json_real(out, ttl);
    hf__buf_addc(out, '}');
}

static int
same(const struct hf_text *a, const struct hf_text *b)
{
    return a->ptr && a->len == b->len && !memcmp(a->ptr, b->ptr, (size_t)a->len);
}

static void
acquire(struct hf__lease_ask *ask, const struct lease *lease, double now,
        const char *path, struct hf__buf *out)
{
    double ttl = lease->ttl > 0 ? lease->ttl : ask->ttl, left = lease->expires - now;
    int live = lease->holder.ptr && left > 0;

    if (live && !same(&lease->holder, ask->holder)) {
        /* Further ahead than it can be (a clock that went back): from here on it lives
         * for one time to live, and the record says so to everyone. */
        if (left > ttl) {
            left = ttl;
            lease_write(out, &lease->holder, lease->generation, now + ttl, ttl);
        }
        ask->outcome = hf_error_set(
            &ask->why, HF_BUSY, path,
            "lease %.*s is held by %.*s for another %lld s at most", SHOWN(ask->name),
            SHOWN(&lease->holder), (long long)left + 1);
        return;
    }
    if (!live && lease->generation >= INT64_MAX) {
        ask->outcome = hf_error_set(
            &ask->why, HF_TOO_BIG, path,
            "the generation of lease %.*s stands at its limit and cannot grow, so that"
            " nobody can take it over safely: put the value of %s%.*s right, or use a"
            " lease of another name",
            SHOWN(ask->name), HF__LEASE_KEY, SHOWN(ask->name));
        return;
    }
    ask->generation = lease->generation + (live ? 0 : 1);
    lease_write(out, ask->holder, ask->generation, now + ask->ttl, ask->ttl);
}

int
hf__lease_check(const struct hf__lease_ask *ask, const char *path, struct hf_error *err)
{
    if (!ask->name->ptr || !ask->holder->ptr)
        return hf_error_set(err, HF_INVALID, path,
                            "a lease needs a name and a holder");
    if (ask->verb != HF__LEASE_RELEASE && !ttl_valid(ask->ttl))
        return hf_error_set(err, HF_INVALID, path,
                            "a lease needs a time to live above 0 and of at most %.0f"
                            " seconds", HF_MAX_TIME);
    return HF_OK;
}

int
hf__lease_decide(struct hf__lease_ask *ask, const struct hf_text *stored, double now,
                 const char *path, struct hf__buf *out)
{
    struct lease lease;
    json_t *json = lease_read(stored, now, &lease);

    ask->outcome = HF_OK;
    if (ask->verb == HF__LEASE_ACQUIRE)
        acquire(ask, &lease, now, path, out);
    else if (!same(&lease.holder, ask->holder) || lease.generation != ask->generation)
        ask->outcome = hf_error_set(
            &ask->why, HF_STALE_LEASE, path,
            "lease %.*s is no longer yours: its generation is %llu, not %llu",
            SHOWN(ask->name), (unsigned long long)lease.generation,
            (unsigned long long)ask->generation);
    else if (ask->verb == HF__LEASE_RENEW)
        lease_write(out, &lease.holder, lease.generation, now + ask->ttl, ask->ttl);
    else
        lease_write(out, NULL, lease.generation, 0, lease.ttl);
    json_decref(json);
    return out->failed ? HF_NO_MEMORY : HF_OK;
}
