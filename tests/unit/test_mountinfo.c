/* test_mountinfo.c - rows of a mount table, whatever they hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mountinfo.h"

static int
find(const char *table, int64_t id, const char *path, struct hf__mount_row *row)
{
    return hf__mountinfo_find(table, strlen(table), id, path, row);
}

static void
reads_a_row(void **state)
{
    struct hf__mount_row row;
    char value[64];

    (void)state;
    assert_true(find("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 "
                     "/dev/root rw,errors=continue\n",
                     36, NULL, &row));
    assert_string_equal(row.mount_point, "/mnt2");
    assert_string_equal(row.fs_type, "ext3");
    assert_true(hf__mountinfo_option(&row, "errors", value, sizeof value));
    assert_string_equal(value, "continue");
    assert_false(hf__mountinfo_option(&row, "error", value, sizeof value));
}

static void
skips_what_does_not_parse(void **state)
{
    static const char *const bad[] = {
        "",
        "rubbish",
        "5 1 8:1 / / rw ext4 /dev/sda1 rw",     /* no separator */
        "x 1 8:1 / / rw - ext4 /dev/sda1 rw",   /* no number */
        "5 1 81 / / rw - ext4 /dev/sda1 rw",    /* no device */
        "5 1 8:1 / srv rw - ext4 /dev/sda1 rw", /* relative */
        "5 1 8:1 / /srv/x\\04 rw - ext4 d rw",  /* broken escape */
        "5 1 8:1 / /srv/x\\0 rw - ext4 d rw",
        "5 1 8:1 / /srv/x\\ rw - ext4 d rw",
        "5 1 8:1 / /srv/x\\999 rw - ext4 d rw",
        "5 1 8:1 / /srv/x\\000 rw - ext4 d rw", /* a NUL */
        "5 1 8:1 / / rw -",
        "5 1 8:1 / / rw - ",
        "99999999999999999999 1 8:1 / / rw - ext4 d rw",
    };
    char table[400];
    struct hf__mount_row row;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(table, sizeof table, "%s\n7 1 8:2 / / rw - xfs /dev/sdb rw\n%s",
                 bad[i], bad[i]);
        assert_true(find(table, -1, "/anything", &row));
        assert_string_equal(row.fs_type, "xfs");
        assert_false(find(table, 5, NULL, &row));
    }
}

static void
decodes_escapes(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"/srv/my\\040agent", "/srv/my agent"},
        {"/srv/tab\\011x", "/srv/tab\tx"},
        {"/srv/nl\\012x", "/srv/nl\nx"},
        {"/srv/back\\134slash", "/srv/back\\slash"},
        {"/srv/h#ash", "/srv/h#ash"},
        {"/srv/h\\043ash", "/srv/h#ash"},
        {"/srv/caf\xc3\xa9", "/srv/caf\xc3\xa9"},
        {"\\134040", "\\040"},
    };
    char got[64];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(
            hf__mountinfo_decode(rows[i].text, strlen(rows[i].text), got, sizeof got));
        assert_string_equal(got, rows[i].want);
    }
    assert_false(hf__mountinfo_decode("12345678", 8, got, 8)); /* no room for the NUL */
    assert_true(hf__mountinfo_decode("1234567", 7, got, 8));
}

static void
finds_by_whole_components_and_last_row(void **state)
{
    static const char table[] = "1 0 8:1 / / rw - ext4 d rw\n"
                                "2 1 8:2 / /srv/agent rw - xfs d rw\n"
                                "3 2 8:3 / /srv/agent rw - btrfs d rw\n"
                                "4 1 8:4 / /srv rw - zfs d rw";
    struct hf__mount_row row;

    (void)state;
    assert_true(find(table, -1, "/srv/agent", &row));
    assert_int_equal(row.id, 3);
    assert_true(find(table, -1, "/srv/agent/home", &row));
    assert_int_equal(row.id, 3);
    assert_true(find(table, -1, "/srv/agent2", &row));
    assert_int_equal(row.id, 4);
    assert_true(find(table, -1, "/srvx", &row));
    assert_int_equal(row.id, 1);
    assert_true(find(table, 2, "/", &row)); /* an id needs no path */
    assert_string_equal(row.fs_type, "xfs");
    assert_false(find("", -1, "/", &row));
}

static void
takes_rows_without_a_source_and_long_names(void **state)
{
    struct hf__mount_row row;
    char value[32];

    (void)state;
    assert_true(find("9 1 0:4 / /x rw - tmpfs  rw,mode=755\n", 9, NULL, &row));
    assert_true(hf__mountinfo_option(&row, "mode", value, sizeof value));
    assert_string_equal(value, "755");
    assert_true(find("9 1 0:4 / /x rw - fuse\n", 9, NULL, &row));
    assert_string_equal(row.fs_type, "fuse");
    assert_true(
        find("9 1 0:4 / /x rw - fuse."
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
             " s rw\n",
             9, NULL, &row));
    assert_int_equal(strlen(row.fs_type), sizeof row.fs_type - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_row),
        cmocka_unit_test(skips_what_does_not_parse),
        cmocka_unit_test(decodes_escapes),
        cmocka_unit_test(finds_by_whole_components_and_last_row),
        cmocka_unit_test(takes_rows_without_a_source_and_long_names),
    };

    return cmocka_run_group_tests_name("mountinfo", tests, NULL, NULL);
}
