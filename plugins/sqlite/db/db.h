/* db.h - what the files of libholdfast-sqlite know of each other, grouped by file. */
#ifndef HF_DB_H
#define HF_DB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include <holdfast/backend.h>
#include <holdfast/sqlite.h>

#include "util/buf.h"
#include "generation.h"
#include "util/misc.h"

struct hf__statement;
struct hf__open_file;
struct hf__kernel;

/* How long a call of a connection has waited, and how long it may.  Used by the thread
 * that works with the connection; only `interrupts` is touched by others. */
struct hf__busy {
    int64_t start_ms;    /* when the wait under way, or the last one, began */
    int64_t deadline_ms; /* of an armed span (open, begin); 0: each wait has its own */
    int64_t wait_until_ms; /* when the wait under way ends at the latest */
    int64_t waited_ms;     /* the last wait's length */
    atomic_uint interrupts;
    uint32_t interrupts_seen;
    uint32_t holder_asked;
    char holder[160]; /* "pid 12 (python3)" of the last wait that ran out, or "" */
};

enum hf__frozen { HF__FROZEN_NONE = 0, HF__FROZEN_IMMUTABLE, HF__FROZEN_COPY };

struct hf_sqlite_db {
    struct hf_sqlite_options opt; /* our copy; its path is `path` */
    char *path;                   /* absolute, its folder free of symlinks */
    sqlite3 *handle;
    pthread_mutex_t swap;       /* held while handle changes, for interrupt */
    struct hf__open_file *file; /* the registry's entry of the original */
    struct hf_mount mount;
    struct hf__kernel *kernel; /* NULL where one kernel at a time is not our matter */
    struct hf__busy busy;
    struct hf__statement *statements[64];
    uint32_t n_statements;
    uint64_t statement_clock;
    _Atomic uint32_t journal; /* enum hf_sqlite_journal */
    uint32_t frozen;         /* enum hf__frozen */
    struct stat frozen_stat; /* the file as it was when an immutable read began */
    off_t frozen_wal_size;
    int64_t read_ms;      /* the last hf_sqlite_prepare() */
    uint32_t reads_begin; /* the caller says where a read begins */
    uint32_t is_writer;   /* counted as one of the file's writers */
    uint32_t settled;     /* the open came to its end */
    int tracked;          /* host->file_track succeeded */
    atomic_int wal_pages; /* as of our last commit */
    uint32_t settled_count; /* hf_sqlite_settled() */
    int checkpoint_base;  /* pages of them that are copied already */
    char *copy_dir;       /* a private copy that still has names */
    int pid;              /* of the opener: a handle must not cross fork() */
    struct hf__generation generation;
    struct hf_sqlite_db *given_up; /* the next one that a forked child cannot free */
};

/* ---- open_db.c ---- */

/* Opens db->handle as NAME; on failure a half-open one is left for hf__disconnect(). */
int hf__connect(struct hf_sqlite_db *db, const char *name, int flags,
                struct hf_error *err);
void hf__disconnect(struct hf_sqlite_db *db);
void hf__forget_file(struct hf_sqlite_db *db); /* leaves the registry */
/* foreign_keys, synchronous, sizing. */
int hf__settings_apply(struct hf_sqlite_db *db, struct hf_error *err);

/* ---- paths.c ---- */

/* The name under which PATH is opened: its folder made (CREATE) and resolved. */
int hf__db_path_settle(const char *path, int create, char **ret, struct hf_error *err);
/* A name for texts and commands: quoted for a shell where need be, always one line. */
struct hf__shown {
    char text[600];
};
const char *hf__shown(struct hf__shown *ret, const char *path);
const char *hf__shown_file(struct hf__shown *ret, const char *path, const char *suffix);
void hf__path_folder(char *ret, size_t size, const char *path);
/* "file:///a%20b?immutable=1" for the caller to free(). */
char *hf__db_uri(const char *path, const char *query);

/* ---- preflight.c: what is on disk before SQLite looks ---- */

enum hf__header {
    HF__HEADER_NONE = 0, /* no file, or an empty one */
    HF__HEADER_ROLLBACK,
    HF__HEADER_WAL,
    HF__HEADER_MIXED, /* bytes 18 and 19 differ, or a future format */
    HF__HEADER_BAD,
    HF__HEADER_UNREAD /* open in this process where it cannot be read from here, or
                         SQLite has a rollback journal to play back first */
};
uint32_t hf__header_kind(const unsigned char *bytes, size_t len); /* pure */

