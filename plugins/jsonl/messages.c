/* messages.c - the messages of a session: append and read. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"
#include "util/content.h"
#include "util/epoch.h"
#include "util/json_write.h"

/* ---- append ---- */

int
hf__jl_name_is_hash(const struct hf__jl_file *file)
{
    char *id = NULL;
    size_t len;
    int known = hf__jl_name_read(file->name, &id, &len), hash = known && !id;

    free(id);
    return hash;
}

/* A message of the same append with that uid, to which an id was given already. */
static int64_t
earlier(const struct hf__jl_batch *batch, const struct hf_appended *ret, uint64_t i)
{
    const struct hf_text *uid = &batch->messages[i]->uid;

    for (uint64_t k = 0; uid->ptr && k < i; k++) {
        const struct hf_text *other = &batch->messages[k]->uid;
        if (other->ptr && other->len == uid->len &&
            !memcmp(other->ptr, uid->ptr, (size_t)uid->len))
            return ret[k].id;
    }
    return 0;
}

/* Gives every message its id; *ret_new is the number of those that are to be written.
 */
static void
ids_give(const struct hf__jl_file *file, const struct hf__jl_batch *batch,
         struct hf_appended *ret, unsigned char *is_new, uint64_t *ret_new)
{
    int64_t last = file->last_id;

    *ret_new = 0;
    for (uint64_t i = 0; i < batch->n; i++) {
        const struct hf_message *m = batch->messages[i];
        const struct hf__jl_entry *there = hf__jl_uid_find(file, &m->uid);
        size_t len =
            m->uid.len < HF_UID_SIZE - 1 ? (size_t)m->uid.len : HF_UID_SIZE - 1;
        memset(&ret[i], 0, sizeof ret[i]);
        if (m->uid.ptr)
            memcpy(ret[i].uid, m->uid.ptr, len);
        ret[i].id = there ? there->id : earlier(batch, ret, i);
        is_new[i] = !ret[i].id;
        if (ret[i].id)
            continue;
        if (batch->verbatim && m->id > last)
            last = m->id;
        else
            last++;
        ret[i].id = last;
        ++*ret_new;
    }
}

void
hf__jl_part_write(struct hf__buf *out, uint64_t at, uint64_t of)
{
    if (of > 1) {
        hf__jl_line_key(out, "part");
        hf__buf_addf(out, "[%llu,%llu]", (unsigned long long)at,
                     (unsigned long long)of);
    }
}

static void
message_line(struct hf_jsonl_store *st, struct hf__buf *out,
             const struct hf__jl_batch *batch, const struct hf_message *given,
             int64_t id, const json_t *session_id)
{
    struct hf_message m = *given;
    double now = st->host->now(st->host->ctx), t = m.timestamp;
    int64_t calls = m.n_tool_calls;

    if (!hf__time_valid(t) && !(batch->verbatim && isfinite(t)))
        t = now;
    if (batch->summary) {
        m.is_summary = 1;
        m.state = HF_MSG_ACTIVE;
    }
    if (!calls && m.tool_calls.ptr)
        calls = hf__tool_call_count(&m.tool_calls);
    if (session_id) {
        hf__jl_line_key(out, "session_id");
        hf__jl_value(out, session_id);
    }
    if (calls) {
        hf__jl_line_key(out, "calls");
        hf__json_int(out, calls);
    }
    if (batch->verbatim) {
        hf__jl_line_key(out, "verbatim");
        hf__buf_adds(out, "true");
    }
    hf__jl_line_key(out, "message");
    hf__jl_message_write(out, &m, id, t);
}

int
hf__jl_batch_write(struct hf_jsonl_store *st, struct hf__jl_file *file,
                   const struct hf__jl_batch *batch, struct hf_appended *ret,
                   struct hf__buf *out, struct hf_error *err)
{
    const json_t *id =
        hf__jl_name_is_hash(file) ? json_object_get(file->row, "id") : NULL;
    unsigned char few[64], *is_new = batch->n > sizeof few ? malloc(batch->n) : few;
    uint64_t n_new, at = 0, of;
    size_t start;

