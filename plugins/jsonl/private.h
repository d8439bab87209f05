/* private.h - the jsonl backend's own: its handle, what it knows of a file, and the
 * functions of its files.  The format is described in docs/jsonl-format.md. */
#ifndef HF_JSONL_PRIVATE_H
#define HF_JSONL_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <holdfast/backend.h>

#include "util/buf.h"

#define HF__JL_VERSION 1 /* of the format */
#define HF__JL_NAME_MAX                                                                \
    200 /* bytes of a name before its ending; longer ones are hashed */
#define HF__JL_SUFFIX ".jsonl"
#define HF__JL_BUCKETS 4096

/* At most 200 bytes of an id, for a text. */
#define HF__JL_ID_ARGS(text)                                                           \
    (int)((text)->len < 200 ? (text)->len : 200), (text)->ptr ? (text)->ptr : ""

/* A message, as far as it is kept in memory: where its record stands. */
struct hf__jl_entry {
    int64_t id, at;
    uint32_t len;
    uint32_t state; /* enum hf_message_state */
    uint32_t has_uid;
    uint32_t calls; /* in its tool_calls */
    uint32_t next;  /* in the chain of its bucket: index + 1 */
    unsigned char uid[16];
};

/* A record of a file: one line, or one of several that were glued together. */
struct hf__jl_record {
    json_t *json; /* borrowed */
    int64_t at;
    uint32_t len;
    uint64_t line;
};

/* What is known of one file.  `lock` guards all of it but the first three; whoever
 * writes has `writing`, without the lock, for as long as the file is locked. */
struct hf__jl_file {
    struct hf__jl_file *next; /* in its bucket; a file is forgotten at close only */
    char *name, *path;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int writing;

    /* As it was when it was last looked at. */
    dev_t dev;
    ino_t ino;
    int64_t size;
    struct timespec mtime;
    int known;     /* size and mtime count */
    char tail[32]; /* the bytes before `scanned` */
    ssize_t n_tail;

    /* What was read. */
    int64_t scanned;  /* up to here, whole lines */
    uint64_t line;    /* number of lines up to there */
    int64_t torn_at;  /* where a torn end begins; -1: there is none */
    int torn_told;    /* that was said; or -1: it is about to be set aside, which is */
    int unterminated; /* the last record is whole but lacks its newline */
    int marked;       /* it has Holdfast's mark; without, it is not ours */
    int headless;     /* the line with the session is damaged or missing */
    int misnamed;     /* it holds the session of another name: a copy of a file */
    int unreadable;   /* that was said */
    int64_t version;
    json_t *row;    /* the session's columns; never changed, replaced */
    json_t *usage;  /* array of rows; the same */
    json_t *stamps; /* object: what was merged under each: [fields, usage] */
    int64_t n_counted, n_calls; /* to be added to the row's counters */
    double activity;            /* newest append, if later than the row's; NaN */
    double newest;              /* time of the newest message; NaN */
    int64_t last_id;
    struct hf__jl_entry *entries; /* by id */
    size_t n, cap;
    uint32_t *buckets; /* of uids: index + 1 */
    size_t n_buckets;  /* a power of two, or 0 */
    uint64_t *damaged; /* lines, each of which was warned about */
    size_t n_damaged, cap_damaged;
    /* Records of an append of several lines whose last one has not come yet. */
    struct hf__jl_record *pending;
    size_t n_pending, cap_pending;
    int64_t pending_at;
    uint64_t pending_line;

    /* One fdatasync for everybody who waits. */
    uint64_t written, synced, epoch;
    int syncing;
};

struct hf_jsonl_store {
    const struct hf_host *host;
    char *dir;
    int read_only;
    int64_t patience_ms;
    atomic_uint interrupts;
    pthread_mutex_t lock;  /* the buckets */
    pthread_mutex_t names; /* titles: from the look to the write */
    pthread_mutex_t meta;
    struct hf__jl_file *buckets[HF__JL_BUCKETS];
};

/* What can be said of a session without holding its lock: to be released. */
struct hf__jl_view {
    json_t *row, *usage;
    int64_t n_counted, n_calls, size;
    double activity, newest;
    uint64_t messages;
    int64_t version;
};

/* ---- file_name.c ---- */
/* The name of the file of this session, for the caller to free(); NULL without memory.
 */
char *hf__jl_name(const struct hf_text *id);
/* Whether NAME could be a session's; *ret_id (to be freed) is the id, or NULL when the
 * name is a hash of it. */
int hf__jl_name_read(const char *name, char **ret_id, size_t *ret_len);

/* ---- line.c ---- */
/* A line is begun with its uid, given its members, and ended with its checksum. */
void hf__jl_line_begin(struct hf__buf *out, size_t *ret_start,
                       const struct hf_text *uid);
