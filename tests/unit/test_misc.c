/* test_misc.c - random names, paths, files, near misses, size-stamped copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/scratch.h"
#include "util/misc.h"

static char *dir;

static int
dir_make(void **state)
{
    (void)state;
    dir = scratch_make();
    return 0;
}

static int
dir_remove(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static void
random_names(void **state)
{
    char a[33], b[33];
    unsigned seen = 0;

    (void)state;
    hf__random_hex(a, 16);
    hf__random_hex(b, 16);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_string_not_equal(a, b);
    for (int i = 0; i < 1000; i++) {
        uint32_t x = hf__random_below(5);
        assert_true(x < 5);
        seen |= 1u << x;
    }
    assert_int_equal(seen, 31);
    assert_int_equal(hf__random_below(1), 0);
    assert_int_equal(hf__random_below(0), 0);
}

static void
joined(const char *a, const char *b, const char *expected)
{
    char *path = hf__path_join(a, b);

    assert_string_equal(path, expected);
    free(path);
}

static void
resolved(const char *path, const char *expected)
{
    char *got = hf__path_resolve(path);

    assert_non_null(got);
    assert_string_equal(got, expected);
    free(got);
}

static void
paths(void **state)
{
    char path[512], expected[512], *real = realpath(dir, NULL);

    (void)state;
    joined("/a", "b", "/a/b");
    joined("/a/", "/b", "/a/b");
    joined("/", "b", "/b");
    resolved("/", "/");
    resolved("/no-such-folder/x/../y/", "/no-such-folder/x/../y");

    snprintf(path, sizeof path, "%s/real", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/link", dir);
    assert_int_equal(symlink("real", path), 0);
    snprintf(path, sizeof path, "%s/link/new/state.db", dir);
    snprintf(expected, sizeof expected, "%s/real/new/state.db", real);
    resolved(path, expected);
    snprintf(path, sizeof path, "%s/link/", dir);
    snprintf(expected, sizeof expected, "%s/real", real);
    resolved(path, expected);
    free(real);
}

static void
folders_are_private(void **state)
{
    struct hf_error err = {0};
    struct stat st;
    char path[512];
    mode_t old = umask(0777);
    FILE *f;
    int rc;

    (void)state;
    snprintf(path, sizeof path, "%s/one/two//three/", dir);
    rc = hf__mkdirs(path, &err);
    umask(old);
    assert_int_equal(rc, HF_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(hf__mkdirs(path, &err), HF_OK);

    snprintf(path, sizeof path, "%s/one/two", dir);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(hf__mkdirs(path, &err), HF_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755); /* an existing folder is left alone */

    snprintf(path, sizeof path, "%s/file", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    snprintf(path, sizeof path, "%s/file/below", dir);
    assert_int_equal(hf__mkdirs(path, &err), HF_IO);
    assert_non_null(strstr(err.message, "/file"));
}

static void
files(void **state)
{
    struct hf_error err = {0};
    char path[512], *bytes = NULL;
    size_t len = 0;
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/bytes", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite("a\0b", 1, 3, f), 3);
    fclose(f);
    assert_int_equal(hf__read_file(path, 3, &bytes, &len, &err), HF_OK);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    free(bytes);
    bytes = NULL;
    assert_int_equal(hf__read_file(path, 2, &bytes, &len, &err), HF_TOO_BIG);
    assert_null(bytes);
    assert_int_equal(hf__read_file(dir, 2, &bytes, &len, &err), HF_INVALID);
    snprintf(path, sizeof path, "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(hf__read_file(path, 2, &bytes, &len, &err), HF_INVALID);
    snprintf(path, sizeof path, "%s/absent", dir);
    assert_int_equal(hf__read_file(path, 2, &bytes, &len, &err), HF_NOT_FOUND);
    assert_string_equal(err.path, path);
}

static void
near_misses(void **state)
{
    static const char *const keys[] = {"journal_mode", "fallback", "wal", "cache_size",
                                       NULL};

    (void)state;
    assert_string_equal(hf__near_miss("jurnal_mode", keys), "journal_mode");
    assert_string_equal(hf__near_miss("journal_mdoe", keys), "journal_mode");
    assert_string_equal(hf__near_miss("JOURNAL_MODE", keys), "journal_mode");
    assert_string_equal(hf__near_miss("cachesize", keys), "cache_size");
    assert_string_equal(hf__near_miss("wla", keys), "wal");
    assert_null(hf__near_miss("wxy", keys)); /* two of three letters differ */
    assert_null(hf__near_miss("completely_different", keys));
    assert_null(hf__near_miss("", keys));
}

static void
texts(void **state)
{
    struct hf_text t = hf_text("a\0b", 3), none = {NULL, 0}, empty = {"", 0};
    char *copy = hf__text_dup(&t);

    (void)state;
    assert_memory_equal(copy, "a\0b", 4);
    free(copy);
    assert_null(hf__text_dup(&none));
    copy = hf__text_dup(&empty);
    assert_string_equal(copy, "");
    free(copy);
    assert_false(hf__text_is(&t, "a"));
    assert_false(hf__text_is(&none, ""));
    assert_true(hf__text_is(&empty, ""));
}

static void
structs_of_other_ages(void **state)
{
    struct hf_message_query src = HF_INIT(struct hf_message_query), dst;
    struct { struct hf_message_query query; uint64_t more; } newer = {.more = 7};

    (void)state;
    src.limit = 5;
    src.want = 9;
    src.abi.size = offsetof(struct hf_message_query, want); /* an older caller's */
    hf__abi_copy(&dst, sizeof dst, &src);
    assert_int_equal(dst.limit, 5);
    assert_int_equal(dst.want, 0);
    assert_int_equal(dst.abi.size, sizeof dst);
    newer.query = HF_INIT(struct hf_message_query);
    newer.query.abi.size = sizeof newer;
    newer.query.want = 1;
    hf__abi_copy(&dst, sizeof dst, &newer);
    assert_int_equal(dst.want, 1);
    assert_int_equal(dst.abi.size, sizeof dst);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_names), cmocka_unit_test(paths),
        cmocka_unit_test(folders_are_private), cmocka_unit_test(files),
        cmocka_unit_test(near_misses), cmocka_unit_test(texts),
        cmocka_unit_test(structs_of_other_ages),
    };

    return cmocka_run_group_tests_name("misc", tests, dir_make, dir_remove);
}
