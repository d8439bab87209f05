/* once.c - what was already said: each message goes to the log once per process and
 * path.  What is remembered here lives as long as the process. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"

struct said {
    struct said *next;
    const char *event; /* of static storage */
    char path[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct said *all_said;

int
hf__once(const char *event, const char *path)
{
    int first = 1;
    pthread_mutex_lock(&lock);
    for (struct said *s = all_said; s && first; s = s->next)
        first = strcmp(s->event, event) || strcmp(s->path, path);
    if (first) {
        struct said *s = malloc(sizeof *s + strlen(path) + 1);
        if (s) { /* without memory it may be said twice */
            s->event = event;
            strcpy(s->path, path);
            s->next = all_said;
            all_said = s;
        }
    }
    pthread_mutex_unlock(&lock);
    return first;
}

int
hf__once_fork_enter(void)
{
    return pthread_mutex_trylock(&lock);
}

void
hf__once_fork_leave(void)
{
    pthread_mutex_unlock(&lock);
}

void
hf__db_log(const struct hf_sqlite_db *db, int level, const char *event, const char *fmt,
           ...)
{
    const struct hf_host *host = db->opt.host;
    char text[2040];
    va_list ap;
    if (!host || !host->log)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    host->log(host->ctx, level, event, db->path, "%s", text);
}
