/* columns.c - which tables and columns this file has, and how SQL names them: an older
 * file that is only read has no column for much of what is declared (SPEC 3.5). */
#include <stdlib.h>
#include <string.h>

#include "private.h"

static int
declared_find(const struct hf__column *columns, const char *name)
{
    for (int i = 0; columns[i].name; i++)
        if (strcmp(columns[i].name, name) == 0)
            return i;
    return -1;
}

static int
columns_read(struct hf_sqlite_store *st, const char *table,
             const struct hf__column *declared, uint64_t *has,
             struct hf__file_column **ret, uint32_t *ret_n, struct hf_error *err)
{
    struct hf__file_column *v = NULL;
    sqlite3_stmt *stmt;
    uint32_t n = 0;
    int rc;

    rc = hf__sql_prepare(st, "SELECT name, \"notnull\" FROM pragma_table_info(?1)", &stmt,
                         err);
    if (rc < 0)
        return rc;
    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        struct hf__file_column *more = realloc(v, (n + 1) * sizeof *v);
        if (!more || !name)
            goto no_memory;
        v = more;
        v[n].name = strdup(name);
        if (!v[n].name)
            goto no_memory;
        v[n].declared = declared_find(declared, name);
        v[n].not_null = sqlite3_column_int(stmt, 1) != 0;
        if (v[n].declared >= 0)
            has[v[n].declared / 64] |= UINT64_C(1) << (v[n].declared % 64);
        n++;
    }
    *ret = v;
    *ret_n = n;
    if (rc != SQLITE_DONE) {
        rc = hf__sql_fail(st, rc, "reading the schema", err);
        hf_sqlite_done(stmt);
        return rc;
    }
    hf_sqlite_done(stmt);
    return HF_OK;

no_memory:
    hf_sqlite_done(stmt);
    *ret = v;
    *ret_n = n;
    return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory reading the schema");
}

static int
tables_read(struct hf_sqlite_store *st, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN"
        " ('state_meta', 'session_model_usage', 'system_prompts')",
        &stmt, err);
    if (rc < 0)
        return rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (!name)
            continue;
        if (strcmp(name, "state_meta") == 0)
            st->shape.has_meta = 1;
        else if (strcmp(name, "session_model_usage") == 0)
            st->shape.has_usage = 1;
        else
            st->shape.has_system_prompts = 1;
    }
    if (rc != SQLITE_DONE) {
        rc = hf__sql_fail(st, rc, "reading the schema", err);
        hf_sqlite_done(stmt);
        return rc;
    }
    hf_sqlite_done(stmt);
    return HF_OK;
}

/* Columns without which the rest has no meaning. */
static int
required_check(const struct hf_sqlite_store *st, struct hf_error *err)
{
    static const struct { enum hf__table table; const char *name; } required[] = {
        {HF_T_SESSIONS, "id"},         {HF_T_SESSIONS, "source"},
        {HF_T_SESSIONS, "started_at"}, {HF_T_MESSAGES, "id"},
        {HF_T_MESSAGES, "session_id"}, {HF_T_MESSAGES, "role"},
        {HF_T_MESSAGES, "content"},    {HF_T_MESSAGES, "timestamp"},
    };
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!hf__column_find(st, required[i].table, required[i].name,
                             strlen(required[i].name)))
            return hf_error_set(
                err, HF_UNSUPPORTED, st->path,
                "%s is no session store: its table %s has no column %s; point --home at "
                "the folder of another state.db, or move this file away",
                st->path, required[i].table == HF_T_SESSIONS ? "sessions" : "messages",
                required[i].name);
    return HF_OK;
}

int
hf__shape_read(struct hf_sqlite_store *st, struct hf_error *err)
{
    int rc;

    hf__shape_free(&st->shape);
    rc = columns_read(st, "sessions", hf__session_columns, st->shape.sessions_has,
                      &st->shape.sessions, &st->shape.n_sessions, err);
    if (rc == HF_OK)
        rc = columns_read(st, "messages", hf__message_columns, st->shape.messages_has,
                          &st->shape.messages, &st->shape.n_messages, err);
    if (rc == HF_OK)
        rc = tables_read(st, err);
    if (rc == HF_OK)
        rc = required_check(st, err);
    if (rc == HF_OK)
        rc = hf__fts_shape(st, err);
    return rc;
}

void
hf__shape_free(struct hf__shape *shape)
{
    for (uint32_t i = 0; i < shape->n_sessions; i++)
        free(shape->sessions[i].name);
    for (uint32_t i = 0; i < shape->n_messages; i++)
        free(shape->messages[i].name);
    free(shape->sessions);
    free(shape->messages);
    memset(shape, 0, sizeof *shape);
}

const struct hf__file_column *
hf__column_find(const struct hf_sqlite_store *st, enum hf__table table, const char *name,
                size_t len)
{
    const struct hf__file_column *v =
        table == HF_T_SESSIONS ? st->shape.sessions : st->shape.messages;
    uint32_t n = table == HF_T_SESSIONS ? st->shape.n_sessions : st->shape.n_messages;
    for (uint32_t i = 0; i < n; i++)
        if (strlen(v[i].name) == len && memcmp(v[i].name, name, len) == 0)
            return &v[i];
    return NULL;
}

/* Always with the alias: SQLite reads a quoted name that stands alone and is no column
 * as a string. */
void
hf__column_sql(struct hf__buf *out, const struct hf_sqlite_store *st,
               enum hf__table table, const char *alias, const char *name)
{
    const struct hf__column *declared =
        table == HF_T_SESSIONS ? hf__session_columns : hf__message_columns;
    int i = declared_find(declared, name);
    int here = hf__column_find(st, table, name, strlen(name)) != NULL;

    if (!here) {
        hf__buf_adds(out, i >= 0 && declared[i].fallback ? declared[i].fallback : "NULL");
        return;
    }
    if (alias && *alias)
        hf__buf_addf(out, "%s.", alias);
    if (i >= 0) {
        hf__buf_adds(out, name); /* all of ours are plain words */
        return;
    }
    hf__buf_addc(out, '"');
    for (const char *p = name; *p; p++) {
        if (*p == '"')
            hf__buf_addc(out, '"');
        hf__buf_addc(out, *p);
    }
    hf__buf_addc(out, '"');
}
