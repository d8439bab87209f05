/* search_fts.c - what the full-text tables can answer.  Expressions are built only from
 * quoted strings, so that nothing typed is ever syntax. */
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "util/utf8.h"

enum { TRIGRAM = 3 };

/* ---- expressions ---- */

static void
children_write(struct hf__buf *out, const struct hf__query_node *node, uint32_t from,
               const char *between);

static void
node_write(struct hf__buf *out, const struct hf__query_node *node)
{
    switch (node->op) {
    case HF__Q_TERM:
        hf__query_quote(out, node);
        break;
    case HF__Q_AND:
        children_write(out, node, 0, " AND ");
        break;
    case HF__Q_OR:
        children_write(out, node, 0, " OR ");
        break;
    default:
        hf__buf_addc(out, '(');
        node_write(out, node->child[0]);
        hf__buf_adds(out, " NOT ");
        children_write(out, node, 1, " OR ");
        hf__buf_addc(out, ')');
        break;
    }
}

static void
children_write(struct hf__buf *out, const struct hf__query_node *node, uint32_t from,
               const char *between)
{
    hf__buf_addc(out, '(');
    for (uint32_t i = from; i < node->n_children; i++) {
        if (i > from)
            hf__buf_adds(out, between);
        node_write(out, node->child[i]);
    }
    hf__buf_addc(out, ')');
}

/* ---- searching ---- */