struct hf__look {
    struct stat main, wal, shm, journal; /* st_mode 0: there is none */
    uint32_t exists, header, wal_holds_frames;
};
/* Refuses what SQLite must not see.  Under hf__open_files_lock(). */
int hf__preflight(const char *path, struct hf__look *ret, struct hf_error *err);
void hf__tighten(const char *path, const struct hf__look *look);
/* HF_EXISTS, without a text, when it is there already. */
int hf__create_file(const char *path, struct hf_error *err);
/* Appends the transcripts and backups that lie beside PATH. */
void hf__used_home(const char *path, struct hf__buf *out);

/* ---- open_files.c: the databases this process has open ---- */

/* Held from the look at a file until it is entered here, so that no descriptor of a
 * file with a connection is ever closed by us. */
void hf__open_files_lock(void);
void hf__open_files_unlock(void);
int hf__open_files_fork_enter(void); /* 0, or it is in use */
int hf__open_files_fork_child(void); /* forgets all; 1: there was something */
struct hf__open_file *hf__open_file_use(const struct stat *st); /* under the lock */
void hf__open_file_release(struct hf__open_file *file);
void hf__open_file_writer(struct hf__open_file *file);
int hf__open_file_writer_done(struct hf__open_file *file); /* 1: it was the last */
/* Reads the first bytes of a database file that lstat() saw as ST.  0, an errno, or: */
#define HF__PEEK_ELSEWHERE (-1)
int hf__peek(const char *path, const struct stat *st, void *ret, size_t size,
             size_t *ret_len);
/* A descriptor to read from: this process's own if it has one (not to be closed), else
 * a new one. */
int hf__descriptor_borrow(const char *path, const struct stat *st, int *ret_borrowed);

/* ---- journal_policy.c: the decision of SPEC 3.2, pure ---- */

struct hf__journal_facts {
    uint32_t known;         /* header and pragma agree */
    uint32_t wal;           /* ... on WAL */
    uint32_t has_content;   /* the file has pages */
    uint32_t configured;    /* HF_JOURNAL_WAL or HF_JOURNAL_DELETE */
    uint32_t cross_vm;      /* and mount_check is not off */
    uint32_t no_shared_map; /* the file system refused one */
    uint32_t require_wal;
};
enum hf__journal_action {
    HF__JOURNAL_KEEP_WAL,
    HF__JOURNAL_INHERIT,
    HF__JOURNAL_SET_DELETE,
    HF__JOURNAL_SET_WAL,
    HF__JOURNAL_REFUSE
};
enum hf__journal_say { /* bits */
                       HF__SAY_DELETE_OVERRIDDEN = 1,
                       HF__SAY_CROSS_VM_WAL = 2,
                       HF__SAY_MODE_UNKNOWN = 4,
                       HF__SAY_CROSS_VM_DELETE = 8,
                       HF__SAY_JOURNAL_UPGRADED = 16, /* once it succeeded */
                       HF__SAY_WAL_REFUSED = 32,
                       HF__SAY_WAL_UNUSABLE = 64,
                       HF__SAY_WAL_NOT_CONFIGURED = 128
};
struct hf__journal_plan {
    uint32_t action, say;
    int code; /* of HF__JOURNAL_REFUSE */
};
struct hf__journal_plan hf__journal_decide(const struct hf__journal_facts *facts);

/* ---- journal_apply.c ---- */

int hf__journal_apply(struct hf_sqlite_db *db, struct hf_error *err);
/* Sets db->journal to what header and pragma say, if they agree. */
void hf__journal_confirm(struct hf_sqlite_db *db);

/* ---- shared_map.c ---- */

int hf__shared_map_probe(const char *db_path, uint32_t *ret_refused,
                         struct hf_error *err);

/* ---- read_only.c, private_copy.c (SPEC 3.5) ---- */

int hf__open_read(struct hf_sqlite_db *db, struct hf_error *err);
int hf__frozen_changed(const struct hf_sqlite_db *db);
/* Reopens an idle immutable handle whose file was written meanwhile. */
int hf__read_refresh(struct hf_sqlite_db *db, struct hf_error *err);
int hf__private_copy_make(const char *path, const struct hf__look *look, char **ret_dir,
                          struct hf_error *err);
void hf__private_copy_remove(char **dir);

/* ---- statements.c ---- */

