/* put.c - storing a session: as a new one, filling in what one lacks, or as an import
 * brings it. */
#include <string.h>

#include "private.h"
#include "util/epoch.h"

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

/* Looked up rather than left to the index, which an old file with two equal titles
 * lacks. */
int
hf__title_free(struct hf_sqlite_store *st, const struct hf_text *id,
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
                          HF__ID_ARGS(title), HF__ID_ARGS(&owner));
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
                        HF__ID_ARGS(&put->session->id), HF__ID_ARGS(parent));
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

/* Whether ensure may fill this column in: it has a value, and the column can be NULL. */
static int
cell_fills(const struct hf_sqlite_store *st, const struct hf__cell *cell)
{
    const struct hf__file_column *column =
        hf__column_find(st, HF_T_SESSIONS, cell->column, strlen(cell->column));
    return cell->type != SQLITE_NULL && column && !column->not_null &&
           strcmp(cell->column, "id") != 0 && strlen(cell->column) <= 100 &&
           !strchr(cell->column, '"');
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
        if (!cell_fills(st, cell))
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
                            HF__ID_ARGS(id));
    rc = session_cells(st, put, &cells, err);
    if (rc == HF_OK && cells.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (rc == HF_OK && !there)
        rc = hf__title_free(st, id, &put->session->title, err);
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
            rc = hf__title_free(st, id, &put->session->title, err);
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
hf__session_ensure(struct hf_sqlite_store *st, const struct hf_session *session,
                   struct hf_error *err)
{
    struct put put = {session, HF_PUT_ENSURE};
    return put_work(st, &put, err);
}

/* Whether a session lacks something that PUT would fill in.  Asked before the write lock
 * is: a gateway ensures a session that is complete again and again. */
static int
fill_needed(struct hf_sqlite_store *st, const struct put *put, uint32_t *ret_needed,
            struct hf_error *err)
{
    struct hf__cells cells = {0};
    struct hf__buf sql = {0};
    sqlite3_stmt *stmt;
    int rc = session_cells(st, put, &cells, err);

    if (rc < 0)
        goto out;
    hf__buf_adds(&sql, "SELECT 0");
    for (size_t i = 0; i < cells.n; i++)
        if (cell_fills(st, &cells.v[i]))
            hf__buf_addf(&sql, " OR s.\"%s\" IS NULL", cells.v[i].column);
    hf__buf_adds(&sql, " FROM sessions AS s WHERE s.id = ?1");
    rc = hf__sql_prepare(st, sql.failed || cells.failed ? NULL : sql.ptr, &stmt, err);
    if (rc < 0)
        goto out;
    hf__bind_text(stmt, 1, &put->session->id);
    rc = sqlite3_step(stmt);
    *ret_needed = rc != SQLITE_ROW || sqlite3_column_int(stmt, 0);
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(st, rc, "looking for the session", err);
    hf_sqlite_done(stmt);
out:
    hf__buf_free(&sql);
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
    uint32_t needed = 1;
    int rc;

    hf__abi_copy(&copy, sizeof copy, session);
    if (!copy.source.ptr)
        copy.source = hf_str("unknown");
    rc = hf__write_refused(st, err);
    if (rc < 0)
        return rc;
    if (mode == HF_PUT_ENSURE) {
        struct hf_sqlite_store *from = hf__reader_acquire(st);
        pthread_mutex_lock(&from->lock);
        rc = fill_needed(from, &put, &needed, err);
        pthread_mutex_unlock(&from->lock);
        hf__reader_release(st, from);
        if (rc < 0 || !needed)
            return rc;
    }
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, put_work, &put, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}
