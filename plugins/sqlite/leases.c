/* leases.c - named leases, one JSON record each in state_meta (SPEC 2.6):
 * {"holder", "generation", "expires", "ttl"}.  The generation only grows: it survives
 * release and expiry, so that a holder who was replaced can tell. */
#include <string.h>

#include "private.h"
#include "util/json_write.h"

#define PREFIX "holdfast_lease:"

struct lease {
    json_t *json;
    const char *holder; /* NULL: released, or never held */
    size_t holder_len;
    uint64_t generation;
    double expires, ttl;
};

enum lease_verb { ACQUIRE, RENEW, RELEASE };
struct lease_call {
    enum lease_verb verb;
    const struct hf_text *name, *holder;
    double ttl;
    uint64_t generation; /* given, or for ACQUIRE the result */
    int outcome;         /* of the caller: decided inside, told after the commit */
    struct hf_error why;
};

static int
record_read(struct hf_sqlite_store *st, const struct hf_text *key, double now,
            struct lease *ret, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, "SELECT value FROM state_meta WHERE key = ?1", &stmt,
                             err);

    memset(ret, 0, sizeof *ret);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, key);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        struct hf_text text = hf__text_column(stmt, 0);
        json_t *json = text.ptr ? hf__json_parse(text.ptr, (size_t)text.len) : NULL;
        const json_t *holder = json_object_get(json, "holder");
        const json_t *generation = json_object_get(json, "generation");
        const json_t *expires = json_object_get(json, "expires");
        ret->json = json;
        if (json_is_integer(generation) && json_integer_value(generation) > 0)
            ret->generation = (uint64_t)json_integer_value(generation);
        else /* whatever it was, what is given out next must be above it */
            ret->generation = now > 0 ? (uint64_t)now : 1;
        if (json_is_string(holder) && json_is_number(expires)) {
            ret->holder = json_string_value(holder);
            ret->holder_len = json_string_length(holder);
            ret->expires = json_number_value(expires);
        }
        ret->ttl = json_number_value(json_object_get(json, "ttl"));
        rc = HF_OK;
    } else {
        rc = rc == SQLITE_DONE ? HF_OK : hf__sql_fail(st, rc, "reading a lease", err);
    }
    hf_sqlite_done(stmt);
    return rc;
}

static int
record_write(struct hf_sqlite_store *st, const struct hf_text *key, const char *holder,
             size_t holder_len, uint64_t generation, double expires, double ttl,
             struct hf_error *err)
{
    struct hf__buf out = {0};
    struct hf_text value;
    sqlite3_stmt *stmt;
    int rc;

    hf__buf_adds(&out, "{\"holder\":");
    if (holder)
        hf__json_string(&out, holder, holder_len);
    else
        hf__buf_adds(&out, "null");
    hf__buf_adds(&out, ",\"generation\":");
    hf__json_int(&out, (int64_t)generation);
    hf__buf_adds(&out, ",\"expires\":");
    hf__json_real(&out, expires);
    hf__buf_adds(&out, ",\"ttl\":");
    hf__json_real(&out, ttl);
    hf__buf_adds(&out, "}");
    rc = hf__sql_prepare(st,
                         out.failed ? NULL
                                    : "INSERT INTO state_meta(key, value) VALUES (?1, ?2)"
                                      " ON CONFLICT(key) DO UPDATE SET"
                                      " value = excluded.value",
                         &stmt, err);
    if (rc == HF_OK) {
        value = hf_text(out.ptr, out.len);
        hf__bind_text(stmt, 1, key);
        hf__bind_text(stmt, 2, &value);
        rc = hf__sql_run(st, stmt, "writing a lease", err);
    }
    hf__buf_free(&out);
    return rc;
}

static int
same_holder(const struct lease *lease, const struct hf_text *holder)
{
    return lease->holder && lease->holder_len == holder->len &&
           memcmp(lease->holder, holder->ptr, lease->holder_len) == 0;
}

static int
acquire(struct hf_sqlite_store *st, struct lease_call *call, const struct hf_text *key,
        struct lease *lease, double now, struct hf_error *err)
{
    double ttl = lease->ttl > 0 ? lease->ttl : call->ttl;
    int live = lease->holder && lease->expires > now;
    uint64_t generation = lease->generation;

