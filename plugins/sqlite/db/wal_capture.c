/* wal_capture.c - a lost WAL is copied to a folder beside its database, from a
 * descriptor that still leads to it: the last commits may live nowhere else.
 *
 * The folder gets its name when all of it is on disk; what a crash leaves has a name
 * that ends in ".part". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "db.h"
#include "util/json_write.h"
#include "util/sha256.h"

#define CHUNK (1 << 18)
#define HEADER 100 /* the part of a database that says how to read its WAL */

static int
write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int
file_create(int folder, const char *name, int *ret_fd)
{
    *ret_fd =
        openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *ret_fd < 0 ? errno : 0;
}

static int
file_finish(int fd, int sys)
{
    if (!sys && fsync(fd))
        sys = errno;
    if (close(fd) && !sys)
        sys = errno;
    return sys;
}

static void
hex(const unsigned char *bytes, char ret[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Copies up to LIMIT bytes of one file; its size and checksum as they are on disk. */
static int
copy_file(const struct hf__capture *what, int which, int folder, const char *name,
          int64_t limit, int64_t *ret_size, char ret_sha[65])
{
    unsigned char sum[32];
    int fd;
    int64_t at = 0;
    char *chunk = malloc(CHUNK);
    int sys = chunk ? file_create(folder, name, &fd) : ENOMEM;
    if (sys) {
        free(chunk);
        return sys;
    }
    while (!sys && at < limit) {
        int64_t n = what->read(what->ctx, which, chunk,
                               limit - at < CHUNK ? limit - at : CHUNK, at);
        if (n == 0)
            break;
        if (n < 0)
            sys = EIO;
        else {
            sys = write_all(fd, chunk, (size_t)n);
            at += n;
        }
    }
    free(chunk);
    if (!sys && at == 0)
        hf__sha256("", 0, sum);
    else if (!sys) {
        void *map = mmap(NULL, (size_t)at, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            sys = errno;
        else {
            hf__sha256(map, (size_t)at, sum);
            munmap(map, (size_t)at);
        }
    }
    if (!sys) {
        hex(sum, ret_sha);
        *ret_size = at;
    }
    return file_finish(fd, sys);
}

static void
identity_json(struct hf__buf *out, const struct stat *st)
{
    if (st->st_mode)
        hf__buf_addf(out, "\"device\":%llu,\"inode\":%llu",
                     (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
    else
        hf__buf_adds(out, "\"device\":null,\"inode\":null");
}

/* The start of the WAL's member, by which hf__wal_captured() knows a copy again. */
static void
wal_json(struct hf__buf *out, const struct stat *st, int64_t size)
{
    hf__buf_adds(out, "\"wal\":{");
    identity_json(out, st);
    hf__buf_addf(out, ",\"size\":%lld,", (long long)size);
}

static int
manifest_write(const struct hf__capture *what, int folder, const char *base,
               int64_t wal_size, const char *wal_sha, int64_t header_size,
               const char *header_sha)
{
    struct hf__buf out = {0};
    char name[300];
    int fd, sys;
    hf__buf_adds(&out, "{\"format\":1,\"reason\":");
    hf__json_string(&out, what->reason, strlen(what->reason));
    hf__buf_adds(&out, ",\"path\":");
    hf__json_string(&out, what->path, strlen(what->path));
    hf__buf_addf(&out, ",\"pid\":%d,\"taken_at\":", what->pid);
    hf__json_real(&out, hf__now());
    hf__buf_adds(&out, ",\n\"database\":{");
    identity_json(&out, &what->st[HF__GEN_MAIN]);
    hf__buf_addf(&out, ",\"size\":%lld},\n",
                 (long long)what->size(what->ctx, HF__GEN_MAIN));
    wal_json(&out, &what->st[HF__GEN_WAL], wal_size);
    snprintf(name, sizeof name, "%s-wal", base);
    hf__buf_adds(&out, "\"file\":");
    hf__json_string(&out, name, strlen(name));
    hf__buf_addf(&out, ",\"sha256\":\"%s\"},\n\"shm\":{", wal_sha);
    identity_json(&out, &what->st[HF__GEN_SHM]);
    snprintf(name, sizeof name, "%s-header", base);
    hf__buf_addf(&out,
                 "},\n\"header\":{\"size\":%lld,\"file\":", (long long)header_size);
    hf__json_string(&out, name, strlen(name));
    hf__buf_addf(&out, ",\"sha256\":\"%s\"}}\n", header_sha);
    sys = out.failed ? ENOMEM : file_create(folder, "manifest.json", &fd);
    if (!sys)
        sys = file_finish(fd, write_all(fd, out.ptr, out.len));
    hf__buf_free(&out);
    return sys;
}

static int
folder_fill(const struct hf__capture *what, int folder, const char *base)
{
    char wal_name[300], header_name[300], wal_sha[65], header_sha[65];
    int64_t wal_size = what->size(what->ctx, HF__GEN_WAL), header_size = 0;
    int sys = wal_size < 0 ? EIO : 0;
    snprintf(wal_name, sizeof wal_name, "%s-wal", base);
    snprintf(header_name, sizeof header_name, "%s-header", base);
    if (!sys)
        sys = copy_file(what, HF__GEN_WAL, folder, wal_name, wal_size, &wal_size,
                        wal_sha);
    if (!sys)
        sys = copy_file(what, HF__GEN_MAIN, folder, header_name, HEADER, &header_size,
                        header_sha);
    if (!sys)
        sys = manifest_write(what, folder, base, wal_size, wal_sha, header_size,
                             header_sha);
    if (!sys && fsync(folder) && errno != EINVAL)
        sys = errno;
    if (sys) {
        unlinkat(folder, wal_name, 0);
        unlinkat(folder, header_name, 0);
        unlinkat(folder, "manifest.json", 0);
    }
    return sys;
}

static void
folder_sync(const char *path)
{
    char name[4128];
    hf__path_folder(name, sizeof name, path);
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* A name that is free, and the folder made under that name and ".part". */
static int
folder_make(const struct hf__capture *what, char *name, char *part, size_t size)
{
    char when[32];
    struct stat st;
    struct tm tm;
    time_t now = (time_t)hf__now();
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &tm);
    for (int i = 1; i < 1000; i++) {
        int n = snprintf(name, size, "%s.retired-wal-%s-%d", what->path, when,
                         (int)getpid());
        if (i > 1)
            snprintf(name + n, size - (size_t)n, "-%d", i);
        snprintf(part, size, "%.*s.part", (int)size - 6, name);
        if (lstat(name, &st) == 0)
            continue;
        if (mkdir(part, 0700) == 0) {
            (void)chmod(part, 0700); /* the umask can have taken the owner's own bits */
            return 0;
        }
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

int
hf__wal_capture(const struct hf__capture *what, char **ret)
{
    char name[4300], part[4300];
    const char *base = strrchr(what->path, '/') + 1;
    char *kept = NULL;
    int sys = folder_make(what, name, part, sizeof name);
    if (sys)
        return sys;
    int folder = open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        sys = errno;
    else {
        sys = folder_fill(what, folder, base);
        close(folder);
    }
    if (!sys && !(kept = strdup(name)))
        sys = ENOMEM;
    if (!sys && rename(part, name))
        sys = errno;
    if (sys) {
        rmdir(part);
        free(kept);
        return sys;
    }
    folder_sync(name);
    *ret = kept;
    return 0;
}

void
hf__sidecars_retire(const char *path, const struct hf__generation *gen,
                    const char *folder)
{
    static const char *const suffixes[HF__GEN_FILES] = {"", "-wal", "-shm"};
    const char *base = strrchr(path, '/') + 1;
    char from[4128], to[4400];
    struct stat st;
    /* Only when another file stands there: one that is gone may come back. */
    if (lstat(path, &st) || (st.st_dev == gen->file[HF__GEN_MAIN].dev &&
                             st.st_ino == gen->file[HF__GEN_MAIN].ino))
        return;
    for (int i = HF__GEN_WAL; i < HF__GEN_FILES; i++) {
        snprintf(from, sizeof from, "%s%s", path, suffixes[i]);
        snprintf(to, sizeof to, "%s/%s%s.original", folder, base, suffixes[i]);
        if (gen->file[i].known && lstat(from, &st) == 0 &&
            st.st_dev == gen->file[i].dev && st.st_ino == gen->file[i].ino)
            (void)rename(from, to);
    }
    folder_sync(path);
}

/* Whether the manifest in that folder begins its WAL member like that. */
static int
manifest_has(const char *folder, const char *wanted)
{
    char name[4400], *text = NULL;
    size_t len = 0;
    int found = 0;
    snprintf(name, sizeof name, "%s/manifest.json", folder);
    if (hf__read_file(name, 1 << 16, &text, &len, NULL) == HF_OK)
        found = strstr(text, wanted) != NULL;
    free(text);
    return found;
}

int
hf__wal_captured(const char *path, const struct stat *wal, char *ret, size_t size)
{
    char folder[4128], start[300];
    const char *base = strrchr(path, '/') + 1;
    struct hf__buf wanted = {0};
    int found = 0;
    hf__path_folder(folder, sizeof folder, path);
    snprintf(start, sizeof start, "%s.retired-wal-", base);
    wal_json(&wanted, wal, wal->st_size);
    DIR *dir = wanted.failed ? NULL : opendir(folder);
    for (struct dirent *e; dir && !found && (e = readdir(dir));)
        if (!strncmp(e->d_name, start, strlen(start))) {
            snprintf(ret, size, "%s/%s", strcmp(folder, "/") ? folder : "", e->d_name);
            found = manifest_has(ret, wanted.ptr);
        }
    if (dir)
        closedir(dir);
    hf__buf_free(&wanted);
    return found;
}
