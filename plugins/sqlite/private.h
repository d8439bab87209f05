/* private.h - what the files of the sqlite backend know of each other, grouped by file. */
#ifndef HF_SQLITE_PRIVATE_H
#define HF_SQLITE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <holdfast/backend.h>
#include <holdfast/sqlite.h>

#include "util/buf.h"
#include "util/content.h"
#include "util/epoch.h"
#include "util/misc.h"

/* ---- columns.c: the declared tables, and which of their columns this file has ---- */

enum hf__table { HF_T_SESSIONS, HF_T_MESSAGES, HF_T_USAGE, HF_T_META, HF_T_OTHERS };

struct hf__column {
    const char *name;
    const char *decl;     /* "TEXT", "INTEGER NOT NULL DEFAULT 0" */
    const char *fallback; /* SQL literal that a file without the column reads as */
};
/* The declared columns of sessions and messages in the order of SPEC 6; NULL-name end. */
extern const struct hf__column hf__session_columns[];
extern const struct hf__column hf__message_columns[];

struct hf__file_column {
    char *name;
    int declared;      /* its place among the declared ones, or -1 */
    uint32_t not_null;
};
struct hf__shape {          /* filled once per handle, again after a schema change */
    uint64_t sessions_has[2]; /* bit i: hf__session_columns[i] exists in this file */
    uint64_t messages_has[1];
    uint32_t has_meta, has_usage, has_system_prompts; /* tables */
    /* Every column of the file, in its order. */
    struct hf__file_column *sessions, *messages;
    uint32_t n_sessions, n_messages;
    /* fts.c */
    uint32_t fts_layout;    /* enum hf__fts_layout */
    uint32_t has_trigram, trigram_skips_tools; /* the index leaves out role 'tool' */
    uint32_t trigger_gated; /* the triggers look at fts_rebuild_high_water */
};
enum hf__fts_layout {
    HF_FTS_NONE = 0,      /* no usable messages_fts: search scans */
    HF_FTS_ONE_COLUMN,    /* 2026-03: external content, column content only */
    HF_FTS_INLINE,        /* 2026-06: one column, own copy of content+tool_name+calls */
    HF_FTS_EXTERNAL       /* 2026-08 and ours: three columns, external content */
};

struct hf_sqlite_store {
    const struct hf_host *host;
    char *home, *path;
    uint32_t read_only;
    uint32_t may_thread;     /* upkeep.c is called from a thread of the core */
    int64_t looked_ms;       /* when upkeep.c last compared the files */
    int64_t patience_ms;     /* database.patience_ms */
    struct hf_sqlite_db *db; /* NULL: read_only and there is no file: an empty store */
    /* One connection, one user at a time: whoever touches db, its statements or shape
     * holds it. */
    pthread_mutex_t lock;
    struct hf__shape shape;
    struct hf__unsettled *unsettled; /* of a writer */
    uint32_t fts_damaged;    /* the index failed once on this handle */
    uint32_t fts_looked;     /* its row counts were compared */
    uint32_t fts_stale;      /* as of the last look at the marker */
    uint32_t fts_heal_off;   /* not ours to rebuild, or it failed on this handle */
    int64_t fts_healed;      /* state_meta.holdfast_fts_healed as of then */
    int failed_rc;           /* SQLite's code behind the last hf__sql_fail() */
    char failed_text[256];   /* and its text */
    /* Sessions whose unreadable time was already logged (hashes, a ring). */
    uint64_t bad_time_seen[64];
    uint32_t n_bad_time_seen;
    /* readers.c: the connections that read while this one writes or waits. */
    struct hf_sqlite_options options; /* as this store was opened */
    pthread_mutex_t reader_lock;      /* guards what follows; never held for long */
    struct hf_sqlite_store *readers[64];
    uint64_t readers_busy;            /* bit i: readers[i] is somebody's */
    uint32_t n_readers, readers_max;  /* opened or about to be; database.read_pool_max */
    int64_t reader_retry_ms;          /* an open failed: not before then again */
};

int hf__shape_read(struct hf_sqlite_store *st, struct hf_error *err);
void hf__shape_free(struct hf__shape *shape);
/* "ALIAS.name" when this file has the column, else its fallback literal. */
void hf__column_sql(struct hf__buf *out, const struct hf_sqlite_store *st,
                    enum hf__table table, const char *alias, const char *name);
/* The column of sessions or messages in this file, or NULL. */
const struct hf__file_column *hf__column_find(const struct hf_sqlite_store *st,
                                              enum hf__table table, const char *name,
                                              size_t len);

