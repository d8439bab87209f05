/* record_parse.h - the way back from JSON to a record, for import. */
#ifndef HF_RECORD_PARSE_H
#define HF_RECORD_PARSE_H

#include <jansson.h>

#include <holdfast/record.h>

#include "internal.h"

/* A record read from JSON and what its pointers point to. */
struct hf__parsed {
    union {
        struct hf_session session;
        struct hf_message message;
    } u;
    json_t *json;
    char *owned[32]; /* texts that do not stand in `json` as they are */
    int n_owned;
    size_t size;     /* bytes of JSON that it was read from */
};

/* Read one JSON object of LEN bytes.  HF_INVALID says what is wrong with it. */
int hf__session_parse(json_t *object, struct hf__parsed *ret, struct hf_error *err);
int hf__message_parse(const char *s, size_t len, struct hf__parsed *ret,
                      struct hf_error *err);
void hf__parsed_free(struct hf__parsed *parsed);

/* Takes a line apart: the members of its object but `messages` as *RET_SESSION (to be
 * released with json_decref()), and where the array of messages begins and ends.  Only
 * one message at a time is ever made into a tree, since a line may be huge. */
int hf__line_split(const char *s, size_t len, json_t **ret_session,
                   const char **ret_messages, size_t *ret_messages_len,
                   struct hf_error *err);
/* The next element of an array from *AT on (which starts as 0): 1 and where it is, 0 at
 * the end, or HF_INVALID. */
int hf__element_next(const char *s, size_t len, size_t *at, const char **ret,
                     size_t *ret_len, struct hf_error *err);

#endif
