/* bare_export.c - the export with the SQLite C API alone: every column of every session
 * and message as JSON lines, strings escaped, content passed on as it is. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct out {
    char *ptr;
    size_t len, size;
    uint64_t total;
};

static void
put(struct out *out, const char *bytes, size_t len)
{
    if (out->size - out->len < len) {
        out->size = 2 * (out->len + len);
        out->ptr = realloc(out->ptr, out->size);
        if (!out->ptr)
            die("out of memory");
    }
    memcpy(out->ptr + out->len, bytes, len);
    out->len += len;
}

static void
put_string(struct out *out, const char *s, size_t len)
{
    put(out, "\"", 1);
    for (size_t i = 0, from = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)s[i] : 0;
        char escape[8];
        if (i < len && c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(out, s + from, i - from);
        from = i + 1;
        if (i < len) {
            int n = snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
            put(out, escape, (size_t)n);
        }
    }
    put(out, "\"", 1);
}

static void
put_row(struct out *out, sqlite3_stmt *stmt)
{
    char number[40];
    int n;

    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *name = sqlite3_column_name(stmt, i);
        put(out, i ? ",\"" : "{\"", 2);
        put(out, name, strlen(name));
        put(out, "\":", 2);
        switch (sqlite3_column_type(stmt, i)) {
        case SQLITE_NULL:
            put(out, "null", 4);
            break;
        case SQLITE_INTEGER:
            n = snprintf(number, sizeof number, "%lld",
                         (long long)sqlite3_column_int64(stmt, i));
            put(out, number, (size_t)n);
            break;
        case SQLITE_FLOAT:
            n = snprintf(number, sizeof number, "%.17g", sqlite3_column_double(stmt, i));
            put(out, number, (size_t)n);
            break;
        default:
            put_string(out, (const char *)sqlite3_column_text(stmt, i),
                       (size_t)sqlite3_column_bytes(stmt, i));
        }
    }
}

static sqlite3_stmt *
prepare(struct bench *b, const char *sql)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(b->bare, sql, -1, &stmt, NULL) != SQLITE_OK)
        die("bare SQLite: %s: %s", sql, sqlite3_errmsg(b->bare));
    return stmt;
}

uint64_t
bare_export(struct bench *b)
{
    sqlite3_stmt *sessions = prepare(b, "SELECT * FROM sessions ORDER BY started_at");
    sqlite3_stmt *messages =
        prepare(b, "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id");
    struct out out = {0};
    uint64_t lines = 0;

    while (sqlite3_step(sessions) == SQLITE_ROW) {
        int any = 0;
        put_row(&out, sessions);
        put(&out, ",\"messages\":[", 13);
        sqlite3_bind_value(messages, 1, sqlite3_column_value(sessions, 0));
        while (sqlite3_step(messages) == SQLITE_ROW) {
            if (any++)
                put(&out, ",", 1);
            put_row(&out, messages);
            put(&out, "}", 1);
        }
        sqlite3_reset(messages);
        put(&out, "]}\n", 3);
        lines++;
        out.total += out.len;
        out.len = 0;
    }
    sqlite3_finalize(messages);
    sqlite3_finalize(sessions);
    free(out.ptr);
    return lines;
}