/* ---- write.c: the transaction round every write; damage of the search index ---- */

/* hf_sqlite_fail() that also remembers SQLite's code for hf__write(). */
int hf__sql_fail(struct hf_sqlite_store *st, int rc, const char *what,
                 struct hf_error *err);
int hf__sql_prepare(struct hf_sqlite_store *st, const char *sql, sqlite3_stmt **ret,
                    struct hf_error *err);
/* Steps a statement that gives no row, and finishes it. */
int hf__sql_run(struct hf_sqlite_store *st, sqlite3_stmt *stmt, const char *what,
                struct hf_error *err);
/* Runs WORK inside BEGIN IMMEDIATE and COMMIT, then a checkpoint if one is due.  When it
 * fails for a full-text object, it runs once more in a transaction that detaches the
 * full-text triggers and marks the index stale (SPEC 4.4): WORK starts from nothing
 * then.  The caller holds st->lock. */
typedef int hf__work_fn(struct hf_sqlite_store *st, void *ctx, struct hf_error *err);
int hf__write(struct hf_sqlite_store *st, int64_t patience_ms, hf__work_fn *work,
              void *ctx, struct hf_error *err);
/* HF_READ_ONLY on a handle that only reads. */
int hf__write_refused(const struct hf_sqlite_store *st, struct hf_error *err);
/* HF_OK when there is such a session, else HF_NOT_FOUND. */
int hf__session_exists(struct hf_sqlite_store *st, const struct hf_text *id,
                       struct hf_error *err);

/* ---- cells.c: a row to be written, as column names and values ---- */

struct hf__cell {
    const char *column; /* lives as long as the store or the JSON it came from */
    int type;           /* SQLITE_INTEGER, _FLOAT, _TEXT, _BLOB, _NULL */
    int64_t i;
    double d;
    struct hf_text text;
    char *owned;        /* what text points to, when it was made here */
};
struct hf__cells {
    struct hf__cell *v;
    size_t n, cap;
    void *json;         /* keeps the strings of `extra` alive */
    int failed;         /* no memory */
};

void hf__cells_text(struct hf__cells *cells, const char *column,
                    const struct hf_text *text);
void hf__cells_int(struct hf__cells *cells, const char *column, int64_t value);
void hf__cells_real(struct hf__cells *cells, const char *column, double value);
/* The columns in EXTRA (a JSON object) that this file has and that no typed member
 * stands for.  HF_INVALID for text that is no JSON object. */
int hf__cells_extra(struct hf__cells *cells, const struct hf_sqlite_store *st,
                    enum hf__table table, const struct hf_text *extra,
                    struct hf_error *err);
/* Columns that the file lacks are left out of the statement and of the binding. */
void hf__cells_insert_sql(struct hf__buf *out, const struct hf_sqlite_store *st,
                          enum hf__table table, const struct hf__cells *cells);
void hf__cells_bind(sqlite3_stmt *stmt, const struct hf_sqlite_store *st,
                    enum hf__table table, const struct hf__cells *cells);
void hf__cell_bind(sqlite3_stmt *stmt, int index, const struct hf__cell *cell);
void hf__cells_free(struct hf__cells *cells);
/* Whether NAME is a column that a typed member of the record stands for. */
int hf__column_typed(enum hf__table table, const char *name);

/* ---- schema.c: declared schema against the file (SPEC 6, 3.5) ---- */

int hf__schema_is_current(void *ctx, sqlite3 *db, uint32_t *ret_stale,
                          struct hf_error *err);
int hf__schema_initialize(void *ctx, sqlite3 *db, struct hf_error *err);

/* Walks over everything the schema declares.  With FIX what differs is put right, else
 * the first difference sets *ret_stale and ends the walk. */
struct hf__schema_walk {
    struct hf_sqlite_store *st; /* for its host and path only: the open is under way */
    sqlite3 *db;
    uint32_t fix, stale;
    uint32_t is_new;            /* there was no table `sessions` */
};
int hf__schema_exec(struct hf__schema_walk *walk, const char *sql, struct hf_error *err);
/* The SQL of an object in sqlite_master, for sqlite3_free(); NULL when it is not there
 * (or has none). */
int hf__schema_object(struct hf__schema_walk *walk, const char *type, const char *name,
                      char **ret_sql, struct hf_error *err);
int hf__schema_fail(struct hf__schema_walk *walk, int rc, const char *what,
                    struct hf_error *err);
/* A trigger of ours: created when missing, replaced when it carries an older tag of
 * ours, else left alone. */
