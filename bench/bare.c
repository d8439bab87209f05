/* bare.c - the same work with the SQLite C API alone.
 *
 * What a careful program without Holdfast would do: WAL, the same synchronous level,
 * foreign keys, prepared statements, one transaction for messages and counters, SQLite's
 * own automatic checkpoint.  It looks at no mount, no generation, no stale index. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bare_statements {
    sqlite3_stmt *begin, *commit, *session, *insert, *count, *read, *list, *search;
};

static volatile uint64_t sink;

static const char insert_sql[] =
    "INSERT INTO messages(session_id, role, content, timestamp, message_uid)"
    " VALUES(?1, ?2, ?3, ?4, ?5)";
static const char count_sql[] =
    "UPDATE sessions SET message_count = message_count + ?2,"
    " last_activity_at = max(coalesce(last_activity_at, 0), ?3) WHERE id = ?1";
static const char read_sql[] =
    "SELECT id, message_uid, session_id, role, content, tool_call_id, tool_calls,"
    " tool_name, finish_reason, reasoning, platform_message_id, timestamp, token_count,"
    " active, compacted, _compressed_summary, observed FROM messages"
    " WHERE session_id = ?1 AND active = 1 ORDER BY id";
/* No chains and branches are in this data, so that the roots are the list.  The page is
 * cut first: what is looked up per row is looked up for 50 rows. */
static const char list_sql[] =
    "SELECT s.*, max(coalesce(s.last_activity_at, s.started_at),"
    "  coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)),"
    " (SELECT substr(m.content, 1, 200) FROM messages m WHERE m.session_id = s.id"
    "  AND m.role = 'user' ORDER BY m.id LIMIT 1)"
    " FROM (SELECT id, source, title, model, parent_session_id, end_reason, started_at,"
    "  ended_at, last_activity_at, message_count, tool_call_count, input_tokens,"
    "  output_tokens, archived, hidden, pinned FROM sessions"
    "  WHERE parent_session_id IS NULL AND archived = 0 AND hidden = 0"
    "  AND source <> 'tool' ORDER BY started_at DESC, id DESC LIMIT ?1) s"
    " ORDER BY s.started_at DESC, s.id DESC";
static const char search_sql[] =
    "SELECT m.id, m.session_id, m.role, m.timestamp, s.title, s.source,"
    " snippet(messages_fts, -1, '>>>', '<<<', '...', 40)"
    " FROM messages_fts f JOIN messages m ON m.id = f.rowid"
    " JOIN sessions s ON s.id = m.session_id"
    " WHERE messages_fts MATCH ?1 AND (m.active = 1 OR m.compacted = 1)"
    " ORDER BY f.rank LIMIT ?2";

static void
check(struct bench *b, int rc, const char *what)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        die("bare SQLite: %s: %s", what, sqlite3_errmsg(b->bare));
}

