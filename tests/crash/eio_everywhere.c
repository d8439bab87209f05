/* eio_everywhere.c - every single read, write, sync, truncation and lock of a store's
 * life fails once.
 *
 * A first life on the test VFS counts the calls; after that each round is a life of its
 * own in which one of them fails.  A call of the library that meets the fault says so
 * with a code and a text, neither damage nor absence; the same call works the next time;
 * what was acknowledged is there exactly once, what was not at most once; and the next
 * open finds a whole database with a whole search index.  Counted, not random: a failure
 * names its round.
 *
 *     eio_everywhere wal|delete [FAULT [ONLY-N]]
 *
 * More than HF_ROUNDS calls of a kind ("all", or a number; else 60) are strided. */
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "../support/vfs/test_vfs.h"

enum { APPENDS = 6, BIG = 30000 };

static const struct fault {
    const char *name;
    enum test_call kind;
    int rc, forever; /* forever: until the life is over */
} faults[] = {
    {"read", TEST_READ, SQLITE_IOERR_READ, 0},
    {"write", TEST_WRITE, SQLITE_IOERR_WRITE, 0},
    {"full", TEST_WRITE, SQLITE_FULL, 0},
    {"sync", TEST_SYNC, SQLITE_IOERR_FSYNC, 0},
    {"truncate", TEST_TRUNCATE, SQLITE_IOERR_TRUNCATE, 0},
    {"lock", TEST_LOCK, SQLITE_IOERR_LOCK, 0},
    {"read-on", TEST_READ, SQLITE_IOERR_READ, 1},
    {"write-on", TEST_WRITE, SQLITE_IOERR_WRITE, 1},
    {"full-on", TEST_WRITE, SQLITE_FULL, 1},
    {"sync-on", TEST_SYNC, SQLITE_IOERR_FSYNC, 1},
    {"lock-on", TEST_LOCK, SQLITE_IOERR_LOCK, 1},
};
enum { FAULTS = sizeof faults / sizeof *faults };

struct life {
    struct hf_runtime *rt;
    struct hf_store *store;
    struct hf_appended seconds[2]; /* of the second append: the watermark */
    int acknowledged[APPENDS + 1]; /* the last one is the summary of the compaction */
    int found[APPENDS + 1];
    int created, compacted;
};

static char folder[200];
static const char *mode;
static const struct fault *fault; /* NULL: none */
static unsigned long long nth;
static int met; /* calls of the library that the fault made fail */

__attribute__((noreturn)) static void
die(const char *what, const char *why)
{
    fprintf(stderr, "eio_everywhere %s %s %llu: %s: %s\n", mode,
            fault ? fault->name : "-", nth, what, why);
    exit(1);
}

static int
remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(name);
}

static struct hf_text
text(const char *s)
{
    return (struct hf_text){s, strlen(s)};
}

/* ---- the calls of one life ---- */

static const char *
content_of(int i)
{
    static char big[BIG + 64];
    static char small[64];
    int n = snprintf(small, sizeof small, "item%d walrus", i);
    if (i % 3 != 1)
        return small;
    memset(big, 'x', BIG);
    memcpy(big, small, (size_t)n);
    for (int at = n; at < BIG; at += 9)
        big[at] = ' ';
    big[BIG] = '\0';
    return big;
}

static int
do_open(struct life *l, int i, struct hf_error *err)
{
    struct hf_runtime_options o = HF_INIT(struct hf_runtime_options);
    (void)i;
    o.home = folder;
    if (!l->rt && hf_runtime_new(&o, &l->rt, err) != HF_OK)
        die("runtime", err->message);
    return hf_store_open(l->rt, NULL, &l->store, err);
}

static int
do_create(struct life *l, int i, struct hf_error *err)
{
    struct hf_session s = HF_INIT(struct hf_session);
    (void)i;
    s.id = text("s1");
    s.source = text("cli");
    int rc = hf_store_session_create(l->store, &s, NULL, 0, err);
    l->created |= rc == HF_OK;
    return rc;
}

static int
do_append(struct life *l, int i, struct hf_error *err)
{
    struct hf_message m = HF_INIT(struct hf_message);
    const struct hf_message *list[] = {&m};
    struct hf_append a = HF_INIT(struct hf_append);
    struct hf_appended ret;
    m.role = text("user");
    m.content = text(content_of(i));
    m.timestamp = 1700000000.0 + i;
    a.session_id = text("s1");
    a.messages = list;
    a.n_messages = 1;
    int rc = hf_store_append(l->store, &a, &ret, err);
    if (rc == HF_OK) {
        l->acknowledged[i]++;
        if (i < 2)
            l->seconds[i] = ret;
    }
    return rc;
}