int hf__schema_trigger(struct hf__schema_walk *walk, const char *name, const char *sql,
                       struct hf_error *err);
int hf__schema_meta_get(struct hf__schema_walk *walk, const char *key, char **ret,
                        struct hf_error *err);
int hf__schema_meta_put(struct hf__schema_walk *walk, const char *key,
                        const char *value, struct hf_error *err);
#define HF__SCHEMA_VERSION 30  /* schema_version of new files */
#define HF__OWN_VERSION "1"    /* state_meta.holdfast_schema */
#define HF__TRIGGER_TAG "/* holdfast:1 */"

/* ---- schema_ddl.c: the declarations ---- */

struct hf__table_decl {
    const char *name;
    const struct hf__column *columns;
    const char *tail; /* table constraints, with a leading comma, or "" */
};
extern const struct hf__table_decl hf__tables[]; /* NULL-name end */
struct hf__index_decl {
    const char *name, *table, *on; /* "UNIQUE" stands in front of ON by `unique` */
    uint32_t unique;
};
extern const struct hf__index_decl hf__indexes[]; /* NULL-name end */
struct hf__trigger_decl { const char *name, *sql; };
void hf__table_sql(struct hf__buf *out, const struct hf__table_decl *table);

/* ---- schema_display.c: the triggers of display_order ---- */

int hf__display_schema(struct hf__schema_walk *walk, struct hf_error *err);

/* ---- fts.c: layouts, triggers, markers ---- */

/* Search tables of a new file, and the triggers of a layout that is ours. */
int hf__fts_schema(struct hf__schema_walk *walk, struct hf_error *err);
/* Whether the whole index is marked as missing rows (state_meta.fts_stale): search then
 * scans.  Cheap; another process may set it at any time. */
int hf__fts_stale(struct hf_sqlite_store *st, uint32_t *ret_stale, struct hf_error *err);
/* Drops the triggers of the search tables (CJK_ONLY: of messages_fts_cjk), after marking
 * what they fed as stale.  Inside the caller's transaction. */
int hf__fts_detach(struct hf_sqlite_store *st, uint32_t cjk_only, struct hf_error *err);

int hf__fts_shape(struct hf_sqlite_store *st, struct hf_error *err);
/* For a handle that gave the index up: reads the shape anew if it was healed since. */
int hf__fts_look_again(struct hf_sqlite_store *st, struct hf_error *err);
/* Whether the search tables, as far as they are there, are declared as ours are. */
int hf__fts_ours(struct hf__schema_walk *walk, uint32_t *ret_ours, struct hf_error *err);
/* Makes them, empty, with their triggers. */
int hf__fts_make(struct hf__schema_walk *walk, struct hf_error *err);
/* Rows with ids in (*ret_from, *ret_to] are not in the index yet; both 0: none.  Read
 * in the caller's transaction, never cached. */
int hf__fts_gap(struct hf_sqlite_store *st, int64_t *ret_from, int64_t *ret_to,
                struct hf_error *err);

/* ---- fts_heal.c: an index that lost rows, and its rebuilding ---- */

/* Row counts of a search table: of its averages record, and of its table of sizes.
 * SQLITE_ROW or an SQLite error code. */
int hf__fts_rows(sqlite3 *db, const char *table, int64_t *ret_averages,
                 int64_t *ret_sizes);
/* Once per handle: whether the index knows less rows than it was given. */
int hf__fts_rows_lost(struct hf_sqlite_store *st);
/* One short write transaction of the rebuilding of a stale index; HF_OK without doing
 * anything when there is nothing to heal, it is not ours, or somebody else writes.  The
 * caller holds st->lock and is in no transaction.  st->fts_stale says whether more is to
 * be done, st->fts_heal_off whether more calls will do it. */
int hf__fts_heal_step(struct hf_sqlite_store *st, struct hf_error *err);
/* As many steps as an open has time for. */
void hf__fts_heal_open(struct hf_sqlite_store *st);

/* ---- damage.c: files of which this process knows that they are damaged ---- */

/* From now on no handle of this path in this process writes. */
void hf__damage_latch(struct hf_sqlite_store *st, const char *cause);
/* HF_CORRUPT with the first cause as long as that holds.  Takes it back when another
 * file, or a repaired one, passes a check.  The caller holds st->lock. */
int hf__damage_refused(struct hf_sqlite_store *st, struct hf_error *err);
/* The same where only that is asked, unless a call is under way. */
void hf__damage_look(struct hf_sqlite_store *st);
/* Whether it holds; since when, and a text.  Any thread. */
int hf__damage_known(const struct hf_sqlite_store *st, double *ret_since, char *ret,
                     size_t size);

