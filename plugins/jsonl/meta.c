/* meta.c - the key/values of the store: one line in a file of its own, replaced as a
 * whole. Leases live there too. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"
#include "util/misc.h"

#define META_MAX (64u << 20)

static int
meta_read(struct hf_jsonl_store *st, const char *path, json_t **ret,
          struct hf_error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), rc = HF_OK;
    struct stat sb;
    char *bytes = NULL;
    size_t have = 0;
    json_t *json = NULL;

    (void)st;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        *ret = json_array();
        return *ret ? HF_OK : hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
    }
    if (fd < 0)
        return hf__jl_fail(err, errno, path, "opening");
    if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_size > (off_t)META_MAX) {
        rc = hf_error_set(err, HF_CORRUPT, path, "%s is no file of Holdfast's", path);
        goto out;
    }
    bytes = malloc((size_t)sb.st_size + 1);
    if (!bytes) {
        rc = hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
        goto out;
    }
    while (have < (size_t)sb.st_size) {
        ssize_t n = pread(fd, bytes + have, (size_t)sb.st_size - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    while (have && (bytes[have - 1] == '\n' || bytes[have - 1] == '\r'))
        have--;
    json = hf__jl_crc_ok(bytes, have) ? hf__jl_parse(bytes, have) : NULL;
    if (json_is_array(json_object_get(json, "fields")))
        *ret = json_incref(json_object_get(json, "fields"));
    else
        rc = hf_error_set(err, HF_CORRUPT, path,
                          "%s is damaged: move it away to begin with no key/values",
                          path);
out:
    json_decref(json);
    free(bytes);
    close(fd);
    return rc;
}

static int
meta_write(struct hf_jsonl_store *st, const char *path, const json_t *meta,
           struct hf_error *err)
{
    struct hf__buf out = {0}, temp = {0};
    size_t start, i;
    json_t *pair;
    int fd = -1, sys = 0, rc = HF_OK;

    hf__jl_line_begin(&out, &start, NULL);
    hf__jl_line_key(&out, "change");
    hf__buf_adds(&out, "\"meta\"");
    hf__jl_line_key(&out, "fields");
    hf__buf_addc(&out, '[');
    json_array_foreach(meta, i, pair)
    {
        hf__buf_adds(&out, i ? ",[" : "[");
        hf__jl_value(&out, json_array_get(pair, 0));
        hf__buf_adds(&out, ",\"set\",");
        hf__jl_value(&out, json_array_get(pair, 2));
        hf__buf_addc(&out, ']');
    }
    hf__buf_addc(&out, ']');
    hf__jl_line_end(&out, start);
    hf__buf_addf(&temp, "%s.new", path);
    if (out.failed || temp.failed) {
        rc = hf_error_set(err, HF_NO_MEMORY, path, "out of memory");
        goto out;
    }
    unlink(temp.ptr); /* of a process that was killed: we have the lock */
    fd = open(temp.ptr, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        sys = errno;
    else if (!(sys = hf__jl_write_all(fd, 0, out.ptr, out.len)) && fsync(fd) < 0)
        sys = errno;
    if (!sys && rename(temp.ptr, path) < 0)
        sys = errno;
    if (sys) {
        if (fd >= 0)
            unlink(temp.ptr);
        rc = hf__jl_fail(err, sys, path, "writing");
    } else
        rc = hf__jl_sync_dir(st, err);
    if (fd >= 0)
        close(fd);
out:
    hf__buf_free(&out);
    hf__buf_free(&temp);
    return rc;
}

static char *
meta_path(const struct hf_jsonl_store *st, struct hf_error *err)
{
    char *path = hf__path_join(st->dir, ".meta.json");

    if (!path)
        hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    return path;
}

int
hf__jl_meta_change(struct hf_jsonl_store *st,
                   int (*change)(struct hf_jsonl_store *st, json_t *meta,
                                 int *ret_write, void *ctx, struct hf_error *err),
                   void *ctx, struct hf_error *err)
{
    char *path = meta_path(st, err), *lock = hf__path_join(st->dir, ".meta.lock");
    struct hf__jl_wait wait;
    json_t *meta = NULL;
    int fd = -1, store = 0, rc;

    if (!path || !lock) {
        free(path);
        free(lock);
        return hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    pthread_mutex_lock(&st->meta);
    hf__jl_wait_begin(st, &wait, st->patience_ms);
    rc = hf__jl_lock_open(st, lock, 1, &wait, &fd, err);
    if (rc == HF_OK)
        rc = meta_read(st, path, &meta, err);
    if (rc == HF_OK)
        rc = change(st, meta, &store, ctx, err);
    if (rc == HF_OK && store)
        rc = meta_write(st, path, meta, err);
    if (fd >= 0)
        hf__jl_unlock(fd);
    pthread_mutex_unlock(&st->meta);
    json_decref(meta);
    free(path);
    free(lock);
    return rc;
}

json_t *
hf__jl_meta_find(const json_t *meta, const struct hf_text *key, size_t *ret_i)
{
    json_t *pair;
    size_t i;

    json_array_foreach(meta, i, pair)
    {
        struct hf_text name = hf__jl_string(json_array_get(pair, 0));
        if (name.ptr && name.len == key->len &&
            !memcmp(name.ptr, key->ptr, (size_t)key->len)) {
            if (ret_i)
                *ret_i = i;
            return json_array_get(pair, 2);
        }
    }
    return NULL;
}

int
hf__jl_meta_put(json_t *meta, const struct hf_text *key, const struct hf_text *value)
{
    json_t *pair;
    size_t i;

    if (hf__jl_meta_find(meta, key, &i))
        json_array_remove(meta, i);
    if (!value || !value->ptr)
        return 0;
    pair = json_pack("[o, s, o]", json_stringn_nocheck(key->ptr, (size_t)key->len),
                     "set", json_stringn_nocheck(value->ptr, (size_t)value->len));
    return pair ? json_array_append_new(meta, pair) : -1;
}

int
hf__jl_meta_get(void *store, const struct hf_text *key,
                int (*emit)(void *ctx, const struct hf_text *value), void *ctx,
                struct hf_error *err)
{
    struct hf_jsonl_store *st = store;
    char *path = meta_path(st, err);
    json_t *meta = NULL;
    int rc;

    if (!path)
        return HF_NO_MEMORY;
    rc = meta_read(st, path, &meta, err); /* replaced as a whole: no lock is needed */
    if (rc == HF_OK) {
        struct hf_text value = hf__jl_string(hf__jl_meta_find(meta, key, NULL));
        rc = value.ptr ? emit(ctx, &value)
                       : hf_error_set(err, HF_NOT_FOUND, path, "there is no key %.*s",
                                      HF__JL_ID_ARGS(key));
    }
    json_decref(meta);
    free(path);
    return rc;
}

struct pair {
    const struct hf_text *key, *value;
};

static int
set_change(struct hf_jsonl_store *st, json_t *meta, int *ret_write, void *ctx,
           struct hf_error *err)
{
    const struct pair *pair = ctx;

    (void)st;
    *ret_write = 1;
    return hf__jl_meta_put(meta, pair->key, pair->value) < 0
               ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory")
               : HF_OK;
}

int
hf__jl_meta_set(void *store, const struct hf_text *key, const struct hf_text *value,
                struct hf_error *err)
{
    struct pair pair = {key, value};
    return hf__jl_meta_change(store, set_change, &pair, err);
}
