/* db.h - what the files of libholdfast-sqlite know of each other, grouped by file. */
#ifndef HF_DB_H
#define HF_DB_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include <holdfast/backend.h>
#include <holdfast/sqlite.h>

#include "util/buf.h"
#include "util/misc.h"

struct hf__statement;
struct hf__open_file;

/* How long a call of a connection has waited, and how long it may.  Used by the thread
 * that works with the connection; only `interrupts` is touched by others. */
struct hf__busy {
    int64_t start_ms;     /* when the wait began that the texts report; 0: no wait */
    int64_t deadline_ms;  /* of an armed span (open, begin); 0: each wait has its own */
    int64_t wait_until_ms; /* deadline of the wait under way */
    int64_t waited_ms;    /* the last wait's length */
    uint32_t interrupts_seen;
    atomic_uint interrupts;
    char holder[160];     /* "pid 12 (python3)" of the last wait that ran out, or "" */
};

struct hf_sqlite_db {
    struct hf_sqlite_options opt; /* our copy; its path is `path` */
    char *path;                   /* absolute, folder free of symlinks */
    sqlite3 *handle;
    struct hf__open_file *file;   /* the registry's entry; NULL for a private copy */
    struct hf_mount mount;
    struct hf__busy busy;
    struct hf__statement *statements[64];
    uint32_t n_statements;
    uint64_t statement_clock;
    uint32_t journal;             /* enum hf_sqlite_journal */
    uint32_t frozen;              /* enum hf__frozen */
    struct stat frozen_stat;      /* the file as it was when an immutable read began */
    uint32_t is_writer;           /* counted as one of the path's writers */
    int tracked;                  /* host->file_track succeeded */
    atomic_int wal_pages;         /* as of our last commit */
    char *copy_dir;               /* private copy: its folder, removed at close */
};

/* ---- statements.c ---- */

void hf__statements_close(struct hf_sqlite_db *db); /* finalizes all of them */

/* ---- busy.c: waiting with a deadline and jitter ---- */

int hf__busy_install(struct hf_sqlite_db *db);
/* All waits until disarm share one patience; negative: the configured one. */
void hf__busy_arm(struct hf_sqlite_db *db, int64_t patience_ms);
void hf__busy_disarm(struct hf_sqlite_db *db);
int64_t hf__busy_left(const struct hf_sqlite_db *db); /* ms of an armed span */
/* Sleeps one turn of jitter; 0 when the deadline has passed or the call is cancelled. */
int hf__busy_turn(struct hf_sqlite_db *db);
int hf__busy_cancelled(const struct hf_sqlite_db *db);
/* A call of the user begins: interrupts that came before it do not concern it. */
void hf__busy_new_call(struct hf_sqlite_db *db);

/* ---- fail.c ---- */

/* "12.3 s" for milliseconds, whatever the locale. */
void hf__seconds_text(char *ret, size_t size, int64_t ms);

#endif /* HF_DB_H */