/* ---- rows.c: SQLite rows into records ---- */

/* Appends the select list for sessions under ALIAS / messages under ALIAS.  The emit
 * functions read it from column FIRST on.  EXTRA (JSON) only with HF_WANT_EXTRA. */
void hf__session_select(struct hf__buf *out, const struct hf_sqlite_store *st,
                        const char *alias, uint32_t want);
int hf__session_columns_used(const struct hf_sqlite_store *st, uint32_t want);
/* Fills *ret from the row; pointers live until the statement moves on; SCRATCH holds
 * `extra`. Logs an unreadable time once per session. */
int hf__session_row(struct hf_sqlite_store *st, sqlite3_stmt *stmt, int first,
                    uint32_t want, struct hf__buf *scratch, struct hf_session *ret,
                    struct hf_error *err);
void hf__message_select(struct hf__buf *out, const struct hf_sqlite_store *st,
                        const char *alias, uint32_t want);
int hf__message_row(struct hf_sqlite_store *st, sqlite3_stmt *stmt, int first,
                    uint32_t want, struct hf__buf *scratch, struct hf_message *ret,
                    struct hf_error *err);
struct hf_text hf__text_column(sqlite3_stmt *stmt, int col);
/* The time in a cell; NaN for NULL, and with *ret_bad set for what is no time. */
double hf__time_column(sqlite3_stmt *stmt, int col, uint32_t *ret_bad);
/* Appends an SQL expression, the newest readable time among a session's messages. */
void hf__newest_sql(struct hf__buf *out, const char *alias);
void hf__bind_text(sqlite3_stmt *stmt, int index, const struct hf_text *text);

/* ---- put.c, sessions.c, delete.c: put; get, update; delete ---- */

/* Two arguments for "%.*s" in a message: an id or title, cut where it gets too long. */
#define HF__ID_ARGS(id) \
    (int)((id)->len < 200 ? (id)->len : 200), (id)->ptr ? (id)->ptr : ""
/* HF_OK when no other session than ID has TITLE, else HF_EXISTS naming that session. */
int hf__title_free(struct hf_sqlite_store *st, const struct hf_text *id,
                   const struct hf_text *title, struct hf_error *err);

/* Stores SESSION, or fills in what one that is there lacks.  Inside the caller's
 * transaction. */
int hf__session_ensure(struct hf_sqlite_store *st, const struct hf_session *session,
                       struct hf_error *err);

int hf__op_session_put(void *store, const struct hf_session *session, uint32_t mode,
                       struct hf_error *err);
int hf__op_session_get(void *store, const struct hf_text *id, uint32_t want,
                       hf_session_fn *emit, void *ctx, struct hf_error *err);
int hf__op_session_update(void *store, const struct hf_text *id,
                          const struct hf_field *fields, uint64_t n_fields,
                          struct hf_error *err);
int hf__op_session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
                          uint64_t *ret_deleted, struct hf_error *err);

/* Carries out changes of a session inside the caller's transaction. */
int hf__fields_apply(struct hf_sqlite_store *st, const struct hf_text *id,
                     const struct hf_field *fields, uint64_t n_fields,
                     struct hf_error *err);

/* ---- list.c: session_list with views, chain tips, previews (SPEC 11) ---- */

int hf__op_session_list(void *store, const struct hf_session_query *query,
                        hf_session_fn *emit, void *ctx, struct hf_error *err);

/* ---- messages.c, read.c, transcript.c: append; read; rewind, restore, compact ---- */

int hf__op_message_append(void *store, const struct hf_append *what,
                          struct hf_appended *ret, struct hf_error *err);
int hf__op_message_read(void *store, const struct hf_text *session_id,
                        const struct hf_message_query *query, hf_message_fn *emit,
                        void *ctx, struct hf_error *err);
int hf__op_message_rewind(void *store, const struct hf_text *session_id,
                          int64_t from_id, uint64_t *ret_count, struct hf_error *err);
int hf__op_message_restore(void *store, const struct hf_text *session_id,
                           int64_t from_id, uint64_t *ret_count, struct hf_error *err);
/* Inserts one message of a session, or finds the one that has its uid.  *ret_added is 0
 * then.  Inside the caller's transaction. */
int hf__message_insert(struct hf_sqlite_store *st, const struct hf_text *session_id,
                       const struct hf_message *msg, uint32_t flags, uint32_t summary,
                       struct hf_appended *ret, uint32_t *ret_added, double *ret_time,
                       struct hf_error *err);
