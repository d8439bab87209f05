/* main.c - example-gateway: a program that embeds Holdfast.
 *
 * It stands for the gateway of an agent: events arrive as JSON lines on standard input,
 * several threads store them, and each is answered on standard output after it is
 * durable.  README.md beside this file lists the events.
 *
 * Signals are the program's business, never the library's: SIGTERM and SIGINT are blocked
 * in every thread and read from a descriptor, so that the end is an ordinary event of the
 * loop.
 */
#include "gateway.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { DEFAULT_THREADS = 4, MAX_THREADS = 64, GRACE_SECONDS = 30,
       MAX_LINE = 65 << 20 /* the longest message, and its wrapping */ };

struct gateway {
    const char *home, *profile;
    int threads, read_only_first;
    double grace; /* seconds that a SIGTERM leaves for what is queued */
    enum log_style log_style;
    int signals; /* the descriptor */
    struct hf_runtime *runtime;
    struct stores *stores;
    struct workers *workers;
    char *line; /* input that has not been cut into lines yet */
    size_t len, size;
    int overlong; /* the rest of a refused line is still to come */
    int ending;   /* a signal came */
};

static void
usage(FILE *to)
{
    fprintf(to, "usage: example-gateway [--home DIR] [--profile NAME] [--threads N]\n"
                "                       [--read-only-first] [--grace SECONDS]\n"
                "                       [--log text|json]\n"
                "Reads events as JSON lines; see examples/gateway/README.md.\n");
}

/* A number from LOW to HIGH; anything else is -1. */
static double
number_read(const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);

    return end != text && !*end && value >= low && value <= high ? value : -1;
}

static int
options_read(struct gateway *gw, int argc, char **argv)
{
    static const struct option names[] = {
        {"home", required_argument, NULL, 'H'},
        {"profile", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'},
        {"read-only-first", no_argument, NULL, 'r'},
        {"grace", required_argument, NULL, 'g'},
        {"log", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "hp:", names, NULL)) != -1) {
        switch (c) {
        case 'H':
            gw->home = optarg;
            break;
        case 'p':
            gw->profile = optarg;
            break;
        case 't':
            gw->threads = (int)number_read(optarg, 1, MAX_THREADS);
            break;
        case 'r':
            gw->read_only_first = 1;
            break;
        case 'g':
            gw->grace = number_read(optarg, 0, 86400);
            break;
        case 'l':
            if (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)
                return -1;
            gw->log_style = strcmp(optarg, "json") == 0 ? LOG_JSON : LOG_TEXT;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return -1;
        }
    }
    return optind == argc && gw->threads > 0 && gw->grace >= 0 ? 0 : -1;
}

/* Before any thread exists, so that each inherits the mask. */
static int
signals_take(struct gateway *gw)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    /* A reader of our answers that went away must not take the gateway with it. */
    signal(SIGPIPE, SIG_IGN);
    gw->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return gw->signals < 0 ? -1 : 0;
}

static int
signal_came(struct gateway *gw)
{
    struct pollfd fd = {gw->signals, POLLIN, 0};

    if (poll(&fd, 1, 0) > 0)
        gw->ending = 1;
    return gw->ending;
}

/* Full queues hold back the input, but never a signal. */
static void
event_give(struct gateway *gw, struct event *event)
{
    while (workers_give(gw->workers, event, 0.1) != 0) {
        if (!signal_came(gw))
            continue;
        event_refuse(event);
        event_free(event);
        return;
    }
}

static void
line_take(struct gateway *gw, const char *line, size_t len)
{
    struct hf_error err;
    struct event *event;

    if (len == 0)
        return;
    event = event_parse(line, len, &err);
    if (!event) {
        output_failure(NULL, &err);
    } else if (event->op == OP_SYNC) {
        while (workers_wait(gw->workers, 0.1) != 0 && !signal_came(gw))
            ;
        if (gw->ending)
            event_refuse(event);
        else
            output_line(output_answer(event));
        event_free(event);
    } else {
        event_give(gw, event);
    }
}

