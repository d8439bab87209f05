/* offline_scan.h - what the two halves of the command scan know of each other. */
#ifndef HF_OFFLINE_SCAN_H
#define HF_OFFLINE_SCAN_H

#include <holdfast/offline.h>

#include "internal.h"

#define HF__SCAN_DEPTH 4 /* of texts in quotes in texts */
#define HF__SCAN_BASES 8

struct hf__scan {
    const struct hf__live_name *names;
    size_t count;
    char *bases[HF__SCAN_BASES]; /* folders that relative words may be in; absolute */
    size_t n_bases;
    int unknown_base; /* the text changes to a folder that cannot be told */
    int next_is_base; /* the last word was cd, pushd or -C */
    const char *home; /* NULL: unknown */
    hf_offline_word_fn *emit;
    void *ctx;
    int rc; /* of EMIT; other than 0 ends the scan */
    int no_memory;
};

/* offline_lex.c: cuts TEXT into words.  OFFSET is where it is in the caller's text,
 * which is where all words of a text in quotes are (DEPTH above 0). */
void hf__scan_text(struct hf__scan *s, const char *text, size_t len, uint64_t offset,
                   int depth);
/* offline_scan.c: takes one word; QUOTED when it may be a text itself. */
void hf__scan_word(struct hf__scan *s, struct hf__buf *word, int quoted,
                   uint64_t offset, int depth);

#endif
