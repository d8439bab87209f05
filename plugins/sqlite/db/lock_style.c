/* lock_style.c - database.lock_style of one handle: what is asked of locks.c before the
 * files are looked at, and what is said when the answer is another. */
#include "db.h"

static void
say(struct hf_sqlite_db *db, const char *suffix, const char *why)
{
    struct hf__shown shown;
    if (hf__once("lock_style_posix", db->path))
        hf__db_log(
            db, HF_LOG_INFO, "lock_style_posix",
            "%s is locked by POSIX locks, which any code of this process cancels "
            "that opens and closes the file: %s",
            hf__shown_file(&shown, db->path, suffix), why);
}

int
hf__locks_settle(struct hf_sqlite_db *db, struct hf_error *err)
{
    struct hf_error why;
    int code = hf__fork_install(err);
    if (code != HF_OK)
        return code;
    /* A child needs the hooks whatever the style is: they give it fresh lock states. */
    if ((!db->opt.lock_posix || hf__fork_is_child()) &&
        hf__locks_install(&why) != HF_OK && !db->opt.lock_posix)
        say(db, "", why.message);
    if (hf__locks_wish(db->path, db->opt.lock_posix != 0))
        return hf_error_set(err, HF_NO_MEMORY, db->path, "out of memory");
    return hf__fork_check_open(db->path, err);
}

void
hf__locks_say(struct hf_sqlite_db *db)
{
    static const char *const suffixes[] = {"", "-shm"};
    static const char *const reasons[] = {
        [HF__LOCKS_POSIX_EARLY] =
            "this process had it open before Holdfast came; let Holdfast open it first",
        [HF__LOCKS_POSIX_REFUSED] =
            "the kernel or the file system has no locks that belong to an open file",
        [HF__LOCKS_POSIX_WISHED] =
            "a handle that is open was opened with database.lock_style: posix"};
    char name[4128];
    for (int i = 0; i < 2 && !db->opt.lock_posix; i++) {
        snprintf(name, sizeof name, "%s%s", db->path, suffixes[i]);
        enum hf__lock_style style = hf__locks_style(name);
        if (style > HF__LOCKS_OFD)
            say(db, suffixes[i], reasons[style]);
    }
}
