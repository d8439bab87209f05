/* merge.c - taking over a session that comes from another store: what a degraded store
 * kept in its fallback, or what a lost one had committed.  One transaction a session,
 * and nothing is stored twice, however often the same session comes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Ids of stored messages that stand for one that came: each stands for one only. */
struct used {
    int64_t *slots; /* 0: free */
    size_t n, size; /* size: a power of two */
};

struct merge {
    struct hf_transfer what;
    struct hf_session session;
    struct hf_transferred result;
    struct used used;
    double newest;
    double before; /* the time of the message before */
    int64_t calls;
    uint32_t recount;
    /* While the messages come. */
    struct hf_sqlite_store *st;
    struct hf_error *err;
};

/* ---- which rows are taken ---- */

static size_t
slot_of(const struct used *u, int64_t id)
{
    size_t i = (size_t)((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    for (i &= u->size - 1; u->slots[i] && u->slots[i] != id;)
        i = (i + 1) & (u->size - 1);
    return i;
}

static int
used_has(const struct used *u, int64_t id)
{
    return u->size && u->slots[slot_of(u, id)] == id;
}

static int
used_add(struct used *u, int64_t id, struct hf_error *err)
{
    if (u->n * 2 >= u->size) {
        struct used bigger = {.n = u->n, .size = u->size ? u->size * 2 : 64};
        bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
        if (!bigger.slots)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        for (size_t i = 0; i < u->size; i++)
            if (u->slots[i])
                bigger.slots[slot_of(&bigger, u->slots[i])] = u->slots[i];
        free(u->slots);
        *u = bigger;
    }
    size_t i = slot_of(u, id);
    u->n += u->slots[i] != id;
    u->slots[i] = id;
    return HF_OK;
}

/* ---- the session ---- */

/* The length of TEXT cut to at most N code points. */
static size_t
cut_at(const struct hf_text *text, size_t n)
{
    size_t len = 0;
    for (; len < text->len; len++)
        if (((unsigned char)text->ptr[len] & 0xC0u) != 0x80u && n-- == 0)
            break;
    return len;
}

/* TITLE, or where another session than ID has it the next free "TITLE #2", in BUF. */
static int
title_choose(struct hf_sqlite_store *st, const struct hf_text *id,
             struct hf_text *title, struct hf__buf *buf, struct hf_error *err)
{
    const struct hf_text wanted = *title;
    int rc = hf__title_free(st, id, title, err);

    for (uint64_t n = 2; rc == HF_EXISTS; n++) {
        char number[32];
        size_t len = (size_t)snprintf(number, sizeof number, " #%" PRIu64, n);
        size_t keep = cut_at(&wanted, HF_MAX_TITLE - len);
        buf->len = 0;
        hf__buf_add(buf, wanted.ptr, keep);
        hf__buf_adds(buf, number);
        if (buf->failed)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        *title = hf_text(buf->ptr, buf->len);
        rc = hf__title_free(st, id, title, err);
    }
    return rc;
}

static int
session_work(struct merge *m, struct hf_error *err)
{
    struct hf_sqlite_store *st = m->st;
    struct hf_session s = m->session;
    struct hf__buf title = {0};
    int rc = hf__session_exists(st, &s.id, err);

    if (rc < 0 && rc != HF_NOT_FOUND)
        return rc;
    m->result.created = rc == HF_NOT_FOUND;
    rc = HF_OK;
    if (s.parent_id.ptr) {
        rc = hf__session_exists(st, &s.parent_id, err);
        if (rc == HF_NOT_FOUND) {
            s.parent_id = hf_text(NULL, 0);
            rc = HF_OK;
        }
    }
    if (rc == HF_OK)
        rc = title_choose(st, &s.id, &s.title, &title, err);
    if (rc == HF_OK)
        rc = hf__session_ensure(st, &s, err);
    hf__buf_free(&title);
    return rc;
}

/* ---- the messages ---- */

/* A stored row that is this message without a uid, and stands for none yet; 0: none.
 * TIMELESS: the row may be one whose own time is none, as a damaged one is. */
static int
equal_find(struct merge *m, const struct hf_message *msg, int timeless, int64_t *ret_id)
{
    sqlite3_stmt *stmt;
    int step = SQLITE_DONE;
    int rc = hf__sql_prepare(
        m->st,
        timeless ? "SELECT id FROM messages WHERE session_id = ?1"
                   " AND (timestamp = ?2 OR typeof(timestamp) NOT IN ('real', 'integer')"
                   " OR timestamp NOT BETWEEN 0 AND 4200000000)"
                   " AND role IS ?3 AND content IS ?4 ORDER BY id"
                 : "SELECT id FROM messages WHERE session_id = ?1"
                   " AND timestamp = ?2 AND role IS ?3 AND content IS ?4 ORDER BY id",
        &stmt, m->err);
    *ret_id = 0;
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, &m->session.id);
    sqlite3_bind_double(stmt, 2, msg->timestamp);
    hf__bind_text(stmt, 3, &msg->role);
    hf__bind_text(stmt, 4, &msg->content);
    while (!*ret_id && (step = sqlite3_step(stmt)) == SQLITE_ROW)
        if (!used_has(&m->used, sqlite3_column_int64(stmt, 0)))
            *ret_id = sqlite3_column_int64(stmt, 0);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        rc = hf__sql_fail(m->st, step, "looking for a message", m->err);
    hf_sqlite_done(stmt);
    return rc;
}

/* Gives a stored message the state that it has where it comes from. */
static int
state_set(struct merge *m, int64_t id, uint32_t state)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(
        m->st,
        "UPDATE messages SET active = ?2, compacted = ?3 WHERE id = ?1 AND"
        " CASE WHEN active IS NULL OR active <> 0 THEN 1"
        " WHEN COALESCE(compacted, 0) <> 0 THEN 2 ELSE 4 END <> ?4",
        &stmt, m->err);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_int(stmt, 2, state == HF_MSG_ACTIVE);
    sqlite3_bind_int(stmt, 3, state == HF_MSG_COMPACTED);
    sqlite3_bind_int(stmt, 4, (int)state);
    rc = hf__sql_run(m->st, stmt, "changing the state of a message", m->err);
    if (rc == HF_OK && sqlite3_changes(hf_sqlite_handle(m->st->db)) > 0) {
        m->result.states++;
        m->recount |= state == HF_MSG_COMPACTED;
    }
    return rc;
}

