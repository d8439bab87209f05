/* query.c - search text as people type it, into a tree (SPEC 8).
 *
 * Precedence is that of FTS5: words side by side bind tightest, then NOT, then AND, then
 * OR.  Nothing is an error: an operator without something to work on is dropped and
 * noted, a quote without its pair is ignored, everything else is data.  The tree is
 * never deeper than OR, AND, NOT, words, so that nothing that walks it can overflow. */
#include "query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

enum token_kind { TOKEN_TERM, TOKEN_AND, TOKEN_OR, TOKEN_NOT, TOKEN_END };

struct token {
    enum token_kind kind;
    struct hf__query_node *term;
};

struct parser {
    const char *s;
    size_t len, pos;
    struct token token; /* the current one; owns its term */
    struct hf__query *query;
    int failed;
    int dropped_words, dropped_operators, lone_not, lone_quote;
};

int
hf__query_unspaced(int32_t cp)
{
    return (cp >= 0x0E00 && cp <= 0x0FFF) ||   /* Thai, Lao, Tibetan */
           (cp >= 0x1000 && cp <= 0x109F) ||   /* Myanmar */
           (cp >= 0x1100 && cp <= 0x11FF) ||   /* Hangul jamo */
           (cp >= 0x1780 && cp <= 0x17FF) ||   /* Khmer */
           (cp >= 0x2E80 && cp <= 0x2FDF) ||   /* radicals */
           (cp >= 0x3005 && cp <= 0x3007) ||   /* iteration mark, zero */
           (cp >= 0x3021 && cp <= 0x3029) ||
           (cp >= 0x3040 && cp <= 0x31FF) ||   /* kana, bopomofo, jamo */
           (cp >= 0x3400 && cp <= 0x4DBF) ||   /* Han */
           (cp >= 0x4E00 && cp <= 0x9FFF) ||
           (cp >= 0xA960 && cp <= 0xA97F) ||
           (cp >= 0xAC00 && cp <= 0xD7FF) ||   /* Hangul */
           (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0xFF66 && cp <= 0xFFDC) ||   /* half-width kana and Hangul */
           (cp >= 0x1B000 && cp <= 0x1B16F) ||
           (cp >= 0x20000 && cp <= 0x3FFFD);
}

/* Arrows, shapes, pictographs: what no tokenizer keeps, but people look for. */
static int
is_symbol(int32_t cp)
{
    return (cp >= 0x2190 && cp <= 0x2BFF) || (cp >= 0x1F000 && cp <= 0x1FAFF);
}

/* Whether a tokenizer surely or perhaps keeps it: digits and letters of ASCII, and of the
 * rest all but punctuation, spaces and marks.  Terms without any would match nothing. */
static int
is_word(int32_t cp)
{
    if (cp < 0x80)
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') ||
               (cp >= 'a' && cp <= 'z');
    if (cp < 0xC0)
        return cp == 0xAA || cp == 0xB2 || cp == 0xB3 || cp == 0xB5 || cp == 0xB9 ||
               cp == 0xBA || (cp >= 0xBC && cp <= 0xBE);
    if (cp == 0xD7 || cp == 0xF7)
        return 0;
    return !((cp >= 0x2000 && cp <= 0x206F) || (cp >= 0x2190 && cp <= 0x2BFF) ||
             (cp >= 0x3000 && cp <= 0x3004) || (cp >= 0x3008 && cp <= 0x3020) ||
             cp == 0x30FB || (cp >= 0xFE00 && cp <= 0xFE6F) ||
             (cp >= 0xFF01 && cp <= 0xFF0F) || (cp >= 0xFF1A && cp <= 0xFF20) ||
             (cp >= 0xFF3B && cp <= 0xFF40) || (cp >= 0xFF5B && cp <= 0xFF65) ||
             (cp >= 0x1F000 && cp <= 0x1FAFF) || (cp >= 0x0300 && cp <= 0x036F) ||
             cp == 0xFEFF || cp == 0xFFFD || (cp >= 0xD800 && cp <= 0xF8FF));
}

static void
node_free(struct hf__query_node *node)
{
    if (!node)
        return;
    for (uint32_t i = 0; i < node->n_children; i++)
        node_free(node->child[i]);
    free(node->child);
    free(node->text);
    free(node);
}

static struct hf__query_node *
node_new(struct parser *p, enum hf__query_op op)
{
    struct hf__query_node *node = calloc(1, sizeof *node);
    if (node)
        node->op = op;
    else
        p->failed = 1;
    return node;
}

/* Puts CHILD below *PARENT; takes it over in any case. */
static void
child_add(struct parser *p, struct hf__query_node *parent, struct hf__query_node *child)
{
    struct hf__query_node **list = NULL;

    if (parent)
        list = realloc(parent->child, (parent->n_children + 1) * sizeof *list);
    if (!list) {
        node_free(child);
        p->failed = 1;
        return;
    }
    parent->child = list;
    list[parent->n_children++] = child;
}