    if (live && !same_holder(lease, call->holder)) {
        /* Further ahead than it can be (a clock that went back): from here on it lives
         * for one time to live, and the record says so to everyone. */
        double left = lease->expires - now;
        int rc = HF_OK;
        if (left > ttl) {
            left = ttl;
            rc = record_write(st, key, lease->holder, lease->holder_len, generation,
                              now + ttl, ttl, err);
        }
        call->outcome = hf_error_set(
            &call->why, HF_BUSY, st->path,
            "lease %.*s is held by %.*s for another %lld s at most",
            HF__ID_ARGS(call->name),
            (int)(lease->holder_len < 200 ? lease->holder_len : 200), lease->holder,
            (long long)left + 1);
        return rc;
    }
    if (!live)
        generation++;
    call->generation = generation;
    return record_write(st, key, call->holder->ptr, (size_t)call->holder->len, generation,
                        now + call->ttl, call->ttl, err);
}

static int
lease_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct lease_call *call = ctx;
    struct hf__buf key_buf = {0};
    struct hf_text key;
    struct lease lease;
    double now = st->host->now(st->host->ctx);
    int rc;

    call->outcome = HF_OK;
    hf__buf_adds(&key_buf, PREFIX);
    hf__buf_add(&key_buf, call->name->ptr, (size_t)call->name->len);
    if (key_buf.failed) {
        hf__buf_free(&key_buf);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    key = hf_text(key_buf.ptr, key_buf.len);
    rc = record_read(st, &key, now, &lease, err);
    if (rc < 0)
        goto out;
    if (call->verb == ACQUIRE) {
        rc = acquire(st, call, &key, &lease, now, err);
    } else if (!same_holder(&lease, call->holder) ||
               lease.generation != call->generation) {
        call->outcome = hf_error_set(
            &call->why, HF_STALE_LEASE, st->path,
            "lease %.*s is no longer yours: its generation is %llu, not %llu",
            HF__ID_ARGS(call->name),
            (unsigned long long)lease.generation, (unsigned long long)call->generation);
    } else if (call->verb == RENEW) {
        rc = record_write(st, &key, lease.holder, lease.holder_len, lease.generation,
                          now + call->ttl, call->ttl, err);
    } else {
        rc = record_write(st, &key, NULL, 0, lease.generation, 0, lease.ttl, err);
    }
    json_decref(lease.json);
out:
    hf__buf_free(&key_buf);
    return rc;
}

static int
lease_run(struct hf_sqlite_store *st, struct lease_call *call, struct hf_error *err)
{
    int rc;

    if (!call->name->ptr || !call->holder->ptr)
        return hf_error_set(err, HF_INVALID, st->path,
                            "a lease needs a name and a holder");
    if (call->verb != RELEASE && !(call->ttl > 0 && isfinite(call->ttl)))
        return hf_error_set(err, HF_INVALID, st->path,
                            "a lease needs a time to live above 0 seconds");
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, lease_work, call, err);
    pthread_mutex_unlock(&st->lock);
    if (rc == HF_OK && call->outcome < 0) {
        *err = call->why;
        rc = call->outcome;
    }
    return rc;
}

int
hf__op_lease_acquire(void *store, const struct hf_text *name,
                     const struct hf_text *holder, double ttl_seconds,
                     uint64_t *ret_generation, struct hf_error *err)
{
    struct lease_call call = {.verb = ACQUIRE, .name = name, .holder = holder,
                              .ttl = ttl_seconds};
    int rc = lease_run(store, &call, err);
    if (rc == HF_OK)
        *ret_generation = call.generation;
    return rc;
}

int
hf__op_lease_renew(void *store, const struct hf_text *name, const struct hf_text *holder,
                   uint64_t generation, double ttl_seconds, struct hf_error *err)
{
    struct lease_call call = {.verb = RENEW, .name = name, .holder = holder,
                              .ttl = ttl_seconds, .generation = generation};
    return lease_run(store, &call, err);
}

int
hf__op_lease_release(void *store, const struct hf_text *name,
                     const struct hf_text *holder, uint64_t generation,
                     struct hf_error *err)
{
    struct lease_call call = {.verb = RELEASE, .name = name, .holder = holder,
                              .generation = generation};
    return lease_run(store, &call, err);
}
