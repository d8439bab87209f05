/* doctor_env.c - what surrounds a store: configuration, home, mount, modes, space. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor.h"
#include "util/size.h"

#define SPACE_LOW (100u << 20)

static void
config_rows(struct hf__doctor *d)
{
    const char *last = NULL;
    size_t i, n = 0;
    int faked;

    for (i = 0; i < d->config->n; i++)
        if (d->config->entries[i].file) {
            last = d->config->entries[i].file;
            n++;
        }
    if (n)
        hf__doctor_add(d, HF__DR_CONFIG, HF_SEV_OK, 0, "config", last, NULL,
                       "configuration: %zu setting%s in %s", n, n == 1 ? "" : "s", last);
    else
        hf__doctor_add(d, HF__DR_CONFIG, HF_SEV_OK, 0, "config", NULL, NULL,
                       "configuration: all defaults");
    faked = hf__mount_faked();
    if (faked == 2)
        hf__doctor_add(d, HF__DR_CONFIG, HF_SEV_WARNING, 0, "mountinfo_unreadable",
                       NULL, "name a file that can be read, or unset it",
                       "HOLDFAST_MOUNTINFO names a mount table that cannot be read: "
                       "every mount is taken as native");
    else if (faked)
        hf__doctor_add(d, HF__DR_CONFIG, HF_SEV_INFO, 0, "mountinfo_set", NULL,
                       "unset it to see what is really mounted",
                       "HOLDFAST_MOUNTINFO is set: the mount table is read from that "
                       "file");
}

static void
mount_rows(struct hf__doctor *d)
{
    const char *type = d->mount.fs_type[0] ? d->mount.fs_type : "unknown";
    const char *mode = hf__config_get(d->config, "database.journal_mode");
    int wants_delete = mode && strcmp(mode, "delete") == 0;
    int is_wal = d->files.kind == HF__MAIN_WAL;

    if (d->mount_off)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_INFO, 0, "mount_check_off",
                       d->home, NULL,
                       "`database.mount_check: off`: %s is taken as a native file system",
                       type);
    else if (d->mount.mount_class == HF_MOUNT_CROSS_VM && is_wal && wants_delete)
        /* The journal row names the setting; that the mount is dangerous is said here. */
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_WARNING, 0, "mount_cross_vm", d->home,
                       "move the database onto a native/named volume, or convert it as "
                       "said above",
                       "WAL on a cross-VM file system (%s at %s) can silently corrupt",
                       type, d->mount.mount_point);
    else if (d->mount.mount_class == HF_MOUNT_CROSS_VM)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_INFO, 0, "mount_cross_vm", d->home,
                       d->mount.sandbox ? "`database.mount_check: off` if WAL is known "
                                          "to work in this sandbox"
                                        : NULL,
                       "%sfile system shared across a VM boundary (%s at %s): a new "
                       "database uses rollback journals, not WAL",
                       d->mount.sandbox ? "sandbox: " : "", type, d->mount.mount_point);
    else if (d->mount.mount_class == HF_MOUNT_NETWORK)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_INFO, 0, "mount_network", d->home,
                       wants_delete ? NULL
                                    : "set `database.journal_mode: delete` unless WAL is "
                                      "known to work there",
                       "network or FUSE file system (%s at %s), used as configured "
                       "(`database.journal_mode: %s`)",
                       type, d->mount.mount_point, mode ? mode : "wal");
    else if (d->mount.overlay_unknown)
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_INFO, 0, "mount_overlay", d->home, NULL,
                       "overlay file system: what lies below it is not known");
    else
        hf__doctor_add(d, HF__DR_MOUNT, HF_SEV_OK, 0, "mount", d->home, NULL,
                       "file system %s", type);
}

