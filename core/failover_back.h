/* failover_back.h - what a degraded store writes, in its fallback.  P is what is left
 * of the primary, or NULL. */
#ifndef HF_FAILOVER_BACK_H
#define HF_FAILOVER_BACK_H

#include "failover.h"
#include "failover_states.h"

/* HF_BUSY: what the fallback cannot do for a store that is coming back. */
int hf__back_not_now(struct hf_store *store, const char *what, struct hf_error *err);

int hf__back_put(struct hf_store *store, struct hf__primary *p,
                 const struct hf_session *session, uint32_t mode, struct hf_error *err);
int hf__back_update(struct hf_store *store, struct hf__primary *p,
                    const struct hf_text *id, const struct hf_field *fields,
                    uint64_t n_fields, struct hf_error *err);
/* Only what the primary does not have can go. */
int hf__back_delete(struct hf_store *store, struct hf__primary *p,
                    const struct hf_text *ids, uint64_t n_ids, uint64_t *ret_deleted,
                    struct hf_error *err);
int hf__back_append(struct hf_store *store, struct hf__primary *p,
                    const struct hf_append *what, struct hf_appended *ret,
                    struct hf_error *err);
int hf__back_states(struct hf_store *store, struct hf__primary *p,
                    const struct hf_text *id, const struct hf__states *what,
                    uint64_t *ret_count, struct hf_error *err);
int hf__back_compact(struct hf_store *store, struct hf__primary *p,
                     const struct hf_text *id, const struct hf__states *what,
                     struct hf_appended *ret, struct hf_error *err);
int hf__back_usage(struct hf_store *store, struct hf__primary *p,
                   const struct hf_usage *delta, struct hf_error *err);

#endif
