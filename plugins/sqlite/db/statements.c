/* statements.c - the cache of prepared statements of one connection: each text is
 * prepared once.  It knows nothing of what the statements do. */
#include <stdlib.h>
#include <string.h>

#include "db.h"

/* A bound for callers that build their SQL; the fixed texts of a backend are far fewer.
 */
#define MOST 256u

struct hf__statement {
    struct hf__statement *next;
    sqlite3_stmt *stmt;
    char *sql;
    uint32_t hash;
    uint64_t used; /* clock of the last use */
};

static uint32_t
text_hash(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static void
statement_free(struct hf__statement *st)
{
    sqlite3_finalize(st->stmt);
    free(st->sql);
    free(st);
}

/* Drops the statement that was not used for the longest time and is not running. */
static void
evict_one(struct hf_sqlite_db *db)
{
    struct hf__statement **oldest = NULL;
    for (size_t i = 0; i < sizeof db->statements / sizeof *db->statements; i++)
        for (struct hf__statement **p = &db->statements[i]; *p; p = &(*p)->next)
            if (!sqlite3_stmt_busy((*p)->stmt) &&
                (!oldest || (*p)->used < (*oldest)->used))
                oldest = p;
    if (oldest) {
        struct hf__statement *gone = *oldest;
        *oldest = gone->next;
        statement_free(gone);
        db->n_statements--;
    }
}

int
hf_sqlite_prepare(struct hf_sqlite_db *db, const char *sql, sqlite3_stmt **ret_stmt,
                  struct hf_error *err)
{
    uint32_t hash = text_hash(sql);
    if (hf__forked(db))
        return hf__fork_check(db, err);
    int refreshed = hf__read_refresh(db, err);
    if (refreshed != HF_OK)
        return refreshed;
    hf__generation_glance(db);
    struct hf__statement **head =
        &db->statements[hash % (sizeof db->statements / sizeof *db->statements)];
    hf__busy_new_call(db);
    for (struct hf__statement *st = *head; st; st = st->next)
        /* One that is running belongs to a caller further out: it gets a twin. */
        if (st->hash == hash && !strcmp(st->sql, sql) && !sqlite3_stmt_busy(st->stmt)) {
            sqlite3_reset(st->stmt);
            sqlite3_clear_bindings(st->stmt);
            st->used = ++db->statement_clock;
            *ret_stmt = st->stmt;
            return HF_OK;
        }
    if (db->n_statements >= MOST)
        evict_one(db);
    struct hf__statement *st = calloc(1, sizeof *st);
    if (!st || !(st->sql = strdup(sql))) {
        free(st);
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    }
    int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                &st->stmt, NULL);
    if (rc != SQLITE_OK || !st->stmt) {
        statement_free(st);
        return hf_sqlite_fail(db, rc ? rc : SQLITE_MISUSE, "prepare a statement", err);
    }
    st->hash = hash;
    st->used = ++db->statement_clock;
    st->next = *head;
    *head = st;
    db->n_statements++;
    *ret_stmt = st->stmt;
    return HF_OK;
}

void
hf_sqlite_done(sqlite3_stmt *stmt)
{
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
}

void
hf__statements_close(struct hf_sqlite_db *db)
{
    for (size_t i = 0; i < sizeof db->statements / sizeof *db->statements; i++)
        while (db->statements[i]) {
            struct hf__statement *st = db->statements[i];
            db->statements[i] = st->next;
            statement_free(st);
        }
    db->n_statements = 0;
}
