/* lineage.c - how sessions descend from each other.  A compression chain is a run of
 * sessions, each ended with reason "compression" and continued by a child; branches,
 * resets and delegates are children too, told apart by a mark in model_config or, in
 * files of older programs, by how and when the parent ended. */
#include "lineage.h"

#include <stdlib.h>
#include <string.h>

#include "util/json_write.h"

/* A continuation is published a moment before its parent is marked as ended, so its
 * start may be a little earlier; a delegate of the parent's lifetime starts well
 * before. */
#define BORN_SLACK 5.0
enum {
    CONFIG_MAX = 1 << 20, /* a longer model_config is not read */
    CHAIN_MAX = 10000,    /* links that a chain is followed for: cycles end there */
    CLIMB_MAX = 64        /* parents looked at when a cycle is suspected */
};

double
hf__kin_time(sqlite3_stmt *stmt, int col)
{
    uint32_t bad;
    return hf__time_column(stmt, col, &bad);
}

static uint32_t
marks_read(sqlite3_stmt *stmt, int col)
{
    const char *s;
    size_t len;
    json_t *config;
    uint32_t marks = 0;

    if (sqlite3_column_type(stmt, col) != SQLITE_TEXT)
        return 0;
    s = (const char *)sqlite3_column_text(stmt, col);
    len = (size_t)sqlite3_column_bytes(stmt, col);
    /* Most sessions have no mark: look for one before parsing. */
    if (!s || len > CONFIG_MAX || !memmem(s, len, "_from\"", 6))
        return 0;
    config = hf__json_parse(s, len);
    if (json_is_object(config)) {
        const json_t *v;
        if ((v = json_object_get(config, "_branched_from")) && !json_is_null(v))
            marks |= HF__MARK_BRANCH;
        if ((v = json_object_get(config, "_delegate_from")) && !json_is_null(v))
            marks |= HF__MARK_DELEGATE;
        if ((v = json_object_get(config, "_reset_from")) && !json_is_null(v))
            marks |= HF__MARK_RESET;
    }
    json_decref(config);
    return marks;
}

void
hf__kin_select(struct hf__buf *out, const struct hf_sqlite_store *st)
{
    static const char *const columns[] = {"id",         "source",   "parent_session_id",
                                          "end_reason", "started_at", "ended_at",
                                          "archived",   "hidden",   "model_config"};
    size_t i;

    for (i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i)
            hf__buf_adds(out, ", ");
        hf__column_sql(out, st, HF_T_SESSIONS, "s", columns[i]);
    }
}

void
hf__kin_row(sqlite3_stmt *stmt, struct hf__kin *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->id = hf__text_column(stmt, 0);
    ret->source = hf__text_column(stmt, 1);
    ret->parent = hf__text_column(stmt, 2);
    ret->end_reason = hf__text_column(stmt, 3);
    ret->started = hf__kin_time(stmt, 4);
    ret->ended = hf__kin_time(stmt, 5);
    ret->archived = sqlite3_column_int(stmt, 6) != 0;
    ret->hidden = sqlite3_column_int(stmt, 7) != 0;
    ret->marks = marks_read(stmt, 8);
}

