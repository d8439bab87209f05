/* preflight.c - what is on disk, before SQLite looks.
 *
 * SQLite deletes a WAL beside a main file that is missing, empty or without a valid
 * header, and with it the last commits.  So whatever it would take for a new database
 * and is none is refused here, with every file left as it is. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

#define WAL_HEADER 32 /* a WAL of that size holds no frame */

uint32_t
hf__header_kind(const unsigned char *bytes, size_t len)
{
    if (len == 0)
        return HF__HEADER_NONE;
    if (len < 100 || memcmp(bytes, "SQLite format 3", 16) != 0)
        return HF__HEADER_BAD;
    unsigned page = (unsigned)bytes[16] << 8 | bytes[17];
    int page_ok = page == 1 || (page >= 512 && page <= 32768 && !(page & (page - 1)));
    /* The payload fractions, which SQLite demands exactly so. */
    if (!page_ok || bytes[21] != 64 || bytes[22] != 32 || bytes[23] != 32)
        return HF__HEADER_BAD;
    if (bytes[18] == 2 && bytes[19] == 2)
        return HF__HEADER_WAL;
    if (bytes[18] == 1 && bytes[19] == 1)
        return HF__HEADER_ROLLBACK;
    return bytes[18] && bytes[19] ? HF__HEADER_MIXED : HF__HEADER_BAD;
}

static const char *
kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFBLK:
    case S_IFCHR:
        return "a device";
    default:
        return "no regular file";
    }
}

/* Names a way out only where the link leads to a file that may be the database. */
static int
refuse_link(const char *path, int beside, struct hf_error *err)
{
    struct stat st;
    struct hf__shown shown, target;
    char *real = beside ? NULL : realpath(path, NULL);
    int is_file = real && !stat(real, &st) && S_ISREG(st.st_mode);
    hf__shown(&shown, path);
    if (beside)
        hf_error_set(err, HF_UNSUPPORTED, path,
                     "%s is a symbolic link, and the files that SQLite keeps beside a "
                     "database never are: put the file itself here while nothing has "
                     "the database open",
                     shown.text);
    else if (!is_file)
        hf_error_set(err, HF_UNSUPPORTED, path,
                     "%s is a symbolic link that leads to no file: choose another "
                     "home, or move it away (`mv %s NEWNAME`)",
                     shown.text, shown.text);
    else if (!strcmp(strrchr(real, '/'), strrchr(path, '/')))
        hf_error_set(err, HF_UNSUPPORTED, path,
                     "%s is a symbolic link, and a database is only opened under its "
                     "own name: use the folder of %s as the home",
                     shown.text, hf__shown(&target, real));
    else
        hf_error_set(err, HF_UNSUPPORTED, path,
                     "%s is a symbolic link, and a database is only opened under its "
                     "own name: put the file itself here (`mv %s %s` while nothing has "
                     "it open)",
                     shown.text, hf__shown(&target, real), shown.text);
    free(real);
    return HF_UNSUPPORTED;
}

static int
refuse_kind(const char *path, mode_t mode, int beside, struct hf_error *err)
{
    struct hf__shown shown;
    if (S_ISLNK(mode))
        return refuse_link(path, beside, err);
    hf__shown(&shown, path);
    return hf_error_set(
        err, HF_UNSUPPORTED, path,
        "%s is %s, not a database: choose another home, or move it away "
        "(`mv %s NEWNAME`)",
        shown.text, kind_of(mode), shown.text);
}

