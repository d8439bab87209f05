/* cmd_fork.c - forking with stores open. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int
system_failed(struct call *call, const char *what)
{
    return hf_error_set(&call->err, HF_IO, NULL, "hf-driver: %s: %s", what,
                        strerror(errno));
}

/* The answer of one command, run here. */
static json_t *
run_one(json_t *command)
{
    struct call inner = {.in = command, .out = json_object()};
    call_run(&inner);
    return inner.out;
}

/* fork: {"do":{command} or [commands], "exit"}: a child runs them on the handles it
 * inherited, and ends at once, or as exit() does it with "exit":true.  Its answers are
 * {"child":{...} or [...],"status"}. */
static int
cmd_fork(struct call *call)
{
    json_t *commands = json_object_get(call->in, "do"), *command, *answer;
    int ends[2], status;
    size_t i;
    pid_t child;
    FILE *from;

    if (pipe(ends) != 0)
        return system_failed(call, "pipe");
    child = fork();
    if (child == 0) {
        char *text;
        answer = json_is_array(commands) ? json_array() : run_one(commands);
        json_array_foreach(commands, i, command)
            json_array_append_new(answer, run_one(command));
        text = json_dumps(answer, JSON_COMPACT);
        status = write(ends[1], text, strlen(text)) < 0;
        close(ends[1]);
        free(text);
        json_decref(answer);
        if (!json_is_true(json_object_get(call->in, "exit")))
            _exit(status);
        exit(status);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return system_failed(call, "fork");
    }
    from = fdopen(ends[0], "r");
    answer = json_loadf(from, JSON_ALLOW_NUL, NULL);
    fclose(from);
    waitpid(child, &status, 0);
    json_object_set_new(call->out, "child", answer ? answer : json_null());
    json_object_set_new(call->out, "status", json_integer(status));
    return HF_OK;
}

/* fork_leave: the parent ends at once and closes nothing; a child of it answers this
 * and all further commands. */
static int
cmd_fork_leave(struct call *call)
{
    pid_t child = fork();
    if (child > 0)
        _exit(0);
    return child == 0 ? HF_OK : system_failed(call, "fork");
}

const struct command fork_commands[] = {
    {"fork", cmd_fork}, {"fork_leave", cmd_fork_leave}, {NULL, NULL}};
