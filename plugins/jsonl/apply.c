/* apply.c - what a record says, taken over into what is known of its file.  A reader
 * and a writer both learn what is in a file in this one way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "util/content.h"
#include "util/epoch.h"
#include "util/misc.h"
#include "util/sha256.h"

static int
no_memory(const struct hf__jl_file *file, struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
}

/* ---- uids ---- */

/* The name of a message in 16 bytes: 32 hex digits as they are, anything else hashed.
 */
static void
uid_key(const struct hf_text *uid, unsigned char ret[16])
{
    unsigned char hash[32];
    uint64_t i;

    memset(ret, 0, 16);
    for (i = 0; uid->len == 32 && i < 32; i++) {
        char c = uid->ptr[i];
        int v = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
        if (v < 0)
            break;
        ret[i / 2] = (unsigned char)(ret[i / 2] << 4 | v);
    }
    if (i == 32)
        return;
    hf__sha256(uid->ptr, (size_t)uid->len, hash);
    memcpy(ret, hash, 16);
}

static size_t
bucket_of(const struct hf__jl_file *file, const unsigned char key[16])
{
    uint64_t h;
    memcpy(&h, key, sizeof h);
    h ^= h >> 32;
    return (size_t)(h * 0x9E3779B97F4A7C15u >> 20) & (file->n_buckets - 1);
}

struct hf__jl_entry *
hf__jl_uid_find(const struct hf__jl_file *file, const struct hf_text *uid)
{
    unsigned char key[16];

    if (!uid->ptr || !file->n_buckets)
        return NULL;
    uid_key(uid, key);
    for (uint32_t i = file->buckets[bucket_of(file, key)]; i;
         i = file->entries[i - 1].next)
        if (!memcmp(file->entries[i - 1].uid, key, sizeof key))
            return &file->entries[i - 1];
    return NULL;
}

static void
entry_link(struct hf__jl_file *file, size_t i)
{
    size_t bucket = bucket_of(file, file->entries[i].uid);

    file->entries[i].next = file->buckets[bucket];
    file->buckets[bucket] = (uint32_t)i + 1;
}

static int
entry_add(struct hf__jl_file *file, const struct hf__jl_entry *entry)
{
    if (file->n == file->cap) {
        size_t cap = file->cap ? file->cap * 2 : 16, n_buckets = 16;
        struct hf__jl_entry *grown = realloc(file->entries, cap * sizeof *grown);
        uint32_t *buckets;
        if (!grown)
            return -1;
        file->entries = grown;
        while (n_buckets < cap)
            n_buckets *= 2;
        buckets = calloc(n_buckets, sizeof *buckets);
        if (!buckets)
            return -1;
        free(file->buckets);
        file->buckets = buckets;
        file->n_buckets = n_buckets;
        file->cap = cap;
        for (size_t i = 0; i < file->n; i++)
            if (file->entries[i].has_uid)
                entry_link(file, i);
    }
    file->entries[file->n] = *entry;
    if (entry->has_uid)
        entry_link(file, file->n);
    file->n++;
    return 0;
}

/* ---- fields ---- */

static void
counter_settle(struct hf__jl_file *file, json_t *row, const char *name)
{
    int64_t *more = !strcmp(name, "message_count")     ? &file->n_counted
                    : !strcmp(name, "tool_call_count") ? &file->n_calls
                                                       : NULL;
    if (!more)
        return;
    json_object_set_new(
        row, name, json_integer(hf__jl_int(json_object_get(row, name), 0) + *more));
    *more = 0;
}

static json_t *
sum(const json_t *a, const json_t *b)
{
    if (!json_is_number(a))
        return json_deep_copy(b);
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer((json_int_t)((uint64_t)json_integer_value(a) +
                                         (uint64_t)json_integer_value(b)));
    return json_real(json_number_value(a) + json_number_value(b));
}

/* Whether A number is greater than what is there; whatever is no number is less. */
static int
greater(const json_t *a, const json_t *there)
{
    if (!json_is_number(a) || !json_is_number(there))
        return json_is_number(a);
    if (json_is_integer(a) && json_is_integer(there))
        return json_integer_value(a) > json_integer_value(there);
    return json_number_value(a) > json_number_value(there);
}

