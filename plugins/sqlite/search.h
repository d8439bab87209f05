/* search.h - what the files of the search know of each other (SPEC 8).
 *
 * A query is answered in two ways.  The index finds rows and ranks them; where it cannot
 * answer alone (scripts without spaces, rows not indexed yet, a missing or damaged
 * index), rows are read and looked at by a matcher, which cuts text into the same words
 * as the index does, with SQLite's own tokenizer. */
#ifndef HF_SQLITE_SEARCH_H
#define HF_SQLITE_SEARCH_H

#include "private.h"
#include "query.h"

/* ---- match.c: text against the terms ---- */

struct hf__word { char *text; uint32_t len; }; /* one folded token of a term */

struct hf__term {
    const struct hf__query_node *node;
    struct hf__word *words; /* none: found literally */
    uint32_t n_words;
    int64_t *open; /* open[k]: where a phrase began whose first k words stood right
                      before this place, or -1 */
};
struct hf__span { uint64_t from, to; }; /* bytes of the text that a match covers */

struct hf__matcher {
    const struct hf__query *query;
    fts5_tokenizer api;
    Fts5Tokenizer *tokenizer;
    struct hf__term *terms;
    uint32_t n_terms;
    uint8_t *found; /* by term, over all texts since hf__matcher_start() */
    uint32_t n_found;
    /* Spans of the terms that are not negated, in the text being read; at most as many
     * as there is room for.  NULL: nobody asks. */
    struct hf__span *spans;
    uint32_t n_spans, max_spans;
    uint64_t base;    /* of the piece being read, in its text */
    struct hf__buf scratch;
};

int hf__matcher_open(struct hf_sqlite_store *st, const struct hf__query *query,
                     struct hf__matcher *ret, struct hf_error *err);
void hf__matcher_close(struct hf__matcher *m);
/* Forgets what was found. */
void hf__matcher_start(struct hf__matcher *m);
/* Reads one text.  CONTINUED: a phrase may reach from the previous text into it. */
int hf__matcher_text(struct hf__matcher *m, const char *s, size_t len,
                     uint32_t continued);
/* Reads a message's columns as this layout indexes them; structured content by its text
 * parts.  *ret_holds: whether the query holds for it.  Like hf__matcher_text(), SQLITE_OK
 * or an SQLite error code. */
int hf__matcher_message(struct hf__matcher *m, uint32_t layout,
                        const struct hf_text *content, const struct hf_text *tool_name,
                        const struct hf_text *tool_calls, uint32_t *ret_holds);

/* ---- snippet.c ---- */

/* Appends a cut-out of the message round its first match, with ">>>" and "<<<". */
int hf__snippet(struct hf__matcher *m, const struct hf_text *content,
                const struct hf_text *tool_name, const struct hf_text *tool_calls,
                struct hf__buf *out);

/* ---- search.c ---- */

struct hf__found { int64_t id; double rank; };

struct hf__searching {
    struct hf_sqlite_store *st;
    const struct hf_search *q;
    struct hf__query query;
    struct hf__matcher matcher;
    int64_t gap_from, gap_to; /* rows not indexed yet */
    struct hf__found *hits;
    size_t n_hits, cap_hits, n_indexed; /* the first n_indexed are sorted by id */
    struct hf_error *err;
};

int hf__search_add(struct hf__searching *s, int64_t id, double rank);
/* Appends " AND ..." for the filters of the query over messages m and sessions x, and
 * binds their values. Parameters are numbered from FIRST on. */
void hf__search_filters(struct hf__buf *sql, const struct hf__searching *s, int first);
void hf__search_bind(sqlite3_stmt *stmt, const struct hf__searching *s, int first);

/* ---- search_fts.c: what the index can answer ---- */

/* Whether the store has text in scripts without spaces: words may then stand inside
 * tokens.  Negative: an SQLite error code, negated. */
int hf__fts_unspaced(struct hf__searching *s);
/* Adds the rows that the index finds, ranked.  Only for queries without unspaced terms
 * and symbols.  SQLITE_OK or an SQLite error code. */
int hf__fts_search(struct hf__searching *s);
/* Appends a condition on messages m that every matching row fulfils as far as the
 * indexes know, with its parameters numbered from *FIRST on (advanced); their texts go
 * to ARGS.  0: the indexes narrow nothing.  WORDS: also for words that may stand inside
 * a token. */
struct hf__args { struct hf__buf *text; uint32_t n; };
int hf__fts_narrow(struct hf__buf *sql, const struct hf__searching *s,
                   const struct hf__query_node *node, struct hf__args *args, int *first);
void hf__args_free(struct hf__args *args);

/* ---- search_scan.c: rows that are read ---- */

enum hf__scan { HF__SCAN_ALL, HF__SCAN_GAP, HF__SCAN_NARROW };
/* Reads the rows of KIND, newest (or oldest) first, and adds those for which the query
 * holds and that are no hits yet; stops at MAX added (0: no end).  *ret_narrowed is 0
 * when HF__SCAN_NARROW had nothing to go by, and then nothing was read.  SQLITE_OK or an
 * SQLite error code. */
int hf__scan(struct hf__searching *s, enum hf__scan kind, uint64_t max,
             uint32_t *ret_narrowed);

#endif