static int
message_take(void *ctx, const struct hf_message *message)
{
    struct merge *m = ctx;
    struct hf_message msg;
    struct hf_appended ret = {0};
    uint32_t added = 0;
    double t = 0;
    int rc = HF_OK, timeless;

    hf__abi_copy(&msg, sizeof msg, message);
    msg.id = 0; /* at the end; its old number is another message's here */
    /* One without a time has that of the one before it: the same whenever it comes. */
    timeless = !isfinite(msg.timestamp);
    if (timeless)
        msg.timestamp = m->before;
    m->before = msg.timestamp;
    if (msg.state != HF_MSG_COMPACTED && msg.state != HF_MSG_REWOUND)
        msg.state = HF_MSG_ACTIVE;
    if (!msg.uid.ptr)
        rc = equal_find(m, &msg, timeless, &ret.id);
    if (rc == HF_OK && !ret.id)
        rc = hf__message_insert(m->st, &m->session.id, &msg, HF_APPEND_VERBATIM, 0,
                                &ret, &added, &t, m->err);
    if (rc == HF_OK)
        rc = used_add(&m->used, ret.id, m->err);
    if (rc < 0 || !added)
        return rc < 0 ? rc : state_set(m, ret.id, msg.state);
    m->result.messages++;
    m->calls += hf__message_calls(&msg);
    m->recount |= msg.state == HF_MSG_COMPACTED;
    if (hf__time_valid(t) && !(t <= m->newest))
        m->newest = t;
    return HF_OK;
}

static int
messages_work(struct merge *m, struct hf_error *err)
{
    const struct hf_text *id = &m->session.id;
    int rc = HF_OK;

    if (m->what.messages)
        rc = m->what.messages(m->what.ctx, message_take, m, err);
    if (rc == HF_OK && m->result.messages)
        rc = hf__session_count(m->st, id, m->result.messages, m->calls,
                               isnan(m->newest) ? m->st->host->now(m->st->host->ctx)
                                                : m->newest, err);
    if (rc == HF_OK && m->recount)
        rc = hf__session_recount(m->st, id, err);
    return rc;
}

/* ---- fields and usage, each once for a stamp ---- */

static int
stamp_key(const struct merge *m, struct hf__buf *key, struct hf_error *err)
{
    hf__buf_adds(key, "holdfast_merged:");
    hf__buf_add(key, m->what.stamp.ptr, (size_t)m->what.stamp.len);
    return key->failed ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory") : HF_OK;
}

/* How many fields and usages were carried out under the stamp. */
static int
stamp_read(struct merge *m, const struct hf__buf *key, uint64_t *ret_fields,
           uint64_t *ret_usage, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(m->st, "SELECT value FROM state_meta WHERE key = ?1",
                             &stmt, err);
    if (rc < 0)
        return rc;
    sqlite3_bind_text64(stmt, 1, key->ptr, key->len, SQLITE_STATIC, SQLITE_UTF8);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_text(stmt, 0)) {
        char *end = NULL;
        *ret_fields = strtoull((const char *)sqlite3_column_text(stmt, 0), &end, 10);
        *ret_usage = strtoull(end, NULL, 10);
    }
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE
             ? HF_OK
             : hf__sql_fail(m->st, rc, "reading state_meta", err);
    hf_sqlite_done(stmt);
    return rc;
}

