/* list.c - session_list (SPEC 11 "What a list shows"): views, chain tips, previews, order
 * and paging.  By start, rows stream along the index and stop at the limit; by recent
 * activity, the times of all entries are gathered and sorted first.  What an entry is,
 * lineage.c knows. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#include "lineage.h"
#include "preview.h"

/* Where a session without a readable start sorts: after all others. */
#define NO_START (-1.0)

struct listing {
    struct hf_sqlite_store *st;
    const struct hf_session_query *q;
    hf_session_fn *emit;
    void *ctx;
    struct hf_error *err;
    uint64_t emitted;
    struct hf__buf tip, hold, scratch;
    struct hf__previewer preview;
};

/* One entry of a list ordered by activity. */
struct entry { char *id; uint64_t id_len; double started, recent; };
struct entries { struct entry *ptr; size_t n, cap; };

static int
fail(struct listing *l, int rc)
{
    return hf_sqlite_fail(l->st->db, rc, "list the sessions", l->err);
}

static int
no_memory(struct listing *l)
{
    return hf_error_set(l->err, HF_NO_MEMORY, l->st->path,
                        "out of memory while listing the sessions");
}

static int
text_in(const struct hf_text *t, const struct hf_text *list, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (t->ptr && list[i].ptr && t->len == list[i].len &&
            !memcmp(t->ptr, list[i].ptr, t->len))
            return 1;
    return 0;
}

/* Whether the view and the filters let this row through; ROW is the tip. */
static int
wanted(const struct hf_session_query *q, const struct hf__kin *row)
{
    static const struct hf_text tool = {"tool", 4};
    int named = q->sources && text_in(&row->source, q->sources, q->n_sources);

    if (q->sources && !named)
        return 0;
    if (text_in(&row->source, q->exclude_sources, q->n_exclude_sources))
        return 0;
    if (q->id_prefix.ptr &&
        (row->id.len < q->id_prefix.len ||
         memcmp(row->id.ptr, q->id_prefix.ptr, q->id_prefix.len) != 0))
        return 0;
    if (q->view == HF_VIEW_ALL)
        return 1;
    if (row->hidden || (q->view == HF_VIEW_ARCHIVED && !row->archived) ||
        (q->view == HF_VIEW_DEFAULT && row->archived))
        return 0;
    return named || !text_in(&row->source, &tool, 1);
}

static int
in_window(const struct hf_session_query *q, double t)
{
    if (q->since != 0 && !(t >= q->since))
        return 0;
    return q->until == 0 || t < q->until;
}

/* The newest valid message time or last_activity_at of a session, else its start
 * (NaN: none of them). */
static int
last_active(struct listing *l, const struct hf_text *id, double *ret)
{
    struct hf__buf sql = {0};
    sqlite3_stmt *stmt;
    double activity = NAN, message = NAN, started = NAN;
    int rc;

    /* A comparison with numbers leaves out text and blobs, and goes along the index. */
    hf__buf_adds(&sql, "SELECT ");
    hf__column_sql(&sql, l->st, HF_T_SESSIONS, "s", "last_activity_at");
    hf__buf_adds(&sql, ", s.started_at, (SELECT m.timestamp FROM messages m"
                       " WHERE m.session_id = ?1 AND m.timestamp >= 0"
                       " AND m.timestamp <= 4200000000.0"
                       " ORDER BY m.timestamp DESC LIMIT 1)"
                       " FROM sessions s WHERE s.id = ?1");
    if (sql.failed) {
        hf__buf_free(&sql);
        return no_memory(l);
    }
    rc = hf_sqlite_prepare(l->st->db, sql.ptr, &stmt, l->err);
    hf__buf_free(&sql);
    if (rc != HF_OK)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        activity = hf__kin_time(stmt, 0);
        started = hf__kin_time(stmt, 1);
        message = hf__kin_time(stmt, 2);
        *ret = isnan(activity) || message > activity ? message : activity;
        if (isnan(*ret))
            *ret = started;
    }
    hf_sqlite_done(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? HF_OK : fail(l, rc);
}

/* Emits the session ID, in the place and with the start of its root. */
static int
emit_one(struct listing *l, const struct hf_text *id, double sort_time, double started,
         double recent)
{
    struct hf__buf sql = {0};
    struct hf_session session;
    sqlite3_stmt *stmt;
    int rc = hf__preview_read(l->st, &l->preview, id, l->err);

    if (rc != HF_OK)
        return rc;
    hf__buf_adds(&sql, "SELECT ");
    hf__session_select(&sql, l->st, "s", l->q->want);
    hf__buf_adds(&sql, " FROM sessions s WHERE s.id = ?1");
    rc = sql.failed ? no_memory(l) : hf_sqlite_prepare(l->st->db, sql.ptr, &stmt, l->err);
    hf__buf_free(&sql);
    if (rc != HF_OK)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        memset(&session, 0, sizeof session);
        session.abi = (struct hf_abi)HF_ABI(struct hf_session);
        rc = hf__session_row(l->st, stmt, 0, l->q->want, &l->scratch, &session, l->err);
        if (rc == HF_OK) {
            session.preview = hf_text(l->preview.text.len ? l->preview.text.ptr : "",
                                      l->preview.text.len);
            session.sort_time = sort_time;
            session.started_at = started;
            session.last_active = recent;
            l->emitted++;
            rc = l->emit(l->ctx, &session);
        }
    } else
        rc = rc == SQLITE_DONE ? HF_OK : fail(l, rc);
    hf_sqlite_done(stmt);
    return rc;
}

