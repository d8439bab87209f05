/* sessions.c - sessions: store, get, list, change.  Removing is delete.c's job. */
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "util/json_write.h"

/* ---- put ---- */

struct put {
    const struct hf_session *session;
    uint32_t mode;
};

static void
object_write(struct hf__buf *out, json_t *object)
{
    const char *name;
    json_t *value;
    int any = 0;

    hf__buf_addc(out, '{');
    json_object_foreach(object, name, value)
    {
        hf__json_comma(out, &any);
        hf__json_key(out, name);
        hf__jl_value(out, value);
    }
    hf__buf_addc(out, '}');
}

void
hf__jl_header_write(struct hf__buf *out, json_t *row, uint64_t of)
{
    char uid[HF_UID_SIZE];
    size_t start = out->len;

    hf__jl_uid_new(uid);
    hf__buf_addf(out, "{\"holdfast\":\"session\",\"version\":%d,\"uid\":\"%s\"",
                 HF__JL_VERSION, uid);
    hf__jl_part_write(out, 1, of);
    hf__jl_line_key(out, "session");
    object_write(out, row);
    hf__jl_line_end(out, start);
}

void
hf__jl_missing_write(struct hf__buf *out, const struct hf__jl_file *file, json_t *row,
                     uint64_t of)
{
    const char *name;
    json_t *value;
    size_t start;
    int any = 0;

    json_object_foreach(row, name, value)
    {
        const json_t *old = json_object_get(file->row, name);
        if ((old && !json_is_null(old)) || json_is_null(value))
            continue;
        if (!any) {
            hf__jl_line_begin(out, &start, NULL);
            hf__jl_part_write(out, 1, of);
            hf__jl_line_key(out, "change");
            hf__buf_adds(out, "\"set\"");
            hf__jl_line_key(out, "fields");
        }
        hf__buf_adds(out, any ? ",[" : "[[");
        hf__json_string(out, name, strlen(name));
        hf__buf_adds(out, ",\"set_if_null\",");
        hf__jl_value(out, value);
        hf__buf_addc(out, ']');
        any = 1;
    }
    if (any) {
        hf__buf_addc(out, ']');
        hf__jl_line_end(out, start);
    }
}

static int
put_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
         void *ctx, struct hf_error *err)
{
    const struct put *p = ctx;
    json_t *row;

    if (file->row && p->mode != HF_PUT_ENSURE)
        return hf_error_set(err, HF_EXISTS, file->path, "session %.*s exists already",
                            HF__JL_ID_ARGS(&p->session->id));
    row = hf__jl_row(p->session,
                     file->row                    ? HF_PUT_ENSURE
                     : p->mode == HF_PUT_VERBATIM ? HF_PUT_VERBATIM
                                                  : HF_PUT_CREATE,
                     st->host->now(st->host->ctx));
    if (!row)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (file->row)
        hf__jl_missing_write(out, file, row, 1);
    else
        hf__jl_header_write(out, row, 1);
    json_decref(row);
    return HF_OK;
}

int
hf__jl_session_put(void *store, const struct hf_session *session, uint32_t mode,
                   struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct put put = {session, mode};
    struct hf__jl_write write = {&session->id, -1, 1, 0, put_work, &put};
    int names = -1, rc = HF_OK;

    if (session->title.ptr) {
        rc = hf__jl_names_lock(st, &names, err);
        if (rc < 0)
            return rc;
        rc = hf__jl_title_free(st, &session->id, &session->title, err);
    }
    if (rc == HF_OK)
        rc = hf__jl_write(st, &write, err);
    if (names >= 0)
        hf__jl_names_unlock(st, names);
    return rc;
}

/* ---- get, list ---- */

int
hf__jl_session_get(void *store, const struct hf_text *id, uint32_t want,
                   hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct hf__jl_file *file = hf__jl_file_of(st, id);
    struct hf__buf scratch = {0};
    struct hf_session session;
    struct hf__jl_view view;
    int rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    rc = hf__jl_look(st, file, &view, err);
    if (rc == HF_NOT_FOUND)
        return hf_error_set(err, rc, file->path, "there is no session %.*s",
                            HF__JL_ID_ARGS(id));
    if (rc < 0)
        return rc;
    hf__jl_session(&view, want, &scratch, &session);
    session.sort_time = HF_NO_TIME; /* lists only */
    rc = emit(ctx, &session);
    hf__buf_free(&scratch);
    hf__jl_view_free(&view);
    return rc;
}

struct list {
    hf_session_fn *emit;
    void *ctx;
    uint32_t want;
    struct hf__buf scratch;
};

static int
list_emit(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
          struct hf_error *err)
{
    struct list *list = ctx;
    struct hf_session session;

    (void)file, (void)err;
    hf__jl_session(view, list->want, &list->scratch, &session);
    return list->emit(list->ctx, &session);
}

/* Without HF_CAP_LIST_VIEW the core asks for all sessions, and chooses itself. */
int
hf__jl_session_list(void *store, const struct hf_session_query *query,
                    hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct list list = {emit, ctx, query->want, {0}};
    int rc = hf__jl_each(store, 0, list_emit, &list, err);

    hf__buf_free(&list.scratch);
    return rc;
}

/* ---- change ---- */

struct update {
    const struct hf_field *fields;
    uint64_t n;
};

static int
update_work(struct hf_jsonl_store *st, struct hf__jl_file *file, struct hf__buf *out,
            void *ctx, struct hf_error *err)
{
    const struct update *u = ctx;
    size_t start;

    (void)file, (void)err;
    hf__jl_line_begin(out, &start, NULL);
    hf__jl_line_key(out, "change");
    hf__buf_adds(out, "\"set\"");
    hf__jl_line_key(out, "fields");
    hf__jl_fields_write(out, u->fields, u->n, st->host->now(st->host->ctx));
    hf__jl_line_end(out, start);
    return HF_OK;
}

int
hf__jl_session_update(void *store, const struct hf_text *id,
                      const struct hf_field *fields, uint64_t n_fields,
                      struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct update update = {fields, n_fields};
    struct hf__jl_write write = {id, -1, 0, 0, update_work, &update};
    const struct hf_text *title;
    int names = -1, rc = hf__jl_fields_check(fields, n_fields, err);

    if (rc < 0)
        return rc;
    if (hf__jl_fields_touch(fields, n_fields)) { /* only says that somebody is there */
        write.relaxed = 1;
        write.patience_ms = st->patience_ms > 500 ? 500 : st->patience_ms;
    }
    title = hf__jl_fields_title(fields, n_fields);
    if (title) {
        rc = hf__jl_names_lock(st, &names, err);
        if (rc < 0)
            return rc;
        rc = hf__jl_title_free(st, id, title, err);
    }
    if (rc == HF_OK)
        rc = hf__jl_write(st, &write, err);
    if (names >= 0)
        hf__jl_names_unlock(st, names);
    return rc;
}
