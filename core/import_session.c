/* import_session.c - one line of an import: a new session with its messages, one that
 * is skipped, or one that is merged into. */
#include <stdlib.h>
#include <string.h>

#include "import.h"

enum {
    BATCH_MESSAGES = 500,
    BATCH_BYTES = 4 << 20,
    TITLE_TRIES = 1000
};

/* Messages on their way into the store. */
struct batch {
    struct hf__parsed parsed[BATCH_MESSAGES];
    const struct hf_message *pointers[BATCH_MESSAGES];
    struct hf_appended appended[BATCH_MESSAGES];
    size_t n, bytes;
    int64_t calls;
    int renumber; /* an earlier message of the session could not keep its id, so those
                     that follow, which must come after it, do not either */
};

static int
ignore_session(void *ctx, const struct hf_session *session)
{
    (void)ctx;
    (void)session;
    return 0;
}

/* 1 when the store has this session, 0 when not, or an error. */
static int
session_exists(struct hf_store *store, const struct hf_text *id, struct hf_error *err)
{
    int rc = hf_store_session_get(store, id, 0, ignore_session, NULL, err);

    return rc == HF_OK ? 1 : rc == HF_NOT_FOUND ? 0 : rc;
}

static int
session_put(struct hf_store *store, const struct hf_session *session,
            struct hf_error *err)
{
    struct hf__call call;
    int rc;

    /* Titles come as another program let them be, but not without end. */
    if (session->title.len > HF__MAX_TITLE_BYTES)
        return hf_error_set(err, HF_TOO_BIG, NULL,
                            "the title has %llu bytes; at most %d are allowed",
                            (unsigned long long)session->title.len,
                            HF__MAX_TITLE_BYTES);
    rc = hf__call_begin(&call, store, "import a session", 1, err);
    if (rc < 0)
        return rc;
    rc = HF__OP(store, session_put, session, HF_PUT_VERBATIM, call.err);
    return hf__call_end(&call, rc, 0);
}

/* The title without a " #N" at its end, and the N that follows. */
static size_t
title_base(const struct hf_text *title, unsigned *ret_next)
{
    size_t len = title->len, digits = 0;
    unsigned n = 0;

    while (digits < len && digits < 6 && title->ptr[len - 1 - digits] >= '0' &&
           title->ptr[len - 1 - digits] <= '9')
        digits++;
    if (digits && len > digits + 2 && title->ptr[len - digits - 1] == '#' &&
        title->ptr[len - digits - 2] == ' ') {
        for (size_t i = len - digits; i < len; i++)
            n = 10 * n + (unsigned)(title->ptr[i] - '0');
        *ret_next = n + 1;
        return len - digits - 2;
    }
    *ret_next = 2;
    return len;
}

/* Stores SESSION under the next title that is free, since its own is taken; without one
 * when there is none. */
static int
put_retitled(struct hf__import *im, struct hf_session *session, struct hf_error *err)
{
    struct hf_text own = session->title;
    struct hf__buf title = {0};
    unsigned n, tries;
    size_t base = title_base(&own, &n);
    int rc = HF_EXISTS;

    for (tries = 0; rc == HF_EXISTS && tries <= TITLE_TRIES; tries++, n++) {
        hf__buf_clear(&title);
        hf__buf_add(&title, own.ptr, base);
        hf__buf_addf(&title, " #%u", n);
        if (title.failed)
            break;
        session->title = tries < TITLE_TRIES ? hf_text(title.ptr, title.len)
                                             : hf_text(NULL, 0);
        rc = session_put(im->store, session, err);
    }
    if (title.failed)
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for a title");
    if (rc == HF_OK)
        hf__log(&im->store->rt->log, HF_LOG_INFO, "import_title", NULL,
                "session %.*s: the title is taken, imported %s%.*s",
                (int)session->id.len, session->id.ptr,
                session->title.ptr ? "as " : "without one", (int)session->title.len,
                session->title.ptr ? session->title.ptr : "");
    session->title = own;
    hf__buf_free(&title);
    return rc;
}

static int
orphan_add(struct hf__import *im, const struct hf_text *child,
           const struct hf_text *parent, struct hf_error *err)
{
    hf__buf_add(&im->orphans, &child->len, sizeof child->len);
    hf__buf_add(&im->orphans, child->ptr, child->len);
    hf__buf_add(&im->orphans, &parent->len, sizeof parent->len);
    hf__buf_add(&im->orphans, parent->ptr, parent->len);
    im->n_orphans++;
    if (im->orphans.failed)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory");
    return HF_OK;
}

