/* search_scan.c - rows that are read and looked at one by one: all of them, those not
 * indexed yet, or those that the indexes could narrow the query down to. */
#include <string.h>

#include "search.h"

static int
is_hit(const struct hf__searching *s, int64_t id)
{
    size_t low = 0, high = s->n_indexed;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->hits[mid].id == id)
            return 1;
        if (s->hits[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

static int
row_look(struct hf__searching *s, sqlite3_stmt *cells, int64_t id, uint32_t *ret_holds)
{
    struct hf_text content, name, calls;
    int rc;

    sqlite3_bind_int64(cells, 1, id);
    rc = sqlite3_step(cells);
    if (rc == SQLITE_ROW) {
        content = hf__text_column(cells, 0);
        name = hf__text_column(cells, 1);
        calls = hf__text_column(cells, 2);
        rc = hf__matcher_message(&s->matcher, s->st->shape.fts_layout, &content, &name,
                                 &calls, ret_holds);
    }
    sqlite3_reset(cells);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The ids come from one statement and the text from another, so that the text of rows
 * that are hits already is not even read from the file. */
static int
rows_read(struct hf__searching *s, sqlite3_stmt *ids, uint64_t max)
{
    sqlite3_stmt *cells = NULL;
    uint64_t added = 0;
    int rc = sqlite3_prepare_v2(hf_sqlite_handle(s->st->db),
                                "SELECT content, tool_name, tool_calls FROM messages"
                                " WHERE id = ?1",
                                -1, &cells, NULL);

    while (rc == SQLITE_OK && (max == 0 || added < max) &&
           (rc = sqlite3_step(ids)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(ids, 0);
        uint32_t holds = 0;
        rc = SQLITE_OK;
        if (is_hit(s, id))
            continue;
        rc = row_look(s, cells, id, &holds);
        if (rc == SQLITE_OK && holds) {
            rc = hf__search_add(s, id, 0) == HF_OK ? SQLITE_OK : SQLITE_NOMEM;
            added++;
        }
    }
    sqlite3_finalize(cells);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
hf__scan(struct hf__searching *s, enum hf__scan kind, uint64_t max,
         uint32_t *ret_narrowed)
{
    struct hf__buf sql = {0}, narrow = {0};
    struct hf__args args = {0};
    sqlite3_stmt *stmt = NULL;
    int next = 1, first, rc = SQLITE_OK;

    *ret_narrowed = 0;
    hf__buf_adds(&sql, "SELECT m.id FROM messages m JOIN sessions x ON x.id = m.session_id WHERE ");
    if (kind == HF__SCAN_GAP) {
        hf__buf_addf(&sql, "m.id > ?%d AND m.id <= ?%d", next, next + 1);
        next += 2;
    } else if (kind == HF__SCAN_NARROW) {
        if (!hf__fts_narrow(&narrow, s, s->query.root, &args, &next))
            goto out;
        *ret_narrowed = 1;
        hf__buf_addc(&sql, '(');
        hf__buf_add(&sql, narrow.ptr, narrow.len);
        if (s->gap_to)
            hf__buf_addf(&sql, " OR (m.id > %lld AND m.id <= %lld)",
                         (long long)s->gap_from, (long long)s->gap_to);
        hf__buf_addc(&sql, ')');
    } else
        hf__buf_addc(&sql, '1');
    first = next;
    hf__search_filters(&sql, s, first);
    hf__buf_adds(&sql, s->q->order == HF_BY_OLDEST ? " ORDER BY m.id"
                                                   : " ORDER BY m.id DESC");
    if (sql.failed || narrow.failed)
        rc = SQLITE_NOMEM;
    else
        rc = sqlite3_prepare_v2(hf_sqlite_handle(s->st->db), sql.ptr, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        if (kind == HF__SCAN_GAP) {
            sqlite3_bind_int64(stmt, 1, s->gap_from);
            sqlite3_bind_int64(stmt, 2, s->gap_to);
        }
        for (uint32_t i = 0; i < args.n; i++)
            sqlite3_bind_text64(stmt, (int)i + 1, args.text[i].ptr, args.text[i].len,
                                SQLITE_STATIC, SQLITE_UTF8);
        hf__search_bind(stmt, s, first);
        rc = rows_read(s, stmt, max);
    }
out:
    sqlite3_finalize(stmt);
    hf__args_free(&args);
    hf__buf_free(&sql);
    hf__buf_free(&narrow);
    return rc;
}
