/* mountinfo.h - the text of /proc/self/mountinfo, and the verdict on a folder drawn
 * from it.  Everything here works on what it is given, so that tests and
 * HOLDFAST_MOUNTINFO can give anything. */
#ifndef HF_MOUNTINFO_H
#define HF_MOUNTINFO_H

#include <holdfast/backend.h>

/* One row of the table.  The members point into the table, but for mount_point, which
 * is decoded. */
struct hf__mount_row {
    int64_t id;
    char mount_point[4096];
    char fs_type[64];
    const char *super; /* options of the file system, as written, without NUL */
    size_t super_len;
};
/* Reads the next row that parses from *AT on; 0 at the end.  Others are skipped. */
int hf__mountinfo_next(const char **at, const char *end, struct hf__mount_row *ret);
/* The row of mount ID; else (ID negative) the longest mount point that is PATH or a
 * folder above it, the last row on a tie.  0 when there is none. */
int hf__mountinfo_find(const char *table, size_t len, int64_t id, const char *path,
                       struct hf__mount_row *ret);
/* The decoded value of option NAME ("upperdir") of ROW in RET; 0 when it is not there,
 * or does not fit. */
int hf__mountinfo_option(const struct hf__mount_row *row, const char *name, char *ret,
                         size_t size);
/* Decodes \040-style escapes; 0 for a broken one, or no room. */
int hf__mountinfo_decode(const char *text, size_t len, char *ret, size_t size);

/* enum hf_mount_class of a file system's name, and whether it is known to support
 * shared mappings. */
uint32_t hf__fs_class(const char *fs_type, uint32_t *ret_known_native);
/* Whether TEXT (/proc/version; may be NULL) is gVisor's. */
int hf__is_gvisor(const char *text);

/* What statx and statfs say of one path; pure tests make it up. */
struct hf__mount_place {
    const char *path; /* resolved; NULL: there is none */
    int64_t id;       /* mount id; negative: unknown */
    int is_fuse;      /* statfs says so; looked at only where ID has no row */
};
struct hf__mount_question {
    const char *table; /* text of the mount table; NULL: unreadable */
    size_t table_len;
    const char *proc_version; /* may be NULL */
    struct hf__mount_place folder;
    struct hf__mount_place file; /* the database file, when it exists */
    /* Looks at the upper folder of an overlay; 0 when it is not to be seen from here
     * (a container's lies in the host's tree). */
    int (*look)(void *ctx, const char *path, struct hf__mount_place *ret);
    void *ctx;
};
/* Fills all of RET but its abi (SPEC 3.1). */
void hf__mount_decide(const struct hf__mount_question *question, struct hf_mount *ret);

#endif /* HF_MOUNTINFO_H */
