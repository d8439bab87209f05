/* usage.c - tokens and cost by session, model, provider and task: lines in the file of
 * the session, added up when it is read. */
#include <math.h>
#include <string.h>

#include "private.h"
#include "util/epoch.h"
#include "util/json_write.h"

#define U(member) offsetof(struct hf_usage, member)
static const struct {
    const char *name;
    size_t at;
    int is_key;
} texts[] = {
    {"model", U(model), 1},
    {"billing_provider", U(billing_provider), 1},
    {"billing_base_url", U(billing_base_url), 1},
    {"billing_mode", U(billing_mode), 1},
    {"task", U(task), 1},
    {"cost_status", U(cost_status), 0},
    {"cost_source", U(cost_source), 0},
};
static const struct {
    const char *name;
    size_t at;
} counts[] =
    {
        {"api_call_count", U(api_call_count)},
        {"input_tokens", U(input_tokens)},
        {"output_tokens", U(output_tokens)},
        {"cache_read_tokens", U(cache_read_tokens)},
        {"cache_write_tokens", U(cache_write_tokens)},
        {"reasoning_tokens", U(reasoning_tokens)},
},
  costs[] = {
      {"estimated_cost_usd", U(estimated_cost_usd)},
      {"actual_cost_usd", U(actual_cost_usd)},
};
#undef U
#define N(array) (sizeof array / sizeof *array)

void
hf__jl_usage_write(struct hf__buf *out, const struct hf_usage *u, double now)
{
    double seen = hf__time_valid(u->seen_at) ? u->seen_at : now;
    int any = 0;

    hf__buf_addc(out, '{');
    for (size_t i = 0; i < N(texts); i++) {
        const struct hf_text *t = (const void *)((const char *)u + texts[i].at);
        if (!t->ptr && !texts[i].is_key)
            continue;
        hf__json_comma(out, &any);
        hf__json_key(out, texts[i].name);
        hf__jl_text(out, t->ptr ? t->ptr : "", (size_t)t->len);
    }
    for (size_t i = 0; i < N(counts); i++) {
        int64_t n = *(const int64_t *)(const void *)((const char *)u + counts[i].at);
        hf__json_comma(out, &any);
        hf__json_key(out, counts[i].name);
        hf__json_int(out, n == HF_NO_INT ? 0 : n);
    }
    for (size_t i = 0; i < N(costs); i++) {
        double d = *(const double *)(const void *)((const char *)u + costs[i].at);
        hf__json_comma(out, &any);
        hf__json_key(out, costs[i].name);
        hf__json_real(out, isfinite(d) ? d : 0);
    }
    hf__json_comma(out, &any);
    hf__json_key(out, "seen_at");
    hf__json_real(out, seen);
    hf__buf_addc(out, '}');
}

static int
add_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
         void *ctx, struct hf_error *err)
{
    const struct hf_usage *u = ctx;
    size_t start;

    (void)file, (void)err;
    hf__jl_line_begin(out, &start, NULL);
    hf__jl_line_key(out, "change");
    hf__buf_adds(out, "\"usage\"");
    hf__jl_line_key(out, "usage");
    hf__jl_usage_write(out, u, st->host->now(st->host->ctx));
    hf__jl_line_end(out, start);
    return HF_OK;
}

int
hf__jl_usage_add(void *store, const struct hf_usage *delta, struct hf_error *err)
{
    struct hf_usage usage = *delta;
    struct hf__jl_write write = {&delta->session_id, -1, 0, 0, add_work, &usage};

    return hf__jl_write(store, &write, err);
}

void
hf__jl_usage_of(const json_t *row, const struct hf_text *session_id,
                struct hf_usage *ret)
{
    *ret = HF_INIT(struct hf_usage);
    ret->session_id = *session_id;
    for (size_t k = 0; k < N(texts); k++)
        *(struct hf_text *)(void *)((char *)ret + texts[k].at) =
            hf__jl_string(json_object_get(row, texts[k].name));
    for (size_t k = 0; k < N(counts); k++)
        *(int64_t *)(void *)((char *)ret + counts[k].at) =
            hf__jl_int(json_object_get(row, counts[k].name), 0);
    for (size_t k = 0; k < N(costs); k++)
        *(double *)(void *)((char *)ret + costs[k].at) =
            json_number_value(json_object_get(row, costs[k].name));
    ret->seen_at = hf__jl_time(json_object_get(row, "seen_at"), NULL);
}

int
hf__jl_usage_read(void *store, const struct hf_text *session_id, hf_usage_fn *emit,
                  void *ctx, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct hf__jl_file *file = hf__jl_file_of(st, session_id);
    struct hf__jl_view view;
    json_t *row;
    size_t i;
    int rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rc = hf__jl_look(st, file, &view, err);
    if (rc < 0)
        return rc == HF_NOT_FOUND ? HF_OK : rc;
    json_array_foreach(view.usage, i, row)
    {
        struct hf_usage u;
        hf__jl_usage_of(row, session_id, &u);
        rc = emit(ctx, &u);
        if (rc)
            break;
    }
    hf__jl_view_free(&view);
    return rc;
}
