/* preview.c - the preview of a session: the first user message, of which only the first
 * bytes are read, as it may have 64 MiB (SPEC 11). */
#include "preview.h"

#include <stdlib.h>
#include <string.h>

#include "util/content.h"

enum {
    PREVIEW_PLAIN = 4096, /* bytes of plain text that surely hold 60 characters */
    PREVIEW_STRUCTURED = 1 << 20
};
static const char reading[] = "read the preview of a session";

static int
no_memory(const struct hf_sqlite_store *st, struct hf_error *err)
{
    return hf_error_set(err, HF_NO_MEMORY, st->path,
                        "out of memory while reading the preview of a session");
}

/* Reads the first bytes of a message's content, as no more is shown: the message may
 * have 64 MiB.  Leaves `head` empty when the cell cannot be read so. */
static int
head_read(struct hf_sqlite_store *st, struct hf__previewer *p, int64_t message_id,
          struct hf_error *err)
{
    sqlite3 *db = hf_sqlite_handle(st->db);
    int rc, size, want;

    hf__buf_clear(&p->head);
    if (p->blob)
        rc = sqlite3_blob_reopen(p->blob, message_id);
    else
        rc = sqlite3_blob_open(db, "main", "messages", "content", message_id, 0, &p->blob);
    if (rc != SQLITE_OK) {
        sqlite3_blob_close(p->blob);
        p->blob = NULL;
        return rc == SQLITE_ERROR ? HF_OK : hf_sqlite_fail(st->db, rc, reading, err);
    }
    size = sqlite3_blob_bytes(p->blob);
    want = size < PREVIEW_PLAIN ? size : PREVIEW_PLAIN;
    for (;;) {
        char *head = realloc(p->head.ptr, (size_t)want + 1);
        if (!head)
            return no_memory(st, err);
        p->head.ptr = head;
        p->head.cap = (size_t)want + 1;
        p->head.len = (size_t)want;
        head[want] = '\0';
        rc = sqlite3_blob_read(p->blob, head, want, 0);
        if (rc != SQLITE_OK)
            return hf_sqlite_fail(st->db, rc, reading, err);
        if (want == size || want == PREVIEW_STRUCTURED || head[0] != '\0')
            return HF_OK;
        want = size < PREVIEW_STRUCTURED ? size : PREVIEW_STRUCTURED;
    }
}

/* Of structured content too long to be parsed, the first string under "text". */
static void
head_cut_text(struct hf__buf *head)
{
    const char *end = head->ptr + head->len, *p, *from;
    struct hf__buf json = {0};
    struct hf_text cell;

    p = memmem(head->ptr, head->len, "\"text\":", 7);
    if (!p)
        return;
    for (p += 7; p < end && *p == ' '; p++)
        ;
    if (p == end || *p != '"')
        return;
    for (from = p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    if (p >= end)
        return;
    hf__buf_add(&json, "\0json:[", 7);
    hf__buf_add(&json, from, (size_t)(p + 1 - from));
    hf__buf_addc(&json, ']');
    cell = hf_text(json.ptr, json.len);
    hf__buf_clear(head);
    hf__content_text(head, &cell);
    hf__buf_free(&json);
}

int
hf__preview_read(struct hf_sqlite_store *st, struct hf__previewer *p,
                 const struct hf_text *id, struct hf_error *err)
{
    struct hf__buf sql = {0};
    struct hf_text content;
    sqlite3_stmt *stmt;
    int64_t message_id = 0;
    int rc;

    hf__buf_clear(&p->text);
    hf__buf_adds(&sql, "SELECT m.id FROM messages m WHERE m.session_id = ?1"
                       " AND m.role = 'user' AND typeof(m.content) IN ('text', 'blob')"
                       " AND (coalesce(");
    hf__column_sql(&sql, st, HF_T_MESSAGES, "m", "active");
    hf__buf_adds(&sql, ", 1) <> 0 OR ");
    hf__column_sql(&sql, st, HF_T_MESSAGES, "m", "compacted");
    hf__buf_adds(&sql, " <> 0) ORDER BY m.id LIMIT 1");
    if (sql.failed) {
        hf__buf_free(&sql);
        return no_memory(st, err);
    }
    rc = hf_sqlite_prepare(st->db, sql.ptr, &stmt, err);
    hf__buf_free(&sql);
    if (rc != HF_OK)
        return rc;
    hf__bind_text(stmt, 1, id);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        message_id = sqlite3_column_int64(stmt, 0);
    hf_sqlite_done(stmt);
    if (rc == SQLITE_DONE)
        return HF_OK;
    if (rc != SQLITE_ROW)
        return hf_sqlite_fail(st->db, rc, reading, err);
    rc = head_read(st, p, message_id, err);
    if (rc != HF_OK || p->head.len == 0)
        return rc;
    if (p->head.len == PREVIEW_STRUCTURED && !memcmp(p->head.ptr, "\0json:", 6))
        head_cut_text(&p->head);
    content = hf_text(p->head.ptr, p->head.len);
    hf__preview(&p->text, &content);
    return p->text.failed || p->head.failed ? no_memory(st, err) : HF_OK;
}

void
hf__preview_done(struct hf__previewer *p)
{
    sqlite3_blob_close(p->blob);
    hf__buf_free(&p->text);
    hf__buf_free(&p->head);
    memset(p, 0, sizeof *p);
}
