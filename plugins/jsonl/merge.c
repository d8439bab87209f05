/* merge.c - a session that comes from another store, added to its file in one write:
 * only what the file lacks, so that merging it again changes nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"
#include "util/content.h"
#include "util/epoch.h"
#include "util/json_write.h"
#include "util/sha256.h"

/* A message of the file that has no uid, by what it says. */
struct nameless {
    unsigned char key[32];
    size_t entry;
    int taken;
};

struct merge {
    const struct hf_transfer *what;
    struct hf_session session; /* with a title that is free */
    const struct hf_field *fields;
    struct hf_transferred *ret;

    struct hf_jsonl_store *st;
    struct hf__jl_file *file;
    struct hf__buf *out; /* NULL: lines are only counted */
    uint64_t at, of;
    int64_t last_id;
    uint64_t added, states;
    int compacted;
    double now;
    json_t *session_id; /* where the name is a hash */
    struct nameless *nameless;
    size_t n_nameless;
};

/* ---- messages without a uid ---- */

static void
part_hash(struct hf__buf *buf, const struct hf_text *text)
{
    hf__buf_addf(buf, "%d %llu ", text->ptr != NULL, (unsigned long long)text->len);
    if (text->ptr)
        hf__buf_add(buf, text->ptr, (size_t)text->len);
}

static int
message_key(const struct hf_message *m, unsigned char ret[32])
{
    struct hf__buf buf = {0};
    int ok;

    part_hash(&buf, &m->role);
    part_hash(&buf, &m->content);
    if (isfinite(m->timestamp)) /* without a time: equal to others without one */
        hf__buf_addf(&buf, "%.17g", m->timestamp);
    ok = !buf.failed;
    if (ok)
        hf__sha256(buf.ptr, buf.len, ret);
    hf__buf_free(&buf);
    return ok ? 0 : -1;
}

static int
nameless_read(struct merge *m, struct hf_error *err)
{
    const struct hf__jl_file *file = m->file;
    struct hf__buf bytes = {0}, scratch = {0};
    struct hf_text id = m->what->session->id;
    size_t n = 0;
    int fd, rc;

    for (size_t i = 0; i < file->n; i++)
        n += !file->entries[i].has_uid;
    if (!n)
        return HF_OK;
    m->nameless = calloc(n, sizeof *m->nameless);
    if (!m->nameless)
        return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
    rc = hf__jl_open_read(file, &fd, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == HF_OK && i < file->n; i++) {
        const struct hf__jl_entry *e = &file->entries[i];
        struct hf_message message;
        json_t *json;
        if (e->has_uid)
            continue;
        rc = hf__jl_record_read(file, fd, e, &bytes, &json, err);
        if (rc < 0)
            break;
        hf__jl_message(json, &id, e->id, e->state, 0, &scratch, &message);
        m->nameless[m->n_nameless].entry = i;
        if (message_key(&message, m->nameless[m->n_nameless++].key) < 0)
            rc = hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
        json_decref(json);
    }
    close(fd);
    hf__buf_free(&bytes);
    hf__buf_free(&scratch);
    return rc;
}

/* The entry of this message, each of which is found once: two that are alike are two.
 */
static const struct hf__jl_entry *
nameless_find(struct merge *m, const struct hf_message *message)
{
    unsigned char key[32];

    if (!m->n_nameless || message_key(message, key) < 0)
        return NULL;
    for (size_t i = 0; i < m->n_nameless; i++)
        if (!m->nameless[i].taken && !memcmp(m->nameless[i].key, key, sizeof key)) {
            m->nameless[i].taken = 1;
            return &m->file->entries[m->nameless[i].entry];
        }
    return NULL;
}

/* ---- lines ---- */

/* Counts a line and, the second time, begins it. */
static int
line_begin(struct merge *m, const struct hf_text *uid, const char *verb, size_t *start)
{
    m->at++;
    if (!m->out)
        return 0;
    hf__jl_line_begin(m->out, start, uid);
    hf__jl_part_write(m->out, m->at, m->of);
    if (verb) {
        hf__jl_line_key(m->out, "change");
        hf__json_string(m->out, verb, strlen(verb));
    }
    return 1;
}

static void
state_write(struct merge *m, const struct hf__jl_entry *e, uint32_t state)
{
    size_t start;

    m->states++;
    m->compacted |= state == HF_MSG_COMPACTED;
    if (!line_begin(m, NULL, "state", &start))
        return;
    hf__jl_line_key(m->out, "id");
    hf__json_int(m->out, e->id);
    hf__jl_line_key(m->out, "state");
    hf__json_string(m->out, hf__jl_state_name(state), strlen(hf__jl_state_name(state)));
    hf__jl_line_end(m->out, start);
}