/* lstat of PATH + SUFFIX.  *ret->st_mode is 0 when there is nothing. */
static int
look_at(const char *path, const char *suffix, struct stat *ret, struct hf_error *err)
{
    char name[4128];
    struct hf__shown shown;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    memset(ret, 0, sizeof *ret);
    if (lstat(name, ret)) {
        int sys = errno;
        memset(ret, 0, sizeof *ret);
        if (sys == ENOENT || sys == ENOTDIR)
            return HF_OK;
        hf_error_set(err, sys == ENAMETOOLONG ? HF_TOO_BIG : HF_IO, name,
                     "cannot look at %s: %s", hf__shown(&shown, name), strerror(sys));
        if (err)
            err->sys_errno = sys;
        return sys == ENAMETOOLONG ? HF_TOO_BIG : HF_IO;
    }
    return S_ISREG(ret->st_mode)
               ? HF_OK
               : refuse_kind(name, ret->st_mode, suffix[0] != '\0', err);
}

/* What the two files hold is in the WAL only: both stay, and the way out is named. */
static int
refuse_wal(const char *path, const char *how, const struct stat *wal,
           struct hf_error *err)
{
    struct hf__shown main_file, wal_file;
    hf__shown(&main_file, path);
    hf__shown_file(&wal_file, path, "-wal");
    return hf_error_set(
        err, HF_CORRUPT, path,
        "%s %s while %s (%lld bytes) holds commits that were never merged into it; "
        "both "
        "are left untouched: get them back with `holdfast sessions recover --source %s "
        "--wal %s --output NEW.db`",
        main_file.text, how, wal_file.text, (long long)wal->st_size, main_file.text,
        wal_file.text);
}

static int
refuse_header(const char *path, const struct stat *wal, struct hf_error *err)
{
    struct hf__shown shown;
    if (wal->st_size > WAL_HEADER)
        return refuse_wal(path, "has a broken header", wal, err);
    hf__shown(&shown, path);
    return hf_error_set(
        err, HF_CORRUPT, path,
        "%s is no SQLite database, or its header is overwritten; it is left "
        "untouched: see what is in it with `holdfast sessions recover "
        "--source %s --inspect-only`",
        shown.text, shown.text);
}

/* A rollback journal that SQLite would play back: it may hold the very header that a
 * crash tore. */
static int
journal_is_hot(const char *path, const struct stat *journal)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9,
                                           0x20, 0xa1, 0x63, 0xd7};
    unsigned char bytes[8];
    char name[4128];
    if (journal->st_size < 512)
        return 0;
    snprintf(name, sizeof name, "%s-journal", path);
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    close(fd);
    return n == (ssize_t)sizeof bytes && !memcmp(bytes, magic, sizeof magic);
}

int
hf__preflight(const char *path, struct hf__look *ret, struct hf_error *err)
{
    struct hf__look l = {0};
    struct hf__shown shown;
    size_t len = 0, again_len = 0;
    unsigned char bytes[100], again[100];
    int code = look_at(path, "", &l.main, err);
    if (code == HF_OK)
        code = look_at(path, "-wal", &l.wal, err);
    if (code == HF_OK)
        code = look_at(path, "-shm", &l.shm, err);
    if (code == HF_OK)
        code = look_at(path, "-journal", &l.journal, err);
    if (code != HF_OK)
        return code;

    l.exists = l.main.st_mode != 0;
    l.wal_holds_frames = l.wal.st_size > WAL_HEADER;
    if (!l.exists) {
        if (l.wal_holds_frames)
            return refuse_wal(path, "is missing", &l.wal, err);
        *ret = l;
        return HF_OK;
    }
    if (l.main.st_size == 0 && !l.wal_holds_frames) {
        *ret = l;
        return HF_OK;
    }
    int sys = hf__peek(path, &l.main, bytes, sizeof bytes, &len);
    if (sys == HF__PEEK_ELSEWHERE) {
        /* A connection of this process passed here before; it will answer. */
        l.header = HF__HEADER_UNREAD;
        *ret = l;
        return HF_OK;
    }
    if (sys) {
        /* A transient error is no verdict: one more look. */
        hf__sleep_ms(10);
        sys = hf__peek(path, &l.main, bytes, sizeof bytes, &len);
    }
    if (sys) {
        code = hf_error_set(
            err, HF_IO, path, "cannot read %s: %s%s", hf__shown(&shown, path),
            strerror(sys),
            sys == EACCES ? " (it belongs to somebody else, or its mode forbids it: "
                            "see `ls -l`)"
                          : "");
        if (err)
            err->sys_errno = sys;
        return code;
    }
    l.header = hf__header_kind(bytes, len);
    if (l.header == HF__HEADER_BAD && !l.wal_holds_frames &&
        journal_is_hot(path, &l.journal))
        l.header = HF__HEADER_UNREAD; /* what it really is shows after the playback */
    if (l.header == HF__HEADER_BAD ||
        (l.header == HF__HEADER_NONE && l.wal_holds_frames)) {
        /* Somebody may be writing the first page just now: only what stays is refused.
         */
        hf__sleep_ms(10);
        sys = hf__peek(path, &l.main, again, sizeof again, &again_len);
        if (sys || again_len != len || memcmp(bytes, again, len) != 0)
            return hf_error_set(
                err, HF_BUSY, path,
                "%s is being written while its header is read: try again",
                hf__shown(&shown, path));
        if (l.header == HF__HEADER_NONE)
            return refuse_wal(path, "is empty", &l.wal, err);
        return refuse_header(path, &l.wal, err);
    }
    *ret = l;
    return HF_OK;
}

