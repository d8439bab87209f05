/* config_keys.c - the table of SPEC 1.4: every key of ours, what it takes, its default.
 *
 * How values travel: an entry of the configuration holds the value as people write it
 * ("full", "wal").  hf__settings_database() hands it to a backend in the form that
 * hf_open.database promises: synchronous as a digit 0..3; the enums as spelled here;
 * whole numbers in decimal; "" for a number that is not set. */
#include "internal.h"

#include <string.h>

const struct hf__config_key hf__config_keys[] = {
    {"database.backend", "backend", "sqlite"},
    {"database.journal_mode", "enum:wal|delete", "wal"},
    {"database.fallback", "enum:jsonl|none", "jsonl"},
    {"database.fallback_dir", "path", ""}, /* HOME/fallback, filled in by config.c */
    {"database.fallback_retry_seconds", "int:1..86400", "30"},
    {"database.plugin_path", "paths", ""},
    {"database.synchronous", "synchronous", "full"},
    {"database.cache_size", "int:-2147483648..2147483647", ""},
    {"database.mmap_size", "int:-1..9223372036854775807", ""},
    {"database.temp_store", "int:0..2", ""},
    {"database.journal_size_limit", "int:-1..9223372036854775807", "67108864"},
    {"database.wal_autocheckpoint", "int:0..2147483647", "1000"},
    {"database.mount_check", "enum:auto|off", "auto"},
    {"database.read_pool_max", "int:1..64", "8"},
    {"database.patience_ms", "int:0..86400000", "20000"},
    {"database.lock_style", "enum:ofd|posix", "ofd"},
    {"sessions.index", "enum:deferred|immediate", "deferred"},
    {"sessions.max_export_messages", "int:0..9223372036854775807", "0"},
    {NULL, NULL, NULL},
};

int
hf__config_key_index(const char *key)
{
    int i;

    for (i = 0; hf__config_keys[i].key; i++)
        if (strcmp(hf__config_keys[i].key, key) == 0)
            return i;
    return -1;
}
