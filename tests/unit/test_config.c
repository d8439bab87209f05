/* test_config.c - config.yaml: which values are taken, which are refused, and in which
 * words (SPEC 1.4, 1.5; field case F06). */
#include "config_fixture.h"

static void
no_file_is_all_defaults(void **state)
{
    static const char *const want[][2] = {{"database.backend", "sqlite"},
                                          {"database.journal_mode", "wal"},
                                          {"database.fallback", "jsonl"},
                                          {"database.fallback_retry_seconds", "30"},
                                          {"database.plugin_path", ""},
                                          {"database.synchronous", "full"},
                                          {"database.cache_size", ""},
                                          {"database.mmap_size", ""},
                                          {"database.temp_store", ""},
                                          {"database.journal_size_limit", "67108864"},
                                          {"database.wal_autocheckpoint", "1000"},
                                          {"database.mount_check", "auto"},
                                          {"database.read_pool_max", "8"},
                                          {"database.patience_ms", "20000"},
                                          {"database.lock_style", "ofd"},
                                          {"sessions.index", "deferred"},
                                          {"sessions.max_export_messages", "0"}};
    struct hf__config *config = NULL;
    size_t i;

    (void)state;
    assert_int_equal(hf__config_load(dir, dir, NULL, &config, &err), HF_OK);
    for (i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(hf__config_get(config, want[i][0]), want[i][1]);
    assert_string_equal(hf__config_get(config, "database.fallback_dir"),
                        scratch_path(dir, "fallback"));
    assert_null(hf__config_find(config, "database.journal_mode")->file);
    assert_int_equal(config->backend_explicit, 0);
    assert_int_equal(hf__config_int(config, "database.patience_ms"), 20000);
    assert_true(hf__config_int(config, "database.cache_size") == HF_NO_INT);
    assert_null(hf__config_get(config, "database.nothing"));
    assert_string_equal(config->entries[0].key, "database.backend");
    hf__config_unref(&config);
    assert_int_not_equal(access(file, F_OK), 0); /* nothing was written */
}

static void
takes_every_key(void **state)
{
    struct hf__config *config = NULL;

    (void)state;
    assert_int_equal(load("model: x\n"
                          "database:\n"
                          "  backend: my_backend\n"
                          "  journal_mode: delete\n"
                          "  fallback: none\n"
                          "  fallback_dir: /var/fb\n"
                          "  fallback_retry_seconds: 1\n"
                          "  plugin_path: [/a, \"/b c\"]\n"
                          "  synchronous: extra\n"
                          "  cache_size: -2000\n"
                          "  mmap_size: 268435456\n"
                          "  temp_store: 2\n"
                          "  journal_size_limit: -1\n"
                          "  wal_autocheckpoint: 0\n"
                          "  mount_check: off\n"
                          "  read_pool_max: 64\n"
                          "  patience_ms: 0\n"
                          "  lock_style: posix\n"
                          "sessions:\n"
                          "  index: immediate\n"
                          "  max_export_messages: 5\n"
                          "  retention_days: 90\n"
                          "backends:\n"
                          "  jsonl: {dir: /x}\n",
                          &config),
                     HF_OK);
    assert_string_equal(hf__config_get(config, "database.backend"), "my_backend");
    assert_string_equal(hf__config_get(config, "database.journal_mode"), "delete");
    assert_string_equal(hf__config_get(config, "database.plugin_path"), "/a\n/b c");
    assert_string_equal(hf__config_get(config, "database.mount_check"), "off");
    assert_int_equal(hf__config_int(config, "database.cache_size"), -2000);
    assert_string_equal(hf__config_get(config, "sessions.index"), "immediate");
    assert_string_equal(hf__config_get(config, "backends.jsonl.dir"), "/x");
    assert_int_equal(config->backend_explicit, 1);
    assert_int_equal(hf__config_find(config, "database.journal_mode")->line, 4);
    assert_string_equal(hf__config_find(config, "database.journal_mode")->file, file);
    hf__config_unref(&config);
}

/* F06, its part of the configuration: no misspelled journal mode ends in WAL. */
static void
f06_journal_modes(void **state)
{
    (void)state;
    gives("database:\n  journal_mode: delete\n", "database.journal_mode", "delete");
    gives("database:\n  journal_mode: \"delete\"\n", "database.journal_mode", "delete");
    gives("database:\n  journal_mode: DELETE\n", "database.journal_mode", "delete");
    gives("database:\n  journal_mode: Wal\n", "database.journal_mode", "wal");
    refused("database:\n  journal_mode: dlete\n", ":2:17", "found 'dlete'",
            "allowed: wal, delete (did you mean 'delete'?)");
    refused("database:\n  journal_mode: off\n", ":2:17", "found 'off'", "wal, delete");
    refused("database:\n  journal_mode: truncate\n", ":2:17", "found 'truncate'",
            "wal, delete");
    refused("database:\n  journal_mode: 5\n", ":2:17", "found '5'", "wal, delete");
    refused("database:\n  journal_mode:\n", ":2:16", "found nothing", "wal, delete");
    refused("database:\n  journal_mode: ~\n", ":2:17", "found nothing", "wal, delete");
    refused("database:\n  journal_mode: ''\n", ":2:17", "found ''", "wal, delete");
    refused("database:\n  journal_mode: [delete]\n", ":2:17", "found a list",
            "wal, delete");
    refused("database:\n  journal_mode:\n  - delete\n", ":3:3", "found a list",
            "wal, delete");
    refused("database:\n  journal_mode: {delete: 1}\n", ":2:17", "found a mapping",
            "wal, delete");
    refused("database:\n  journal_mode: 'delete '\n", ":2:17", "found 'delete '",
            "did you mean 'delete'");
    refused("database:\n  journal_mode: \"dele\\nte\"\n", ":2:17", "found '",
            "wal, delete");
    refused("database:\n  journal_mode: \"delete\\0\"\n", ":2:17", "a text with a NUL",
            "wal, delete");
    refused("database:\n  journal_mode: !x delete\n", ":2:17", "tag", "journal_mode");
    refused("database:\n  jornal_mode: delete\n", ":2:3",
            "unknown key 'database.jornal_mode'", "did you mean 'journal_mode'");
    refused("database:\n  Journal_Mode: delete\n", ":2:3", "unknown key",
            "journal_mode");
    refused("database: delete\n", ":1:11", "database: found a plain value", "allowed");
    refused("database: [journal_mode]\n", ":1:11", "found a list", "allowed");
    refused("database:\n  journal_mode: delete\n  journal_mode: wal\n", ":3:3",
            "stands twice", "line 2");
}

static void
numbers(void **state)
{
    (void)state;
    gives("database: {patience_ms: 5}", "database.patience_ms", "5");
    gives("database: {patience_ms: +5}", "database.patience_ms", "5");
    gives("database: {patience_ms: !!int \"5\"}\n", "database.patience_ms", "5");
    refused("database: {patience_ms: !!str 5}", ":1:25", "in quotes", "whole number");
}

static void
wrong_numbers(void **state)
{
    (void)state;
    gives("database: {read_pool_max: }", "database.read_pool_max", "8");
    gives("database: {read_pool_max: null}", "database.read_pool_max", "8");
    gives("database: {cache_size: ~}", "database.cache_size", "");
    refused("database: {read_pool_max: 0}", ":1:27", "found '0'", "from 1 to 64");
    refused("database: {read_pool_max: 65}", ":1:27", "found '65'", "from 1 to 64");
    refused("database: {read_pool_max: -1}", ":1:27", "found '-1'", "from 1 to 64");
    refused("database: {read_pool_max: \"8\"}", ":1:27", "in quotes", "from 1 to 64");
    refused("database: {read_pool_max: 8.0}", ":1:27", "found '8.0'", "whole number");
    refused("database: {read_pool_max: 010}", ":1:27", "found '010'", "whole number");
    refused("database: {read_pool_max: 0x8}", ":1:27", "found '0x8'", "whole number");
    refused("database: {read_pool_max: lots}", ":1:27", "found 'lots'", "whole number");
    refused("database: {read_pool_max: [8]}", ":1:27", "found a list", "whole number");
    refused("database: {cache_size: 99999999999999999999}", ":1:24", "found '9999",
            "whole number");
    refused("database: {fallback_retry_seconds: 86401}", ":1:36", "86401", "86400");
}

static void
synchronous(void **state)
{
    static const char *const names[] = {"off", "normal", "full", "extra"};
    struct hf__config *config = NULL;
    struct hf_setting *settings = NULL;
    char text[100], digit[2] = "0";
    int i, k, found;

    (void)state;
    for (i = 0; i < 4; i++) {
        digit[0] = (char)('0' + i);
        snprintf(text, sizeof text, "database: {synchronous: %s}", names[i]);
        gives(text, "database.synchronous", names[i]);
        snprintf(text, sizeof text, "database: {synchronous: %s}", digit);
        gives(text, "database.synchronous", names[i]);
        assert_int_equal(load(text, &config), HF_OK);
        assert_int_equal(hf__settings_database(config, &settings, &err), HF_OK);
        for (k = 0, found = 0; settings[k].key; k++)
            if (strcmp(settings[k].key, "synchronous") == 0) {
                assert_string_equal(settings[k].value, digit);
                found = 1;
            }
        assert_int_equal(found, 1);
        hf__settings_free(&settings);
        hf__config_unref(&config);
    }
    refused("database: {synchronous: 4}", ":1:25", "found '4'", "0 to 3");
    refused("database: {synchronous: ful}", ":1:25", "found 'ful'", "'full'");
}

static void
paths_and_names(void **state)
{
    (void)state;
    gives("database: {plugin_path: []}", "database.plugin_path", "");
    gives("database: {backend: /opt/hf_x.so}", "database.backend", "/opt/hf_x.so");
    refused("database: {plugin_path: /a}", ":1:25", "found a plain value",
            "a list of absolute folders");
    refused("database: {plugin_path: [/a, b]}", ":1:30", "found 'b'", "absolute");
    refused("database: {plugin_path: [/a, ]}\n  x", ":2:3", "YAML", "");
    refused("database:\n  plugin_path:\n  -\n", ":3:4", "found nothing", "absolute");
    refused("database: {plugin_path: [[/a]]}", ":1:26", "found a list", "absolute");
    refused("database: {plugin_path: [\"/a\\nb\"]}", ":1:26", "line end", "");
    refused("database: {plugin_path: }", ":1:25", "found nothing", "a list");
    refused("database: {fallback_dir: fb}", ":1:26", "found 'fb'", "an absolute path");
    refused("database: {fallback_dir: ~/fb}", ":1:26", "found '~/fb'", "absolute path");
    refused("database: {backend: Bad-Name}", ":1:21", "found 'Bad-Name'", "name");
    refused("database: {backend: 5}", ":1:21", "found '5'", "name");
    refused("database: {backend: ../x}", ":1:21", "found '../x'", "name");
    refused("database: {backend: }", ":1:21", "found nothing", "name");
}

static void
transcripts_of_hermes_are_no_fallback(void **state)
{
    char text[5000];

    (void)state;
    snprintf(text, sizeof text, "database:\n  fallback_dir: %s/sessions/x\n", dir);
    refused(text, ":2:17", "belongs to Hermes", "/sessions");
    snprintf(text, sizeof text, "database:\n  fallback_dir: %s/sessions2\n", dir);
    gives(text, "database.fallback", "jsonl");
}

static void
other_programs_keys_are_left_alone(void **state)
{
    (void)state;
    gives("model: {a: [1, {b: &x c}], d: *x}\n"
          "x: 1\nx: 2\n? [complex, key]\n: y\n"
          "journal_mode: rubbish\n"
          "<<: {p: 1}\n"
          "sessions:\n  retention: {days: 4}\n  retention: 5\n  auto_prune: true\n"
          "database:\n  journal_mode: delete\n",
          "database.journal_mode", "delete");
    assert_string_equal(logged, "");
    gives("sessions:\n  indx: immediate\n", "sessions.index", "deferred");
    assert_non_null(strstr(logged, "20 config_near_miss "));
    assert_non_null(strstr(logged, "config.yaml:2:3: 'indx'"));
    assert_non_null(strstr(logged, "did you mean 'index'?"));
    gives("databse:\n  journal_mode: delete\n", "database.journal_mode", "wal");
    assert_non_null(strstr(logged, "did you mean 'database'?"));
    refused("sessions:\n  index: never\n", ":2:10", "found 'never'",
            "deferred, immediate");
    refused("sessions: 5\n", ":1:11", "sessions: found a plain value", "allowed");
    refused("sessions:\n  index: deferred\n  index: deferred\n", ":3:3", "twice", "");
}

static void
read_pool_of_hermes(void **state)
{
    (void)state;
    gives("sessions: {read_pool_max: 3}", "database.read_pool_max", "3");
    gives("sessions: {read_pool_max: 3}\ndatabase: {read_pool_max: 5}",
          "database.read_pool_max", "5");
    gives("sessions: {read_pool_max: ~}", "database.read_pool_max", "8");
    refused("sessions: {read_pool_max: 65}", ":1:27", "found '65'", "64");
}

static void
aliases_in_our_sections(void **state)
{
    (void)state;
    gives("x: &m delete\ndatabase: {journal_mode: *m}\n", "database.journal_mode",
          "delete");
    gives("x: &d {journal_mode: delete}\ndatabase: *d\n", "database.journal_mode",
          "delete");
    gives("x: &p [/a]\ndatabase: {plugin_path: *p}\n", "database.plugin_path", "/a");
    gives("x: &k journal_mode\ndatabase:\n  *k : delete\n", "database.journal_mode",
          "delete");
    gives("x: &m wal\ny: &m delete\ndatabase: {journal_mode: *m}\n",
          "database.journal_mode", "delete");
    refused("x: &m dlete\ndatabase: {journal_mode: *m}\n", ":2:26", "found 'dlete'",
            "'delete'");
    refused("x: &d {journal_mode: delete}\ndatabase:\n  <<: *d\n", ":3:3", "merge key",
            "database");
    refused("x: &d {database: {journal_mode: delete}}\n<<: *d\n", ":2:1", "merge key",
            "");
    refused("x: &d {database: {journal_mode: delete}}\n<<: [{a: 1}, *d]\n", ":2:1",
            "merge key", "");
    refused("database: {journal_mode: *m}\n", ":1:26", "alias", "not there");
    refused("x: &a [*a]\n", ":1:8", "alias", "own anchor");
}

static void
sections(void **state)
{
    (void)state;
    gives("database:\n", "database.journal_mode", "wal");
    gives("database:\n  # journal_mode: delete\nsessions: ~\nbackends:\n",
          "database.journal_mode", "wal");
    refused("database:\n  journal_mode: delete\nx: 1\ndatabase:\n  journal_mode: wal\n",
            ":4:1", "the section 'database' stands twice", "line 1");
    refused("\"database\":\n  journal_mode: delete\ndatabase: {}\n", ":3:1", "twice",
            "");
    refused("sessions: {}\nsessions: {}\n", ":2:1", "twice", "sessions");
    refused("backends: {}\nbackends: {}\n", ":2:1", "twice", "backends");
    refused("- database\n", ":1:1", "found a list", "sections");
    refused("just text\n", ":1:1", "found a plain value", "sections");
}

static void
backend_sections(void **state)
{
    static const struct hf_option table[] = {
        {"dir", "path", "/default", ""}, {"depth", "int:1..9", "3", ""},
        {"fast", "bool", "true", ""},    {"level", "enum:low|high", "low", ""},
        {"note", "string", NULL, ""},    {NULL, NULL, NULL, NULL}};
    struct hf__config *config = NULL;
    struct hf_setting *s = NULL;

    (void)state;
    assert_int_equal(load("backends:\n  mine:\n    fast: No\n    level: HIGH\n"
                          "    depth: ~\n    note: 'x: y'\n  other: {z: 1}\n  empty:\n",
                          &config),
                     HF_OK);
    assert_int_equal(hf__settings_make(config, "mine", table, &s, &err), HF_OK);
    assert_string_equal(s[0].key, "dir");
    assert_string_equal(s[0].value, "/default");
    assert_string_equal(s[1].value, "3");
    assert_string_equal(s[2].value, "false");
    assert_string_equal(s[3].value, "high");
    assert_string_equal(s[4].value, "x: y");
    assert_null(s[5].key);
    hf__settings_free(&s);
    assert_int_equal(hf__settings_make(config, "other", table, &s, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "config.yaml:7:14: backends.other.z"));
    assert_non_null(strstr(err.message, "allowed: dir, depth"));
    assert_null(s);
    assert_int_equal(hf__settings_make(config, "other", NULL, &s, &err), HF_CONFIG);
    assert_int_equal(hf__settings_make(config, "absent", NULL, &s, &err), HF_OK);
    assert_null(s[0].key);
    hf__settings_free(&s);
    hf__config_unref(&config);

    assert_int_equal(load("backends: {mine: {dpth: 4}}", &config), HF_OK);
    assert_int_equal(hf__settings_make(config, "mine", table, &s, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "did you mean 'depth'?"));
    hf__config_unref(&config);
    assert_int_equal(load("backends: {mine: {depth: 10}}", &config), HF_OK);
    assert_int_equal(hf__settings_make(config, "mine", table, &s, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "config.yaml:1:26: backends.mine.depth: found "
                                        "'10', allowed: a whole number from 1 to 9"));
    assert_string_equal(err.path, file);
    hf__config_unref(&config);
    assert_int_equal(load("backends: {mine: {level: }}", &config), HF_OK);
    assert_int_equal(hf__settings_make(config, "mine", table, &s, &err), HF_CONFIG);
    assert_non_null(strstr(err.message, "found nothing"));
    hf__config_unref(&config);

    refused("backends: {mine: {depth: [1]}}", ":1:26", "found a list",
            "one plain value");
    refused("backends: {mine: 4}", ":1:18", "backends.mine: found a plain", "options");
    refused("backends: {My: {}}", ":1:12", "backend's name", "");
    refused("backends: {a: {}, a: {}}", ":1:19", "backends.a stands twice", "");
    refused("backends: {a: {x: 1, x: 2}}", ":1:22", "backends.a.x stands twice", "");
    refused("backends: 4", ":1:11", "backends: found", "");
}

static void
profile_over_root(void **state)
{
    const char *home;
    struct hf__config *config = NULL;

    (void)state;
    scratch_folder(scratch_path(dir, "profiles"));
    home = strdup(scratch_path(dir, "profiles/alpha"));
    scratch_folder(home);
    scratch_text(file,
                 "database: {journal_mode: delete, patience_ms: 7, cache_size: 9}\n"
                 "sessions: {read_pool_max: 2}\n"
                 "backends: {j: {a: root, b: root}}\n");
    scratch_text(scratch_path(home, "config.yaml"),
                 "database: {patience_ms: 8, cache_size: }\n"
                 "sessions: {read_pool_max: 4}\nbackends: {j: {b: own, c: own}}\n");
    assert_int_equal(hf__config_load(dir, home, NULL, &config, &err), HF_OK);
    assert_string_equal(hf__config_get(config, "database.journal_mode"), "delete");
    assert_string_equal(hf__config_find(config, "database.journal_mode")->file, file);
    assert_string_equal(hf__config_get(config, "database.patience_ms"), "8");
    assert_string_equal(hf__config_get(config, "database.cache_size"), "");
    assert_null(hf__config_find(config, "database.cache_size")->file);
    assert_string_equal(hf__config_get(config, "database.read_pool_max"), "4");
    assert_string_equal(hf__config_get(config, "backends.j.a"), "root");
    assert_string_equal(hf__config_get(config, "backends.j.b"), "own");
    assert_string_equal(hf__config_get(config, "backends.j.c"), "own");
    assert_string_equal(hf__config_get(config, "database.fallback_dir"),
                        scratch_path(home, "fallback"));
    hf__config_unref(&config);
    scratch_text(scratch_path(home, "config.yaml"),
                 "database: {journal_mode: dlete}\n");
    assert_int_equal(hf__config_load(dir, home, NULL, &config, &err), HF_CONFIG);
    assert_string_equal(err.path, scratch_path(home, "config.yaml"));
    free((char *)(uintptr_t)home);
}

static void
database_settings_are_complete(void **state)
{
    struct hf__config *config = NULL;
    struct hf_setting *s = NULL;
    int i, index = 0;

    (void)state;
    assert_int_equal(load("database: {journal_mode: DELETE}\n", &config), HF_OK);
    assert_int_equal(hf__settings_database(config, &s, &err), HF_OK);
    for (i = 0; s[i].key; i++) {
        assert_non_null(s[i].value);
        assert_string_not_equal(s[i].key, "backend");
        assert_string_not_equal(s[i].key, "plugin_path");
        assert_null(strstr(s[i].key, "database."));
        if (strcmp(s[i].key, "journal_mode") == 0)
            assert_string_equal(s[i].value, "delete");
        index += strcmp(s[i].key, "sessions.index") == 0;
    }
    assert_int_equal(i, 15);
    assert_int_equal(index, 1);
    hf__settings_free(&s);
    hf__config_unref(&config);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_file_is_all_defaults),
        T(takes_every_key),
        T(f06_journal_modes),
        T(numbers),
        T(wrong_numbers),
        T(synchronous),
        T(paths_and_names),
        T(transcripts_of_hermes_are_no_fallback),
        T(other_programs_keys_are_left_alone),
        T(read_pool_of_hermes),
        T(aliases_in_our_sections),
        T(sections),
        T(backend_sections),
        T(profile_over_root),
        T(database_settings_are_complete),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