    if (!is_new)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    ids_give(file, batch, ret, is_new, &n_new);
    of = n_new + (batch->has_compact ? 1 : 0);
    if (batch->has_compact) {
        hf__jl_line_begin(out, &start, NULL);
        hf__jl_part_write(out, ++at, of);
        hf__jl_line_key(out, "change");
        hf__buf_adds(out, "\"compact\"");
        hf__jl_line_key(out, "to");
        hf__json_int(out, batch->watermark);
        hf__jl_line_end(out, start);
    }
    for (uint64_t i = 0; i < batch->n; i++) {
        if (!is_new[i])
            continue;
        hf__jl_line_begin(out, &start, &batch->messages[i]->uid);
        hf__jl_part_write(out, ++at, of);
        message_line(st, out, batch, batch->messages[i], ret[i].id, id);
        if (at == of && batch->n_fields) {
            hf__jl_line_key(out, "fields");
            hf__jl_fields_write(out, batch->fields, batch->n_fields,
                                st->host->now(st->host->ctx));
        }
        hf__jl_line_end(out, start);
    }
    /* A repeated append whose messages are all there was counted the first time, and so
     * were its fields. */
    if (!batch->n && batch->n_fields) {
        hf__jl_line_begin(out, &start, NULL);
        hf__jl_line_key(out, "change");
        hf__buf_adds(out, "\"set\"");
        hf__jl_line_key(out, "fields");
        hf__jl_fields_write(out, batch->fields, batch->n_fields,
                            st->host->now(st->host->ctx));
        hf__jl_line_end(out, start);
    }
    if (is_new != few)
        free(is_new);
    return HF_OK;
}

static int
is_compressed(const json_t *row)
{
    struct hf_text reason = hf__jl_string(json_object_get(row, "end_reason"));
    const json_t *ended = json_object_get(row, "ended_at");

    return reason.ptr && reason.len == 11 && !memcmp(reason.ptr, "compression", 11) &&
           ended && !json_is_null(ended);
}

/* The newest child of a session that goes on with it. */
struct successor {
    json_t *of, *id;
    double started;
    int compressed;
};

static int
successor_look(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
               struct hf_error *err)
{
    static const char *const others[] = {"_delegate_from", "_branched_from",
                                         "_reset_from"};
    struct successor *s = ctx;
    struct hf_text config = hf__jl_string(json_object_get(view->row, "model_config"));
    double started = hf__jl_time(json_object_get(view->row, "started_at"), NULL);
    json_t *json;
    int is_other = 0;

    (void)file, (void)err;
    if (!json_equal(json_object_get(view->row, "parent_session_id"), s->of) ||
        (s->id && !(started > s->started)))
        return HF_OK;
    json = config.ptr ? hf__json_parse(config.ptr, (size_t)config.len) : NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const json_t *from = json_object_get(json, others[i]);
        is_other |= from && !json_is_null(from);
    }
    json_decref(json);
    if (is_other)
        return HF_OK;
    json_decref(s->id);
    s->id = json_incref(json_object_get(view->row, "id"));
    s->started = started;
    s->compressed = is_compressed(view->row);
    return HF_OK;
}

static int
continued(struct hf_jsonl_store *st, const struct hf_text *id, struct hf_error *err)
{
    json_t *at = json_stringn_nocheck(id->ptr, (size_t)id->len);
    int found = 0, rc;

    for (int depth = 0; depth < 1000; depth++) {
        struct successor s = {at, NULL, 0, 0};
        rc = hf__jl_each(st, 0, successor_look, &s, err);
        if (rc < 0 || !s.id) {
            json_decref(s.id);
            break;
        }
        found = 1;
        json_decref(at);
        at = s.id;
        if (!s.compressed)
            break;
    }
    if (found) {
        struct hf_text tip = hf__jl_string(at);
        rc = hf_error_set(
            err, HF_CONTINUED, NULL,
            "session %.*s was compressed and goes on as %.*s: append there",
            HF__JL_ID_ARGS(id), HF__JL_ID_ARGS(&tip));
    } else
        rc = hf_error_set(err, HF_CONTINUED, NULL,
                          "session %.*s was compressed, and its continuation is not in "
                          "this store: create it with this session as its parent",
                          HF__JL_ID_ARGS(id));
    json_decref(at);
    return rc;
}

struct append {
    struct hf__jl_batch batch;
    struct hf_appended *ret;
};

static int
append_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
            void *ctx, struct hf_error *err)
{
    struct append *append = ctx;

    if (!append->batch.verbatim && is_compressed(file->row))
        return HF_CONTINUED; /* by whom is looked up without the lock */
    return hf__jl_batch_write(st, file, &append->batch, append->ret, out, err);
}

int
hf__jl_message_append(void *store, const struct hf_append *what,
                      struct hf_appended *ret, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct append append = {{what->messages, what->n_messages, what->fields,
                             what->n_fields, what->flags & HF_APPEND_VERBATIM, 0, 0, 0},
                            ret};
    struct hf__jl_write write = {
        &what->session_id, st->patience_ms * 3, 0, 0, append_work, &append};
    const struct hf_text *title = hf__jl_fields_title(what->fields, what->n_fields);
    int names = -1, rc = hf__jl_fields_check(what->fields, what->n_fields, err);

    if (rc == HF_OK && title)
        rc = hf__jl_names_lock(st, &names, err);
    if (rc == HF_OK && title)
        rc = hf__jl_title_free(st, &what->session_id, title, err);
    if (rc == HF_OK)
        rc = hf__jl_write(st, &write, err);
    if (names >= 0)
        hf__jl_names_unlock(st, names);
    return rc == HF_CONTINUED ? continued(st, &what->session_id, err) : rc;
}

