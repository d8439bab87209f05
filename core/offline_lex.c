/* offline_lex.c - cuts the text of a shell command into words, as a shell would,
 * without running anything.  It errs towards words that may mean more: a quote that does
 * not end ends with the text, and what only the shell knows becomes "anything". */
#include <string.h>

#include "offline_scan.h"

#define LOOK_AHEAD 256 /* for the end of a pattern; keeps the time linear */

struct lexer {
    struct hf__scan *scan;
    const char *text;
    size_t len, at, start;
    uint64_t offset;
    int depth, quoted;
    struct hf__buf word;
};

static void
end_word(struct lexer *x)
{
    hf__scan_word(x->scan, &x->word, x->quoted,
                  x->depth ? x->offset : (uint64_t)x->start, x->depth);
    hf__buf_clear(&x->word);
    x->quoted = 0;
}

static int
peek(const struct lexer *x, size_t ahead)
{
    return x->at + ahead < x->len ? (unsigned char)x->text[x->at + ahead] : -1;
}

static void
put(struct lexer *x, int c)
{
    if (c == HF__WORD_GLOB || c == 0)
        c = HF__WORD_ANY; /* such bytes in the text itself */
    hf__buf_addc(&x->word, (char)c);
}

static void
put_string(struct lexer *x, const char *s)
{
    if (s)
        hf__buf_adds(&x->word, s);
    else
        put(x, HF__WORD_ANY);
}

static int
is_delimiter(int c)
{
    return c <= 0 || strchr(" \t\n\r\v\f|;&<>()`", c) != NULL;
}

/* How far ahead CLOSE is, before the word ends; 0 when it is not. */
static size_t
find_close(const struct lexer *x, int close)
{
    size_t i;

    for (i = 1; i < LOOK_AHEAD; i++) {
        int c = peek(x, i);
        if (c == close)
            return i;
        if (c < 0 || (close != '}' && is_delimiter(c)))
            break;
    }
    return 0;
}

static int
is_name(int c, int first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static void
put_variable(struct lexer *x, const char *name, size_t len)
{
    if (len == 4 && memcmp(name, "HOME", 4) == 0)
        put_string(x, x->scan->home);
    else if (len == 3 && memcmp(name, "PWD", 3) == 0 && x->scan->n_bases == 1)
        put_string(x, x->scan->bases[0]);
    else
        put(x, HF__WORD_ANY);
}

static int
digit(int c, int base)
{
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < base ? v : -1;
}

/* $'...', at the first byte behind the quote. */
static void
ansi_quote(struct lexer *x)
{
    x->quoted = 1;
    for (; x->at < x->len && x->text[x->at] != '\''; x->at++) {
        int c = peek(x, 0), base, most, value = 0, n = 0;

        if (c != '\\' || peek(x, 1) < 0) {
            put(x, c);
            continue;
        }
        x->at++;
        c = peek(x, 0);
        base = c == 'x' ? 16 : 8;
        most = c == 'x' ? 2 : 3;
        if (c == 'x' || digit(c, 8) >= 0) {
            size_t skip = c == 'x';
            while (n < most && digit(peek(x, skip + (size_t)n), base) >= 0)
                value = value * base + digit(peek(x, skip + (size_t)n++), base);
            x->at += skip + (size_t)n - 1;
            put(x, n ? value & 255 : HF__WORD_ANY);
        } else if (strchr("\\'\"?", c)) {
            put(x, c);
        } else if (strchr("nrtvf", c)) {
            put(x, ' ');
        } else {
            put(x, HF__WORD_ANY);
        }
    }
    x->at += x->at < x->len;
}

/* At a $.  IN_QUOTES: double ones, where the rest is looked at as a text anew. */
static void
dollar(struct lexer *x, int in_quotes)
{
    int c = peek(x, 1);
    size_t n = 1, close;

    if (c == '(') {
        if (in_quotes)
            hf__buf_addc(&x->word, '$');
        x->at++;
    } else if (c == '\'' && !in_quotes) {
        x->at += 2;
        ansi_quote(x);
    } else if (c == '"' && !in_quotes) {
        x->at++;
    } else if (c == '{') {
        x->at++;
        close = find_close(x, '}');
        if (close)
            put_variable(x, x->text + x->at + 1, close - 1);
        else
            put(x, HF__WORD_ANY);
        x->at += close + 1;
    } else if (is_name(c, 1)) {
        while (is_name(peek(x, n + 1), 0))
            n++;
        put_variable(x, x->text + x->at + 1, n);
        x->at += n + 1;
    } else if (c > 0 && strchr("@*#?-$!0123456789", c)) {
        put(x, HF__WORD_ANY);
        x->at += 2;
    } else {
        put(x, '$');
        x->at++;
    }
}

/* Behind the opening quote. */
static void
double_quote(struct lexer *x)
{
    x->quoted = 1;
    while (x->at < x->len && x->text[x->at] != '"') {
        int c = peek(x, 0), next = peek(x, 1);

        if (c == '\\' && next >= 0 && strchr("$`\"\\\n", next)) {
            if (next != '\n')
                put(x, next);
            x->at += 2;
        } else if (c == '$') {
            dollar(x, 1);
        } else {
            put(x, c);
            x->at++;
        }
    }
    x->at += x->at < x->len;
}

static void
single_quote(struct lexer *x)
{
    x->quoted = 1;
    for (; x->at < x->len && x->text[x->at] != '\''; x->at++)
        put(x, peek(x, 0));
    x->at += x->at < x->len;
}

static void
pattern(struct lexer *x, int c)
{
    size_t close = 0;

    if (c == '[')
        close = find_close(x, ']');
    else if (c == '{')
        close = find_close(x, '}');
    if (c == '{' && close) { /* what is inside may be whole names */
        if (x->depth < HF__SCAN_DEPTH)
            hf__scan_text(x->scan, x->text + x->at + 1, close - 1,
                          x->depth ? x->offset : (uint64_t)x->start, x->depth + 1);
        put(x, HF__WORD_ANY);
    } else if ((c == '[' && !close) || c == '{') {
        put(x, c);
    } else if (c == '*' && peek(x, 1) == '*') {
        put(x, HF__WORD_ANY);
        close = 1;
    } else {
        hf__buf_addc(&x->word, HF__WORD_GLOB);
    }
    x->at += close + 1;
}

static void
one(struct lexer *x)
{
    int c = peek(x, 0);

    if (is_delimiter(c)) {
        end_word(x);
        x->at++;
        x->start = x->at;
        if ((c == ')' || c == '`') && !is_delimiter(peek(x, 0)))
            put(x, HF__WORD_ANY); /* the output of a command comes first */
    } else if (c == '\\') {
        if (peek(x, 1) >= 0 && peek(x, 1) != '\n')
            put(x, peek(x, 1));
        x->at += 2;
    } else if (c == '\'') {
        x->at++;
        single_quote(x);
    } else if (c == '"') {
        x->at++;
        double_quote(x);
    } else if (c == '$') {
        dollar(x, 0);
    } else if (strchr("*?[{", c)) {
        pattern(x, c);
    } else {
        put(x, c);
        x->at++;
    }
}

void
hf__scan_text(struct hf__scan *s, const char *text, size_t len, uint64_t offset,
              int depth)
{
    struct lexer x = {0};

    x.scan = s;
    x.text = text;
    x.len = len;
    x.offset = offset;
    x.depth = depth;
    while (x.at < x.len && s->rc == 0 && !s->no_memory)
        one(&x);
    if (s->rc == 0)
        end_word(&x);
    hf__buf_free(&x.word);
}
