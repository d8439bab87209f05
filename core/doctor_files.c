/* doctor_files.c - the files of a state.db, looked at by stat and plain reads.  A plain
 * read ends in a close(), which would cancel the locks of a connection of this process on
 * the same file: so nothing is opened while one is live, and none can come to life
 * meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "util/size.h"

#define WAL_HEADER 32
#define FRAME_HEADER 24
#define WAL_NOTE (10u << 20)
#define WAL_WARN (50u << 20)

/* Reads up to SIZE bytes of PATH; how many, or -1. */
static ssize_t
read_head(const char *path, unsigned char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = -1;
    int saved;

    if (fd >= 0) {
        n = pread(fd, buf, size, 0);
        saved = errno;
        close(fd);
        errno = saved;
    }
    return n;
}

static uint32_t
big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static enum hf__main_file
read_kind(struct hf__doctor_files *f)
{
    static const unsigned char magic[16] = "SQLite format 3";
    unsigned char head[100];
    ssize_t n = read_head(f->path[0], head, sizeof head);

    if (n < 0) {
        f->error = errno;
        return HF__MAIN_UNREADABLE;
    }
    if (n == 0)
        return HF__MAIN_EMPTY;
    if (n < (ssize_t)sizeof head || memcmp(head, magic, sizeof magic) != 0)
        return HF__MAIN_BAD;
    if (head[18] == 2 && head[19] == 2)
        return HF__MAIN_WAL;
    return head[18] == 1 && head[19] == 1 ? HF__MAIN_ROLLBACK : HF__MAIN_BAD;
}

/* Whether the WAL holds a frame that belongs to its header: an older one, left behind by
 * a reset, has other salts. */
static void
read_wal(struct hf__doctor_files *f)
{
    unsigned char head[WAL_HEADER + FRAME_HEADER], shm[136];
    uint32_t filled, last;

    f->wal_pending = -1;
    if (!f->there[1] || read_head(f->path[1], head, sizeof head) < (ssize_t)sizeof head)
        return;
    f->wal_frames = (big_endian(head) & ~1u) == 0x377f0682u &&
                    memcmp(head + 16, head + WAL_HEADER + 8, 8) == 0 &&
                    big_endian(head + WAL_HEADER) != 0;
    /* The shared memory says how much of it was copied already.  It is written in the
     * machine's own byte order. */
    if (!f->there[2] || read_head(f->path[2], shm, sizeof shm) < (ssize_t)sizeof shm)
        return;
    memcpy(&last, shm + 16, 4);
    memcpy(&filled, shm + 96, 4);
    if (shm[12] == 1 && memcmp(shm, shm + 48, 48) == 0 && filled <= last)
        f->wal_pending = (int64_t)last - (int64_t)filled;
}

void
hf__doctor_look(struct hf__doctor *d)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
    struct hf__doctor_files *f = &d->files;
    size_t i;

    memset(f, 0, sizeof *f);
    for (i = 0; i < 3; i++) {
        f->path[i] = hf__path_join(d->home, names[i]);
        if (!f->path[i]) {
            d->no_memory = 1;
            return;
        }
        f->there[i] = lstat(f->path[i], &f->st[i]) == 0;
    }
    if (hf__live_guard(f->path[0], NULL) != HF_OK)
        f->kind = HF__MAIN_LIVE;
    else {
        if (!f->there[0])
            f->kind = HF__MAIN_MISSING;
        else if (!S_ISREG(f->st[0].st_mode))
            f->kind = HF__MAIN_NOT_REGULAR;
        else
            f->kind = read_kind(f);
        read_wal(f);
        hf__live_unguard(f->path[0]);
    }
    hf__holders_find(f->st, f->there, 3, &f->holders);
}

void
hf__doctor_files_free(struct hf__doctor_files *f)
{
    size_t i;

    for (i = 0; i < 3; i++)
        free(f->path[i]);
    memset(f, 0, sizeof *f);
}

/* The name of something in the home that shows that there was a store before, or NULL;
 * to be freed. */
