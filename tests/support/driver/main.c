/* main.c - hf-driver: reads one JSON command a line, answers one JSON object a line. */
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A command that runs in a thread of its own until "wait" asks for its answer. */
struct job {
    pthread_t thread;
    struct call call;
    int used;
};
enum { JOBS = 256 };
static struct job jobs[JOBS];

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static command_fn *
command_find(const char *name)
{
    const struct command *tables[] = {
        runtime_commands, session_commands, message_commands, store_commands,
        process_commands, fork_commands,    second_commands};

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const struct command *c = tables[i]; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c->run;
    return NULL;
}

static void
call_answer(struct call *call, int rc, double elapsed)
{
    struct hf_text message = hf_str(call->err.message), path = hf_str(call->err.path);

    json_object_set_new(call->out, "elapsed", json_real(elapsed));
    json_object_set_new(call->out, "ok", json_boolean(rc == HF_OK));
    if (rc == HF_OK)
        return;
    json_object_set_new(call->out, "rc", json_integer(rc));
    json_object_set_new(call->out, "code", json_string(hf_code_name(rc)));
    json_object_set_new(call->out, "message", text_write(&message));
    json_object_set_new(call->out, "path", text_write(&path));
    json_object_set_new(call->out, "err_code", json_integer(call->err.code));
    json_object_set_new(call->out, "errno", json_integer(call->err.sys_errno));
}

void
call_run(struct call *call)
{
    command_fn *run = command_find(arg_string(call, "cmd", ""));
    double start = seconds();
    int rc = run ? run(call) : bad(call, "there is no such command");

    call_answer(call, rc, seconds() - start);
    for (size_t i = 0; i < call->n_kept; i++)
        free(call->kept[i]);
    free(call->kept);
    call->kept = NULL;
    call->n_kept = 0;
}

static void *
job_main(void *arg)
{
    call_run(arg);
    return NULL;
}

static int
job_start(struct call *call)
{
    int i = 0;

    while (i < JOBS && jobs[i].used)
        i++;
    if (i == JOBS)
        return -1;
    jobs[i].call = (struct call){.in = json_incref(call->in), .out = json_object()};
    jobs[i].used = 1;
    if (pthread_create(&jobs[i].thread, NULL, job_main, &jobs[i].call) != 0)
        abort();
    json_object_set_new(call->out, "ok", json_true());
    json_object_set_new(call->out, "job", json_integer(i));
    return 0;
}

/* wait: {"job":N} gives the answer of that command. */
static void
job_wait(struct call *call)
{
    json_int_t i = json_integer_value(json_object_get(call->in, "job"));

    if (i < 0 || i >= JOBS || !jobs[i].used) {
        call_answer(call, bad(call, "there is no such job"), 0);
        return;
    }
    pthread_join(jobs[i].thread, NULL);
    json_decref(call->out);
    call->out = jobs[i].call.out;
    json_decref(jobs[i].call.in);
    jobs[i].used = 0;
}

static void
line_answer(char *line, size_t len)
{
    json_error_t error;
    struct call call = {.out = json_object()};
    char *text;

    call.in = json_loadb(line, len, JSON_ALLOW_NUL, &error);
    if (!json_is_object(call.in))
        call_answer(&call, bad(&call, call.in ? "not an object" : error.text), 0);
    else if (strcmp(arg_string(&call, "cmd", ""), "wait") == 0)
        job_wait(&call);
    else if (!json_is_true(json_object_get(call.in, "async")))
        call_run(&call);
    else if (job_start(&call) != 0)
        call_answer(&call, bad(&call, "too many jobs"), 0);
    for (size_t i = 0; i < call.n_kept; i++)
        free(call.kept[i]);
    free(call.kept);
    text = json_dumps(call.out, JSON_COMPACT);
    puts(text ? text : "{\"ok\":false,\"code\":\"HF_DRIVER\"}");
    fflush(stdout);
    free(text);
    json_decref(call.in);
    json_decref(call.out);
}

int
main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    while ((n = getline(&line, &size, stdin)) > 0)
        line_answer(line, (size_t)n);
    free(line);
    for (int i = 0; i < JOBS; i++) {
        if (!jobs[i].used)
            continue;
        pthread_join(jobs[i].thread, NULL);
        json_decref(jobs[i].call.in);
        json_decref(jobs[i].call.out);
    }
    names_close_all();
    return 0;
}
