/* private.h - what the files of the sqlite backend know of each other, grouped by file. */
#ifndef HF_SQLITE_PRIVATE_H
#define HF_SQLITE_PRIVATE_H

#include <pthread.h>
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

struct hf__shape {          /* filled once per handle, again after a schema change */
    uint64_t sessions_has[2]; /* bit i: hf__session_columns[i] exists in this file */
    uint64_t messages_has[1];
    uint32_t has_meta, has_usage, has_system_prompts; /* tables */
    /* Names of further columns of the file that Holdfast does not declare, in order. */
    char **sessions_more, **messages_more;
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
    struct hf_sqlite_db *db; /* NULL: read_only and there is no file: an empty store */
    /* One connection, one user at a time: whoever touches db, its statements or shape
     * holds it. */
    pthread_mutex_t lock;
    struct hf__shape shape;
    uint32_t fts_damaged;    /* the index failed once on this handle */
};

int hf__shape_read(struct hf_sqlite_store *st, struct hf_error *err);
void hf__shape_free(struct hf__shape *shape);
/* "ALIAS.name" when this file has the column, else its fallback literal. */
void hf__column_sql(struct hf__buf *out, const struct hf_sqlite_store *st,
                    enum hf__table table, const char *alias, const char *name);

/* ---- schema.c: declared schema against the file (SPEC 6, 3.5) ---- */

int hf__schema_is_current(void *ctx, sqlite3 *db, uint32_t *ret_stale,
                          struct hf_error *err);
int hf__schema_initialize(void *ctx, sqlite3 *db, struct hf_error *err);

/* ---- fts.c: layouts, triggers, markers ---- */

int hf__fts_shape(struct hf_sqlite_store *st, struct hf_error *err);
/* Rows with ids in (*ret_from, *ret_to] are not in the index yet; both 0: none.  Read
 * in the caller's transaction, never cached. */
int hf__fts_gap(struct hf_sqlite_store *st, int64_t *ret_from, int64_t *ret_to,
                struct hf_error *err);

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
void hf__bind_text(sqlite3_stmt *stmt, int index, const struct hf_text *text);

/* ---- sessions.c: put, get, update, delete ---- */

int hf__op_session_put(void *store, const struct hf_session *session, uint32_t mode,
                       struct hf_error *err);
int hf__op_session_get(void *store, const struct hf_text *id, uint32_t want,
                       hf_session_fn *emit, void *ctx, struct hf_error *err);
int hf__op_session_update(void *store, const struct hf_text *id,
                          const struct hf_field *fields, uint64_t n_fields,
                          struct hf_error *err);
int hf__op_session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
                          uint64_t *ret_deleted, struct hf_error *err);

/* ---- list.c: session_list with views, chain tips, previews (SPEC 11) ---- */

int hf__op_session_list(void *store, const struct hf_session_query *query,
                        hf_session_fn *emit, void *ctx, struct hf_error *err);

/* ---- messages.c, transcript.c: append; read; rewind, restore, compact ---- */

int hf__op_message_append(void *store, const struct hf_append *what,
                          struct hf_appended *ret, struct hf_error *err);
int hf__op_message_read(void *store, const struct hf_text *session_id,
                        const struct hf_message_query *query, hf_message_fn *emit,
                        void *ctx, struct hf_error *err);
int hf__op_message_rewind(void *store, const struct hf_text *session_id,
                          int64_t from_id, uint64_t *ret_count, struct hf_error *err);
int hf__op_message_restore(void *store, const struct hf_text *session_id,
                           int64_t from_id, uint64_t *ret_count, struct hf_error *err);
int hf__op_message_compact(void *store, const struct hf_text *session_id,
                           int64_t watermark, const struct hf_message *const *summary,
                           uint64_t n_summary, struct hf_appended *ret,
                           struct hf_error *err);

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
int hf__op_usage_add(void *store, const struct hf_usage *delta, struct hf_error *err);
int hf__op_usage_read(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                      void *ctx, struct hf_error *err);
int hf__op_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
                 struct hf_error *err);

/* ---- health.c: check (SPEC 12.3, 13) ---- */

int hf__op_check(void *store, uint32_t level, hf_finding_fn *emit, void *ctx,
                 struct hf_error *err);

/* ---- sqlite.c: the table; open, close, flush, backup, interrupt ---- */

#endif /* HF_SQLITE_PRIVATE_H */
