/* test_offline_scan.c - which words of a shell command name an open store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "internal.h"

static struct hf_error err;
static char *dir;
static const char *home, *db;
static int stores, words_sidecar, stop;
static uint64_t last_offset;
static char last_path[4096];

static int
take(void *ctx, const struct hf_offline_word *word)
{
    (void)ctx;
    stores += word->kind == HF_OFFLINE_STORE;
    words_sidecar += word->kind == HF_OFFLINE_SIDECAR;
    last_offset = word->offset;
    snprintf(last_path, sizeof last_path, "%s", word->path);
    return stop;
}

/* TEXT with each % replaced by the home's path. */
static int
scan(const char *text)
{
    struct hf__buf full = {0};
    int rc;

    for (; *text; text++)
        if (*text == '%')
            hf__buf_adds(&full, home);
        else
            hf__buf_addc(&full, *text);
    stores = words_sidecar = 0;
    rc = hf_offline_scan_command(full.ptr, full.len, home, take, NULL, &err);
    hf__buf_free(&full);
    return rc;
}

static int
before(void **state)
{
    (void)state;
    dir = scratch_make();
    home = strdup(scratch_path(dir, "ho me"));
    scratch_folder(home);
    scratch_folder(scratch_path(home, "sub"));
    db = strdup(scratch_path(home, "state.db"));
    scratch_text(db, "x");
    scratch_text(scratch_path(home, "state.db-wal"), "x");
    scratch_text(scratch_path(home, "notes.txt"), "x");
    setenv("HOME", home, 1);
    stop = 0;
    assert_int_equal(hf__live_track(db, &err), HF_OK);
    return 0;
}

static int
after(void **state)
{
    (void)state;
    hf__live_untrack(db);
    free((char *)db);
    free((char *)home);
    scratch_remove(dir);
    return 0;
}

static void
names_of_the_store(void **state)
{
    static const char *const hits[] = {
        "cat state.db",
        "cat ./state.db",
        "cat sub/../state.db",
        "cat '%/state.db'",
        "cat \"%/state.db\"",
        "cat \"$HOME/state.db\"",
        "cat ${HOME}/state.db",
        "cat ~/state.db",
        "cat <state.db",
        "echo x>state.db",
        "echo x 2>>state.db&",
        "cat st'at'e.\"db\"",
        "cat st\\ate.db",
        "cat state\\\n.db",
        "cat $'sta\\x74e.db'",
        "cat $'sta\\164e.db'",
        "dd if=state.db of=/dev/null",
        "tar --file=state.db",
        "curl -d @state.db",
        "cc -ostate.db",
        "sqlite3 'file:state.db?mode=ro'",
        "sqlite3 'file://%/state.db?mode=ro'",
        "cp notes.txt:state.db",
        "cat *.db",
        "cat *",
        "cat st?te.db",
        "cat [rs]tate.db",
        "cat sub/../*.db",
        "cat {notes.txt,state.db}",
        "cat ~/{a,state.db}",
        "cat **/state.db",
        "cat $X/state.db",
        "cat \"$X/state.db\"",
        "cat ${X:-%}/state.db",
        "cat $(dirname notes.txt)/state.db",
        "cat \"$(dirname \"$0\")/state.db\"",
        "cat `pwd`/state.db",
        "cat ~somebody/state.db",
        "sh -c 'cat state.db'",
        "sh -c \"sh -c 'cat state.db'\"",
        "python -c \"open('state.db')\"",
        "cd sub; cat ../state.db",
        "cd \"$X\" && cat state.db",
        "git -C sub show ../state.db",
        "cd / && cat ~/state.db",
        "true;cat state.db;",
        "cat 'state.db",
        "cat \"state.db",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof hits / sizeof *hits; i++) {
        assert_int_equal(scan(hits[i]), HF_OK);
        if (stores < 1)
            fail_msg("not found: %s", hits[i]);
        assert_string_equal(last_path, db);
    }
}

static void
other_words(void **state)
{
    static const char *const misses[] = {
        "",
        "cat notes.txt",
        "ls -l",
        "cat /state.db",
        "cat sub/state.db",
        "cat state.db2",
        "cat xstate.db",
        "cat '*.db'",
        "cat sub/*",
        "cat *.txt",
        "echo $X $1 $(date) `date`",
        "cd /nowhere; true",
        "$ { } [ ] ~ ~/ / // '' \"\" \\",
        "${", "$'", "$'\\", "{a", "$(", "\"$", "\"${",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof misses / sizeof *misses; i++) {
        assert_int_equal(scan(misses[i]), HF_OK);
        if (stores || words_sidecar)
            fail_msg("found in: %s", misses[i]);
    }
}

