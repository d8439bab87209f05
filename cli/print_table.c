/* print_table.c - tables whose columns line up in terminal columns, whatever the script
 * of the text, and which give way to a narrow terminal. */
#include <stdlib.h>
#include <string.h>

#include "print.h"

#define GAP 2
#define FLEX_MIN 12u

struct cell {
    char *text; /* safe, ends in a NUL */
    size_t width;
    int dim;
};
struct table {
    const struct cli *cli;
    const struct table_column *columns;
    size_t n_columns, n_cells, cap;
    struct cell *cells;
    int failed;
};

static size_t
text_width(const char *s, size_t len)
{
    size_t width = 0;

    while (len > 0) {
        int32_t cp;
        size_t took = hf__utf8_next(s, len, &cp);
        width += (size_t)hf__utf8_width(cp < 0 ? 0xFFFD : cp);
        s += took;
        len -= took;
    }
    return width;
}

struct table *
table_new(const struct cli *cli, const struct table_column *columns, size_t n_columns)
{
    struct table *table = calloc(1, sizeof *table);

    if (table) {
        table->cli = cli;
        table->columns = columns;
        table->n_columns = n_columns;
    }
    return table;
}

void
table_cell(struct table *table, const char *s, size_t len, int dim)
{
    struct hf__buf safe = {0};
    struct cell *cell;

    if (table->n_cells == table->cap) {
        size_t cap = table->cap ? table->cap * 2 : 64;
        struct cell *more = realloc(table->cells, cap * sizeof *more);
        if (!more) {
            table->failed = 1;
            return;
        }
        table->cells = more;
        table->cap = cap;
    }
    cell = &table->cells[table->n_cells];
    hf__buf_adds(&safe, "");
    print_safe(&safe, s, len);
    cell->width = safe.failed ? 0 : text_width(safe.ptr, safe.len);
    cell->text = hf__buf_take(&safe);
    cell->dim = dim;
    if (!cell->text)
        table->failed = 1;
    else
        table->n_cells++;
}

/* Appends at most WIDTH columns of TEXT, with "..." when it was cut; returns how many
 * columns that took. */
static size_t
add_cut(struct hf__buf *out, const char *text, size_t text_columns, size_t width)
{
    size_t len = strlen(text), used = 0, room = width > 3 ? width - 3 : 0;
    const char *s = text;

    if (text_columns <= width) {
        hf__buf_adds(out, text);
        return text_columns;
    }
    while (len > 0) {
        int32_t cp;
        size_t took = hf__utf8_next(s, len, &cp);
        size_t w = (size_t)hf__utf8_width(cp < 0 ? 0xFFFD : cp);
        if (used + w > room)
            break;
        used += w;
        s += took;
        len -= took;
    }
    hf__buf_add(out, text, (size_t)(s - text));
    hf__buf_adds(out, width > 3 ? "..." : "");
    return used + (width > 3 ? 3 : 0);
}

static void
pad(struct hf__buf *out, size_t n)
{
    while (n-- > 0)
        hf__buf_addc(out, ' ');
}

static void
add_cell(const struct table *table, struct hf__buf *out, size_t column,
         const char *text, size_t text_columns, size_t width, const char *style)
{
    int last = column + 1 == table->n_columns;
    size_t shown = text_columns < width ? text_columns : width;

    if (table->columns[column].right)
        pad(out, width - shown);
    hf__buf_adds(out, style);
    shown = add_cut(out, text, text_columns, width);
    hf__buf_adds(out, *style ? style_off(table->cli) : "");
    if (!table->columns[column].right && !last)
        pad(out, width - shown);
    if (!last)
        pad(out, GAP);
}

/* Widths of the columns: what the cells need, the flexible ones cut to the terminal. */
static void
measure(const struct table *table, size_t *widths)
{
    size_t total = 0, limit = print_columns(), i;

    for (i = 0; i < table->n_columns; i++)
        widths[i] = strlen(table->columns[i].title);
    for (i = 0; i < table->n_cells; i++) {
        size_t *w = &widths[i % table->n_columns];
        if (table->cells[i].width > *w)
            *w = table->cells[i].width;
    }
    for (i = 0; i < table->n_columns; i++)
        total += widths[i] + (i ? GAP : 0);
    for (i = 0; limit && i < table->n_columns && total > limit; i++) {
        size_t over = total - limit;
        if (!table->columns[i].flexible || widths[i] <= FLEX_MIN)
            continue;
        if (over > widths[i] - FLEX_MIN)
            over = widths[i] - FLEX_MIN;
        widths[i] -= over;
        total -= over;
    }
}

void
table_print(struct table *table, struct hf__buf *out)
{
    size_t *widths = calloc(table->n_columns, sizeof *widths);
    size_t i;

    if (!widths || table->failed) {
        out->failed = 1;
        free(widths);
        return;
    }
    measure(table, widths);
    for (i = 0; i < table->n_columns; i++) {
        const char *title = table->columns[i].title;
        add_cell(table, out, i, title, strlen(title), widths[i],
                 style_on(table->cli, STYLE_BOLD));
    }
    hf__buf_addc(out, '\n');
    for (i = 0; i < table->n_cells; i++) {
        const struct cell *cell = &table->cells[i];
        size_t column = i % table->n_columns;
        add_cell(table, out, column, cell->text, cell->width, widths[column],
                 cell->dim ? style_on(table->cli, STYLE_DIM) : "");
        if (column + 1 == table->n_columns)
            hf__buf_addc(out, '\n');
    }
    free(widths);
}

void
table_free(struct table **table)
{
    size_t i;

    if (!*table)
        return;
    for (i = 0; i < (*table)->n_cells; i++)
        free((*table)->cells[i].text);
    free((*table)->cells);
    free(*table);
    *table = NULL;
}
