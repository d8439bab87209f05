/* sqlite.c - the sqlite backend's table, and its handle: open, close, flush, backup. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdfast/version.h>

#include "private.h"

void
hf__store_free(struct hf_sqlite_store *st)
{
    hf__readers_close(st); /* first: the last close of a path empties the WAL */
    hf__shape_free(&st->shape);
    hf_sqlite_close_db(&st->db);
    hf__unsettled_free(st);
    pthread_mutex_destroy(&st->lock);
    pthread_mutex_destroy(&st->reader_lock);
    free(st->home);
    free(st->path);
    free(st);
}

static void
op_close(void *store)
{
    hf__store_free(store);
}

/* Whether the file is a database in which nothing was ever made, as a crash between its
 * creation and the schema leaves it: for a reader that is an empty store. */
static int
has_no_objects(struct hf_sqlite_store *st)
{
    sqlite3_stmt *stmt = NULL;
    int none = 0;

    if (sqlite3_prepare_v2(hf_sqlite_handle(st->db), "SELECT 1 FROM sqlite_master LIMIT 1",
                           -1, &stmt, NULL) == SQLITE_OK)
        none = sqlite3_step(stmt) == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return none;
}

static int
op_open(const struct hf_host *host, const struct hf_open *how, void **ret_store,
        struct hf_error *err)
{
    struct hf_sqlite_options options = HF_INIT(struct hf_sqlite_options);
    struct hf_sqlite_store *st = calloc(1, sizeof *st);
    int rc;

    if (!st)
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    pthread_mutex_init(&st->lock, NULL);
    pthread_mutex_init(&st->reader_lock, NULL);
    st->host = host;
    st->read_only = how->read_only || how->read_only_first;
    st->may_thread = how->may_thread;
    st->home = strdup(how->home);
    st->path = hf__path_join(how->home, "state.db");
    if (!st->home || !st->path) {
        rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
        goto fail;
    }
    rc = hf_sqlite_options_from(host, how, &options, err);
    if (rc < 0)
        goto fail;
    options.host = host;
    options.path = st->path;
    options.read_only = how->read_only;
    options.read_only_first = how->read_only_first;
    options.after_loss = how->after_loss;
    options.is_current = hf__schema_is_current;
    options.initialize = hf__schema_initialize;
    options.ctx = st;
    st->patience_ms = options.patience_ms;
    st->options = options;
    hf__readers_settings(st, how->database);
    rc = hf_sqlite_open_db(&options, &st->db, err);
    if (rc == HF_OK && st->read_only && has_no_objects(st))
        hf_sqlite_close_db(&st->db);
    if ((rc == HF_OK && !st->db) || (rc == HF_NOT_FOUND && st->read_only)) {
        *ret_store = st; /* an empty store */
        return HF_OK;
    }
    if (rc == HF_OK)
        rc = hf__shape_read(st, err);
    if (rc == HF_OK && !st->read_only)
        rc = hf__unsettled_start(st, err);
    if (rc < 0)
        goto fail;
    hf__fts_heal_open(st);
    *ret_store = st;
    return HF_OK;

fail:
    op_close(st);
    return rc;
}

/* A store that lost its files says so as long as it is open. */
static int
op_state(void *store, struct hf_state *ret, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    struct hf_error why;
    double since = hf__now();

    (void)err;
    ret->condition = HF_HEALTHY;
    ret->since = HF_NO_TIME;
    if (!st->db)
        return HF_OK;
    hf__lost_look(st);
    if (hf_sqlite_lost(st->db, &since, &why) == HF_OK) {
        hf__damage_look(st);
        if (!hf__damage_known(st, &since, why.message, sizeof why.message))
            return HF_OK;
    }
    ret->condition = HF_LOST;
    ret->since = since;
    /* Cut at a character where it is longer. */
    size_t n = strnlen(why.message, sizeof ret->reason);
    if (n == sizeof ret->reason)
        for (n--; n && ((unsigned char)why.message[n] & 0xC0u) == 0x80u; n--)
            ;
    memcpy(ret->reason, why.message, n);
    ret->reason[n] = '\0';
    return HF_OK;
}

