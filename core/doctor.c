/* doctor.c - runs the checks of doctor for one profile or all, and emits what they found
 * in the order of SPEC 12. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define ROWS_MAX 1000u /* a wrecked database could have a finding a page */

void
hf__doctor_add(struct hf__doctor *d, enum hf__doctor_rank rank, uint32_t severity,
               uint32_t fixable, const char *code, const char *path, const char *remedy,
               const char *fmt, ...)
{
    struct hf__doctor_row *row;
    char *text = NULL;
    va_list ap;
    int n;

    if (d->n_rows == ROWS_MAX)
        return;
    if (d->n_rows == d->cap_rows) {
        size_t cap = d->cap_rows ? d->cap_rows * 2 : 32;
        struct hf__doctor_row *more = realloc(d->rows, cap * sizeof *more);
        if (!more) {
            d->no_memory = 1;
            return;
        }
        d->rows = more;
        d->cap_rows = cap;
    }
    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    row = &d->rows[d->n_rows];
    row->rank = (int)rank;
    row->severity = severity;
    row->fixable = fixable;
    row->text = n < 0 ? NULL : text;
    row->code = strdup(code);
    row->path = path ? strdup(path) : NULL;
    row->remedy = remedy ? strdup(remedy) : NULL;
    d->n_rows++;
    if (!row->text || !row->code || (path && !row->path) || (remedy && !row->remedy))
        d->no_memory = 1;
}

static void
rows_clear(struct hf__doctor *d)
{
    size_t i;

    for (i = 0; i < d->n_rows; i++) {
        free(d->rows[i].code);
        free(d->rows[i].path);
        free(d->rows[i].text);
        free(d->rows[i].remedy);
    }
    d->n_rows = 0;
}

/* Emits the rows by rank, each rank in the order in which it was found. */
static int
rows_emit(const struct hf__doctor *d, hf_finding_fn *emit, void *ctx)
{
    size_t i;
    int rank, rc;

    for (rank = HF__DR_CONFIG; rank <= HF__DR_HEALTH; rank++)
        for (i = 0; i < d->n_rows; i++) {
            const struct hf__doctor_row *row = &d->rows[i];
            struct hf_finding f = HF_INIT(struct hf_finding);
            if (row->rank != rank)
                continue;
            f.code = row->code;
            f.path = row->path;
            f.text = row->text;
            f.remedy = row->remedy;
            f.severity = row->severity;
            f.fixable = row->fixable;
            rc = emit(ctx, &f);
            if (rc)
                return rc;
        }
    return 0;
}

static int
is_sqlite(const struct hf__config *config)
{
    const char *name = hf__config_get(config, "database.backend"), *slash;

    if (!name)
        return 1;
    slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, slash ? "hf_sqlite.so" : "sqlite") == 0;
}

static void
look_at_mount(struct hf__doctor *d)
{
    const char *check = hf__config_get(d->config, "database.mount_check");

    d->mount = HF_INIT(struct hf_mount);
    hf__mount_classify(d->sqlite ? d->files.path[0] : d->home, &d->mount);
    d->mount_off = check && strcmp(check, "off") == 0;
    if (d->mount_off)
        d->mount.mount_class = HF_MOUNT_NATIVE;
}

/* Everything about the profile that D names. */
static void
examine(struct hf__doctor *d)
{
    d->sqlite = is_sqlite(d->config);
    d->refused = d->vulnerable = 0;
    memset(&d->files, 0, sizeof d->files);
    /* Files first: they are not read any more once a connection to them is open. */
    if (d->sqlite)
        hf__doctor_look(d);
    if (d->no_memory)
        return;
    look_at_mount(d);
    hf__doctor_env(d);
    if (d->sqlite) {
        hf__doctor_file_rows(d);
        hf__doctor_generation(d);
        hf__doctor_kernel(d);
    }
    hf__doctor_store(d);
    if (d->sqlite)
        hf__doctor_journal(d);
}

static int
doctor_profile(struct hf__doctor *d, const char *profile, hf_finding_fn *emit, void *ctx,
               struct hf_error *err)
{
    struct hf__config *config = NULL;
    struct hf_error why = {0};
    char *home = NULL;
    int rc = hf__runtime_profile(d->rt, profile, &config, &home, &why);

    d->profile = profile;
    d->home = home;
    d->config = config;
    if (rc == HF_CONFIG)
        hf__doctor_add(d, HF__DR_CONFIG, HF_SEV_FAILURE, 0, "config_bad",
                       why.path[0] ? why.path : NULL, "correct the file", "profile %s: %s",
                       profile, why.message);
    else if (rc != HF_OK) {
        if (err)
            *err = why;
        goto out;
    } else
        examine(d);
    rc = d->no_memory ? hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory")
                      : rows_emit(d, emit, ctx);
out:
    rows_clear(d);
    hf__doctor_files_free(&d->files);
    hf__config_unref(&config);
    free(home);
    return rc;
}

struct names {
    char **v;
    size_t n;
};

static int
name_add(void *ctx, const char *name, const char *home)
{
    struct names *names = ctx;
    char **more = realloc(names->v, (names->n + 1) * sizeof *more);

    (void)home;
    if (!more)
        return HF_NO_MEMORY;
    names->v = more;
    names->v[names->n] = strdup(name);
    return names->v[names->n++] ? 0 : HF_NO_MEMORY;
}

int
hf_doctor(struct hf_runtime *runtime, const struct hf_doctor_options *options,
          hf_finding_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf_doctor_options how = HF_INIT(struct hf_doctor_options);
    struct hf__doctor d = {0};
    struct names names = {0};
    size_t i;
    int rc = HF_OK;

    if (!runtime || !emit)
        return hf_error_set(err, HF_INVALID, NULL, "doctor needs a runtime and a callback");
    if (options) {
        rc = hf__abi_ok(options, "struct hf_doctor_options", err);
        if (rc != HF_OK)
            return rc;
        hf__abi_copy(&how, sizeof how, options);
    }
    d.rt = runtime;
    d.fix = how.fix;
    d.deep = how.deep;
    if (how.all_profiles)
        rc = hf_runtime_profiles(runtime, name_add, &names, err);
    else
        rc = name_add(&names, runtime->where.profile, NULL);
    if (rc == HF_NO_MEMORY)
        hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    for (i = 0; rc == HF_OK && i < names.n; i++)
        rc = doctor_profile(&d, names.v[i], emit, ctx, err);
    for (i = 0; i < names.n; i++)
        free(names.v[i]);
    free(names.v);
    free(d.rows);
    return rc;
}
