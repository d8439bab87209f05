/* usage.c - tokens and cost by session, model, provider and task. */
#include "private.h"
#include "util/epoch.h"

static void
key_bind(sqlite3_stmt *stmt, int index, const struct hf_text *text)
{
    if (text->ptr)
        hf__bind_text(stmt, index, text);
    else
        sqlite3_bind_text(stmt, index, "", 0, SQLITE_STATIC);
}

static double
cost_of(double cost)
{
    return isfinite(cost) ? cost : 0;
}

static int64_t
count_of(int64_t count)
{
    return count == HF_NO_INT ? 0 : count;
}

int
hf__usage_put(struct hf_sqlite_store *st, const struct hf_usage *u, struct hf_error *err)
{
    sqlite3_stmt *stmt;
    int rc = hf__session_exists(st, &u->session_id, err);

    if (rc < 0)
        return rc;
    rc = hf__sql_prepare(
        st,
        "INSERT INTO session_model_usage(session_id, model, billing_provider,"
        " billing_base_url, billing_mode, task, api_call_count, input_tokens,"
        " output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,"
        " estimated_cost_usd, actual_cost_usd, cost_status, cost_source, first_seen,"
        " last_seen)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
        " ?17, ?17)"
        " ON CONFLICT(session_id, model, billing_provider, billing_base_url,"
        " billing_mode, task) DO UPDATE SET"
        " api_call_count = api_call_count + excluded.api_call_count,"
        " input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens,"
        " cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,"
        " cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,"
        " reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,"
        " estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd,"
        " actual_cost_usd = actual_cost_usd + excluded.actual_cost_usd,"
        " cost_status = COALESCE(excluded.cost_status, cost_status),"
        " cost_source = COALESCE(excluded.cost_source, cost_source),"
        " first_seen = COALESCE(MIN(first_seen, excluded.first_seen),"
        " excluded.first_seen),"
        " last_seen = COALESCE(MAX(last_seen, excluded.last_seen), excluded.last_seen)",
        &stmt, err);
    if (rc < 0)
        return rc;
    hf__bind_text(stmt, 1, &u->session_id);
    key_bind(stmt, 2, &u->model);
    key_bind(stmt, 3, &u->billing_provider);
    key_bind(stmt, 4, &u->billing_base_url);
    key_bind(stmt, 5, &u->billing_mode);
    key_bind(stmt, 6, &u->task);
    sqlite3_bind_int64(stmt, 7, count_of(u->api_call_count));
    sqlite3_bind_int64(stmt, 8, count_of(u->input_tokens));
    sqlite3_bind_int64(stmt, 9, count_of(u->output_tokens));
    sqlite3_bind_int64(stmt, 10, count_of(u->cache_read_tokens));
    sqlite3_bind_int64(stmt, 11, count_of(u->cache_write_tokens));
    sqlite3_bind_int64(stmt, 12, count_of(u->reasoning_tokens));
    sqlite3_bind_double(stmt, 13, cost_of(u->estimated_cost_usd));
    sqlite3_bind_double(stmt, 14, cost_of(u->actual_cost_usd));
    hf__bind_text(stmt, 15, &u->cost_status);
    hf__bind_text(stmt, 16, &u->cost_source);
    sqlite3_bind_double(stmt, 17, hf__time_valid(u->seen_at)
                                      ? u->seen_at
                                      : st->host->now(st->host->ctx));
    return hf__sql_run(st, stmt, "adding usage", err);
}

static int
add_work(struct hf_sqlite_store *st, void *ctx, struct hf_error *err)
{
    return hf__usage_put(st, ctx, err);
}

int
hf__op_usage_add(void *store, const struct hf_usage *delta, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_usage copy;
    int rc;

    hf__abi_copy(&copy, sizeof copy, delta);
    pthread_mutex_lock(&st->lock);
    rc = hf__write(st, -1, add_work, &copy, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

static void
usage_row(sqlite3_stmt *stmt, struct hf_usage *u)
{
    int c = 0;
    u->session_id = hf__text_column(stmt, c++);
    u->model = hf__text_column(stmt, c++);
    u->billing_provider = hf__text_column(stmt, c++);
    u->billing_base_url = hf__text_column(stmt, c++);
    u->billing_mode = hf__text_column(stmt, c++);
    u->task = hf__text_column(stmt, c++);
    u->cost_status = hf__text_column(stmt, c++);
    u->cost_source = hf__text_column(stmt, c++);
    u->api_call_count = sqlite3_column_int64(stmt, c++);
    u->input_tokens = sqlite3_column_int64(stmt, c++);
    u->output_tokens = sqlite3_column_int64(stmt, c++);
    u->cache_read_tokens = sqlite3_column_int64(stmt, c++);
    u->cache_write_tokens = sqlite3_column_int64(stmt, c++);
    u->reasoning_tokens = sqlite3_column_int64(stmt, c++);
    u->estimated_cost_usd = sqlite3_column_double(stmt, c++);
    u->actual_cost_usd = sqlite3_column_double(stmt, c++);
    u->seen_at = hf__time_column(stmt, c++, NULL);
}

int
hf__op_usage_read(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                  void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    sqlite3_stmt *stmt;
    int rc = HF_OK, step;

    if (!st->db || !st->shape.has_usage)
        return HF_OK;
    rc = hf__read_lock(st, err);
    if (rc < 0)
        return rc;
    rc = hf__sql_prepare(
        st,
        "SELECT session_id, model, billing_provider, billing_base_url, billing_mode,"
        " task, cost_status, cost_source, api_call_count, input_tokens, output_tokens,"
        " cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd,"
        " actual_cost_usd, last_seen FROM session_model_usage WHERE session_id = ?1"
        " ORDER BY model, billing_provider, billing_base_url, billing_mode, task",
        &stmt, err);
    if (rc < 0)
        goto out;
    hf__bind_text(stmt, 1, session_id);
    while (rc == HF_OK && (step = sqlite3_step(stmt)) != SQLITE_DONE) {
        struct hf_usage usage = HF_INIT(struct hf_usage);
        if (step != SQLITE_ROW) {
            rc = hf__sql_fail(st, step, "reading usage", err);
            break;
        }
        usage_row(stmt, &usage);
        rc = emit(ctx, &usage);
    }
    hf_sqlite_done(stmt);
out:
    return hf__read_unlock(st, rc, err);
}