int
hf__jl_fields_apply(struct hf__jl_file *file, const json_t *fields)
{
    json_t *row, *field;
    size_t i;

    if (!json_array_size(fields))
        return 0;
    row = json_copy(file->row);
    if (!row)
        return -1;
    json_array_foreach(fields, i, field)
    {
        const char *name = json_string_value(json_array_get(field, 0));
        const char *op = json_string_value(json_array_get(field, 1));
        json_t *value = json_array_get(field, 2);
        const json_t *old;
        if (!name || !op || !value || !strcmp(name, "id"))
            continue;
        counter_settle(file, row, name);
        if (!strcmp(name, "last_activity_at")) {
            if (!isnan(file->activity))
                json_object_set_new(row, name, json_real(file->activity));
            file->activity = HF_NO_TIME;
        }
        old = json_object_get(row, name);
        if (!strcmp(op, "add"))
            json_object_set_new(row, name, sum(old, value));
        else if (!strcmp(op, "max") ? greater(value, old)
                                    : !strcmp(op, "set") || !old || json_is_null(old))
            json_object_set(row, name, value);
    }
    json_decref(file->row);
    file->row = row;
    return 0;
}

/* ---- kinds of records ---- */

static int
header_apply(struct hf__jl_file *file, const struct hf__jl_record *record,
             struct hf_error *err)
{
    json_t *session = json_object_get(record->json, "session"), *id;
    struct hf_text text;
    char *name;

    file->version = hf__jl_int(json_object_get(record->json, "version"), 1);
    id = json_object_get(session, "id");
    if (file->row && !file->headless)
        return HF_OK; /* two creators: the first one counts */
    if (!json_is_string(id))
        return HF_OK;
    text = hf_text(json_string_value(id), json_string_length(id));
    name = hf__jl_name(&text);
    if (!name)
        return no_memory(file, err);
    file->misnamed = strcmp(name, file->name) != 0;
    free(name);
    json_decref(file->row);
    file->row = json_incref(session);
    file->headless = 0;
    return HF_OK;
}

/* The line with the session is gone: what the name and the other lines still tell. */
static int
headless_begin(struct hf__jl_file *file, const json_t *json, struct hf_error *err)
{
    const json_t *message = json_object_get(json, "message");
    const json_t *told = json_object_get(json, "session_id");
    double started = hf__jl_time(json_object_get(message, "timestamp"), NULL);
    char *id = NULL;
    size_t len = 0;

    if (json_is_string(told)) {
        len = json_string_length(told);
        id = malloc(len + 1);
        if (id)
            memcpy(id, json_string_value(told), len + 1);
    } else if (!hf__jl_name_read(file->name, &id, &len) || !id) {
        return HF_OK;
    }
    if (!id)
        return no_memory(file, err);
    file->row = json_object();
    json_object_set_new_nocheck(file->row, "id", json_stringn_nocheck(id, len));
    json_object_set_new(file->row, "source", json_string("unknown"));
    json_object_set_new(
        file->row, "started_at",
        json_real(hf__time_valid(started) ? started : (double)file->mtime.tv_sec));
    free(id);
    file->headless = 1;
    return file->row ? HF_OK : no_memory(file, err);
}

static int
message_apply(struct hf__jl_file *file, const struct hf__jl_record *record,
              struct hf_error *err)
{
    const json_t *json = record->json, *message = json_object_get(json, "message");
    const json_t *own = json_object_get(message, "message_uid");
    int64_t id = hf__jl_int(json_object_get(message, "id"), 0);
    double t = hf__jl_time(json_object_get(message, "timestamp"), NULL);
    struct hf_text uid = hf__jl_string(own ? own : json_object_get(json, "uid"));
    struct hf_text calls = hf__jl_string(json_object_get(message, "tool_calls"));
    struct hf__jl_entry entry = {0};
    uint32_t state = HF_MSG_ACTIVE;

