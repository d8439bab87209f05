/* journal_apply.c - sees what journal_policy.c wants to know, carries out what it
 * decides, and says so. */
#include <string.h>

#include "db.h"

/* The text of the pragma's row in *RET, "" without one. */
static int
journal_pragma(struct hf_sqlite_db *db, const char *sql, char *ret, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
    ret[0] = '\0';
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(stmt, 0);
            snprintf(ret, size, "%s", text ? text : "");
            rc = SQLITE_OK;
        } else if (rc == SQLITE_DONE)
            rc = SQLITE_OK;
    }
    int rc2 = sqlite3_finalize(stmt);
    return rc != SQLITE_OK ? rc : rc2;
}

/* Through the connection's own descriptor, never a new one. */
static int
header_read(struct hf_sqlite_db *db, uint32_t *ret_kind)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char bytes[100];
    int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc != SQLITE_OK || !file || !file->pMethods)
        return rc ? rc : SQLITE_IOERR;
    sqlite3_mutex_enter(sqlite3_db_mutex(db->handle));
    rc = file->pMethods->xFileSize(file, &size);
    if (rc == SQLITE_OK && size >= (sqlite3_int64)sizeof bytes)
        rc = file->pMethods->xRead(file, bytes, sizeof bytes, 0);
    sqlite3_mutex_leave(sqlite3_db_mutex(db->handle));
    if (rc == SQLITE_OK)
        *ret_kind = hf__header_kind(bytes, size > 100 ? 100 : (size_t)size);
    return rc;
}

static int
is_map_error(int rc)
{
    return rc == SQLITE_IOERR_SHMMAP;
}

/* Known is a mode in which header and pragma agree.  Returns the last result code. */
static int
journal_probe(struct hf_sqlite_db *db, struct hf__journal_facts *ret)
{
    char mode[16];
    int rc = SQLITE_OK;
    ret->known = ret->wal = ret->no_shared_map = ret->has_content = 0;
    /* Another process may be switching between the two looks; an I/O error may pass. */
    for (int i = 0; i < 3; i++) {
        uint32_t kind = HF__HEADER_UNREAD;
        if (i)
            hf__sleep_ms(i == 1 ? 10 : 50);
        rc = journal_pragma(db, "PRAGMA journal_mode", mode, sizeof mode);
        int rc2 = header_read(db, &kind);
        ret->has_content = kind != HF__HEADER_NONE;
        if (is_map_error(rc) && rc2 == SQLITE_OK && kind == HF__HEADER_WAL) {
            ret->known = ret->wal = ret->no_shared_map = 1;
            return SQLITE_OK;
        }
        if (rc == SQLITE_OK)
            rc = rc2;
        if (rc == SQLITE_OK) {
            int wal = !strcmp(mode, "wal");
            if ((wal && kind == HF__HEADER_WAL) ||
                (!wal && mode[0] &&
                 (kind == HF__HEADER_ROLLBACK || kind == HF__HEADER_NONE))) {
                ret->known = 1;
                ret->wal = (uint32_t)wal;
                return SQLITE_OK;
            }
        } else if ((rc & 0xff) != SQLITE_IOERR)
            return rc;
    }
    return rc;
}

void
hf__journal_confirm(struct hf_sqlite_db *db)
{
    struct hf__journal_facts f = {0};
    if (journal_probe(db, &f) == SQLITE_OK && f.known)
        db->journal = f.wal ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
}

/* ---- what is said ---- */

static void
say_once(struct hf_sqlite_db *db, int level, const char *event, const char *text)
{
    if (hf__once(event, db->path))
        hf__db_log(db, level, event, "%s", text);
}

/* "on virtiofs (mounted at /srv/agent)" */
static void
place_text(const struct hf_sqlite_db *db, char *ret, size_t size)
{
    struct hf__shown shown;
    const char *type =
        db->mount.fs_type[0] ? db->mount.fs_type : "an unknown file system";
    if (db->mount.mount_point[0])
        snprintf(ret, size, "%s%s (mounted at %s)", type,
                 db->mount.sandbox ? " of a gVisor sandbox" : "",
                 hf__shown(&shown, db->mount.mount_point));
    else
        snprintf(ret, size, "%s", type);
}