/* Files 0600, by path: a descriptor opened for fchmod would drop locks at its close. */
void
hf__tighten(const char *path, const struct hf__look *look)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    const struct stat *const stats[] = {&look->main, &look->wal, &look->shm,
                                        &look->journal};
    char name[4128];
    for (size_t i = 0; i < 4; i++)
        if (stats[i]->st_mode & 077) {
            snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
            /* Somebody else's file stays as its owner wants it. */
            if (stats[i]->st_uid == geteuid() &&
                chmod(name, stats[i]->st_mode & 0700) != 0)
                continue;
        }
}

int
hf__create_file(const char *path, struct hf_error *err)
{
    struct hf__shown shown;
    char folder[4128];
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        /* The umask can have taken the owner's own bits.  Nobody has the file open yet,
         * so closing it drops nobody's locks. */
        (void)fchmod(fd, 0600);
        close(fd);
        return HF_OK;
    }
    if (errno == EEXIST)
        return HF_EXISTS;
    int sys = errno;
    int code = sys == EACCES || sys == EPERM || sys == EROFS ? HF_READ_ONLY
               : sys == ENOSPC || sys == EDQUOT              ? HF_DISK_FULL
                                                             : HF_IO;
    hf__path_folder(folder, sizeof folder, path);
    hf_error_set(err, code, path, "cannot create %s: %s%s", hf__shown(&shown, path),
                 strerror(sys),
                 code == HF_READ_ONLY ? " (its folder cannot be written)" : "");
    if (err)
        err->sys_errno = sys;
    return code;
}

static int
has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n > m && !strcmp(s + n - m, suffix);
}

static int
folder_holds_something(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int any = 0;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (struct dirent *e; !any && (e = readdir(dir));)
        any = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(dir);
    return any;
}

void
hf__used_home(const char *path, struct hf__buf *out)
{
    char folder[4128];
    int found = 0;
    hf__path_folder(folder, sizeof folder, path);
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *e; found < 8 && (e = readdir(dir));) {
        const char *n = e->d_name;
        int is_folder = !strcmp(n, "sessions") || !strcmp(n, "fallback") ||
                        !strcmp(n, "jsonl") || !strcmp(n, "backups");
        if (is_folder ? folder_holds_something(dirfd(dir), n)
                      : has_suffix(n, ".jsonl") || has_suffix(n, ".bak") ||
                            strstr(n, ".malformed-backup-") != NULL) {
            struct hf__shown shown;
            hf__buf_addf(out, "%s%s%s", found++ ? ", " : "", hf__shown(&shown, n),
                         is_folder ? "/" : "");
        }
    }
    closedir(dir);
}
