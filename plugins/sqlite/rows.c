/* rows.c - SQLite rows into records.  Old files lack columns, cells hold what their
 * column's type does not say, text is not always UTF-8: a record shows the bytes as they
 * are, and a time that is none becomes "none". */
#include <string.h>

#include "base64.h"
#include "private.h"
#include "util/epoch.h"
#include "util/json_write.h"

/* The fixed part of a select list, in the order that the row functions read. */
static const char *const session_typed[] = {
    "id", "source", "title", "model", "parent_session_id", "end_reason", "model_config",
    "system_prompt", "started_at", "ended_at", "message_count", "tool_call_count",
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "reasoning_tokens", "estimated_cost_usd", "actual_cost_usd", "archived", "hidden",
    "pinned",
};
static const char *const message_typed[] = {
    "id", "message_uid", "session_id", "role", "content", "tool_call_id", "tool_calls",
    "tool_name", "finish_reason", "reasoning", "platform_message_id", "timestamp",
    "token_count", "active", "compacted", "_compressed_summary", "observed",
};
#define N_SESSION ((int)(sizeof session_typed / sizeof *session_typed))
#define N_MESSAGE ((int)(sizeof message_typed / sizeof *message_typed))
#define S_SYSTEM_PROMPT 7
/* last_activity_at and the newest message's time follow the typed ones. */
#define N_SESSION_FIXED (N_SESSION + 2)

int
hf__column_typed(enum hf__table table, const char *name)
{
    const char *const *v = table == HF_T_SESSIONS ? session_typed : message_typed;
    int n = table == HF_T_SESSIONS ? N_SESSION : N_MESSAGE;
    for (int i = 0; i < n; i++)
        if (strcmp(v[i], name) == 0)
            return 1;
    return 0;
}

/* ---- cells ---- */

struct hf_text
hf__text_column(sqlite3_stmt *stmt, int col)
{
    const char *ptr = NULL;
    switch (sqlite3_column_type(stmt, col)) {
    case SQLITE_NULL: return hf_text(NULL, 0);
    case SQLITE_BLOB: ptr = sqlite3_column_blob(stmt, col); break;
    default: ptr = (const char *)sqlite3_column_text(stmt, col); break;
    }
    return hf_text(ptr ? ptr : "", (size_t)sqlite3_column_bytes(stmt, col));
}

void
hf__bind_text(sqlite3_stmt *stmt, int index, const struct hf_text *text)
{
    if (!text->ptr)
        sqlite3_bind_null(stmt, index);
    else
        sqlite3_bind_text64(stmt, index, text->ptr, text->len, SQLITE_STATIC,
                            SQLITE_UTF8);
}

double
hf__time_column(sqlite3_stmt *stmt, int col, uint32_t *ret_bad)
{
    struct hf_text text;
    switch (sqlite3_column_type(stmt, col)) {
    case SQLITE_NULL:
        return hf__epoch_coerce(HF_NULL, 0, 0, NULL, ret_bad);
    case SQLITE_INTEGER:
        return hf__epoch_coerce(HF_INT, sqlite3_column_int64(stmt, col), 0, NULL,
                                ret_bad);
    case SQLITE_FLOAT:
        return hf__epoch_coerce(HF_REAL, 0, sqlite3_column_double(stmt, col), NULL,
                                ret_bad);
    case SQLITE_TEXT:
        text = hf__text_column(stmt, col);
        return hf__epoch_coerce(HF_TEXT, 0, 0, &text, ret_bad);
    default:
        *ret_bad = 1; /* a BLOB is no time, whatever it spells */
        return HF_NO_TIME;
    }
}

static int64_t
int_column(sqlite3_stmt *stmt, int col)
{
    return sqlite3_column_type(stmt, col) == SQLITE_NULL
               ? HF_NO_INT
               : sqlite3_column_int64(stmt, col);
}

static double
cost_column(sqlite3_stmt *stmt, int col)
{
    return sqlite3_column_type(stmt, col) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(stmt, col);
}

static void
bad_time_log(struct hf_sqlite_store *st, const struct hf_text *id, const char *column)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    uint32_t room = sizeof st->bad_time_seen / sizeof *st->bad_time_seen;
    for (uint64_t i = 0; i < id->len; i++)
        hash = (hash ^ (unsigned char)id->ptr[i]) * UINT64_C(1099511628211);
    for (uint32_t i = 0; i < room && i < st->n_bad_time_seen; i++)
        if (st->bad_time_seen[i] == hash)
            return;
    st->bad_time_seen[st->n_bad_time_seen++ % room] = hash;
    st->host->log(st->host->ctx, HF_LOG_WARNING, "bad_time", st->path,
                  "session %.*s: %s holds something that is no time; it is shown as "
                  "unknown",
                  HF__ID_ARGS(id), column);
}

/* ---- the columns that no typed member stands for ---- */

