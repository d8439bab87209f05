/* holder.c - another process that holds the write lock of both files.
 *
 * A lock of this process would not do: SQLite's locks are per process.  The program runs
 * itself again, which is safe in a process with threads and open databases, as fork alone
 * is not. */
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct holder {
    pid_t pid;
    int end; /* closing it tells the other process to end */
};

struct holder *
holder_start(struct bench *b)
{
    struct holder *holder = calloc(1, sizeof *holder);
    char *args[] = {(char *)"holdfast-bench", (char *)"--hold", b->path, b->bare_path,
                    NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];
    char byte;

    if (!holder || pipe(in) != 0 || pipe(out) != 0)
        die("cannot make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, in[1]);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    if (posix_spawn(&holder->pid, "/proc/self/exe", &actions, NULL, args, environ) != 0)
        die("cannot start another process");
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    holder->end = in[1];
    if (read(out[0], &byte, 1) != 1)
        die("the other process could not lock the files");
    close(out[0]);
    return holder;
}

void
holder_stop(struct holder **holder)
{
    close((*holder)->end);
    waitpid((*holder)->pid, NULL, 0);
    free(*holder);
    *holder = NULL;
}

int
holder_main(int n_files, char **files)
{
    char byte;

    for (int i = 0; i < n_files; i++) {
        sqlite3 *db;
        if (sqlite3_open_v2(files[i], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK
            || sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
            die("cannot lock %s: %s", files[i], sqlite3_errmsg(db));
    }
    if (write(STDOUT_FILENO, "h", 1) != 1)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    /* The process ends with its transactions: nothing was written in them. */
    _exit(0);
}
