/* doctor.h - what the files of doctor know of each other.
 *
 * Doctor collects its findings and emits them at the end: what it learns late (from the
 * backend) belongs in front of what it learned first, and nothing may be open any more
 * while the embedder's callback runs.
 */
#ifndef HF_DOCTOR_H
#define HF_DOCTOR_H

#include <sys/stat.h>

#include "internal.h"

/* The order of the rows of a profile. */
enum hf__doctor_rank {
    HF__DR_CONFIG, HF__DR_HOME, HF__DR_BACKEND, HF__DR_JOURNAL, HF__DR_MOUNT,
    HF__DR_SIZE, HF__DR_MODE, HF__DR_SPACE, HF__DR_VERSION, HF__DR_HEALTH
};

struct hf__doctor_row {
    int rank;
    uint32_t severity, fixable;
    char *code, *path, *text, *remedy;
};

/* One process that has files of a store open. */
struct hf__holder {
    int pid;
    uint32_t files; /* bit 0 the database, 1 its WAL, 2 its shared memory */
    uint32_t foreign; /* it has not loaded libholdfast-sqlite */
    char command[64];
};
#define HF__HOLDERS_MAX 16u
struct hf__holders {
    struct hf__holder v[HF__HOLDERS_MAX];
    size_t n;      /* of those in v */
    size_t beyond; /* further ones */
    int blind;     /* some process could not be looked at */
};

enum hf__main_file { HF__MAIN_MISSING, HF__MAIN_EMPTY, HF__MAIN_NOT_REGULAR,
                     HF__MAIN_UNREADABLE, HF__MAIN_LIVE, HF__MAIN_BAD, HF__MAIN_WAL,
                     HF__MAIN_ROLLBACK };

/* What lies on disk, found out without any connection. */
struct hf__doctor_files {
    char *path[3];          /* state.db, -wal, -shm */
    struct stat st[3];
    int there[3];
    enum hf__main_file kind;
    int error;              /* errno of HF__MAIN_UNREADABLE */
    int wal_frames;         /* the WAL holds at least one frame of its generation */
    int64_t wal_pending;    /* frames not yet in the database; -1: cannot be told */
    struct hf__holders holders;
};

struct hf__doctor {
    struct hf_runtime *rt;
    uint32_t fix, deep;
    struct hf__doctor_row *rows; /* of the profile at hand */
    size_t n_rows, cap_rows;
    int no_memory;
    /* The profile at hand. */
    const char *profile, *home;
    const struct hf__config *config;
    struct hf_mount mount;
    int mount_off;          /* database.mount_check: off */
    struct hf__doctor_files files;
    int sqlite;             /* its backend keeps a state.db */
    int refused;            /* the files say that no connection may be opened */
    int vulnerable;         /* the backend's SQLite has the WAL-reset bug */
};

/* Adds a row.  PATH and REMEDY may be NULL. */
void hf__doctor_add(struct hf__doctor *d, enum hf__doctor_rank rank, uint32_t severity,
                    uint32_t fixable, const char *code, const char *path,
                    const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));

/* ---- doctor_env.c: home, mount, modes, space ---- */

void hf__doctor_env(struct hf__doctor *d);

/* ---- doctor_files.c: the database's files ---- */

/* Looks at the files; to be called before any connection is made. */
void hf__doctor_look(struct hf__doctor *d);
void hf__doctor_files_free(struct hf__doctor_files *files);
/* Rows about what hf__doctor_look() found. */
void hf__doctor_file_rows(struct hf__doctor *d);

/* ---- doctor_generation.c: files that were taken away under processes ---- */

void hf__doctor_generation(struct hf__doctor *d);

/* ---- doctor_journal.c: the journal row (SPEC 12.2) ---- */

void hf__doctor_journal(struct hf__doctor *d);

/* ---- doctor_kernel.c: which machine writes (SPEC 4.6) ---- */

void hf__doctor_kernel(struct hf__doctor *d);

/* ---- doctor_store.c: the backend and what it says of itself ---- */

void hf__doctor_store(struct hf__doctor *d);

/* ---- holders.c: who has files open, by /proc and stat alone ---- */

/* Looks for other processes that have one of the N files (by device and inode) open. */
void hf__holders_find(const struct stat *files, const int *there, size_t n,
                      struct hf__holders *ret);
/* "pid 41 (hermes: state.db, state.db-wal), ..." appended to OUT. */
void hf__holders_text(struct hf__buf *out, const struct hf__holders *holders);

#endif
