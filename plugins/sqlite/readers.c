/* readers.c - further connections of an open store, for reading only: so that a reader
 * does not stand behind a writer of the same handle who waits for somebody else's lock,
 * nor behind another reader, nor an append behind a slow one (SPEC 4.5).  Only in WAL
 * mode; elsewhere readers queue on the writer's lock, as SQLite's own locks make them
 * wait anyway. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "private.h"

#define RETRY_MS 1000 /* after an open that failed */

static struct hf_sqlite_store *
reader_open(struct hf_sqlite_store *st)
{
    struct hf_sqlite_options options = st->options;
    struct hf_sqlite_store *reader = calloc(1, sizeof *reader);
    struct hf_error ignored;

    if (!reader)
        return NULL;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_mutex_init(&reader->reader_lock, NULL);
    reader->host = st->host;
    reader->read_only = 1;
    reader->patience_ms = st->patience_ms;
    reader->home = strdup(st->home);
    reader->path = strdup(st->path);
    options.path = reader->path;
    options.read_only = 1;
    options.read_only_first = 0;
    options.ctx = reader;
    if (!reader->home || !reader->path ||
        hf_sqlite_open_db(&options, &reader->db, &ignored) < 0 ||
        hf_sqlite_frozen(reader->db) ||
        hf_sqlite_journal(reader->db) != HF_JOURNAL_WAL ||
        hf__shape_read(reader, &ignored) < 0) {
        hf__store_free(reader);
        return NULL;
    }
    return reader;
}

void
hf__lost_look(struct hf_sqlite_store *st)
{
    struct hf_error ignored;
    /* A call that is under way looks itself. */
    if (pthread_mutex_trylock(&st->lock) != 0)
        return;
    (void)hf_sqlite_compare(st->db, &ignored);
    pthread_mutex_unlock(&st->lock);
}

void
hf__readers_settings(struct hf_sqlite_store *st, const struct hf_setting *database)
{
    struct rlimit limit;

    st->readers_max = 8;
    for (const struct hf_setting *s = database; s && s->key; s++)
        if (!strcmp(s->key, "read_pool_max") && s->value && atoi(s->value) > 0)
            st->readers_max = (uint32_t)atoi(s->value);
    if (st->readers_max > 64)
        st->readers_max = 64;
    /* Descriptors are the host program's: where they are few, few are taken. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 16 < st->readers_max)
        st->readers_max = (uint32_t)(limit.rlim_cur / 16);
}

/* Takes a free one; the same ones again, whose pages are in memory.  Under
 * reader_lock. */
static struct hf_sqlite_store *
take_free(struct hf_sqlite_store *st)
{
    for (uint32_t i = 0; i < 64; i++)
        if (st->readers[i] && !(st->readers_busy & (UINT64_C(1) << i))) {
            st->readers_busy |= UINT64_C(1) << i;
            return st->readers[i];
        }
    return NULL;
}

/* Enters a new one as taken.  Under reader_lock. */
static void
enter(struct hf_sqlite_store *st, struct hf_sqlite_store *reader)
{
    uint32_t i = 0;
    while (st->readers[i]) /* n_readers, at most 64, counts this one */
        i++;
    st->readers[i] = reader;
    st->readers_busy |= UINT64_C(1) << i;
}

struct hf_sqlite_store *
hf__reader_acquire(struct hf_sqlite_store *st)
{
    struct hf_sqlite_store *reader;
    uint32_t may_open;

    if (st->read_only || !st->db || hf_sqlite_journal(st->db) != HF_JOURNAL_WAL)
        return st;
    pthread_mutex_lock(&st->reader_lock);
    reader = take_free(st);
    may_open = !reader && st->n_readers < st->readers_max &&
               hf__monotonic_ms() >= st->reader_retry_ms;
    st->n_readers += may_open;
    pthread_mutex_unlock(&st->reader_lock);
    if (!may_open)
        return reader ? reader : st;
    /* A store that lost its files opens nothing more at that path: what stands there
     * may be another store. */
    hf__lost_look(st);
    if (hf_sqlite_lost(st->db, NULL, NULL) == HF_OK)
        reader = reader_open(st);
    pthread_mutex_lock(&st->reader_lock);
    if (reader) {
        enter(st, reader);
    } else {
        /* A failed open degrades to the queue; it never fails a read. */
        st->n_readers--;
        st->reader_retry_ms = hf__monotonic_ms() + RETRY_MS;
        reader = take_free(st);
    }
    pthread_mutex_unlock(&st->reader_lock);
    return reader ? reader : st;
}

void
hf__reader_release(struct hf_sqlite_store *st, struct hf_sqlite_store *reader)
{
    if (reader == st)
        return;
    pthread_mutex_lock(&st->reader_lock);
    for (uint32_t i = 0; i < 64; i++)
        if (st->readers[i] == reader)
            st->readers_busy &= ~(UINT64_C(1) << i);
    pthread_mutex_unlock(&st->reader_lock);
}

void
hf__readers_interrupt(struct hf_sqlite_store *st)
{
    pthread_mutex_lock(&st->reader_lock);
    for (uint32_t i = 0; i < 64; i++)
        if (st->readers[i])
            hf_sqlite_interrupt(st->readers[i]->db);
    pthread_mutex_unlock(&st->reader_lock);
}

void
hf__readers_close(struct hf_sqlite_store *st)
{
    for (uint32_t i = 0; i < 64; i++)
        if (st->readers[i])
            hf__store_free(st->readers[i]);
}

int
hf__read_lock(struct hf_sqlite_store *st, struct hf_error *err)
{
    int rc;

    pthread_mutex_lock(&st->lock);
    rc = hf_sqlite_read_begin(st->db, err);
    if (rc < 0)
        pthread_mutex_unlock(&st->lock);
    return rc;
}

int
hf__read_unlock(struct hf_sqlite_store *st, int rc, struct hf_error *err)
{
    struct hf_error changed;

    /* Not finding it, too, may come of a torn read. */
    if ((rc == HF_OK || rc == HF_NOT_FOUND || rc == HF_FTS_INDEX) &&
        hf_sqlite_read_check(st->db, &changed) < 0) {
        rc = changed.code;
        if (err)
            *err = changed;
    }
    pthread_mutex_unlock(&st->lock);
    return rc;
}