void hf__jl_line_end(struct hf__buf *out, size_t start);
void hf__jl_line_key(struct hf__buf *out, const char *key);
/* Text of any bytes: a string, or {"$hex":"..."} where it is no UTF-8. */
void hf__jl_text(struct hf__buf *out, const char *s, size_t len);
void hf__jl_value(struct hf__buf *out, const json_t *value);
/* Whether the bytes end in a checksum that is theirs. */
int hf__jl_crc_ok(const char *s, size_t len);
/* Parses a record whose checksum is right; {"$hex"} has become bytes again.  NULL: it
 * is no object. */
json_t *hf__jl_parse(const char *s, size_t len);
void hf__jl_uid_new(char *ret); /* HF_UID_SIZE bytes */

/* ---- cells.c ---- */
/* The columns of a session as it is stored; NULL without memory. */
json_t *hf__jl_row(const struct hf_session *session, uint32_t mode, double now);
int hf__jl_column_known(const char *name);
/* Fills *RET from a view; texts point into the view's row or into SCRATCH. */
void hf__jl_session(const struct hf__jl_view *view, uint32_t want,
                    struct hf__buf *scratch, struct hf_session *ret);
/* Writes the "message" member of a line. */
void hf__jl_message_write(struct hf__buf *out, const struct hf_message *m, int64_t id,
                          double time);
/* Fills *RET from a record with a message. */
void hf__jl_message(json_t *record, const struct hf_text *session_id, int64_t id,
                    uint32_t state, uint32_t want, struct hf__buf *scratch,
                    struct hf_message *ret);
double hf__jl_time(const json_t *value, uint32_t *ret_bad);
int64_t hf__jl_int(const json_t *value, int64_t fallback);
struct hf_text hf__jl_string(const json_t *value);

/* ---- scan.c ---- */
struct hf__jl_scan {
    int64_t at;       /* in: where to begin; out: behind the last whole line */
    uint64_t line;    /* in, out: lines before that */
    int64_t end;      /* out: where the file ended */
    int64_t torn_at;  /* out: where the torn end begins, or -1 */
    int unterminated; /* out: the last record lacks its newline */
    int (*record)(void *ctx, const struct hf__jl_record *record, struct hf_error *err);
    int (*damage)(void *ctx, int64_t at, uint64_t line, struct hf_error *err);
    void *ctx;
};
int hf__jl_scan(int fd, const char *path, struct hf__jl_scan *scan,
                struct hf_error *err);

/* ---- apply.c ---- */
/* Takes a record over into what is known of the file. */
int hf__jl_apply(struct hf__jl_file *file, const struct hf__jl_record *record,
                 struct hf_error *err);
/* What an append of several lines left without its last line: forgotten, or applied
 * because other lines follow it. */
int hf__jl_pending_apply(struct hf__jl_file *file, struct hf_error *err);
void hf__jl_pending_drop(struct hf__jl_file *file);
/* Carries out FIELDS of a record ([[name, op, value], ...]) on the row. */
int hf__jl_fields_apply(struct hf__jl_file *file, const json_t *fields);
/* The entry with this uid, or NULL. */
struct hf__jl_entry *hf__jl_uid_find(const struct hf__jl_file *file,
                                     const struct hf_text *uid);

/* ---- file.c ---- */
/* The file of a session or of a name; never NULL but without memory. */
struct hf__jl_file *hf__jl_file_of(struct hf_jsonl_store *st, const struct hf_text *id);
struct hf__jl_file *hf__jl_file_named(struct hf_jsonl_store *st, const char *name);
void hf__jl_file_free(struct hf__jl_file *file);
void hf__jl_file_reset(struct hf__jl_file *file);
/* Reads what is new in the file, which is open as FD.  With its lock held. */
int hf__jl_refresh(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
                   struct hf_error *err);
/* Opens for reading and refreshes.  HF_NOT_FOUND when there is no session in it. */
int hf__jl_look(struct hf_jsonl_store *st, struct hf__jl_file *file,
                struct hf__jl_view *ret_view, struct hf_error *err);
int hf__jl_open_read(const struct hf__jl_file *file, int *ret_fd, struct hf_error *err);
/* HF_OK when the file, which was refreshed, holds a session of ours. */
int hf__jl_is_session(const struct hf__jl_file *file, struct hf_error *err);
void hf__jl_view_take(const struct hf__jl_file *file, struct hf__jl_view *ret);
void hf__jl_view_free(struct hf__jl_view *view);
/* Calls FN with every session of the folder, by name; its non-zero value ends the walk
 * and is returned.  ALL: also with files that hold none (the view's row is NULL). */
typedef int hf__jl_view_fn(void *ctx, struct hf__jl_file *file,
                           const struct hf__jl_view *view, struct hf_error *err);
