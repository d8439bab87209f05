/* lineage.h - how sessions descend from each other: which are entries of a list of their
 * own, and which is the tip of a compression chain (SPEC 11 "What a list shows"). */
#ifndef HF_SQLITE_LINEAGE_H
#define HF_SQLITE_LINEAGE_H

#include "private.h"

enum hf__mark { HF__MARK_BRANCH = 1u, HF__MARK_DELEGATE = 2u, HF__MARK_RESET = 4u };

/* The few columns of a session that decide on its place; pointers live until the
 * statement that it was read from moves on. */
struct hf__kin {
    struct hf_text id, source, parent, end_reason;
    double started, ended; /* NaN: none */
    uint32_t archived, hidden, marks;
};

/* Appends the select list that hf__kin_row() reads from column 0 on, under alias "s". */
void hf__kin_select(struct hf__buf *out, const struct hf_sqlite_store *st);
/* A stored time by SPEC 7's rules; NaN: none. */
double hf__kin_time(sqlite3_stmt *stmt, int col);
void hf__kin_row(sqlite3_stmt *stmt, struct hf__kin *ret);
/* The session of exactly this id: 1 found, 0 none, else an error.  Its texts are kept in
 * HOLD, which is cleared first and must not hold ID. */
int hf__kin_get(struct hf_sqlite_store *st, const struct hf_text *id,
                struct hf__buf *hold, struct hf__kin *ret, struct hf_error *err);
/* Whether ROW stands in a list by itself (1), or is a delegate or a later link of a
 * chain (0); negative on an error. */
int hf__kin_is_entry(struct hf_sqlite_store *st, const struct hf__kin *row,
                     struct hf_error *err);
/* The tip of the chain that begins with ROOT, into the buffer RET_ID (cleared first). */
int hf__kin_tip(struct hf_sqlite_store *st, const struct hf__kin *root,
                struct hf__buf *ret_id, struct hf_error *err);
/* The root of the chain that ID belongs to (ID itself when it is no later link). */
int hf__kin_root(struct hf_sqlite_store *st, const struct hf_text *id,
                 struct hf__buf *ret_id, struct hf_error *err);

#endif
