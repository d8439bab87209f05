/* readers.c - a second connection of an open store, for reading only: so that a reader
 * does not stand behind a writer of the same handle who waits for somebody else's lock,
 * nor an append behind a slow reader (SPEC 4.5).  Only in WAL mode; elsewhere readers
 * queue on the writer's lock, as SQLite's own locks make them wait anyway. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

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

struct hf_sqlite_store *
hf__reader(struct hf_sqlite_store *st)
{
    struct hf_sqlite_store *reader;

    if (st->read_only || !st->db || hf_sqlite_journal(st->db) != HF_JOURNAL_WAL)
        return st;
    pthread_mutex_lock(&st->reader_lock);
    reader = atomic_load(&st->reader);
    /* A store that lost its files opens nothing more at that path: what stands there
     * may be another store. */
    if (!reader && !st->reader_failed)
        hf__lost_look(st);
    if (!reader && !st->reader_failed && hf_sqlite_lost(st->db, NULL, NULL) == HF_OK) {
        reader = reader_open(st);
        atomic_store(&st->reader, reader);
        /* A failed open degrades to the queue; it never fails a read. */
        st->reader_failed = !reader;
    }
    pthread_mutex_unlock(&st->reader_lock);
    return reader ? reader : st;
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
