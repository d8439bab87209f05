/* holdfast/sqlite.h - opening SQLite databases by the rules of Holdfast.
 *
 * A plugin that keeps a database of its own opens it with hf_sqlite_open_db() and gets
 * what state.db gets: a look at the files before SQLite touches them, a journal mode
 * that fits the mount, waiting with a deadline, one transaction for the whole schema,
 * whole-or-nothing checkpoints, and sidecars that no close of ours removes.
 * The rules are kept per process: every plugin must use this one shared object.
 */
#ifndef HOLDFAST_SQLITE_H
#define HOLDFAST_SQLITE_H

#include <holdfast/backend.h>
#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_SQLITE_API __attribute__((visibility("default")))

struct hf_sqlite_db;

enum hf_sqlite_journal { HF_JOURNAL_WAL = 0, HF_JOURNAL_DELETE = 10,
                         HF_JOURNAL_UNKNOWN = 20 };

struct hf_sqlite_options {
    struct hf_abi abi;
    const struct hf_host *host;
    const char *path;          /* absolute path of the database */
    uint32_t read_only;        /* create, write and lock nothing */
    uint32_t read_only_first;  /* one writable open only if is_current says stale */
    uint32_t require_wal;      /* anything but WAL fails with HF_UNSUPPORTED */
    uint32_t journal_mode;     /* HF_JOURNAL_WAL or HF_JOURNAL_DELETE, as configured */
    uint32_t mount_check_off;  /* treat every mount as native */
    uint32_t lock_posix;       /* database.lock_style: posix */
    int32_t synchronous;       /* 0..3; hf_sqlite_options_from() sets 2 (full) */
    int32_t wal_autocheckpoint; /* pages at which a checkpoint is due; 0: at close */
    int64_t patience_ms;       /* how long open and ordinary writes wait for a lock */
    int64_t cache_size, mmap_size, temp_store, journal_size_limit; /* HF_NO_INT: none */
    /* Reads only.  Sets *ret_stale when INITIALIZE has something to do.  NULL: never
     * stale unless the file is new. */
    int (*is_current)(void *ctx, sqlite3 *db, uint32_t *ret_stale,
                      struct hf_error *err);
    /* Inside one BEGIN IMMEDIATE that the caller of it commits. */
    int (*initialize)(void *ctx, sqlite3 *db, struct hf_error *err);
    void *ctx;
    /* Optional: called for each connection right after it was opened, to register SQL
     * functions.  A read-only handle may open a new one later. */
    int (*connected)(void *ctx, sqlite3 *db, struct hf_error *err);
    uint32_t after_loss; /* its files were taken away (HF_WAL_LOST, HF_REPLACED): whoever
                            still has them is looked for, even if nothing is missing */
};

/* Fills *RET (made with HF_INIT) from how->database, whose values were checked. */
HF_SQLITE_API int hf_sqlite_options_from(const struct hf_host *host,
                                         const struct hf_open *how,
                                         struct hf_sqlite_options *ret,
                                         struct hf_error *err);

/* Opens the database.  Any failure leaves nothing open and reports the first
 * cause; a crash at any point leaves the old schema or the new one.  With read_only a
 * missing file is HF_NOT_FOUND. */
HF_SQLITE_API int hf_sqlite_open_db(const struct hf_sqlite_options *options,
                                    struct hf_sqlite_db **ret_db, struct hf_error *err);
/* Closes; the last close of a path in this process empties the WAL if nobody else is in
 * the way.  Accepts NULL, leaves NULL. */
HF_SQLITE_API void hf_sqlite_close_db(struct hf_sqlite_db **db);

/* The connection.  A read-only handle may have a new one after hf_sqlite_read_begin();
 * where that is never called, after an hf_sqlite_prepare() that follows an idle
 * second. */
HF_SQLITE_API sqlite3 *hf_sqlite_handle(struct hf_sqlite_db *db);
HF_SQLITE_API const char *hf_sqlite_path(const struct hf_sqlite_db *db);
/* The journal mode really in force: HF_JOURNAL_UNKNOWN until it is confirmed. */
HF_SQLITE_API uint32_t hf_sqlite_journal(const struct hf_sqlite_db *db);
/* Whether the database was read from a frozen copy (immutable, or a private copy). */
HF_SQLITE_API uint32_t hf_sqlite_frozen(const struct hf_sqlite_db *db);
/* Around the statements of one read.  A frozen file is read without locks: begin reads
 * it anew if it was written since, and check, at the end and before anything is
 * concluded, says HF_BUSY if it was written meanwhile, for what was read may be torn.
 * Nothing happens on other handles. */