/* 1 when it was stored, 0 when somebody else stored one of this id meanwhile. */
static int
session_create(struct hf__import *im, struct hf_session *session, struct hf_error *err)
{
    struct hf_text parent = session->parent_id;
    int rc;

    /* A store may insist on a parent that exists; the parent may be on a later line. */
    if (parent.ptr) {
        rc = session_exists(im->store, &parent, err);
        if (rc < 0)
            return rc;
        if (!rc) {
            session->parent_id = hf_text(NULL, 0);
            rc = orphan_add(im, &session->id, &parent, err);
            if (rc < 0)
                return rc;
        }
    }
    rc = session_put(im->store, session, err);
    if (rc == HF_EXISTS) {
        struct hf_error ignored;
        int exists = session_exists(im->store, &session->id, &ignored);
        if (exists > 0)
            return 0;
        if (session->title.ptr)
            rc = put_retitled(im, session, err);
    }
    return rc == HF_OK ? 1 : rc;
}

static void
batch_clear(struct batch *batch)
{
    while (batch->n > 0)
        hf__parsed_free(&batch->parsed[--batch->n]);
    batch->bytes = 0;
    batch->calls = 0;
}

/* The session's counters grow with each batch, so that they are true whenever the
 * process dies. */
static int
batch_store(struct hf__import *im, const struct hf_text *id, struct batch *batch,
            struct hf_error *err)
{
    struct hf_append append = HF_INIT(struct hf_append);
    struct hf_field fields[] = {
        {.name = "message_count", .op = HF_FIELD_ADD, .type = HF_INT},
        {.name = "tool_call_count", .op = HF_FIELD_ADD, .type = HF_INT},
    };
    int rc;

    if (!batch->n)
        return HF_OK;
    for (size_t i = 0; i < batch->n; i++) {
        batch->pointers[i] = &batch->parsed[i].u.message;
        if (batch->renumber)
            batch->parsed[i].u.message.id = 0;
    }
    fields[0].i = (int64_t)batch->n;
    fields[1].i = batch->calls;
    append.session_id = *id;
    append.messages = batch->pointers;
    append.n_messages = batch->n;
    append.flags = HF_APPEND_VERBATIM;
    append.fields = fields;
    append.n_fields = 2;
    rc = hf_store_append(im->store, &append, batch->appended, err);
    if (rc == HF_INVALID) {
        /* A backend that keeps no such columns counts for itself. */
        append.n_fields = 0;
        rc = hf_store_append(im->store, &append, batch->appended, err);
    }
    if (rc == HF_OK) {
        for (size_t i = 0; i < batch->n; i++)
            if (batch->appended[i].id != batch->parsed[i].u.message.id)
                batch->renumber = 1;
        im->result.messages += batch->n;
        im->calls += batch->calls;
    }
    batch_clear(batch);
    return rc;
}

/* What the line says of a new session's counters, where its messages say otherwise. */
static int
counters_settle(struct hf__import *im, const struct hf_text *id, int64_t messages,
                int64_t calls, struct hf_error *err)
{
    const struct hf_field fields[] = {
        {.name = "message_count", .op = HF_FIELD_ADD, .type = HF_INT, .i = messages},
        {.name = "tool_call_count", .op = HF_FIELD_ADD, .type = HF_INT, .i = calls},
    };
    int rc = HF_OK;

    if (messages || calls)
        rc = hf_store_session_update(im->store, id, fields, 2, err);
    return rc == HF_INVALID ? HF_OK : rc; /* a backend that counts for itself */
}

/* Stores the messages of the array S, but for those that KNOWN (may be NULL) has.
 * *ret_stored is how many. */
static int
messages_store(struct hf__import *im, const struct hf_text *id, const char *s,
               size_t len, struct hf__known *known, uint64_t *ret_stored,
               struct hf_error *err)
{
    struct batch *batch = calloc(1, sizeof *batch);
    const char *element;
    size_t at = 0, element_len;
    uint64_t before = im->result.messages, number = 0;
    int rc;

