/* damage.c - databases of which this process knows that they are damaged (SPEC 4.4).
 *
 * What was written into a damaged file may be lost with it, so the first proof stops
 * every writer of the path in this process.  Reading goes on.  The latch opens when
 * another file stands at the path, or when `repair` or `restore` has stamped this one,
 * and then only after the file was checked. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "private.h"

struct damaged {
    struct damaged *next;
    char *path;
    dev_t dev; /* the file that was damaged, or that failed the last check */
    ino_t ino;
    char stamp[64]; /* state_meta.holdfast_repaired at that time */
    double since;
    char cause[1024];
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct damaged *list;    /* under list_lock */
static atomic_uint list_length; /* nearly always 0: then nobody asks further */

static struct damaged *
find(const char *path)
{
    struct damaged *d = list;
    while (d && strcmp(d->path, path) != 0)
        d = d->next;
    return d;
}

static void
forget(const char *path)
{
    pthread_mutex_lock(&list_lock);
    for (struct damaged **at = &list; *at; at = &(*at)->next) {
        struct damaged *d = *at;
        if (strcmp(d->path, path) != 0)
            continue;
        *at = d->next;
        free(d->path);
        free(d);
        atomic_fetch_sub(&list_length, 1);
        break;
    }
    pthread_mutex_unlock(&list_lock);
}

/* One text of SQL, or "" where there is none or it cannot be read. */
static void
text_of(struct hf_sqlite_store *st, const char *sql, char *ret, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    const char *text = NULL;

    if (sqlite3_prepare_v2(hf_sqlite_handle(st->db), sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(stmt, 0);
    snprintf(ret, size, "%s", text ? text : "");
    sqlite3_finalize(stmt);
}

static void
stamp_read(struct hf_sqlite_store *st, char *ret, size_t size)
{
    text_of(st, "SELECT value FROM state_meta WHERE key = 'holdfast_repaired'", ret, size);
}

void
hf__damage_latch(struct hf_sqlite_store *st, const char *cause)
{
    struct damaged *d = calloc(1, sizeof *d);
    struct stat now;
    int is_new = 0;

    if (d && (d->path = strdup(st->path)) != NULL) {
        if (stat(st->path, &now) == 0) {
            d->dev = now.st_dev;
            d->ino = now.st_ino;
        }
        stamp_read(st, d->stamp, sizeof d->stamp);
        d->since = hf__now();
        snprintf(d->cause, sizeof d->cause, "%s", cause);
        pthread_mutex_lock(&list_lock);
        if (!find(st->path)) {
            d->next = list;
            list = d;
            atomic_fetch_add(&list_length, 1);
            is_new = 1;
        }
        pthread_mutex_unlock(&list_lock);
    }
    if (!is_new && d) {
        free(d->path);
        free(d);
    }
    if (is_new)
        st->host->log(st->host->ctx, HF_LOG_ERROR, "corrupt", st->path,
                      "%s is damaged (%s): this process writes nothing more into it; "
                      "`holdfast sessions recover` saves what it holds, or restore a "
                      "backup",
                      st->path, cause);
}

/* Whether there is a reason to look at the file again: another one, or a new stamp. */
static int
changed(struct hf_sqlite_store *st, struct damaged *copy)
{
    struct stat now;
    char stamp[sizeof copy->stamp];

    if (stat(st->path, &now) != 0)
        return 0;
    stamp_read(st, stamp, sizeof stamp);
    if (now.st_dev == copy->dev && now.st_ino == copy->ino &&
        (!*stamp || strcmp(stamp, copy->stamp) == 0))
        return 0;
    copy->dev = now.st_dev;
    copy->ino = now.st_ino;
    memcpy(copy->stamp, stamp, sizeof stamp);
    return 1;
}

static int
passes(struct hf_sqlite_store *st)
{
    char answer[64];
    text_of(st, "PRAGMA quick_check(1)", answer, sizeof answer);
    return strcmp(answer, "ok") == 0;
}

int
hf__damage_refused(struct hf_sqlite_store *st, struct hf_error *err)
{
    struct damaged copy, *d;
    int rc;

    if (atomic_load(&list_length) == 0)
        return HF_OK;
    pthread_mutex_lock(&list_lock);
    d = find(st->path);
    if (d)
        copy = *d;
    pthread_mutex_unlock(&list_lock);
    if (!d)
        return HF_OK;
    /* A handle on the file that stood there before has nothing to say of the new one. */
    rc = hf_sqlite_compare(st->db, err);
    if (rc == HF_WAL_LOST || rc == HF_REPLACED)
        return rc;
    if (changed(st, &copy)) {
        if (passes(st)) {
            forget(st->path);
            return HF_OK;
        }
        pthread_mutex_lock(&list_lock); /* so that it is not checked at every write */
        if ((d = find(st->path)) != NULL) {
            d->dev = copy.dev;
            d->ino = copy.ino;
            memcpy(d->stamp, copy.stamp, sizeof d->stamp);
        }
        pthread_mutex_unlock(&list_lock);
    }
    return hf_error_set(err, HF_CORRUPT, st->path,
                        "%s is damaged and takes no more writes from this process; the "
                        "first cause was: %s; run `holdfast sessions recover` or restore "
                        "a backup",
                        st->path, copy.cause);
}

void
hf__damage_look(struct hf_sqlite_store *st)
{
    struct hf_error ignored;
    if (atomic_load(&list_length) == 0 || pthread_mutex_trylock(&st->lock) != 0)
        return;
    (void)hf__damage_refused(st, &ignored);
    pthread_mutex_unlock(&st->lock);
}

int
hf__damage_known(const struct hf_sqlite_store *st, double *ret_since, char *ret,
                 size_t size)
{
    struct damaged *d;

    if (atomic_load(&list_length) == 0)
        return 0;
    pthread_mutex_lock(&list_lock);
    d = find(st->path);
    if (d) {
        *ret_since = d->since;
        snprintf(ret, size, "%s is damaged: %s", st->path, d->cause);
    }
    pthread_mutex_unlock(&list_lock);
    return d != NULL;
}
