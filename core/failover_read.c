/* failover_read.c - what the primary can still serve and what waits in the fallback, as
 * one (SPEC 5.2): each message once, with the state that the fallback has for it. */
#include "failover.h"
#include "import.h"

#include <stdlib.h>
#include <string.h>

/* One message of the union.  Those of the primary come first, by id; then those that
 * only the fallback has, which get ids behind all of them. */
struct entry {
    int64_t id, own; /* own: in its store */
    uint64_t digest[2];
    uint32_t state, in_back, used;
};
enum { EMITTED = 2 }; /* in `used` */
struct entries {
    struct entry *v;
    size_t n, cap, n_primary;
    int failed, in_back;
    int64_t calls; /* tool calls of those that only the fallback has */
};

static int
collect(void *ctx, const struct hf_message *message)
{
    struct entries *e = ctx;
    struct entry *one;

    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 64;
        struct entry *v = realloc(e->v, cap * sizeof *v);
        if (!v)
            return e->failed = 1;
        e->v = v;
        e->cap = cap;
    }
    one = &e->v[e->n++];
    one->own = message->id;
    one->id = e->in_back ? HF__FALLBACK_IDS + message->id : message->id;
    hf__message_digest(message, one->digest);
    one->state = message->state;
    one->in_back = (uint32_t)e->in_back;
    one->used = 0;
    return 0;
}

static int
by_digest(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

    for (int i = 0; i < 2; i++)
        if (x->digest[i] != y->digest[i])
            return x->digest[i] < y->digest[i] ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes the fallback's copies of what the primary has out, and their states over. */
static int
entries_match(struct entries *e)
{
    struct entry **sorted = calloc(e->n_primary + 1, sizeof(struct entry *));
    size_t n = e->n_primary;

    if (!sorted)
        return -1;
    for (size_t i = 0; i < e->n_primary; i++)
        sorted[i] = &e->v[i];
    qsort(sorted, e->n_primary, sizeof(struct entry *), by_digest);
    for (size_t i = e->n_primary; i < e->n; i++) {
        size_t lo = 0, hi = e->n_primary;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (memcmp(sorted[mid]->digest, e->v[i].digest, sizeof e->v[i].digest) &&
                (sorted[mid]->digest[0] < e->v[i].digest[0] ||
                 (sorted[mid]->digest[0] == e->v[i].digest[0] &&
                  sorted[mid]->digest[1] < e->v[i].digest[1])))
                lo = mid + 1;
            else
                hi = mid;
        }
        while (lo < e->n_primary && sorted[lo]->used &&
               !memcmp(sorted[lo]->digest, e->v[i].digest, sizeof e->v[i].digest))
            lo++;
        if (lo < e->n_primary &&
            !memcmp(sorted[lo]->digest, e->v[i].digest, sizeof e->v[i].digest)) {
            sorted[lo]->used = 1;
            sorted[lo]->state = e->v[i].state;
        } else {
            e->v[n++] = e->v[i];
        }
    }
    e->n = n;
    free(sorted);
    return 0;
}

/* All messages of the session in both; HF_NOT_FOUND when neither has it.  *ret_p: the
 * primary they were read from (may be NULL), also after a failure. */
static int
entries_read(struct hf_store *store, struct hf__primary **ret_p,
             const struct hf_text *id, struct entries *e, struct hf_error *err)
{
    struct hf_message_query all = HF_INIT(struct hf_message_query);
    struct entries waits = {.in_back = 1};
    struct hf__primary *p;
    int rc = HF_NOT_FOUND, back;

    all.states = HF__ALL_STATES;
    /* The fallback first, and only then a handle of the primary: what is merged
     * meanwhile is seen twice then, not never. */
    back = HF__BACK(store, message_read, id, &all, collect, &waits, err);
    *ret_p = p = hf__primary_get(store);
    if (p && (back == HF_OK || back == HF_NOT_FOUND))
        rc = HF__AT(store, p, message_read, id, &all, collect, e, err);
    if (back == HF_NOT_FOUND && rc == HF_OK)
        back = HF_OK;
    if (back == HF_OK && rc < 0 && rc != HF_NOT_FOUND)
        back = rc;
    e->n_primary = e->n;
    for (size_t i = 0; back == HF_OK && i < waits.n; i++) {
        if (e->n == e->cap) {
            size_t cap = e->cap + waits.n;
            struct entry *v = realloc(e->v, cap * sizeof *v);
            if (!v) {
                e->failed = 1;
                break;
            }
            e->v = v;
            e->cap = cap;
        }
        e->v[e->n++] = waits.v[i];
    }
    if (back == HF_OK && (e->failed || waits.failed || entries_match(e)))
        back = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    free(waits.v);
    return back;
}

