/* sessions.c - one session: put, get, change, delete.  Lists are list.c's job. */
#include <string.h>

#include "private.h"
#include "util/epoch.h"

#define ID_ARGS(id) (int)((id)->len < 200 ? (id)->len : 200), (id)->ptr ? (id)->ptr : ""

/* ---- put ---- */

struct put {
    const struct hf_session *session;
    uint32_t mode;
};

static double
time_given(const struct hf_sqlite_store *st, double t, uint32_t verbatim)
{
    if (hf__time_valid(t) || (verbatim && isfinite(t)))
        return t;
    return st->host->now(st->host->ctx);
}

static int
session_cells(struct hf_sqlite_store *st, const struct put *put, struct hf__cells *cells,
              struct hf_error *err)
{
    const struct hf_session *s = put->session;
    uint32_t verbatim = put->mode == HF_PUT_VERBATIM;

    hf__cells_text(cells, "id", &s->id);
    hf__cells_text(cells, "source", &s->source);
    hf__cells_text(cells, "title", &s->title);
    hf__cells_text(cells, "model", &s->model);
    hf__cells_text(cells, "parent_session_id", &s->parent_id);
    hf__cells_text(cells, "model_config", &s->model_config);
    hf__cells_text(cells, "system_prompt", &s->system_prompt);
    hf__cells_real(cells, "started_at", time_given(st, s->started_at, verbatim));
    if (!isnan(s->ended_at))
        hf__cells_real(cells, "ended_at", time_given(st, s->ended_at, verbatim));
    hf__cells_text(cells, "end_reason", &s->end_reason);
    hf__cells_int(cells, "archived", s->archived != 0);
    hf__cells_int(cells, "hidden", s->hidden != 0);
    hf__cells_int(cells, "pinned", s->pinned != 0);
    if (verbatim) {
        hf__cells_int(cells, "message_count", s->message_count);
        hf__cells_int(cells, "tool_call_count", s->tool_call_count);
        hf__cells_int(cells, "input_tokens", s->input_tokens);
        hf__cells_int(cells, "output_tokens", s->output_tokens);
        hf__cells_int(cells, "cache_read_tokens", s->cache_read_tokens);
        hf__cells_int(cells, "cache_write_tokens", s->cache_write_tokens);
        hf__cells_int(cells, "reasoning_tokens", s->reasoning_tokens);
        hf__cells_real(cells, "estimated_cost_usd", s->estimated_cost_usd);
        hf__cells_real(cells, "actual_cost_usd", s->actual_cost_usd);
    }
    return hf__cells_extra(cells, st, HF_T_SESSIONS, &s->extra, err);
}

static struct hf__cell *
cell_named(struct hf__cells *cells, const char *column)
{
    for (size_t i = 0; i < cells->n; i++)
        if (strcmp(cells->v[i].column, column) == 0)
            return &cells->v[i];
    return NULL;
}

/* Who has the title; HF_EXISTS naming that session, HF_OK when it is free.  Looked up
 * rather than left to the index, which an old file with two equal titles lacks. */
static int
title_free(struct hf_sqlite_store *st, const struct hf_text *id,
           const struct hf_text *title, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc;

    if (!title->ptr)
        return HF_OK;
    rc = hf__sql_prepare(
        st, "SELECT id FROM sessions WHERE title = ?1 AND id <> ?2 LIMIT 1", &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, title);
    hf__bind_text(stmt, 2, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        struct hf_text owner = hf__text_column(stmt, 0);
        rc = hf_error_set(err, HF_EXISTS, st->path,
                          "the title \"%.*s\" belongs to session %.*s: choose another",
                          ID_ARGS(title), ID_ARGS(&owner));
    } else {
        rc = rc == SQLITE_DONE ? HF_OK : hf__sql_fail(st, rc, "looking for a title", err);
    }
    hf_sqlite_done(stmt);
    return rc;
}

/* A system prompt may be kept once for many sessions, by its hash.  Makes the hash that
 * EXTRA brought point to something, and gives the prompt back to that table. */
