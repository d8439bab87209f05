/* loss.c - a generation that was lost, once for all handles of this process that had it
 * open: its WAL is copied once, and the log says it once.  An entry lives as long as
 * one of the handles, so that its inodes cannot be used again meanwhile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

#define AGAIN_MS 1000

struct hf__loss {
    struct hf__loss *next;
    uint32_t refs; /* this and next under the list's lock */
    char *path;
    struct hf__identity main, wal;
    int code;
    double since;
    pthread_mutex_t lock; /* over what follows */
    char how[400];        /* the fact in words */
    char *folder;         /* where the WAL was copied to */
    int sys;              /* why it could not be; 0: it was, or there is none */
    int tried;
    int64_t tried_ms;
};
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf__loss *all_losses;

static int
same(const struct hf__identity *a, const struct hf__identity *b)
{
    return a->known == b->known &&
           (!a->known || (a->dev == b->dev && a->ino == b->ino));
}

/* An entry with one more reference, or NULL. */
static struct hf__loss *
entry_get(struct hf_sqlite_db *db, int code, const char *how)
{
    const struct hf__identity *file = db->generation.file;
    pthread_mutex_lock(&list_lock);
    struct hf__loss *loss = all_losses;
    while (loss &&
           (strcmp(loss->path, db->path) || !same(&loss->main, &file[HF__GEN_MAIN]) ||
            !same(&loss->wal, &file[HF__GEN_WAL])))
        loss = loss->next;
    if (loss)
        loss->refs++;
    else if ((loss = calloc(1, sizeof *loss)) && !(loss->path = strdup(db->path))) {
        free(loss);
        loss = NULL;
    } else if (loss) {
        loss->refs = 1;
        loss->main = file[HF__GEN_MAIN];
        loss->wal = file[HF__GEN_WAL];
        loss->code = code;
        loss->since = hf__now();
        pthread_mutex_init(&loss->lock, NULL);
        snprintf(loss->how, sizeof loss->how, "%s", how);
        loss->next = all_losses;
        all_losses = loss;
    }
    pthread_mutex_unlock(&list_lock);
    return loss;
}

static int64_t
own_size(void *ctx, int which)
{
    return hf__own_size(ctx, which);
}

static int64_t
own_read(void *ctx, int which, void *ret, int64_t size, int64_t at)
{
    return hf__own_read(ctx, which, ret, size, at);
}

/* Copies the WAL through DB's descriptor; under the loss's lock. */
static void
copy_wal(struct hf_sqlite_db *db, struct hf__loss *loss)
{
    struct hf__capture what = {.path = db->path, .pid = (int)getpid(), .ctx = db};
    const struct hf__generation *gen = &db->generation;
    loss->tried = 1;
    loss->tried_ms = hf__monotonic_ms();
    loss->sys = 0;
    if (!gen->file[HF__GEN_WAL].known)
        return; /* in rollback mode there is nothing beside the file */
    what.reason = loss->code == HF_REPLACED ? "replaced" : "wal_lost";
    what.size = own_size;
    what.read = own_read;
    for (int i = 0; i < HF__GEN_FILES; i++) {
        what.st[i].st_mode = gen->file[i].known ? S_IFREG : 0;
        what.st[i].st_dev = gen->file[i].dev;
        what.st[i].st_ino = gen->file[i].ino;
    }
    loss->sys = hf__wal_capture(&what, &loss->folder);
    if (loss->folder && loss->code == HF_REPLACED)
        hf__sidecars_retire(db->path, gen, loss->folder);
}

static void
text_of(const struct hf__loss *loss, char *ret, size_t size)
{
    struct hf__shown path, folder, wal;
    char end[2200] = "";
    const char *base = strrchr(loss->path, '/') + 1;
    hf__shown(&path, loss->path);
    if (loss->folder) {
        char name[4400];
        snprintf(name, sizeof name, "%s/%s-wal", loss->folder, base);
        hf__shown(&folder, loss->folder);
        hf__shown(&wal, name);
    }
    if (loss->folder && loss->code == HF_WAL_LOST)
        snprintf(
            end, sizeof end,
            "; the log is kept in %s: stop every process that uses the store, then "
            "`holdfast sessions recover --source %s --wal %s --output NEW.db`",
            folder.text, path.text, wal.text);
    else if (loss->folder)
        snprintf(end, sizeof end,
                 "; the log of the file that was there is kept in %s, do not lay it "
                 "beside the new one; open the store again to use the new file",
                 folder.text);
    else if (loss->sys)
        snprintf(end, sizeof end,
                 "; copying the log failed (%s) and is tried again while the store is "
                 "open: make it possible before this process ends",
                 strerror(loss->sys));
    else
        snprintf(end, sizeof end, "; open the store again");
    int n = snprintf(ret, size, "%s; nothing more is written through it", loss->how);
    if (n > 0 && (size_t)n < size)
        snprintf(ret + n, size - (size_t)n, "%s", end);
}

struct hf__loss *
hf__loss_join(struct hf_sqlite_db *db, int code, const char *how)
{
    char text[1900];
    struct hf__loss *loss = entry_get(db, code, how);
    if (!loss)
        return NULL;
    pthread_mutex_lock(&loss->lock);
    int first = !loss->tried;
    if (first) {
        copy_wal(db, loss);
        text_of(loss, text, sizeof text);
    }
    pthread_mutex_unlock(&loss->lock);
    if (first)
        hf__db_log(db, HF_LOG_ERROR, code == HF_REPLACED ? "replaced" : "wal_lost",
                   "%s", text);
    return loss;
}

void
hf__loss_again(struct hf_sqlite_db *db, struct hf__loss *loss)
{
    char text[1900] = "";
    pthread_mutex_lock(&loss->lock);
    if (loss->sys && hf__monotonic_ms() - loss->tried_ms >= AGAIN_MS) {
        copy_wal(db, loss);
        if (!loss->sys)
            text_of(loss, text, sizeof text);
    }
    pthread_mutex_unlock(&loss->lock);
    if (text[0])
        hf__db_log(db, HF_LOG_WARNING, "wal_captured", "%s", text);
}

void
hf__loss_leave(struct hf__loss *loss)
{
    pthread_mutex_lock(&list_lock);
    int last = --loss->refs == 0;
    if (last) {
        struct hf__loss **p = &all_losses;
        while (*p != loss)
            p = &(*p)->next;
        *p = loss->next;
    }
    pthread_mutex_unlock(&list_lock);
    if (!last)
        return;
    pthread_mutex_destroy(&loss->lock);
    free(loss->folder);
    free(loss->path);
    free(loss);
}

void
hf__loss_text(struct hf__loss *loss, char *ret, size_t size)
{
    pthread_mutex_lock(&loss->lock);
    text_of(loss, ret, size);
    pthread_mutex_unlock(&loss->lock);
}

double
hf__loss_since(const struct hf__loss *loss)
{
    return loss->since;
}