    if (!batch)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "no memory for the messages");
    while ((rc = hf__element_next(s, len, &at, &element, &element_len, err)) > 0) {
        struct hf__parsed *parsed = &batch->parsed[batch->n];
        number++;
        rc = hf__message_parse(element, element_len, parsed, err);
        if (rc < 0) {
            char said[sizeof err->message];
            memcpy(said, err->message, sizeof said);
            hf_error_set(err, rc, NULL, "message %llu: %s", (unsigned long long)number,
                         said);
            break;
        }
        if (known && hf__known_has(known, &parsed->u.message)) {
            hf__parsed_free(parsed);
            continue;
        }
        parsed->u.message.session_id = *id;
        batch->n++;
        batch->bytes += element_len;
        batch->calls += hf__tool_call_count(&parsed->u.message.tool_calls);
        if (batch->n == BATCH_MESSAGES || batch->bytes >= BATCH_BYTES) {
            rc = batch_store(im, id, batch, err);
            if (rc < 0)
                break;
        }
    }
    if (rc == 0)
        rc = batch_store(im, id, batch, err);
    batch_clear(batch);
    free(batch);
    if (rc == HF_OK)
        *ret_stored = im->result.messages - before;
    return rc;
}

/* The interface stores a session and its messages in separate calls.  So that no half
 * session stays when a later call fails, the session is deleted again; only a process
 * that dies in between leaves one, which importing with merge completes. */
static void
session_undo(struct hf__import *im, const struct hf_text *id, uint64_t messages)
{
    struct hf_error ignored;

    hf_store_session_delete(im->store, id, 1, NULL, &ignored);
    im->result.messages = messages;
}

int
hf__import_line(struct hf__import *im, const char *s, size_t len, struct hf_error *err)
{
    struct hf__parsed parsed;
    struct hf__known *known = NULL;
    json_t *object = NULL;
    const char *messages = NULL;
    size_t messages_len = 0;
    uint64_t before = im->result.messages, stored = 0;
    int64_t count, calls, calls_before = im->calls;
    const struct hf_text *id = &parsed.u.session.id;
    int rc, is_new = 0;

    rc = hf__line_split(s, len, &object, &messages, &messages_len, err);
    if (rc < 0)
        return rc;
    rc = hf__session_parse(object, &parsed, err);
    json_decref(object);
    if (rc < 0)
        return rc;
    count = parsed.u.session.message_count;
    calls = parsed.u.session.tool_call_count;
    parsed.u.session.message_count = parsed.u.session.tool_call_count = 0;
    rc = hf__session_id_check(id, err);
    if (rc == HF_OK)
        rc = session_exists(im->store, id, err);
    if (rc == 0) {
        rc = session_create(im, &parsed.u.session, err);
        is_new = rc > 0;
    }
    if (rc < 0)
        goto out;
    if (!is_new && !im->options.merge) {
        im->result.skipped++;
        rc = HF_OK;
        goto out;
    }
    rc = is_new ? HF_OK : hf__known_read(im->store, id, &known, err);
    if (rc == HF_OK && messages)
        rc = messages_store(im, id, messages, messages_len, known, &stored, err);
    if (rc == HF_OK && is_new)
        rc = counters_settle(im, id, count - (int64_t)stored,
                             calls - (im->calls - calls_before), err);
    if (rc < 0) {
        if (is_new)
            session_undo(im, id, before);
        goto out;
    }
    if (is_new)
        im->result.sessions++;
    else if (stored)
        im->result.merged++;
    else
        im->result.skipped++;
out:
    hf__known_free(&known);
    hf__parsed_free(&parsed);
    return rc;
}

static struct hf_text
orphan_next(const struct hf__buf *buf, size_t *at)
{
    struct hf_text t;

    memcpy(&t.len, buf->ptr + *at, sizeof t.len);
    t.ptr = buf->ptr + *at + sizeof t.len;
    *at += sizeof t.len + t.len;
    return t;
}

int
hf__import_parents(struct hf__import *im, struct hf_error *err)
{
    size_t at = 0;
    uint64_t i;

    for (i = 0; i < im->n_orphans; i++) {
        struct hf_field field = {.name = "parent_session_id",
                                 .op = HF_FIELD_SET_IF_NULL,
                                 .type = HF_TEXT};
        struct hf_text child = orphan_next(&im->orphans, &at);
        field.text = orphan_next(&im->orphans, &at);
        int rc = session_exists(im->store, &field.text, err);
        if (rc > 0)
            rc = hf_store_session_update(im->store, &child, &field, 1, err);
        else if (rc == 0)
            hf__log(&im->store->rt->log, HF_LOG_WARNING, "import_parent", NULL,
                    "session %.*s was imported as a root: its parent %.*s is neither "
                    "in the store nor in the file",
                    (int)child.len, child.ptr, (int)field.text.len, field.text.ptr);
        if (rc < 0 && rc != HF_NOT_FOUND) /* the child was not stored after all */
            return rc;
    }
    return HF_OK;
}
