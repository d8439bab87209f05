/* transcript.c - hiding and showing again: rewind, restore, compact.  Each is a line of
 * its own; the lines of the messages stay as they were written. */
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "util/json_write.h"

static const struct {
    const char *name;
    uint32_t state;
} states[] = {
    {"active", HF_MSG_ACTIVE},
    {"compacted", HF_MSG_COMPACTED},
    {"rewound", HF_MSG_REWOUND},
};

uint32_t
hf__jl_state_read(const struct hf_text *name)
{
    for (size_t i = 0; name->ptr && i < sizeof states / sizeof *states; i++)
        if (!strcmp(states[i].name, name->ptr))
            return states[i].state;
    return 0;
}

const char *
hf__jl_state_name(uint32_t state)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].state == state)
            return states[i].name;
    return "active";
}

struct change {
    const char *verb;
    int64_t from_id;
    uint32_t from_state;
    uint64_t count;
};

static int
change_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
            void *ctx, struct hf_error *err)
{
    static const struct hf_field counted = {"rewind_count", HF_FIELD_ADD, HF_INT, 1, 0,
                                            {NULL, 0}};
    struct change *change = ctx;
    int is_rewind = change->from_state == HF_MSG_ACTIVE;
    size_t start;

    (void)err;
    change->count = 0;
    for (size_t i = 0; i < file->n; i++)
        change->count += file->entries[i].id >= change->from_id &&
                         file->entries[i].state == change->from_state;
    if (!is_rewind && !change->count)
        return HF_OK;
    hf__jl_line_begin(out, &start, NULL);
    hf__jl_line_key(out, "change");
    hf__buf_addf(out, "\"%s\"", change->verb);
    hf__jl_line_key(out, "from");
    hf__json_int(out, change->from_id);
    if (is_rewind) {
        hf__jl_line_key(out, "fields");
        hf__jl_fields_write(out, &counted, 1, st->host->now(st->host->ctx));
    }
    hf__jl_line_end(out, start);
    return HF_OK;
}

static int
change_run(void *store, const struct hf_text *session_id, struct change *change,
           uint64_t *ret_count, struct hf_error *err)
{
    struct hf__jl_write write = {session_id, -1, 0, 0, change_work, change};
    int rc = hf__jl_write(store, &write, err);

    if (rc == HF_OK && ret_count)
        *ret_count = change->count;
    return rc;
}

int
hf__jl_message_rewind(void *store, const struct hf_text *session_id, int64_t from_id,
                      uint64_t *ret_count, struct hf_error *err)
{
    struct change change = {"rewind", from_id, HF_MSG_ACTIVE, 0};
    return change_run(store, session_id, &change, ret_count, err);
}

int
hf__jl_message_restore(void *store, const struct hf_text *session_id, int64_t from_id,
                       uint64_t *ret_count, struct hf_error *err)
{
    struct change change = {"restore", from_id, HF_MSG_REWOUND, 0};
    return change_run(store, session_id, &change, ret_count, err);
}

struct compact {
    struct hf__jl_batch batch;
    struct hf_appended *ret;
};

static int
compact_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
             void *ctx, struct hf_error *err)
{
    struct compact *compact = ctx;
    return hf__jl_batch_write(st, file, &compact->batch, compact->ret, out, err);
}

int
hf__jl_message_compact(void *store, const struct hf_text *session_id, int64_t watermark,
                       const struct hf_message *const *summary, uint64_t n_summary,
                       struct hf_appended *ret, struct hf_error *err)
{
    struct hf_appended *own = ret ? NULL : calloc(n_summary + 1, sizeof *own);
    struct compact compact = {{summary, n_summary, NULL, 0, 0, 1, 1, watermark},
                              ret ? ret : own};
    struct hf__jl_write write = {session_id, -1, 0, 0, compact_work, &compact};
    int rc = compact.ret ? hf__jl_write(store, &write, err)
                         : hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");

    free(own);
    return rc;
}
