/* lease.h - what holds for a named lease (SPEC 2.6), whichever backend keeps its
 * record, {"holder", "generation", "expires", "ttl"}.  Nothing here reads or writes a
 * store: the backend calls hf__lease_decide() between the two, under its lock. */
#ifndef HF_UTIL_LEASE_H
#define HF_UTIL_LEASE_H

#include <stdint.h>

#include <holdfast/error.h>
#include <holdfast/record.h>

#include "buf.h"

#define HF__LEASE_KEY "holdfast_lease:" /* before the name, among the key/values */

enum hf__lease_verb { HF__LEASE_ACQUIRE, HF__LEASE_RENEW, HF__LEASE_RELEASE };

/* What is asked for, and what came of it. */
struct hf__lease_ask {
    enum hf__lease_verb verb;
    const struct hf_text *name, *holder;
    double ttl;
    uint64_t generation; /* given, or of ACQUIRE the result */
    int outcome;         /* decided before the write, told to the caller after it */
    struct hf_error why;
};

/* HF_INVALID for a question that cannot be answered. */
int hf__lease_check(const struct hf__lease_ask *ask, const char *path,
                    struct hf_error *err);

/* Decides about the record STORED (NULL: there is none; its ptr NULL: one that is no
 * text) at NOW.  Sets ask->outcome and its generation, and appends to OUT the record
 * that is to be stored, or nothing when the stored one stays.
 *
 * - A generation only grows, through release, expiry and garbage.  One that stands at
 *   its limit (somebody stored it) can be renewed and released, but nobody can take the
 *   lease over: HF_TOO_BIG, and the text says which record to put right.
 * - A record that cannot be read blocks nobody.  The generation after it comes from the
 *   clock, in microseconds, which is above all that were given out one by one.
 * - An expiry further ahead than one time to live counts as one, from now on.  A stored
 *   time to live that is none (not a number, not above 0, longer than any valid time)
 *   counts as that of the caller.
 *
 * HF_NO_MEMORY when OUT could not be written. */
int hf__lease_decide(struct hf__lease_ask *ask, const struct hf_text *stored,
                     double now, const char *path, struct hf__buf *out);

#endif