/* Adds to the counters of a session after N messages with CALLS tool calls. */
int hf__session_count(struct hf_sqlite_store *st, const struct hf_text *id, uint64_t n,
                      int64_t calls, double newest, struct hf_error *err);
/* Makes both counters of a session those of its active messages. */
int hf__session_recount(struct hf_sqlite_store *st, const struct hf_text *id,
                        struct hf_error *err);
int64_t hf__message_calls(const struct hf_message *msg);
int hf__op_message_compact(void *store, const struct hf_text *session_id,
                           int64_t watermark, const struct hf_message *const *summary,
                           uint64_t n_summary, struct hf_appended *ret,
                           struct hf_error *err);

/* ---- merge.c: a session that comes from another store ---- */

int hf__op_session_merge(void *store, const struct hf_transfer *what,
                         struct hf_transferred *ret, struct hf_error *err);

/* ---- unsettled.c: what a loss may have taken ---- */

int hf__unsettled_start(struct hf_sqlite_store *st, struct hf_error *err);
void hf__unsettled_free(struct hf_sqlite_store *st);
/* A transaction has begun; what it changed was committed.  Under st->lock. */
void hf__unsettled_begun(struct hf_sqlite_store *st);
void hf__unsettled_committed(struct hf_sqlite_store *st);
int hf__op_unsettled(void *store, hf_transfer_fn *emit, void *ctx, struct hf_error *err);

/* ---- query.c: the parser of search text, pure (SPEC 8); search.c, search_scan.c ---- */

int hf__op_search(void *store, const struct hf_search *query, hf_hit_fn *emit, void *ctx,
                  struct hf_search_info *info, struct hf_error *err);

/* ---- meta.c, leases.c, usage.c, stats.c ---- */

int hf__op_meta_get(void *store, const struct hf_text *key,
                    int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
                    struct hf_error *err);
int hf__op_meta_set(void *store, const struct hf_text *key, const struct hf_text *value,
                    struct hf_error *err);
int hf__op_lease_acquire(void *store, const struct hf_text *name,
                         const struct hf_text *holder, double ttl_seconds,
                         uint64_t *ret_generation, struct hf_error *err);
int hf__op_lease_renew(void *store, const struct hf_text *name,
                       const struct hf_text *holder, uint64_t generation,
                       double ttl_seconds, struct hf_error *err);
int hf__op_lease_release(void *store, const struct hf_text *name,
                         const struct hf_text *holder, uint64_t generation,
                         struct hf_error *err);
/* Adds to a usage row inside the caller's transaction. */
int hf__usage_put(struct hf_sqlite_store *st, const struct hf_usage *u,
                  struct hf_error *err);
int hf__op_usage_add(void *store, const struct hf_usage *delta, struct hf_error *err);
int hf__op_usage_read(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                      void *ctx, struct hf_error *err);
int hf__op_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
                 struct hf_error *err);

/* ---- health.c: check (SPEC 12.3, 13) ---- */

int hf__op_check(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
                 struct hf_error *err);

/* ---- readers.c ---- */

/* The store to read from: a connection of the pool, or ST itself.  Never fails; always
 * to be given back. */
struct hf_sqlite_store *hf__reader_acquire(struct hf_sqlite_store *st);
void hf__reader_release(struct hf_sqlite_store *st, struct hf_sqlite_store *reader);
void hf__readers_settings(struct hf_sqlite_store *st, const struct hf_setting *database);
void hf__readers_interrupt(struct hf_sqlite_store *st);
void hf__readers_close(struct hf_sqlite_store *st);
/* Looks now whether the files of the store are still those it has open. */
void hf__lost_look(struct hf_sqlite_store *st);
/* The lock round one read.  The end gives RC, or HF_BUSY when a file that is read
 * without locks was written meanwhile. */
int hf__read_lock(struct hf_sqlite_store *st, struct hf_error *err);
int hf__read_unlock(struct hf_sqlite_store *st, int rc, struct hf_error *err);

/* ---- upkeep.c: what is due ---- */

int hf__op_upkeep(void *store, uint32_t *ret_again_ms, struct hf_error *err);
/* After COMMIT: a checkpoint that is due, unless it can be left to the thread.  The
 * caller holds st->lock. */
void hf__checkpoint_after_write(struct hf_sqlite_store *st);

/* ---- sqlite.c: the table; open, close, flush, backup, interrupt ---- */

void hf__store_free(struct hf_sqlite_store *st); /* closes what is open of it */

#endif /* HF_SQLITE_PRIVATE_H */
