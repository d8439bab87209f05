/* sessions.c - one session: get and change.  put.c stores one, delete.c removes some,
 * lists are list.c's job. */
#include <string.h>

#include "private.h"
#include "util/epoch.h"

/* ---- get ---- */

static int
session_emit(struct hf_sqlite_store *st, const struct hf_text *id, uint32_t want,
             hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__buf sql = {0}, scratch = {0};
    struct hf_session session;
    sqlite3_stmt *stmt;
    int rc;

    hf__buf_adds(&sql, "SELECT ");
    hf__session_select(&sql, st, "s", want);
    hf__buf_adds(&sql, " FROM sessions AS s WHERE s.id = ?1");
    rc = hf__sql_prepare(st, sql.failed ? NULL : sql.ptr, &stmt, err);
    hf__buf_free(&sql);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        rc = hf__session_row(st, stmt, 0, want, &scratch, &session, err);
        if (rc == HF_OK)
            rc = emit(ctx, &session);
    } else if (rc == SQLITE_DONE) {
        rc = hf_error_set(err, HF_NOT_FOUND, st->path, "there is no session %.*s",
                          HF__ID_ARGS(id));
    } else {
        rc = hf__sql_fail(st, rc, "reading a session", err);
    }
    hf_sqlite_done(stmt);
    hf__buf_free(&scratch);
    return rc;
}

int
hf__op_session_get(void *store, const struct hf_text *id, uint32_t want,
                   hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    int rc;

    if (!st->db)
        return hf_error_set(err, HF_NOT_FOUND, st->path, "there is no session %.*s",
                            HF__ID_ARGS(id));
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    rc = session_emit(st, id, want, emit, ctx, err);
    return hf__read_unlock(st, rc, err);
}

/* ---- change ---- */

static int
field_is_time(const char *name)
{
    return !strcmp(name, "started_at") || !strcmp(name, "ended_at") ||
           !strcmp(name, "last_activity_at") || !strcmp(name, "last_read_at");
}

static void
field_bind(struct hf_sqlite_store *st, sqlite3_stmt *stmt, const struct hf_field *f)
{
    double now = st->host->now(st->host->ctx);
    switch (f->type) {
    case HF_INT:
        if (field_is_time(f->name) && !hf__time_valid((double)f->i))
            sqlite3_bind_double(stmt, 1, now);
        else
            sqlite3_bind_int64(stmt, 1, f->i);
        break;
    case HF_REAL:
        if (field_is_time(f->name) && f->op != HF_FIELD_ADD && !hf__time_valid(f->d))
            sqlite3_bind_double(stmt, 1, now);
        else
            sqlite3_bind_double(stmt, 1, f->d);
        break;
    case HF_TEXT: hf__bind_text(stmt, 1, &f->text); break;
    default: sqlite3_bind_null(stmt, 1); break;
    }
}

static int
field_check(const struct hf_sqlite_store *st, const struct hf_field *f,
            struct hf_error *err)
{
    if (!f->name || !strcmp(f->name, "id") || strchr(f->name, '"') ||
        strlen(f->name) > 100 ||
        !hf__column_find(st, HF_T_SESSIONS, f->name, strlen(f->name)))
        return hf_error_set(err, HF_INVALID, st->path,
                            "a session has no column %.100s that could be changed",
                            f->name ? f->name : "(none)");
    if (f->op != HF_FIELD_SET && f->op != HF_FIELD_SET_IF_NULL &&
        f->op != HF_FIELD_ADD && f->op != HF_FIELD_MAX)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: operation %u is not known", f->name, f->op);
    if (f->type != HF_NULL && f->type != HF_INT && f->type != HF_REAL &&
        f->type != HF_TEXT)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: type %u is not known", f->name, f->type);
    if ((f->op == HF_FIELD_ADD || f->op == HF_FIELD_MAX) && f->type != HF_INT &&
        f->type != HF_REAL)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: only a number can be added or compared",
                            f->name);
    return HF_OK;
}