void hf__statements_close(struct hf_sqlite_db *db);

/* ---- busy.c: waiting with a deadline and jitter; holders.c ---- */

int hf__busy_install(struct hf_sqlite_db *db);
/* All waits until disarm share one patience; negative: the configured one. */
void hf__busy_arm(struct hf_sqlite_db *db, int64_t patience_ms);
void hf__busy_disarm(struct hf_sqlite_db *db);
/* Sleeps one turn of jitter; 0 when the deadline has passed or the call is cancelled.
 */
int hf__busy_turn(struct hf_sqlite_db *db);
int hf__busy_cancelled(const struct hf_sqlite_db *db);
/* A call of the user begins: interrupts that came before it do not concern it. */
void hf__busy_new_call(struct hf_sqlite_db *db);
/* "pid 12 (python3)", or "" when it cannot be found out. */
void hf__lock_holder(const char *db_path, char *ret, size_t size);

/* ---- checkpoint.c ---- */

void hf__checkpoint_install(struct hf_sqlite_db *db);
void hf__checkpoint_last(struct hf_sqlite_db *db); /* at the last close of a file */

/* ---- locks.c, lock_table.c (SPEC 4.1) ---- */

/* Puts the hooks into the unix VFS of this process's SQLite, once. */
int hf__locks_install(struct hf_error *err);
int hf__locks_installed(void);
/* Whether the database of that path is to keep POSIX locks; holds for an inode that has
 * no lock yet.  -1 without memory. */
int hf__locks_wish(const char *path, int posix);
enum hf__lock_style {
    HF__LOCKS_NONE = 0, /* nothing was locked through the hooks yet */
    HF__LOCKS_OFD,
    HF__LOCKS_POSIX_EARLY,   /* it was open before the hooks were */
    HF__LOCKS_POSIX_REFUSED, /* by the kernel or the file system */
    HF__LOCKS_POSIX_WISHED
};
/* How the file of that path is locked now. */
enum hf__lock_style hf__locks_style(const char *path);
int hf__locks_fork_enter(void); /* 0, or it is in use */
void hf__locks_fork_leave(void);
void hf__locks_fork_child(void);

/* ---- lock_style.c ---- */

/* Before the first look at the files of DB. */
int hf__locks_settle(struct hf_sqlite_db *db, struct hf_error *err);
/* Once SQLite has locked them: an INFO when that is not as it was wished. */
void hf__locks_say(struct hf_sqlite_db *db);

/* ---- fork.c ---- */

int hf__fork_install(struct hf_error *err);
/* Whether DB was opened by a process that this one is a child of. */
int hf__forked(const struct hf_sqlite_db *db);
/* The same, as HF_MISUSE with a text; else HF_OK. */
int hf__fork_check(const struct hf_sqlite_db *db, struct hf_error *err);
int hf__fork_is_child(void);
/* HF_MISUSE in a child that can open no database. */
int hf__fork_check_open(const char *path, struct hf_error *err);

/* ---- kernel_file.c: one kernel at a time (SPEC 4.6) ---- */

/* Takes NAME.kernel on a mount that virtual machines share; HF_BUSY: another has it. */
int hf__kernel_open(struct hf_sqlite_db *db, struct hf_error *err);
/* Before each write. */
int hf__kernel_begin(struct hf_sqlite_db *db, struct hf_error *err);
/* After a wait, and before a commit: HF_BUSY when it was lost meanwhile. */
int hf__kernel_still(struct hf_sqlite_db *db, struct hf_error *err);
/* Whether DB may write now; never waits. */
int hf__kernel_try(struct hf_sqlite_db *db);
void hf__kernel_close(struct hf_sqlite_db *db);

/* ---- once.c ---- */

/* 1 the first time in this process for this EVENT (of static storage) and PATH. */
int hf__once(const char *event, const char *path);
int hf__once_fork_enter(void); /* 0, or it is in use */
void hf__once_fork_leave(void);
void hf__db_log(const struct hf_sqlite_db *db, int level, const char *event,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- fail.c ---- */

/* "12.3 s", whatever the locale. */
void hf__seconds_text(char *ret, size_t size, int64_t ms);
/* HF_READ_ONLY, naming the first folder or file on the way that cannot be written. */
int hf__check_writable(const struct hf_sqlite_db *db, struct hf_error *err);
void hf__wal_unusable(const struct hf_sqlite_db *db, char *ret, size_t size);

#endif /* HF_DB_H */
