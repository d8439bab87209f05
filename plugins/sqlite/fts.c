/* fts.c - the search tables of a file: which layout it has, the triggers of the layout
 * that is ours, and the markers that say what the index does not hold.  Searching is
 * search.c's job.  An older layout is used as it is and never changed by an open. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define INDEXED_LATER(row)                                                            \
    "(" row ".id <= COALESCE((SELECT CAST(value AS INTEGER) FROM state_meta"          \
    " WHERE key = 'fts_rebuild_high_water'), -1)"                                     \
    " AND " row ".id > COALESCE((SELECT CAST(value AS INTEGER) FROM state_meta"       \
    " WHERE key = 'fts_rebuild_progress'), -1))"
#define CHANGED                                                                       \
    "(old.content IS NOT new.content OR old.tool_name IS NOT new.tool_name"           \
    " OR old.tool_calls IS NOT new.tool_calls"
#define ADD(table, row, when)                                                         \
    "  INSERT INTO " table "(rowid, content, tool_name, tool_calls)"                  \
    " SELECT " row ".id, " row ".content, " row ".tool_name, " row ".tool_calls"      \
    " WHERE " when ";\n"
#define DROP_(table, when)                                                            \
    "  INSERT INTO " table "(" table ", rowid, content, tool_name, tool_calls)"       \
    " SELECT 'delete', old.id, old.content, old.tool_name, old.tool_calls"            \
    " WHERE " when ";\n"

#define TRIGGERS(table, is_new, is_old, of, changed)                                  \
    {table "_insert",                                                                 \
     "CREATE TRIGGER " table "_insert AFTER INSERT ON messages\n"                     \
     "WHEN " is_new " AND NOT " INDEXED_LATER("new") "\n"                             \
     "BEGIN " HF__TRIGGER_TAG "\n" ADD(table, "new", "1") "END"},                     \
    {table "_delete",                                                                 \
     "CREATE TRIGGER " table "_delete AFTER DELETE ON messages\n"                     \
     "WHEN " is_old " AND NOT " INDEXED_LATER("old") "\n"                             \
     "BEGIN " HF__TRIGGER_TAG "\n" DROP_(table, "1") "END"},                          \
    {table "_update",                                                                 \
     "CREATE TRIGGER " table "_update AFTER UPDATE OF " of " ON messages\n"           \
     "WHEN " changed " AND NOT " INDEXED_LATER("old") "\n"                            \
     "BEGIN " HF__TRIGGER_TAG "\n" DROP_(table, is_old) ADD(table, "new", is_new)     \
     "END"}

#define TRIGRAM_VIEW                                                                  \
    "CREATE VIEW messages_fts_trigram_src AS"                                         \
    " SELECT id, role, content, tool_name, tool_calls FROM messages"                  \
    " WHERE role <> 'tool'"

static const struct hf__trigger_decl word_triggers[] = {
    TRIGGERS("messages_fts", "1", "1", "content, tool_name, tool_calls", CHANGED ")"),
    {NULL, NULL},
};
static const struct hf__trigger_decl trigram_triggers[] = {
    TRIGGERS("messages_fts_trigram", "new.role <> 'tool'", "old.role <> 'tool'",
             "content, tool_name, tool_calls, role",
             CHANGED " OR old.role IS NOT new.role)"),
    {NULL, NULL},
};

/* ---- reading the declaration of a search table ---- */

/* Whether two SQL texts are the same but for white space and letter case. */
static int
same_sql(const char *a, const char *b)
{
    for (;;) {
        while (*a && strchr(" \t\r\n;", *a))
            a++;
        while (*b && strchr(" \t\r\n;", *b))
            b++;
        if (!*a || !*b)
            return *a == *b;
        if ((*a | 0x20) != (*b | 0x20))
            return 0;
        a++;
        b++;
    }
}

/* The value of content=... in a CREATE VIRTUAL TABLE text, into RET; 0 without one.  A
 * column may be called content, so that the equals sign decides. */
