/* health_pages.c - is every page in its place?  What is damaged only in the search index
 * can be rebuilt from the transcript; anything else is structural.  SQLite names trees by
 * number in some versions and pages in others, so the tables are checked one by one to
 * learn whose trees are hurt; damage that belongs to no table is structural. */
#include <stdlib.h>
#include <string.h>

#include "health.h"

enum { LINES = 50 };

/* Whether NAME is a search table or one of the tables behind it. */
static int
is_fts(const char *name)
{
    return !strncmp(name, "messages_fts", 12);
}

/* Runs a check pragma: how many lines it gave other than "ok", the first in FIRST. */
static int
check_run(struct hf__probe *p, const char *sql, int *ret_lines, int *ret_unowned,
          char *first, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(p->db, sql, -1, &stmt, NULL);

    *ret_lines = *ret_unowned = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(stmt, 0);
        rc = SQLITE_OK;
        if (!line || !strcmp(line, "ok"))
            continue;
        if ((*ret_lines)++ == 0)
            snprintf(first, size, "%.*s", (int)strcspn(line, "\n"), line);
        /* The pages behind a lost pointer are unused too: a consequence, no cause. */
        if (strstr(line, "reelist"))
            *ret_unowned = 1;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Checks every table by itself.  *ret_others: one that is no search table is hurt. */
static int
tables_run(struct hf__probe *p, const char *verb, int *ret_fts, int *ret_others,
           char *where, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(p->db,
                                "SELECT name FROM sqlite_master WHERE type = 'table'"
                                " AND rootpage > 0",
                                -1, &stmt, NULL);

    *ret_fts = *ret_others = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        char *sql = sqlite3_mprintf("PRAGMA %s(%Q)", verb, name);
        char first[160];
        int lines = 0, unowned;
        rc = sql ? check_run(p, sql, &lines, &unowned, first, sizeof first)
                 : SQLITE_NOMEM;
        sqlite3_free(sql);
        if (hf__probe_stop(p, rc) != HF_OK)
            break;
        if (rc != SQLITE_DONE || lines) {
            if (is_fts(name)) {
                *ret_fts = 1;
            } else {
                *ret_others = 1;
                snprintf(where, size, "%s", name);
            }
        }
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

int
hf__probe_pages(struct hf__probe *p)
{
    const char *verb = p->level == HF_CHECK_DEEP ? "integrity_check" : "quick_check";
    char sql[64], first[300] = "", where[80] = "no table";
    int lines, unowned, fts, others, rc;

    snprintf(sql, sizeof sql, "PRAGMA %s(%d)", verb, LINES);
    rc = check_run(p, sql, &lines, &unowned, first, sizeof first);
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    if (rc == SQLITE_DONE && lines == 0)
        return hf__probe_say(p, HF_SEV_OK, "integrity", NULL, 0, "%s: ok", verb);
    if (lines == 0)
        snprintf(first, sizeof first, "%s", sqlite3_errmsg(p->db));

    rc = tables_run(p, verb, &fts, &others, where, sizeof where);
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    if (rc == SQLITE_DONE && fts && !others && !unowned)
        return hf__probe_say(p, HF_SEV_WARNING, "fts_damage", "holdfast sessions repair",
                             1,
                             "only the search index is damaged (%s); the transcript is"
                             " intact",
                             first);
    return hf__probe_say(p, HF_SEV_FAILURE, "structural_damage",
                         "holdfast sessions recover --source DB --output NEW", 0,
                         "the file is damaged (%s; in %s%s)", first, where,
                         fts ? " and the search index" : "");
}
