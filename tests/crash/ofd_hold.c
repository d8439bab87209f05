/* ofd_hold.c - a process that works with a database through libholdfast-sqlite while
 * another thread of it opens and closes the files, for tests/field/test_ofd.py.
 *
 *     ofd_hold hold STYLE JOURNAL DB
 *         opens DB, begins a transaction with a row in it and says "held"; "stray N" on
 *         standard input lets a thread open, read and close the files N times, answered
 *         by "done"; end of input commits and closes.
 *     ofd_hold work STYLE JOURNAL DB NAME THREADS ROUNDS ROWS
 *         THREADS threads each open DB, commit ROWS rows one by one and close, ROUNDS
 *         times, beside a thread of strays; prints the number of acknowledged commits.
 *
 * STYLE is ofd or posix, JOURNAL wal or delete. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/sqlite.h>

static struct hf_sqlite_options opt;
static const char *name;
static long rounds, rows;
static atomic_long acknowledged;
static atomic_int stop;

__attribute__((noreturn)) static void
die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static int
make_table(void *ctx, sqlite3 *db, struct hf_error *err)
{
    (void)ctx;
    if (sqlite3_exec(db,
                     "CREATE TABLE t(who, n); CREATE TABLE c(n); "
                     "INSERT INTO c VALUES(0)",
                     NULL, NULL, NULL))
        return hf_error_set(err, HF_IO, NULL, "%s", sqlite3_errmsg(db));
    return HF_OK;
}

static struct hf_sqlite_db *
open_db(void)
{
    struct hf_sqlite_db *db = NULL;
    struct hf_error err;
    if (hf_sqlite_open_db(&opt, &db, &err) != HF_OK)
        die("open", err.message);
    return db;
}

/* Code that knows nothing of databases: a backup, an indexer, a file tool. */
static void
stray_once(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char file[4200], byte;
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s%s", opt.path, suffixes[i]);
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, &byte, 1) < 0)
            perror(file);
        close(fd);
    }
}

static void *
stray_many(void *times)
{
    for (long i = 0; i < *(long *)times; i++)
        stray_once();
    return NULL;
}

static void *
stray_until_stopped(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        stray_once();
        usleep(200);
    }
    return NULL;
}

static int
hold(void)
{
    struct hf_error err;
    char line[100];
    struct hf_sqlite_db *db = open_db();
    if (hf_sqlite_begin(db, -1, &err) != HF_OK ||
        hf_sqlite_exec(db, "INSERT INTO t VALUES('held', 1)", &err) != HF_OK)
        die("begin", err.message);
    printf("held\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        long times = 0;
        pthread_t thread;
        if (sscanf(line, "stray %ld", &times) != 1 ||
            pthread_create(&thread, NULL, stray_many, &times))
            die("stray", line);
        pthread_join(thread, NULL);
        printf("done\n");
        fflush(stdout);
    }
    if (hf_sqlite_commit(db, &err) != HF_OK)
        die("commit", err.message);
    hf_sqlite_close_db(&db);
    return 0;
}

static void *
worker(void *number)
{
    struct hf_error err;
    char sql[200];
    for (long round = 0; round < rounds; round++) {
        struct hf_sqlite_db *db = open_db();
        for (long i = 0; i < rows; i++) {
            snprintf(sql, sizeof sql,
                     "INSERT INTO t VALUES('%s%ld', %ld); UPDATE c SET n=n+1", name,
                     *(long *)number, round * rows + i);
            if (hf_sqlite_begin(db, -1, &err) != HF_OK ||
                hf_sqlite_exec(db, sql, &err) != HF_OK ||
                hf_sqlite_commit(db, &err) != HF_OK)
                die("commit", err.message);
            atomic_fetch_add(&acknowledged, 1);
        }
        hf_sqlite_close_db(&db);
    }
    return NULL;
}

static int
work(long threads)
{
    pthread_t stray, workers[16];
    long numbers[16];
    if (threads > 16 || pthread_create(&stray, NULL, stray_until_stopped, NULL))
        die("threads", "too many");
    for (long i = 0; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&workers[i], NULL, worker, &numbers[i]))
            die("threads", "cannot start");
    }
    for (long i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(stray, NULL);
    printf("%ld\n", atomic_load(&acknowledged));
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc < 5)
        die("usage", "ofd_hold hold|work STYLE JOURNAL DB [NAME THREADS ROUNDS ROWS]");
    opt = HF_INIT(struct hf_sqlite_options);
    opt.lock_posix = !strcmp(argv[2], "posix");
    opt.journal_mode = !strcmp(argv[3], "wal") ? HF_JOURNAL_WAL : HF_JOURNAL_DELETE;
    opt.path = argv[4];
    opt.synchronous = 0; /* processes end here, machines do not */
    opt.wal_autocheckpoint = 100;
    opt.patience_ms = 60000;
    opt.cache_size = opt.mmap_size = opt.temp_store = opt.journal_size_limit =
        HF_NO_INT;
    opt.initialize = make_table;
    if (!strcmp(argv[1], "hold"))
        return hold();
    if (argc < 9)
        die("usage", "ofd_hold work STYLE JOURNAL DB NAME THREADS ROUNDS ROWS");
    name = argv[5];
    rounds = atol(argv[7]);
    rows = atol(argv[8]);
    return work(atol(argv[6]));
}