static const char sandbox_hint[] =
    "; if only this sandbox uses the files, database.mount_check: off lets WAL be used";

/* Says what PLAN says; the text of a refusal goes to *ERR, too. */
static void
journal_say(struct hf_sqlite_db *db, const struct hf__journal_plan *plan,
            struct hf_error *err)
{
    char place[512], text[1900];
    struct hf__shown shown;
    const char *name = hf__shown(&shown, db->path);
    const char *more = db->mount.sandbox ? sandbox_hint : "";
    place_text(db, place, sizeof place);
    if (plan->say & HF__SAY_WAL_UNUSABLE) {
        hf__wal_unusable(db, text, sizeof text);
        if (err)
            hf_error_set(err, plan->code, db->path, "%s", text);
    }
    if (plan->say & HF__SAY_CROSS_VM_WAL) {
        snprintf(
            text, sizeof text,
            "%s is in WAL mode on %s, a file system that crosses a VM boundary: WAL "
            "can "
            "silently corrupt there; stop every process that uses it, run `holdfast "
            "sessions set-journal-mode delete --db %s` and set "
            "database.journal_mode: delete, or move the database onto a native or "
            "named volume%s",
            name, place, name, more);
        say_once(db, HF_LOG_ERROR, "cross_vm_existing_wal", text);
    }
    if (plan->say & HF__SAY_DELETE_OVERRIDDEN) {
        snprintf(
            text, sizeof text,
            "database.journal_mode is delete, but %s on %s is in WAL mode and stays "
            "so: "
            "another process may have it open, and switching would pull the log from "
            "under it; stop every process that uses it and run `holdfast sessions "
            "set-journal-mode delete --db %s`, or set database.journal_mode: wal",
            name, place, name);
        say_once(db, HF_LOG_ERROR, "delete_overridden", text);
    }
    if (plan->say & HF__SAY_MODE_UNKNOWN) {
        snprintf(
            text, sizeof text,
            "the journal mode of %s on %s cannot be read while another process is in "
            "the way: it is left as it is and taken for unknown; end that process and "
            "open it again, or wait",
            name, place);
        if (plan->action != HF__JOURNAL_REFUSE)
            say_once(db, HF_LOG_WARNING, "mode_unknown", text);
    }
    if (plan->say & HF__SAY_CROSS_VM_DELETE) {
        snprintf(
            text, sizeof text,
            "%s is on %s, a file system that crosses a VM boundary, where WAL can "
            "silently corrupt: the rollback journal is used instead (one writer at a "
            "time; readers and writers wait for each other); say so for good with "
            "database.journal_mode: delete, or move the database onto a native or "
            "named volume%s",
            name, place, more);
        if (plan->action != HF__JOURNAL_REFUSE)
            say_once(db, HF_LOG_WARNING, "cross_vm_delete", text);
        else if (err)
            hf_error_set(err, plan->code, db->path, "WAL is required, but %s", text);
    }
    if (plan->say & HF__SAY_WAL_REFUSED) {
        snprintf(
            text, sizeof text,
            "WAL is refused for %s on %s: the rollback journal is used instead (one "
            "writer at a time; readers and writers wait for each other); say so for "
            "good with database.journal_mode: delete, or move the database onto a "
            "native or named volume",
            name, place);
        if (plan->action != HF__JOURNAL_REFUSE)
            say_once(db, HF_LOG_ERROR, "wal_refused", text);
        else if (err)
            hf_error_set(err, plan->code, db->path, "WAL is required, but %s", text);
    }
    if (plan->say & HF__SAY_JOURNAL_UPGRADED) {
        snprintf(text, sizeof text,
                 "%s on %s was in rollback mode and is now in WAL mode, as "
                 "database.journal_mode says; if it must not be, set "
                 "database.journal_mode: delete and run `holdfast sessions "
                 "set-journal-mode delete --db %s`",
                 name, place, name);
        say_once(db, HF_LOG_WARNING, "journal_upgraded", text);
    }
    if (plan->say & HF__SAY_WAL_NOT_CONFIGURED && err)
        hf_error_set(err, plan->code, db->path,
                     "%s needs WAL, but database.journal_mode is delete", name);
}

