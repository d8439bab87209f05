/* doctor_generation.c - rows about files of a state.db that were taken away under
 * processes that use them (SPEC 4.3): who goes on writing where nobody will look, and
 * the logs that were kept when a store noticed it. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "util/orphans.h"
#include "util/size.h"

static void
holder_rows(struct hf__doctor *d, const char *path)
{
    struct hf__orphans *found = calloc(1, sizeof *found);
    struct hf__buf held = {0};
    uint32_t files = 0;
    size_t i;

    if (!found) {
        d->no_memory = 1;
        return;
    }
    hf__orphans_find(
        path, 1u << HF__ORPHAN_MAIN | 1u << HF__ORPHAN_WAL | 1u << HF__ORPHAN_SHM,
        found);
    for (i = 0; i < found->n; i++)
        files |= found->v[i].files;
    hf__buf_adds(&held, "");
    hf__orphans_text(&held, path, found);
    if (held.failed)
        d->no_memory = 1;
    else if (files & 1u << HF__ORPHAN_MAIN)
        hf__doctor_add(
            d, HF__DR_JOURNAL, HF_SEV_FAILURE, 0, "generation_replaced", path,
            "stop these processes before anything opens the file that is "
            "there now",
            "state.db was deleted or replaced while processes have the old one "
            "open: %s",
            held.ptr);
    else if (files)
        hf__doctor_add(
            d, HF__DR_JOURNAL, HF_SEV_FAILURE, 0, "generation_lost", path,
            "stop these processes; no store of Holdfast opens for writing "
            "before that",
            "the log of state.db was deleted or replaced under processes that "
            "go on using it: %s",
            held.ptr);
    hf__buf_free(&held);
    free(found);
}

static void
retired_row(struct hf__doctor *d, const char *folder, const char *path)
{
    struct hf__buf remedy = {0};
    char *wal = hf__path_join(folder, "state.db-wal");
    char size[32];
    struct stat st;

    if (!wal) {
        d->no_memory = 1;
        return;
    }
    hf__size_text(lstat(wal, &st) == 0 ? (uint64_t)st.st_size : 0, size, sizeof size);
    hf__buf_addf(&remedy,
                 "holdfast sessions recover --source %s --wal %s --output NEW.db shows "
                 "what is in it; remove the folder when nothing is missing",
                 path, wal);
    if (remedy.failed)
        d->no_memory = 1;
    else
        hf__doctor_add(
            d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "wal_retired", folder, remedy.ptr,
            "a log that was taken away from under an open store is kept here "
            "(%s)",
            size);
    hf__buf_free(&remedy);
    free(wal);
}

void
hf__doctor_generation(struct hf__doctor *d)
{
    static const char start[] = "state.db.retired-wal-";
    char *home = hf__path_resolve(d->home), *path = NULL, *folder;
    struct dirent *entry;
    size_t len;
    DIR *dir;

    if (home)
        path = hf__path_join(home, "state.db");
    if (!path) {
        d->no_memory = 1;
        free(home);
        return;
    }
    holder_rows(d, path);
    dir = opendir(home);
    while (dir && (entry = readdir(dir)) != NULL) {
        len = strlen(entry->d_name);
        if (strncmp(entry->d_name, start, sizeof start - 1) != 0 ||
            strcmp(entry->d_name + len - 5, ".part") == 0)
            continue;
        folder = hf__path_join(home, entry->d_name);
        if (folder)
            retired_row(d, folder, path);
        else
            d->no_memory = 1;
        free(folder);
    }
    if (dir)
        closedir(dir);
    free(path);
    free(home);
}