static int
on_message(void *ctx, const struct hf_message *given)
{
    struct merge *m = ctx;
    struct hf_message message = *given;
    uint32_t state = given->state ? given->state : (uint32_t)HF_MSG_ACTIVE;
    const struct hf__jl_entry *there;
    int64_t calls = given->n_tool_calls;
    size_t start;

    there = given->uid.ptr ? hf__jl_uid_find(m->file, &given->uid)
                           : nameless_find(m, &message);
    if (there) {
        if (there->state != state)
            state_write(m, there, state);
        return 0;
    }
    m->last_id++;
    m->added++;
    m->compacted |= state == HF_MSG_COMPACTED;
    if (!line_begin(m, &given->uid, NULL, &start))
        return 0;
    if (!calls && given->tool_calls.ptr)
        calls = hf__tool_call_count(&given->tool_calls);
    if (m->session_id) {
        hf__jl_line_key(m->out, "session_id");
        hf__jl_value(m->out, m->session_id);
    }
    if (calls) {
        hf__jl_line_key(m->out, "calls");
        hf__json_int(m->out, calls);
    }
    hf__jl_line_key(m->out, "message");
    message.state = state;
    hf__jl_message_write(m->out, &message, m->last_id, message.timestamp);
    hf__jl_line_end(m->out, start);
    return 0;
}

static int
session_write(struct merge *m, struct hf_error *err)
{
    uint32_t mode = m->file->row ? HF_PUT_ENSURE : HF_PUT_VERBATIM;
    json_t *row = hf__jl_row(&m->session, mode, m->now);
    struct hf__buf unused = {0}, *out = m->out ? m->out : &unused;
    size_t before = out->len;

    if (!row)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (m->file->row) {
        hf__jl_missing_write(out, m->file, row, m->of);
    } else {
        json_object_set_new(row, "message_count", json_integer(0));
        json_object_set_new(row, "tool_call_count", json_integer(0));
        hf__jl_header_write(out, row, m->of);
    }
    m->at += out->len > before;
    hf__buf_free(&unused);
    json_decref(row);
    return HF_OK;
}

/* What of the fields and the usage was not carried out under this stamp before. */
static void
changes_write(struct merge *m)
{
    const struct hf_transfer *w = m->what;
    json_t *stamp =
        w->stamp.ptr ? json_stringn_nocheck(w->stamp.ptr, (size_t)w->stamp.len) : NULL;
    const json_t *done =
        stamp ? json_object_get(m->file->stamps, json_string_value(stamp)) : NULL;
    uint64_t fields = (uint64_t)hf__jl_int(json_array_get(done, 0), 0);
    uint64_t usage = (uint64_t)hf__jl_int(json_array_get(done, 1), 0);
    size_t start;

    json_decref(stamp);
    if (fields < w->n_fields && line_begin(m, NULL, "set", &start)) {
        hf__jl_line_key(m->out, "fields");
        hf__jl_fields_write(m->out, m->fields + fields, w->n_fields - fields, m->now);
        hf__jl_line_end(m->out, start);
    }
    for (uint64_t i = usage; i < w->n_usage; i++)
        if (line_begin(m, NULL, "usage", &start)) {
            hf__jl_line_key(m->out, "usage");
            hf__jl_usage_write(m->out, w->usage[i], m->now);
            hf__jl_line_end(m->out, start);
        }
    if (w->stamp.ptr && (fields < w->n_fields || usage < w->n_usage) &&
        line_begin(m, NULL, "merged", &start)) {
        hf__jl_line_key(m->out, "stamp");
        hf__jl_text(m->out, w->stamp.ptr, (size_t)w->stamp.len);
        hf__jl_line_key(m->out, "done");
        hf__buf_addf(m->out, "[%llu,%llu]",
                     (unsigned long long)(fields < w->n_fields ? w->n_fields : fields),
                     (unsigned long long)(usage < w->n_usage ? w->n_usage : usage));
        hf__jl_line_end(m->out, start);
    }
}