    if (hf__jl_uid_find(file, &uid))
        return HF_OK; /* a copy of a line, as a restored file may hold */
    if (json_object_get(message, "active") &&
        !hf__jl_int(json_object_get(message, "active"), 1))
        state = hf__jl_int(json_object_get(message, "compacted"), 0) ? HF_MSG_COMPACTED
                                                                     : HF_MSG_REWOUND;
    entry.id = id > file->last_id ? id : file->last_id + 1;
    entry.at = record->at;
    entry.len = record->len;
    entry.state = state;
    entry.calls = (uint32_t)hf__tool_call_count(&calls);
    if (uid.ptr) {
        entry.has_uid = 1;
        uid_key(&uid, entry.uid);
    }
    if (entry_add(file, &entry) < 0)
        return no_memory(file, err);
    file->last_id = entry.id;
    if (hf__time_valid(t) && !(file->newest >= t))
        file->newest = t;
    if (!json_object_get(json, "verbatim")) {
        double last =
            isnan(file->activity)
                ? hf__jl_time(json_object_get(file->row, "last_activity_at"), NULL)
                : file->activity;
        file->n_counted++;
        file->n_calls += hf__jl_int(json_object_get(json, "calls"), 0);
        if (!isnan(t) && !(last >= t))
            file->activity = t;
    }
    return HF_OK;
}

/* After a compaction the counters are those of what is active; the summary's own lines
 * follow and count themselves. */
static void
active_recount(struct hf__jl_file *file)
{
    int64_t messages = 0, calls = 0;
    for (size_t i = 0; i < file->n; i++)
        if (file->entries[i].state == HF_MSG_ACTIVE) {
            messages++;
            calls += file->entries[i].calls;
        }
    file->n_counted =
        messages - hf__jl_int(json_object_get(file->row, "message_count"), 0);
    file->n_calls =
        calls - hf__jl_int(json_object_get(file->row, "tool_call_count"), 0);
}

static void
states_apply(struct hf__jl_file *file, const char *verb, const json_t *json)
{
    int64_t from = hf__jl_int(json_object_get(json, "from"), INT64_MAX);
    int64_t to = hf__jl_int(json_object_get(json, "to"), INT64_MIN);

    for (size_t i = 0; i < file->n; i++) {
        struct hf__jl_entry *e = &file->entries[i];
        if (!strcmp(verb, "rewind") && e->id >= from && e->state == HF_MSG_ACTIVE)
            e->state = HF_MSG_REWOUND;
        else if (!strcmp(verb, "restore") && e->id >= from &&
                 e->state == HF_MSG_REWOUND)
            e->state = HF_MSG_ACTIVE;
        else if (!strcmp(verb, "compact") && e->id <= to && e->state == HF_MSG_ACTIVE)
            e->state = HF_MSG_COMPACTED;
    }
    if (!strcmp(verb, "compact"))
        active_recount(file);
}

/* One message got the state that it has in the store it came from. */
static void
state_apply(struct hf__jl_file *file, const json_t *json)
{
    struct hf_text name = hf__jl_string(json_object_get(json, "state"));
    int64_t id = hf__jl_int(json_object_get(json, "id"), 0);
    uint32_t state = hf__jl_state_read(&name);
    size_t low = 0, high = file->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (state && low < file->n && file->entries[low].id == id)
        file->entries[low].state = state;
}

/* How much was carried out of what came under a stamp. */
static int
merged_apply(struct hf__jl_file *file, const json_t *json)
{
    const char *stamp = json_string_value(json_object_get(json, "stamp"));
    json_t *done = json_object_get(json, "done");

    if (!stamp || !done)
        return 0;
    if (!file->stamps)
        file->stamps = json_object();
    return json_object_set_nocheck(file->stamps, stamp, done);
}

