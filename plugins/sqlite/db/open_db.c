/* open_db.c - hf_sqlite_open_db(): the order of SPEC 3.4, and the way back out of it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

int
hf__connect(struct hf_sqlite_db *db, const char *name, int flags, struct hf_error *err)
{
    /* FULLMUTEX, although one thread at a time works with a handle: interrupt and the
     * look at a header come from others, and a backend's slip must not become a race.
     */
    sqlite3 *handle = NULL;
    int rc = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_FULLMUTEX, NULL);
    pthread_mutex_lock(&db->swap);
    db->handle = handle;
    pthread_mutex_unlock(&db->swap);
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(db, rc, "open the database", err);
    sqlite3_extended_result_codes(db->handle, 1);
    hf__checkpoint_install(db);
    rc = hf__busy_install(db);
    if (rc != SQLITE_OK)
        return hf_sqlite_fail(db, rc, "open the database", err);
    return db->opt.connected ? db->opt.connected(db->opt.ctx, db->handle, err) : HF_OK;
}

void
hf__disconnect(struct hf_sqlite_db *db)
{
    hf__statements_close(db);
    /* _v2: a statement that its owner forgot keeps the handle alive, not the caller. */
    sqlite3 *handle = db->handle;
    pthread_mutex_lock(&db->swap);
    db->handle = NULL;
    pthread_mutex_unlock(&db->swap);
    sqlite3_close_v2(handle);
    hf__generation_forget(db);
    hf__private_copy_remove(&db->copy_dir);
    db->frozen = HF__FROZEN_NONE;
    db->journal = HF_JOURNAL_UNKNOWN;
}

void
hf__forget_file(struct hf_sqlite_db *db)
{
    if (db->file)
        hf__open_file_release(db->file);
    db->file = NULL;
}