/* ---- messages ---- */

struct emit {
    struct entries *e;
    size_t at, end; /* the next one of those chosen */
    int step;
    hf_message_fn *fn;
    void *ctx;
    int stopped; /* by FN */
    const uint32_t *states;
};

static int
emit_one(void *ctx, const struct hf_message *message)
{
    struct emit *emit = ctx;
    struct hf_message mine;
    struct entry *one;
    int rc;

    /* What was deleted meanwhile is passed over. */
    for (;; emit->at += (size_t)emit->step) {
        if (emit->at == emit->end)
            return 0;
        one = &emit->e->v[emit->at];
        if (one->own == message->id)
            break;
        if (emit->step > 0 ? one->own > message->id : one->own < message->id)
            return 0;
    }
    emit->at += (size_t)emit->step;
    one->used = EMITTED;
    if (!(one->state & *emit->states))
        return 0;
    hf__abi_copy(&mine, sizeof mine, message);
    mine.id = one->id;
    mine.state = one->state;
    rc = emit->fn(emit->ctx, &mine);
    emit->stopped = rc != 0;
    return rc;
}

/* Emits entries FROM..TO-1, all of one store. */
static int
emit_range(struct hf_store *store, struct hf__primary *p, const struct hf_text *id,
           const struct hf_message_query *query, struct emit *emit, size_t from,
           size_t to, struct hf_error *err)
{
    struct hf_message_query part = HF_INIT(struct hf_message_query);

    if (from >= to)
        return HF_OK;
    part.states = HF__ALL_STATES;
    part.want = query->want;
    part.backwards = query->backwards;
    part.after_id = emit->e->v[from].own - 1;
    part.before_id = emit->e->v[to - 1].own + 1;
    emit->step = query->backwards ? -1 : 1;
    emit->at = query->backwards ? to - 1 : from;
    emit->end = query->backwards ? from - 1 : to;
    return emit->e->v[from].in_back
               ? HF__BACK(store, message_read, id, &part, emit_one, emit, err)
               : HF__AT(store, p, message_read, id, &part, emit_one, emit, err);
}

/* Keeps those of AGAIN, read from the primary, that are MISSING in what was emitted. */
static void
entries_missing(struct entries *again, const struct entry *missing, size_t n_missing)
{
    size_t n = 0;

    for (size_t i = 0; i < again->n_primary; i++)
        again->v[i].used = 0;
    for (size_t i = 0; i < n_missing; i++) {
        size_t k = again->n_primary;
        if (missing[i].used == EMITTED)
            continue;
        /* From the end: a merge adds there. */
        while (k && (again->v[k - 1].used ||
                     memcmp(again->v[k - 1].digest, missing[i].digest,
                            sizeof missing[i].digest)))
            k--;
        if (k)
            again->v[k - 1].used = 1;
    }
    for (size_t i = 0; i < again->n_primary; i++)
        if (again->v[i].used)
            again->v[n++] = again->v[i];
    again->n = again->n_primary = n;
}

/* Emits what waits in the fallback; that which was merged since it was chosen is read
 * from the primary, where it has an id behind all that were emitted. */
static int
emit_waiting(struct hf_store *store, const struct hf_text *id,
             const struct hf_message_query *query, struct emit *emit,
             struct hf_error *err)
{
    size_t from = emit->e->n_primary, to = emit->e->n, i = from;
    struct entries again = {0}, *chosen = emit->e;
    struct hf__primary *p = NULL;
    int rc = emit_range(store, NULL, id, query, emit, from, to, err);