/* A file or folder that others may read or write.  WANTED is the mode it should have. */
static void
mode_row(struct hf__doctor *d, const char *path, const char *name, mode_t wanted)
{
    struct stat st;
    unsigned now;
    uint32_t severity;

    if (lstat(path, &st) != 0 || S_ISLNK(st.st_mode) || !(st.st_mode & 077))
        return;
    now = st.st_mode & 07777u;
    /* By path: an open descriptor that is closed again would cancel locks. */
    if (d->fix && chmod(path, wanted) == 0) {
        hf__doctor_add(d, HF__DR_MODE, HF_SEV_OK, 0, "mode_fixed", path, NULL,
                       "%s: mode %04o became %04o", name, now, (unsigned)wanted);
        return;
    }
    /* A folder that others may look into gives nothing away while its files do not. */
    severity = S_ISDIR(st.st_mode) && !(now & 022) ? HF_SEV_INFO : HF_SEV_WARNING;
    hf__doctor_add(d, HF__DR_MODE, severity, 1, "mode_loose", path,
                   d->fix ? "run it as the owner" : "holdfast doctor --fix",
                   "%s: mode %04o lets other users in, %04o would not%s%s", name, now,
                   (unsigned)wanted, d->fix ? ": " : "", d->fix ? strerror(errno) : "");
}

/* Whether the home is one: a folder that holds nothing of a store may be anybody's, "/"
 * after a slip for example, and to make it private would lock others out. */
static int
is_used(const struct hf__doctor *d)
{
    struct stat st;
    char *config = hf__path_join(d->home, "config.yaml");
    int ret = strcmp(d->profile, "default") != 0 || d->files.there[0] ||
              (config && lstat(config, &st) == 0);

    free(config);
    return ret && stat(d->home, &st) == 0 && !(st.st_mode & S_ISVTX);
}

static void
mode_rows(struct hf__doctor *d)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    size_t i;

    if (is_used(d))
        mode_row(d, d->home, "home", 0700);
    for (i = 0; d->sqlite && i < 3; i++)
        if (d->files.there[i] && S_ISREG(d->files.st[i].st_mode))
            mode_row(d, d->files.path[i], names[i], 0600);
}

static void
space_rows(struct hf__doctor *d)
{
    struct statvfs vfs;
    uint64_t available;
    char size[32];

    if (statvfs(d->home, &vfs) != 0) {
        hf__doctor_add(d, HF__DR_SPACE, HF_SEV_WARNING, 0, "space_unchecked", d->home,
                       NULL, "the free space cannot be told: %s", strerror(errno));
        return;
    }
    available = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    hf__size_text(available, size, sizeof size);
    if (vfs.f_flag & ST_RDONLY)
        hf__doctor_add(d, HF__DR_SPACE, HF_SEV_WARNING, 0, "mounted_read_only", d->home,
                       "mount it read-write for gateways to store anything",
                       "the file system is mounted read-only");
    else if (available < SPACE_LOW || (vfs.f_files && !vfs.f_favail))
        hf__doctor_add(d, HF__DR_SPACE, HF_SEV_WARNING, 0, "space_low", d->home,
                       "make room before appends fail",
                       "only %s and %llu files are free", size,
                       (unsigned long long)vfs.f_favail);
    else
        hf__doctor_add(d, HF__DR_SPACE, HF_SEV_OK, 0, "space", d->home, NULL, "%s free",
                       size);
}

void
hf__doctor_env(struct hf__doctor *d)
{
    struct hf_error err;
    struct stat st;
    int there = stat(d->home, &st) == 0;

    config_rows(d);
    if (!there && errno == ENOENT && d->fix) {
        if (hf__mkdirs(d->home, &err) == HF_OK)
            there = stat(d->home, &st) == 0;
        else
            hf__doctor_add(d, HF__DR_HOME, HF_SEV_FAILURE, 0, "home_not_made", d->home,
                           NULL, "%s", err.message);
    }
    if (there && !S_ISDIR(st.st_mode))
        hf__doctor_add(d, HF__DR_HOME, HF_SEV_FAILURE, 0, "home_no_folder", d->home,
                       "name another with --home", "home %s is no folder", d->home);
    else if (there)
        hf__doctor_add(d, HF__DR_HOME, HF_SEV_OK, 0, "home", d->home, NULL,
                       "home %s (profile %s)", d->home, d->profile);
    else if (!d->fix)
        hf__doctor_add(d, HF__DR_HOME, HF_SEV_INFO, 1, "home_missing", d->home,
                       "the first session makes it",
                       "home %s (profile %s) does not exist yet", d->home, d->profile);
    mount_rows(d);
    if (!there || !S_ISDIR(st.st_mode))
        return;
    mode_rows(d);
    space_rows(d);
}
