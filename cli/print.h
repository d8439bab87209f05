/* print.h - everything that goes to the terminal: errors, styles, tables, JSON. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <stddef.h>

#include "cmd.h"
#include "util/buf.h"
#include "util/json_write.h"
#include "util/utf8.h"

/* ---- print.c ---- */

/* Says a failure on standard error (a JSON document with --json) and returns the exit
 * status that fits it. */
int print_error(const struct cli *cli, const struct hf_error *err);
/* The same for a mistake on the command line of PATH; returns EXIT_USAGE. */
int print_usage(const struct cli *cli, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A failure of the command's own. */
int print_fail(const struct cli *cli, int code, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Something worth knowing, on standard error, unless -q. */
void print_note(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The runtime's log callback; its ctx is the struct cli. */
void print_log(void *ctx, int32_t level, const char *event, const char *path,
               const char *text);
/* Writes BUF to standard output and empties it.  0, or -1 when that failed (said later,
 * by print_finish()). */
int print_flush(struct hf__buf *buf);
/* Flushes standard output.  Returns STATUS, or EXIT_PROBLEM after saying why not, which
 * it does once. */
int print_finish(const struct cli *cli, int status);

enum style { STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_NOTE, STYLE_WARN, STYLE_BAD,
             STYLE_MATCH };
/* The escape that switches STYLE on, or "" without colours. */
const char *style_on(const struct cli *cli, enum style style);
const char *style_off(const struct cli *cli);
/* Appends text of the store: safe for a terminal, in STYLE. */
void print_safe(struct hf__buf *out, const char *s, size_t len);
/* Columns of the terminal; 0 when standard output is none (no limit). */
size_t print_columns(void);
void print_no_memory(void);

/* ---- print_table.c ---- */

struct table_column {
    const char *title;
    int right;    /* right-aligned */
    int flexible; /* gives way when the terminal is narrow */
};
struct table;
struct table *table_new(const struct cli *cli, const struct table_column *columns,
                        size_t n_columns);
/* Adds a cell; a row is complete after n_columns of them.  DIM shows it fainter. */
void table_cell(struct table *table, const char *s, size_t len, int dim);
void table_print(struct table *table, struct hf__buf *out);
void table_free(struct table **table);

/* ---- print_json.c: members of one object ---- */

void json_text(struct hf__buf *out, int *any, const char *key, const struct hf_text *t);
void json_str(struct hf__buf *out, int *any, const char *key, const char *s);
void json_int(struct hf__buf *out, int *any, const char *key, int64_t value);
void json_time(struct hf__buf *out, int *any, const char *key, double value);
void json_bool(struct hf__buf *out, int *any, const char *key, int value);
/* A key whose value the caller writes next. */
void json_open(struct hf__buf *out, int *any, const char *key);
/* hf_write_fn that appends to the struct hf__buf CTX. */
int json_sink(void *ctx, const char *bytes, size_t len);

#endif