/* What is no number is greater than nothing. */
static int
field_is_idle(const struct hf_field *f)
{
    double value = f->type == HF_INT ? (double)f->i : f->d;
    return f->op == HF_FIELD_MAX &&
           (isnan(value) || (field_is_time(f->name) && !hf__time_valid(value)));
}

static int
field_apply(struct hf_sqlite_store *st, const struct hf_text *id,
            const struct hf_field *f, struct hf_error *err)
{
    const char *name = f->name;
    char sql[400], what[160];
    sqlite3_stmt *stmt;
    int rc, raw;

    rc = field_check(st, f, err);
    if (rc == HF_OK && !strcmp(f->name, "title") && f->type == HF_TEXT)
        rc = hf__title_free(st, id, &f->text, err);
    if (rc < 0 || field_is_idle(f))
        return rc;
    if (f->op == HF_FIELD_SET)
        snprintf(sql, sizeof sql, "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2", name);
    else if (f->op == HF_FIELD_SET_IF_NULL)
        snprintf(sql, sizeof sql,
                 "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2 AND sessions.\"%s\""
                 " IS NULL", name, name);
    else if (f->op == HF_FIELD_MAX)
        snprintf(sql, sizeof sql,
                 "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2 AND"
                 " (typeof(sessions.\"%s\") NOT IN ('integer', 'real')"
                 " OR sessions.\"%s\" < ?1)", name, name, name);
    else
        snprintf(sql, sizeof sql,
                 "UPDATE sessions SET \"%s\" = COALESCE(sessions.\"%s\", 0) + ?1"
                 " WHERE id = ?2", name, name);
    rc = hf__sql_prepare(st, sql, &stmt, err);
    if (rc < 0)
        return rc;
    field_bind(st, stmt, f);
    hf__bind_text(stmt, 2, id);
    raw = sqlite3_step(stmt);
    if (raw == SQLITE_DONE) {
        rc = HF_OK;
    } else if (raw == SQLITE_CONSTRAINT_FOREIGNKEY) {
        rc = hf_error_set(err, HF_INVALID, st->path,
                          "column %s refers to something that is not there", f->name);
    } else if (raw == SQLITE_CONSTRAINT_NOTNULL) {
        rc = hf_error_set(err, HF_INVALID, st->path, "column %s cannot be empty", f->name);
    } else {
        snprintf(what, sizeof what, "changing column %s", f->name);
        rc = hf__sql_fail(st, raw, what, err);
    }
    hf_sqlite_done(stmt);
    return rc;
}

int
hf__fields_apply(struct hf_sqlite_store *st, const struct hf_text *id,
                 const struct hf_field *fields, uint64_t n_fields, struct hf_error *err)
{
    int rc = HF_OK;
    for (uint64_t i = 0; rc == HF_OK && i < n_fields; i++)
        rc = field_apply(st, id, &fields[i], err);
    return rc;
}

struct update {
    const struct hf_text *id;
    const struct hf_field *fields;
    uint64_t n_fields;
};

static int
update_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    const struct update *u = ctx;
    int rc = hf__session_exists(st, u->id, err);
    return rc < 0 ? rc : hf__fields_apply(st, u->id, u->fields, u->n_fields, err);
}

/* A touch only says that somebody is there: it does not wait long for a lock. */
static int
is_touch(const struct hf_field *fields, uint64_t n_fields)
{
    for (uint64_t i = 0; i < n_fields; i++)
        if (!fields[i].name || (strncmp(fields[i].name, "last_activity_", 14) != 0 &&
                                strcmp(fields[i].name, "last_read_at") != 0))
            return 0;
    return n_fields > 0;
}

int
hf__op_session_update(void *store, const struct hf_text *id,
                      const struct hf_field *fields, uint64_t n_fields,
                      struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct update u = {id, fields, n_fields};
    int64_t patience = is_touch(fields, n_fields) && st->patience_ms > 500 ? 500 : -1;
    int rc;

    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, patience, update_work, &u, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}
