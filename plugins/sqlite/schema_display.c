/* schema_display.c - the triggers that keep messages.display_order.  Messages of one
 * session with the same display_identity are one message that was stored more than once
 * (by a compaction, say); the smallest order among those that can be seen is its place. */
#include <string.h>
#include <strings.h>

#include "private.h"

#define SEEN(row) "(" row "active = 1 OR " row "compacted = 1)"
/* The messages that stand for the same one as OLD or NEW, under alias p. */
#define PEERS(row)                                                                  \
    "FROM messages AS p WHERE p.session_id = " row ".session_id"                    \
    " AND p.display_identity = " row ".display_identity AND " SEEN("p.")
#define PEERS_TAKE_MINIMUM(row)                                                     \
    "  UPDATE messages SET display_order = (SELECT MIN(p.id) " PEERS(row) ")"       \
    " WHERE session_id = " row ".session_id"                                        \
    " AND display_identity = " row ".display_identity AND " SEEN("")

static const struct hf__trigger_decl display_triggers[] = {
    /* Without an identity there are no peers, and nothing is searched for them. */
    {"messages_display_order_insert",
     "CREATE TRIGGER messages_display_order_insert AFTER INSERT ON messages\n"
     "WHEN new.display_order IS NULL\n"
     "BEGIN " HF__TRIGGER_TAG "\n"
     "  UPDATE messages SET display_order = CASE WHEN new.display_identity IS NULL"
     " THEN new.id ELSE COALESCE((SELECT MIN(p.display_order) " PEERS("new")
     " AND p.id <> new.id), new.id) END WHERE id = new.id;\n"
     "END"},
    {"messages_display_visibility_update",
     "CREATE TRIGGER messages_display_visibility_update\n"
     "AFTER UPDATE OF active, compacted ON messages\n"
     "WHEN " SEEN("new.") " IS NOT " SEEN("old.") " AND new.display_identity IS NOT NULL\n"
     "BEGIN " HF__TRIGGER_TAG "\n"
     PEERS_TAKE_MINIMUM("new") ";\n"
     "END"},
    {"messages_display_identity_update",
     "CREATE TRIGGER messages_display_identity_update\n"
     "AFTER UPDATE OF role, content, timestamp, tool_call_id, tool_calls, tool_name,"
     " display_kind ON messages\n"
     "WHEN (new.role, new.content, new.timestamp, new.tool_call_id, new.tool_calls,"
     " new.tool_name, new.display_kind) IS NOT (old.role, old.content, old.timestamp,"
     " old.tool_call_id, old.tool_calls, old.tool_name, old.display_kind)\n"
     "BEGIN " HF__TRIGGER_TAG "\n"
     "  UPDATE messages SET display_identity = NULL, display_order = NULL"
     " WHERE session_id = old.session_id AND display_identity = old.display_identity"
     " AND " SEEN("") ";\n"
     "  UPDATE messages SET display_identity = NULL, display_order = NULL"
     " WHERE id = new.id;\n"
     "END"},
    {"messages_display_identity_delete",
     "CREATE TRIGGER messages_display_identity_delete AFTER DELETE ON messages\n"
     "WHEN " SEEN("old.") " AND old.display_identity IS NOT NULL\n"
     "BEGIN " HF__TRIGGER_TAG "\n"
     PEERS_TAKE_MINIMUM("old") ";\n"
     "END"},
    {NULL, NULL},
};

/* Whether a trigger of the file runs at every update of a message, whatever column it
 * changes.  Those of the search tables of 2026-03 and 2026-06 do: SQLite runs the newer
 * trigger first, so that an order set at insert would take a row out of the index before
 * it was put in, which damages the index or fails the append. */
static int
updates_watched(struct hf__schema_walk *walk, uint32_t *ret, struct hf_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(walk->db,
                                "SELECT sql FROM sqlite_master WHERE type = 'trigger'"
                                " AND tbl_name = 'messages' COLLATE NOCASE",
                                -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        return hf__schema_fail(walk, rc, "read", err);
    *ret = 0;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(stmt, 0);
        /* The event's word stands alone: the trigger may be called ..._update. */
        for (const char *p = sql; p && *p; p++) {
            const char *q;
            if (!strchr(" \t\r\n", *p) || strncasecmp(p + 1, "UPDATE", 6) != 0)
                continue;
            q = p + 7 + strspn(p + 7, " \t\r\n");
            if (q > p + 7 && strncasecmp(q, "ON", 2) == 0 && strchr(" \t\r\n", q[2]))
                *ret = 1;
        }
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? HF_OK : hf__schema_fail(walk, rc, "read", err);
}

int
hf__display_schema(struct hf__schema_walk *walk, struct hf_error *err)
{
    uint32_t watched = 0;
    int rc = updates_watched(walk, &watched, err);

    if (watched)
        return rc;
    for (const struct hf__trigger_decl *t = display_triggers; rc == HF_OK && t->name; t++) {
        rc = hf__schema_trigger(walk, t->name, t->sql, err);
        if (walk->stale)
            break;
    }
    return rc;
}
