/* schema.c - the declared schema against a file (SPEC 6, 3.5).  One walk serves both
 * questions: whether anything differs (reading only), and putting it right inside the
 * transaction of the open.  So the two cannot disagree, and a settled file is opened
 * without the write lock.  Objects that are not declared are never looked at. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

int
hf__schema_fail(struct hf__schema_walk *walk, int rc, const char *what,
                struct hf_error *err)
{
    const char *path = walk->st ? walk->st->path : NULL;
    int code = HF_IO;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: code = HF_BUSY; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: code = HF_CORRUPT; break;
    case SQLITE_FULL: code = HF_DISK_FULL; break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN: code = HF_READ_ONLY; break;
    case SQLITE_NOMEM: code = HF_NO_MEMORY; break;
    case SQLITE_INTERRUPT: code = HF_CANCELLED; break;
    case SQLITE_ERROR: code = HF_UNSUPPORTED; break;
    default: break;
    }
    return hf_error_set(err, code, path, "schema of %s: %s: %s", path ? path : "store",
                        what, sqlite3_errmsg(walk->db));
}

int
hf__schema_exec(struct hf__schema_walk *walk, const char *sql, struct hf_error *err)
{
    int rc = sqlite3_exec(walk->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? HF_OK : hf__schema_fail(walk, rc, "update", err);
}

/* One text result of SQL with up to two bound texts. */
static int
text_query(struct hf__schema_walk *walk, const char *sql, const char *a, const char *b,
           char **ret, struct hf_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(walk->db, sql, -1, &stmt, NULL);

    if (rc != SQLITE_OK)
        return hf__schema_fail(walk, rc, "read", err);
    if (a)
        sqlite3_bind_text(stmt, 1, a, -1, SQLITE_STATIC);
    if (b)
        sqlite3_bind_text(stmt, 2, b, -1, SQLITE_STATIC);
    *ret = NULL;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        *ret = sqlite3_mprintf("%s", text ? text : "");
        sqlite3_finalize(stmt);
        return *ret ? HF_OK
                    : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    if (rc != SQLITE_DONE)
        rc = hf__schema_fail(walk, rc, "read", err);
    else
        rc = HF_OK;
    sqlite3_finalize(stmt);
    return rc;
}

int
hf__schema_object(struct hf__schema_walk *walk, const char *type, const char *name,
                  char **ret_sql, struct hf_error *err)
{
    return text_query(walk, "SELECT sql FROM sqlite_master WHERE type = ?1 AND name = ?2",
                      type, name, ret_sql, err);
}

int
hf__schema_meta_get(struct hf__schema_walk *walk, const char *key, char **ret,
                    struct hf_error *err)
{
    return text_query(walk, "SELECT value FROM state_meta WHERE key = ?1", key, NULL, ret,
                      err);
}

int
hf__schema_meta_put(struct hf__schema_walk *walk, const char *key, const char *value,
                    struct hf_error *err)
{
    char *none = NULL;
    return text_query(walk,
                      "INSERT INTO state_meta(key, value) VALUES (?1, ?2)"
                      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                      key, value, &none, err);
}

/* ---- tables and columns ---- */

