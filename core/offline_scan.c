/* offline_scan.c - asks of each word of a shell command whether it may name an open
 * store: as it stands, as a part of an option or a list, in each folder it may be
 * in. */
#include <holdfast/offline.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "offline_scan.h"

static const struct hf__live_name *
look_in(struct hf__scan *s, const char *base, const char *word)
{
    const struct hf__live_name *found;
    struct hf__buf path = {0};

    hf__buf_adds(&path, base);
    hf__buf_addc(&path, '/');
    hf__buf_adds(&path, word);
    s->no_memory |= path.failed;
    found = path.failed ? NULL : hf__live_match(s->names, s->count, path.ptr);
    hf__buf_free(&path);
    return found;
}

static const struct hf__live_name *
look(struct hf__scan *s, const char *word)
{
    static const char unknown[] = {HF__WORD_ANY, '\0'};
    const struct hf__live_name *found = NULL;
    size_t i, len = strlen(word);

    if (len == 0 || len >= PATH_MAX)
        return NULL;
    if (word[0] == '~') { /* of somebody else: anywhere */
        size_t user = strcspn(word, "/");
        if (user > 1)
            return look_in(s, unknown, word + user + (word[user] == '/'));
        return s->home ? look_in(s, s->home, word + 1) : look_in(s, unknown, word + 1);
    }
    if (word[0] == '/')
        return hf__live_match(s->names, s->count, word);
    if (word[0] == HF__WORD_ANY) /* a bare variable may be anything: no path word */
        return word[strspn(word, "\001\002")] ? hf__live_match(s->names, s->count, word)
                                              : NULL;
    for (i = 0; i < s->n_bases && !found; i++)
        found = look_in(s, s->bases[i], word);
    if (!found && s->unknown_base && word[strspn(word, "\001\002")])
        found = look_in(s, unknown, word);
    return found;
}

/* Folders that a text changes to are relative to any before. */
static void
base_add(struct hf__scan *s, const char *word)
{
    size_t i, n = s->n_bases;

    if (strpbrk(word, "\001\002") || word[0] == '-' || word[0] == '\0' ||
        strlen(word) >= PATH_MAX) {
        s->unknown_base = 1;
        return;
    }
    for (i = 0; i < n; i++) {
        struct hf__buf path = {0};

        if (s->n_bases == HF__SCAN_BASES) {
            s->unknown_base = 1;
            return;
        }
        if (word[0] == '~' && word[1] != '/' && word[1]) {
            s->unknown_base = 1;
            return;
        }
        if (word[0] == '~')
            hf__buf_adds(&path, s->home ? s->home : "");
        else if (word[0] != '/') {
            hf__buf_adds(&path, s->bases[i]);
            hf__buf_addc(&path, '/');
        }
        hf__buf_adds(&path, word + (word[0] == '~'));
        if (!path.failed && path.len < PATH_MAX)
            s->bases[s->n_bases++] = hf__buf_take(&path);
        s->no_memory |= path.failed;
        hf__buf_free(&path);
        if (word[0] == '/' || word[0] == '~')
            break;
    }
}

static const struct hf__live_name *
look_parts(struct hf__scan *s, char *word)
{
    const struct hf__live_name *found = look(s, word);
    char *at;

    if (!found && word[0] == '@') /* curl -d @FILE */
        found = look(s, word + 1);
    if (!found && word[0] == '-' && word[1] && word[1] != '-') /* -oFILE */
        found = look(s, word + 2);
    if (!found && strncmp(word, "file:", 5) == 0) { /* SQLite's URIs */
        size_t slashes = strspn(word + 5, "/");
        size_t skip = slashes > 1 ? slashes - 1 : 0, end = 5 + skip;
        char cut;
        end += strcspn(word + end, "?#");
        cut = word[end];
        word[end] = '\0';
        found = look(s, word + 5 + skip);
        word[end] = cut;
    }
    /* NAME=PATH, A:B, {A,B} */
    for (at = word; !found && strlen(word) < PATH_MAX && (at = strpbrk(at, "=:,")); ) {
        size_t len = strcspn(++at, ":,");
        char cut = at[len];
        at[len] = '\0';
        found = look(s, at);
        at[len] = cut;
    }
    if (!found) {
        size_t len = strcspn(word, ":,");
        if (word[len]) {
            char cut = word[len];
            word[len] = '\0';
            found = look(s, word);
            word[len] = cut;
        }
    }
    return found;
}

void
hf__scan_word(struct hf__scan *s, struct hf__buf *word, int quoted, uint64_t offset,
              int depth)
{
    const struct hf__live_name *found;

    if (word->failed)
        s->no_memory = 1;
    if (word->failed || !word->len)
        return;
    if (s->next_is_base)
        base_add(s, word->ptr);
    s->next_is_base = strcmp(word->ptr, "cd") == 0 || strcmp(word->ptr, "pushd") == 0 ||
                      strcmp(word->ptr, "-C") == 0;
    found = look_parts(s, word->ptr);
    if (found) {
        struct hf_offline_word out = {0};
        out.kind = found->sidecar ? HF_OFFLINE_SIDECAR : HF_OFFLINE_STORE;
        out.offset = offset;
        out.path = found->path;
        s->rc = s->emit(s->ctx, &out);
    } else if (quoted && depth < HF__SCAN_DEPTH &&
               strpbrk(word->ptr, " \t\n'\"`()<>|;&=,")) {
        int keep = s->next_is_base;
        char *copy = strdup(word->ptr);
        if (copy)
            hf__scan_text(s, copy, word->len, offset, depth + 1);
        else
            s->no_memory = 1;
        free(copy);
        s->next_is_base = keep;
    }
}

static int
first_base(struct hf__scan *s, const char *base, struct hf_error *err)
{
    s->bases[0] = hf__path_resolve(base ? base : ".");
    if (!s->bases[0])
        return hf_error_set(err, HF_NO_MEMORY, base, "out of memory");
    s->n_bases = 1;
    return HF_OK;
}

int
hf_offline_scan_command(const char *text, uint64_t len, const char *base,
                        hf_offline_word_fn *emit, void *ctx, struct hf_error *err)
{
    struct hf__scan s = {0};
    struct hf__live_name *names = NULL;
    size_t i;
    int rc;

    if ((!text && len) || !emit || len > SIZE_MAX)
        return hf_error_set(err, HF_INVALID, NULL,
                            "a scan needs a text and a callback");
    rc = hf__live_names(&names, &s.count, err);
    if (rc < 0)
        return rc;
    if (s.count > 0)
        rc = first_base(&s, base, err);
    if (rc == HF_OK && s.count > 0) {
        s.names = names;
        s.home = getenv("HOME");
        s.emit = emit;
        s.ctx = ctx;
        hf__scan_text(&s, text, (size_t)len, 0, 0);
        rc = s.rc;
        if (rc == HF_OK && s.no_memory)
            rc = hf_error_set(err, HF_NO_MEMORY, NULL, "out of memory");
    }
    for (i = 0; i < s.n_bases; i++)
        free(s.bases[i]);
    hf__live_names_free(names, s.count);
    return rc;
}
