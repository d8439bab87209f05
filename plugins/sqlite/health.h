/* health.h - what the files of the health probe know of each other. */
#ifndef HF_SQLITE_HEALTH_H
#define HF_SQLITE_HEALTH_H

#include "private.h"

struct hf__probe {
    struct hf_sqlite_store *st;
    sqlite3 *db;
    uint32_t level;
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
/* HF_OK when RC is a result or speaks of damage, which is a finding; else the error that
 * ends the probe: it was interrupted, somebody holds the file, there is no memory. */
int hf__probe_stop(struct hf__probe *p, int rc);

/* Whether a commit that resets the WAL can lose part of it beside a second checkpoint:
 * 3.7.0 to 3.51.2, but for the releases that got the fix (SPEC 3.3). */
int hf__wal_reset_vulnerable(int version);

/* ---- health_pages.c: structure ---- */

/* quick_check or integrity_check; damage of the search index told from all other. */
int hf__probe_pages(struct hf__probe *p);

/* ---- health_fts.c: the search index ---- */

int hf__probe_fts(struct hf__probe *p);

#endif
