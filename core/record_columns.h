/* record_columns.h - the columns of a record in the one order in which they are
 * written, whatever the layout of the file that they come from, and where each is
 * kept. */
#ifndef HF_RECORD_COLUMNS_H
#define HF_RECORD_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

enum hf__column_kind {
    HF_COL_EXTRA,     /* in `extra`; absent from it: the fallback */
    HF_COL_EXTRA_TIME, /* the same, and null when it is no time */
    HF_COL_TEXT,      /* struct hf_text */
    HF_COL_TIME,      /* double; NaN is null */
    HF_COL_REAL,      /* double; NaN is null */
    HF_COL_INT,       /* int64_t; HF_NO_INT is null */
    HF_COL_FLAG,      /* uint32_t as 0 or 1 */
    HF_COL_CONTENT,   /* struct hf_text, decoded when structured */
    HF_COL_CALLS,     /* struct hf_text, decoded when it is a JSON array or object */
    HF_COL_ACTIVE,    /* these two are the message's state */
    HF_COL_COMPACTED,
    HF_COL_ORDER      /* in `extra`; a message without a place of its own has its id */
};

struct hf__record_column {
    const char *name;
    enum hf__column_kind kind;
    size_t offset;    /* of the typed member */
    int64_t fallback; /* what NULL, or a column not there, is; HF_NO_INT: null */
};

/* NULL-name ended. */
extern const struct hf__record_column hf__session_record[];
extern const struct hf__record_column hf__message_record[];
const struct hf__record_column *hf__record_column_find(
    const struct hf__record_column *columns, const char *name);

#endif
