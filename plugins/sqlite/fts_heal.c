/* fts_heal.c - the search index heals by itself (SPEC 4.4): is it still whole, and its
 * rebuilding in short write transactions.
 *
 * The first step makes the tables anew, empty, with their triggers, and declares every
 * row there is as not indexed yet (fts_rebuild_high_water, fts_rebuild_progress): from
 * then on the triggers keep what is indexed right, whoever writes.  Each further step
 * indexes a batch; the last one takes the markers away.  Until then fts_stale stands and
 * search reads the rows.  A crash leaves the state between two steps, from which anybody
 * goes on. */
#include <string.h>

#include "private.h"

enum { STEP_ROWS = 500, STEP_MS = 50, SLICE = 50, OPEN_MS = 200 };

/* ---- is it whole ---- */

/* The row count in the averages record of an FTS5 table: the first number of block 1, in
 * base 128, high bits first. */
static int64_t
averages_rows(const unsigned char *s, int n)
{
    int64_t rows = 0;
    for (int i = 0; i < n && i < 8; i++) {
        rows = (rows << 7) | (s[i] & 0x7F);
        if (!(s[i] & 0x80))
            break;
    }
    return rows;
}

int
hf__fts_rows(sqlite3 *db, const char *table, int64_t *ret_averages, int64_t *ret_sizes)
{
    sqlite3_stmt *stmt = NULL;
    char sql[240];
    int rc;

    /* One statement, so that both are of one moment. */
    snprintf(sql, sizeof sql,
             "SELECT (SELECT block FROM %s_data WHERE id = 1),"
             " (SELECT count(*) FROM %s_docsize)",
             table, table);
    rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        const unsigned char *block = sqlite3_column_blob(stmt, 0);
        *ret_averages = averages_rows(block, sqlite3_column_bytes(stmt, 0));
        *ret_sizes = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return rc;
}

int
hf__fts_rows_lost(struct hf_sqlite_store *st)
{
    sqlite3 *db = hf_sqlite_handle(st->db);
    int64_t averages, sizes;

    if (st->fts_looked || st->shape.fts_layout == HF_FTS_NONE)
        return 0;
    st->fts_looked = 1;
    if (hf__fts_rows(db, "messages_fts", &averages, &sizes) == SQLITE_ROW &&
        averages != sizes)
        return 1;
    return st->shape.has_trigram &&
           hf__fts_rows(db, "messages_fts_trigram", &averages, &sizes) == SQLITE_ROW &&
           averages != sizes;
}

/* ---- one step ---- */

struct healing {
    struct hf_sqlite_store *st;
    struct hf__schema_walk walk;
    int64_t progress, high; /* rows in (progress, high] are to be indexed */
    uint32_t finished;
};

static int
number_put(struct healing *h, const char *key, int64_t value, struct hf_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return hf__schema_meta_put(&h->walk, key, text, err);
}

static int
number_get(struct healing *h, const char *sql, int64_t *ret, struct hf_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = hf__sql_prepare(h->st, sql, &stmt, err);

    if (rc < 0)
        return rc;
    rc = sqlite3_step(stmt);
    *ret = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(h->st, rc, "reading the search index's state", err);
    hf_sqlite_done(stmt);
    return rc;
}

/* Tables that cannot even be dropped are taken out of the schema: their pages are lost
 * until the next VACUUM, nothing else is. */
static int
tables_drop(struct healing *h, struct hf_error *err)
{
    struct hf_error first;

    if (hf__schema_exec(&h->walk, "SAVEPOINT heal", err) < 0)
        return err ? err->code : HF_CORRUPT;
    if (hf__schema_exec(&h->walk,
                        "DROP TABLE IF EXISTS messages_fts;"
                        "DROP TABLE IF EXISTS messages_fts_trigram;"
                        "DROP VIEW IF EXISTS messages_fts_trigram_src;"
                        "RELEASE heal",
                        &first) == HF_OK)
        return HF_OK;
    return hf__schema_exec(
        &h->walk,
        "ROLLBACK TO heal; RELEASE heal; PRAGMA writable_schema = ON;"
        "DELETE FROM sqlite_master WHERE name IN ('messages_fts', 'messages_fts_trigram',"
        " 'messages_fts_trigram_src') OR tbl_name IN ('messages_fts_data',"
        " 'messages_fts_idx', 'messages_fts_docsize', 'messages_fts_config',"
        " 'messages_fts_content', 'messages_fts_trigram_data', 'messages_fts_trigram_idx',"
        " 'messages_fts_trigram_docsize', 'messages_fts_trigram_config',"
        " 'messages_fts_trigram_content');"
        "PRAGMA writable_schema = RESET",
        err);
}

static int
begin_anew(struct healing *h, struct hf_error *err)
{
    int64_t last = 0;
    int rc = number_get(h, "SELECT max(id) FROM messages", &last, err);

    if (rc == HF_OK)
        rc = hf__fts_detach(h->st, 0, err);
    if (rc == HF_OK)
        rc = tables_drop(h, err);
    if (rc == HF_OK)
        rc = number_put(h, "fts_rebuild_high_water", last, err);
    if (rc == HF_OK)
        rc = number_put(h, "fts_rebuild_progress", 0, err);
    if (rc == HF_OK)
        rc = hf__fts_make(&h->walk, err);
    if (rc == HF_OK)
        rc = hf__schema_meta_put(&h->walk, "holdfast_fts_heal", "1", err);
    h->progress = 0;
    h->high = last;
    return rc;
}

