/* fields.c - changes of a session's columns: what is acceptable, how they stand in a
 * line, and that a title belongs to one session only. */
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "util/epoch.h"
#include "util/json_write.h"
#include "util/misc.h"

int
hf__jl_fields_check(const struct hf_field *f, uint64_t n, struct hf_error *err)
{
    for (; n--; f++) {
        if (!f->name || !hf__jl_column_known(f->name))
            return hf_error_set(err, HF_INVALID, NULL,
                                "a session has no column %.100s that could be changed",
                                f->name ? f->name : "(none)");
        if ((f->op == HF_FIELD_ADD || f->op == HF_FIELD_MAX) && f->type != HF_INT &&
            f->type != HF_REAL)
            return hf_error_set(err, HF_INVALID, NULL,
                                "column %s: only a number can be added or compared",
                                f->name);
        if (f->op == HF_FIELD_SET && f->type == HF_NULL &&
            (!strcmp(f->name, "source") || !strcmp(f->name, "started_at")))
            return hf_error_set(err, HF_INVALID, NULL, "column %s cannot be empty",
                                f->name);
    }
    return HF_OK;
}

static int
is_time(const char *name)
{
    return !strcmp(name, "started_at") || !strcmp(name, "ended_at") ||
           !strcmp(name, "last_activity_at") || !strcmp(name, "last_read_at");
}

static void
value_write(struct hf__buf *out, const struct hf_field *f, double now)
{
    int bounded = is_time(f->name) && f->op != HF_FIELD_ADD;

    if (f->type == HF_TEXT && f->text.ptr)
        hf__jl_text(out, f->text.ptr, (size_t)f->text.len);
    else if (f->type == HF_INT && !(bounded && !hf__time_valid((double)f->i)))
        hf__json_int(out, f->i);
    else if (f->type == HF_REAL && !(bounded && !hf__time_valid(f->d)))
        hf__json_real(out, f->d);
    else if (f->type == HF_INT || f->type == HF_REAL)
        hf__json_real(out, now);
    else
        hf__buf_adds(out, "null");
}

void
hf__jl_fields_write(struct hf__buf *out, const struct hf_field *fields, uint64_t n,
                    double now)
{
    hf__buf_addc(out, '[');
    for (uint64_t i = 0; i < n; i++) {
        const struct hf_field *f = &fields[i];
        hf__buf_adds(out, i ? ",[" : "[");
        hf__json_string(out, f->name, strlen(f->name));
        hf__buf_adds(out, f->op == HF_FIELD_ADD   ? ",\"add\","
                          : f->op == HF_FIELD_MAX ? ",\"max\","
                          : f->op == HF_FIELD_SET ? ",\"set\","
                                                  : ",\"set_if_null\",");
        value_write(out, f, now);
        hf__buf_addc(out, ']');
    }
    hf__buf_addc(out, ']');
}

int
hf__jl_fields_touch(const struct hf_field *fields, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (strncmp(fields[i].name, "last_activity_", 14) != 0 &&
            strcmp(fields[i].name, "last_read_at") != 0)
            return 0;
    return n > 0;
}

const struct hf_text *
hf__jl_fields_title(const struct hf_field *fields, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!strcmp(fields[i].name, "title") && fields[i].type == HF_TEXT &&
            fields[i].text.ptr)
            return &fields[i].text;
    return NULL;
}

/* ---- titles ---- */

int
hf__jl_names_lock(struct hf_jsonl_store *st, int *ret_fd, struct hf_error *err)
{
    char *path = hf__path_join(st->dir, ".titles.lock");
    struct hf__jl_wait wait;
    int rc;

    if (!path)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    pthread_mutex_lock(&st->names);
    hf__jl_wait_begin(st, &wait, st->patience_ms);
    rc = hf__jl_lock_open(st, path, 1, &wait, ret_fd, err);
    if (rc < 0)
        pthread_mutex_unlock(&st->names);
    free(path);
    return rc;
}

void
hf__jl_names_unlock(struct hf_jsonl_store *st, int fd)
{
    hf__jl_unlock(fd);
    pthread_mutex_unlock(&st->names);
}

struct owner {
    const struct hf_text *id, *title;
};

static int
owner_look(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
           struct hf_error *err)
{
    const struct owner *o = ctx;
    struct hf_text title = hf__jl_string(json_object_get(view->row, "title"));
    struct hf_text id = hf__jl_string(json_object_get(view->row, "id"));

    if (title.ptr && title.len == o->title->len &&
        !memcmp(title.ptr, o->title->ptr, (size_t)title.len) &&
        !(id.len == o->id->len && !memcmp(id.ptr, o->id->ptr, (size_t)id.len)))
        return hf_error_set(
            err, HF_EXISTS, file->path,
            "the title \"%.*s\" belongs to session %.*s: choose another",
            HF__JL_ID_ARGS(&title), HF__JL_ID_ARGS(&id));
    return HF_OK;
}

int
hf__jl_title_free(struct hf_jsonl_store *st, const struct hf_text *id,
                  const struct hf_text *title, struct hf_error *err)
{
    struct owner owner = {id, title};

    return hf__jl_each(st, 0, owner_look, &owner, err);
}
