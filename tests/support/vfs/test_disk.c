/* test_disk.c - what a disk might hold after a power cut.
 *
 * The simulated device keeps what was synced.  Of the writes since then it keeps any
 * subset: caches write back in their own order.  A write arrives whole or not at all; a
 * truncation counts as a write.  Deleting and creating are taken for durable at once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_disk.h"
#include "test_vfs.h"

struct write {
    uint64_t at;
    size_t len;
    unsigned char *bytes; /* NULL: a truncation to AT */
};

struct test_disk {
    struct test_disk *next;
    char *name;
    unsigned char *synced;
    size_t size;
    struct write *writes;
    size_t n;
    int known; /* it was opened while recording */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct test_disk *disks;
static int recording;

static void *
grown(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p)
        abort();
    return p;
}

static void
forget_writes(struct test_disk *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->writes[i].bytes);
    free(d->writes);
    d->writes = NULL;
    d->n = 0;
}

/* Takes the file as it is now for synced. */
static void
take(struct test_disk *d)
{
    size_t n;
    FILE *f = fopen(d->name, "rb");
    forget_writes(d);
    d->size = 0;
    d->known = 1;
    if (!f)
        return;
    do {
        d->synced = grown(d->synced, d->size + 65536);
        n = fread(d->synced + d->size, 1, 65536, f);
        d->size += n;
    } while (n > 0);
    fclose(f);
}

static struct test_disk *
find(const char *name)
{
    struct test_disk *d = disks;
    while (d && strcmp(d->name, name))
        d = d->next;
    return d;
}

struct test_disk *
test_disk_open(const char *name)
{
    pthread_mutex_lock(&lock);
    struct test_disk *d = find(name);
    if (!d) {
        d = grown(NULL, sizeof *d);
        *d = (struct test_disk){.next = disks, .name = strdup(name)};
        disks = d;
    }
    if (recording && !d->known)
        take(d);
    pthread_mutex_unlock(&lock);
    return d;
}

void
test_disk_close(struct test_disk *d)
{
    (void)d; /* what was not synced stays so */
}

static void
add(struct test_disk *d, const void *bytes, size_t len, uint64_t at)
{
    if (!d)
        return;
    pthread_mutex_lock(&lock);
    if (recording && d->known) {
        d->writes = grown(d->writes, (d->n + 1) * sizeof *d->writes);
        struct write *w = &d->writes[d->n++];
        *w = (struct write){at, len, NULL};
        if (bytes) {
            w->bytes = grown(NULL, len);
            memcpy(w->bytes, bytes, len);
        }
    }
    pthread_mutex_unlock(&lock);
}

void
test_disk_write(struct test_disk *d, const void *bytes, size_t len, uint64_t at)
{
    add(d, bytes, len, at);
}

void
test_disk_truncate(struct test_disk *d, uint64_t size)
{
    add(d, NULL, 0, size);
}

void
test_disk_sync(struct test_disk *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&lock);
    if (recording)
        take(d);
    pthread_mutex_unlock(&lock);
}

void
test_disk_delete(const char *name)
{
    pthread_mutex_lock(&lock);
    struct test_disk *d = find(name);
    if (d) {
        forget_writes(d);
        d->size = 0;
    }
    pthread_mutex_unlock(&lock);
}

void
test_vfs_record(int on)
{
    pthread_mutex_lock(&lock);
    recording = on;
    for (struct test_disk *d = disks; d; d = d->next)
        if (on)
            take(d);
        else
            d->known = 0;
    pthread_mutex_unlock(&lock);
}

static uint64_t
next_bits(uint64_t *seed)
{
    /* splitmix64: the same picks for the same seed */
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int
test_vfs_power_cut(const char *path, const char *to, uint64_t seed)
{
    int ret = -1;
    pthread_mutex_lock(&lock);
    struct test_disk *d = find(path);
    FILE *f = d && d->known ? fopen(to, "wb") : NULL;
    if (f) {
        size_t size = d->size;
        unsigned char *image = grown(NULL, size);
        if (size)
            memcpy(image, d->synced, size);
        for (size_t i = 0; i < d->n; i++) {
            const struct write *w = &d->writes[i];
            size_t end = (size_t)w->at + w->len;
            if (next_bits(&seed) & 1)
                continue; /* it never came to the disk */
            if (!w->bytes) {
                size = end < size ? end : size;
                continue;
            }
            if (end > size) {
                image = grown(image, end);
                memset(image + size, 0, end - size);
                size = end;
            }
            memcpy(image + w->at, w->bytes, w->len);
        }
        ret = fwrite(image, 1, size, f) == size ? 0 : -1;
        ret |= fclose(f);
        free(image);
    }
    pthread_mutex_unlock(&lock);
    return ret;
}
