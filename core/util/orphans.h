/* orphans.h - which processes hold a deleted generation of a database: files that were
 * opened under its names and are not the ones that stand there now. */
#ifndef HF_UTIL_ORPHANS_H
#define HF_UTIL_ORPHANS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "buf.h"

enum hf__orphan_file {
    HF__ORPHAN_MAIN = 0,
    HF__ORPHAN_WAL,
    HF__ORPHAN_SHM,
    HF__ORPHAN_FILES
};
struct hf__orphan {
    int pid;
    uint32_t files; /* bit (1 << enum hf__orphan_file) for each that it holds */
    int fd[HF__ORPHAN_FILES]; /* its descriptors of them, or -1 */
    struct stat st[HF__ORPHAN_FILES];
    char command[64];
};
#define HF__ORPHANS_MAX 16u
struct hf__orphans {
    struct hf__orphan v[HF__ORPHANS_MAX];
    size_t n, beyond; /* of those in v; further ones */
    int blind;        /* some process could not be looked at */
};

/* Looks at every process, this one included, for those of FILES (bits) of the database
 * at PATH (absolute, its folder free of symlinks).  A name alone proves nothing, nor
 * does " (deleted)" behind it: it counts when device and inode differ from what stands
 * at the path.  Takes milliseconds, and a quarter of a second when there is one. */
void hf__orphans_find(const char *path, uint32_t files, struct hf__orphans *ret);
/* "pid 41 (hermes: state.db-wal), ..." appended to OUT. */
void hf__orphans_text(struct hf__buf *out, const char *path,
                      const struct hf__orphans *orphans);
/* Whether LINK, as /proc shows the name of an open file, is NAME. */
int hf__orphan_link_is(const char *link, const char *name);

#endif
