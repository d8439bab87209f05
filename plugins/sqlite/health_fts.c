/* health_fts.c - the search index, read only: can it be asked, does it still know as many
 * rows as it was given, and are those the rows of the transcript (SPEC 4.4, 13). */
#include <string.h>

#include "health.h"

static int
match_probe(struct hf__probe *p, const char *table, int *ret_bad)
{
    char sql[200];
    int64_t id;
    int rc;

    snprintf(sql, sizeof sql, "SELECT rowid FROM %s WHERE %s MATCH '\"holdfast\"' LIMIT 1",
             table, table);
    rc = hf__probe_int(p, sql, &id);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        return HF_OK;
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    *ret_bad = 1;
    return hf__probe_say(p, HF_SEV_WARNING, "fts_match", "holdfast sessions repair", 1,
                         "%s cannot be searched: %s; the transcript is intact", table,
                         sqlite3_errmsg(p->db));
}

/* 1: said something, 0: nothing to say, negative: stop. */
static int
rows_probe(struct hf__probe *p, const char *table, const char *source)
{
    char sql[400];
    int64_t sizes = 0, averages = 0, rows = 0, from = 0, to = 0;
    int rc;

    rc = hf__fts_rows(p->db, table, &averages, &sizes);
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    if (rc != SQLITE_ROW) {
        rc = hf__probe_say(p, HF_SEV_WARNING, "fts_damage", "holdfast sessions repair", 1,
                           "the tables of %s cannot be read: %s; the transcript is intact",
                           table, sqlite3_errmsg(p->db));
        return rc == HF_OK ? 1 : rc;
    }
    if (averages != sizes) {
        rc = hf__probe_say(p, HF_SEV_WARNING, "fts_rows_lost", "holdfast sessions repair",
                           1,
                           "%s counts %lld rows but knows the sizes of %lld: part of the"
                           " index was lost; the transcript is intact",
                           table, (long long)averages, (long long)sizes);
        return rc == HF_OK ? 1 : rc;
    }
    if (p->level == HF_CHECK_QUICK || hf__fts_gap(p->st, &from, &to, NULL) != HF_OK)
        return 0;
    /* Rows of the source that the index lacks, and the other way round. */
    snprintf(sql, sizeof sql,
             "SELECT (SELECT count(*) FROM messages m WHERE %s AND NOT (m.id > %lld AND"
             " m.id <= %lld) AND m.id NOT IN (SELECT id FROM %s_docsize)) +"
             " (SELECT count(*) FROM %s_docsize d WHERE d.id NOT IN"
             " (SELECT m.id FROM messages m WHERE %s))",
             source, (long long)from, (long long)to, table, table, source);
    rc = hf__probe_int(p, sql, &rows);
    if (hf__probe_stop(p, rc) != HF_OK)
        return p->err->code;
    if (rc != SQLITE_ROW || rows == 0)
        return 0;
    rc = hf__probe_say(p, HF_SEV_WARNING, "fts_rows_differ", "holdfast sessions repair", 1,
                       "%s and the messages differ in %lld rows; the transcript is intact",
                       table, (long long)rows);
    return rc == HF_OK ? 1 : rc;
}

static int
table_probe(struct hf__probe *p, const char *table, const char *source, int *ret_bad)
{
    int rc = match_probe(p, table, ret_bad);
    if (rc == HF_OK)
        rc = rows_probe(p, table, source);
    if (rc > 0)
        *ret_bad = 1;
    return rc < 0 ? rc : HF_OK;
}

static int
markers_probe(struct hf__probe *p)
{
    uint32_t stale = 0;
    int64_t from = 0, to = 0, n = 0;
    char sql[160];
    int rc;

    if (hf__fts_stale(p->st, &stale, NULL) != HF_OK ||
        hf__fts_gap(p->st, &from, &to, NULL) != HF_OK)
        return HF_OK;
    if (stale) {
        rc = hf__probe_say(p, HF_SEV_WARNING, "fts_stale", "holdfast sessions repair", 1,
                           "search degraded, canonical transcript intact: the index is"
                           " marked as stale");
        if (rc != HF_OK)
            return rc;
    }
    if (!to)
        return HF_OK;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM messages WHERE id > %lld AND id <= %lld",
             (long long)from, (long long)to);
    if (hf__probe_int(p, sql, &n) != SQLITE_ROW || n == 0)
        return HF_OK;
    return hf__probe_say(p, HF_SEV_INFO, "fts_unindexed", NULL, 0,
                         "%lld messages are not indexed yet; search reads them itself",
                         (long long)n);
}

int
hf__probe_fts(struct hf__probe *p)
{
    const struct hf__shape *shape = &p->st->shape;
    int bad = 0, rc = markers_probe(p);

    if (rc != HF_OK)
        return rc;
    if (shape->fts_layout == HF_FTS_NONE && !p->st->fts_damaged) {
        int64_t there = 0;
        if (hf__probe_int(p, "SELECT count(*) FROM sqlite_master WHERE name ="
                             " 'messages_fts'", &there) == SQLITE_ROW && !there)
            return hf__probe_say(p, HF_SEV_WARNING, "fts_missing",
                                 "holdfast sessions repair", 1,
                                 "there is no search index; search reads every message");
    }
    if (shape->fts_layout != HF_FTS_NONE) {
        rc = table_probe(p, "messages_fts", "1", &bad);
        if (rc == HF_OK && shape->has_trigram)
            rc = table_probe(p, "messages_fts_trigram",
                             shape->trigram_skips_tools ? "m.role <> 'tool'" : "1", &bad);
        if (rc == HF_OK && !bad)
            rc = hf__probe_say(p, HF_SEV_OK, "fts", NULL, 0, "the search index answers");
    }
    return rc;
}