static int
usage_apply(struct hf__jl_file *file, const json_t *delta)
{
    static const char *const keys[] = {"model", "billing_provider", "billing_base_url",
                                       "billing_mode", "task"};
    json_t *usage = json_deep_copy(file->usage), *row, *value;
    const char *name;
    size_t i, k;

    if (!usage)
        usage = json_array();
    json_array_foreach(usage, i, row)
    {
        for (k = 0; k < sizeof keys / sizeof *keys; k++)
            if (!json_equal(json_object_get(row, keys[k]),
                            json_object_get(delta, keys[k])))
                break;
        if (k == sizeof keys / sizeof *keys)
            break;
    }
    if (i == json_array_size(usage)) {
        json_array_append_new(usage, json_deep_copy(delta));
    } else {
        row = json_array_get(usage, i);
        json_object_foreach((json_t *)delta, name, value)
        {
            if (!strcmp(name, "seen_at"))
                json_object_set(row, name, value);
            else if (json_is_number(value))
                json_object_set_new(row, name, sum(json_object_get(row, name), value));
            else if (json_is_string(value))
                json_object_set(row, name, value);
        }
    }
    json_decref(file->usage);
    file->usage = usage;
    return usage ? 0 : -1;
}

static int
record_apply(struct hf__jl_file *file, const struct hf__jl_record *record,
             struct hf_error *err)
{
    const json_t *json = record->json;
    const char *verb = json_string_value(json_object_get(json, "change"));
    int rc = HF_OK;

    file->marked = 1;
    if (json_object_get(json, "holdfast"))
        return header_apply(file, record, err);
    if (!file->row)
        rc = headless_begin(file, json, err);
    if (rc < 0 || !file->row)
        return rc;
    if (json_is_object(json_object_get(json, "message")))
        rc = message_apply(file, record, err);
    else if (verb && !strcmp(verb, "usage"))
        rc = usage_apply(file, json_object_get(json, "usage")) < 0
                 ? no_memory(file, err)
                 : HF_OK;
    else if (verb && !strcmp(verb, "state"))
        state_apply(file, json);
    else if (verb && !strcmp(verb, "merged"))
        rc = merged_apply(file, json) < 0 ? no_memory(file, err) : HF_OK;
    else if (verb) /* one that a later version knows changes nothing here */
        states_apply(file, verb, json);
    if (rc == HF_OK && hf__jl_fields_apply(file, json_object_get(json, "fields")) < 0)
        rc = no_memory(file, err);
    return rc;
}

/* ---- several lines of one append ---- */

void
hf__jl_pending_drop(struct hf__jl_file *file)
{
    for (size_t i = 0; i < file->n_pending; i++)
        json_decref(file->pending[i].json);
    file->n_pending = 0;
}

int
hf__jl_pending_apply(struct hf__jl_file *file, struct hf_error *err)
{
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < file->n_pending; i++)
        rc = record_apply(file, &file->pending[i], err);
    hf__jl_pending_drop(file);
    return rc;
}

static int
pending_add(struct hf__jl_file *file, const struct hf__jl_record *record,
            struct hf_error *err)
{
    if (file->n_pending == file->cap_pending) {
        size_t cap = file->cap_pending ? file->cap_pending * 2 : 8;
        struct hf__jl_record *grown = realloc(file->pending, cap * sizeof *grown);
        if (!grown)
            return no_memory(file, err);
        file->pending = grown;
        file->cap_pending = cap;
    }
    if (!file->n_pending) {
        file->pending_at = record->at;
        file->pending_line = record->line - 1;
    }
    file->pending[file->n_pending] = *record;
    json_incref(record->json);
    file->n_pending++;
    return HF_OK;
}

int
hf__jl_apply(struct hf__jl_file *file, const struct hf__jl_record *record,
             struct hf_error *err)
{
    const json_t *part = json_object_get(record->json, "part");
    int64_t at = hf__jl_int(json_array_get(part, 0), 0);
    int64_t of = hf__jl_int(json_array_get(part, 1), 0);
    int rc = HF_OK;

    /* An append whose last line is missing, and others after it: that line was damaged
     * later, for nobody writes behind half an append. */
    if (file->n_pending && (at <= 1 || at <= (int64_t)file->n_pending))
        rc = hf__jl_pending_apply(file, err);
    if (rc == HF_OK && at >= 1 && at < of)
        return pending_add(file, record, err);
    if (rc == HF_OK)
        rc = hf__jl_pending_apply(file, err);
    return rc == HF_OK ? record_apply(file, record, err) : rc;
}
