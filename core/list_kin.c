/* list_kin.c - how sessions descend from each other: compression chains, branches,
 * resets and delegates, told apart by a mark in model_config or, where older programs
 * left none, by how and when the parent ended.  The same rules as the SQLite backend's,
 * over rows in memory. */
#include <stdlib.h>
#include <string.h>

#include "list_view.h"
#include "util/json_write.h"

/* A continuation is published a moment before its parent is marked as ended. */
#define BORN_SLACK 5.0
enum {
    CONFIG_MAX = 1 << 20, /* a longer model_config is not read */
    CLIMB_MAX = 64        /* links looked at when a cycle is suspected */
};

int
hf__text_order(const struct hf_text *a, const struct hf_text *b)
{
    size_t la = a->ptr ? a->len : 0, lb = b->ptr ? b->len : 0;
    size_t n = la < lb ? la : lb;
    int rc = n ? memcmp(a->ptr, b->ptr, n) : 0;

    return rc ? rc : la == lb ? 0 : la < lb ? -1 : 1;
}

static int
has_mark(const json_t *config, const char *name)
{
    const json_t *value = json_object_get(config, name);

    return value && !json_is_null(value);
}

static uint32_t
marks_read(const struct hf_text *config)
{
    json_t *value;
    uint32_t marks = 0;

    /* Most sessions have none: look for one before parsing. */
    if (!config->ptr || config->len > CONFIG_MAX ||
        !memmem(config->ptr, config->len, "_from\"", 6))
        return 0;
    value = hf__json_parse(config->ptr, config->len);
    if (has_mark(value, "_branched_from"))
        marks |= HF_MARK_BRANCH;
    if (has_mark(value, "_delegate_from"))
        marks |= HF_MARK_DELEGATE;
    if (has_mark(value, "_reset_from"))
        marks |= HF_MARK_RESET;
    json_decref(value);
    return marks;
}

static int
copy(struct hf_text *ret, const struct hf_text *text)
{
    if (!text->ptr)
        return HF_OK;
    ret->ptr = hf__text_dup(text);
    ret->len = text->len;
    return ret->ptr ? HF_OK : HF_NO_MEMORY;
}

int
hf__family_add(struct hf__family *family, const struct hf_session *session)
{
    struct hf__kin *kin;

    if (family->n == family->cap) {
        size_t cap = family->cap ? 2 * family->cap : 64;
        struct hf__kin *rows = realloc(family->rows, cap * sizeof *rows);
        if (!rows)
            return HF_NO_MEMORY;
        family->rows = rows;
        family->cap = cap;
    }
    kin = &family->rows[family->n++]; /* counted first, so that it is freed */
    memset(kin, 0, sizeof *kin);
    kin->started = session->started_at;
    kin->ended = session->ended_at;
    kin->last_active = session->last_active;
    kin->archived = session->archived;
    kin->hidden = session->hidden;
    kin->marks = marks_read(&session->model_config);
    if (copy(&kin->id, &session->id) || copy(&kin->source, &session->source) ||
        copy(&kin->parent, &session->parent_id) ||
        copy(&kin->end_reason, &session->end_reason))
        return HF_NO_MEMORY;
    return HF_OK;
}

static int
id_cmp(const void *a, const void *b)
{
    return hf__text_order(&(*(struct hf__kin *const *)a)->id,
                          &(*(struct hf__kin *const *)b)->id);
}

static double
start_key(const struct hf__kin *kin)
{
    return isnan(kin->started) ? -1.0 : kin->started;
}

static int
parent_cmp(const void *a, const void *b)
{
    const struct hf__kin *x = *(struct hf__kin *const *)a;
    const struct hf__kin *y = *(struct hf__kin *const *)b;
    int rc = hf__text_order(&x->parent, &y->parent);

    if (rc)
        return rc;
    if (start_key(x) != start_key(y))
        return start_key(x) > start_key(y) ? -1 : 1;
    return hf__text_order(&y->id, &x->id);
}

int
hf__family_ready(struct hf__family *family)
{
    size_t i;

    family->by_id = calloc(family->n + 1, sizeof *family->by_id);
    family->by_parent = calloc(family->n + 1, sizeof *family->by_parent);
    if (!family->by_id || !family->by_parent)
        return HF_NO_MEMORY;
    for (i = 0; i < family->n; i++)
        family->by_id[i] = family->by_parent[i] = &family->rows[i];
    qsort(family->by_id, family->n, sizeof *family->by_id, id_cmp);
    qsort(family->by_parent, family->n, sizeof *family->by_parent, parent_cmp);
    return HF_OK;
}