/* LEFT OP RIGHT.  A chain of the same operator becomes one flat node. */
static struct hf__query_node *
join(struct parser *p, enum hf__query_op op, struct hf__query_node *left,
     struct hf__query_node *right)
{
    struct hf__query_node *node = left;

    if (left->op != op) {
        node = node_new(p, op);
        child_add(p, node, left);
    }
    child_add(p, node, right);
    return node;
}

/* What kind of term its text makes; 0 when no letter, digit or symbol is in it. */
static int
term_look(struct hf__query_node *term)
{
    size_t i = 0;
    int words = 0, symbols = 0, unspaced = 0;

    while (i < term->text_len) {
        int32_t cp;
        i += hf__utf8_next(term->text + i, term->text_len - i, &cp);
        words += is_word(cp);
        symbols += is_symbol(cp);
        unspaced += hf__query_unspaced(cp);
    }
    term->unspaced = unspaced > 0;
    term->symbol = words == 0 && symbols > 0;
    return words > 0 || symbols > 0;
}

static struct hf__query_node *
term_new(struct parser *p, const char *s, size_t len, int prefix)
{
    struct hf__query_node *term = node_new(p, HF__Q_TERM);
    struct hf__buf text = {0};
    size_t i = 0;

    if (!term)
        return NULL;
    while (i < len) {
        int32_t cp;
        size_t n = hf__utf8_next(s + i, len - i, &cp);
        if (cp > 0)
            hf__buf_add(&text, s + i, n);
        else
            hf__buf_addc(&text, ' '); /* a NUL or no character: nothing to find */
        i += n;
    }
    term->text_len = (uint32_t)text.len;
    term->prefix = prefix != 0;
    if (text.len == 0 || text.failed) {
        p->failed |= text.failed;
        p->dropped_words = 1;
        hf__buf_free(&text);
        node_free(term);
        return NULL;
    }
    term->text = hf__buf_take(&text);
    if (!term_look(term)) {
        p->dropped_words = 1;
        node_free(term);
        return NULL;
    }
    return term;
}

static int
space_at(const struct parser *p, size_t pos, size_t *ret_len)
{
    int32_t cp;
    *ret_len = hf__utf8_next(p->s + pos, p->len - pos, &cp);
    return cp < 0 || cp <= ' ' || cp == 0x7F || cp == 0x85 || cp == 0xA0 ||
           (cp >= 0x2000 && cp <= 0x200B) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0x202F || cp == 0x3000 || cp == 0xFEFF;
}

/* Reads the next token that means something. */
static void
advance(struct parser *p)
{
    p->token.term = NULL;
    while (p->pos < p->len && !p->failed) {
        const char *s = p->s + p->pos, *close;
        size_t start = p->pos, n;
        int prefix;

        if (space_at(p, p->pos, &n)) {
            p->pos += n;
            continue;
        }
        if (*s == '"') {
            close = memchr(s + 1, '"', p->len - p->pos - 1);
            if (!close) { /* without its pair it means nothing */
                p->lone_quote = 1;
                p->pos++;
                continue;
            }
            p->pos = (size_t)(close - p->s) + 1;
            prefix = p->pos < p->len && p->s[p->pos] == '*';
            p->token.term = term_new(p, s + 1, (size_t)(close - s - 1), prefix);
        } else {
            while (p->pos < p->len && p->s[p->pos] != '"' &&
                   !space_at(p, p->pos, &n))
                p->pos += n;
            n = p->pos - start;
            p->token.kind = n == 3 && !memcmp(s, "AND", 3)   ? TOKEN_AND
                            : n == 2 && !memcmp(s, "OR", 2)  ? TOKEN_OR
                            : n == 3 && !memcmp(s, "NOT", 3) ? TOKEN_NOT
                                                             : TOKEN_TERM;
            if (p->token.kind != TOKEN_TERM)
                return;
            prefix = s[n - 1] == '*';
            p->token.term = term_new(p, s, n - (prefix ? 1u : 0u), prefix);
        }
        if (p->token.term) {
            p->token.kind = TOKEN_TERM;
            return;
        }
    }
    p->token.kind = TOKEN_END;
}

/* Words side by side: all of them. */
static struct hf__query_node *
words_parse(struct parser *p)
{
    struct hf__query_node *node = NULL;

    while (p->token.kind == TOKEN_TERM && !p->failed) {
        struct hf__query_node *term = p->token.term;
        p->token.term = NULL;
        node = node ? join(p, HF__Q_AND, node, term) : term;
        advance(p);
    }
    return node;
}

static struct hf__query_node *
not_parse(struct parser *p)
{
    struct hf__query_node *node = words_parse(p);

    while (p->token.kind == TOKEN_NOT && !p->failed) {
        struct hf__query_node *right;
        advance(p);
        right = words_parse(p);
        if (!right) {
            p->dropped_operators = 1;
        } else if (!node) {
            /* What is not there cannot be looked up by itself, and leaving the NOT out
             * would find the opposite of what was asked for. */
            node_free(right);
            p->lone_not = 1;
        } else {
            node = join(p, HF__Q_NOT, node, right);
        }
    }
    return node;
}