static int
slice_index(struct healing *h, int64_t to, struct hf_error *err)
{
    char sql[400];
    int rc;

    snprintf(sql, sizeof sql,
             "INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)"
             " SELECT id, content, tool_name, tool_calls FROM messages"
             " WHERE id > %lld AND id <= %lld ORDER BY id",
             (long long)h->progress, (long long)to);
    rc = hf__schema_exec(&h->walk, sql, err);
    if (rc < 0)
        return rc;
    snprintf(sql, sizeof sql,
             "INSERT INTO messages_fts_trigram(rowid, content, tool_name, tool_calls)"
             " SELECT id, content, tool_name, tool_calls FROM messages_fts_trigram_src"
             " WHERE id > %lld AND id <= %lld ORDER BY id",
             (long long)h->progress, (long long)to);
    return hf__schema_exec(&h->walk, sql, err);
}

static int
batch_index(struct healing *h, struct hf_error *err)
{
    int64_t began = hf__monotonic_ms();
    char sql[240];
    int rc = HF_OK;

    for (int rows = 0; rows < STEP_ROWS && hf__monotonic_ms() - began < STEP_MS;
         rows += SLICE) {
        int64_t to = 0;
        snprintf(sql, sizeof sql,
                 "SELECT max(id) FROM (SELECT id FROM messages WHERE id > %lld"
                 " AND id <= %lld ORDER BY id LIMIT %d)",
                 (long long)h->progress, (long long)h->high, SLICE);
        rc = number_get(h, sql, &to, err);
        if (rc < 0)
            return rc;
        if (to <= h->progress) {
            h->finished = 1;
            return number_put(h, "holdfast_fts_healed", h->st->fts_healed + 1, err) < 0
                       ? err->code
                       : hf__schema_exec(
                             &h->walk,
                             "DELETE FROM state_meta WHERE key IN ('fts_stale',"
                             " 'holdfast_fts_heal', 'fts_rebuild_high_water',"
                             " 'fts_rebuild_progress', 'fts_rebuild_deferral')",
                             err);
        }
        rc = slice_index(h, to, err);
        if (rc < 0)
            return rc;
        h->progress = to;
    }
    return number_put(h, "fts_rebuild_progress", h->progress, err);
}

static int
step_locked(struct healing *h, struct hf_error *err)
{
    uint32_t stale = 0, ours = 0;
    int64_t healing = 0;
    int rc = hf__fts_stale(h->st, &stale, err);

    if (rc < 0 || !stale) {
        h->st->fts_stale = stale; /* somebody else has done it */
        return rc;
    }
    rc = number_get(h, "SELECT count(*) FROM state_meta WHERE key = 'holdfast_fts_heal'",
                    &healing, err);
    if (rc == HF_OK)
        rc = hf__fts_ours(&h->walk, &ours, err);
    if (rc < 0)
        return rc;
    if (!ours) {
        h->st->fts_heal_off = 1; /* somebody else's layout is for somebody else */
        return HF_OK;
    }
    if (!healing)
        return begin_anew(h, err);
    rc = hf__fts_gap(h->st, &h->progress, &h->high, err);
    return rc < 0 ? rc : batch_index(h, err);
}

int
hf__fts_heal_step(struct hf_sqlite_store *st, struct hf_error *err)
{
    struct healing h = {
        .st = st, .walk = {.st = st, .db = hf_sqlite_handle(st->db), .fix = 1}};
    struct hf_error local;
    int rc;

    if (!err)
        err = &local;
    if (!st->fts_stale || st->fts_heal_off || st->read_only)
        return HF_OK;
    rc = hf_sqlite_begin(st->db, 0, err); /* never in anybody's way */
    if (rc < 0)
        return rc == HF_BUSY ? HF_OK : rc;
    rc = step_locked(&h, err);
    if (rc == HF_OK)
        rc = hf_sqlite_commit(st->db, err);
    else
        hf_sqlite_rollback(st->db);
    if (rc < 0) {
        /* Not again on this handle: each try would cost as much and end the same. */
        if (rc != HF_BUSY && rc != HF_CANCELLED && rc != HF_DISK_FULL)
            st->fts_heal_off = 1;
        return rc;
    }
    if (!h.finished)
        return HF_OK;
    st->fts_damaged = 0;
    rc = hf__fts_shape(st, err);
    st->host->log(st->host->ctx, HF_LOG_INFO, "fts_healed", st->path,
                  "%s: the search index was built anew; search uses it again", st->path);
    return rc;
}

void
hf__fts_heal_open(struct hf_sqlite_store *st)
{
    int64_t until = hf__monotonic_ms() + OPEN_MS;
    struct hf_error ignored;

    while (st->fts_stale && !st->fts_heal_off && hf__monotonic_ms() < until) {
        int64_t before = sqlite3_total_changes(hf_sqlite_handle(st->db));
        if (hf__fts_heal_step(st, &ignored) < 0 ||
            sqlite3_total_changes(hf_sqlite_handle(st->db)) == before)
            return; /* busy: the next write goes on */
    }
}
