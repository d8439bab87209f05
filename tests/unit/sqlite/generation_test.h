/* generation_test.h - what the tests of lost files share: a table, writes that are
 * taken or refused, and the folder that keeps a lost log. */
#ifndef HF_GENERATION_TEST_H
#define HF_GENERATION_TEST_H

#include "db_test.h"

#include <dirent.h>

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, dir_setup, dir_teardown)

static inline struct hf_sqlite_options
table_options(void)
{
    static char path[300]; /* what in_dir() gives does not last */
    snprintf(path, sizeof path, "%s/state.db", test_dir);
    struct hf_sqlite_options opt = options_for(path);
    opt.initialize = init_table;
    return opt;
}

static inline int
try_insert(struct hf_sqlite_db *db, int value, struct hf_error *err)
{
    char sql[64];
    int code = hf_sqlite_begin(db, -1, err);
    if (code != HF_OK)
        return code;
    snprintf(sql, sizeof sql, "INSERT INTO t VALUES(%d, 'x')", value);
    run(db, sql);
    return hf_sqlite_commit(db, err);
}

static inline void
insert(struct hf_sqlite_db *db, int value)
{
    struct hf_error err;
    if (try_insert(db, value, &err) != HF_OK)
        fail_msg("%s", err.message);
}

static inline void
refused(struct hf_sqlite_db *db, int code, const char *word)
{
    struct hf_error err;
    int got = try_insert(db, 99, &err);
    if (got != code)
        fail_msg("%s for \"%s\"", hf_code_name(got), word);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, word))
        fail_msg("no \"%s\" in: %s", word, err.message);
}

/* The one folder beside the database that holds a lost WAL, or NULL. */
static inline const char *
retired(void)
{
    static char name[400];
    int n = 0;
    DIR *dir = opendir(test_dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (!strncmp(e->d_name, "state.db.retired-wal-", 21)) {
            snprintf(name, sizeof name, "%.100s/%s", test_dir, e->d_name);
            n++;
        }
    closedir(dir);
    if (n > 1)
        fail_msg("%d folders", n);
    return n ? name : NULL;
}

static inline void
copy(const char *from, const char *to)
{
    char command[1200];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

#endif
