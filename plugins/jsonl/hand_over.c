/* hand_over.c - a session that is given away: to the store that it was kept for while
 * that one could not be written.  Its file is locked as for an append until the taker
 * has everything; then it moves to DIR/merged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

#define PATIENCE_MS 100 /* whoever merges comes again soon */

/* What was read of the file, in its order. */
struct parcel {
    struct hf_jsonl_store *st;
    struct hf__jl_file *file;
    const struct hf_text *id;
    int fd;
    json_t *row;                  /* of the first line */
    json_t *stamp;                /* its uid, or that of the first line that is left */
    json_t *fields;               /* array of [name, op, value] */
    json_t *usage;                /* array of deltas */
    struct hf__jl_entry *entries; /* a copy */
    size_t n;
};

static int
no_memory(const struct parcel *p, struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, p->file->path, "out of memory");
}

/* ---- reading ---- */

static int
record_take(void *ctx, const struct hf__jl_record *record, struct hf_error *err)
{
    struct parcel *p = ctx;
    json_t *session = json_object_get(record->json, "session");
    json_t *uid = json_object_get(record->json, "uid"), *field;
    const char *verb = json_string_value(json_object_get(record->json, "change"));
    size_t i;

    if (json_object_get(record->json, "holdfast")) {
        if (p->row || !json_is_string(json_object_get(session, "id")))
            return HF_OK;
        p->row = json_incref(session);
        json_decref(p->stamp);
        p->stamp = json_incref(uid);
        return HF_OK;
    }
    if (!p->stamp)
        p->stamp = json_incref(uid);
    if (verb && !strcmp(verb, "usage") &&
        json_array_append(p->usage, json_object_get(record->json, "usage")) < 0)
        return no_memory(p, err);
    json_array_foreach(json_object_get(record->json, "fields"), i, field)
    {
        const char *name = json_string_value(json_array_get(field, 0));
        /* The taker counts messages itself. */
        if (!name || !strcmp(name, "id") || !strcmp(name, "message_count") ||
            !strcmp(name, "tool_call_count") || !json_array_get(field, 2) ||
            !json_is_string(json_array_get(field, 1)))
            continue;
        if (json_array_append(p->fields, field) < 0)
            return no_memory(p, err);
    }
    return HF_OK;
}

static int
damage_pass(void *ctx, int64_t at, uint64_t line, struct hf_error *err)
{
    (void)ctx, (void)at, (void)line, (void)err; /* the refresh told */
    return HF_OK;
}

/* The session of a file whose first line is gone. */
static json_t *
row_minimal(const struct hf__jl_file *file)
{
    json_t *row = json_object(), *old = file->row;

    json_object_set(row, "id", json_object_get(old, "id"));
    json_object_set_new(row, "source", json_string("unknown"));
    json_object_set(row, "started_at", json_object_get(old, "started_at"));
    return row;
}

/* With the file locked.  Its readers' lock is held as well, for the entries. */
static int
parcel_read(struct parcel *p, struct hf_error *err)
{
    struct hf__jl_scan scan = {.record = record_take, .damage = damage_pass, .ctx = p};
    int rc;

    pthread_mutex_lock(&p->file->lock);
    rc = hf__jl_refresh_settled(p->st, p->file, p->fd, err);
    if (rc == HF_OK)
        rc = hf__jl_is_session(p->file, err);
    p->fields = json_array();
    p->usage = json_array();
    p->n = p->file->n;
    p->entries = malloc((p->n + 1) * sizeof *p->entries);
    if (rc == HF_OK && (!p->fields || !p->usage || !p->entries))
        rc = no_memory(p, err);
    if (rc == HF_OK && p->n)
        memcpy(p->entries, p->file->entries, p->n * sizeof *p->entries);
    if (rc == HF_OK)
        rc = hf__jl_scan(p->fd, p->file->path, &scan, err);
    if (rc == HF_OK && !p->row && !(p->row = row_minimal(p->file)))
        rc = no_memory(p, err);
    pthread_mutex_unlock(&p->file->lock);
    return rc;
}

static void
parcel_free(struct parcel *p)
{
    json_decref(p->row);
    json_decref(p->stamp);
    json_decref(p->fields);
    json_decref(p->usage);
    free(p->entries);
}

/* ---- as the taker sees it ---- */

static int
messages_emit(void *ctx, hf_message_fn *emit, void *emit_ctx, struct hf_error *err)
{
    const struct parcel *p = ctx;
    struct hf__buf bytes = {0}, scratch = {0};
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < p->n; i++) {
        const struct hf__jl_entry *e = &p->entries[i];
        struct hf_message message;
        json_t *json;
        rc = hf__jl_record_read(p->file, p->fd, e, &bytes, &json, err);
        if (rc < 0)
            break;
        hf__jl_message(json, p->id, e->id, e->state, HF_WANT_EXTRA, &scratch, &message);
        rc = emit(emit_ctx, &message);
        json_decref(json);
    }
    hf__buf_free(&bytes);
    hf__buf_free(&scratch);
    return rc;
}