int
hf__settings_apply(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__buf sql = {0};
    hf__buf_addf(&sql, "PRAGMA foreign_keys=1;PRAGMA synchronous=%d;",
                 (int)db->opt.synchronous);
    if (db->opt.cache_size != HF_NO_INT)
        hf__buf_addf(&sql, "PRAGMA cache_size=%lld;", (long long)db->opt.cache_size);
    if (db->opt.mmap_size != HF_NO_INT)
        hf__buf_addf(&sql, "PRAGMA mmap_size=%lld;", (long long)db->opt.mmap_size);
    if (db->opt.temp_store != HF_NO_INT)
        hf__buf_addf(&sql, "PRAGMA temp_store=%lld;", (long long)db->opt.temp_store);
    if (db->opt.journal_size_limit != HF_NO_INT)
        hf__buf_addf(&sql, "PRAGMA journal_size_limit=%lld;",
                     (long long)db->opt.journal_size_limit);
    int code =
        sql.failed ? hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory") : HF_OK;
    if (code == HF_OK) {
        int rc = sqlite3_exec(db->handle, sql.ptr, NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            code = hf_sqlite_fail(db, rc, "set up the connection", err);
    }
    hf__buf_free(&sql);
    return code;
}

static int
schema_is_stale(struct hf_sqlite_db *db, uint32_t *ret_stale, struct hf_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (db->opt.is_current)
        return db->opt.is_current(db->opt.ctx, db->handle, ret_stale, err);
    int rc = sqlite3_prepare_v2(db->handle, "SELECT 1 FROM sqlite_schema LIMIT 1", -1,
                                &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    *ret_stale = rc == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? HF_OK
               : hf_sqlite_fail(db, rc, "read the schema", err);
}

/* Read first: a settled database is opened without the write lock (SPEC 3.5). */
static int
bring_up_to_date(struct hf_sqlite_db *db, struct hf_error *err)
{
    uint32_t stale = 0;
    if (!db->opt.initialize)
        return HF_OK;
    int code = schema_is_stale(db, &stale, err);
    if (code != HF_OK || !stale)
        return code;
    code = hf_sqlite_begin(db, -1, err);
    if (code != HF_OK)
        return code;
    /* Somebody else may have done it while we waited. */
    code = schema_is_stale(db, &stale, err);
    if (code == HF_OK && stale)
        code = db->opt.initialize(db->opt.ctx, db->handle, err);
    if (code != HF_OK || !stale) {
        hf_sqlite_rollback(db);
        return code;
    }
    return hf_sqlite_commit(db, err);
}

static void
warn_used_home(struct hf_sqlite_db *db)
{
    struct hf__buf found = {0};
    hf__used_home(db->path, &found);
    if (found.len && !found.failed && hf__once("used_home_empty", db->path)) {
        struct hf__shown shown;
        hf__db_log(
            db, HF_LOG_WARNING, "used_home_empty",
            "%s is empty, but its home has been used: there is %s; a new database is "
            "made in it now; if it held sessions before, stop, put the backup or a "
            "copy back, and open it again",
            hf__shown(&shown, db->path), found.ptr);
    }
    hf__buf_free(&found);
}

/* Looks, makes the file if there is none, and enters it into the registry. */
static int
prepare_file(struct hf_sqlite_db *db, struct hf__look *ret_look, struct hf_error *err)
{
    int code = HF_OK, created = 0;
    hf__open_files_lock();
    for (int i = 0; i < 10; i++) {
        code = hf__preflight(db->path, ret_look, err);
        if (code != HF_OK || ret_look->exists)
            break;
        code = hf__create_file(db->path, err);
        created |= code == HF_OK;
        if (code != HF_OK && code != HF_EXISTS)
            break;
        /* Now it is there, made by us or by somebody else: looked at again. */
        code =
            hf_error_set(err, HF_BUSY, db->path,
                         "the file appears and disappears: another process is at work");
    }
    if (code == HF_OK) {
        hf__tighten(db->path, ret_look);
        db->file = hf__open_file_use(&ret_look->main);
        if (!db->file)
            code = hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    }
    hf__open_files_unlock();
    if (code == HF_OK && !created && ret_look->main.st_size == 0)
        warn_used_home(db);
    return code;
}

/* A WAL file without its -shm, where no -shm can be mapped, is refused before SQLite
 * makes one: what it leaves would keep readers from it, too. */
static int
check_shared_map(struct hf_sqlite_db *db, const struct hf__look *look,
                 struct hf_error *err)
{
    uint32_t refused = 0;
    char text[1900];
    if (look->header != HF__HEADER_WAL || look->shm.st_mode || db->mount.known_native)
        return HF_OK;
    int code = hf__shared_map_probe(db->path, &refused, err);
    if (code != HF_OK || !refused)
        return code;
    hf__wal_unusable(db, text, sizeof text);
    return hf_error_set(err, HF_UNSUPPORTED, db->path, "%s", text);
}

static int
open_write(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__look look;
    int code = prepare_file(db, &look, err);
    if (code == HF_OK)
        code = hf__check_writable(db, err);
    if (code == HF_OK)
        code = hf__kernel_open(db, err);
    if (code == HF_OK)
        code = hf__wal_holders_check(db, &look, err);
    if (code == HF_OK)
        code = check_shared_map(db, &look, err);
    if (code == HF_OK)
        code = hf__connect(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
                           err);
    if (code != HF_OK)
        return code;
    if (sqlite3_db_readonly(db->handle, "main") == 1)
        return hf_sqlite_fail(db, SQLITE_READONLY, "open the database", err);
    hf__open_file_writer(db->file);
    db->is_writer = 1;
    code = hf__journal_apply(db, err);
    if (code == HF_OK)
        code = hf__settings_apply(db, err);
    if (code == HF_OK)
        code = bring_up_to_date(db, err);
    if (code == HF_OK && db->journal == HF_JOURNAL_UNKNOWN)
        hf__journal_confirm(db);
    if (code == HF_OK)
        code = hf__generation_take(db, err);
    return code;
}

/* In a child of fork() a handle's connection, files and locks are the parent's: it is
 * kept somewhere, so that it is no leak, and nothing of it is touched. */
static _Atomic(struct hf_sqlite_db *) given_up;

static void
db_give_up(struct hf_sqlite_db *db)
{
    db->given_up = atomic_load(&given_up);
    while (!atomic_compare_exchange_weak(&given_up, &db->given_up, db))
        ;
}

static void
db_free(struct hf_sqlite_db **pdb)
{
    struct hf_sqlite_db *db = *pdb;
    const struct hf_host *host = db->opt.host;
    *pdb = NULL;
    if (hf__forked(db)) {
        db_give_up(db);
        return;
    }
    int last = db->is_writer && hf__open_file_writer_done(db->file);
    hf__generation_last(db);
    if (last && db->settled && !atomic_load(&db->generation.lost) &&
        sqlite3_get_autocommit(db->handle)) {
        hf__statements_close(db);
        hf__checkpoint_last(db);
    }
    db->is_writer = 0;
    hf__disconnect(db);
    hf__forget_file(db);
    hf__kernel_close(db);
    if (db->tracked)
        host->file_untrack(host->ctx, db->path);
    pthread_mutex_destroy(&db->swap);
    free(db->path);
    free(db);
}

/* One open, for reading or for writing. */
static int
open_one(const struct hf_sqlite_options *opt, struct hf_sqlite_db **ret_db,
         struct hf_error *err)
{
    const struct hf_host *host = opt->host;
    struct hf_sqlite_db *db = calloc(1, sizeof *db);
    int code = HF_OK;
    if (!db)
        return hf_error_set(err, HF_NO_MEMORY, opt->path, "out of memory");
    db->opt = *opt;
    db->pid = (int)getpid();
    pthread_mutex_init(&db->swap, NULL);
    db->journal = HF_JOURNAL_UNKNOWN;
    db->mount = HF_INIT(struct hf_mount);
    code = hf__db_path_settle(opt->path, !opt->read_only, &db->path, err);
    if (code != HF_OK)
        goto out;
    db->opt.path = db->path;
    code = hf__locks_settle(db, err);
    if (code != HF_OK)
        goto out;
    if (host && host->file_track && host->file_untrack) {
        code = host->file_track(host->ctx, db->path, err);
        if (code != HF_OK)
            goto out;
        db->tracked = 1;
    }
    if (host && host->mount_classify)
        host->mount_classify(host->ctx, db->path, &db->mount);
    hf__busy_arm(db, -1);
    code = opt->read_only ? hf__open_read(db, err) : open_write(db, err);
    if (code == HF_OK && opt->read_only)
        code = hf__settings_apply(db, err);
    if (code == HF_OK && opt->read_only && db->frozen == HF__FROZEN_NONE)
        code = hf__generation_take(db, err);
    hf__busy_disarm(db);
    db->settled = code == HF_OK;
    if (code == HF_OK)
        hf__locks_say(db);
out:
    if (code == HF_OK)
        *ret_db = db;
    else
        db_free(&db);
    return code;
}

/* A dashboard's open: one writable open only if the schema is behind. */
static int
open_read_first(struct hf_sqlite_options *opt, struct hf_sqlite_db **ret_db,
                struct hf_error *err)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error why;
    uint32_t stale = 0;
    opt->read_only = 1;
    int code = open_one(opt, &db, err);
    if (code != HF_OK)
        return code;
    /* What cannot be told is no reason to write. */
    if (!opt->is_current || !opt->initialize ||
        opt->is_current(opt->ctx, db->handle, &stale, &why) != HF_OK || !stale) {
        *ret_db = db;
        return HF_OK;
    }
    db_free(&db);
    opt->read_only = 0;
    code = open_one(opt, &db, &why);
    if (code == HF_OK)
        db_free(&db);
    else if (opt->host && opt->host->log)
        opt->host->log(
            opt->host->ctx, HF_LOG_INFO, "schema_stale", opt->path,
            "the schema is read as it is: it could not be brought up to date: %s",
            why.message);
    opt->read_only = 1;
    return open_one(opt, ret_db, err);
}

int
hf_sqlite_open_db(const struct hf_sqlite_options *options, struct hf_sqlite_db **ret_db,
                  struct hf_error *err)
{
    struct hf_sqlite_options opt = HF_INIT(struct hf_sqlite_options);
    if (!options || !ret_db)
        return hf_error_set(err, HF_INVALID, NULL,
                            "no options, or nowhere to put the handle");
    hf__abi_copy(&opt, sizeof opt, options);
    if (opt.journal_mode != HF_JOURNAL_WAL && opt.journal_mode != HF_JOURNAL_DELETE)
        return hf_error_set(err, HF_INVALID, opt.path,
                            "journal mode %u cannot be asked for", opt.journal_mode);
    if (opt.synchronous < 0 || opt.synchronous > 3)
        return hf_error_set(err, HF_INVALID, opt.path, "synchronous is 0 to 3");
    if (!sqlite3_threadsafe())
        return hf_error_set(err, HF_UNSUPPORTED, opt.path,
                            "this SQLite was built without threads");
    return opt.read_only_first ? open_read_first(&opt, ret_db, err)
                               : open_one(&opt, ret_db, err);
}

void
hf_sqlite_close_db(struct hf_sqlite_db **db)
{
    if (db && *db)
        db_free(db);
}

sqlite3 *
hf_sqlite_handle(struct hf_sqlite_db *db)
{
    return db->handle;
}

const char *
hf_sqlite_path(const struct hf_sqlite_db *db)
{
    return db->path;
}

uint32_t
hf_sqlite_journal(const struct hf_sqlite_db *db)
{
    return db->journal;
}

uint32_t
hf_sqlite_frozen(const struct hf_sqlite_db *db)
{
    return db->frozen != HF__FROZEN_NONE;
}
