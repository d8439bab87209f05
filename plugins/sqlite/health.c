/* health.c - check (SPEC 12.3, 13 "Health probe"), as far as it goes without writing: no
 * transaction here takes a write lock.  Findings have stable codes. */
#include "health.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int
hf__probe_say(struct hf__probe *p, uint32_t severity, const char *code,
              const char *remedy, uint32_t fixable, const char *fmt, ...)
{
    struct hf_finding finding = HF_INIT(struct hf_finding);
    char text[1024];
    va_list ap;
    int rc = p->db ? hf_sqlite_read_check(p->st->db, p->err) : HF_OK;

    if (rc < 0) /* what looks like damage may be somebody's write */
        return rc;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    finding.code = code;
    finding.path = p->st->path;
    finding.text = text;
    finding.remedy = remedy;
    finding.severity = severity;
    finding.fixable = fixable;
    return p->emit(p->ctx, &finding);
}

int
hf__probe_int(struct hf__probe *p, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(p->db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc;
}

int
hf__probe_stop(struct hf__probe *p, int rc)
{
    switch (rc & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return HF_OK;
    default:
        return hf_sqlite_fail(p->st->db, rc, "check the store", p->err);
    }
}

/* ---- the library ---- */

int
hf__wal_reset_vulnerable(int version)
{
    if (version < 3007000 || version > 3051002)
        return 0;
    if (version >= 3044006 && version < 3045000)
        return 0;
    return !(version >= 3050007 && version < 3051000);
}

static int
library_probe(struct hf__probe *p)
{
    int rc = hf__probe_say(p, HF_SEV_OK, "sqlite_version", NULL, 0,
                           "SQLite %s (source id %s)", sqlite3_libversion(),
                           sqlite3_sourceid());

    if (rc == HF_OK && hf__wal_reset_vulnerable(sqlite3_libversion_number()))
        rc = hf__probe_say(
            p, HF_SEV_INFO, "sqlite_wal_reset", NULL, 0,
            "SQLite %s can lose commits when two programs checkpoint at once; Holdfast "
            "never checkpoints that way, but other programs that open the file may",
            sqlite3_libversion());
    return rc;
}

/* ---- the tables ---- */

static int
tables_probe(struct hf__probe *p)
{
    int64_t sessions = 0, messages = 0, version = 0;
    int rc = hf__probe_int(p, "SELECT count(*) FROM sessions", &sessions), stop;

    if (rc == SQLITE_ROW)
        rc = hf__probe_int(p, "SELECT count(*) FROM messages", &messages);
    stop = hf__probe_stop(p, rc);
    if (stop != HF_OK)
        return stop;
    if (rc == SQLITE_ERROR)
        return hf__probe_say(p, HF_SEV_FAILURE, "schema_missing", NULL, 0,
                             "the tables sessions and messages cannot be read: %s",
                             sqlite3_errmsg(p->db));
    if (rc != SQLITE_ROW)
        return hf__probe_say(p, HF_SEV_FAILURE, "structural_damage",
                             "holdfast sessions recover --source DB --output NEW", 0,
                             "the rows cannot be counted: %s", sqlite3_errmsg(p->db));
    rc = hf__probe_say(p, HF_SEV_OK, "counts", NULL, 0, "%lld sessions, %lld messages",
                       (long long)sessions, (long long)messages);
    if (rc != HF_OK)
        return rc;
    rc = hf__probe_int(p, "SELECT version FROM schema_version LIMIT 1", &version);
    if (rc == SQLITE_ROW)
        return hf__probe_say(p, HF_SEV_OK, "schema", NULL, 0, "schema version %lld",
                             (long long)version);
    return HF_OK;
}

static int
foreign_keys_probe(struct hf__probe *p)
{
    sqlite3_stmt *stmt = NULL;
    int64_t n = 0;
    char table[64] = "", parent[64] = "";
    int rc = sqlite3_prepare_v2(p->db, "PRAGMA foreign_key_check", -1, &stmt, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW)
            break;
        if (n++ == 0) {
            snprintf(table, sizeof table, "%s", sqlite3_column_text(stmt, 0));
            snprintf(parent, sizeof parent, "%s", sqlite3_column_text(stmt, 2));
        }
    }
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE && n == 0)
        return HF_OK;
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    if (rc != SQLITE_DONE)
        return hf__probe_say(p, HF_SEV_WARNING, "foreign_keys", NULL, 0,
                             "foreign keys cannot be checked: %s",
                             sqlite3_errmsg(p->db));
    return hf__probe_say(p, HF_SEV_WARNING, "foreign_keys", NULL, 0,
                         "%lld rows refer to rows that are not there (the first in %s,"
                         " to %s); nothing is lost by it",
                         (long long)n, table, parent);
}

/* ---- the operation ---- */

static int
probe_run(struct hf__probe *p)
{
    int rc = library_probe(p);

    if (rc == HF_OK)
        rc = tables_probe(p);
    if (rc == HF_OK)
        rc = hf__probe_fts(p);
    if (rc == HF_OK)
        rc = hf__probe_pages(p);
    if (rc == HF_OK && p->level != HF_CHECK_QUICK)
        rc = foreign_keys_probe(p);
    return rc;
}

int
hf__op_check(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
             struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf__probe p = {.st = st, .level = level, .emit = emit, .ctx = ctx, .err = err};
    int rc;

    if (!st->db)
        return hf__probe_say(&p, HF_SEV_OK, "no_store", NULL, 0,
                             "there is no store yet");
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    p.db = hf_sqlite_handle(st->db);
    rc = probe_run(&p);
    return hf__read_unlock(st, rc, err);
}
