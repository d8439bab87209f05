/* text.c - message texts: words drawn by a counter, the same in every run. */
#include "bench.h"

#include <string.h>

static const char *const words[] = {
    "session", "store",  "message", "reads",  "writes", "lock",   "journal", "mode",
    "agent",   "asks",   "answers", "user",   "tool",   "result", "error",   "retry",
    "file",    "folder", "mount",   "kernel", "thread", "queue",  "commit",  "page",
    "index",   "search", "word",    "phrase", "list",   "export", "import",  "backup",
    "Zürich",  "naïve",  "café",    "東京",   "数据库", "привет", "emoji 🙂", "tab\there",
    "one",     "two",    "three",   "four",   "five",   "six",    "seven",   "eight",
};

size_t
text_make(char *buf, size_t size, uint64_t n)
{
    uint64_t state = n * 6364136223846793005u + 1442695040888963407u;
    size_t len = 0, n_words = 20 + n % 40;

    for (size_t i = 0; i <= n_words; i++) {
        const char *word = words[(state >> 33) % (sizeof words / sizeof words[0])];
        size_t word_len;
        if (i == n_words / 2)
            word = WORD_COMMON;
        if (i == n_words && n == 77)
            word = WORD_RARE;
        state = state * 6364136223846793005u + 1442695040888963407u;
        word_len = strlen(word);
        if (len + word_len + 2 > size)
            break;
        memcpy(buf + len, word, word_len);
        buf[len + word_len] = ' ';
        len += word_len + 1;
    }
    return len - 1;
}
