/* cmd_second.c - a second copy of SQLite in the process, as a host that links its own
 * has: the same library loaded once more into a namespace of its own, with its own
 * globals and its own books about locks. */
#include "driver.h"

#include <dlfcn.h>
#include <sqlite3.h>

static struct {
    int (*open)(const char *, sqlite3 **);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *,
                char **);
    int (*close)(sqlite3 *);
    const char *(*errmsg)(sqlite3 *);
} copy;
static sqlite3 *db;

static void *
find(void *library, const char *name)
{
    void *f = library ? dlsym(library, name) : NULL;
    return f;
}

static int
load(struct call *call)
{
    if (copy.open)
        return HF_OK;
    void *library = dlmopen(LM_ID_NEWLM, "libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    *(void **)&copy.exec = find(library, "sqlite3_exec");
    *(void **)&copy.close = find(library, "sqlite3_close");
    *(void **)&copy.errmsg = find(library, "sqlite3_errmsg");
    *(void **)&copy.open = find(library, "sqlite3_open");
    if (!copy.open || !copy.exec || !copy.close || !copy.errmsg)
        return hf_error_set(&call->err, HF_UNSUPPORTED, NULL,
                            "hf-driver: no second SQLite: %s", dlerror());
    if (copy.open == sqlite3_open)
        return hf_error_set(&call->err, HF_UNSUPPORTED, NULL,
                            "hf-driver: the second SQLite is the first one");
    return HF_OK;
}

static int
failed(struct call *call, const char *what)
{
    return hf_error_set(&call->err, HF_IO, NULL, "hf-driver: %s: %s", what,
                        copy.errmsg(db));
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

/* second_open: {"path"}: opens it through the second copy. */
static int
cmd_second_open(struct call *call)
{
    int rc = load(call);
    if (rc != HF_OK)
        return rc;
    return copy.open(arg_string(call, "path", ""), &db) ? failed(call, "open") : HF_OK;
}

/* second_sql: {"sql"}: its rows. */
static int
cmd_second_sql(struct call *call)
{
    const char *sql = arg_string(call, "sql", "");
    if (!db)
        return bad(call, "second_open first");
    json_object_set_new(call->out, "rows", json_array());
    return copy.exec(db, sql, row_emit, call, NULL) ? failed(call, sql) : HF_OK;
}

static int
cmd_second_close(struct call *call)
{
    if (db && copy.close(db))
        return failed(call, "close");
    db = NULL;
    return HF_OK;
}

const struct command second_commands[] = {{"second_open", cmd_second_open},
                                          {"second_sql", cmd_second_sql},
                                          {"second_close", cmd_second_close},
                                          {NULL, NULL}};
