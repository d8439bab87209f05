/* mounts.c - asks the kernel what hf__mount_decide() needs to know of a path.
 *
 * Never statfs's type for the verdict: on 9p it is the host's file system.  It is only
 * asked whether a mount that the table does not show is FUSE. */
#include "internal.h"
#include "mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#define FUSE_MAGIC 0x65735546
#define MAX_TABLE (16u << 20)

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static char *fake_path; /* HOLDFAST_MOUNTINFO, absolute */
static int fake_looked;

void
hf__mount_environment(void)
{
    /* Ignored with raised privileges, where the environment is a stranger's. */
    const char *env = secure_getenv("HOLDFAST_MOUNTINFO");
    char *path = env && env[0] ? hf__path_resolve(env) : NULL;

    pthread_mutex_lock(&fake_lock);
    free(fake_path);
    fake_path = path;
    fake_looked = 1;
    pthread_mutex_unlock(&fake_lock);
}

/* A copy of the path of the table that stands in for the real one, or NULL. */
static char *
fake_table(void)
{
    char *ret;
    int looked;

    pthread_mutex_lock(&fake_lock);
    looked = fake_looked;
    ret = fake_path ? strdup(fake_path) : NULL;
    pthread_mutex_unlock(&fake_lock);
    if (looked)
        return ret;
    hf__mount_environment();
    return fake_table();
}

int
hf__mount_faked(void)
{
    char *path = fake_table();
    int ret = !path ? 0 : access(path, R_OK) == 0 ? 1 : 2;

    free(path);
    return ret;
}

/* A file of /proc or a stand-in, whole; NULL when it cannot be read. */
static char *
read_all(const char *path, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct hf__buf buf = {0};
    char chunk[8192], *ret = NULL;
    ssize_t n = -1;

    if (fd < 0)
        return NULL;
    while (buf.len < MAX_TABLE) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        hf__buf_add(&buf, chunk, (size_t)n);
    }
    close(fd);
    if (n == 0) {
        hf__buf_add(&buf, "", 0);
        *ret_len = buf.len;
        ret = hf__buf_take(&buf);
    }
    hf__buf_free(&buf);
    return ret;
}

/* Fills in what the kernel says of PATH; 0 when there is no such file. */
static int
look_real(void *ctx, const char *path, struct hf__mount_place *ret)
{
    int found = 0;

    (void)ctx;
    ret->path = path;
    ret->id = -1;
    ret->is_fuse = 0;
#ifdef STATX_MNT_ID
    {
        struct statx stx;
        struct statfs sfs;

        if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
                  STATX_MNT_ID, &stx) == 0) {
            found = 1;
            if (stx.stx_mask & STATX_MNT_ID)
                ret->id = (int64_t)stx.stx_mnt_id;
            ret->is_fuse = statfs(path, &sfs) == 0 && sfs.f_type == FUSE_MAGIC;
        } else if (errno == ENOENT || errno == ENOTDIR) {
            return 0;
        }
    }
#endif
    if (!found) {
        struct stat st;

        found = lstat(path, &st) == 0;
    }
    return found;
}

/* With a stand-in table paths need not exist, and the kernel's ids mean nothing. */
static int
look_faked(void *ctx, const char *path, struct hf__mount_place *ret)
{
    (void)ctx;
    *ret = (struct hf__mount_place){path, -1, 0};
    return 1;
}

/* The resolved folder of PATH, and PATH below it; PATH itself may be a folder. */
static int
split(const char *path, char **ret_folder, char **ret_file)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    char *parent = NULL, *folder = NULL, *file = NULL;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        folder = hf__path_resolve(path);
        *ret_folder = folder;
        *ret_file = NULL;
        return folder != NULL;
    }
    parent = !slash          ? strdup(".")
             : slash == path ? strdup("/")
                             : strndup(path, (size_t)(slash - path));
    folder = parent ? hf__path_resolve(parent) : NULL;
    file = folder ? hf__path_join(folder, slash ? slash + 1 : path) : NULL;
    free(parent);
    if (!file) {
        free(folder);
        return 0;
    }
    *ret_folder = folder;
    *ret_file = file;
    return 1;
}

void
hf__mount_classify(const char *path, struct hf_mount *ret)
{
    struct hf__mount_question q = {0};
    char *fake = fake_table(), *table = NULL, *version = NULL;
    char *folder = NULL, *file = NULL;
    size_t version_len;

    if (split(path, &folder, &file)) {
        table = read_all(fake ? fake : "/proc/self/mountinfo", &q.table_len);
        version = read_all("/proc/version", &version_len);
    }
    q.table = table;
    q.proc_version = version;
    q.look = fake ? look_faked : look_real;
    if (folder && !q.look(NULL, folder, &q.folder))
        q.folder = (struct hf__mount_place){folder, -1, 0};
    if (file && !q.look(NULL, file, &q.file))
        q.file.path = NULL;
    hf__mount_decide(&q, ret);
    free(table);
    free(version);
    free(folder);
    free(file);
    free(fake);
}
