/* doctor_kernel.c - which machine has a database on a shared folder (SPEC 4.6): the
 * file is read as text, and nothing is taken or changed. */
#include "doctor.h"
#include "util/kernel_text.h"

void
hf__doctor_kernel(struct hf__doctor *d)
{
    struct hf__buf name = {0};
    struct hf__kernel_seen seen;
    struct hf__kernel_owner self;

    hf__buf_adds(&name, d->files.path[0]);
    hf__buf_adds(&name, ".kernel");
    if (name.failed) {
        d->no_memory = 1;
        hf__buf_free(&name);
        return;
    }
    hf__kernel_look(name.ptr, &seen);
    if (seen.kind == HF__KERNEL_OWNED && hf__kernel_self(&self) &&
        strcmp(self.boot, seen.owner.boot) == 0)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_INFO, 0, "kernel_own", name.ptr, NULL,
                       "this machine has the database for writing (%s, pid %ld); other "
                       "programs than Holdfast are not stopped by that",
                       seen.owner.host, seen.owner.pid);
    else if (seen.kind == HF__KERNEL_OWNED)
        hf__doctor_add(
            d, HF__DR_MOUNT, HF_SEV_WARNING, 0, "kernel_foreign", name.ptr,
            "end it there, or move the database onto a native or named volume; "
            "if it is dead, the next open for writing takes over",
            "another machine has the database for writing (%s, pid %ld there, "
            "boot id %s)",
            seen.owner.host, seen.owner.pid, seen.owner.boot);
    else if (seen.kind == HF__KERNEL_GARBLED)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_WARNING, 0, "kernel_garbled", name.ptr,
                       "the next open for writing takes over if nobody changes it",
                       "the file that says which machine writes cannot be understood");
    else if (seen.kind == HF__KERNEL_OBSTACLE || seen.kind == HF__KERNEL_UNREAD)
        hf__doctor_add(
            d, HF__DR_MOUNT, HF_SEV_WARNING, 0, "kernel_obstacle", name.ptr,
            "remove it if it is no plain file, or make it readable",
            "what should say which machine writes cannot be read: no open for "
            "writing succeeds while the folder is shared between machines");
    hf__buf_free(&name);
}