static char *
trace_of_use(const char *home)
{
    DIR *dir = opendir(home);
    struct dirent *entry;
    char *found = NULL;

    while (dir && !found && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name, *dot = strrchr(name, '.');
        if ((strncmp(name, "state.db", 8) == 0 && strcmp(name, "state.db") != 0 &&
             strncmp(name, "state.db-", 9) != 0) ||
            (dot && (strcmp(dot, ".bak") == 0 || strcmp(dot, ".jsonl") == 0)) ||
            strcmp(name, "backups") == 0 || strcmp(name, "sessions") == 0)
            found = strdup(name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Rows about a main file that no connection may be opened on. */
static void
refused_rows(struct hf__doctor *d, const char *size_wal)
{
    const struct hf__doctor_files *f = &d->files;
    const char *path = f->path[0];
    static const char keep[] =
        "keep both files as they are and copy them; holdfast sessions recover --source "
        "reads such a copy";

    if (f->kind == HF__MAIN_NOT_REGULAR)
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_FAILURE, 0, "main_not_regular", path,
                       S_ISLNK(f->st[0].st_mode)
                           ? "name the folder of its target as the home, or put the "
                             "file itself here"
                           : "move it away, or name another home",
                       "state.db is %s",
                       S_ISDIR(f->st[0].st_mode)    ? "a directory"
                       : S_ISLNK(f->st[0].st_mode)  ? "a symlink"
                       : S_ISFIFO(f->st[0].st_mode) ? "a FIFO"
                                                    : "not a regular file");
    else if ((f->kind == HF__MAIN_MISSING || f->kind == HF__MAIN_EMPTY) && f->wal_frames)
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_FAILURE, 0, "main_lost", path, keep,
                       "state.db is %s beside a write-ahead log that holds commits (%s)",
                       f->kind == HF__MAIN_EMPTY ? "empty" : "missing", size_wal);
    else if (f->kind == HF__MAIN_BAD)
        hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_FAILURE, 0, "header_bad", path,
                       f->wal_frames
                           ? keep
                           : "keep the file as it is and copy it; holdfast sessions "
                             "recover --source reads such a copy",
                       "state.db: the header is not that of an SQLite database%s",
                       f->wal_frames ? ", and its write-ahead log holds commits" : "");
    else
        return;
    d->refused = 1;
}

static void
wal_rows(struct hf__doctor *d, const char *size_wal)
{
    const struct hf__doctor_files *f = &d->files;
    uint64_t bytes = f->there[1] ? (uint64_t)f->st[1].st_size : 0;
    struct hf__buf held = {0};

    hf__buf_adds(&held, "");
    hf__holders_text(&held, &f->holders);
    if (held.failed)
        d->no_memory = 1;
    else if (bytes > WAL_NOTE && f->wal_pending == 0)
        hf__doctor_add(d, HF__DR_SIZE, HF_SEV_INFO, 0, "wal_large", f->path[1], NULL,
                       "state.db-wal is large (%s), but all of it is in state.db",
                       size_wal);
    else if (bytes > WAL_NOTE)
        hf__doctor_add(d, HF__DR_SIZE, bytes > WAL_WARN ? HF_SEV_WARNING : HF_SEV_INFO, 0,
                       "wal_large", f->path[1],
                       f->holders.n ? "a reader that never ends keeps it from shrinking; "
                                      "look at the processes that hold it"
                                    : "the next program that opens and closes the store "
                                      "empties it",
                       "state.db-wal is large: %s%s%s", size_wal,
                       f->holders.n ? ", held by " : "", f->holders.n ? held.ptr : "");
    if (f->kind == HF__MAIN_WAL && f->wal_frames && f->wal_pending != 0 &&
        f->holders.n == 0 && !f->holders.blind)
        hf__doctor_add(d, HF__DR_SIZE, HF_SEV_WARNING, 0, "wal_orphan", f->path[1],
                       "do not copy a file over this store or delete its log; the next "
                       "program that opens it takes the commits in",
                       "state.db-wal holds commits (%s) and no process has it open",
                       size_wal);
    if (d->fix && f->wal_frames && f->wal_pending != 0 && held.ptr)
        hf__doctor_add(d, HF__DR_SIZE, HF_SEV_INFO, 0, "checkpoint_skipped", f->path[1],
                       f->holders.n ? "stop these processes; the last one that closes "
                                      "the store empties the log"
                                    : "a gateway that opens and closes the store "
                                      "empties the log",
                       "the log was not copied into state.db%s%s",
                       f->holders.n       ? ": it is held by "
                       : f->holders.blind ? ": some processes could not be looked at"
                                          : " by doctor",
                       f->holders.n ? held.ptr : "");
    hf__buf_free(&held);
}

void
hf__doctor_file_rows(struct hf__doctor *d)
{
    const struct hf__doctor_files *f = &d->files;
    char size_main[32], size_wal[32], *used;

    hf__size_text(f->there[0] ? (uint64_t)f->st[0].st_size : 0, size_main,
                  sizeof size_main);
    hf__size_text(f->there[1] ? (uint64_t)f->st[1].st_size : 0, size_wal,
                  sizeof size_wal);
    refused_rows(d, size_wal);
    if (!d->refused && f->kind == HF__MAIN_EMPTY) {
        used = trace_of_use(d->home);
        if (used)
            hf__doctor_add(d, HF__DR_JOURNAL, HF_SEV_WARNING, 0, "used_home_empty",
                           f->path[0],
                           "if a store was here, restore it before a gateway starts",
                           "state.db is empty, but this home was used before (%s)", used);
        free(used);
    }
    if (f->there[0] && S_ISREG(f->st[0].st_mode) && f->st[0].st_size > 0)
        hf__doctor_add(d, HF__DR_SIZE, HF_SEV_OK, 0, "sizes", f->path[0], NULL,
                       "state.db %s, write-ahead log %s", size_main, size_wal);
    wal_rows(d, size_wal);
}