static int
stamp_write(struct merge *m, const struct hf__buf *key, uint64_t fields, uint64_t usage,
            struct hf_error *err)
{
    char value[64];
    sqlite3_stmt *stmt;
    int rc = hf__sql_prepare(m->st,
                             "INSERT INTO state_meta(key, value) VALUES (?1, ?2)"
                             " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                             &stmt, err);
    if (rc < 0)
        return rc;
    snprintf(value, sizeof value, "%" PRIu64 " %" PRIu64, fields, usage);
    sqlite3_bind_text64(stmt, 1, key->ptr, key->len, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
    return hf__sql_run(m->st, stmt, "writing state_meta", err);
}

/* What cannot be carried out here, as a column that only another version has, must not
 * keep all else away: it is said, and stays in the file that it comes from. */
static int
field_take(struct merge *m, const struct hf_field *given, struct hf_error *err)
{
    struct hf_sqlite_store *st = m->st;
    struct hf_field f = *given;
    struct hf__buf title = {0};
    int rc = HF_OK;

    if (f.name && f.type == HF_TEXT && !strcmp(f.name, "parent_session_id")) {
        rc = hf__session_exists(m->st, &f.text, err);
        if (rc == HF_NOT_FOUND)
            return HF_OK;
    }
    if (rc == HF_OK && f.name && f.type == HF_TEXT && !strcmp(f.name, "title"))
        rc = title_choose(m->st, &m->session.id, &f.text, &title, err);
    if (rc == HF_OK)
        rc = hf__fields_apply(m->st, &m->session.id, &f, 1, err);
    if (rc == HF_INVALID) {
        st->host->log(st->host->ctx, HF_LOG_WARNING, "field_left_out", st->path,
                      "session %.*s came with a change that this store cannot carry "
                      "out, which is left out: %s",
                      HF__ID_ARGS(&m->session.id), err->message);
        rc = HF_OK;
    }
    hf__buf_free(&title);
    return rc;
}

static int
changes_work(struct merge *m, struct hf_error *err)
{
    const struct hf_transfer *what = &m->what;
    uint64_t fields = 0, usage = 0;
    struct hf__buf key = {0};
    int rc = HF_OK, changed;

    if (what->stamp.ptr) {
        rc = stamp_key(m, &key, err);
        if (rc == HF_OK)
            rc = stamp_read(m, &key, &fields, &usage, err);
    }
    changed = fields < what->n_fields || usage < what->n_usage;
    for (; rc == HF_OK && fields < what->n_fields; fields++)
        rc = field_take(m, &what->fields[fields], err);
    for (; rc == HF_OK && usage < what->n_usage; usage++) {
        struct hf_usage u;
        hf__abi_copy(&u, sizeof u, what->usage[usage]);
        u.session_id = m->session.id;
        rc = hf__usage_put(m->st, &u, err);
    }
    if (rc == HF_OK && what->stamp.ptr && changed)
        rc = stamp_write(m, &key, fields, usage, err);
    hf__buf_free(&key);
    return rc;
}

/* ---- all of it ---- */

static int
merge_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    struct merge *m = ctx;
    int rc;

    /* It may run a second time, from nothing. */
    memset(&m->result, 0, sizeof m->result);
    if (m->used.size)
        memset(m->used.slots, 0, m->used.size * sizeof *m->used.slots);
    m->used.n = 0;
    m->newest = HF_NO_TIME;
    m->before = hf__time_valid(m->session.started_at) ? m->session.started_at : 0;
    m->calls = 0;
    m->recount = 0;
    m->st = st;
    m->err = err;
    rc = session_work(m, err);
    if (rc == HF_OK)
        rc = messages_work(m, err);
    return rc == HF_OK ? changes_work(m, err) : rc;
}

int
hf__op_session_merge(void *store, const struct hf_transfer *what,
                     struct hf_transferred *ret, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct merge m = {0};
    int rc;

    hf__abi_copy(&m.what, sizeof m.what, what);
    hf__abi_copy(&m.session, sizeof m.session, what->session);
    if (!m.session.source.ptr)
        m.session.source = hf_str("unknown");
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, st->patience_ms * 3, merge_work, &m, err);
    pthread_mutex_unlock(&st->lock);
    free(m.used.slots);
    if (rc == HF_OK) {
        ret->messages = m.result.messages;
        ret->states = m.result.states;
        ret->created = m.result.created;
    }
    return rc;
}
