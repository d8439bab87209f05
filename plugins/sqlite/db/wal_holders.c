/* wal_holders.c - before an open for writing: does a process still work with another
 * generation of this database?  A second WAL beside a live one would part the store in
 * two.  Only what looks wrong on disk is a reason to search, since the search takes
 * milliseconds and a settled open has none to spare. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

/* ---- copying the WAL from another process ---- */

struct from {
    int wal; /* our descriptor of it, or -1 */
    unsigned char header[100];
    size_t header_len;
};

static int64_t
from_size(void *ctx, int which)
{
    const struct from *f = ctx;
    struct stat st;
    if (which == HF__GEN_MAIN)
        return (int64_t)f->header_len;
    return fstat(f->wal, &st) ? -1 : (int64_t)st.st_size;
}

static int64_t
from_read(void *ctx, int which, void *ret, int64_t size, int64_t at)
{
    const struct from *f = ctx;
    if (which == HF__GEN_MAIN) {
        int64_t left = (int64_t)f->header_len - at;
        size = left < size ? left : size;
        memcpy(ret, f->header + at, (size_t)size);
        return size;
    }
    for (;;) {
        ssize_t n = pread(f->wal, ret, (size_t)size, at);
        if (n >= 0 || errno != EINTR)
            return n;
    }
}

/* Where the WAL of that process is kept: copied now, or by an earlier call.  NULL when
 * it may not be read. */
static char *
holder_capture(struct hf_sqlite_db *db, const struct hf__look *look,
               const struct hf__orphan *o)
{
    struct hf__capture what = {.path = db->path, .reason = "wal_lost", .pid = o->pid};
    struct from from = {.wal = -1};
    struct stat st;
    char name[4300], *folder = NULL;
    if (hf__wal_captured(db->path, &o->st[HF__ORPHAN_WAL], name, sizeof name))
        return strdup(name);
    if (o->pid == (int)getpid())
        return NULL; /* the handle that lost it does that itself */
    snprintf(name, sizeof name, "/proc/%d/fd/%d", o->pid, o->fd[HF__ORPHAN_WAL]);
    from.wal = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    /* Its number may be another file's by now. */
    if (from.wal >= 0 && !fstat(from.wal, &st) &&
        st.st_dev == o->st[HF__ORPHAN_WAL].st_dev &&
        st.st_ino == o->st[HF__ORPHAN_WAL].st_ino) {
        what.ctx = &from;
        what.size = from_size;
        what.read = from_read;
        what.st[HF__GEN_MAIN] = look->main;
        what.st[HF__GEN_WAL] = st;
        if (hf__peek(db->path, &look->main, from.header, sizeof from.header,
                     &from.header_len) != 0)
            from.header_len = 0;
        (void)hf__wal_capture(&what, &folder);
    }
    if (from.wal >= 0)
        close(from.wal);
    return folder;
}

static void
captures_text(struct hf_sqlite_db *db, const struct hf__look *look,
              const struct hf__orphans *found, struct hf__buf *out)
{
    struct hf__shown shown;
    int any = 0;
    for (size_t i = 0; i < found->n; i++) {
        size_t k = 0; /* several processes share one WAL */
        while (k < i && (!(found->v[k].files & 1u << HF__ORPHAN_WAL) ||
                         found->v[k].st[HF__ORPHAN_WAL].st_ino !=
                             found->v[i].st[HF__ORPHAN_WAL].st_ino))
            k++;
        if (k < i || !(found->v[i].files & 1u << HF__ORPHAN_WAL))
            continue;
        char *folder = holder_capture(db, look, &found->v[i]);
        if (folder)
            hf__buf_addf(out, "%s%s", any++ ? ", " : "; its log is kept in ",
                         hf__shown(&shown, folder));
        free(folder);
    }
}

int
hf__wal_holders_check(struct hf_sqlite_db *db, const struct hf__look *look,
                      struct hf_error *err)
{
    int lost =
        look->header == HF__HEADER_WAL && (!look->wal.st_mode || !look->shm.st_mode);
    /* SQLite would play that log into a file that is not in WAL mode: it belongs to one
     * that stood here before. */
    int replaced = look->header == HF__HEADER_ROLLBACK && look->wal_holds_frames;
    struct hf__orphans *found;
    struct hf__shown shown;
    struct hf__buf text = {0};
    int code = HF_OK;
    unsigned which = lost       ? 1u << HF__ORPHAN_WAL | 1u << HF__ORPHAN_SHM
                     : replaced ? 1u << HF__ORPHAN_MAIN
                                : 0;
    /* What stands at the names now may be a copy of what others still work with. */
    if (!which && db->opt.after_loss) {
        which = 1u << HF__ORPHAN_WAL | 1u << HF__ORPHAN_SHM | 1u << HF__ORPHAN_MAIN;
        lost = 1;
    }
    if (!which)
        return HF_OK;
    found = calloc(1, sizeof *found);
    if (!found)
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    hf__orphans_find(db->path, which, found);
    if (found->n) {
        hf__buf_adds(&text, "");
        hf__orphans_text(&text, db->path, found);
        if (lost)
            captures_text(db, look, found, &text);
        code = lost ? HF_WAL_LOST : HF_REPLACED;
        hf_error_set(
            err, code, db->path,
            lost ? "the files of %s were taken away under processes that go on "
                   "writing to them, and a second log would part the store: stop them "
                   "first: %s"
                 : "another file was put at %s while processes still use the old "
                   "one, whose log lies beside it: stop them first: %s",
            hf__shown(&shown, db->path), text.failed ? "?" : text.ptr);
    }
    hf__buf_free(&text);
    free(found);
    return code;
}
