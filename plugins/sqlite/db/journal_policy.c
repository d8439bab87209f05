/* journal_policy.c - the decision of SPEC 3.2: what was seen in, what to do out.  Pure:
 * journal_apply.c looks and carries out. */
#include "db.h"

struct hf__journal_plan
hf__journal_decide(const struct hf__journal_facts *f)
{
    struct hf__journal_plan plan = {HF__JOURNAL_INHERIT, 0, 0};
    int wants_delete = f->configured == HF_JOURNAL_DELETE;

    if (f->known && f->wal) { /* row 1: a WAL file stays one, whatever is configured */
        if (f->no_shared_map) {
            plan.action = HF__JOURNAL_REFUSE;
            plan.code = HF_UNSUPPORTED;
            plan.say = HF__SAY_WAL_UNUSABLE;
            return plan;
        }
        plan.action = HF__JOURNAL_KEEP_WAL;
        if (wants_delete)
            plan.say |= HF__SAY_DELETE_OVERRIDDEN;
        if (f->cross_vm)
            plan.say |= HF__SAY_CROSS_VM_WAL;
        return plan;
    }
    if (!f->known) { /* row 2: touch nothing */
        plan.say = HF__SAY_MODE_UNKNOWN;
        if (wants_delete || f->require_wal) {
            plan.action = HF__JOURNAL_REFUSE;
            plan.code = wants_delete ? HF_BUSY : HF_UNSUPPORTED;
        }
        return plan;
    }
    if (f->require_wal && (wants_delete || f->cross_vm || f->no_shared_map)) {
        plan.action = HF__JOURNAL_REFUSE;
        plan.code = HF_UNSUPPORTED;
        plan.say = wants_delete  ? HF__SAY_WAL_NOT_CONFIGURED
                   : f->cross_vm ? HF__SAY_CROSS_VM_DELETE
                                 : HF__SAY_WAL_REFUSED;
        return plan;
    }
    if (wants_delete) /* row 3 */
        plan.action = HF__JOURNAL_SET_DELETE;
    else if (f->cross_vm) { /* row 4 */
        plan.action = HF__JOURNAL_SET_DELETE;
        plan.say = HF__SAY_CROSS_VM_DELETE;
    } else if (f->no_shared_map) { /* row 5, refused before the pragma could be asked */
        plan.action = HF__JOURNAL_SET_DELETE;
        plan.say = HF__SAY_WAL_REFUSED;
    } else { /* row 5 */
        plan.action = HF__JOURNAL_SET_WAL;
        if (f->has_content)
            plan.say = HF__SAY_JOURNAL_UPGRADED;
    }
    return plan;
}
