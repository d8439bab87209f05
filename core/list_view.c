/* list_view.c - SPEC 11 "What a list shows" for backends that only know how to list all
 * rows.  All rows are looked at before the first is emitted, since a row's place
 * depends on others; the rows that are shown are then read one by one. */
#include "failover.h"
#include "list_view.h"

#include <stdlib.h>
#include <string.h>

/* Where a session without a readable time sorts: after all others. */
#define NO_TIME_KEY (-1.0)
enum { FOUND = 1 };

struct view {
    struct hf_store *store;
    const struct hf_session_query *query;
    struct hf__family family;
    struct hf__kin **entries;
    size_t n_entries;
    hf_session_fn *emit;
    void *ctx;
    struct hf__buf preview;
    const struct hf__kin *now; /* the entry that is being emitted */
    int stop;                  /* what the emit callback ended the walk with */
};

static int
row_collect(void *ctx, const struct hf_session *session)
{
    struct view *view = ctx;

    return hf__family_add(&view->family, session);
}

static int
text_in(const struct hf_text *text, const struct hf_text *list, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (text->ptr && list[i].ptr && !hf__text_order(text, &list[i]))
            return 1;
    return 0;
}

/* Whether the view and the filters let this session through; of a chain it is the tip
 * that counts. */
static int
wanted(const struct hf_session_query *q, const struct hf__kin *row)
{
    int named = q->sources && text_in(&row->source, q->sources, q->n_sources);
    double t = row->last_active;

    if ((q->sources && !named) ||
        (q->exclude_sources &&
         text_in(&row->source, q->exclude_sources, q->n_exclude_sources)))
        return 0;
    if (q->id_prefix.ptr && (row->id.len < q->id_prefix.len ||
                             memcmp(row->id.ptr, q->id_prefix.ptr, q->id_prefix.len)))
        return 0;
    if ((q->since != 0 && !(t >= q->since)) || (q->until != 0 && !(t < q->until)))
        return 0;
    switch (q->view) {
    case HF_VIEW_ALL:
        return 1;
    case HF_VIEW_ARCHIVED:
        if (!row->archived)
            return 0;
        break;
    case HF_VIEW_WITH_ARCHIVED:
        break;
    default:
        if (row->archived)
            return 0;
        break;
    }
    return !row->hidden && (named || !hf__text_is(&row->source, "tool"));
}

/* Newest first, ties by id descending.  By start a chain stands in the place of its
 * root, ties too; by activity it is the tip that was active. */
static int
entry_order(double key_a, const struct hf_text *a, double key_b,
            const struct hf_text *b)
{
    if (key_a != key_b)
        return key_a > key_b ? -1 : 1;
    return hf__text_order(b, a);
}

static int
started_cmp(const void *a, const void *b)
{
    const struct hf__kin *x = *(struct hf__kin *const *)a;
    const struct hf__kin *y = *(struct hf__kin *const *)b;

    return entry_order(x->key, &x->id, y->key, &y->id);
}

static int
recent_cmp(const void *a, const void *b)
{
    const struct hf__kin *x = *(struct hf__kin *const *)a;
    const struct hf__kin *y = *(struct hf__kin *const *)b;

    return entry_order(x->key, &x->tip->id, y->key, &y->tip->id);
}

static int
entries_make(struct view *view)
{
    const struct hf_session_query *q = view->query;
    size_t i;

    view->entries = calloc(view->family.n + 1, sizeof *view->entries);
    if (!view->entries)
        return HF_NO_MEMORY;
    for (i = 0; i < view->family.n; i++) {
        struct hf__kin *row = &view->family.rows[i];
        double t;
        if (q->parent_id.ptr &&
            (!row->parent.ptr || hf__text_order(&row->parent, &q->parent_id)))
            continue;
        row->tip = row;
        if (q->view != HF_VIEW_ALL) {
            if (!hf__family_is_entry(&view->family, row))
                continue;
            row->tip = hf__family_tip(&view->family, row);
        }
        if (!wanted(q, row->tip))
            continue;
        t = q->order == HF_BY_RECENT ? row->tip->last_active : row->started;
        row->key = isnan(t) ? NO_TIME_KEY : t;
        view->entries[view->n_entries++] = row;
    }
    qsort(view->entries, view->n_entries, sizeof *view->entries,
          q->order == HF_BY_RECENT ? recent_cmp : started_cmp);
    return HF_OK;
}