static struct hf__query_node *
and_parse(struct parser *p)
{
    struct hf__query_node *node = not_parse(p);

    while (p->token.kind == TOKEN_AND && !p->failed) {
        struct hf__query_node *right;
        advance(p);
        right = not_parse(p);
        if (node && right) {
            node = join(p, HF__Q_AND, node, right);
        } else {
            p->dropped_operators = 1;
            node = node ? node : right;
        }
    }
    return node;
}

static struct hf__query_node *
or_parse(struct parser *p)
{
    struct hf__query_node *node = and_parse(p);

    while (p->token.kind == TOKEN_OR && !p->failed) {
        struct hf__query_node *right;
        advance(p);
        right = and_parse(p);
        if (node && right) {
            node = join(p, HF__Q_OR, node, right);
        } else {
            p->dropped_operators = 1;
            node = node ? node : right;
        }
    }
    return node;
}

static void
terms_collect(struct parser *p, struct hf__query_node *node, uint32_t negated)
{
    struct hf__query *q = p->query;

    if (node->op == HF__Q_TERM) {
        struct hf__query_node **list =
            realloc(q->terms, (q->n_terms + 1) * sizeof *list);
        if (!list) {
            p->failed = 1;
            return;
        }
        q->terms = list;
        node->negated = negated;
        node->index = q->n_terms;
        list[q->n_terms++] = node;
        return;
    }
    for (uint32_t i = 0; i < node->n_children; i++)
        terms_collect(p, node->child[i], negated || (node->op == HF__Q_NOT && i > 0));
}

static void
note_add(struct hf__query *q, const char *text)
{
    size_t len = strlen(q->note);
    snprintf(q->note + len, sizeof q->note - len, "%s%s", len ? "; " : "", text);
}

/* Bytes of the first HF__QUERY_MAX characters. */
static size_t
cut(const char *s, size_t len)
{
    size_t i = 0, n = 0;
    while (i < len && n < HF__QUERY_MAX) {
        int32_t cp;
        i += hf__utf8_next(s + i, len - i, &cp);
        n++;
    }
    return i;
}

int
hf__query_parse(const struct hf_text *text, struct hf__query *ret)
{
    struct hf__query query = {0};
    struct parser p = {.query = &query};
    const char *s = text->ptr ? text->ptr : "";
    size_t full = text->ptr ? text->len : 0;

    p.s = s;
    p.len = cut(s, full);
    advance(&p);
    query.root = or_parse(&p);
    node_free(p.token.term);
    if (query.root && !p.failed)
        terms_collect(&p, query.root, 0);
    if (p.failed) {
        hf__query_free(&query);
        return -1;
    }
    if (p.len < full)
        note_add(&query, "the search text was cut after 2048 characters");
    if (p.lone_quote)
        note_add(&query, "a quote without its pair was ignored");
    if (p.lone_not)
        note_add(&query, "NOT needs something before it to leave words out of");
    if (p.dropped_operators)
        note_add(&query, "AND, OR and NOT stand between words; one without them was"
                         " ignored");
    if (!query.root && !p.lone_not && !p.dropped_operators)
        note_add(&query, p.dropped_words
                             ? "the search text holds no word: only punctuation"
                             : "the search text is empty");
    else if (!query.root)
        note_add(&query, "nothing is left to search for");
    *ret = query;
    return 0;
}

void
hf__query_free(struct hf__query *query)
{
    node_free(query->root);
    free(query->terms);
    memset(query, 0, sizeof *query);
}

int
hf__query_holds(const struct hf__query_node *node, const uint8_t *found)
{
    uint32_t i;

    switch (node->op) {
    case HF__Q_TERM:
        return found[node->index] != 0;
    case HF__Q_OR:
        for (i = 0; i < node->n_children; i++)
            if (hf__query_holds(node->child[i], found))
                return 1;
        return 0;
    case HF__Q_AND:
        for (i = 0; i < node->n_children; i++)
            if (!hf__query_holds(node->child[i], found))
                return 0;
        return 1;
    default: /* HF__Q_NOT */
        for (i = 0; i < node->n_children; i++)
            if (hf__query_holds(node->child[i], found) != (i == 0))
                return 0;
        return 1;
    }
}

void
hf__query_quote(struct hf__buf *out, const struct hf__query_node *term)
{
    hf__buf_addc(out, '"');
    for (uint32_t i = 0; i < term->text_len; i++) {
        if (term->text[i] == '"')
            hf__buf_addc(out, '"');
        hf__buf_addc(out, term->text[i]);
    }
    hf__buf_adds(out, term->prefix ? "\"*" : "\"");
}
