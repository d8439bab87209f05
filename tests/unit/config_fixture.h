/* config_fixture.h - a folder with a config.yaml for each test, and what loading it gives.
 * Shared by the test_config*.c programs. */
#ifndef HF_CONFIG_FIXTURE_H
#define HF_CONFIG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/scratch.h"
#include "internal.h"

static char *dir;
static const char *file;
static struct hf_error err;
static char logged[4096];

static inline int
set_up(void **state)
{
    (void)state;
    dir = scratch_make();
    file = strdup(scratch_path(dir, "config.yaml"));
    logged[0] = '\0';
    return 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    free((char *)(uintptr_t)file);
    scratch_remove(dir);
    return 0;
}

__attribute__((format(printf, 5, 6))) static inline void
note(void *ctx, int32_t level, const char *event, const char *path, const char *fmt,
     ...)
{
    size_t len = strlen(logged);
    va_list ap;

    (void)ctx;
    (void)path;
    snprintf(logged + len, sizeof logged - len, "%d %s ", (int)level, event);
    len = strlen(logged);
    va_start(ap, fmt);
    vsnprintf(logged + len, sizeof logged - len, fmt, ap);
    va_end(ap);
}

/* Loads the bytes as the root's configuration. */
static inline int
load_bytes(const void *bytes, size_t len, struct hf__config **ret)
{
    struct hf_host host = HF_INIT(struct hf_host);

    host.log = note;
    memset(&err, 0, sizeof err);
    scratch_write(file, bytes, len);
    return hf__config_load(dir, dir, &host, ret, &err);
}

static inline int
load(const char *text, struct hf__config **ret)
{
    return load_bytes(text, strlen(text), ret);
}

/* TEXT makes KEY (of the database section, or a full key) the value WANT. */
static inline void
gives(const char *text, const char *key, const char *want)
{
    struct hf__config *config = NULL;
    int rc = load(text, &config);

    if (rc != HF_OK)
        fail_msg("%s\n-> %s", text, err.message);
    assert_string_equal(hf__config_get(config, key), want);
    hf__config_unref(&config);
    assert_null(config);
}

/* TEXT is refused; the message begins with the file and PLACE (":3:5") and holds A and
 * B. */
static inline void
refused(const char *text, const char *place, const char *a, const char *b)
{
    struct hf__config *config = NULL;
    char start[4200];
    int rc = load(text, &config);

    if (rc == HF_OK)
        fail_msg("accepted: %s", text);
    assert_int_equal(rc, HF_CONFIG);
    assert_int_equal(err.code, HF_CONFIG);
    assert_null(config);
    assert_string_equal(err.path, file);
    assert_null(strchr(err.message, '\n'));
    snprintf(start, sizeof start, "%s%s: ", file, place);
    if (strncmp(err.message, start, strlen(start)) != 0)
        fail_msg("not at %s: %s", place, err.message);
    if (!strstr(err.message, a) || !strstr(err.message, b))
        fail_msg("no '%s' and '%s' in: %s", a, b, err.message);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
