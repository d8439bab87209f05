/* list_view.h - what the two files of the list share: list_view.c (order, paging, what
 * is emitted) and list_kin.c (how sessions descend from each other). */
#ifndef HF_LIST_VIEW_H
#define HF_LIST_VIEW_H

#include "internal.h"

enum { HF_MARK_BRANCH = 1, HF_MARK_DELEGATE = 2, HF_MARK_RESET = 4 };

/* What decides on a session's place. */
struct hf__kin {
    struct hf_text id, source, parent, end_reason; /* owned copies */
    double started, ended, last_active;
    uint32_t archived, hidden, marks;
    /* As an entry of the list: the tip of its chain, and the time it is ordered by. */
    const struct hf__kin *tip;
    double key;
};

struct hf__family {
    struct hf__kin *rows;
    size_t n, cap;
    struct hf__kin **by_id;     /* ascending */
    struct hf__kin **by_parent; /* by parent, then newest first */
};

int hf__text_order(const struct hf_text *a, const struct hf_text *b);
/* Copies what is needed of SESSION; HF_NO_MEMORY. */
int hf__family_add(struct hf__family *family, const struct hf_session *session);
/* Once all are added. */
int hf__family_ready(struct hf__family *family);
void hf__family_free(struct hf__family *family);
const struct hf__kin *hf__family_find(const struct hf__family *family,
                                      const struct hf_text *id);
/* Whether ROW stands in a list by itself, and is neither a delegate nor a later link of
 * a compression chain. */
int hf__family_is_entry(const struct hf__family *family, const struct hf__kin *row);
/* The last and the first link of the chain that ROW belongs to. */
const struct hf__kin *hf__family_tip(const struct hf__family *family,
                                     const struct hf__kin *row);
const struct hf__kin *hf__family_root(const struct hf__family *family,
                                      const struct hf__kin *row);

#endif