int
hf__fts_search(struct hf__searching *s)
{
    struct hf__buf sql = {0}, match = {0};
    sqlite3_stmt *stmt = NULL;
    int rc;

    node_write(&match, s->query.root);
    hf__buf_adds(&sql, "SELECT m.id, ");
    hf__buf_adds(&sql, s->q->order == HF_BY_RELEVANCE ? "messages_fts.rank" : "0.0");
    hf__buf_adds(&sql, " FROM messages_fts CROSS JOIN messages m"
                       " ON m.id = messages_fts.rowid CROSS JOIN sessions x"
                       " ON x.id = m.session_id WHERE messages_fts MATCH ?1");
    hf__search_filters(&sql, s, 2);
    rc = sql.failed || match.failed
             ? SQLITE_NOMEM
             : sqlite3_prepare_v2(hf_sqlite_handle(s->st->db), sql.ptr, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text64(stmt, 1, match.ptr, match.len, SQLITE_STATIC, SQLITE_UTF8);
        hf__search_bind(stmt, s, 2);
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            if (hf__search_add(s, sqlite3_column_int64(stmt, 0),
                               sqlite3_column_double(stmt, 1)) != HF_OK) {
                rc = SQLITE_NOMEM;
                break;
            }
    }
    sqlite3_finalize(stmt);
    hf__buf_free(&sql);
    hf__buf_free(&match);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
hf__fts_unspaced(struct hf__searching *s)
{
    sqlite3 *db = hf_sqlite_handle(s->st->db);
    sqlite3_stmt *stmt = NULL;
    int rc;

    /* The vocabulary is sorted: whether a term begins at or behind the first such script
     * takes one look.  The table is temporary: nothing is written to the file. */
    rc = sqlite3_exec(db,
                      "CREATE VIRTUAL TABLE IF NOT EXISTS temp.holdfast_terms"
                      " USING fts5vocab('main', 'messages_fts', 'row')",
                      NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db,
                                "SELECT 1 FROM temp.holdfast_terms"
                                " WHERE term >= char(0x0E00) LIMIT 1",
                                -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    /* A private copy takes no temporary table either: then the scan finds what there is. */
    if ((rc & 0xff) == SQLITE_READONLY)
        return 1;
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -rc;
}

/* ---- narrowing ---- */

static struct hf__buf *
arg_new(struct hf__args *args)
{
    struct hf__buf *list = realloc(args->text, (args->n + 1) * sizeof *list);
    if (!list)
        return NULL;
    args->text = list;
    memset(&list[args->n], 0, sizeof *list);
    return &list[args->n++];
}

void
hf__args_free(struct hf__args *args)
{
    for (uint32_t i = 0; i < args->n; i++)
        hf__buf_free(&args->text[i]);
    free(args->text);
    memset(args, 0, sizeof *args);
}

/* Whether a character stands in the trigram index just as the matcher compares it: what
 * has diacritics does not. */
static int
plain(int32_t cp)
{
    return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') ||
           (cp >= 'a' && cp <= 'z') || hf__query_unspaced(cp);
}

/* The runs of at least three plain characters in TEXT, AND-ed; 0 without any. */
static int
runs_write(struct hf__buf *out, const char *text, size_t len)
{
    size_t i = 0, start = 0, n = 0;
    int any = 0;

    for (;;) {
        int32_t cp = -1;
        size_t step = i < len ? hf__utf8_next(text + i, len - i, &cp) : 0;
        if (step && plain(cp)) {
            start = n ? start : i;
            n++;
            i += step;
            continue;
        }
        if (n >= TRIGRAM) {
            hf__buf_adds(out, any ? " AND \"" : "\"");
            hf__buf_add(out, text + start, i - start);
            hf__buf_addc(out, '"');
            any = 1;
        }
        n = 0;
        if (!step)
            return any;
        i += step;
    }
}

/* A term by the trigram table.  Tool rows are not in it on newer layouts. */
static int
trigram_narrow(struct hf__buf *sql, const struct hf__searching *s,
               const struct hf__query_node *term, struct hf__args *args, int *first)
{
    struct hf__buf runs = {0}, *arg;
    int any = runs_write(&runs, term->text, term->text_len);

    if (any && (arg = arg_new(args)) != NULL) {
        *arg = runs;
        memset(&runs, 0, sizeof runs);
        hf__buf_addf(sql,
                     "(m.id IN (SELECT rowid FROM messages_fts_trigram"
                     " WHERE messages_fts_trigram MATCH ?%d)%s)",
                     (*first)++,
                     s->st->shape.trigram_skips_tools && term->unspaced
                         ? " OR m.role = 'tool'"
                         : "");
    } else
        any = 0;
    hf__buf_free(&runs);
    return any;
}

static int
term_narrow(struct hf__buf *sql, const struct hf__searching *s,
            const struct hf__query_node *term, struct hf__args *args, int *first)
{
    struct hf__buf part = {0}, *arg;
    int any = 0;

    if (s->matcher.terms[term->index].n_words == 0)
        return 0; /* a symbol: in no index */
    if (s->st->shape.has_trigram)
        any = trigram_narrow(&part, s, term, args, first);
    if (any && !term->unspaced && (arg = arg_new(args)) != NULL) {
        hf__query_quote(arg, term);
        hf__buf_addf(sql,
                     "(m.id IN (SELECT rowid FROM messages_fts"
                     " WHERE messages_fts MATCH ?%d) OR ",
                     (*first)++);
        hf__buf_add(sql, part.ptr, part.len);
        hf__buf_addc(sql, ')');
    } else if (any)
        hf__buf_add(sql, part.ptr, part.len);
    sql->failed |= part.failed;
    hf__buf_free(&part);
    return any;
}

int
hf__fts_narrow(struct hf__buf *sql, const struct hf__searching *s,
               const struct hf__query_node *node, struct hf__args *args, int *first)
{
    struct hf__buf all = {0};
    uint32_t i, n = 0;

    if (node->op == HF__Q_TERM)
        return term_narrow(sql, s, node, args, first);
    if (node->op == HF__Q_NOT) /* the others only take away */
        return hf__fts_narrow(sql, s, node->child[0], args, first);
    for (i = 0; i < node->n_children; i++) {
        struct hf__buf part = {0};
        int any = hf__fts_narrow(&part, s, node->child[i], args, first);
        if (any) {
            hf__buf_adds(&all, n++ ? (node->op == HF__Q_AND ? " AND " : " OR ") : "(");
            hf__buf_add(&all, part.ptr, part.len);
        }
        all.failed |= part.failed;
        hf__buf_free(&part);
        if (!any && node->op == HF__Q_OR) {
            n = 0; /* one alternative may stand anywhere */
            break;
        }
    }
    if (n) {
        hf__buf_addc(&all, ')');
        hf__buf_add(sql, all.ptr, all.len);
    }
    sql->failed |= all.failed;
    hf__buf_free(&all);
    return n > 0;
}
