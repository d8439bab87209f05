/* write.c - the transaction round every write of the backend, and what happens when the
 * search index is in its way: the transcript is written, the index goes stale
 * (SPEC 4.4). */
#include <string.h>

#include "private.h"

static void
failure_note(struct hf_sqlite_store *st, int rc)
{
    st->failed_rc = rc;
    snprintf(st->failed_text, sizeof st->failed_text, "%s",
             sqlite3_errmsg(hf_sqlite_handle(st->db)));
}

int
hf__sql_fail(struct hf_sqlite_store *st, int rc, const char *what, struct hf_error *err)
{
    failure_note(st, rc);
    return hf_sqlite_fail(st->db, rc, what, err);
}

int
hf__sql_prepare(struct hf_sqlite_store *st, const char *sql, sqlite3_stmt **ret,
                struct hf_error *err)
{
    int rc;
    if (!sql)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rc = hf_sqlite_prepare(st->db, sql, ret, err);
    if (rc < 0)
        failure_note(st, sqlite3_extended_errcode(hf_sqlite_handle(st->db)));
    return rc;
}

int
hf__sql_run(struct hf_sqlite_store *st, sqlite3_stmt *stmt, const char *what,
            struct hf_error *err)
{
    int rc;
    do
        rc = sqlite3_step(stmt);
    while (rc == SQLITE_ROW);
    rc = rc == SQLITE_DONE ? HF_OK : hf__sql_fail(st, rc, what, err);
    hf_sqlite_done(stmt);
    return rc;
}

int
hf__write_refused(const struct hf_sqlite_store *st, struct hf_error *err)
{
    if (st->read_only || !st->db)
        return hf_error_set(err, HF_READ_ONLY, st->path,
                            "%s is open for reading only: open it for writing", st->path);
    return HF_OK;
}

/* What stood in the way, by SQLite's code first and then by the object it names. */
enum culprit { NOBODY, INDEX, INDEX_CJK };

static enum culprit
culprit_of(const struct hf_sqlite_store *st, int code)
{
    int names_cjk = strstr(st->failed_text, "messages_fts_cjk") ||
                    strstr(st->failed_text, "no such tokenizer");
    if ((st->failed_rc & 0xff) == SQLITE_CORRUPT || code == HF_FTS_INDEX ||
        code == HF_CORRUPT)
        return names_cjk ? INDEX_CJK : INDEX;
    /* Damaged FTS5 records collide inside the shadow tables; of every other constraint
     * SQLite says which kind it is.  The second try proves it either way. */
    if ((st->failed_rc & 0xff) == SQLITE_CONSTRAINT &&
        strcmp(st->failed_text, "constraint failed") == 0)
        return INDEX;
    if ((st->failed_rc & 0xff) == SQLITE_ERROR &&
        (names_cjk || strstr(st->failed_text, "messages_fts") ||
         strstr(st->failed_text, "vtable constructor failed") ||
         strstr(st->failed_text, "no such module")))
        return names_cjk ? INDEX_CJK : INDEX;
    return NOBODY;
}

static void
detach_logged(struct hf_sqlite_store *st, uint32_t cjk, const char *why)
{
    if (!cjk) {
        st->fts_damaged = st->fts_stale = 1;
        st->shape.fts_layout = HF_FTS_NONE;
        st->shape.has_trigram = 0;
    }
    st->host->log(st->host->ctx, HF_LOG_WARNING, cjk ? "fts_cjk_detached" : "fts_index",
                  st->path,
                  "%s: %s was in the way of a write (%s) and is no longer kept up to date; "
                  "search degraded, canonical transcript intact; `holdfast sessions "
                  "repair` rebuilds it",
                  st->path, cjk ? "the index messages_fts_cjk" : "the search index", why);
}

/* A write has failed for good.  Damage that came a second time, and not from the index,
 * is the file's. */
static int
proven(struct hf_sqlite_store *st, int rc, uint32_t again, const struct hf_error *err)
{
    if (rc == HF_CORRUPT && again)
        hf__damage_latch(st, err ? err->message : "a page of it is damaged");
    return rc;
}

int
hf__write(struct hf_sqlite_store *st, int64_t patience_ms, hf__work_fn *work, void *ctx,
          struct hf_error *err)
{
    uint32_t detach = 0, detach_cjk = 0, again = 0, begun;
    struct hf_error ignored;
    char why[256] = "";
    int rc;

    rc = hf__write_refused(st, err);
    if (rc == HF_OK)
        rc = hf__damage_refused(st, err);
    if (rc < 0)
        return rc;
    for (;;) {
        enum culprit who;
        st->failed_rc = SQLITE_OK;
        st->failed_text[0] = '\0';
        rc = hf_sqlite_begin(st->db, patience_ms, err);
        begun = rc == HF_OK;
        if (rc < 0 && rc != HF_CORRUPT)
            return rc;
        if (rc == HF_OK && !detach && hf__fts_rows_lost(st)) {
            detach = 1;
            snprintf(why, sizeof why, "it has lost rows that it was given");
        }
        if (rc == HF_OK && detach_cjk)
            rc = hf__fts_detach(st, 1, err);
        if (rc == HF_OK && detach)
            rc = hf__fts_detach(st, 0, err);
        hf__unsettled_begun(st);
        if (rc == HF_OK)
            rc = work(st, ctx, err);
        if (rc == HF_OK) {
            rc = hf_sqlite_commit(st->db, err);
            /* To files that are gone by now, perhaps. */
            if (rc == HF_OK || rc == HF_WAL_LOST || rc == HF_REPLACED || rc == HF_IO)
                hf__unsettled_committed(st);
            if (rc == HF_OK)
                break;
        } else {
            hf_sqlite_rollback(st->db);
        }
        who = culprit_of(st, rc);
        if (who == NOBODY || (again && !begun) || (who == INDEX && detach && again) ||
            (who == INDEX_CJK && detach_cjk))
            return proven(st, rc, again, err);
        /* SQLite says CORRUPT when the disk refuses a read, too: only what comes a second
         * time is damage. */
        if (!again) {
            again = 1;
            continue;
        }
        if (who == INDEX)
            detach = 1;
        else
            detach_cjk = 1;
        snprintf(why, sizeof why, "%s",
                 *st->failed_text ? st->failed_text : "the index is damaged");
    }
    if (detach_cjk)
        detach_logged(st, 1, why);
    if (detach)
        detach_logged(st, 0, why);
    hf__checkpoint_after_write(st);
    if (st->fts_stale && !detach)
        (void)hf__fts_heal_step(st, &ignored);
    return HF_OK;
}

int
hf__session_exists(struct hf_sqlite_store *st, const struct hf_text *id,
                   struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(st, "SELECT 1 FROM sessions WHERE id = ?1", &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        rc = HF_OK;
    else if (rc == SQLITE_DONE)
        rc = hf_error_set(err, HF_NOT_FOUND, st->path, "there is no session %.*s",
                          HF__ID_ARGS(id));
    else
        rc = hf__sql_fail(st, rc, "looking for the session", err);
    hf_sqlite_done(stmt);
    return rc;
}