/* ---- what is done ---- */

/* Without waiting: whoever else has the file open makes it fail, instead of having the
 * file pulled from under them.  *ret_set: the row says delete. */
static int
delete_set(struct hf_sqlite_db *db, uint32_t *ret_set)
{
    char mode[16];
    sqlite3_busy_timeout(db->handle, 0);
    int rc = journal_pragma(db, "PRAGMA journal_mode=DELETE", mode, sizeof mode);
    hf__busy_install(db);
    *ret_set = rc == SQLITE_OK && !strcmp(mode, "delete");
    return rc;
}

static int
is_lock_error(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

/* A file that works in rollback mode gains little by WAL today rather than at the next
 * open, and opening it beside a writer must not take half a second (SPEC 3.5).  A new
 * one waits longer: whoever is in its way is only making it, too. */
#define SETTLED_WAIT_MS 300

/* Turns WAL on.  *ret_wal: the row says so.  *ret_locked: other openers were in the way
 * to the end, which says nothing against the file system. */
static int
wal_set(struct hf_sqlite_db *db, uint32_t has_content, uint32_t *ret_wal,
        uint32_t *ret_locked)
{
    char mode[16];
    int rc, lock_tries = 0, io_tries = 0;
    int64_t armed_until = db->busy.wait_until_ms, span_end = armed_until;
    int64_t settled_end = hf__monotonic_ms() + SETTLED_WAIT_MS;
    if (has_content && settled_end < span_end)
        span_end = settled_end;
    *ret_wal = *ret_locked = 0;
    for (;;) {
        int64_t now = hf__monotonic_ms();
        db->busy.wait_until_ms = now + 1000 < span_end ? now + 1000 : span_end;
        rc = journal_pragma(db, "PRAGMA journal_mode=WAL", mode, sizeof mode);
        if (is_lock_error(rc)) {
            /* Where SQLite saw a deadlock coming it did not wait; we hold nothing now.
             * Whoever was in the way may have done just what we want. */
            struct hf__journal_facts f = {0};
            while (hf__busy_turn(db) && !(journal_probe(db, &f) == SQLITE_OK && f.wal))
                ;
            if (f.wal) {
                *ret_wal = 1;
                rc = SQLITE_OK;
                break;
            }
            if (lock_tries++ < 3 && hf__monotonic_ms() < span_end &&
                !hf__busy_cancelled(db))
                continue;
            *ret_locked = 1;
        } else if ((rc & 0xff) == SQLITE_IOERR && io_tries++ < 2) {
            hf__sleep_ms(50);
            continue;
        } else
            *ret_wal = rc == SQLITE_OK && !strcmp(mode, "wal");
        break;
    }
    db->busy.wait_until_ms = armed_until;
    return rc;
}

/* Whether RC says that the file system or this SQLite cannot do WAL. */
static int
is_refusal(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK: /* the row said something else */
    case SQLITE_PROTOCOL:
    case SQLITE_AUTH:
    case SQLITE_IOERR:
    case SQLITE_ERROR:
        return 1;
    default:
        return 0;
    }
}

