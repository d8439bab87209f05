/* trace.c - collects the SQL of every connection in this process.
 *
 * The product's modules load the same libsqlite3.so as this program, so that an automatic
 * extension registered here sees their connections as well. */
#include "driver.h"

#include <pthread.h>
#include <sqlite3.h>

static json_t *statements;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int
statement_seen(unsigned type, void *db, void *stmt, void *text)
{
    const char *file = sqlite3_db_filename(db, "main");
    struct hf_text sql = hf_str(text), path = hf_str(file ? file : "");
    json_t *row = json_object();

    (void)stmt;
    if (type != SQLITE_TRACE_STMT) {
        json_decref(row);
        return 0;
    }
    json_object_set_new(row, "db", text_write(&path));
    json_object_set_new(row, "sql", text_write(&sql));
    pthread_mutex_lock(&lock);
    if (!statements)
        statements = json_array();
    json_array_append_new(statements, row);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int
connection_opened(sqlite3 *db, char **error, const struct sqlite3_api_routines *api)
{
    (void)error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, statement_seen, db);
}

/* trace: {"on":true} before the store is opened, {"on":false}; else the statements since
 * the last time. */
int
cmd_trace(struct call *call)
{
    int64_t on = arg_int(call, "on", -1);
    void (*entry)(void) = (void (*)(void))connection_opened;

    if (on == 1 && sqlite3_auto_extension(entry) != SQLITE_OK)
        return bad(call, "sqlite3_auto_extension failed");
    if (on == 0)
        sqlite3_cancel_auto_extension(entry);
    pthread_mutex_lock(&lock);
    json_object_set_new(call->out, "statements",
                        statements ? statements : json_array());
    statements = NULL;
    pthread_mutex_unlock(&lock);
    return HF_OK;
}
