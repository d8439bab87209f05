/* cells.c - a row that is to be written, as names and values: the typed members of a
 * record and what its `extra` holds, as far as this file has columns for it. */
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "private.h"
#include "util/json_write.h"

static struct hf__cell *
cell_add(struct hf__cells *cells, const char *column, int type)
{
    struct hf__cell *v;
    if (cells->n == cells->cap) {
        size_t cap = cells->cap ? cells->cap * 2 : 32;
        v = realloc(cells->v, cap * sizeof *v);
        if (!v) {
            cells->failed = 1;
            return NULL;
        }
        cells->v = v;
        cells->cap = cap;
    }
    v = &cells->v[cells->n++];
    memset(v, 0, sizeof *v);
    v->column = column;
    v->type = type;
    return v;
}

void
hf__cells_text(struct hf__cells *cells, const char *column, const struct hf_text *text)
{
    struct hf__cell *cell =
        cell_add(cells, column, text->ptr ? SQLITE_TEXT : SQLITE_NULL);
    if (cell)
        cell->text = *text;
}

void
hf__cells_int(struct hf__cells *cells, const char *column, int64_t value)
{
    struct hf__cell *cell =
        cell_add(cells, column, value == HF_NO_INT ? SQLITE_NULL : SQLITE_INTEGER);
    if (cell)
        cell->i = value;
}

void
hf__cells_real(struct hf__cells *cells, const char *column, double value)
{
    struct hf__cell *cell =
        cell_add(cells, column, isnan(value) ? SQLITE_NULL : SQLITE_FLOAT);
    if (cell)
        cell->d = value;
}

/* A value that stands in JSON as something that no column holds: kept as its text. */
static void
cell_compound(struct hf__cells *cells, const char *column, const json_t *value)
{
    const json_t *coded = json_is_object(value) && json_object_size(value) == 1
                              ? json_object_get(value, "$base64")
                              : NULL;
    struct hf__cell *cell = cell_add(cells, column, SQLITE_TEXT);
    struct hf__buf text = {0};

    if (!cell)
        return;
    if (json_is_string(coded) &&
        hf__base64_read(&text, json_string_value(coded), json_string_length(coded))) {
        cell->type = SQLITE_BLOB;
    } else {
        hf__buf_clear(&text);
        hf__json_value(&text, value);
    }
    cell->text.len = text.len;
    cell->owned = hf__buf_take(&text);
    if (!cell->owned && cell->text.len)
        cells->failed = 1;
    cell->text.ptr = cell->owned ? cell->owned : "";
}

int
hf__cells_extra(struct hf__cells *cells, const struct hf_sqlite_store *st,
                enum hf__table table, const struct hf_text *extra, struct hf_error *err)
{
    json_t *json, *value;
    const char *key;

    if (!extra->ptr || extra->len == 0)
        return HF_OK;
    json = hf__json_parse(extra->ptr, extra->len);
    if (!json_is_object(json)) {
        json_decref(json);
        return hf_error_set(err, HF_INVALID, NULL,
                            "the further columns are no JSON object");
    }
    cells->json = json;
    json_object_foreach(json, key, value) {
        const struct hf__file_column *column =
            hf__column_find(st, table, key, strlen(key));
        if (!column || hf__column_typed(table, key))
            continue;
        /* The column's own name outlives the JSON. */
        if (json_is_null(value)) {
            if (!column->not_null)
                cell_add(cells, column->name, SQLITE_NULL);
        } else if (json_is_string(value)) {
            struct hf_text text =
                hf_text(json_string_value(value), json_string_length(value));
            hf__cells_text(cells, column->name, &text);
        } else if (json_is_integer(value)) {
            hf__cells_int(cells, column->name, (int64_t)json_integer_value(value));
        } else if (json_is_real(value)) {
            hf__cells_real(cells, column->name, json_real_value(value));
        } else if (json_is_boolean(value)) {
            hf__cells_int(cells, column->name, json_is_true(value));
        } else {
            cell_compound(cells, column->name, value);
        }
    }
    return HF_OK;
}

static int
cell_fits(const struct hf_sqlite_store *st, enum hf__table table,
          const struct hf__cell *cell)
{
    return hf__column_find(st, table, cell->column, strlen(cell->column)) != NULL;
}

void
hf__cells_insert_sql(struct hf__buf *out, const struct hf_sqlite_store *st,
                     enum hf__table table, const struct hf__cells *cells)
{
    size_t n = 0;
    hf__buf_addf(out, "INSERT INTO %s(",
                 table == HF_T_SESSIONS ? "sessions" : "messages");
    for (size_t i = 0; i < cells->n; i++) {
        if (!cell_fits(st, table, &cells->v[i]))
            continue;
        hf__buf_adds(out, n++ ? ", \"" : "\"");
        for (const char *p = cells->v[i].column; *p; p++) {
            if (*p == '"')
                hf__buf_addc(out, '"');
            hf__buf_addc(out, *p);
        }
        hf__buf_addc(out, '"');
    }
    hf__buf_adds(out, ") VALUES (");
    for (size_t i = 1; i <= n; i++)
        hf__buf_addf(out, "%s?%zu", i > 1 ? ", " : "", i);
    hf__buf_addc(out, ')');
}

void
hf__cell_bind(sqlite3_stmt *stmt, int index, const struct hf__cell *cell)
{
    switch (cell->type) {
    case SQLITE_INTEGER: sqlite3_bind_int64(stmt, index, cell->i); break;
    case SQLITE_FLOAT: sqlite3_bind_double(stmt, index, cell->d); break;
    case SQLITE_TEXT: hf__bind_text(stmt, index, &cell->text); break;
    case SQLITE_BLOB:
        sqlite3_bind_blob64(stmt, index, cell->text.ptr, cell->text.len, SQLITE_STATIC);
        break;
    default: sqlite3_bind_null(stmt, index); break;
    }
}

void
hf__cells_bind(sqlite3_stmt *stmt, const struct hf_sqlite_store *st,
               enum hf__table table, const struct hf__cells *cells)
{
    int n = 0;
    for (size_t i = 0; i < cells->n; i++)
        if (cell_fits(st, table, &cells->v[i]))
            hf__cell_bind(stmt, ++n, &cells->v[i]);
}

void
hf__cells_free(struct hf__cells *cells)
{
    for (size_t i = 0; i < cells->n; i++)
        free(cells->v[i].owned);
    free(cells->v);
    json_decref(cells->json);
    memset(cells, 0, sizeof *cells);
}
