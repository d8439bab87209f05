/* import.h - what the files of the import share. */
#ifndef HF_IMPORT_H
#define HF_IMPORT_H

#include "record_parse.h"

struct hf__import {
    struct hf_store *store;
    struct hf_import_options options;
    struct hf_import_result result;
    /* Sessions stored without their parent, which was not there yet: child and parent
     * ids, each as its length and its bytes. */
    struct hf__buf orphans;
    uint64_t n_orphans;
    int64_t calls; /* tool calls of the messages stored so far */
};

/* ---- import_session.c: one line ---- */

int hf__import_line(struct hf__import *im, const char *s, size_t len,
                    struct hf_error *err);
/* Ties sessions to parents that came after them. */
int hf__import_parents(struct hf__import *im, struct hf_error *err);

/* ---- import_known.c: which messages a session has, for merging ---- */

struct hf__known;
int hf__known_read(struct hf_store *store, const struct hf_text *session_id,
                   struct hf__known **ret, struct hf_error *err);
/* The same from within a call of the store. */
int hf__known_read_inside(struct hf_store *store, const struct hf_text *session_id,
                          struct hf__known **ret, struct hf_error *err);
/* Whether the session has MESSAGE: by uid, or for one without a uid by role, time and
 * content, each stored message counting once. */
int hf__known_has(struct hf__known *known, const struct hf_message *message);
/* By what a message is known: its uid, else role, time and content. */
void hf__message_digest(const struct hf_message *message, uint64_t ret[2]);
void hf__known_free(struct hf__known **known);

#endif