static int
do_compact(struct life *l, int i, struct hf_error *err)
{
    struct hf_message m = HF_INIT(struct hf_message);
    const struct hf_message *list[] = {&m};
    struct hf_text id = text("s1");
    (void)i;
    m.role = text("user");
    m.content = text(content_of(APPENDS));
    int rc = hf_store_compact(l->store, &id, l->seconds[1].id, list, 1, NULL, err);
    l->acknowledged[APPENDS] += rc == HF_OK;
    return rc;
}

static int
on_hit(void *ctx, const struct hf_hit *hit)
{
    (void)hit;
    ++*(int *)ctx;
    return 0;
}

static int
do_search(struct life *l, int i, struct hf_error *err)
{
    struct hf_search q = HF_INIT(struct hf_search);
    struct hf_search_info info = HF_INIT(struct hf_search_info);
    int hits = 0;
    (void)i;
    q.text = text("walrus");
    int rc = hf_store_search(l->store, &q, on_hit, &hits, &info, err);
    if (rc == HF_OK && !hits && l->acknowledged[0])
        die("search", "finds nothing, and says that it worked");
    return rc;
}

static int
on_message(void *ctx, const struct hf_message *m)
{
    struct life *l = ctx;
    int i = -1;
    if (m->content.len < 5 || sscanf(m->content.ptr, "item%d ", &i) != 1 || i < 0 ||
        i > APPENDS)
        die("a message", "is none that was written");
    l->found[i]++;
    return 0;
}

static int
do_read(struct life *l, int i, struct hf_error *err)
{
    struct hf_message_query q = HF_INIT(struct hf_message_query);
    struct hf_text id = text("s1");
    (void)i;
    q.states = HF_MSG_ACTIVE | HF_MSG_COMPACTED | HF_MSG_REWOUND;
    memset(l->found, 0, sizeof l->found);
    return hf_store_read(l->store, &id, &q, on_message, l, err);
}

static int
do_flush(struct life *l, int i, struct hf_error *err)
{
    (void)i;
    return hf_store_flush(l->store, err);
}

/* ---- a life ---- */

typedef int step_fn(struct life *l, int i, struct hf_error *err);

/* What no single fault of the disk may be told as. */
static int
is_wrong(int code)
{
    return code == HF_CORRUPT || code == HF_NOT_FOUND || code == HF_EXISTS ||
           code == HF_CONFLICT || code == HF_INVALID || code == HF_MISUSE ||
           code == HF_REPLACED || code == HF_WAL_LOST || code == HF_FTS_INDEX ||
           code == HF_PLUGIN || code == HF_CONFIG || code > 0;
}

/* 0: it was done, at once or, when the fault passes, at the second try. */
static int
step(struct life *l, const char *name, step_fn *fn, int i)
{
    struct hf_error err;
    char why[2200];
    for (int tries = 0; tries < 2; tries++) {
        memset(&err, 0, sizeof err);
        int rc = fn(l, i, &err);
        if (rc == HF_OK)
            return 0;
        snprintf(why, sizeof why, "%s: %s", hf_code_name(rc), err.message);
        if (!fault || (tries && !fault->forever))
            die(name, why);
        if (!err.message[0] || err.code != rc)
            die(name, "it failed without a text, or with two codes");
        if (is_wrong(rc))
            die(name, why);
        met++;
        if (fault->forever)
            return -1;
    }
    return -1;
}

static void
check_acknowledged(const struct life *l, const char *when)
{
    char why[120];
    for (int i = 0; i <= APPENDS; i++) {
        snprintf(why, sizeof why, "item %d was acknowledged %d times and is there %d times",
                 i, l->acknowledged[i], l->found[i]);
        if (l->found[i] < l->acknowledged[i] || l->found[i] > 1)
            die(when, why);
    }
}

static void
live(struct life *l)
{
    if (step(l, "open", do_open, 0) == 0 && step(l, "create", do_create, 0) == 0) {
        int compacted = 0;
        for (int i = 0; i < APPENDS; i++) {
            (void)step(l, "append", do_append, i);
            if (i == 2)
                (void)step(l, "search", do_search, 0);
            if (i == 3 && l->acknowledged[1])
                compacted = step(l, "compact", do_compact, 0) == 0;
            if (i == 4)
                (void)step(l, "flush", do_flush, 0);
        }
        l->compacted = compacted;
        (void)step(l, "search", do_search, 0);
        if (step(l, "read", do_read, 0) == 0)
            check_acknowledged(l, "read");
        (void)step(l, "flush", do_flush, 0);
    }
    hf_store_close(&l->store);
}