/* Cuts the input into lines; with AT_END what is left is the last one. */
static void
lines_take(struct gateway *gw, int at_end)
{
    char *start = gw->line, *end = gw->line + gw->len, *newline;

    while (start < end && !gw->ending && (newline = memchr(start, '\n', (size_t)(end - start)))) {
        if (!gw->overlong)
            line_take(gw, start, (size_t)(newline - start));
        gw->overlong = 0;
        start = newline + 1;
    }
    gw->len = (size_t)(end - start);
    memmove(gw->line, start, gw->len);
    if (gw->len > MAX_LINE && !gw->overlong) {
        struct hf_error err;
        hf_error_set(&err, HF_TOO_BIG, NULL, "a line of input is longer than %d bytes",
                     MAX_LINE);
        output_failure(NULL, &err);
        gw->overlong = 1;
    }
    if (gw->overlong)
        gw->len = 0;
    else if (at_end && !gw->ending)
        line_take(gw, gw->line, gw->len);
}

/* Reads what there is.  Returns 1 to go on, 0 at the end of the input. */
static int
input_read(struct gateway *gw)
{
    enum { STEP = 64 << 10 };
    ssize_t n;

    if (gw->size - gw->len < STEP) {
        size_t size = 2 * gw->size + STEP;
        char *line = realloc(gw->line, size);
        if (!line)
            return 0;
        gw->line = line;
        gw->size = size;
    }
    n = read(STDIN_FILENO, gw->line + gw->len, gw->size - gw->len);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    gw->len += (size_t)n;
    lines_take(gw, n == 0);
    return n > 0;
}

/* Runs until the input ends (0) or a signal asks for the end (1). */
static int
loop(struct gateway *gw)
{
    struct pollfd fds[2] = {{gw->signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents)
            return 1;
        if (fds[1].revents && !input_read(gw))
            return gw->ending;
        if (gw->ending)
            return 1;
    }
}

/* What is queued is stored first: it was accepted.  After a signal that has a limit,
 * beyond which every event that is left is answered with a failure, so that its sender
 * knows to send it again. */
static int
finish(struct gateway *gw, int signalled)
{
    if (workers_wait(gw->workers, signalled ? gw->grace : -1) == 0)
        return 0;
    workers_cancel(gw->workers);
    do
        stores_interrupt(gw->stores);
    while (workers_wait(gw->workers, 0.1) != 0);
    return 1;
}

int
main(int argc, char **argv)
{
    struct gateway gw = {.threads = DEFAULT_THREADS, .grace = GRACE_SECONDS};
    struct hf_runtime_options options = HF_INIT(struct hf_runtime_options);
    struct hf_error err;
    int status = 1, rc;

    if (options_read(&gw, argc, argv) != 0) {
        usage(stderr);
        return 2;
    }
    output_init(gw.log_style);
    if (signals_take(&gw) != 0) {
        perror("example-gateway: signals");
        return 1;
    }
    options.home = gw.home;
    options.profile = gw.profile;
    options.log = output_log;
    options.may_thread = 1;
    rc = hf_runtime_new(&options, &gw.runtime, &err);
    if (rc) {
        fprintf(stderr, "example-gateway: %s\n", err.message);
        return rc == HF_CONFIG ? 2 : 1;
    }
    gw.stores = stores_new(gw.runtime, gw.read_only_first);
    gw.workers = gw.stores ? workers_new(gw.stores, gw.threads) : NULL;
    if (gw.workers)
        status = finish(&gw, loop(&gw));
    else
        perror("example-gateway: cannot start");
    workers_stop(&gw.workers);
    stores_close(&gw.stores);
    hf_runtime_free(&gw.runtime);
    close(gw.signals);
    free(gw.line);
    return status;
}