/* Finds the tip and the time of last activity of the entry ROOT.  1: it is wanted, its id
 * stands in l->tip. */
static int
entry_resolve(struct listing *l, const struct hf__kin *root, double *ret_recent)
{
    struct hf__kin tip = *root;
    struct hf_text id;
    int rc;

    hf__buf_clear(&l->tip);
    if (l->q->view == HF_VIEW_ALL) {
        hf__buf_add(&l->tip, root->id.ptr, root->id.len);
    } else {
        rc = hf__kin_is_entry(l->st, root, l->err);
        if (rc <= 0)
            return rc;
        rc = hf__kin_tip(l->st, root, &l->tip, l->err);
        if (rc < 0)
            return rc;
    }
    if (l->tip.failed)
        return no_memory(l);
    id = hf_text(l->tip.ptr, l->tip.len);
    if (id.len != root->id.len || memcmp(id.ptr, root->id.ptr, id.len) != 0) {
        rc = hf__kin_get(l->st, &id, &l->hold, &tip, l->err);
        if (rc <= 0)
            return rc;
    }
    if (!wanted(l->q, &tip))
        return 0;
    *ret_recent = NAN;
    rc = last_active(l, &id, ret_recent);
    if (rc != HF_OK)
        return rc;
    return in_window(l->q, *ret_recent);
}

/* Prepares "SELECT <kin> FROM sessions s WHERE <filters> AND" and TAIL. */
static int
roots_prepare(struct listing *l, const char *tail, sqlite3_stmt **ret)
{
    struct hf__buf sql = {0};
    int rc, all = l->q->view == HF_VIEW_ALL;

    hf__buf_adds(&sql, "SELECT ");
    hf__kin_select(&sql, l->st);
    hf__buf_adds(&sql, " FROM sessions s WHERE ");
    if (l->q->parent_id.ptr)
        hf__buf_adds(&sql, "s.parent_session_id = ?3 AND ");
    if (l->q->id_prefix.ptr && all) /* else the tip's id counts: wanted() */
        hf__buf_adds(&sql, "s.id >= ?4 AND ");
    hf__buf_adds(&sql, tail);
    rc = sql.failed ? no_memory(l) : hf_sqlite_prepare(l->st->db, sql.ptr, ret, l->err);
    hf__buf_free(&sql);
    if (rc != HF_OK)
        return rc;
    if (l->q->parent_id.ptr)
        hf__bind_text(*ret, 3, &l->q->parent_id);
    if (l->q->id_prefix.ptr && all)
        hf__bind_text(*ret, 4, &l->q->id_prefix);
    return HF_OK;
}

static int
full(const struct listing *l)
{
    return l->q->limit && l->emitted >= l->q->limit;
}

