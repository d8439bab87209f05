/* names.c - runtimes and stores by name.  Several threads look names up; whoever closes
 * a store sees to it that nobody else uses it, as the library asks of every embedder. */
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 256 };
struct slot {
    char name[64];
    void *object;
};
static struct slot runtimes[SLOTS], stores[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct slot *
slot_find(struct slot *slots, const char *name)
{
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].object && strcmp(slots[i].name, name) == 0)
            return &slots[i];
    return NULL;
}

static int
object_put(struct call *call, struct slot *slots, const char *name, void *object)
{
    int rc = HF_OK, i = 0;

    pthread_mutex_lock(&lock);
    while (i < SLOTS && slots[i].object)
        i++;
    if (slot_find(slots, name) || strlen(name) >= sizeof slots[0].name || i == SLOTS) {
        rc = bad(call, "that name is in use (or too long)");
    } else {
        strcpy(slots[i].name, name);
        slots[i].object = object;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static void *
object_get(struct call *call, struct slot *slots, const char *kind, int take)
{
    const char *name = arg_string(call, kind, "main");
    struct slot *slot;
    void *object = NULL;

    pthread_mutex_lock(&lock);
    slot = slot_find(slots, name);
    if (slot) {
        object = slot->object;
        if (take)
            slot->object = NULL;
    } else {
        hf_error_set(&call->err, HF_INVALID, NULL, "hf-driver: there is no %s \"%s\"",
                     kind, name);
    }
    pthread_mutex_unlock(&lock);
    return object;
}

int
runtime_put(struct call *call, const char *name, struct hf_runtime *runtime)
{
    return object_put(call, runtimes, name, runtime);
}

struct hf_runtime *
runtime_get(struct call *call)
{
    return object_get(call, runtimes, "runtime", 0);
}

struct hf_runtime *
runtime_take(struct call *call)
{
    return object_get(call, runtimes, "runtime", 1);
}

int
store_put(struct call *call, const char *name, struct hf_store *store)
{
    return object_put(call, stores, name, store);
}

struct hf_store *
store_get(struct call *call)
{
    return object_get(call, stores, "store", 0);
}

struct hf_store *
store_take(struct call *call)
{
    return object_get(call, stores, "store", 1);
}

void
names_close_all(void)
{
    for (int i = 0; i < SLOTS; i++) {
        struct hf_store *store = stores[i].object;
        hf_store_close(&store);
        stores[i].object = NULL;
    }
    for (int i = 0; i < SLOTS; i++) {
        struct hf_runtime *runtime = runtimes[i].object;
        hf_runtime_free(&runtime);
        runtimes[i].object = NULL;
    }
}
