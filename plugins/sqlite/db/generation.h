/* generation.h - what generation.c, own_files.c, wal_capture.c and wal_holders.c share:
 * the identity of a database and its sidecars, and what becomes of it (SPEC 4.3). */
#ifndef HF_DB_GENERATION_H
#define HF_DB_GENERATION_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include <holdfast/sqlite.h>

#include "util/orphans.h"

struct hf_sqlite_db;

struct hf__identity {
    dev_t dev;
    ino_t ino;
    uint32_t known;
};

enum { HF__GEN_MAIN = 0, HF__GEN_WAL, HF__GEN_SHM, HF__GEN_FILES };

/* A generation that is lost, as all handles of this process that had it see it. */
struct hf__loss;

struct hf__generation {
    struct hf__identity file[HF__GEN_FILES]; /* as SQLite has them open */
    uint32_t application_id;                 /* the first one that was not 0 */
    int64_t looked_ms;                       /* the last comparison with the paths */
    atomic_int lost;       /* HF_REPLACED or HF_WAL_LOST, for good; 0: not lost */
    struct hf__loss *loss; /* of a lost one */
};

/* ---- own_files.c: SQLite's own descriptors ---- */

/* fstat() on SQLite's descriptor of one of the files, through SQLite.  0: it has none
 * now, or it could not be seen. */
int hf__own_stat(struct hf_sqlite_db *db, int which, struct stat *ret);
/* Called by the hook of the VFS's fstat. */
void hf__own_stat_note(int fd, const struct stat *st);
/* Reads from SQLite's descriptor of the main file or the WAL; how many bytes, or -1. */
int64_t hf__own_read(struct hf_sqlite_db *db, int which, void *ret, int64_t size,
                     int64_t at);
int64_t hf__own_size(struct hf_sqlite_db *db, int which); /* -1: it has none */
/* The application_id as it stands in the main file; 0 also when it cannot be read. */
uint32_t hf__own_application_id(struct hf_sqlite_db *db);

/* ---- generation.c ---- */

enum hf__generation_when { HF__WHEN_IDLE, HF__WHEN_BEGUN, HF__WHEN_COMMITTED };
/* Compares the paths with what SQLite has open; takes the identities of what it has
 * open for the first time.  HF_REPLACED and HF_WAL_LOST are for good, HF_IO is not. */
int hf__generation_check(struct hf_sqlite_db *db, enum hf__generation_when when,
                         struct hf_error *err);
/* The same for an idle handle that is about to read, at most once a second; never fails
 * the read. */
void hf__generation_glance(struct hf_sqlite_db *db);
/* At the end of an open: reads once and takes the identities. */
int hf__generation_take(struct hf_sqlite_db *db, struct hf_error *err);
/* Before a connection is closed, and when it is. */
void hf__generation_last(struct hf_sqlite_db *db);
void hf__generation_forget(struct hf_sqlite_db *db);
/* HF_OK, or the code and text of a handle that has lost its generation. */
int hf__generation_lost(const struct hf_sqlite_db *db, struct hf_error *err);

/* ---- loss.c: what this process knows of a lost generation ---- */

/* Joins the loss that other handles of this process have already seen, or makes it:
 * the lost WAL is copied, the log says it, once for all of them.  HOW is the fact in
 * words. NULL without memory. */
struct hf__loss *hf__loss_join(struct hf_sqlite_db *db, int code, const char *how);
void hf__loss_leave(struct hf__loss *loss);
/* A copy that failed is tried again, at most once a second. */
void hf__loss_again(struct hf_sqlite_db *db, struct hf__loss *loss);
void hf__loss_text(struct hf__loss *loss, char *ret, size_t size);
double hf__loss_since(const struct hf__loss *loss);

/* ---- wal_capture.c ---- */

/* Where a lost WAL is read from. */
struct hf__capture {
    const char *path;              /* of the database */
    const char *reason;            /* "wal_lost" or "replaced" */
    int pid;                       /* whose descriptor it is */
    struct stat st[HF__GEN_FILES]; /* identities; st_mode 0: unknown */
    void *ctx;
    int64_t (*size)(void *ctx, int which); /* HF__GEN_MAIN or _WAL */
    int64_t (*read)(void *ctx, int which, void *ret, int64_t size, int64_t at);
};
/* Copies it to PATH.retired-wal-TIME-PID/.  *RET is that folder, to be freed.  0 or an
 * errno, and then nothing is left behind. */
int hf__wal_capture(const struct hf__capture *what, char **ret);
/* Puts the sidecars at PATH that belong to a replaced database into FOLDER, so that no
 * program plays them into the new one. */
void hf__sidecars_retire(const char *path, const struct hf__generation *gen,
                         const char *folder);
/* Whether a folder beside PATH holds a copy of that WAL in that size; its name goes to
 * RET. */
int hf__wal_captured(const char *path, const struct stat *wal, char *ret, size_t size);

/* ---- wal_holders.c ---- */

struct hf__look;
/* Before an open for writing: HF_WAL_LOST or HF_REPLACED when a process still has
 * another generation of this database open.  Searches only where LOOK gives reason. */
int hf__wal_holders_check(struct hf_sqlite_db *db, const struct hf__look *look,
                          struct hf_error *err);

#endif /* HF_DB_GENERATION_H */
