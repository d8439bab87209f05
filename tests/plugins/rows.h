/* rows.h - for test backends that keep rows in memory: memory that is given back all at
 * once, structs whose texts live in it, and changes of their columns. */
#ifndef HF_TEST_ROWS_H
#define HF_TEST_ROWS_H

#include <holdfast/backend.h>
#include <stdlib.h>
#include <string.h>

struct keep {
    struct keep *next;
};

/* A copy of N bytes (zeroes for NULL), one of which more is there; NULL without memory.
 */
static inline void *
keep_bytes(struct keep **all, const void *bytes, uint64_t n)
{
    struct keep *block = calloc(1, sizeof *block + n + 1);

    if (!block)
        return NULL;
    block->next = *all;
    *all = block;
    return bytes ? memcpy(block + 1, bytes, n) : block + 1;
}

/* Makes the texts of ROW, which stand at these offsets (ended by 0), copies of its own;
 * those that OLD (perhaps NULL) has too are already.  -1 without memory. */
static inline int
keep_texts(struct keep **all, void *row, const void *old, const size_t *offsets)
{
    for (; *offsets; offsets++) {
        struct hf_text *t = (struct hf_text *)((char *)row + *offsets);
        const char *before =
            old ? ((const struct hf_text *)((const char *)old + *offsets))->ptr : NULL;
        if (!t->ptr || t->ptr == before)
            continue;
        t->ptr = (const char *)keep_bytes(all, t->ptr, t->len);
        if (!t->ptr)
            return -1;
    }
    return 0;
}

/* Takes from OTHER the texts that ROW does not have. */
static inline void
fill_texts(void *row, const void *other, const size_t *offsets)
{
    for (; *offsets; offsets++) {
        struct hf_text *t = (struct hf_text *)((char *)row + *offsets);
        if (!t->ptr)
            *t = *(const struct hf_text *)((const char *)other + *offsets);
    }
}

static inline void
keep_free(struct keep **all)
{
    for (struct keep *block = *all, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *all = NULL;
}

static inline int
text_equal(const struct hf_text *a, const struct hf_text *b)
{
    return a->ptr && b->ptr && a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

/* A column of struct hf_session that can be changed. */
struct column {
    const char *name;
    uint32_t type; /* enum hf_value_type */
    size_t at;
};

/* Carries out FIELDS on ROW, a copy whose texts are borrowed.  A column that is not
 * among COLUMNS (ended by a NULL name) is refused. */
static inline int
row_change(struct hf_session *row, const struct column *columns,
           const struct hf_field *f, uint64_t n, struct hf_error *err)
{
    for (; n--; f++) {
        const struct column *c = columns;
        int fill = f->op == HF_FIELD_SET_IF_NULL, add = f->op == HF_FIELD_ADD;
        char *to;

        while (c->name && strcmp(c->name, f->name))
            c++;
        if (!c->name)
            return hf_error_set(err, HF_INVALID, NULL,
                                "this backend keeps no column %s", f->name);
        to = (char *)row + c->at;
        if (c->type == HF_TEXT && !(fill && ((struct hf_text *)to)->ptr))
            *(struct hf_text *)to = f->text;
        else if (c->type == HF_REAL && !(fill && !isnan(*(double *)to)))
            *(double *)to = f->type == HF_REAL ? f->d : HF_NO_TIME;
        else if (c->type == HF_INT && !fill)
            *(int64_t *)to = f->i + (add ? *(int64_t *)to : 0);
    }
    return HF_OK;
}

static inline int
text_is(const struct hf_text *t, const char *s)
{
    return t->ptr && t->len == strlen(s) && !memcmp(t->ptr, s, t->len);
}

/* The messages of a session, by id.  The array is only ever added to behind `n`, so
 * that a copy of this struct can be filled and then taken over, or dropped. */
struct messages {
    struct hf_message **rows;
    uint64_t n, room;
};

/* Adds a copy of MESSAGE; -1 without memory. */
static inline int
messages_add(struct keep **all, struct messages *list, const struct hf_message *message)
{
#define M(member) offsetof(struct hf_message, member)
    static const size_t texts[] = {
        M(uid),          M(session_id),          M(role),      M(content),
        M(tool_call_id), M(tool_calls),          M(tool_name), M(finish_reason),
        M(reasoning),    M(platform_message_id), M(extra),     0};
#undef M
    struct hf_message *copy =
        (struct hf_message *)keep_bytes(all, message, sizeof *message);

    if (!copy || keep_texts(all, copy, NULL, texts) < 0)
        return -1;
    if (!copy->state)
        copy->state = HF_MSG_ACTIVE;
    if (list->n == list->room) {
        uint64_t room = list->room ? list->room * 2 : 8;
        struct hf_message **rows =
            (struct hf_message **)keep_bytes(all, NULL, room * sizeof *rows);
        if (!rows)
            return -1;
        if (list->n)
            memcpy(rows, list->rows, list->n * sizeof *rows);
        list->rows = rows;
        list->room = room;
    }
    list->rows[list->n++] = copy;
    return 0;
}

/* The id of the message with this uid, or 0. */
static inline int64_t
messages_find(const struct messages *list, const struct hf_text *uid)
{
    for (uint64_t i = 0; i < list->n; i++)
        if (text_equal(&list->rows[i]->uid, uid))
            return list->rows[i]->id;
    return 0;
}

/* Emits the messages that QUERY asks for. */
static inline int
messages_read(const struct messages *list, const struct hf_message_query *query,
              hf_message_fn *emit, void *ctx)
{
    uint32_t states = query->states ? query->states : (uint32_t)HF_MSG_ACTIVE;
    uint64_t first = 0, given = 0;

    if (query->around_id) { /* half of the limit before it, the rest from it on */
        uint64_t before = query->limit / 2;
        while (first < list->n && list->rows[first]->id < query->around_id)
            first++;
        for (; first > 0 && before > 0; first--)
            before -= list->rows[first - 1]->state & states ? 1 : 0;
    }
    for (uint64_t i = first; i < list->n; i++) {
        const struct hf_message *m =
            list->rows[query->backwards && !query->around_id ? list->n - 1 - i : i];
        int stop;
        if (!(m->state & states) || (query->after_id && m->id <= query->after_id) ||
            (query->before_id && m->id >= query->before_id))
            continue;
        if (query->limit && given++ == query->limit)
            break;
        stop = emit(ctx, m);
        if (stop)
            return stop;
    }
    return HF_OK;
}

#endif