static int
prompt_share(struct hf_sqlite_store *st, struct hf__cells *cells, struct hf_error *err)
{
    struct hf__cell *hash = cell_named(cells, "system_prompt_hash");
    struct hf__cell *prompt = cell_named(cells, "system_prompt");
    sqlite3_stmt *stmt;
    int rc;

    if (!hash || hash->type != SQLITE_TEXT || !st->shape.has_system_prompts)
        return HF_OK;
    if (prompt && prompt->type == SQLITE_TEXT) {
        rc = hf__sql_prepare(
            st, "INSERT OR IGNORE INTO system_prompts(hash, prompt) VALUES (?1, ?2)",
            &stmt, err);
        if (rc < 0)
            return rc;
        hf__cell_bind(stmt, 1, hash);
        hf__cell_bind(stmt, 2, prompt);
        rc = hf__sql_run(st, stmt, "storing a system prompt", err);
        if (rc == HF_OK)
            prompt->type = SQLITE_NULL;
        return rc;
    }
    rc = hf__sql_prepare(st, "SELECT 1 FROM system_prompts WHERE hash = ?1", &stmt, err);
    if (rc < 0)
        return rc;
    hf__cell_bind(stmt, 1, hash);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_DONE) /* its prompt is not there: nothing to point to */
        hash->type = SQLITE_NULL;
    rc = rc == SQLITE_DONE || rc == SQLITE_ROW
             ? HF_OK
             : hf__sql_fail(st, rc, "looking for a system prompt", err);
    hf_sqlite_done(stmt);
    return rc;
}

/* An import brings children before their parents (lists are newest first).  The link
 * waits in state_meta until the parent comes. */
static int
parent_wait(struct hf_sqlite_store *st, const struct hf_text *id,
            struct hf__cell *parent, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st,
                             "INSERT INTO state_meta(key, value)"
                             " VALUES ('holdfast_parent:' || ?1, ?2)"
                             " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                             &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    hf__cell_bind(stmt, 2, parent);
    rc = hf__sql_run(st, stmt, "remembering a parent", err);
    if (rc == HF_OK)
        parent->type = SQLITE_NULL;
    return rc;
}

static int
children_join(struct hf_sqlite_store *st, const struct hf_text *id, struct hf_error *err)
{
    static const char *const sql[] = {
        "UPDATE sessions SET parent_session_id = ?1 WHERE parent_session_id IS NULL"
        " AND id IN (SELECT substr(key, 17) FROM state_meta"
        " WHERE key >= 'holdfast_parent:' AND key < 'holdfast_parent;' AND value = ?1)",
        "DELETE FROM state_meta"
        " WHERE key >= 'holdfast_parent:' AND key < 'holdfast_parent;' AND value = ?1",
    };
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        sqlite3_stmt *stmt;
        int rc = hf__sql_prepare(st, sql[i], &stmt, err);
        if (rc < 0)
            return rc;
        hf__bind_text(stmt, 1, id);
        rc = hf__sql_run(st, stmt, "joining sessions to their parent", err);
        if (rc < 0)
            return rc;
    }
    return HF_OK;
}

static int
parent_check(struct hf_sqlite_store *st, const struct put *put, struct hf__cells *cells,
             struct hf_error *err)
{
    const struct hf_text *parent = &put->session->parent_id;
    struct hf_error none;
    int rc;

    if (!parent->ptr)
        return HF_OK;
    rc = hf__session_exists(st, parent, &none);
    if (rc != HF_NOT_FOUND) {
        if (rc < 0 && err)
            *err = none;
        return rc;
    }
    if (put->mode == HF_PUT_VERBATIM)
        return parent_wait(st, &put->session->id, cell_named(cells, "parent_session_id"),
                           err);
    return hf_error_set(err, HF_NOT_FOUND, st->path,
                        "the parent of session %.*s is not there: %.*s",
                        ID_ARGS(&put->session->id), ID_ARGS(parent));
}

static int
session_insert(struct hf_sqlite_store *st, const struct put *put,
               struct hf__cells *cells, struct hf_error *err)
{
    struct hf__buf sql = {0};
    sqlite3_stmt *stmt;
    int rc = parent_check(st, put, cells, err);

    if (rc == HF_OK)
        rc = prompt_share(st, cells, err);
    if (rc < 0)
        return rc;
    hf__cells_insert_sql(&sql, st, HF_T_SESSIONS, cells);
    rc = hf__sql_prepare(st, sql.failed ? NULL : sql.ptr, &stmt, err);
    hf__buf_free(&sql);
    if (rc < 0)
        return rc;
    hf__cells_bind(stmt, st, HF_T_SESSIONS, cells);
    rc = hf__sql_run(st, stmt, "storing a session", err);
    if (rc == HF_OK && put->mode == HF_PUT_VERBATIM)
        rc = children_join(st, &put->session->id, err);
    return rc;
}

/* Fills in what is NULL, column by column; a row that lacks nothing is not written. */
static int
session_fill(struct hf_sqlite_store *st, const struct put *put, struct hf__cells *cells,
             struct hf_error *err)
{
    char sql[512];
    int rc;

