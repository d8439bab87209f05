/* options_from.c - the settings of database.* as options of hf_sqlite_open_db().  The
 * core has checked the values; what is still wrong here is a caller's mistake. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"

static int
word_in(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
}

int
hf_sqlite_options_from(const struct hf_host *host, const struct hf_open *how,
                       struct hf_sqlite_options *ret, struct hf_error *err)
{
    static const char *const sync_words[] = {"off", "normal", "full", "extra", NULL};
    static const char *const temp_words[] = {"default", "file", "memory", NULL};
    struct hf_sqlite_options o = *ret;

    o.host = host;
    o.read_only = how->read_only;
    o.read_only_first = how->read_only_first;
    o.journal_mode = HF_JOURNAL_WAL;
    o.synchronous = 2;
    o.wal_autocheckpoint = 1000;
    o.patience_ms = 20000;
    o.cache_size = o.mmap_size = o.temp_store = HF_NO_INT;
    o.journal_size_limit = 64 << 20;
    for (const struct hf_setting *s = how->database; s && s->key; s++) {
        const char *v = s->value ? s->value : "";
        char *end = NULL;
        errno = 0;
        long long number = strtoll(v, &end, 10);
        int numeric = *v && !*end && !errno;
        int bad = 0;
        int64_t *as_int = NULL;

        if (!*v) /* unset: the default stands */
            continue;
        if (!strcmp(s->key, "journal_mode")) {
            bad = strcmp(v, "wal") && strcmp(v, "delete");
            o.journal_mode = strcmp(v, "delete") ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
        } else if (!strcmp(s->key, "mount_check")) {
            bad = strcmp(v, "auto") && strcmp(v, "off");
            o.mount_check_off = !strcmp(v, "off");
        } else if (!strcmp(s->key, "lock_style")) {
            bad = strcmp(v, "ofd") && strcmp(v, "posix");
            o.lock_posix = !strcmp(v, "posix");
        } else if (!strcmp(s->key, "synchronous")) {
            int word = word_in(v, sync_words);
            o.synchronous = word >= 0 ? word : (int32_t)number;
            bad = word < 0 && (!numeric || number < 0 || number > 3);
        } else if (!strcmp(s->key, "temp_store")) {
            int word = word_in(v, temp_words);
            o.temp_store = word >= 0 ? word : number;
            bad = word < 0 && (!numeric || number < 0 || number > 2);
        } else if (!strcmp(s->key, "wal_autocheckpoint")) {
            bad = !numeric || number < 0 || number > INT32_MAX;
            o.wal_autocheckpoint = (int32_t)number;
        } else if (!strcmp(s->key, "patience_ms"))
            as_int = &o.patience_ms;
        else if (!strcmp(s->key, "cache_size"))
            as_int = &o.cache_size;
        else if (!strcmp(s->key, "mmap_size"))
            as_int = &o.mmap_size;
        else if (!strcmp(s->key, "journal_size_limit"))
            as_int = &o.journal_size_limit;
        if (as_int) {
            bad = !numeric;
            *as_int = number;
        }
        if (bad)
            return hf_error_set(err, HF_CONFIG, NULL,
                                "database.%s: \"%s\" is not a value it can have",
                                s->key, v);
    }
    *ret = o;
    return HF_OK;
}
