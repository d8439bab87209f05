/* preview.h - the preview of a session (SPEC 11). */
#ifndef HF_SQLITE_PREVIEW_H
#define HF_SQLITE_PREVIEW_H

#include "private.h"

struct hf__previewer {
    struct hf__buf text, head;
    sqlite3_blob *blob; /* on messages.content, moved from row to row */
};

/* Puts the preview of the session ID into p->text; empty without a user message. */
int hf__preview_read(struct hf_sqlite_store *st, struct hf__previewer *p,
                     const struct hf_text *id, struct hf_error *err);
/* Releases everything; before the transaction ends. */
void hf__preview_done(struct hf__previewer *p);

#endif