/* ---- afterwards, without faults ---- */

static int
on_finding(void *ctx, const struct hf_finding *f)
{
    (void)ctx;
    if (f->severity >= HF_SEV_WARNING)
        die(f->code, f->text);
    return 0;
}

static void
ask_sqlite(void)
{
    static const char *const sql[] = {
        "PRAGMA integrity_check",
        "INSERT INTO messages_fts(messages_fts) VALUES('integrity-check')"};
    char path[256];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    snprintf(path, sizeof path, "%s/state.db", folder);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK)
        die("plain SQLite", sqlite3_errmsg(db));
    for (int i = 0; i < 2; i++) {
        int rc = sqlite3_prepare_v2(db, sql[i], -1, &stmt, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(stmt);
        if (rc != (i ? SQLITE_DONE : SQLITE_ROW))
            die(sql[i], sqlite3_errmsg(db));
        if (!i && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok"))
            die(sql[i], (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
}

static void
look_back(struct life *l)
{
    struct hf_error err;
    if (hf_store_open(l->rt, NULL, &l->store, &err) != HF_OK)
        die("the next open", err.message);
    if (l->created) {
        if (do_read(l, 0, &err) != HF_OK)
            die("the next read", err.message);
        check_acknowledged(l, "the next open");
        if (l->acknowledged[0] && do_search(l, 0, &err) != HF_OK)
            die("the next search", err.message);
    }
    if (hf_store_check(l->store, HF_CHECK_DEEP, on_finding, NULL, &err) != HF_OK)
        die("the next check", err.message);
    hf_store_close(&l->store);
    ask_sqlite();
}

/* One round.  Returns how many calls of the fault's kind the life made. */
static uint64_t
round_of(const struct fault *f, uint64_t n)
{
    struct life l;
    char name[256];
    FILE *config;
    memset(&l, 0, sizeof l);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    snprintf(name, sizeof name, "%s/config.yaml", folder);
    if (mkdir(folder, 0700) || !(config = fopen(name, "w")))
        die(folder, "cannot be made");
    fprintf(config, "database:\n  journal_mode: %s\n  patience_ms: 500\n", mode);
    fclose(config);

    uint64_t before = test_vfs_count(f->kind);
    fault = n ? f : NULL;
    nth = n;
    test_vfs_fail(f->kind, n, f->rc, f->forever);
    live(&l);
    test_vfs_fail(f->kind, 0, 0, 0);
    uint64_t calls = test_vfs_count(f->kind) - before;
    look_back(&l);
    hf_runtime_free(&l.rt);
    return calls;
}

int
main(int argc, char **argv)
{
    const char *shm = access("/dev/shm", W_OK) ? NULL : "/dev/shm";
    const char *tmp = getenv("TMPDIR"), *most_text = getenv("HF_ROUNDS");
    uint64_t most = 60, only = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    int matched = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s wal|delete [FAULT [ONLY-N]]\n", argv[0]);
        return 2;
    }
    mode = argv[1];
    if (most_text)
        most = strcmp(most_text, "all") ? strtoull(most_text, NULL, 10) : UINT64_MAX;
    if (!most)
        most = 1;
    /* In memory, where a sync costs nothing: thousands are made. */
    snprintf(folder, sizeof folder, "%s/hf-eio-XXXXXX", shm ? shm : tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        die(folder, "cannot be made");
    test_vfs_register();
    for (int i = 0; i < FAULTS; i++) {
        const struct fault *f = &faults[i];
        if (argc > 2 && strcmp(argv[2], f->name))
            continue;
        matched = 1;
        uint64_t calls = round_of(f, 0), rounds = 0;
        uint64_t stride = calls / most + 1;
        met = 0;
        for (uint64_t n = only ? only : 1; n <= calls; n += stride) {
            round_of(f, n);
            rounds++;
            if (only)
                break;
        }
        /* Truncations may be missing in a mode, and failing ones are made up for. */
        if (!calls && f->kind != TEST_TRUNCATE)
            die(f->name, "there is no such call to fail");
        if (rounds && !met && !only && f->kind != TEST_TRUNCATE)
            die(f->name, "no call of the library noticed");
        printf("%s %s: %llu calls, %llu failed in turn, %d noticed\n", mode, f->name,
               (unsigned long long)calls, (unsigned long long)rounds, met);
        fflush(stdout);
    }
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return matched ? 0 : 2;
}