static void
extra_select(struct hf__buf *out, const struct hf_sqlite_store *st, enum hf__table table,
             const char *alias)
{
    const struct hf__file_column *v =
        table == HF_T_SESSIONS ? st->shape.sessions : st->shape.messages;
    uint32_t n = table == HF_T_SESSIONS ? st->shape.n_sessions : st->shape.n_messages;
    for (uint32_t i = 0; i < n; i++) {
        if (hf__column_typed(table, v[i].name))
            continue;
        hf__buf_adds(out, ", ");
        hf__column_sql(out, st, table, alias, v[i].name);
    }
}

static int
extra_count(const struct hf_sqlite_store *st, enum hf__table table)
{
    const struct hf__file_column *v =
        table == HF_T_SESSIONS ? st->shape.sessions : st->shape.messages;
    uint32_t n = table == HF_T_SESSIONS ? st->shape.n_sessions : st->shape.n_messages;
    int count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += !hf__column_typed(table, v[i].name);
    return count;
}

static int
extra_row(const struct hf_sqlite_store *st, enum hf__table table, sqlite3_stmt *stmt,
          int col, struct hf__buf *scratch, struct hf_text *ret, struct hf_error *err)
{
    const struct hf__file_column *v =
        table == HF_T_SESSIONS ? st->shape.sessions : st->shape.messages;
    uint32_t n = table == HF_T_SESSIONS ? st->shape.n_sessions : st->shape.n_messages;
    struct hf_text text;
    int any = 0;

    hf__buf_clear(scratch);
    hf__buf_addc(scratch, '{');
    for (uint32_t i = 0; i < n; i++) {
        if (hf__column_typed(table, v[i].name))
            continue;
        hf__json_comma(scratch, &any);
        hf__json_key(scratch, v[i].name);
        switch (sqlite3_column_type(stmt, col)) {
        case SQLITE_INTEGER:
            hf__json_int(scratch, sqlite3_column_int64(stmt, col));
            break;
        case SQLITE_FLOAT:
            hf__json_real(scratch, sqlite3_column_double(stmt, col));
            break;
        case SQLITE_TEXT:
            text = hf__text_column(stmt, col);
            hf__json_string(scratch, text.ptr, (size_t)text.len);
            break;
        case SQLITE_BLOB:
            text = hf__text_column(stmt, col);
            hf__buf_adds(scratch, "{\"$base64\":\"");
            hf__base64_write(scratch, text.ptr, (size_t)text.len);
            hf__buf_adds(scratch, "\"}");
            break;
        default: hf__buf_adds(scratch, "null"); break;
        }
        col++;
    }
    hf__buf_addc(scratch, '}');
    if (scratch->failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    *ret = hf_text(scratch->ptr, scratch->len);
    return HF_OK;
}

/* ---- sessions ---- */

/* Text sorts behind every number, so that the window keeps out what is no time and the
 * index on (session_id, timestamp) answers. */
void
hf__newest_sql(struct hf__buf *out, const char *alias)
{
    hf__buf_addf(out,
                 "(SELECT MAX(hf_m.timestamp) FROM messages AS hf_m"
                 " WHERE hf_m.session_id = %s.id AND hf_m.timestamp >= 0"
                 " AND hf_m.timestamp <= 4200000000)",
                 alias);
}

void
hf__session_select(struct hf__buf *out, const struct hf_sqlite_store *st,
                   const char *alias, uint32_t want)
{
    int hashed = st->shape.has_system_prompts &&
                 hf__column_find(st, HF_T_SESSIONS, "system_prompt_hash",
                                 strlen("system_prompt_hash"));
    for (int i = 0; i < N_SESSION; i++) {
        if (i)
            hf__buf_adds(out, ", ");
        if (i != S_SYSTEM_PROMPT) {
            hf__column_sql(out, st, HF_T_SESSIONS, alias, session_typed[i]);
        } else if (!(want & HF_WANT_EXTRA)) {
            hf__buf_adds(out, "NULL");
        } else if (!hashed) {
            hf__column_sql(out, st, HF_T_SESSIONS, alias, "system_prompt");
        } else {
            hf__buf_adds(out, "COALESCE(");
            hf__column_sql(out, st, HF_T_SESSIONS, alias, "system_prompt");
            hf__buf_addf(out,
                         ", (SELECT hf_p.prompt FROM system_prompts AS hf_p"
                         " WHERE hf_p.hash = %s.system_prompt_hash))",
                         alias);
        }
    }
    hf__buf_adds(out, ", ");
    hf__column_sql(out, st, HF_T_SESSIONS, alias, "last_activity_at");
    hf__buf_adds(out, ", ");
    hf__newest_sql(out, alias);
    if (want & HF_WANT_EXTRA)
        extra_select(out, st, HF_T_SESSIONS, alias);
}

int
hf__session_columns_used(const struct hf_sqlite_store *st, uint32_t want)
{
    return N_SESSION_FIXED + (want & HF_WANT_EXTRA ? extra_count(st, HF_T_SESSIONS) : 0);
}

int
hf__session_row(struct hf_sqlite_store *st, sqlite3_stmt *stmt, int first, uint32_t want,
                struct hf__buf *scratch, struct hf_session *ret, struct hf_error *err)
{
    struct hf_session s = HF_INIT(struct hf_session);
    uint32_t bad[3] = {0, 0, 0}, ignored = 0;
    double activity, newest;
    int c = first, rc = HF_OK;

    s.id = hf__text_column(stmt, c++);
    s.source = hf__text_column(stmt, c++);
    s.title = hf__text_column(stmt, c++);
    s.model = hf__text_column(stmt, c++);
    s.parent_id = hf__text_column(stmt, c++);
    s.end_reason = hf__text_column(stmt, c++);
    s.model_config = hf__text_column(stmt, c++);
    s.system_prompt = hf__text_column(stmt, c++);
    s.started_at = hf__time_column(stmt, c++, &bad[0]);
    s.ended_at = hf__time_column(stmt, c++, &bad[1]);
    s.message_count = int_column(stmt, c++);
    s.tool_call_count = int_column(stmt, c++);
    s.input_tokens = int_column(stmt, c++);
    s.output_tokens = int_column(stmt, c++);
    s.cache_read_tokens = int_column(stmt, c++);
    s.cache_write_tokens = int_column(stmt, c++);
    s.reasoning_tokens = int_column(stmt, c++);
    s.estimated_cost_usd = cost_column(stmt, c++);
    s.actual_cost_usd = cost_column(stmt, c++);
    s.archived = sqlite3_column_int(stmt, c++) != 0;
    s.hidden = sqlite3_column_int(stmt, c++) != 0;
    s.pinned = sqlite3_column_int(stmt, c++) != 0;
    activity = hf__time_column(stmt, c++, &bad[2]);
    newest = hf__time_column(stmt, c++, &ignored);

    s.last_active = activity;
    if (isnan(s.last_active) || newest > s.last_active)
        s.last_active = newest;
    if (isnan(s.last_active))
        s.last_active = s.started_at;
    s.sort_time = HF_NO_TIME;
    s.bad_times = bad[0] | bad[1] << 1 | bad[2] << 2;
    if (s.bad_times)
        bad_time_log(st, &s.id,
                     bad[0] ? "started_at" : bad[1] ? "ended_at" : "last_activity_at");
    if (want & HF_WANT_EXTRA)
        rc = extra_row(st, HF_T_SESSIONS, stmt, c, scratch, &s.extra, err);
    if (rc == HF_OK)
        *ret = s;
    return rc;
}

/* ---- messages ---- */

void
hf__message_select(struct hf__buf *out, const struct hf_sqlite_store *st,
                   const char *alias, uint32_t want)
{
    for (int i = 0; i < N_MESSAGE; i++) {
        if (i)
            hf__buf_adds(out, ", ");
        hf__column_sql(out, st, HF_T_MESSAGES, alias, message_typed[i]);
    }
    if (want & HF_WANT_EXTRA)
        extra_select(out, st, HF_T_MESSAGES, alias);
}

int
hf__message_row(struct hf_sqlite_store *st, sqlite3_stmt *stmt, int first, uint32_t want,
                struct hf__buf *scratch, struct hf_message *ret, struct hf_error *err)
{
    struct hf_message m = HF_INIT(struct hf_message);
    int c = first, active, compacted, rc = HF_OK;

    m.id = sqlite3_column_int64(stmt, c++);
    m.uid = hf__text_column(stmt, c++);
    m.session_id = hf__text_column(stmt, c++);
    m.role = hf__text_column(stmt, c++);
    m.content = hf__text_column(stmt, c++);
    m.tool_call_id = hf__text_column(stmt, c++);
    m.tool_calls = hf__text_column(stmt, c++);
    m.tool_name = hf__text_column(stmt, c++);
    m.finish_reason = hf__text_column(stmt, c++);
    m.reasoning = hf__text_column(stmt, c++);
    m.platform_message_id = hf__text_column(stmt, c++);
    m.timestamp = hf__time_column(stmt, c++, &m.bad_time);
    m.token_count = int_column(stmt, c++);
    active = sqlite3_column_type(stmt, c) == SQLITE_NULL ||
             sqlite3_column_int(stmt, c) != 0;
    c++;
    compacted = sqlite3_column_int(stmt, c++) != 0;
    m.state = active ? HF_MSG_ACTIVE : compacted ? HF_MSG_COMPACTED : HF_MSG_REWOUND;
    m.is_summary = sqlite3_column_int(stmt, c++) != 0;
    m.observed = sqlite3_column_int(stmt, c++) != 0;
    if (m.bad_time)
        bad_time_log(st, &m.session_id, "messages.timestamp");
    if (want & HF_WANT_EXTRA)
        rc = extra_row(st, HF_T_MESSAGES, stmt, c, scratch, &m.extra, err);
    if (rc == HF_OK)
        *ret = m;
    return rc;
}