void
hf__family_free(struct hf__family *family)
{
    for (size_t i = 0; i < family->n; i++) {
        struct hf__kin *kin = &family->rows[i];
        free((char *)(uintptr_t)kin->id.ptr);
        free((char *)(uintptr_t)kin->source.ptr);
        free((char *)(uintptr_t)kin->parent.ptr);
        free((char *)(uintptr_t)kin->end_reason.ptr);
    }
    free(family->rows);
    free(family->by_id);
    free(family->by_parent);
    memset(family, 0, sizeof *family);
}

const struct hf__kin *
hf__family_find(const struct hf__family *family, const struct hf_text *id)
{
    size_t low = 0, high = family->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int rc = hf__text_order(&family->by_id[mid]->id, id);
        if (!rc)
            return family->by_id[mid];
        if (rc < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static int
born_after(double started, double ended)
{
    return isnan(started) || isnan(ended) || started >= ended - BORN_SLACK;
}

/* The child that continues PARENT, which ended by compression: the one that was started
 * last, as a retried compression leaves an abandoned one before it. */
static const struct hf__kin *
continuation(const struct hf__family *family, const struct hf__kin *parent)
{
    size_t low = 0, high = family->n;

    while (low < high) { /* the first child, which is the newest */
        size_t mid = low + (high - low) / 2;
        if (hf__text_order(&family->by_parent[mid]->parent, &parent->id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < family->n; low++) {
        const struct hf__kin *child = family->by_parent[low];
        if (!child->parent.ptr || hf__text_order(&child->parent, &parent->id))
            return NULL;
        if (!child->marks && child != parent &&
            born_after(child->started, parent->ended))
            return child;
    }
    return NULL;
}

/* The session that ROW is the continuation of, or NULL. */
static const struct hf__kin *
link_parent(const struct hf__family *family, const struct hf__kin *row)
{
    const struct hf__kin *parent;

    if (!row->parent.ptr || row->marks)
        return NULL;
    parent = hf__family_find(family, &row->parent);
    if (!parent || !hf__text_is(&parent->end_reason, "compression"))
        return NULL;
    return continuation(family, parent) == row ? parent : NULL;
}

const struct hf__kin *
hf__family_root(const struct hf__family *family, const struct hf__kin *row)
{
    const struct hf__kin *parent;
    size_t i;

    for (i = 0; i < family->n && (parent = link_parent(family, row)); i++)
        row = parent;
    return row;
}

const struct hf__kin *
hf__family_tip(const struct hf__family *family, const struct hf__kin *row)
{
    const struct hf__kin *root = row, *next;
    size_t i;

    for (i = 0; i < family->n && hf__text_is(&row->end_reason, "compression"); i++) {
        next = continuation(family, row);
        if (!next || next == root)
            break;
        row = next;
    }
    return row;
}

/* Whether climbing comes back to ROW.  Such sessions have no root that could stand for
 * them, so each stands for itself. */
static int
in_cycle(const struct hf__family *family, const struct hf__kin *row)
{
    const struct hf__kin *here = row;

    for (int i = 0; i < CLIMB_MAX; i++) {
        here = link_parent(family, here);
        if (!here || here == row)
            return here == row;
    }
    return 0;
}

int
hf__family_is_entry(const struct hf__family *family, const struct hf__kin *row)
{
    const struct hf__kin *parent;

    if (row->marks & HF_MARK_DELEGATE)
        return 0;
    if (!row->parent.ptr || !row->parent.len || row->marks)
        return 1;
    parent = hf__family_find(family, &row->parent);
    if (!parent)
        return 1; /* its parent is gone: a root now */
    if (!born_after(row->started, parent->ended))
        return 0;
    if (hf__text_is(&parent->end_reason, "branched") ||
        hf__text_is(&parent->end_reason, "session_reset"))
        return 1;
    if (!hf__text_is(&parent->end_reason, "compression"))
        return 0;
    /* A second continuation of one parent is a conversation of its own. */
    return continuation(family, parent) == row ? in_cycle(family, row) : 1;
}