/* All lines: counted with OUT NULL, then written, each with their number. */
static int
walk(struct merge *m, struct hf__buf *out, struct hf_error *err)
{
    size_t start;
    int rc;

    m->out = out;
    m->of = m->at;
    m->at = m->added = m->states = 0;
    m->compacted = 0;
    m->last_id = m->file->last_id;
    for (size_t i = 0; i < m->n_nameless; i++)
        m->nameless[i].taken = 0;
    rc = session_write(m, err);
    if (rc == HF_OK && m->what->messages)
        rc = m->what->messages(m->what->ctx, on_message, m, err);
    if (rc != HF_OK)
        return rc;
    /* No message is changed by this one: it counts what is active. */
    if (m->compacted && line_begin(m, NULL, "compact", &start)) {
        hf__jl_line_key(m->out, "to");
        hf__json_int(m->out, 0);
        hf__jl_line_end(m->out, start);
    }
    changes_write(m);
    if (out && m->at != m->of)
        return hf_error_set(err, HF_CONFLICT, m->file->path,
                            "the session changed while it was merged into %s: try "
                            "again",
                            m->file->path);
    return HF_OK;
}

static int
merge_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
           void *ctx, struct hf_error *err)
{
    struct merge *m = ctx;
    int rc;

    m->st = st;
    m->file = file;
    m->now = st->host->now(st->host->ctx);
    if (hf__jl_name_is_hash(file))
        m->session_id =
            json_stringn_nocheck(m->session.id.ptr, (size_t)m->session.id.len);
    m->ret->created = !file->row;
    m->at = 0;
    rc = nameless_read(m, err);
    if (rc == HF_OK)
        rc = walk(m, NULL, err);
    if (rc == HF_OK && m->at)
        rc = walk(m, out, err);
    m->ret->messages = m->added;
    m->ret->states = m->states;
    return rc;
}

/* ---- titles ---- */

/* TITLE, or the next " #2", " #3" of it that no other session has; *ret_own is to be
 * freed. */
static int
title_choose(struct hf_jsonl_store *st, const struct hf_text *id, struct hf_text *title,
             char **ret_own, struct hf_error *err)
{
    struct hf_text base = *title, tried = *title;
    int rc = hf__jl_title_free(st, id, title, err);
    size_t points = 0, cut = 0;

    /* Room for the number below the limit of a title. */
    for (; cut < base.len; cut++)
        if (((unsigned char)base.ptr[cut] & 0xC0) != 0x80 &&
            ++points > HF_MAX_TITLE - 8)
            break;
    for (unsigned i = 2; rc == HF_EXISTS; i++) {
        struct hf__buf buf = {0};
        hf__buf_add(&buf, base.ptr, cut);
        hf__buf_addf(&buf, " #%u", i);
        free(*ret_own);
        *ret_own = buf.ptr;
        if (buf.failed)
            return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        tried = hf_text(buf.ptr, buf.len);
        rc = hf__jl_title_free(st, id, &tried, err);
    }
    if (rc == HF_OK)
        *title = tried;
    return rc;
}

int
hf__jl_session_merge(void *store, const struct hf_transfer *what,
                     struct hf_transferred *ret, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct merge m = {.what = what, .session = *what->session, .ret = ret};
    struct hf__jl_write write = {
        &what->session->id, st->patience_ms * 3, 1, 0, merge_work, &m};
    struct hf_field *fields = calloc(what->n_fields + 1, sizeof *fields);
    char **owns = calloc(what->n_fields + 1, sizeof *owns);
    int names = -1, rc = HF_OK, titled = what->session->title.ptr != NULL;

    if (!fields || !owns)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (uint64_t i = 0; rc == HF_OK && i < what->n_fields; i++) {
        fields[i] = what->fields[i];
        titled |= hf__jl_fields_title(&fields[i], 1) != NULL;
    }
    m.fields = fields;
    if (rc == HF_OK && titled)
        rc = hf__jl_names_lock(st, &names, err);
    if (rc == HF_OK && m.session.title.ptr)
        rc = title_choose(st, write.id, &m.session.title, &owns[what->n_fields], err);
    for (uint64_t i = 0; rc == HF_OK && i < what->n_fields; i++)
        if (hf__jl_fields_title(&fields[i], 1))
            rc = title_choose(st, write.id, &fields[i].text, &owns[i], err);
    if (rc == HF_OK)
        rc = hf__jl_write(st, &write, err);
    if (names >= 0)
        hf__jl_names_unlock(st, names);
    for (uint64_t i = 0; owns && i <= what->n_fields; i++)
        free(owns[i]);
    free(owns);
    free(fields);
    free(m.nameless);
    json_decref(m.session_id);
    return rc;
}