/* ---- read ---- */

/* Narrows [*FIRST, *LAST) of entries, all of which are asked for, to the LIMIT nearest
 * to AROUND: half before it, half from it on; where one side is short the other gives.
 */
static void
around(const struct hf__jl_entry *entries, size_t *first, size_t *last, int64_t id,
       uint64_t limit)
{
    size_t middle = *first, before, after, take_before, take_after;

    while (middle < *last && entries[middle].id < id)
        middle++;
    before = middle - *first;
    after = *last - middle;
    take_before = (size_t)(limit / 2 < before ? limit / 2 : before);
    take_after = (size_t)(limit - take_before < after ? limit - take_before : after);
    take_before = (size_t)(limit - take_after < before ? limit - take_after : before);
    *first = middle - take_before;
    *last = middle + take_after;
}

/* A copy of the entries that are asked for, in their order. */
static struct hf__jl_entry *
choose(const struct hf__jl_file *file, const struct hf_message_query *q, size_t *ret_n)
{
    uint32_t states = q->states ? q->states : (uint32_t)HF_MSG_ACTIVE;
    struct hf__jl_entry *chosen = malloc((file->n + 1) * sizeof *chosen);
    int backwards = q->backwards && !q->around_id;
    size_t n = 0, first = 0, last;

    if (!chosen)
        return NULL;
    for (size_t i = 0; i < file->n; i++) {
        const struct hf__jl_entry *e = &file->entries[backwards ? file->n - 1 - i : i];
        if (!(e->state & states) || (q->after_id > 0 && e->id <= q->after_id) ||
            (q->before_id > 0 && e->id >= q->before_id))
            continue;
        chosen[n++] = *e;
        if (!q->around_id && q->limit && n == q->limit)
            break;
    }
    last = n;
    if (q->around_id > 0 && q->limit)
        around(chosen, &first, &last, q->around_id, q->limit);
    memmove(chosen, chosen + first, (last - first) * sizeof *chosen);
    *ret_n = last - first;
    return chosen;
}

int
hf__jl_record_read(const struct hf__jl_file *file, int fd, const struct hf__jl_entry *e,
                   struct hf__buf *bytes, json_t **ret, struct hf_error *err)
{
    size_t have = 0;

    if (bytes->cap <= e->len) {
        char *grown = realloc(bytes->ptr, (size_t)e->len + 1);
        if (!grown)
            return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
        bytes->ptr = grown;
        bytes->cap = (size_t)e->len + 1;
    }
    while (have < e->len) {
        ssize_t n = pread(fd, bytes->ptr + have, e->len - have, e->at + (int64_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hf__jl_fail(err, errno, file->path, "reading");
        if (!n)
            break;
        have += (size_t)n;
    }
    *ret = have == e->len && hf__jl_crc_ok(bytes->ptr, have)
               ? hf__jl_parse(bytes->ptr, have)
               : NULL;
    return *ret ? HF_OK
                : hf_error_set(err, HF_CORRUPT, file->path,
                               "%s: message %lld was damaged after it was read first",
                               file->path, (long long)e->id);
}

int
hf__jl_message_read(void *store, const struct hf_text *session_id,
                    const struct hf_message_query *query, hf_message_fn *emit,
                    void *ctx, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct hf__jl_file *file = hf__jl_file_of(st, session_id);
    struct hf__buf bytes = {0}, scratch = {0};
    struct hf__jl_entry *chosen = NULL;
    unsigned interrupts = atomic_load(&st->interrupts);
    size_t n = 0;
    int fd, rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rc = hf__jl_open_read(file, &fd, err);
    if (rc == HF_OK) {
        pthread_mutex_lock(&file->lock);
        rc = hf__jl_refresh(st, file, fd, err);
        if (rc == HF_OK)
            rc = hf__jl_is_session(file, err);
        if (rc == HF_OK && !(chosen = choose(file, query, &n)))
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        pthread_mutex_unlock(&file->lock);
        if (rc < 0)
            close(fd);
    }
    if (rc == HF_NOT_FOUND)
        return hf_error_set(err, rc, file->path, "there is no session %.*s",
                            HF__JL_ID_ARGS(session_id));
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == HF_OK && i < n; i++) {
        struct hf_message message;
        json_t *json;
        if (atomic_load(&st->interrupts) != interrupts) {
            rc = hf_error_set(err, HF_CANCELLED, file->path, "reading was interrupted");
            break;
        }
        rc = hf__jl_record_read(file, fd, &chosen[i], &bytes, &json, err);
        if (rc < 0)
            break;
        hf__jl_message(json, session_id, chosen[i].id, chosen[i].state, query->want,
                       &scratch, &message);
        rc = emit(ctx, &message);
        json_decref(json);
    }
    free(chosen);
    close(fd);
    hf__buf_free(&bytes);
    hf__buf_free(&scratch);
    return rc;
}