/* Prepares "SELECT <kin> FROM sessions s WHERE" and TAIL; bound to ID. */
static int
prepare(struct hf_sqlite_store *st, const char *tail, const struct hf_text *id,
        sqlite3_stmt **ret, struct hf_error *err)
{
    struct hf__buf sql = {0};
    int rc;

    hf__buf_adds(&sql, "SELECT ");
    hf__kin_select(&sql, st);
    hf__buf_adds(&sql, " FROM sessions s WHERE ");
    hf__buf_adds(&sql, tail);
    if (sql.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
    else
        rc = hf_sqlite_prepare(st->db, sql.ptr, ret, err);
    hf__buf_free(&sql);
    if (rc == HF_OK)
        hf__bind_text(*ret, 1, id);
    return rc;
}

int
hf__kin_get(struct hf_sqlite_store *st, const struct hf_text *id, struct hf__buf *hold,
            struct hf__kin *ret, struct hf_error *err)
{
    struct hf_text *texts[] = {&ret->id, &ret->source, &ret->parent, &ret->end_reason};
    sqlite3_stmt *stmt;
    size_t i, at = 0;
    int rc = prepare(st, "s.id = ?1", id, &stmt, err);

    if (rc != HF_OK)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        hf__kin_row(stmt, ret);
        hf__buf_clear(hold);
        for (i = 0; i < sizeof texts / sizeof *texts; i++)
            hf__buf_add(hold, texts[i]->ptr ? texts[i]->ptr : "", texts[i]->len);
        for (i = 0; i < sizeof texts / sizeof *texts && !hold->failed; i++) {
            if (texts[i]->ptr)
                texts[i]->ptr = hold->len ? hold->ptr + at : "";
            at += texts[i]->len;
        }
        rc = hold->failed ? SQLITE_NOMEM : SQLITE_ROW;
    }
    hf_sqlite_done(stmt);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_NOMEM)
        return hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
    return rc == SQLITE_DONE ? 0
                             : hf_sqlite_fail(st->db, rc, "look up a session", err);
}

