/* cmd_process.c - commands on the driver's own process: what a host program does around
 * the library (environment, working directory, limits, stray descriptors). */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sqlite3.h>

static int
system_failed(struct call *call, const char *what)
{
    return hf_error_set(&call->err, HF_IO, NULL, "hf-driver: %s: %s", what,
                        strerror(errno));
}

/* setenv: {"name","value"}; a null value removes it. */
static int
cmd_setenv(struct call *call)
{
    const char *name = arg_string(call, "name", "");
    const char *value = arg_string(call, "value", NULL);
    int rc = value ? setenv(name, value, 1) : unsetenv(name);

    return rc ? system_failed(call, "setenv") : HF_OK;
}

static int
cmd_chdir(struct call *call)
{
    return chdir(arg_string(call, "path", "")) ? system_failed(call, "chdir") : HF_OK;
}

/* setlocale: {"name"} for LC_ALL, gives {"ok":false} where that locale is missing. */
static int
cmd_setlocale(struct call *call)
{
    const char *name = arg_string(call, "name", "C");
    return setlocale(LC_ALL, name) ? HF_OK : bad(call, "no such locale");
}

/* rlimit: {"which":"nofile"|"as"|"fsize","value":N} sets the soft limit. */
static int
cmd_rlimit(struct call *call)
{
    const char *which = arg_string(call, "which", "");
    int resource = strcmp(which, "nofile") == 0  ? RLIMIT_NOFILE
                   : strcmp(which, "as") == 0    ? RLIMIT_AS
                   : strcmp(which, "fsize") == 0 ? RLIMIT_FSIZE
                                                 : -1;
    struct rlimit limit;

    if (resource < 0 || getrlimit(resource, &limit) != 0)
        return bad(call, "no such limit");
    limit.rlim_cur = (rlim_t)arg_int(call, "value", 0);
    return setrlimit(resource, &limit) ? system_failed(call, "setrlimit") : HF_OK;
}

/* stray: {"path"} opens, reads and closes the file, as code that knows nothing of
 * databases does. */
static int
cmd_stray(struct call *call)
{
    const char *path = arg_string(call, "path", "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char byte;
    ssize_t n;

    if (fd < 0)
        return system_failed(call, path);
    n = read(fd, &byte, 1);
    close(fd);
    return n < 0 ? system_failed(call, path) : HF_OK;
}

static int
row_emit(void *ctx, int n, char **values, char **names)
{
    struct call *call = ctx;
    json_t *row = json_array();

    (void)names;
    for (int i = 0; i < n; i++) {
        struct hf_text text = hf_str(values[i]);
        json_array_append_new(row, text_write(&text));
    }
    json_array_append_new(json_object_get(call->out, "rows"), row);
    return 0;
}

/* sql: {"path","sql"} through a connection of the driver's own. */
static int
cmd_sql(struct call *call)
{
    const char *path = arg_string(call, "path", "");
    sqlite3 *db = NULL;
    char *error = NULL;
    int rc = sqlite3_open(path, &db);

    json_object_set_new(call->out, "rows", json_array());
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, arg_string(call, "sql", ""), row_emit, call, &error);
    if (rc != SQLITE_OK)
        hf_error_set(&call->err, HF_IO, path, "hf-driver: %s",
                     error ? error : sqlite3_errmsg(db));
    sqlite3_free(error);
    sqlite3_close(db);
    return rc == SQLITE_OK ? HF_OK : HF_IO;
}

static int
cmd_about(struct call *call)
{
    json_object_set_new(call->out, "pid", json_integer(getpid()));
    json_object_set_new(call->out, "version", json_string(hf_version()));
    json_object_set_new(call->out, "sqlite", json_string(sqlite3_libversion()));
    return HF_OK;
}

/* exit: {"status"}: at once, closing nothing. */
static int
cmd_exit(struct call *call)
{
    _exit((int)arg_int(call, "status", 0));
}

const struct command process_commands[] = {
    {"setenv", cmd_setenv}, {"chdir", cmd_chdir}, {"setlocale", cmd_setlocale},
    {"rlimit", cmd_rlimit}, {"stray", cmd_stray}, {"sql", cmd_sql},
    {"log", cmd_log},       {"trace", cmd_trace}, {"about", cmd_about},
    {"exit", cmd_exit},     {NULL, NULL}};