static int
turn_wal_on(struct hf_sqlite_db *db, uint32_t has_content,
            struct hf__journal_plan *plan, struct hf_error *err)
{
    uint32_t wal = 0, locked = 0, set = 0;
    int rc = wal_set(db, has_content, &wal, &locked);
    if (wal) {
        db->journal = HF_JOURNAL_WAL;
        journal_say(db, plan, err);
        return HF_OK;
    }
    if (hf__busy_cancelled(db))
        return hf_sqlite_fail(db, SQLITE_INTERRUPT, "turn WAL on", err);
    if (locked) {
        /* It goes on as the file is; a later open turns WAL on. */
        if (db->opt.require_wal)
            return hf_sqlite_fail(db, rc, "turn WAL on", err);
        if (hf__once("wal_deferred", db->path))
            hf__db_log(
                db, HF_LOG_INFO, "wal_deferred",
                "other openers of the database are in the way of WAL; it is used in "
                "rollback mode until a later open can turn WAL on");
        hf__journal_confirm(db);
        return HF_OK;
    }
    int code = is_refusal(rc) ? HF_OK : HF_IO;
    if ((rc & 0xff) == SQLITE_IOERR || code != HF_OK) {
        code = hf_sqlite_fail(db, rc, "turn WAL on", err);
        if (is_refusal(rc) && code != HF_DISK_FULL)
            code = HF_OK;
    }
    if (code != HF_OK)
        return code;
    plan->say = HF__SAY_WAL_REFUSED;
    if (db->opt.require_wal) {
        plan->action = HF__JOURNAL_REFUSE;
        plan->code = HF_UNSUPPORTED;
        journal_say(db, plan, err);
        return plan->code;
    }
    delete_set(db, &set);
    journal_say(db, plan, err);
    if (!set)
        say_once(
            db, HF_LOG_WARNING, "delete_refused",
            "neither WAL nor the rollback journal could be set; the database is used "
            "in the mode that it is in: see `holdfast doctor`");
    hf__journal_confirm(db);
    return HF_OK;
}

int
hf__journal_apply(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf__journal_facts f = {0};
    f.configured = db->opt.journal_mode;
    f.require_wal = db->opt.require_wal;
    f.cross_vm = !db->opt.mount_check_off && db->mount.mount_class == HF_MOUNT_CROSS_VM;
    for (;;) {
        int rc = journal_probe(db, &f);
        if (rc != SQLITE_OK && !is_lock_error(rc) && (rc & 0xff) != SQLITE_IOERR)
            return hf_sqlite_fail(db, rc, "read the journal mode", err);
        if (hf__busy_cancelled(db))
            return hf_sqlite_fail(db, SQLITE_INTERRUPT, "read the journal mode", err);

        struct hf__journal_plan plan = hf__journal_decide(&f);
        if (plan.action == HF__JOURNAL_SET_WAL && !db->mount.known_native) {
            int code = hf__shared_map_probe(db->path, &f.no_shared_map, err);
            if (code != HF_OK)
                return code;
            plan = hf__journal_decide(&f);
        }
        switch (plan.action) {
        case HF__JOURNAL_REFUSE:
            if (!f.known && plan.code == HF_BUSY) {
                hf_sqlite_fail(
                    db, SQLITE_BUSY,
                    "read the journal mode, which database.journal_mode: delete "
                    "needs to know",
                    err);
                return HF_BUSY;
            }
            if (!f.known)
                return hf_error_set(
                    err, plan.code, db->path,
                    "WAL is required, and the journal mode cannot be read "
                    "while another process is in the way");
            journal_say(db, &plan, err);
            return plan.code;
        case HF__JOURNAL_KEEP_WAL:
            db->journal = HF_JOURNAL_WAL;
            journal_say(db, &plan, err);
            return HF_OK;
        case HF__JOURNAL_INHERIT:
            journal_say(db, &plan, err);
            return HF_OK;
        case HF__JOURNAL_SET_WAL:
            return turn_wal_on(db, f.has_content && !f.require_wal, &plan, err);
        default: {
            uint32_t set = 0;
            rc = delete_set(db, &set);
            /* Somebody is in the way for a moment: look again, perhaps it is WAL now.
             */
            if (is_lock_error(rc) && hf__busy_turn(db))
                continue;
            if (rc != SQLITE_OK)
                return hf_sqlite_fail(db, rc, "set the rollback journal", err);
            if (!set)
                return hf_error_set(
                    err, HF_UNSUPPORTED, db->path,
                    "SQLite does not set the rollback journal for this file");
            db->journal = HF_JOURNAL_DELETE;
            journal_say(db, &plan, err);
            return HF_OK;
        }
        }
    }
}
