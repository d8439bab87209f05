/* print.c - messages, styles and standard output.  Facts go to standard output, all that
 * is said about them to standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "print.h"

/* Why the first write to standard output failed, as later calls change errno; and
 * whether that was said. */
static int write_errno, write_said;

static int
status_of(int code)
{
    return code == HF_CONFIG ? EXIT_USAGE : EXIT_PROBLEM;
}

static void
error_json(const struct hf_error *err)
{
    struct hf__buf out = {0};
    int any = 0;

    hf__buf_adds(&out, "{\"error\":{");
    json_str(&out, &any, "code", hf_code_name(err->code));
    json_str(&out, &any, "message", err->message);
    json_str(&out, &any, "path", err->path[0] ? err->path : NULL);
    hf__buf_adds(&out, "}}\n");
    if (!out.failed)
        fwrite(out.ptr, 1, out.len, stderr);
    hf__buf_free(&out);
}

int
print_error(const struct cli *cli, const struct hf_error *err)
{
    struct hf__buf out = {0};

    if (cli->json || cli->json_early)
        error_json(err);
    else {
        hf__buf_adds(&out, "holdfast: ");
        print_safe(&out, err->message, strlen(err->message));
        /* The path is shown unless the text names it already. */
        if (err->path[0] && !strstr(err->message, err->path)) {
            hf__buf_adds(&out, " [");
            print_safe(&out, err->path, strlen(err->path));
            hf__buf_addc(&out, ']');
        }
        hf__buf_addc(&out, '\n');
        if (!out.failed)
            fwrite(out.ptr, 1, out.len, stderr);
        hf__buf_free(&out);
    }
    return status_of(err->code);
}

int
print_usage(const struct cli *cli, const char *path, const char *fmt, ...)
{
    struct hf_error err;
    struct hf__buf text = {0};
    va_list ap;

    va_start(ap, fmt);
    hf_error_vset(&err, HF_INVALID, NULL, fmt, ap);
    va_end(ap);
    hf__buf_addf(&text, "%s (see `%s --help`)", err.message, path);
    if (!text.failed)
        hf_error_set(&err, HF_INVALID, NULL, "%s", text.ptr);
    hf__buf_free(&text);
    print_error(cli, &err);
    return EXIT_USAGE;
}

int
print_fail(const struct cli *cli, int code, const char *path, const char *fmt, ...)
{
    struct hf_error err;
    va_list ap;

    va_start(ap, fmt);
    hf_error_vset(&err, code, path, fmt, ap);
    va_end(ap);
    return print_error(cli, &err);
}

void
print_note(const struct cli *cli, const char *fmt, ...)
{
    struct hf__buf out = {0};
    char text[1024];
    va_list ap;

    if (cli->quiet)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_safe(&out, text, strlen(text));
    hf__buf_addc(&out, '\n');
    if (!out.failed)
        fwrite(out.ptr, 1, out.len, stderr);
    hf__buf_free(&out);
}

void
print_log(void *ctx, int32_t level, const char *event, const char *path,
          const char *text)
{
    const struct cli *cli = ctx;
    struct hf__buf out = {0};
    const char *word = level >= HF_LOG_ERROR     ? "error"
                       : level >= HF_LOG_WARNING ? "warning"
                       : level >= HF_LOG_INFO    ? "note"
                                                 : "debug";
    int lowest = cli->quiet     ? HF_LOG_ERROR
                 : cli->verbose ? HF_LOG_DEBUG
                                : HF_LOG_WARNING;

    if (level < lowest)
        return;
    hf__buf_addf(&out, "holdfast: %s: ", word);
    print_safe(&out, text, strlen(text));
    if (path && *path && !strstr(text, path)) {
        hf__buf_adds(&out, " [");
        print_safe(&out, path, strlen(path));
        hf__buf_addc(&out, ']');
    }
    if (cli->verbose && event)
        hf__buf_addf(&out, " (%s)", event);
    hf__buf_addc(&out, '\n');
    /* One write, so that lines of several threads do not mix. */
    if (!out.failed)
        fwrite(out.ptr, 1, out.len, stderr);
    hf__buf_free(&out);
}

int
print_flush(struct hf__buf *buf)
{
    size_t done = buf->len ? fwrite(buf->ptr, 1, buf->len, stdout) : 0;
    int rc = done == buf->len && !buf->failed ? 0 : -1;

    if (done != buf->len && !write_errno)
        write_errno = errno;
    if (buf->failed)
        print_no_memory();
    hf__buf_clear(buf);
    return rc;
}

int
print_finish(const struct cli *cli, int status)
{
    int failed = ferror(stdout), saved = errno;

    if (fflush(stdout) != 0) {
        failed = 1;
        saved = errno;
    }
    if (!failed)
        return status;
    if (write_errno)
        saved = write_errno;
    if (saved == EPIPE && !write_said)
        print_fail(cli, HF_IO, NULL,
                   "standard output was closed before everything was written");
    else if (!write_said)
        print_fail(cli, saved == ENOSPC ? HF_DISK_FULL : HF_IO, NULL,
                   "cannot write to standard output: %s", strerror(saved));
    write_said = 1;
    return status == EXIT_FINE ? EXIT_PROBLEM : status;
}

const char *
style_on(const struct cli *cli, enum style style)
{
    static const char *const on[] = {"\033[1m",  "\033[2m",  "\033[32m", "\033[36m",
                                     "\033[33m", "\033[31m", "\033[1;33m"};

    return cli->color ? on[style] : "";
}

const char *
style_off(const struct cli *cli)
{
    return cli->color ? "\033[0m" : "";
}

void
print_safe(struct hf__buf *out, const char *s, size_t len)
{
    hf__utf8_safe(out, s, len);
}

size_t
print_columns(void)
{
    struct winsize size;
    const char *env = getenv("COLUMNS");
    long n;

    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    n = env ? strtol(env, NULL, 10) : 0;
    return n >= 20 && n <= 1000 ? (size_t)n : 80;
}

void
print_no_memory(void)
{
    fputs("holdfast: out of memory\n", stderr);
}
