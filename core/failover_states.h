/* failover_states.h - changing the states of messages in a degraded store. */
#ifndef HF_FAILOVER_STATES_H
#define HF_FAILOVER_STATES_H

#include "failover.h"

struct hf__states {
    uint32_t of_state, to_state;          /* enum hf_message_state */
    int64_t from, to;                     /* ids of the union, inclusive */
    const struct hf_message *const *more; /* appended behind, active */
    uint64_t n_more;
};
/* The session is in the fallback already.  *ret_count (or NULL): of those changed. */
int hf__states_change(struct hf_store *store, const struct hf_text *id,
                      const struct hf__states *what, uint64_t *ret_count,
                      struct hf_error *err);

#endif
