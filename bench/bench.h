/* bench.h - what the files of holdfast-bench know of each other, grouped by file.
 *
 * Every figure stands beside the same work done with the bare SQLite C API, on a copy of
 * the same database (same schema, triggers and rows), with prepared statements, in the
 * same run.  Only the ratio says something about Holdfast: the rest is the machine. */
#ifndef HF_BENCH_H
#define HF_BENCH_H

#include <sqlite3.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

enum { PAGE_SESSIONS = 50, BATCH = 100, HITS = 20 };

struct bench {
    char *dir; /* a fresh folder, removed at the end */
    char *home, *path, *bare_path;
    int rounds, sessions, long_session, appends;
    int json;
    const char *only; /* run only cases whose name holds this */
    struct hf_runtime *runtime;
    struct hf_store *store; /* ours */
    sqlite3 *bare;
    struct bare_statements *statements;
};

/* ---- main.c ---- */

/* Says what failed and ends the program: a figure after a failure is none. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- text.c: the same text in every run ---- */

#define WORD_COMMON "gateway"     /* in every message */
#define WORD_RARE "chrysoberyl"   /* in one */
#define SESSION_LONG "bench-long" /* the one with many messages */
#define SESSION_APPEND "bench-append"
/* Message number N into BUF; its length. */
size_t text_make(char *buf, size_t size, uint64_t n);

/* ---- setup.c: one store made by Holdfast, and its copy ---- */

void setup_make(struct bench *b);
void setup_remove(struct bench *b);

/* ---- ours.c, bare.c: the same work twice; each returns how many rows it saw ---- */

void ours_open(struct bench *b);
void ours_close(struct bench *b);
uint64_t ours_append_one(struct bench *b);
uint64_t ours_append_batch(struct bench *b);
uint64_t ours_read(struct bench *b);
uint64_t ours_list(struct bench *b);
uint64_t ours_search_rare(struct bench *b);
uint64_t ours_search_common(struct bench *b);
uint64_t ours_export(struct bench *b);
uint64_t ours_open_settled(struct bench *b);

void bare_open(struct bench *b);
void bare_close(struct bench *b);
uint64_t bare_append_one(struct bench *b);
uint64_t bare_append_batch(struct bench *b);
uint64_t bare_read(struct bench *b);
uint64_t bare_list(struct bench *b);
uint64_t bare_search_rare(struct bench *b);
uint64_t bare_search_common(struct bench *b);
uint64_t bare_open_settled(struct bench *b);

/* ---- bare_export.c ---- */

uint64_t bare_export(struct bench *b);

/* ---- holder.c: another process that holds the write lock of both files ---- */

struct holder;
struct holder *holder_start(struct bench *b);
void holder_stop(struct holder **holder);
/* What `holdfast-bench --hold FILE...` does in that process. */
int holder_main(int n_files, char **files);

/* ---- cases.c: what is measured, and how often ---- */

struct figure {
    const char *name;
    uint64_t operations; /* in one run */
    double ours, bare;   /* median seconds of one run */
};
/* Runs all cases; *ret is for the caller to free(). */
size_t cases_run(struct bench *b, struct figure **ret);

/* ---- print.c ---- */

void figures_print(const struct bench *b, const struct figure *figures, size_t n);

#endif
