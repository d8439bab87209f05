/* offline_word.c - whether a word of a command text may name an open database.  Files
 * are looked at with stat only. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Whether PATTERN can mean TEXT.  Linear but for the last two stars: no pattern takes
 * longer than the product of the lengths. */
static int
fits(const char *pattern, const char *text)
{
    const char *glob = NULL, *glob_text = NULL, *any = NULL, *any_text = NULL;

    for (;;) {
        if (*pattern == HF__WORD_ANY) {
            any = ++pattern;
            any_text = text;
            glob = NULL;
        } else if (*pattern == HF__WORD_GLOB) {
            glob = ++pattern;
            glob_text = text;
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (!*pattern && !*text) {
            return 1;
        } else if (glob && *glob_text && *glob_text != '/') {
            text = ++glob_text;
            pattern = glob;
        } else if (any && *any_text) {
            text = ++any_text;
            pattern = any;
            glob = NULL;
        } else {
            return 0;
        }
    }
}

static int
same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The word's folders up to the first that is a pattern are made real, so that a link
 * cannot hide a store. */
static const struct hf__live_name *
match_pattern(const struct hf__live_name *names, size_t count, const char *word,
              size_t first)
{
    char prefix[PATH_MAX], real[PATH_MAX];
    const struct hf__live_name *found = NULL;
    struct hf__buf pattern = {0};
    size_t cut = first, i;

    while (cut > 0 && word[cut - 1] != '/')
        cut--;
    if (cut > 0) {
        if (cut >= sizeof prefix)
            return NULL;
        memcpy(prefix, word, cut);
        prefix[cut] = '\0';
        if (!realpath(prefix, real))
            return NULL; /* a pattern below nothing means nothing */
        hf__buf_adds(&pattern, strcmp(real, "/") == 0 ? "" : real);
        hf__buf_addc(&pattern, '/');
    }
    word += cut;
    if (strstr(word, "/../") || strstr(word, "/./") || strstr(word, "//")) {
        /* Which folder that is depends on what the pattern means. */
        hf__buf_clear(&pattern);
        hf__buf_addc(&pattern, HF__WORD_ANY);
        word = strrchr(word, '/');
    }
    hf__buf_adds(&pattern, word);
    for (i = 0; !pattern.failed && !found && i < count; i++)
        if (fits(pattern.ptr, names[i].path))
            found = &names[i];
    hf__buf_free(&pattern);
    return found;
}

const struct hf__live_name *
hf__live_match(const struct hf__live_name *names, size_t count, const char *word)
{
    static const char patterns[] = {HF__WORD_GLOB, HF__WORD_ANY, '\0'};
    size_t len = strlen(word), first = strcspn(word, patterns), i;
    char path[PATH_MAX];
    struct stat st;
    const char *base;

    if (count == 0 || len == 0 || len >= sizeof path)
        return NULL;
    if (first < len)
        return match_pattern(names, count, word, first);
    if (stat(word, &st) == 0) {
        for (i = 0; i < count; i++)
            if (names[i].has_id && same_file(&names[i].id, &st))
                return &names[i];
        return NULL;
    }
    /* What is not there yet: a journal put beside a store is a journal of it. */
    memcpy(path, word, len + 1);
    base = strrchr(word, '/');
    if (!base)
        return NULL;
    path[base + 1 - word] = '\0';
    base++;
    for (i = 0; i < count; i++)
        if (strcmp(strrchr(names[i].path, '/') + 1, base) == 0)
            break;
    if (i == count || stat(path, &st) != 0)
        return NULL;
    for (; i < count; i++)
        if (names[i].has_dir && same_file(&names[i].dir, &st) &&
            strcmp(strrchr(names[i].path, '/') + 1, base) == 0)
            return &names[i];
    return NULL;
}
