/* health.h - what the files of the health probe know of each other. */
#ifndef HF_SQLITE_HEALTH_H
#define HF_SQLITE_HEALTH_H

#include "private.h"

struct hf__probe {
    struct hf_sqlite_store *st;
    sqlite3 *db;
    uint32_t level;
    int64_t deadline;  /* monotonic ms; 0: none */
    uint32_t cut;      /* the deadline passed */
    hf_finding_fn *emit;
    void *ctx;
    struct hf_error *err;
};

/* Emits one finding; REMEDY may be NULL. */
int hf__probe_say(struct hf__probe *p, uint32_t severity, const char *code,
                  const char *remedy, uint32_t fixable, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* The first column of the first row of SQL as an integer.  SQLITE_ROW, SQLITE_DONE
 * without a row, or an error code. */
int hf__probe_int(struct hf__probe *p, const char *sql, int64_t *ret);
/* Whether RC only says that the time was up; then it is noted. */
int hf__probe_cut(struct hf__probe *p, int rc);

/* ---- health_pages.c: structure ---- */

/* quick_check or integrity_check; damage of the search index told from all other. */
int hf__probe_pages(struct hf__probe *p);

/* ---- health_fts.c: the search index ---- */

int hf__probe_fts(struct hf__probe *p);

#endif