static void
field_fill(const json_t *json, struct hf_field *ret)
{
    const char *op = json_string_value(json_array_get(json, 1));
    const json_t *value = json_array_get(json, 2);

    memset(ret, 0, sizeof *ret);
    ret->name = json_string_value(json_array_get(json, 0));
    ret->op = !strcmp(op, "add")   ? HF_FIELD_ADD
              : !strcmp(op, "max") ? HF_FIELD_MAX
              : !strcmp(op, "set") ? HF_FIELD_SET
                                   : HF_FIELD_SET_IF_NULL;
    if (json_is_integer(value) || json_is_boolean(value)) {
        ret->type = HF_INT;
        ret->i = hf__jl_int(value, 0);
    } else if (json_is_real(value)) {
        ret->type = HF_REAL;
        ret->d = json_real_value(value);
    } else if (json_is_string(value)) {
        ret->type = HF_TEXT;
        ret->text = hf__jl_string(value);
    }
}

static int
parcel_give(struct parcel *p, hf_transfer_fn *take, void *ctx, struct hf_error *err)
{
    struct hf_transfer what = HF_INIT(struct hf_transfer);
    size_t n_fields = json_array_size(p->fields), n_usage = json_array_size(p->usage);
    struct hf_field *fields = calloc(n_fields + 1, sizeof *fields);
    struct hf_usage *usage = calloc(n_usage + 1, sizeof *usage);
    const struct hf_usage **deltas = calloc(n_usage + 1, sizeof *deltas);
    struct hf__jl_view view = {
        .row = p->row, .activity = HF_NO_TIME, .newest = HF_NO_TIME};
    struct hf__buf scratch = {0};
    struct hf_session session;
    int rc;

    if (fields && usage && deltas) {
        hf__jl_session(&view, HF_WANT_EXTRA, &scratch, &session);
        session.id = *p->id;
        for (size_t i = 0; i < n_fields; i++)
            field_fill(json_array_get(p->fields, i), &fields[i]);
        for (size_t i = 0; i < n_usage; i++) {
            hf__jl_usage_of(json_array_get(p->usage, i), p->id, &usage[i]);
            deltas[i] = &usage[i];
        }
        what.session = &session;
        what.messages = messages_emit;
        what.ctx = p;
        what.fields = fields;
        what.n_fields = n_fields;
        what.usage = deltas;
        what.n_usage = n_usage;
        what.stamp = hf__jl_string(p->stamp);
        rc = take(ctx, &what, err);
    } else {
        rc = no_memory(p, err);
    }
    hf__buf_free(&scratch);
    free(fields);
    free(usage);
    free(deltas);
    return rc;
}

/* ---- moving away ---- */

static int
dir_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), sys = 0;

    /* Some file systems refuse to sync a folder: there it needs none. */
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EBADF))
        sys = errno;
    if (fd >= 0)
        close(fd);
    return sys;
}

/* Gives the file a name in the folder of what was merged, of which there may be older
 * ones; a link is made rather than the file renamed, as it replaces nothing. */
static int
link_free(const char *path, const char *dir, const char *name)
{
    struct hf__buf to = {0};
    struct stat sb;
    int sys = EEXIST;

    for (unsigned i = 0; sys == EEXIST && i < 100000; i++) {
        hf__buf_clear(&to);
        hf__buf_addf(&to, "%s/%s", dir, name);
        if (i)
            hf__buf_addf(&to, ".%u", i);
        if (to.failed)
            sys = ENOMEM;
        else if (!link(path, to.ptr))
            sys = unlink(path) < 0 ? errno : 0;
        else if (errno != EEXIST && lstat(to.ptr, &sb) < 0) /* no links here */
            sys = rename(path, to.ptr) < 0 ? errno : 0;
    }
    hf__buf_free(&to);
    return sys;
}

static int
move_away(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf_error *err)
{
    char *dir = hf__path_join(st->dir, "merged");
    int sys = 0;

    if (!dir)
        return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        sys = errno;
    if (!sys)
        sys = link_free(file->path, dir, file->name);
    if (!sys)
        sys = dir_sync(dir);
    if (!sys)
        sys = dir_sync(st->dir);
    free(dir);
    pthread_mutex_lock(&file->lock);
    hf__jl_file_reset(file); /* who comes next finds none, and may make another */
    pthread_mutex_unlock(&file->lock);
    return sys ? hf__jl_fail(err, sys, file->path, "moving to merged/ the file")
               : HF_OK;
}

int
hf__jl_session_hand_over(void *store, const struct hf_text *id, hf_transfer_fn *take,
                         void *ctx, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct hf__jl_file *file = hf__jl_file_of(st, id);
    struct parcel parcel = {.st = st, .file = file, .id = id, .fd = -1};
    struct hf__jl_wait wait;
    int rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    hf__jl_wait_begin(st, &wait, PATIENCE_MS);
    rc = hf__jl_writer_begin(st, file, &wait, err);
    if (rc < 0)
        return rc;
    rc = hf__jl_lock_open(st, file->path, 0, &wait, &parcel.fd, err);
    if (rc == HF_OK) {
        rc = parcel_read(&parcel, err);
        if (rc == HF_OK)
            rc = parcel_give(&parcel, take, ctx, err);
        if (rc == HF_OK)
            rc = move_away(st, file, err);
        hf__jl_unlock(parcel.fd);
        parcel_free(&parcel);
    } else if (rc == HF_NOT_FOUND) {
        rc = hf_error_set(err, rc, file->path, "there is no session %.*s",
                          HF__JL_ID_ARGS(id));
    }
    hf__jl_writer_end(file);
    return rc;
}
