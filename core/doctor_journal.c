/* doctor_journal.c - the one row about the journal mode: the first that fits, from the
 * worst to the plain one (SPEC 12.2). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "doctor.h"
#include "util/size.h"

/* The file system's name in the bracket: the two families that everyone knows share one. */
static const char *
family(const char *fs_type)
{
    static const char *const known[] = {"virtiofs",   "fuse.virtiofs", "9p", "9p2000",
                                        "9p2000.l", "9p2000.u",      NULL};
    const char *const *k;

    for (k = known; *k; k++)
        if (strcasecmp(*k, fs_type) == 0)
            return "virtiofs/9p";
    return *fs_type ? fs_type : "unknown";
}

/* WAL although the configuration says delete: with whoever keeps it from being changed. */
static void
mismatch(struct hf__doctor *d, const char *size)
{
    const struct hf__config_entry *entry =
        hf__config_find(d->config, "database.journal_mode");
    struct hf__buf held = {0};

    hf__buf_adds(&held, "");
    if (d->files.holders.n) {
        hf__buf_adds(&held, "; it is held by ");
        hf__holders_text(&held, &d->files.holders);
    } else if (d->files.holders.blind)
        hf__buf_adds(&held, "; some processes could not be looked at");
    if (held.failed)
        d->no_memory = 1;
    else
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "journal_mismatch",
                       d->files.path[0],
                       "stop every process that has it open and run a one-time offline "
                       "'PRAGMA journal_mode=DELETE' on the file, or set "
                       "`database.journal_mode: wal`",
                       "state.db is in WAL mode (%s) although `database.journal_mode: "
                       "delete` is configured (%s:%d)%s",
                       size, entry && entry->file ? entry->file : "default",
                       entry ? entry->line : 0, held.ptr);
    hf__buf_free(&held);
}

static int
held_by_foreigner(const struct hf__doctor *d)
{
    size_t i;

    for (i = 0; i < d->files.holders.n; i++)
        if (d->files.holders.v[i].foreign)
            return 1;
    return 0;
}

static void
vulnerable(struct hf__doctor *d, const char *size)
{
    struct hf__buf remedy = {0};

    hf__buf_adds(&remedy, "it is open in ");
    hf__holders_text(&remedy, &d->files.holders);
    hf__buf_adds(&remedy, ", and with this SQLite the checkpoints of other programs can "
                          "lose commits: give them SQLite 3.51.3, 3.50.7 or 3.44.6");
    if (remedy.failed)
        d->no_memory = 1;
    else
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "wal_vulnerable_sqlite",
                       d->files.path[0], remedy.ptr,
                       "state.db: WAL journal mode (%s)", size);
    hf__buf_free(&remedy);
}

static void
wal_row(struct hf__doctor *d, const char *size)
{
    const char *mode = hf__config_get(d->config, "database.journal_mode");
    const char *path = d->files.path[0];

    if (mode && strcmp(mode, "delete") == 0)
        mismatch(d, size);
    else if (d->mount.mount_class == HF_MOUNT_CROSS_VM)
        hf__doctor_add(
            d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "wal_cross_vm", path,
            "WAL can silently corrupt across the VM boundary; stop every Hermes process "
            "and run a one-time offline 'PRAGMA journal_mode=DELETE' on the file, then "
            "set `database.journal_mode: delete` \xe2\x80\x94 or move the database onto "
            "a native/named volume",
            "state.db is in WAL mode on a cross-VM filesystem (%s, %s)",
            family(d->mount.fs_type), size);
    else if (d->vulnerable && held_by_foreigner(d))
        /* Without such a program it is information, in the row about SQLite. */
        vulnerable(d, size);
    else
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_INFO, 0, "wal", path, NULL,
                       "state.db: WAL journal mode (%s)", size);
}

void
hf__doctor_journal(struct hf__doctor *d)
{
    const struct hf__doctor_files *f = &d->files;
    char size[32];

    hf__size_text(f->there[0] ? (uint64_t)f->st[0].st_size : 0, size, sizeof size);
    switch (f->kind) {
    case HF__MAIN_MISSING:
    case HF__MAIN_EMPTY:
        if (!d->refused)
            hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_INFO, 0, "no_store", f->path[0],
                           NULL, "state.db: nothing stored yet");
        break;
    case HF__MAIN_UNREADABLE:
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "header_unchecked",
                       f->path[0], "run doctor as the user who owns the file",
                       "state.db: the header cannot be read: %s", strerror(f->error));
        break;
    case HF__MAIN_WAL:
        wal_row(d, size);
        break;
    case HF__MAIN_ROLLBACK:
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_OK, 0, "rollback", f->path[0], NULL,
                       "state.db: rollback journal mode (%s)", size);
        break;
    case HF__MAIN_NOT_REGULAR:
    case HF__MAIN_BAD:
    case HF__MAIN_LIVE:
        break;
    }
}