int hf__jl_each(struct hf_jsonl_store *st, int all, hf__jl_view_fn *fn, void *ctx,
                struct hf_error *err);

/* ---- lock.c ---- */
struct hf__jl_wait {
    int64_t start_ms, patience_ms;
    unsigned interrupts;
    unsigned tries;
};
void hf__jl_wait_begin(struct hf_jsonl_store *st, struct hf__jl_wait *wait,
                       int64_t patience_ms);
/* Sleeps a moment; HF_BUSY when patience ran out, HF_CANCELLED. */
int hf__jl_wait_more(struct hf_jsonl_store *st, struct hf__jl_wait *wait,
                     const char *path, struct hf_error *err);
/* Opens PATH to write and locks it; it is then the file that stands there.  CREATE
 * makes a missing one.  HF_NOT_FOUND, HF_BUSY, HF_CANCELLED. */
int hf__jl_lock_open(struct hf_jsonl_store *st, const char *path, int create,
                     struct hf__jl_wait *wait, int *ret_fd, struct hf_error *err);
void hf__jl_release(int fd); /* the lock only */
void hf__jl_unlock(int fd);  /* and closes it */
/* Whether somebody else has it locked, through another descriptor. */
int hf__jl_is_locked(int fd);
int hf__jl_fail(struct hf_error *err, int sys, const char *path, const char *what);

/* ---- append.c ---- */
/* Writes to a session's file: locks it, refreshes, lets WORK say what to add, writes
 * that in one piece and makes it durable.  WORK runs with the file's lock held. */
struct hf__jl_write {
    const struct hf_text *id;
    int64_t patience_ms; /* -1: the store's */
    int create;          /* a missing session is no error */
    int relaxed;         /* not worth an fdatasync */
    int (*work)(struct hf_jsonl_store *st, struct hf__jl_file *file,
                struct hf__buf *out, void *ctx, struct hf_error *err);
    void *ctx;
};
int hf__jl_write(struct hf_jsonl_store *st, const struct hf__jl_write *write,
                 struct hf_error *err);
int hf__jl_write_all(int fd, int64_t at, const char *bytes, size_t len);
int hf__jl_sync_dir(const struct hf_jsonl_store *st, struct hf_error *err);
/* Takes the file for this thread, among the threads of this handle. */
int hf__jl_writer_begin(struct hf_jsonl_store *st, struct hf__jl_file *file,
                        struct hf__jl_wait *wait, struct hf_error *err);
void hf__jl_writer_end(struct hf__jl_file *file);

/* ---- quarantine.c ---- */
/* Refreshes a file that the caller has locked, and moves a torn end to *.quarantine. */
int hf__jl_refresh_settled(struct hf_jsonl_store *st, struct hf__jl_file *file, int fd,
                           struct hf_error *err);
/* At an open for writing: every file whose end is torn. */
int hf__jl_settle_all(struct hf_jsonl_store *st, struct hf_error *err);

/* ---- fields.c ---- */
int hf__jl_fields_check(const struct hf_field *fields, uint64_t n,
                        struct hf_error *err);
/* Writes the value of a "fields" member: [[name, op, value], ...]. */
void hf__jl_fields_write(struct hf__buf *out, const struct hf_field *fields, uint64_t n,
                         double now);
/* Whether they only say that somebody is there. */
int hf__jl_fields_touch(const struct hf_field *fields, uint64_t n);
const struct hf_text *hf__jl_fields_title(const struct hf_field *fields, uint64_t n);
/* From the look at all titles to the write, held by one thread of one process. */
int hf__jl_names_lock(struct hf_jsonl_store *st, int *ret_fd, struct hf_error *err);
void hf__jl_names_unlock(struct hf_jsonl_store *st, int fd);
int hf__jl_title_free(struct hf_jsonl_store *st, const struct hf_text *id,
                      const struct hf_text *title, struct hf_error *err);

/* ---- operations ---- */
int hf__jl_session_put(void *, const struct hf_session *, uint32_t, struct hf_error *);
int hf__jl_session_get(void *, const struct hf_text *, uint32_t, hf_session_fn *,
                       void *, struct hf_error *);
int hf__jl_session_list(void *, const struct hf_session_query *, hf_session_fn *,
                        void *, struct hf_error *);
int hf__jl_session_update(void *, const struct hf_text *, const struct hf_field *,
                          uint64_t, struct hf_error *);
int hf__jl_session_delete(void *, const struct hf_text *, uint64_t, uint64_t *,
                          struct hf_error *);
int hf__jl_message_append(void *, const struct hf_append *, struct hf_appended *,
                          struct hf_error *);
