/* test_config_broken.c - config.yaml that does not parse, is too big, or is built to take
 * for ever (SPEC 1.5; field case F37). */
#include "config_fixture.h"

/* F37: what a broken file looks like. */
static void
f37_accepted(void **state)
{
    struct hf__config *config = NULL;

    (void)state;
    gives("\xEF\xBB\xBF"
          "database:\n  journal_mode: delete\n",
          "database.journal_mode", "delete");
    gives("database:\r\n  journal_mode: delete\r\n", "database.journal_mode", "delete");
    gives("\xEF\xBB\xBF"
          "database:\r\n  journal_mode: delete\r\n",
          "database.journal_mode", "delete");
    refused("\xEF\xBB\xBF"
            "database: {journal_mode: x}\n",
            ":1:26", "found 'x'", ""); /* the mark is no column */
    gives("", "database.journal_mode", "wal");
    gives("\xEF\xBB\xBF", "database.journal_mode", "wal");
    gives("# nothing\n", "database.journal_mode", "wal");
    gives("---\n", "database.journal_mode", "wal");
    gives("---\n...\n", "database.journal_mode", "wal");
    gives("x: caf\xc3\xa9\ndatabase: {journal_mode: delete}", "database.journal_mode",
          "delete");
    assert_int_equal(load_bytes("database: {}\n", 13, &config), HF_OK);
    hf__config_unref(&config);
}

static void
f37_refused(void **state)
{
    struct hf__config *config = NULL;

    (void)state;
    refused("database:\n\tjournal_mode: delete\n", ":2:1", "bad YAML", "");
    refused("database: {journal_mode: delete\nx: [", ":2:2", "bad YAML", "line 1");
    refused("database:\n  journal_mode: [delete\n", ":3:1", "bad YAML", "line 2");
    refused("database:\n  journal_mode: delete\ndatabase:\n  journal_mode: wal\n",
            ":3:1", "twice", "");
    refused("database:\n  journal_mode: de\xfflete\n", ":2:19", "0xff", "UTF-8");
    refused("database:\n  journal_mode: \xed\xa0\x80\n", ":2:17", "UTF-8", "");
    refused("database:\n  journal_mode: \x01\n", ":2:17", "control", "");
    refused("a: 1\n---\nb: 2\n", ":2:1", "second document", "");
    refused("a: \"unended\n", ":2:1", "bad YAML", "");
    assert_int_equal(load_bytes("database:\n  journal\0_mode: x\n", 27, &config),
                     HF_CONFIG);
    assert_non_null(strstr(err.message, "config.yaml:2:10: a NUL byte"));
    assert_int_equal(load_bytes("database:\n  journal_mode: delete\n\0", 34, &config),
                     HF_CONFIG);
    assert_non_null(strstr(err.message, ":3:1: a NUL byte"));
}

static void
f37_no_file_to_read(void **state)
{
    struct hf__config *config = NULL;

    (void)state;
    scratch_folder(file);
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "found a folder"));
    assert_string_equal(err.path, file);
    rmdir(file);
    assert_int_equal(mkfifo(file, 0600), 0); /* must not hang */
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_CONFIG);
    unlink(file);
    assert_int_equal(symlink("nowhere", file), 0);
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "symbolic link"));
    unlink(file);
    scratch_text(scratch_path(dir, "real.yaml"), "database: {journal_mode: delete}\n");
    assert_int_equal(symlink("real.yaml", file), 0);
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_OK);
    assert_string_equal(hf__config_get(config, "database.journal_mode"), "delete");
    hf__config_unref(&config);
    unlink(file);
    scratch_text(file, ""); /* a file where the home should be */
    assert_int_equal(hf__config_load(file, file, NULL, &config, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "cannot be read"));
    unlink(file);
    if (geteuid() == 0)
        return; /* root reads a file of mode 000 */
    scratch_text(file, "database: {}\n");
    chmod(file, 0);
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "cannot be read"));
}

static void
f37_too_big(void **state)
{
    struct hf__config *config = NULL;
    size_t len = (1u << 20) + 1;
    char *text = malloc(len);

    (void)state;
    memset(text, '#', len);
    assert_int_equal(load_bytes(text, len - 1, &config), HF_OK);
    hf__config_unref(&config);
    assert_int_equal(load_bytes(text, len, &config), HF_CONFIG);
    assert_non_null(strstr(err.message, "at most 1 MiB"));
    free(text);
}

static void
f37_bombs(void **state)
{
    char text[8000], *big;
    struct hf__config *config = NULL;
    size_t len, i;
    int k;

    (void)state;
    len = (size_t)snprintf(text, sizeof text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (k = 1; k < 10; k++)
        len += (size_t)snprintf(
            text + len, sizeof text - len,
            "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,"
            "*a%d]\n",
            k, k, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1);
    snprintf(text + len, sizeof text - len, "database: {journal_mode: delete}\n");
    refused(text, ":7:10", "an anchor bomb", "");
    /* a chain of aliases, each one deeper */
    len = (size_t)snprintf(text, sizeof text, "b0: &b0 [x]\n");
    for (k = 1; k < 80; k++)
        len += (size_t)snprintf(text + len, sizeof text - len, "b%d: &b%d [*b%d]\n", k,
                                k, k - 1);
    refused(text, ":64:12", "nested too deeply", "");
    for (k = 0, len = 4; k < 70; k++)
        text[len++] = '[';
    memcpy(text, "a:  ", 4);
    text[len] = '\0';
    refused(text, ":1:68", "nested too deeply", "");
    /* a file full of anchors, and one full of aliases and values */
    big = malloc(1u << 20);
    for (i = 0, len = 0; len < (1u << 20) - 40; i++)
        len += (size_t)snprintf(big + len, 40, "- &x%zu y\n", i);
    assert_int_equal(load_bytes(big, len, &config), HF_CONFIG);
    assert_non_null(strstr(err.message, "too many anchors"));
    len = (size_t)snprintf(big, 40, "a: [&a x");
    while (len < (1u << 20) - 40)
        len += (size_t)snprintf(big + len, 40, ",*a,z");
    len += (size_t)snprintf(big + len, 40, "]\n");
    assert_int_equal(load_bytes(big, len, &config), HF_CONFIG);
    assert_non_null(strstr(err.message, "too many aliases"));
    /* what is looked for one by one */
    len = (size_t)snprintf(big, 40, "backends:\n");
    for (i = 0; len < (1u << 20) - 40; i++)
        len += (size_t)snprintf(big + len, 40, "  x%zu: {}\n", i);
    assert_int_equal(load_bytes(big, len, &config), HF_CONFIG);
    assert_non_null(strstr(err.message, "more than 256 backends"));
    len = (size_t)snprintf(big, 40, "backends:\n  x:\n");
    for (i = 0; len < (1u << 20) - 40; i++)
        len += (size_t)snprintf(big + len, 40, "    k%zu: 1\n", i);
    assert_int_equal(load_bytes(big, len, &config), HF_CONFIG);
    assert_non_null(strstr(err.message, "more than 2000 options"));
    free(big);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(f37_accepted),
        T(f37_refused),
        T(f37_no_file_to_read),
        T(f37_too_big),
        T(f37_bombs),
    };

    return cmocka_run_group_tests_name("config_broken", tests, NULL, NULL);
}