static int
content_option(const char *sql, char *ret, size_t size)
{
    for (const char *p = sql; (p = strstr(p, "content")); p += strlen("content")) {
        const char *q = p + strlen("content");
        size_t n = 0;
        char quote = 0;
        if (p > sql && (p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z')))
            continue;
        q += strspn(q, " \t\r\n");
        if (*q != '=')
            continue;
        q++;
        q += strspn(q, " \t\r\n");
        if (*q == '\'' || *q == '"')
            quote = *q++;
        while (*q && (quote ? *q != quote : !strchr(" \t\r\n,)", *q)) && n + 1 < size)
            ret[n++] = *q++;
        ret[n] = '\0';
        return 1;
    }
    return 0;
}

/* ---- schema ---- */

static int
triggers_make(struct hf__schema_walk *walk, const struct hf__trigger_decl *triggers,
              struct hf_error *err)
{
    for (const struct hf__trigger_decl *t = triggers; t->name; t++) {
        int rc = hf__schema_trigger(walk, t->name, t->sql, err);
        if (rc < 0 || walk->stale)
            return rc;
    }
    return HF_OK;
}

static int
tables_make(struct hf__schema_walk *walk, struct hf_error *err)
{
    int rc = hf__schema_exec(
        walk,
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content, tool_name, tool_calls,"
        " content='messages', content_rowid='id');"
        TRIGRAM_VIEW ";"
        "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tool_name,"
        " tool_calls, content='messages_fts_trigram_src', content_rowid='id',"
        " tokenize='trigram')",
        err);
    /* 1: external content straight from the tables, as Hermes numbers its layouts. */
    if (rc == HF_OK)
        rc = hf__schema_meta_put(walk, "fts_storage_version", "1", err);
    return rc;
}

int
hf__fts_make(struct hf__schema_walk *walk, struct hf_error *err)
{
    int rc = tables_make(walk, err);
    if (rc == HF_OK)
        rc = triggers_make(walk, word_triggers, err);
    return rc == HF_OK ? triggers_make(walk, trigram_triggers, err) : rc;
}

int
hf__fts_ours(struct hf__schema_walk *walk, uint32_t *ret_ours, struct hf_error *err)
{
    char *sql = NULL, content[64] = "";
    int rc = hf__schema_object(walk, "table", "messages_fts", &sql, err);

    *ret_ours = 1;
    if (rc == HF_OK && sql)
        *ret_ours = strstr(sql, "tool_calls") && !strstr(sql, "tokenize") &&
                    content_option(sql, content, sizeof content) &&
                    strcmp(content, "messages") == 0;
    sqlite3_free(sql);
    sql = NULL;
    if (rc == HF_OK && *ret_ours)
        rc = hf__schema_object(walk, "table", "messages_fts_trigram", &sql, err);
    if (rc == HF_OK && sql)
        *ret_ours = strstr(sql, "tool_calls") && strstr(sql, "trigram'") &&
                    content_option(sql, content, sizeof content) &&
                    strcmp(content, "messages_fts_trigram_src") == 0;
    sqlite3_free(sql);
    sql = NULL;
    if (rc == HF_OK && *ret_ours)
        rc = hf__schema_object(walk, "view", "messages_fts_trigram_src", &sql, err);
    if (rc == HF_OK && sql)
        *ret_ours = same_sql(sql, TRIGRAM_VIEW);
    sqlite3_free(sql);
    return rc;
}

static int
marker_set(struct hf__schema_walk *walk, const char *key, uint32_t *ret,
           struct hf_error *err)
{
    char *found = NULL;
    int rc = hf__schema_meta_get(walk, key, &found, err);
    if (rc == HF_OK)
        *ret = found && *found && strcmp(found, "0") != 0;
    sqlite3_free(found);
    return rc;
}

int
hf__fts_schema(struct hf__schema_walk *walk, struct hf_error *err)
{
    char *sql = NULL, *view = NULL, content[64] = "";
    uint32_t stale = 0;
    int rc;

    if (walk->is_new && walk->fix) {
        rc = tables_make(walk, err);
        if (rc < 0)
            return rc;
    }
    /* A trigger on an index that misses rows would fail for the rows it misses. */
    rc = marker_set(walk, "fts_stale", &stale, err);
    if (rc < 0 || stale)
        return rc;

    rc = hf__schema_object(walk, "table", "messages_fts", &sql, err);
    if (rc == HF_OK && sql && strstr(sql, "tool_calls") &&
        content_option(sql, content, sizeof content) && strcmp(content, "messages") == 0)
        rc = triggers_make(walk, word_triggers, err);
    sqlite3_free(sql);
    sql = NULL;
    if (rc < 0 || walk->stale)
        return rc;

    rc = hf__schema_object(walk, "table", "messages_fts_trigram", &sql, err);
    if (rc == HF_OK)
        rc = hf__schema_object(walk, "view", "messages_fts_trigram_src", &view, err);
    if (rc == HF_OK && sql && view && strstr(sql, "tool_calls") &&
        content_option(sql, content, sizeof content) &&
        strcmp(content, "messages_fts_trigram_src") == 0 && same_sql(view, TRIGRAM_VIEW))
        rc = triggers_make(walk, trigram_triggers, err);
    sqlite3_free(sql);
    sqlite3_free(view);
    return rc;
}

/* ---- shape ---- */

static int
sql_of(struct hf_sqlite_store *st, const char *name, char **ret, struct hf_error *err)
{
    struct hf__schema_walk walk = {.st = st, .db = hf_sqlite_handle(st->db)};
    int rc = hf__schema_object(&walk, "table", name, ret, err);
    if (rc == HF_OK && !*ret)
        rc = hf__schema_object(&walk, "view", name, ret, err);
    if (rc == HF_OK && !*ret)
        rc = hf__schema_object(&walk, "trigger", name, ret, err);
    return rc;
}

/* Whether a MATCH on the table can be prepared: its tokenizer may be unknown here. */
static int
usable(struct hf_sqlite_store *st, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(hf_sqlite_handle(st->db), sql, -1, &stmt, NULL);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK;
}

static int
meta_int(struct hf_sqlite_store *st, const char *key, int *ret_found, int64_t *ret,
         struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        st, "SELECT CAST(value AS INTEGER), value FROM state_meta WHERE key = ?1", &stmt,
        err);
    if (rc < 0)
        return rc;
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    rc = sqlite3_step(stmt);
    *ret_found = rc == SQLITE_ROW && sqlite3_column_bytes(stmt, 1) > 0;
    if (*ret_found)
        *ret = sqlite3_column_int64(stmt, 0);
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(st, rc, "reading state_meta", err);
    hf_sqlite_done(stmt);
    return rc;
}

static int
healed_times(struct hf_sqlite_store *st, int64_t *ret, struct hf_error *err)
{
    int found = 0, rc = HF_OK;
    *ret = 0;
    if (st->shape.has_meta)
        rc = meta_int(st, "holdfast_fts_healed", &found, ret, err);
    return rc;
}

int
hf__fts_shape(struct hf_sqlite_store *st, struct hf_error *err)
{
    struct hf__shape *shape = &st->shape;
    char *sql = NULL, *other = NULL, content[64] = "";
    uint32_t stale = 0;
    int rc;

    shape->fts_layout = HF_FTS_NONE;
    shape->has_trigram = shape->trigram_skips_tools = shape->trigger_gated = 0;
    rc = hf__fts_stale(st, &stale, err);
    if (rc == HF_OK)
        rc = healed_times(st, &st->fts_healed, err);
    st->fts_stale = stale;
    if (rc < 0 || stale)
        return rc;

    rc = sql_of(st, "messages_fts", &sql, err);
    if (rc < 0)
        return rc;
    if (sql && usable(st, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?1")) {
        int external = content_option(sql, content, sizeof content) && *content;
        if (strstr(sql, "tool_calls"))
            shape->fts_layout = HF_FTS_EXTERNAL;
        else
            shape->fts_layout = external ? HF_FTS_ONE_COLUMN : HF_FTS_INLINE;
    }
    sqlite3_free(sql);
    sql = NULL;

    rc = sql_of(st, "messages_fts_insert", &sql, err);
    if (rc < 0)
        return rc;
    if (sql)
        shape->trigger_gated = strstr(sql, "fts_rebuild_high_water") != NULL;
    else
        shape->fts_layout = HF_FTS_NONE; /* nothing feeds it */
    sqlite3_free(sql);
    sql = NULL;

    rc = sql_of(st, "messages_fts_trigram", &sql, err);
    if (rc < 0)
        return rc;
    if (sql && usable(st, "SELECT rowid FROM messages_fts_trigram"
                          " WHERE messages_fts_trigram MATCH ?1")) {
        rc = sql_of(st, "messages_fts_trigram_insert", &other, err);
        if (rc < 0)
            goto out;
        shape->has_trigram = other != NULL;
        sqlite3_free(other);
        other = NULL;
        if (content_option(sql, content, sizeof content) && *content &&
            strcmp(content, "messages") != 0)
            rc = sql_of(st, content, &other, err);
        if (rc < 0)
            goto out;
        shape->trigram_skips_tools = other && strstr(other, "'tool'");
    }
out:
    sqlite3_free(sql);
    sqlite3_free(other);
    return rc;
}

int
hf__fts_look_again(struct hf_sqlite_store *st, struct hf_error *err)
{
    int64_t healed = 0;
    uint32_t stale = 0;
    int rc;

    if (!st->fts_stale && !st->fts_damaged)
        return HF_OK;
    rc = hf__fts_stale(st, &stale, err);
    if (rc == HF_OK)
        rc = healed_times(st, &healed, err);
    if (rc < 0 || stale || (!st->fts_stale && healed == st->fts_healed))
        return rc;
    st->fts_damaged = st->fts_looked = 0;
    return hf__fts_shape(st, err);
}

/* ---- markers ---- */

int
hf__fts_stale(struct hf_sqlite_store *st, uint32_t *ret_stale, struct hf_error *err)
{
    struct hf__schema_walk walk = {.st = st, .db = hf_sqlite_handle(st->db)};
    if (!st->shape.has_meta) {
        *ret_stale = 0;
        return HF_OK;
    }
    return marker_set(&walk, "fts_stale", ret_stale, err);
}

int
hf__fts_gap(struct hf_sqlite_store *st, int64_t *ret_from, int64_t *ret_to,
            struct hf_error *err)
{
    int64_t high = 0, progress = 0;
    int found = 0, rc = HF_OK;

    if (st->shape.has_meta)
        rc = meta_int(st, "fts_rebuild_high_water", &found, &high, err);
    if (rc < 0)
        return rc;
    if (!found) {
        *ret_from = *ret_to = 0;
        return HF_OK;
    }
    rc = meta_int(st, "fts_rebuild_progress", &found, &progress, err);
    if (rc < 0)
        return rc;
    if (!found)
        progress = 0;
    *ret_from = progress < high ? progress : 0;
    *ret_to = progress < high ? high : 0;
    return HF_OK;
}

/* ---- damage ---- */

static int
family_detach(struct hf_sqlite_store *st, const char *table, const char *marker,
              struct hf_error *err)
{
    static const char *const ends[] = {"insert", "delete", "update"};
    struct hf__schema_walk walk = {.st = st, .db = hf_sqlite_handle(st->db)};
    char sql[256];
    int rc = HF_OK;

    if (st->shape.has_meta) /* the marker first: a crash between cannot happen, but the
                               order also holds for whoever reads the statements */
        rc = hf__schema_meta_put(&walk, marker, "1", err);
    for (size_t i = 0; rc == HF_OK && i < sizeof ends / sizeof *ends; i++) {
        snprintf(sql, sizeof sql, "DROP TRIGGER IF EXISTS %s_%s", table, ends[i]);
        rc = hf__schema_exec(&walk, sql, err);
    }
    return rc;
}

int
hf__fts_detach(struct hf_sqlite_store *st, uint32_t cjk_only, struct hf_error *err)
{
    struct hf__schema_walk walk = {.st = st, .db = hf_sqlite_handle(st->db)};
    int rc;

    if (cjk_only)
        return family_detach(st, "messages_fts_cjk", "fts_cjk_stale", err);
    rc = family_detach(st, "messages_fts", "fts_stale", err);
    if (rc == HF_OK && st->shape.has_meta) /* a rebuilding begins from the start */
        rc = hf__schema_exec(&walk, "DELETE FROM state_meta WHERE key ="
                                    " 'holdfast_fts_heal'", err);
    if (rc == HF_OK)
        rc = family_detach(st, "messages_fts_trigram", "fts_stale", err);
    return rc;
}
