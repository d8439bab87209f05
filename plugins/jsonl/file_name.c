/* file_name.c - the id of a session as the name of a file.  Ids are data: whatever they
 * hold, the name is one component of letters that every file system keeps apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "util/sha256.h"

#define HASH_PREFIX 100 /* bytes of the name that stand before the hash */
#define HASH_MARK '~'   /* never in a name that was not hashed */

static int
is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

char *
hf__jl_name(const struct hf_text *id)
{
    struct hf__buf name = {0};
    unsigned char hash[32];

    for (uint64_t i = 0; i < id->len; i++) {
        unsigned char c = (unsigned char)id->ptr[i];
        if (is_plain(c) && !(i == 0 && c == '.'))
            hf__buf_addc(&name, (char)c);
        else
            hf__buf_addf(&name, "%%%02X", c);
    }
    if (name.len > HF__JL_NAME_MAX && !name.failed) {
        name.len = HASH_PREFIX; /* cut in an escape or not: the hash decides */
        hf__buf_addc(&name, HASH_MARK);
        hf__sha256(id->ptr, (size_t)id->len, hash);
        for (int i = 0; i < 32; i++)
            hf__buf_addf(&name, "%02x", hash[i]);
    }
    hf__buf_adds(&name, HF__JL_SUFFIX);
    return hf__buf_take(&name);
}

static int
hex_digit(char c)
{
    const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

int
hf__jl_name_read(const char *name, char **ret_id, size_t *ret_len)
{
    size_t len = strlen(name), end = strlen(HF__JL_SUFFIX);
    struct hf__buf id = {0};
    struct hf_text text;
    char *again;
    int same;

    *ret_id = NULL;
    *ret_len = 0;
    if (len <= end || strcmp(name + len - end, HF__JL_SUFFIX) != 0)
        return 0;
    len -= end;
    if (len > HASH_PREFIX && name[HASH_PREFIX] == HASH_MARK)
        return len == HASH_PREFIX + 1 + 64;
    for (size_t i = 0; i < len; i++) {
        int high = -1, low = -1;
        if (name[i] == '%' && i + 2 < len) {
            high = hex_digit(name[i + 1]);
            low = hex_digit(name[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            hf__buf_addc(&id, (char)(high * 16 + low));
            i += 2;
        } else
            hf__buf_addc(&id, name[i]);
    }
    /* Only the name that this id would get: another spelling is somebody else's file.
     */
    text = hf_text(id.ptr, id.len);
    again = id.failed ? NULL : hf__jl_name(&text);
    same = again && !strcmp(again, name);
    free(again);
    if (!same) {
        hf__buf_free(&id);
        return 0;
    }
    *ret_len = id.len;
    *ret_id = hf__buf_take(&id);
    return *ret_id != NULL;
}
