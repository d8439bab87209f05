/* The parser of search text: what becomes of what people type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query.h"

static void
tree_write(struct hf__buf *out, const struct hf__query_node *node)
{
    static const char *const names[] = {"", "AND", "OR", "NOT"};

    if (node->op == HF__Q_TERM) {
        hf__query_quote(out, node);
        if (node->unspaced)
            hf__buf_addc(out, '~');
        if (node->symbol)
            hf__buf_addc(out, '!');
        return;
    }
    hf__buf_addf(out, "(%s", names[node->op]);
    for (uint32_t i = 0; i < node->n_children; i++) {
        hf__buf_addc(out, ' ');
        tree_write(out, node->child[i]);
    }
    hf__buf_addc(out, ')');
}

/* The tree of TEXT, as text; free() it. */
static char *
tree(const char *text, size_t len, char *note)
{
    struct hf__query query;
    struct hf__buf out = {0};
    struct hf_text t = hf_text(text, len);

    assert_int_equal(hf__query_parse(&t, &query), 0);
    hf__buf_adds(&out, "");
    if (query.root)
        tree_write(&out, query.root);
    else
        assert_true(query.note[0] != '\0');
    if (note)
        memcpy(note, query.note, sizeof query.note);
    hf__query_free(&query);
    return hf__buf_take(&out);
}

static void
trees(void **state)
{
    static const struct { const char *text, *tree; } rows[] = {
        {"deployment", "\"deployment\""},
        {"storage module", "(AND \"storage\" \"module\")"},
        {"storage AND module", "(AND \"storage\" \"module\")"},
        {"docker OR kubernetes", "(OR \"docker\" \"kubernetes\")"},
        {"a b OR c d", "(OR (AND \"a\" \"b\") (AND \"c\" \"d\"))"},
        {"a OR b AND c", "(OR \"a\" (AND \"b\" \"c\"))"},
        {"python NOT java", "(NOT \"python\" \"java\")"},
        {"a b NOT c NOT d e", "(NOT (AND \"a\" \"b\") \"c\" (AND \"d\" \"e\"))"},
        {"\"connection pool\"", "\"connection pool\""},
        {"\"connection pool\"*", "\"connection pool\"*"},
        {"migrat*", "\"migrat\"*"},
        {"src/main.py", "\"src/main.py\""},
        {"it's (50%", "(AND \"it's\" \"(50%\")"},
        {"foo\"bar baz\"qux", "(AND \"foo\" \"bar baz\" \"qux\")"},
        {"and or not", "(AND \"and\" \"or\" \"not\")"},
        {"col:umn ^x {y} NEAR(a", "(AND \"col:umn\" \"^x\" \"{y}\" \"NEAR(a\")"},
        {"数据库 demo", "(AND \"数据库\"~ \"demo\")"},
        {"メモ*", "\"メモ\"*~"},
        {"회의　저장", "(AND \"회의\"~ \"저장\"~)"},
        {"สรุป", "\"สรุป\"~"},
        {"🚀", "\"🚀\"!"},
        {"🚀ship", "\"🚀ship\""},
        {"— … ، demo", "(AND \"،\" \"demo\")"},
        /* operators with too little to work on */
        {"AND", ""}, {"OR", ""}, {"NOT", ""}, {"AND OR NOT", ""},
        {"cats AND", "\"cats\""}, {"OR cats", "\"cats\""}, {"AND cats OR", "\"cats\""},
        {"cats OR OR dogs", "(OR \"cats\" \"dogs\")"}, {"cats NOT", "\"cats\""},
        {"NOT cats", ""}, {"dogs OR NOT cats", "\"dogs\""},
        {"dogs AND NOT cats", "\"dogs\""}, {"cats NOT *", "\"cats\""},
        /* no words at all */
        {"*", ""}, {"(", ""}, {"", ""}, {" \t\n", ""}, {"\"\"", ""}, {"\"", ""},
        {"%_-", ""}, {"\"unbalanced", "\"unbalanced\""}, {"a \"b", "(AND \"a\" \"b\")"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *found = tree(rows[i].text, strlen(rows[i].text), NULL);
        if (strcmp(found, rows[i].tree) != 0)
            fail_msg("[%s] became %s, not %s", rows[i].text, found, rows[i].tree);
        free(found);
    }
}

static void
bytes_that_are_no_text(void **state)
{
    char *found = tree("a\0b", 3, NULL);

    (void)state;
    assert_string_equal(found, "(AND \"a\" \"b\")");
    free(found);
    found = tree("\"a\0b\xff" "c\"", 8, NULL);
    assert_string_equal(found, "\"a b c\"");
    free(found);
    found = tree("x\xe4\xb8", 3, NULL);
    assert_string_equal(found, "\"x\"");
    free(found);
    found = tree(NULL, 0, NULL);
    assert_string_equal(found, "");
    free(found);
}

static void
notes(void **state)
{
    static const struct { const char *text, *says; } rows[] = {
        {"", "empty"}, {"*", "punctuation"}, {"AND", "AND, OR and NOT"},
        {"NOT x", "NOT needs"}, {"\"x", "quote"}, {"x AND", "ignored"},
    };
    char note[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        free(tree(rows[i].text, strlen(rows[i].text), note));
        if (!strstr(note, rows[i].says))
            fail_msg("[%s] says: %s", rows[i].text, note);
    }
    free(tree("plain words", 11, note));
    assert_string_equal(note, "");
}

static void
long_texts_are_cut(void **state)
{
    static const char *const parts[] = {"word ", "x NOT ", "雨", "(", "a OR ", "\"", "🚀 "};
    char note[512];

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i]), k;
        char *text = malloc((1 << 20) + n), *found;
        for (k = 0; k < 1 << 20; k += n)
            memcpy(text + k, parts[i], n);
        found = tree(text, k, note);
        assert_non_null(strstr(note, "2048"));
        /* Quoting doubles what is quoted, and a character has up to four bytes. */
        assert_true(strlen(found) < 20 * HF__QUERY_MAX);
        free(found);
        free(text);
    }
    free(tree("short", 5, note));
    assert_null(strstr(note, "2048"));
}

static void
truth(void **state)
{
    struct hf__query query;
    struct hf_text t = hf_str("a b NOT c OR d");
    const char *const names = "abcd";
    uint8_t found[4];

    (void)state;
    assert_int_equal(hf__query_parse(&t, &query), 0);
    assert_int_equal(query.n_terms, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(query.terms[i]->index, i);
        assert_int_equal(query.terms[i]->text[0], names[i]);
        assert_int_equal(query.terms[i]->negated, i == 2);
    }
    for (unsigned bits = 0; bits < 16; bits++) {
        int a = bits & 1, b = bits >> 1 & 1, c = bits >> 2 & 1, d = bits >> 3 & 1;
        for (unsigned i = 0; i < 4; i++)
            found[i] = bits >> i & 1;
        assert_int_equal(hf__query_holds(query.root, found), (a && b && !c) || d);
    }
    hf__query_free(&query);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(notes),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(truth),
    };
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