int hf__jl_message_read(void *, const struct hf_text *, const struct hf_message_query *,
                        hf_message_fn *, void *, struct hf_error *);
int hf__jl_message_rewind(void *, const struct hf_text *, int64_t, uint64_t *,
                          struct hf_error *);
int hf__jl_message_restore(void *, const struct hf_text *, int64_t, uint64_t *,
                           struct hf_error *);
int hf__jl_message_compact(void *, const struct hf_text *, int64_t,
                           const struct hf_message *const *, uint64_t,
                           struct hf_appended *, struct hf_error *);
int hf__jl_meta_get(void *, const struct hf_text *,
                    int (*)(void *, const struct hf_text *), void *, struct hf_error *);
int hf__jl_meta_set(void *, const struct hf_text *, const struct hf_text *,
                    struct hf_error *);
int hf__jl_lease_acquire(void *, const struct hf_text *, const struct hf_text *, double,
                         uint64_t *, struct hf_error *);
int hf__jl_lease_renew(void *, const struct hf_text *, const struct hf_text *, uint64_t,
                       double, struct hf_error *);
int hf__jl_lease_release(void *, const struct hf_text *, const struct hf_text *,
                         uint64_t, struct hf_error *);
int hf__jl_usage_add(void *, const struct hf_usage *, struct hf_error *);
int hf__jl_usage_read(void *, const struct hf_text *, hf_usage_fn *, void *,
                      struct hf_error *);
int hf__jl_session_merge(void *, const struct hf_transfer *, struct hf_transferred *,
                         struct hf_error *);
int hf__jl_session_hand_over(void *, const struct hf_text *, hf_transfer_fn *, void *,
                             struct hf_error *);
int hf__jl_stats(void *, struct hf_stats *, hf_source_fn *, void *, struct hf_error *);
int hf__jl_check(void *, uint32_t, hf_finding_fn *, void *, struct hf_error *);

/* ---- meta.c ---- */
/* Changes the document of the key/values under its lock: CHANGE edits it and sets
 * *ret_write when it is to be stored. */
int hf__jl_meta_change(struct hf_jsonl_store *st,
                       int (*change)(struct hf_jsonl_store *st, json_t *meta,
                                     int *ret_write, void *ctx, struct hf_error *err),
                       void *ctx, struct hf_error *err);

/* The value of a key, or NULL; *ret_i is where it stands. */
json_t *hf__jl_meta_find(const json_t *meta, const struct hf_text *key, size_t *ret_i);
/* NULL text removes.  -1 without memory. */
int hf__jl_meta_put(json_t *meta, const struct hf_text *key,
                    const struct hf_text *value);

/* ---- usage.c ---- */
/* Writes the value of a "usage" member, and reads it; texts point into ROW. */
void hf__jl_usage_write(struct hf__buf *out, const struct hf_usage *u, double now);
void hf__jl_usage_of(const json_t *row, const struct hf_text *session_id,
                     struct hf_usage *ret);

/* ---- sessions.c ---- */
/* The first line of a file, line 1 of OF that count together (1: alone). */
void hf__jl_header_write(struct hf__buf *out, json_t *row, uint64_t of);
/* What the session lacks and ROW has, as one change, the same; nothing when it lacks
 * nothing. */
void hf__jl_missing_write(struct hf__buf *out, const struct hf__jl_file *file,
                          json_t *row, uint64_t of);

/* ---- transcript.c ---- */
/* The name of an enum hf_message_state in a line, and back; 0: no such state. */
const char *hf__jl_state_name(uint32_t state);
uint32_t hf__jl_state_read(const struct hf_text *name);

/* ---- messages.c ---- */
/* Line AT of the OF lines that count only together. */
void hf__jl_part_write(struct hf__buf *out, uint64_t at, uint64_t of);
/* A name that is a hash does not tell the id: each line does. */
int hf__jl_name_is_hash(const struct hf__jl_file *file);
/* Reads the record of an entry from where it stands, through BYTES. */
int hf__jl_record_read(const struct hf__jl_file *file, int fd,
                       const struct hf__jl_entry *e, struct hf__buf *bytes,
                       json_t **ret, struct hf_error *err);
/* What is appended at once: one line for each message whose uid is not there yet. */
struct hf__jl_batch {
    const struct hf_message *const *messages;
    uint64_t n;
    const struct hf_field *fields;
    uint64_t n_fields;
    uint32_t verbatim, summary;
    int has_compact; /* the append begins with this change */
    int64_t watermark;
};
/* Adds these lines to OUT and fills ret[0..n-1]. */
int hf__jl_batch_write(struct hf_jsonl_store *st, struct hf__jl_file *file,
                       const struct hf__jl_batch *batch, struct hf_appended *ret,
                       struct hf__buf *out, struct hf_error *err);

#endif