/* Whether ENTRY comes after the page that ended with after_time and after_id. */
static int
is_after(const struct view *view, const struct hf__kin *entry, const struct hf_text *id)
{
    const struct hf_session_query *q = view->query;
    const struct hf_text *own = q->order == HF_BY_RECENT ? &entry->tip->id : &entry->id;

    return entry_order(q->after_time, id, entry->key, own) < 0;
}

static int
preview_take(void *ctx, const struct hf_message *message)
{
    struct view *view = ctx;

    if (!hf__text_is(&message->role, "user") || !message->content.ptr)
        return 0;
    hf__preview(&view->preview, &message->content);
    return FOUND;
}

static int
entry_emit(void *ctx, const struct hf_session *session)
{
    struct view *view = ctx;
    struct hf_session own;

    hf__abi_copy(&own, sizeof own, session);
    own.preview = hf_text(view->preview.len ? view->preview.ptr : "",
                          view->preview.len);
    own.started_at = view->now->started;
    own.last_active = view->now->tip->last_active;
    own.sort_time = view->now->key;
    view->stop = view->emit(view->ctx, &own);
    return view->stop;
}

static int
entry_show(struct view *view, struct hf__kin *entry, struct hf_error *err)
{
    struct hf_message_query query = HF_INIT(struct hf_message_query);
    int rc;

    hf__buf_clear(&view->preview);
    query.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED;
    rc = HF__OP(view->store, message_read, &entry->tip->id, &query, preview_take, view,
                err);
    if (rc == HF_NOT_FOUND)
        return HF_OK; /* deleted since it was listed */
    if (rc != HF_OK && rc != FOUND)
        return rc;
    view->now = entry;
    rc = HF__OP(view->store, session_get, &entry->tip->id, view->query->want,
                entry_emit, view, err);
    return view->stop ? view->stop : rc == HF_NOT_FOUND ? HF_OK : rc;
}

int
hf__list_view(struct hf_store *store, const struct hf_session_query *query,
              hf_session_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    struct view view = {.store = store, .query = query, .emit = emit, .ctx = ctx};
    const struct hf__kin *after = NULL;
    struct hf_text after_id = query->after_id;
    uint64_t shown = 0;
    size_t i;
    int rc;

    all.view = HF_VIEW_ALL;
    all.reserved = store->failover ? HF__LIST_RAW : 0;
    rc = HF__OP(store, session_list, &all, row_collect, &view, err);
    if (rc == HF_OK)
        rc = hf__family_ready(&view.family);
    if (rc == HF_OK)
        rc = entries_make(&view);
    if (rc == HF_NO_MEMORY)
        hf_error_set(err, rc, NULL, "no memory for the list of sessions");
    if (rc == HF_OK && after_id.ptr && query->view != HF_VIEW_ALL &&
        query->order != HF_BY_RECENT)
        after = hf__family_find(&view.family, &after_id);
    if (after)
        after_id = hf__family_root(&view.family, after)->id;
    for (i = 0; rc == HF_OK && i < view.n_entries; i++) {
        if (query->limit && shown >= query->limit)
            break;
        if (after_id.ptr && !is_after(&view, view.entries[i], &after_id))
            continue;
        rc = entry_show(&view, view.entries[i], err);
        shown++;
    }
    free(view.entries);
    hf__buf_free(&view.preview);
    hf__family_free(&view.family);
    return rc;
}
