/* meta.c - the key/values of the store, table state_meta. */
#include "private.h"

int
hf__op_meta_get(void *store, const struct hf_text *key,
                int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
                struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    sqlite3_stmt *stmt;
    int rc;

    if (!st->db || !st->shape.has_meta)
        return hf_error_set(err, HF_NOT_FOUND, st->path, "there is no key %.*s",
                            HF__ID_ARGS(key));
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    rc = hf__sql_prepare(st, "SELECT value FROM state_meta WHERE key = ?1", &stmt, err);
    if (rc < 0)
        goto out;
    hf__bind_text(stmt, 1, key);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
        struct hf_text value = hf__text_column(stmt, 0);
        rc = emit(ctx, &value);
    } else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        rc = hf_error_set(err, HF_NOT_FOUND, st->path, "there is no key %.*s",
                          HF__ID_ARGS(key));
    } else {
        rc = hf__sql_fail(st, rc, "reading state_meta", err);
    }
    hf_sqlite_done(stmt);
out:
    return hf__read_unlock(st, rc, err);
}

struct pair { const struct hf_text *key, *value; };

static int
set_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    const struct pair *pair = ctx;
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        pair->value && pair->value->ptr
            ? "INSERT INTO state_meta(key, value) VALUES (?1, ?2)"
              " ON CONFLICT(key) DO UPDATE SET value = excluded.value"
            : "DELETE FROM state_meta WHERE key = ?1",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, pair->key);
    if (pair->value && pair->value->ptr)
        hf__bind_text(stmt, 2, pair->value);
    return hf__sql_run(st, stmt, "writing state_meta", err);
}

int
hf__op_meta_set(void *store, const struct hf_text *key, const struct hf_text *value,
                struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct pair pair = {key, value};
    int rc;

    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, set_work, &pair, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}