static void
sidecars_there_or_not(void **state)
{
    (void)state;
    assert_int_equal(scan("rm state.db-wal"), HF_OK);
    assert_int_equal(words_sidecar, 1);
    assert_int_equal(last_offset, 3);
    assert_int_equal(scan("cp x state.db-journal"), HF_OK);
    assert_int_equal(words_sidecar, 1);
    assert_int_equal(last_offset, 5);
    assert_int_equal(scan("rm ~/state.db-shm ~/state.db"), HF_OK);
    assert_int_equal(words_sidecar, 1);
    assert_int_equal(stores, 1);
    assert_int_equal(scan("rm state.db-*"), HF_OK);
    assert_int_equal(words_sidecar, 1);
}

static void
other_names_of_the_same_file(void **state)
{
    (void)state;
    assert_int_equal(link(db, scratch_path(home, "hard")), 0);
    assert_int_equal(symlink("state.db", scratch_path(home, "soft")), 0);
    assert_int_equal(symlink(".", scratch_path(home, "here")), 0);
    assert_int_equal(scan("cat hard; cat soft; cat here/state.db; cat here/*.db"),
                     HF_OK);
    assert_int_equal(stores, 4);
    assert_int_equal(scan("cat here/state.db-journal"), HF_OK);
    assert_int_equal(words_sidecar, 1);
    assert_int_equal(rename(db, scratch_path(home, "moved")), 0);
    assert_int_equal(scan("cat moved"), HF_OK);
    assert_int_equal(stores, 1);
}

static void
the_caller_may_stop(void **state)
{
    (void)state;
    stop = 77;
    assert_int_equal(scan("cat state.db state.db"), 77);
    assert_int_equal(stores, 1);
    assert_int_equal(scan("sh -c 'cat state.db' state.db"), 77);
    assert_int_equal(stores, 1);
    assert_int_equal(hf_offline_scan_command(NULL, 3, home, take, NULL, &err),
                     HF_INVALID);
    assert_int_equal(hf_offline_scan_command("x", 1, home, NULL, NULL, &err),
                     HF_INVALID);
}

static void
nothing_open_nothing_found(void **state)
{
    (void)state;
    hf__live_untrack(db);
    assert_int_equal(scan("cat state.db *"), HF_OK);
    assert_int_equal(stores, 0);
    assert_int_equal(hf__live_track(db, &err), HF_OK);
}

/* A lot of each, a megabyte of the first few, with a real word behind it. */
static void
hostile_texts(void **state)
{
    static const char *const pieces[] = {
        "a ", "a/", "{", "\"a 'b ", "$(", "a", "/", "*", "**a", "?", "[", "}", "{a,",
        "'", "\"", "\\", "$", "${", "`", "~", "=", "a:", "\"$(", "$'\\x", "\001", "\002/",
        "\n",
        "\xff\xfe", "cd a;", "cd $X;", "(", ")", "-C ",
    };
    const size_t most = 1 << 20;
    char *text = malloc(most + 32);
    size_t i, at;

    (void)state;
    for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t len = strlen(pieces[i]), size = i < 5 ? most : most / 32;
        for (at = 0; at + len <= size; at += len)
            memcpy(text + at, pieces[i], len);
        memcpy(text + at, " ;cat ~/state.db", 16);
        stores = 0;
        assert_int_equal(
            hf_offline_scan_command(text, at + 16, home, take, NULL, &err), HF_OK);
    }
    memset(text, 0, most);
    memcpy(text + most, "\0state.db", 9);
    stores = 0;
    assert_int_equal(hf_offline_scan_command(text, most + 9, home, take, NULL, &err),
                     HF_OK);
    assert_int_equal(stores, 1);
    free(text);
}

#define T(f) cmocka_unit_test_setup_teardown(f, before, after)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(names_of_the_store),
        T(other_words),
        T(sidecars_there_or_not),
        T(other_names_of_the_same_file),
        T(the_caller_may_stop),
        T(nothing_open_nothing_found),
        T(hostile_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