static int
walk(struct listing *l, sqlite3_stmt *stmt)
{
    struct hf__kin root;
    int rc = SQLITE_DONE, ret = HF_OK;

    while (ret == HF_OK && !full(l) && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        double recent, key;
        hf__kin_row(stmt, &root);
        ret = entry_resolve(l, &root, &recent);
        if (ret > 0) {
            struct hf_text id = hf_text(l->tip.ptr, l->tip.len);
            key = isnan(root.started) ? NO_START : root.started;
            ret = emit_one(l, &id, key, root.started, recent);
        }
    }
    hf_sqlite_done(stmt);
    if (ret == HF_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        ret = fail(l, rc);
    return ret;
}

/* Readable starts first, along their index; then the sessions whose start is no time. */
static int
by_started(struct listing *l)
{
    struct hf__buf after = {0};
    struct hf_text key = {0};
    sqlite3_stmt *stmt;
    int paged = l->q->after_id.ptr != NULL, rc = HF_OK;

    if (paged) {
        /* Rows stand in the place of their root. */
        if (l->q->view == HF_VIEW_ALL)
            hf__buf_add(&after, l->q->after_id.ptr, l->q->after_id.len);
        else
            rc = hf__kin_root(l->st, &l->q->after_id, &after, l->err);
        if (rc == HF_OK && after.failed)
            rc = no_memory(l);
        key = hf_text(after.ptr, after.len);
    }
    if (rc == HF_OK && !(paged && l->q->after_time < 0)) {
        rc = roots_prepare(l, paged ? "s.started_at >= 0 AND s.started_at <= ?1"
                                      " AND (s.started_at < ?1 OR s.id < ?2)"
                                      " ORDER BY s.started_at DESC, s.id DESC"
                                    : "s.started_at >= 0"
                                      " AND s.started_at <= 4200000000.0"
                                      " ORDER BY s.started_at DESC, s.id DESC",
                           &stmt);
        if (rc == HF_OK) {
            if (paged) {
                sqlite3_bind_double(stmt, 1, l->q->after_time);
                hf__bind_text(stmt, 2, &key);
            }
            rc = walk(l, stmt);
        }
        paged = 0;
    }
    if (rc == HF_OK && !full(l)) {
        rc = roots_prepare(l, paged ? "(s.started_at < 0 OR s.started_at > 4200000000.0"
                                      " OR s.started_at IS NULL) AND s.id < ?2"
                                      " ORDER BY s.id DESC"
                                    : "(s.started_at < 0 OR s.started_at > 4200000000.0"
                                      " OR s.started_at IS NULL) ORDER BY s.id DESC",
                           &stmt);
        if (rc == HF_OK) {
            if (paged)
                hf__bind_text(stmt, 2, &key);
            rc = walk(l, stmt);
        }
    }
    hf__buf_free(&after);
    return rc;
}

static int
recent_cmp(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    size_t n = x->id_len < y->id_len ? x->id_len : y->id_len;
    int rc;

    if (x->recent != y->recent)
        return x->recent > y->recent ? -1 : 1;
    rc = memcmp(y->id, x->id, n);
    if (rc == 0 && x->id_len != y->id_len)
        rc = x->id_len > y->id_len ? -1 : 1;
    return rc;
}

static int
entries_gather(struct listing *l, struct entries *list)
{
    sqlite3_stmt *stmt;
    struct hf__kin root;
    int rc, ret = roots_prepare(l, "1", &stmt);

    if (ret != HF_OK)
        return ret;
    while (ret == HF_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct entry *e;
        double recent;
        hf__kin_row(stmt, &root);
        ret = entry_resolve(l, &root, &recent);
        if (ret <= 0)
            continue;
        ret = HF_OK;
        if (list->n == list->cap) {
            size_t cap = list->cap ? 2 * list->cap : 64;
            e = realloc(list->ptr, cap * sizeof *e);
            if (!e) {
                ret = no_memory(l);
                break;
            }
            list->ptr = e;
            list->cap = cap;
        }
        e = &list->ptr[list->n];
        e->id = malloc(l->tip.len + 1);
        if (!e->id) {
            ret = no_memory(l);
            break;
        }
        memcpy(e->id, l->tip.ptr, l->tip.len);
        e->id_len = l->tip.len;
        e->started = root.started;
        e->recent = isnan(recent) ? NO_START : recent;
        list->n++;
    }
    hf_sqlite_done(stmt);
    if (ret == HF_OK && rc != SQLITE_DONE)
        ret = fail(l, rc);
    return ret;
}

static int
by_recent(struct listing *l)
{
    struct entries list = {0};
    struct entry after = {0};
    size_t i;
    int rc = entries_gather(l, &list);

    if (rc == HF_OK && list.n)
        qsort(list.ptr, list.n, sizeof *list.ptr, recent_cmp);
    after.id = (char *)l->q->after_id.ptr;
    after.id_len = l->q->after_id.len;
    after.recent = l->q->after_time;
    for (i = 0; i < list.n && rc == HF_OK && !full(l); i++) {
        const struct entry *e = &list.ptr[i];
        struct hf_text id = hf_text(e->id, e->id_len);
        if (after.id && recent_cmp(e, &after) <= 0)
            continue;
        rc = emit_one(l, &id, e->recent, e->started,
                      e->recent < 0 ? NAN : e->recent);
    }
    for (i = 0; i < list.n; i++)
        free(list.ptr[i].id);
    free(list.ptr);
    return rc;
}

int
hf__op_session_list(void *store, const struct hf_session_query *query,
                    hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_session_query q;
    struct listing l = {.st = st, .q = &q, .emit = emit, .ctx = ctx, .err = err};
    int rc, begun;

    if (!st->db)
        return HF_OK;
    hf__abi_copy(&q, sizeof q, query);
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    /* One transaction, so that a chain and its tip are seen at one moment. */
    rc = hf_sqlite_exec(st->db, "BEGIN", err);
    begun = rc == HF_OK;
    if (rc == HF_OK)
        rc = q.order == HF_BY_RECENT ? by_recent(&l) : by_started(&l);
    hf__preview_done(&l.preview);
    if (begun)
        hf_sqlite_rollback(st->db);
    rc = hf__read_unlock(st, rc, err);
    hf__buf_free(&l.tip);
    hf__buf_free(&l.hold);
    hf__buf_free(&l.scratch);
    return rc;
}