    for (size_t i = 0; i < cells->n; i++) {
        struct hf__cell *cell = &cells->v[i];
        sqlite3_stmt *stmt;
        if (cell->type == SQLITE_NULL || strcmp(cell->column, "id") == 0 ||
            strcmp(cell->column, "archived") == 0 ||
            strcmp(cell->column, "hidden") == 0 || strcmp(cell->column, "pinned") == 0 ||
            strlen(cell->column) > 100 || strchr(cell->column, '"') ||
            !hf__column_find(st, HF_T_SESSIONS, cell->column, strlen(cell->column)))
            continue;
        snprintf(sql, sizeof sql,
                 "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2 AND sessions.\"%s\" IS NULL",
                 cell->column, cell->column);
        rc = hf__sql_prepare(st, sql, &stmt, err);
        if (rc < 0)
            return rc;
        hf__cell_bind(stmt, 1, cell);
        hf__bind_text(stmt, 2, &put->session->id);
        rc = hf__sql_run(st, stmt, "filling in a session", err);
        if (rc < 0)
            return rc;
    }
    return HF_OK;
}

static int
put_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    const struct put *put = ctx;
    const struct hf_text *id = &put->session->id;
    struct hf__cells cells = {0};
    struct hf_error none;
    int rc, there;

    rc = hf__session_exists(st, id, &none);
    there = rc == HF_OK;
    if (rc < 0 && rc != HF_NOT_FOUND) {
        *err = none;
        return rc;
    }
    if (there && put->mode != HF_PUT_ENSURE)
        return hf_error_set(err, HF_EXISTS, st->path, "session %.*s exists already",
                            ID_ARGS(id));
    rc = session_cells(st, put, &cells, err);
    if (rc == HF_OK && cells.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (rc == HF_OK && !there)
        rc = title_free(st, id, &put->session->title, err);
    if (rc == HF_OK && there) {
        /* Only what the row lacks counts: a parent or title that it has stays. */
        rc = parent_check(st, put, &cells, err);
        if (rc == HF_NOT_FOUND) {
            cell_named(&cells, "parent_session_id")->type = SQLITE_NULL;
            rc = HF_OK;
        }
        if (rc == HF_OK)
            rc = prompt_share(st, &cells, err);
        if (rc == HF_OK && put->session->title.ptr) {
            rc = title_free(st, id, &put->session->title, err);
            if (rc == HF_EXISTS) { /* an error only if it would have been written */
                sqlite3_stmt *stmt;
                int ask = hf__sql_prepare(
                    st, "SELECT 1 FROM sessions WHERE id = ?1 AND title IS NULL", &stmt,
                    &none);
                if (ask == HF_OK) {
                    hf__bind_text(stmt, 1, id);
                    if (sqlite3_step(stmt) == SQLITE_DONE) {
                        cell_named(&cells, "title")->type = SQLITE_NULL;
                        rc = HF_OK;
                    }
                    hf_sqlite_done(stmt);
                }
            }
        }
        if (rc == HF_OK)
            rc = session_fill(st, put, &cells, err);
    } else if (rc == HF_OK) {
        rc = session_insert(st, put, &cells, err);
    }
    hf__cells_free(&cells);
    return rc;
}

int
hf__op_session_put(void *store, const struct hf_session *session, uint32_t mode,
                   struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_session copy;
    struct put put = {&copy, mode};
    int rc;

    hf__abi_copy(&copy, sizeof copy, session);
    if (!copy.source.ptr)
        copy.source = hf_str("unknown");
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, put_work, &put, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

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
                          ID_ARGS(id));
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
                            ID_ARGS(id));
    pthread_mutex_lock(&st->lock);
    rc = session_emit(st, id, want, emit, ctx, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
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
    if (f->op != HF_FIELD_SET && f->op != HF_FIELD_SET_IF_NULL && f->op != HF_FIELD_ADD)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: operation %u is not known", f->name, f->op);
    if (f->type != HF_NULL && f->type != HF_INT && f->type != HF_REAL &&
        f->type != HF_TEXT)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: type %u is not known", f->name, f->type);
    if (f->op == HF_FIELD_ADD && f->type != HF_INT && f->type != HF_REAL)
        return hf_error_set(err, HF_INVALID, st->path,
                            "column %s: only a number can be added", f->name);
    return HF_OK;
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
        rc = title_free(st, id, &f->text, err);
    if (rc < 0)
        return rc;
    if (f->op == HF_FIELD_SET)
        snprintf(sql, sizeof sql, "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2", name);
    else if (f->op == HF_FIELD_SET_IF_NULL)
        snprintf(sql, sizeof sql,
                 "UPDATE sessions SET \"%s\" = ?1 WHERE id = ?2 AND sessions.\"%s\""
                 " IS NULL", name, name);
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