static int
same(const struct hf_text *a, const struct hf_text *b)
{
    return a->ptr && b->ptr && a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

static int
born_after(double started, double ended)
{
    return isnan(started) || isnan(ended) || started >= ended - BORN_SLACK;
}

/* The child that continues PARENT, which ended at ENDED by compression: the one that was
 * started last, as a retried compression leaves an abandoned one before it.
 * 1 and its id, 0 none, or an error. */
static int
continuation(struct hf_sqlite_store *st, const struct hf_text *parent, double ended,
             struct hf__buf *ret_id, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    struct hf__kin child;
    int found = 0, rc;

    rc = prepare(st, "s.parent_session_id = ?1 ORDER BY s.started_at DESC, s.id DESC",
                 parent, &stmt, err);
    if (rc != HF_OK)
        return rc;
    while (!found && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        hf__kin_row(stmt, &child);
        if (child.marks || !born_after(child.started, ended) || same(&child.id, parent))
            continue;
        hf__buf_clear(ret_id);
        hf__buf_add(ret_id, child.id.ptr, child.id.len);
        found = 1;
    }
    hf_sqlite_done(stmt);
    if (!found && rc != SQLITE_DONE)
        return hf_sqlite_fail(st->db, rc, "look for the continuation of a session", err);
    if (ret_id->failed)
        return hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
    return found;
}

/* Whether the session ID is a later link: 1, with its parent's id in RET_PARENT. */
static int
is_link(struct hf_sqlite_store *st, const struct hf_text *id, struct hf__buf *ret_parent,
        struct hf_error *err)
{
    struct hf__buf next = {0}, hold = {0};
    struct hf__kin kin;
    struct hf_text parent, found;
    int rc = hf__kin_get(st, id, &hold, &kin, err);

    hf__buf_clear(ret_parent);
    if (rc > 0 && (!kin.parent.ptr || kin.marks))
        rc = 0;
    if (rc <= 0)
        goto out;
    hf__buf_add(ret_parent, kin.parent.ptr, kin.parent.len);
    if (ret_parent->failed) {
        rc = hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
        goto out;
    }
    parent = hf_text(ret_parent->ptr, ret_parent->len);
    rc = hf__kin_get(st, &parent, &hold, &kin, err);
    if (rc > 0 && !hf__text_is(&kin.end_reason, "compression"))
        rc = 0;
    if (rc > 0)
        rc = continuation(st, &parent, kin.ended, &next, err);
    if (rc > 0) {
        found = hf_text(next.ptr, next.len);
        rc = same(&found, id);
    }
out:
    hf__buf_free(&next);
    hf__buf_free(&hold);
    return rc;
}

int
hf__kin_root(struct hf_sqlite_store *st, const struct hf_text *id,
             struct hf__buf *ret_id, struct hf_error *err)
{
    struct hf__buf parent = {0};
    int rc = HF_OK, i;

    hf__buf_clear(ret_id);
    hf__buf_add(ret_id, id->ptr, id->len);
    for (i = 0; i < CHAIN_MAX && !ret_id->failed; i++) {
        struct hf_text cur = hf_text(ret_id->ptr, ret_id->len);
        rc = is_link(st, &cur, &parent, err);
        if (rc <= 0)
            break;
        hf__buf_clear(ret_id);
        hf__buf_add(ret_id, parent.ptr, parent.len);
    }
    hf__buf_free(&parent);
    if (rc >= 0 && ret_id->failed)
        rc = hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
    return rc < 0 ? rc : HF_OK;
}

/* Whether climbing from ID over chain links comes back to it.  Such sessions have no
 * root that could stand for them, so each stands for itself. */
static int
in_cycle(struct hf_sqlite_store *st, const struct hf_text *id, struct hf_error *err)
{
    struct hf__buf cur = {0}, parent = {0};
    int rc = 0, i;

    hf__buf_add(&cur, id->ptr, id->len);
    for (i = 0; i < CLIMB_MAX && !cur.failed; i++) {
        struct hf_text here = hf_text(cur.ptr, cur.len);
        rc = is_link(st, &here, &parent, err);
        if (rc <= 0)
            break;
        hf__buf_clear(&cur);
        hf__buf_add(&cur, parent.ptr, parent.len);
        here = hf_text(cur.ptr, cur.len);
        if (same(&here, id))
            break;
        rc = 0;
    }
    if (cur.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
    hf__buf_free(&cur);
    hf__buf_free(&parent);
    return rc;
}

int
hf__kin_is_entry(struct hf_sqlite_store *st, const struct hf__kin *row,
                 struct hf_error *err)
{
    struct hf__kin parent;
    struct hf__buf next = {0}, hold = {0};
    int rc;

    if (row->marks & HF__MARK_DELEGATE)
        return 0;
    if (!row->parent.ptr || row->parent.len == 0 || row->marks ||
        same(&row->parent, &row->id))
        return 1;
    rc = hf__kin_get(st, &row->parent, &hold, &parent, err);
    if (rc == 0) {
        rc = 1; /* its parent is gone: a root now */
    } else if (rc > 0 && !born_after(row->started, parent.ended)) {
        rc = 0;
    } else if (rc > 0 && hf__text_is(&parent.end_reason, "compression")) {
        rc = continuation(st, &row->parent, parent.ended, &next, err);
        if (rc > 0) {
            struct hf_text found = hf_text(next.ptr, next.len);
            /* A second continuation of one parent is a conversation of its own. */
            rc = same(&found, &row->id) ? in_cycle(st, &row->id, err) : 1;
        }
    } else if (rc > 0) {
        rc = hf__text_is(&parent.end_reason, "branched") ||
             hf__text_is(&parent.end_reason, "session_reset");
    }
    hf__buf_free(&next);
    hf__buf_free(&hold);
    return rc;
}

int
hf__kin_tip(struct hf_sqlite_store *st, const struct hf__kin *root,
            struct hf__buf *ret_id, struct hf_error *err)
{
    struct hf__buf next = {0}, hold = {0};
    struct hf__kin kin = *root;
    int rc = HF_OK, i;

    hf__buf_clear(ret_id);
    hf__buf_add(ret_id, root->id.ptr, root->id.len);
    for (i = 0; i < CHAIN_MAX && hf__text_is(&kin.end_reason, "compression"); i++) {
        struct hf_text cur = hf_text(ret_id->ptr, ret_id->len);
        rc = continuation(st, &cur, kin.ended, &next, err);
        if (rc <= 0 || (next.len == root->id.len &&
                        !memcmp(next.ptr, root->id.ptr, next.len)))
            break;
        hf__buf_clear(ret_id);
        hf__buf_add(ret_id, next.ptr, next.len);
        if (ret_id->failed) {
            rc = hf_error_set(err, HF_NO_MEMORY, st->path, "out of memory");
            break;
        }
        cur = hf_text(ret_id->ptr, ret_id->len);
        rc = hf__kin_get(st, &cur, &hold, &kin, err);
        if (rc <= 0)
            break;
    }
    hf__buf_free(&next);
    hf__buf_free(&hold);
    return rc < 0 ? rc : HF_OK;
}
