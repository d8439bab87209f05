/* delete.c - removing sessions: the file goes, with what was set aside from it.
 * Delegate children go too; other children stay and lose their parent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"
#include "util/json_write.h"
#include "util/misc.h"

struct kin {
    json_t *id, *parent; /* strings */
    int delegate, doomed;
};
struct family {
    struct kin *v;
    size_t n, cap;
};

static int
kin_add(void *ctx, struct hf__jl_file *file, const struct hf__jl_view *view,
        struct hf_error *err)
{
    struct family *family = ctx;
    struct hf_text config = hf__jl_string(json_object_get(view->row, "model_config"));
    struct kin *kin;

    if (family->n == family->cap) {
        size_t cap = family->cap ? family->cap * 2 : 64;
        struct kin *grown = realloc(family->v, cap * sizeof *grown);
        if (!grown)
            return hf_error_set(err, HF_NO_MEMORY, file->path, "out of memory");
        family->v = grown;
        family->cap = cap;
    }
    kin = &family->v[family->n++];
    *kin = (struct kin){json_incref(json_object_get(view->row, "id")),
                        json_incref(json_object_get(view->row, "parent_session_id")), 0,
                        0};
    if (config.ptr && json_is_string(kin->parent)) {
        json_t *json = hf__json_parse(config.ptr, (size_t)config.len);
        const json_t *from = json_object_get(json, "_delegate_from");
        kin->delegate = from && !json_is_null(from);
        json_decref(json);
    }
    return HF_OK;
}

static void
family_free(struct family *family)
{
    for (size_t i = 0; i < family->n; i++) {
        json_decref(family->v[i].id);
        json_decref(family->v[i].parent);
    }
    free(family->v);
}

static void
doom(struct family *family, const struct hf_text *ids, uint64_t n_ids)
{
    int more = 1;

    for (size_t i = 0; i < family->n; i++)
        for (uint64_t k = 0; k < n_ids; k++) {
            struct hf_text id = hf__jl_string(family->v[i].id);
            if (ids[k].ptr && id.len == ids[k].len &&
                !memcmp(id.ptr, ids[k].ptr, (size_t)id.len))
                family->v[i].doomed = 1;
        }
    while (more) {
        more = 0;
        for (size_t i = 0; i < family->n; i++)
            for (size_t k = 0;
                 family->v[i].delegate && !family->v[i].doomed && k < family->n; k++)
                if (family->v[k].doomed &&
                    json_equal(family->v[k].id, family->v[i].parent)) {
                    family->v[i].doomed = more = 1;
                }
    }
}

static int
remove_one(struct hf_jsonl_store *st, const struct hf_text *id, uint64_t *ret_removed,
           struct hf_error *err)
{
    struct hf__jl_file *file = hf__jl_file_of(st, id);
    struct hf__buf aside = {0};
    struct hf__jl_wait wait;
    int fd, rc;

    if (!file)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    hf__jl_wait_begin(st, &wait, st->patience_ms);
    rc = hf__jl_writer_begin(st, file, &wait, err);
    if (rc < 0)
        return rc;
    rc = hf__jl_lock_open(st, file->path, 0, &wait, &fd, err);
    if (rc == HF_OK) {
        if (unlink(file->path) < 0) {
            rc = hf__jl_fail(err, errno, file->path, "removing");
        } else {
            ++*ret_removed;
            hf__buf_addf(&aside, "%s.quarantine", file->path);
            if (!aside.failed)
                unlink(aside.ptr);
            hf__buf_free(&aside);
        }
        hf__jl_unlock(fd);
    }
    hf__jl_writer_end(file);
    return rc == HF_NOT_FOUND ? HF_OK : rc; /* somebody else was faster */
}

static int
orphan(struct hf_jsonl_store *st, const struct hf_text *id, struct hf_error *err)
{
    struct hf_field none = {
        "parent_session_id", HF_FIELD_SET, HF_NULL, 0, 0, {NULL, 0}};
    int rc = hf__jl_session_update(st, id, &none, 1, err);

    return rc == HF_NOT_FOUND ? HF_OK : rc;
}

int
hf__jl_session_delete(void *store, const struct hf_text *ids, uint64_t n_ids,
                      uint64_t *ret_deleted, struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    struct family family = {0};
    uint64_t removed = 0;
    int rc = hf__jl_each(st, 0, kin_add, &family, err);

    doom(&family, ids, rc == HF_OK ? n_ids : 0);
    /* Children first: what a crash leaves is then still connected. */
    for (size_t i = 0; rc == HF_OK && i < family.n; i++) {
        struct hf_text id = hf__jl_string(family.v[i].id);
        int lost = 0;
        for (size_t k = 0; k < family.n && !family.v[i].doomed && !lost; k++)
            lost = family.v[k].doomed && json_equal(family.v[k].id, family.v[i].parent);
        if (lost)
            rc = orphan(st, &id, err);
    }
    for (int delegates = 1; delegates >= 0; delegates--)
        for (size_t i = 0; rc == HF_OK && i < family.n; i++) {
            struct hf_text id = hf__jl_string(family.v[i].id);
            if (family.v[i].doomed && family.v[i].delegate == delegates)
                rc = remove_one(st, &id, &removed, err);
        }
    if (removed && rc == HF_OK)
        rc = hf__jl_sync_dir(st, err);
    family_free(&family);
    if (rc == HF_OK)
        *ret_deleted = removed;
    return rc;
}