/* Whether one SELECT of every declared column can be prepared: the cheap question. */
static int
table_probe(struct hf__schema_walk *walk, const struct hf__table_decl *table,
            uint32_t *ret_same, struct hf_error *err)
{
    struct hf__buf sql = {0};
    sqlite3_stmt *stmt = NULL;
    int rc;

    hf__buf_adds(&sql, "SELECT ");
    for (const struct hf__column *c = table->columns; c->name; c++)
        hf__buf_addf(&sql, "%st.%s", c == table->columns ? "" : ", ", c->name);
    hf__buf_addf(&sql, " FROM %s AS t LIMIT 0", table->name);
    if (sql.failed) {
        hf__buf_free(&sql);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    rc = sqlite3_prepare_v2(walk->db, sql.ptr, (int)sql.len, &stmt, NULL);
    sqlite3_finalize(stmt);
    hf__buf_free(&sql);
    if (rc != SQLITE_OK && rc != SQLITE_ERROR)
        return hf__schema_fail(walk, rc, "read", err);
    *ret_same = rc == SQLITE_OK;
    return HF_OK;
}

static int
column_missing(struct hf__schema_walk *walk, const char *table, const char *column,
               uint32_t *ret_missing, struct hf_error *err)
{
    char *found = NULL;
    int rc = text_query(walk,
                        "SELECT name FROM pragma_table_info(?1)"
                        " WHERE name = ?2 COLLATE NOCASE",
                        table, column, &found, err);
    if (rc == HF_OK)
        *ret_missing = found == NULL;
    sqlite3_free(found);
    return rc;
}

static int
columns_add(struct hf__schema_walk *walk, const struct hf__table_decl *table,
            struct hf_error *err)
{
    for (const struct hf__column *c = table->columns; c->name; c++) {
        uint32_t missing = 0;
        char *sql;
        int rc = column_missing(walk, table->name, c->name, &missing, err);
        if (rc < 0)
            return rc;
        if (!missing)
            continue;
        if (!c->fallback) /* a key or a NOT NULL column: cannot be added to rows */
            return hf_error_set(err, HF_UNSUPPORTED, walk->st ? walk->st->path : NULL,
                                "%s is no session store: its table %s has no column %s",
                                walk->st ? walk->st->path : "the file", table->name,
                                c->name);
        sql = sqlite3_mprintf("ALTER TABLE %s ADD COLUMN %s %s", table->name, c->name,
                              c->decl);
        if (!sql)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        rc = hf__schema_exec(walk, sql, err);
        sqlite3_free(sql);
        if (rc < 0)
            return rc;
    }
    return HF_OK;
}

static int
table_step(struct hf__schema_walk *walk, const struct hf__table_decl *table,
           struct hf_error *err)
{
    struct hf__buf sql = {0};
    uint32_t same = 0;
    char *found = NULL;
    int rc = table_probe(walk, table, &same, err);

    if (rc < 0 || same)
        return rc;
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    rc = hf__schema_object(walk, "table", table->name, &found, err);
    if (rc < 0)
        return rc;
    if (found) {
        sqlite3_free(found);
        return columns_add(walk, table, err);
    }
    hf__table_sql(&sql, table);
    rc = sql.failed ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory")
                    : hf__schema_exec(walk, sql.ptr, err);
    hf__buf_free(&sql);
    /* Hermes' data migrations go by this number: it is written where there is no data
     * yet, and never raised. */
    if (rc == HF_OK && walk->is_new && strcmp(table->name, "schema_version") == 0) {
        char text[64];
        snprintf(text, sizeof text, "INSERT INTO schema_version VALUES (%d)",
                 HF__SCHEMA_VERSION);
        rc = hf__schema_exec(walk, text, err);
    }
    return rc;
}

/* ---- indexes ---- */

/* Two sessions of an older file may have one title; the index cannot be made then, and
 * nobody's title is changed for it. */
static int
titles_repeat(struct hf__schema_walk *walk, uint32_t *ret, struct hf_error *err)
{
    char *found = NULL;
    int rc = text_query(walk,
                        "SELECT 1 FROM sessions WHERE title IS NOT NULL"
                        " GROUP BY title HAVING COUNT(*) > 1 LIMIT 1",
                        NULL, NULL, &found, err);
    if (rc == HF_OK)
        *ret = found != NULL;
    sqlite3_free(found);
    return rc;
}

static int
index_step(struct hf__schema_walk *walk, const struct hf__index_decl *index,
           struct hf_error *err)
{
    char *sql = NULL;
    uint32_t repeat = 0;
    int rc = text_query(walk, "SELECT name FROM sqlite_master WHERE name = ?1",
                        index->name, NULL, &sql, err);

    if (rc < 0)
        return rc;
    if (sql) {
        sqlite3_free(sql);
        return HF_OK;
    }
    if (index->unique) {
        rc = titles_repeat(walk, &repeat, err);
        if (rc < 0)
            return rc;
        if (repeat) /* titles are then kept apart by looking before writing */
            return HF_OK;
    }
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    sql = sqlite3_mprintf("CREATE %sINDEX %s ON %s%s", index->unique ? "UNIQUE " : "",
                          index->name, index->table, index->on);
    if (!sql)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rc = hf__schema_exec(walk, sql, err);
    sqlite3_free(sql);
    return rc;
}

/* ---- triggers ---- */

/* The number in the tag of one of our triggers, or -1. */
static long
tag_number(const char *sql)
{
    const char *tag = strstr(sql, "/* holdfast:");
    return tag ? strtol(tag + strlen("/* holdfast:"), NULL, 10) : -1;
}

int
hf__schema_trigger(struct hf__schema_walk *walk, const char *name, const char *sql,
                   struct hf_error *err)
{
    char *found = NULL, drop[128] = "";
    int rc = hf__schema_object(walk, "trigger", name, &found, err);

    if (rc < 0)
        return rc;
    if (found) {
        /* Untagged is Hermes' own; a newer tag belongs to a newer Holdfast. */
        long tag = tag_number(found);
        sqlite3_free(found);
        if (tag < 0 || tag >= tag_number(sql))
            return HF_OK;
        snprintf(drop, sizeof drop, "DROP TRIGGER %s", name);
    }
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    if (*drop) {
        rc = hf__schema_exec(walk, drop, err);
        if (rc < 0)
            return rc;
    }
    return hf__schema_exec(walk, sql, err);
}

/* ---- rows ---- */

/* A column `active` that was added as nullable: NULL means active.  The rewrite fires
 * the search triggers of older layouts; a damaged index is no reason not to open, since
 * every reader takes NULL for 1. */
static int
active_step(struct hf__schema_walk *walk, struct hf_error *err)
{
    char *found = NULL;
    int rc = text_query(walk, "SELECT 1 FROM messages WHERE active IS NULL LIMIT 1", NULL,
                        NULL, &found, err);
    if (rc < 0)
        return rc;
    if (!found)
        return HF_OK;
    sqlite3_free(found);
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    rc = hf__schema_exec(walk, "SAVEPOINT hf_active", err);
    if (rc < 0)
        return rc;
    rc = sqlite3_exec(walk->db, "UPDATE messages SET active = 1 WHERE active IS NULL",
                      NULL, NULL, NULL);
    if (rc == SQLITE_CORRUPT_VTAB || rc == SQLITE_ERROR) {
        if (walk->st && walk->st->host)
            walk->st->host->log(walk->st->host->ctx, HF_LOG_WARNING, "active_not_repaired",
                                walk->st->path,
                                "%s: messages without an active flag stay so: %s; they "
                                "are read as active", walk->st->path,
                                sqlite3_errmsg(walk->db));
        return hf__schema_exec(walk, "ROLLBACK TO hf_active; RELEASE hf_active", err);
    }
    if (rc != SQLITE_OK)
        return hf__schema_fail(walk, rc, "repair of messages.active", err);
    return hf__schema_exec(walk, "RELEASE hf_active", err);
}

static int
application_id_step(struct hf__schema_walk *walk, const char *generation,
                    struct hf_error *err)
{
    char *found = NULL, sql[64], head[9];
    unsigned long id;
    int rc = text_query(walk, "PRAGMA application_id", NULL, NULL, &found, err);
    int zero = rc == HF_OK && (!found || strcmp(found, "0") == 0);

    sqlite3_free(found);
    if (rc < 0 || !zero)
        return rc;
    memcpy(head, generation, 8);
    head[8] = '\0';
    id = strtoul(head, NULL, 16) & 0x7fffffffUL;
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    snprintf(sql, sizeof sql, "PRAGMA application_id = %lu", id ? id : 1UL);
    return hf__schema_exec(walk, sql, err);
}

/* Who this file is (a copy of it carries the same stamp, a new one another). */
static int
stamp_step(struct hf__schema_walk *walk, struct hf_error *err)
{
    char *found = NULL, made[33];
    int rc = hf__schema_meta_get(walk, "db_file_generation", &found, err);

    if (rc < 0)
        return rc;
    if (found && strspn(found, "0123456789abcdefABCDEF") >= 8) {
        rc = application_id_step(walk, found, err);
        sqlite3_free(found);
        return rc;
    }
    if (found && *found) { /* set once, by whomever: not ours to replace */
        sqlite3_free(found);
        return HF_OK;
    }
    sqlite3_free(found);
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    hf__random_hex(made, 16);
    rc = hf__schema_meta_put(walk, "db_file_generation", made, err);
    return rc < 0 ? rc : application_id_step(walk, made, err);
}

static int
own_version_step(struct hf__schema_walk *walk, struct hf_error *err)
{
    char *found = NULL;
    int rc = hf__schema_meta_get(walk, "holdfast_schema", &found, err);
    long have;

    if (rc < 0)
        return rc;
    have = found ? strtol(found, NULL, 10) : -1;
    sqlite3_free(found);
    if (have >= strtol(HF__OWN_VERSION, NULL, 10)) /* a newer one's number stays */
        return HF_OK;
    if (!walk->fix) {
        walk->stale = 1;
        return HF_OK;
    }
    return hf__schema_meta_put(walk, "holdfast_schema", HF__OWN_VERSION, err);
}

static int
schema_walk(struct hf__schema_walk *walk, struct hf_error *err)
{
    char *found = NULL;
    int rc = hf__schema_object(walk, "table", "sessions", &found, err);

    if (rc < 0)
        return rc;
    walk->is_new = found == NULL;
    sqlite3_free(found);

#define STEP(call)                        \
    do {                                  \
        rc = (call);                      \
        if (rc < 0 || walk->stale)        \
            return rc;                    \
    } while (0)

    for (const struct hf__table_decl *t = hf__tables; t->name; t++)
        STEP(table_step(walk, t, err));
    for (const struct hf__index_decl *i = hf__indexes; i->name; i++)
        STEP(index_step(walk, i, err));
    STEP(active_step(walk, err));
    STEP(hf__fts_schema(walk, err));
    STEP(hf__display_schema(walk, err));
    STEP(stamp_step(walk, err));
    STEP(own_version_step(walk, err));
#undef STEP
    return HF_OK;
}

int
hf__schema_is_current(void *ctx, sqlite3 *db, uint32_t *ret_stale, struct hf_error *err)
{
    struct hf__schema_walk walk = {.st = ctx, .db = db};
    int rc = schema_walk(&walk, err);
    if (rc == HF_OK)
        *ret_stale = walk.stale;
    return rc;
}

int
hf__schema_initialize(void *ctx, sqlite3 *db, struct hf_error *err)
{
    struct hf__schema_walk walk = {.st = ctx, .db = db, .fix = 1};
    return schema_walk(&walk, err);
}
