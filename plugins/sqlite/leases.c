/* leases.c - named leases, one JSON record each in state_meta (SPEC 2.6).  What the
 * record means, and who may have the lease, is decided in util/lease.c. */
#include "private.h"
#include "util/lease.h"

static int
record_read(struct hf_sqlite_store *st, const struct hf_text *key, struct hf__buf *ret,
            int *ret_found, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, "SELECT value FROM state_meta WHERE key = ?1", &stmt,
                             err);

    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, key);
    rc = sqlite3_step(stmt);
    *ret_found = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW) {
        struct hf_text text = hf__text_column(stmt, 0);
        if (text.ptr)
            hf__buf_add(ret, text.ptr, (size_t)text.len);
        rc = HF_OK;
        if (ret->failed)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    } else {
        rc = rc == SQLITE_DONE ? HF_OK : hf__sql_fail(st, rc, "reading a lease", err);
    }
    hf_sqlite_done(stmt);
    return rc;
}

static int
record_write(struct hf_sqlite_store *st, const struct hf_text *key,
             const struct hf__buf *record, struct hf_error *err)
{
    struct hf_text value = hf_text(record->ptr, record->len);
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st,
                             "INSERT INTO state_meta(key, value) VALUES (?1, ?2)"
                             " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                             &stmt, err);

    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, key);
    hf__bind_text(stmt, 2, &value);
    return hf__sql_run(st, stmt, "writing a lease", err);
}

static int
lease_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct hf__lease_ask *ask = ctx;
    struct hf__buf key_buf = {0}, was = {0}, record = {0};
    struct hf_text key, stored;
    int found = 0, rc = HF_OK;

    hf__buf_adds(&key_buf, HF__LEASE_KEY);
    hf__buf_add(&key_buf, ask->name->ptr, (size_t)ask->name->len);
    if (key_buf.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    key = hf_text(key_buf.ptr, key_buf.len);
    if (rc == HF_OK)
        rc = record_read(st, &key, &was, &found, err);
    if (rc == HF_OK) {
        stored = hf_text(was.ptr, was.len);
        rc = hf__lease_decide(ask, found ? &stored : NULL, st->host->now(st->host->ctx),
                              st->path, &record);
        if (rc < 0)
            hf_error_set(err, rc, NULL, "out of memory");
    }
    if (rc == HF_OK && record.len)
        rc = record_write(st, &key, &record, err);
    hf__buf_free(&key_buf);
    hf__buf_free(&was);
    hf__buf_free(&record);
    return rc;
}

static int
lease_run(struct hf_sqlite_store *st, struct hf__lease_ask *ask, struct hf_error *err)
{
    int rc = hf__lease_check(ask, st->path, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, lease_work, ask, err);
    pthread_mutex_unlock(&st->lock);
    if (rc == HF_OK && ask->outcome < 0) {
        *err = ask->why;
        rc = ask->outcome;
    }
    return rc;
}

int
hf__op_lease_acquire(void *store, const struct hf_text *name,
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
hf__op_lease_renew(void *store, const struct hf_text *name,
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
hf__op_lease_release(void *store, const struct hf_text *name,
                     const struct hf_text *holder, uint64_t generation,
                     struct hf_error *err)
{
    struct hf__lease_ask ask = {.verb = HF__LEASE_RELEASE,
                                .name = name,
                                .holder = holder,
                                .generation = generation};
    return lease_run(store, &ask, err);
}