    if (emit->stopped || (rc < 0 && rc != HF_NOT_FOUND))
        return rc;
    while (i < to && chosen->v[i].used == EMITTED)
        i++;
    if (i == to)
        return rc;
    rc = entries_read(store, &p, id, &again, err);
    if (rc == HF_OK) {
        entries_missing(&again, chosen->v + from, to - from);
        emit->e = &again;
        rc = emit_range(store, p, id, query, emit, 0, again.n, err);
        emit->e = chosen;
    }
    free(again.v);
    hf__primary_put(store, &p);
    return rc == HF_NOT_FOUND ? HF_OK : rc; /* deleted meanwhile */
}

/* Leaves those in E that QUERY asks for. */
static void
entries_choose(struct entries *e, const struct hf_message_query *q)
{
    size_t n = 0, first = 0, last;

    for (size_t i = 0; i < e->n; i++)
        if ((e->v[i].state & q->states) && (!q->after_id || e->v[i].id > q->after_id) &&
            (!q->before_id || e->v[i].id < q->before_id))
            e->v[n++] = e->v[i];
    e->n = last = n;
    if (q->limit && q->limit < n) {
        if (q->around_id) {
            size_t at = 0, half = (size_t)q->limit / 2;
            while (at < n && e->v[at].id < q->around_id)
                at++;
            first = at > half ? at - half : 0;
            if (first + q->limit > n)
                first = n - (size_t)q->limit;
            last = first + (size_t)q->limit;
        } else if (q->backwards) {
            first = n - (size_t)q->limit;
        } else {
            last = (size_t)q->limit;
        }
    }
    memmove(e->v, e->v + first, (last - first) * sizeof *e->v);
    e->n = last - first;
    for (e->n_primary = 0; e->n_primary < e->n && !e->v[e->n_primary].in_back;)
        e->n_primary++;
}

int
hf__union_read(struct hf_store *store, const struct hf_text *id,
               const struct hf_message_query *query, hf_message_fn *fn, void *ctx,
               struct hf_error *err)
{
    struct hf__primary *p = NULL;
    struct hf_message_query q;
    struct entries e = {0};
    struct emit emit = {.e = &e, .fn = fn, .ctx = ctx};
    int rc;

    hf__abi_copy(&q, sizeof q, query);
    if (!q.states)
        q.states = HF_MSG_ACTIVE;
    if (q.around_id)
        q.backwards = 0;
    emit.states = &q.states;
    rc = entries_read(store, &p, id, &e, err);
    if (rc == HF_OK && e.n) {
        entries_choose(&e, &q);
        if (q.backwards)
            rc = emit_waiting(store, id, &q, &emit, err);
        if (rc == HF_OK)
            rc = emit_range(store, p, id, &q, &emit, 0, e.n_primary, err);
        if (rc == HF_OK && !q.backwards)
            rc = emit_waiting(store, id, &q, &emit, err);
    }
    free(e.v);
    hf__primary_put(store, &p);
    return rc;
}

/* ---- sessions ---- */

struct get {
    struct hf_store *store;
    struct hf__primary *p;
    hf_session_fn *fn;
    void *ctx;
    int64_t more, messages, calls;
    double started, last_active;
    int in_primary;
    struct hf_error *err;
};

static int
primary_note(void *ctx, const struct hf_session *session)
{
    struct get *get = ctx;

    get->in_primary = 1;
    get->messages = session->message_count;
    get->calls = session->tool_call_count;
    get->started = session->started_at;
    get->last_active = session->last_active;
    return 0;
}

/* The fallback's row is a copy of the primary's with what came since; only what is
 * counted begins anew there. */