HF_SQLITE_API int hf_sqlite_read_begin(struct hf_sqlite_db *db, struct hf_error *err);
HF_SQLITE_API int hf_sqlite_read_check(struct hf_sqlite_db *db, struct hf_error *err);

/* A statement prepared once per database and text, reset and without bindings.  It
 * belongs to DB; reset it with hf_sqlite_done() when finished, never finalize it.  One
 * thread at a time per DB. */
HF_SQLITE_API int hf_sqlite_prepare(struct hf_sqlite_db *db, const char *sql,
                                    sqlite3_stmt **ret_stmt, struct hf_error *err);
HF_SQLITE_API void hf_sqlite_done(sqlite3_stmt *stmt);

/* BEGIN IMMEDIATE, waiting at most PATIENCE_MS (negative: the configured patience) with
 * jitter; HF_BUSY says how long was waited.  commit rolls back when it fails.  rollback
 * does nothing outside a transaction. */
HF_SQLITE_API int hf_sqlite_begin(struct hf_sqlite_db *db, int64_t patience_ms,
                                  struct hf_error *err);
HF_SQLITE_API int hf_sqlite_commit(struct hf_sqlite_db *db, struct hf_error *err);
HF_SQLITE_API void hf_sqlite_rollback(struct hf_sqlite_db *db);

/* Runs one or more statements without results. */
HF_SQLITE_API int hf_sqlite_exec(struct hf_sqlite_db *db, const char *sql,
                                 struct hf_error *err);

/* Turns the last failure RC of DB into a code and a text: by result code first, then by
 * the object that failed.  WHAT says what was being done ("append to session X").  A
 * full disk behind SQLITE_IOERR is HF_DISK_FULL. */
HF_SQLITE_API int hf_sqlite_fail(struct hf_sqlite_db *db, int rc, const char *what,
                                 struct hf_error *err);

/* Holdfast's only checkpoints: whole or nothing, never beside a commit.
 * TRUNCATE empties the file.  *ret_done is 0 when it was deferred (a reader or writer
 * in the way), which is no error.  No statement of DB may be open. */
HF_SQLITE_API int hf_sqlite_checkpoint(struct hf_sqlite_db *db, uint32_t truncate,
                                       uint32_t *ret_done, struct hf_error *err);
/* Checkpoints if the WAL has passed wal_autocheckpoint pages. */
HF_SQLITE_API int hf_sqlite_checkpoint_if_due(struct hf_sqlite_db *db,
                                              struct hf_error *err);
/* How many times wal_autocheckpoint pages have come since the last checkpoint, or since
 * one was deferred: 0 when none is due.  For the thread that writes through DB. */
HF_SQLITE_API uint32_t hf_sqlite_checkpoint_due(struct hf_sqlite_db *db);
/* Grows whenever all that DB had committed has come into the database itself, by a
 * checkpoint of its own or of another.  For the thread that writes through DB. */
HF_SQLITE_API uint32_t hf_sqlite_settled(const struct hf_sqlite_db *db);
/* HF_OK, or HF_WAL_LOST or HF_REPLACED once the files of DB were taken away under it: it
 * then writes nothing more, makes no checkpoint and serves reads from what it
 * has.  *RET_SINCE (may be NULL) is when that was seen.  Any thread. */
HF_SQLITE_API int hf_sqlite_lost(struct hf_sqlite_db *db, double *ret_since,
                                 struct hf_error *err);
/* Compares the files that DB has open with those at its paths now, as begin and commit
 * do.  HF_IO when it cannot be told. */
HF_SQLITE_API int hf_sqlite_compare(struct hf_sqlite_db *db, struct hf_error *err);

/* Interrupts a running call of DB, waiting for a lock included.  Any thread. */
HF_SQLITE_API void hf_sqlite_interrupt(struct hf_sqlite_db *db);
/* Where one kernel at a time may write (a folder that virtual machines share): renews
 * this one's claim when that is due, or does nothing.  For a thread of upkeep, at least
 * every five seconds; without one the next write claims anew.  Any thread. */
HF_SQLITE_API int hf_sqlite_kernel_renew(struct hf_sqlite_db *db, struct hf_error *err);


#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_SQLITE_H */
