/* mount_class.c - the verdict on a folder, from a mount table and what was asked of the
 * kernel beforehand (SPEC 3.1).  Pure: no system call is made here. */
#include "mountinfo.h"

#include <string.h>
#include <strings.h>

#define MAX_OVERLAYS 8

static int
listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcasecmp(*list, name) == 0)
            return 1;
    return 0;
}

uint32_t
hf__fs_class(const char *fs_type, uint32_t *ret_known_native)
{
    /* Folders of a host shown to a virtual machine: two kernels behind one file. */
    static const char *const cross_vm[] = {
        "virtiofs", "fuse.virtiofs", "9p",     "9p2000",
        "9p2000.l", "9p2000.u",      "drvfs",  "fakeowner",
        "grpcfuse", "fuse.grpcfuse", "osxfs",  "fuse.osxfs",
        "vboxsf",   "prl_fs",        "vmhgfs", "fuse.vmhgfs-fuse",
        NULL};
    static const char *const native[] = {
        "ext2", "ext3",     "ext4", "btrfs",  "xfs",      "zfs", "tmpfs",
        "f2fs", "bcachefs", "jfs",  "nilfs2", "reiserfs", NULL};

    *ret_known_native = 0;
    if (listed(cross_vm, fs_type))
        return HF_MOUNT_CROSS_VM;
    if (strncasecmp(fs_type, "nfs", 3) == 0 || strcasecmp(fs_type, "cifs") == 0 ||
        strncasecmp(fs_type, "smb", 3) == 0 || strcasecmp(fs_type, "fuse") == 0 ||
        strncasecmp(fs_type, "fuse.", 5) == 0)
        return HF_MOUNT_NETWORK;
    *ret_known_native = (uint32_t)listed(native, fs_type);
    return HF_MOUNT_NATIVE;
}

int
hf__is_gvisor(const char *text)
{
    /* Its release name since 2024, and the one fixed build line it had before. */
    return text && (strcasestr(text, "gvisor") ||
                    strstr(text, "#1 SMP Sun Jan 10 15:06:54 PST 2016"));
}

static void
set_row(struct hf_mount *m, const struct hf__mount_row *row)
{
    memcpy(m->fs_type, row->fs_type, sizeof m->fs_type);
    memcpy(m->mount_point, row->mount_point, sizeof m->mount_point);
}

static int
find_row(const struct hf__mount_question *q, const struct hf__mount_place *place,
         struct hf__mount_row *ret, int *ret_hidden)
{
    *ret_hidden = 0;
    if (place->id >= 0) {
        if (hf__mountinfo_find(q->table, q->table_len, place->id, NULL, ret))
            return 1;
        *ret_hidden = place->is_fuse;
        if (place->is_fuse)
            return 0;
    }
    return hf__mountinfo_find(q->table, q->table_len, -1, place->path, ret);
}

/* Follows an overlay to the mount of its upper folder, where the files really are. */
static void
follow_overlay(const struct hf__mount_question *q, struct hf__mount_row *row,
               struct hf_mount *m)
{
    struct hf__mount_place upper;
    char path[4096];
    int i, hidden;

    for (i = 0; i < MAX_OVERLAYS; i++) {
        int64_t id = row->id;
        uint32_t known;

        if (!hf__mountinfo_option(row, "upperdir", path, sizeof path) ||
            path[0] != '/' || !q->look(q->ctx, path, &upper))
            break;
        upper.path = path;
        /* The overlay itself again: the path belongs to another tree than ours. */
        if (!find_row(q, &upper, row, &hidden) && !hidden)
            break;
        if (hidden) {
            m->mount_class = HF_MOUNT_CROSS_VM;
            return;
        }
        if (row->id == id)
            break;
        if (strcasecmp(row->fs_type, "overlay") == 0)
            continue;
        m->mount_class = hf__fs_class(row->fs_type, &known);
        m->known_native = known;
        /* An upper folder that decides against WAL is what must be named. */
        if (m->mount_class != HF_MOUNT_NATIVE)
            set_row(m, row);
        return;
    }
    m->overlay_unknown = 1;
}

static void
judge(const struct hf__mount_question *q, const struct hf__mount_place *place,
      struct hf_mount *m)
{
    struct hf__mount_row row;
    char option[16];
    int hidden;

    if (!find_row(q, place, &row, &hidden)) {
        if (hidden) {
            m->mount_class = HF_MOUNT_CROSS_VM;
            memcpy(m->fs_type, "fuse", sizeof "fuse");
        }
        return;
    }
    set_row(m, &row);
    m->mount_class = hf__fs_class(row.fs_type, &m->known_native);
    if (strcasecmp(row.fs_type, "overlay") == 0) {
        follow_overlay(q, &row, m);
        return;
    }
    m->sandbox = strcasecmp(row.fs_type, "9p") == 0 &&
                 hf__mountinfo_option(&row, "trans", option, sizeof option) &&
                 strcmp(option, "fd") == 0 && hf__is_gvisor(q->proc_version);
}

static uint32_t
strictness(uint32_t mount_class)
{
    return mount_class == HF_MOUNT_CROSS_VM  ? 2
           : mount_class == HF_MOUNT_NETWORK ? 1
                                             : 0;
}

/* Whether a mount lies on the file itself. */
static int
file_is_mount(const struct hf__mount_question *q, const struct hf_mount *own)
{
    return (q->folder.id >= 0 && q->file.id >= 0 && q->folder.id != q->file.id) ||
           strcmp(own->mount_point, q->file.path) == 0;
}

void
hf__mount_decide(const struct hf__mount_question *q, struct hf_mount *ret)
{
    struct hf_mount m = HF_INIT(struct hf_mount), own = HF_INIT(struct hf_mount);

    if (q->table) {
        judge(q, &q->folder, &m);
        if (q->file.path) {
            judge(q, &q->file, &own);
            /* Its sidecars are made in the folder, on another mount. */
            if (file_is_mount(q, &own)) {
                own.mount_class = HF_MOUNT_CROSS_VM;
                own.known_native = 0;
            }
            if (strictness(own.mount_class) > strictness(m.mount_class))
                m = own;
            else if (!own.known_native)
                m.known_native = 0;
        }
    }
    memcpy((char *)ret + sizeof ret->abi, (char *)&m + sizeof m.abi,
           sizeof m - sizeof m.abi);
}
