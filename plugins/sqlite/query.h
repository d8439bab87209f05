/* query.h - search text as people type it, parsed (SPEC 8).  Pure: no database. */
#ifndef HF_SQLITE_QUERY_H
#define HF_SQLITE_QUERY_H

#include <stdint.h>

#include <holdfast/record.h>

#include "util/buf.h"

enum { HF__QUERY_MAX = 2048 }; /* characters read; more is cut, with a note */

enum hf__query_op {
    HF__Q_TERM, /* a word or a phrase */
    HF__Q_AND,  /* all of the children */
    HF__Q_OR,   /* one of the children */
    HF__Q_NOT   /* the first child and none of the others */
};

struct hf__query_node {
    uint32_t op;
    struct hf__query_node **child;
    uint32_t n_children;
    /* Terms only: */
    char *text;        /* as typed, valid UTF-8 without NUL; no quotes, no star */
    uint32_t text_len;
    uint32_t prefix;   /* ended in '*' */
    uint32_t unspaced; /* holds a script that is written without spaces between words:
                          found anywhere inside a run of letters */
    uint32_t symbol;   /* nothing but symbols (emoji): found as they stand */
    uint32_t negated;  /* stands below the later children of a HF__Q_NOT */
    uint32_t index;    /* number of this term, from 0 */
};

struct hf__query {
    struct hf__query_node *root; /* NULL: nothing can be found; the note says why */
    struct hf__query_node **terms;
    uint32_t n_terms;
    char note[512]; /* "" if there is nothing to say */
};

/* Parses TEXT.  Only a lack of memory fails (-1). */
int hf__query_parse(const struct hf_text *text, struct hf__query *ret);
void hf__query_free(struct hf__query *query);

/* Whether a run of letters in this script is no word by itself, and what stands beside it
 * in other scripts begins one. */
int hf__query_unspaced(int32_t cp);
/* Whether the tree holds for a text in which FOUND[term index] says what was found. */
int hf__query_holds(const struct hf__query_node *node, const uint8_t *found);
/* Appends the term as an FTS5 string: "..." with doubled quotes, and a star. */
void hf__query_quote(struct hf__buf *out, const struct hf__query_node *term);

#endif