static int
back_emit(void *ctx, const struct hf_session *session)
{
    struct get *get = ctx;
    struct hf_session mine;

    hf__abi_copy(&mine, sizeof mine, session);
    if (get->in_primary) {
        mine.message_count = get->messages + get->more;
        if (mine.tool_call_count < get->calls)
            mine.tool_call_count = get->calls;
        mine.started_at = get->started;
        if (get->last_active > mine.last_active)
            mine.last_active = get->last_active;
    }
    return get->fn(get->ctx, &mine);
}

int
hf__union_get(struct hf_store *store, const struct hf_text *id, uint32_t want,
              hf_session_fn *fn, void *ctx, struct hf_error *err)
{
    struct get get = {.store = store, .fn = fn, .ctx = ctx, .err = err};
    struct hf__primary *p = NULL;
    struct entries e = {0};
    int rc = HF_NOT_FOUND;

    get.p = hf__primary_get(store);
    if (get.p)
        rc = HF__AT(store, get.p, session_get, id, 0, primary_note, &get, err);
    if (rc == HF_OK || rc == HF_NOT_FOUND) {
        if (get.in_primary && entries_read(store, &p, id, &e, err) == HF_OK)
            for (size_t i = 0; i < e.n; i++)
                get.more += e.v[i].in_back;
        hf__primary_put(store, &p);
        rc = HF__BACK(store, session_get, id, want, back_emit, &get, err);
        /* Not there, or merged meanwhile: into what is the primary now. */
        if (rc == HF_NOT_FOUND && (p = hf__primary_get(store)))
            rc = HF__AT(store, p, session_get, id, want, fn, ctx, err);
        hf__primary_put(store, &p);
    }
    free(e.v);
    hf__primary_put(store, &get.p);
    return rc;
}

struct ids {
    char **v;
    size_t *lens, n, cap;
    int failed;
    hf_session_fn *fn;
    void *ctx;
};

static int
id_collect(void *ctx, const struct hf_session *session)
{
    struct ids *ids = ctx;

    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 32;
        char **v = realloc(ids->v, cap * sizeof *v);
        if (v)
            ids->v = v;
        size_t *lens = realloc(ids->lens, cap * sizeof *lens);
        if (lens)
            ids->lens = lens;
        if (!v || !lens)
            return ids->failed = 1;
        ids->cap = cap;
    }
    ids->v[ids->n] = malloc((size_t)session->id.len + 1);
    if (!ids->v[ids->n])
        return ids->failed = 1;
    memcpy(ids->v[ids->n], session->id.ptr, (size_t)session->id.len);
    ids->lens[ids->n++] = (size_t)session->id.len;
    return 0;
}

static int
not_in_back(void *ctx, const struct hf_session *session)
{
    struct ids *ids = ctx;

    /* Few sessions wait in a fallback. */
    for (size_t i = 0; i < ids->n; i++)
        if (ids->lens[i] == session->id.len &&
            !memcmp(ids->v[i], session->id.ptr, ids->lens[i]))
            return 0;
    return ids->fn(ids->ctx, session);
}

int
hf__union_list(struct hf_store *store, const struct hf_session_query *query,
               hf_session_fn *fn, void *ctx, struct hf_error *err)
{
    struct hf_session_query all = HF_INIT(struct hf_session_query);
    struct ids ids = {.fn = fn, .ctx = ctx};
    struct hf__primary *p;
    int rc;

    all.view = HF_VIEW_ALL;
    all.want = query->want;
    rc = HF__BACK(store, session_list, &all, id_collect, &ids, err);
    p = hf__primary_get(store); /* only now, as in entries_read() */
    if (ids.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    if (rc == HF_OK && p)
        rc = HF__AT(store, p, session_list, &all, not_in_back, &ids, err);
    for (size_t i = 0; rc == HF_OK && i < ids.n; i++) {
        struct hf_text id = hf_text(ids.v[i], ids.lens[i]);
        rc = hf__union_get(store, &id, query->want, fn, ctx, err);
        if (rc == HF_NOT_FOUND)
            rc = HF_OK; /* deleted meanwhile */
    }
    for (size_t i = 0; i < ids.n; i++)
        free(ids.v[i]);
    free(ids.v);
    free(ids.lens);
    hf__primary_put(store, &p);
    return rc;
}