static int
op_flush(void *store, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    uint32_t done = 0;
    int rc;

    if (!st->db || st->read_only)
        return HF_OK;
    pthread_mutex_lock(&st->lock);
    rc = hf_sqlite_checkpoint(st->db, 0, &done, err);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

static void
op_interrupt(void *store)
{
    struct hf_sqlite_store *st = store;
    if (st->db)
        hf_sqlite_interrupt(st->db);
    hf__readers_interrupt(st);
}

/* ---- what only reads ---- */

static int
op_session_get(void *store, const struct hf_text *id, uint32_t want, hf_session_fn *emit,
               void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_session_get(from, id, want, emit, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_session_list(void *store, const struct hf_session_query *query, hf_session_fn *emit,
                void *ctx, struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_session_list(from, query, emit, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_message_read(void *store, const struct hf_text *session_id,
                const struct hf_message_query *query, hf_message_fn *emit, void *ctx,
                struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_message_read(from, session_id, query, emit, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_search(void *store, const struct hf_search *query, hf_hit_fn *emit, void *ctx,
          struct hf_search_info *info, struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_search(from, query, emit, ctx, info, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_meta_get(void *store, const struct hf_text *key,
            int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
            struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_meta_get(from, key, emit, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_usage_read(void *store, const struct hf_text *session_id, hf_usage_fn *emit, void *ctx,
              struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_usage_read(from, session_id, emit, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

static int
op_stats(void *store, struct hf_stats *ret, hf_source_fn *emit_source, void *ctx,
         struct hf_error *err)
{
    struct hf_sqlite_store *from = hf__reader_acquire(store);
    int rc = hf__op_stats(from, ret, emit_source, ctx, err);
    hf__reader_release(store, from);
    return rc;
}

/* ---- backup ---- */

static int
backup_fail(struct hf_error *err, const char *path, int rc, const char *why)
{
    int code = (rc & 0xff) == SQLITE_FULL ? HF_DISK_FULL
               : (rc & 0xff) == SQLITE_NOMEM ? HF_NO_MEMORY
               : (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED ? HF_BUSY
               : (rc & 0xff) == SQLITE_CORRUPT || rc == SQLITE_NOTADB ? HF_CORRUPT
               : (rc & 0xff) == SQLITE_INTERRUPT ? HF_CANCELLED
                                                  : HF_IO;
    return hf_error_set(err, code, path, "backup to %s: %s", path, why);
}

static int
backup_copy(struct hf_sqlite_store *st, const char *path, struct hf_error *err)
{
    sqlite3 *out = NULL;
    sqlite3_backup *backup;
    int rc, code = HF_OK;

    rc = sqlite3_open_v2(path, &out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    if (rc == SQLITE_OK) {
        backup = sqlite3_backup_init(out, "main", hf_sqlite_handle(st->db), "main");
        if (backup) {
            /* All pages in one go: a copy in steps would begin anew with every commit
             * of somebody else. */
            for (int i = 0; i < 50; i++) {
                rc = sqlite3_backup_step(backup, -1);
                if (rc != SQLITE_BUSY && rc != SQLITE_LOCKED)
                    break;
                hf__sleep_ms(100);
            }
            if (rc == SQLITE_DONE)
                rc = SQLITE_OK;
            sqlite3_backup_finish(backup);
        } else {
            rc = sqlite3_extended_errcode(out);
        }
    }
    /* One self-contained file: it needs no log beside it to be opened. */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(out, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        code = backup_fail(err, path, rc, sqlite3_errstr(rc));
    sqlite3_close(out);
    return code;
}

static int
op_backup(void *store, const char *path, struct hf_error *err)
{
    struct hf_sqlite_store *st = store;
    int fd, rc;

    if (!st->db)
        return hf_error_set(err, HF_NOT_FOUND, st->path, "there is no %s to back up",
                            st->path);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        int e = errno;
        rc = hf_error_set(err,
                          e == EEXIST                ? HF_EXISTS
                          : e == ENOSPC || e == EDQUOT ? HF_DISK_FULL
                          : e == EACCES || e == EROFS  ? HF_READ_ONLY
                                                       : HF_IO,
                          path, "backup to %s: %s", path, strerror(e));
        err->sys_errno = e;
        return rc;
    }
    close(fd); /* before SQLite opens it, so that no lock of its is lost */
    rc = hf__read_lock(st, err);
    if (rc == HF_OK) {
        rc = backup_copy(st, path, err);
        rc = hf__read_unlock(st, rc, err);
    }
    if (rc < 0)
        unlink(path);
    return rc;
}

static const struct hf_backend backend = {
    .abi = HF_ABI(struct hf_backend),
    .name = "sqlite",
    .version = HF_VERSION,
    .summary = "sessions in state.db, the SQLite database of Hermes Agent",
    .threads = HF_THREADS_PARALLEL,
    .caps = HF_CAP_DURABLE | HF_CAP_MULTI_PROCESS | HF_CAP_LIST_VIEW,
    .open = op_open,
    .close = op_close,
    .session_put = hf__op_session_put,
    .session_get = op_session_get,
    .session_list = op_session_list,
    .session_update = hf__op_session_update,
    .session_delete = hf__op_session_delete,
    .message_append = hf__op_message_append,
    .message_read = op_message_read,
    .message_rewind = hf__op_message_rewind,
    .message_restore = hf__op_message_restore,
    .message_compact = hf__op_message_compact,
    .search = op_search,
    .meta_get = op_meta_get,
    .meta_set = hf__op_meta_set,
    .lease_acquire = hf__op_lease_acquire,
    .lease_renew = hf__op_lease_renew,
    .lease_release = hf__op_lease_release,
    .usage_add = hf__op_usage_add,
    .usage_read = op_usage_read,
    .stats = op_stats,
    .check = hf__op_check,
    .state = op_state,
    .flush = op_flush,
    .backup = op_backup,
    .interrupt = op_interrupt,
    .upkeep = hf__op_upkeep,
    .session_merge = hf__op_session_merge,
    .unsettled = hf__op_unsettled,
};

HF_BACKEND_EXPORT(sqlite, backend);