static sqlite3 *
connect(struct bench *b)
{
    sqlite3 *db;
    int rc = sqlite3_open_v2(b->bare_path, &db, SQLITE_OPEN_READWRITE, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db,
                          "PRAGMA busy_timeout = 20000; PRAGMA foreign_keys = ON;"
                          "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864",
                          NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        die("bare SQLite: open %s: %s", b->bare_path, sqlite3_errmsg(db));
    return db;
}

static sqlite3_stmt *
prepare(struct bench *b, const char *sql)
{
    sqlite3_stmt *stmt;
    check(b, sqlite3_prepare_v3(b->bare, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL),
          sql);
    return stmt;
}

void
bare_open(struct bench *b)
{
    struct bare_statements *s = calloc(1, sizeof *s);

    if (!s)
        die("out of memory");
    b->bare = connect(b);
    s->begin = prepare(b, "BEGIN IMMEDIATE");
    s->commit = prepare(b, "COMMIT");
    s->session = prepare(b, "SELECT end_reason FROM sessions WHERE id = ?1");
    s->insert = prepare(b, insert_sql);
    s->count = prepare(b, count_sql);
    s->read = prepare(b, read_sql);
    s->list = prepare(b, list_sql);
    s->search = prepare(b, search_sql);
    b->statements = s;
}

void
bare_close(struct bench *b)
{
    struct bare_statements *s = b->statements;

    sqlite3_finalize(s->begin);
    sqlite3_finalize(s->commit);
    sqlite3_finalize(s->session);
    sqlite3_finalize(s->insert);
    sqlite3_finalize(s->count);
    sqlite3_finalize(s->read);
    sqlite3_finalize(s->list);
    sqlite3_finalize(s->search);
    free(s);
    sqlite3_close(b->bare);
    b->bare = NULL;
}

static void
run(struct bench *b, sqlite3_stmt *stmt)
{
    while (sqlite3_step(stmt) == SQLITE_ROW)
        sink += (uint64_t)sqlite3_column_bytes(stmt, 0);
    check(b, sqlite3_reset(stmt), sqlite3_sql(stmt));
}

static void
append(struct bench *b, uint64_t n_messages, uint64_t seed)
{
    struct bare_statements *s = b->statements;
    static uint64_t serial;
    char text[1024], uid[33];

    run(b, s->begin);
    sqlite3_bind_text(s->session, 1, SESSION_APPEND, -1, SQLITE_STATIC);
    run(b, s->session);
    for (uint64_t i = 0; i < n_messages; i++) {
        size_t len = text_make(text, sizeof text, seed + i);
        snprintf(uid, sizeof uid, "%032llx", (unsigned long long)++serial);
        sqlite3_bind_text(s->insert, 1, SESSION_APPEND, -1, SQLITE_STATIC);
        sqlite3_bind_text(s->insert, 2, "user", -1, SQLITE_STATIC);
        sqlite3_bind_text(s->insert, 3, text, (int)len, SQLITE_STATIC);
        sqlite3_bind_double(s->insert, 4, 1750000000.0 + (double)(seed + i));
        sqlite3_bind_text(s->insert, 5, uid, 32, SQLITE_STATIC);
        run(b, s->insert);
    }
    sqlite3_bind_text(s->count, 1, SESSION_APPEND, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->count, 2, (sqlite3_int64)n_messages);
    sqlite3_bind_double(s->count, 3, 1750000000.0 + (double)(seed + n_messages - 1));
    run(b, s->count);
    run(b, s->commit);
}

uint64_t
bare_append_one(struct bench *b)
{
    for (int i = 0; i < b->appends; i++)
        append(b, 1, 1000000 + (uint64_t)i);
    return (uint64_t)b->appends;
}

uint64_t
bare_append_batch(struct bench *b)
{
    for (int i = 0; i < b->appends / 10; i++)
        append(b, BATCH, 2000000 + (uint64_t)i * BATCH);
    return (uint64_t)(b->appends / 10);
}

/* Steps through STMT and looks at every column, as a program that uses them would. */
static uint64_t
rows_see(struct bench *b, sqlite3_stmt *stmt)
{
    uint64_t n = 0;

    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++)
            switch (sqlite3_column_type(stmt, i)) {
            case SQLITE_INTEGER:
                sink += (uint64_t)sqlite3_column_int64(stmt, i);
                break;
            case SQLITE_FLOAT:
                sink += (uint64_t)sqlite3_column_double(stmt, i);
                break;
            case SQLITE_TEXT:
                sink += (uint64_t)sqlite3_column_text(stmt, i)[0];
                sink += (uint64_t)sqlite3_column_bytes(stmt, i);
                break;
            default:
                break;
            }
        n++;
    }
    check(b, sqlite3_reset(stmt), sqlite3_sql(stmt));
    return n;
}

uint64_t
bare_read(struct bench *b)
{
    sqlite3_bind_text(b->statements->read, 1, SESSION_LONG, -1, SQLITE_STATIC);
    return rows_see(b, b->statements->read);
}

uint64_t
bare_list(struct bench *b)
{
    sqlite3_bind_int(b->statements->list, 1, PAGE_SESSIONS);
    return rows_see(b, b->statements->list);
}

static uint64_t
search(struct bench *b, const char *word)
{
    sqlite3_bind_text(b->statements->search, 1, word, -1, SQLITE_STATIC);
    sqlite3_bind_int(b->statements->search, 2, HITS);
    return rows_see(b, b->statements->search);
}

uint64_t
bare_search_rare(struct bench *b)
{
    return search(b, "\"" WORD_RARE "\"");
}

uint64_t
bare_search_common(struct bench *b)
{
    return search(b, "\"" WORD_COMMON "\"");
}

/* An open ends with the schema read and one row seen: before that nothing has looked at
 * the file. */
uint64_t
bare_open_settled(struct bench *b)
{
    sqlite3 *db = connect(b);
    sqlite3_stmt *stmt;

    if (sqlite3_prepare_v2(db, "SELECT version FROM schema_version", -1, &stmt, NULL)
            != SQLITE_OK
        || sqlite3_step(stmt) != SQLITE_ROW)
        die("bare SQLite: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return 1;
}
