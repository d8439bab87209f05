/* stats.c - counts and sizes. */
#include <string.h>
#include <sys/stat.h>

#include "private.h"

static uint64_t
file_bytes(const char *path, const char *suffix)
{
    char name[4200];
    struct stat sb;
    if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name)
        return 0;
    return stat(name, &sb) == 0 ? (uint64_t)sb.st_size : 0;
}

static int
count_rows(struct hf_sqlite_store *st, const char *sql, uint64_t *ret,
           struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, sql, &stmt, err);
    if (rc < 0)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = (uint64_t)sqlite3_column_int64(stmt, 0);
    rc = rc == SQLITE_ROW ? HF_OK : hf__sql_fail(st, rc, "counting", err);
    hf_sqlite_done(stmt);
    return rc;
}

static int
sources_emit(struct hf_sqlite_store *st, hf_source_fn *emit, void *ctx,
             struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int step, rc = hf__sql_prepare(
        st, "SELECT source, COUNT(*) FROM sessions GROUP BY source ORDER BY source",
        &stmt, err);
    if (rc < 0)
        return rc;
    while (rc == HF_OK && (step = sqlite3_step(stmt)) != SQLITE_DONE) {
        struct hf_text source;
        if (step != SQLITE_ROW) {
            rc = hf__sql_fail(st, step, "counting", err);
            break;
        }
        source = hf__text_column(stmt, 0);
        rc = emit(ctx, &source, (uint64_t)sqlite3_column_int64(stmt, 1));
    }
    hf_sqlite_done(stmt);
    return rc;
}

int
hf__op_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
             struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_stats stats = HF_INIT(struct hf_stats);
    const char *mode = "unknown";
    int rc;

    if (!st->db) {
        hf__abi_copy(ret, ret->abi.size, &stats);
        return HF_OK;
    }
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    rc = count_rows(st, "SELECT COUNT(*) FROM sessions", &stats.sessions, err);
    if (rc == HF_OK)
        rc = count_rows(st, "SELECT COUNT(*) FROM messages", &stats.messages, err);
    if (rc == HF_OK && emit_source)
        rc = sources_emit(st, emit_source, ctx, err);
    stats.bytes_main = file_bytes(st->path, "");
    stats.bytes_wal = file_bytes(st->path, "-wal");
    if (hf_sqlite_journal(st->db) == HF_JOURNAL_WAL)
        mode = "wal";
    else if (hf_sqlite_journal(st->db) == HF_JOURNAL_DELETE)
        mode = "delete";
    snprintf(stats.journal_mode, sizeof stats.journal_mode, "%s", mode);
    rc = hf__read_unlock(st, rc, err);
    if (rc == HF_OK)
        hf__abi_copy(ret, ret->abi.size, &stats);
    return rc;
}
