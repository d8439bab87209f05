/* stats.c - counts and sizes. */
#include <string.h>

#include "private.h"
#include "util/misc.h"

struct count {
    struct hf_stats stats;
    json_t *sources; /* array of [name, sessions] */
};

static int
count_one(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
          struct hf_error *err)
{
    struct count *count = ctx;
    json_t *source = json_object_get(view->row, "source"), *pair = NULL;
    size_t i;

    (void)file, (void)err;
    count->stats.sessions++;
    count->stats.messages += view->messages;
    count->stats.bytes_main += (uint64_t)view->size;
    json_array_foreach(count->sources, i,
                       pair) if (json_equal(json_array_get(pair, 0), source)) break;
    if (i == json_array_size(count->sources))
        json_array_append_new(count->sources,
                              json_pack("[O, i]", source ? source : json_null(), 1));
    else
        json_array_set_new(
            pair, 1, json_integer(json_integer_value(json_array_get(pair, 1)) + 1));
    return HF_OK;
}

int
hf__jl_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
             struct hf_error *err)
{
    struct count count = {HF_INIT(struct hf_stats), json_array()};
    json_t *pair;
    size_t i;
    int rc = hf__jl_each(store, 0, count_one, &count, err);

    json_array_foreach(count.sources, i, pair)
    {
        struct hf_text source = hf__jl_string(json_array_get(pair, 0));
        if (rc == HF_OK && emit_source)
            rc = emit_source(ctx, &source,
                             (uint64_t)json_integer_value(json_array_get(pair, 1)));
    }
    json_decref(count.sources);
    if (rc == HF_OK)
        hf__abi_copy(ret, ret->abi.size, &count.stats);
    return rc;
}
