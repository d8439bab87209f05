/* mountinfo.c - reading a mount table.  Pure on text.
 *
 * A row: ID PARENT MAJOR:MINOR ROOT MOUNT_POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER.
 * The kernel writes blanks, tabs, newlines and backslashes within a field as three
 * octal digits. */
#include "mountinfo.h"

#include <string.h>

struct field {
    const char *s;
    size_t len;
};

/* The next field of the line; an empty one where two blanks meet (a mount without a
 * source). */
static int
field_next(const char **at, const char *end, struct field *ret)
{
    const char *s = *at, *e;

    if (!s)
        return 0;
    e = memchr(s, ' ', (size_t)(end - s));
    ret->s = s;
    ret->len = (size_t)((e ? e : end) - s);
    *at = e ? e + 1 : NULL;
    return 1;
}

static int
digits(const char *s, size_t len, int64_t *ret)
{
    int64_t n = 0;
    size_t i;

    if (len == 0 || len > 18)
        return 0;
    for (i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9')
            return 0;
        n = n * 10 + (s[i] - '0');
    }
    *ret = n;
    return 1;
}

static int
is_device(const struct field *f)
{
    const char *colon = memchr(f->s, ':', f->len);
    int64_t n;

    return colon && digits(f->s, (size_t)(colon - f->s), &n) &&
           digits(colon + 1, f->len - (size_t)(colon - f->s) - 1, &n);
}

int
hf__mountinfo_decode(const char *text, size_t len, char *ret, size_t size)
{
    size_t i, n = 0;

    for (i = 0; i < len; i++) {
        char c = text[i];

        if (c == '\\') {
            int k, value = 0;

            if (i + 3 >= len)
                return 0;
            for (k = 1; k <= 3; k++) {
                if (text[i + (size_t)k] < '0' || text[i + (size_t)k] > '7')
                    return 0;
                value = value * 8 + (text[i + (size_t)k] - '0');
            }
            if (value == 0 || value > 255)
                return 0;
            c = (char)value;
            i += 3;
        }
        if (n + 1 >= size)
            return 0;
        ret[n++] = c;
    }
    ret[n] = '\0';
    return 1;
}

static int
row_read(const char *line, const char *end, struct hf__mount_row *ret)
{
    const char *at = line;
    struct field f[6], tag, type, source, super = {NULL, 0};
    int64_t parent;
    int i;

    for (i = 0; i < 6; i++)
        if (!field_next(&at, end, &f[i]))
            return 0;
    if (!digits(f[0].s, f[0].len, &ret->id) || !digits(f[1].s, f[1].len, &parent) ||
        !is_device(&f[2]) || f[4].len == 0 || f[4].s[0] != '/' ||
        !hf__mountinfo_decode(f[4].s, f[4].len, ret->mount_point,
                              sizeof ret->mount_point))
        return 0;
    do {
        if (!field_next(&at, end, &tag))
            return 0;
    } while (tag.len != 1 || tag.s[0] != '-');
    if (!field_next(&at, end, &type) || type.len == 0)
        return 0;
    /* A subtype may have any length ("fuse.anything"); what is cut off decides nothing.
     */
    if (type.len >= sizeof ret->fs_type)
        type.len = sizeof ret->fs_type - 1;
    if (!hf__mountinfo_decode(type.s, type.len, ret->fs_type, sizeof ret->fs_type))
        return 0;
    if (field_next(&at, end, &source))
        field_next(&at, end, &super);
    ret->super = super.s ? super.s : end;
    /* A source with a bare blank in it (some FUSE file systems) shifts the options:
     * take all that is left. */
    ret->super_len = super.s ? (size_t)(end - super.s) : 0;
    return 1;
}

int
hf__mountinfo_next(const char **at, const char *end, struct hf__mount_row *ret)
{
    while (*at < end) {
        const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));

        if (!stop)
            stop = end;
        *at = stop < end ? stop + 1 : end;
        if (row_read(line, stop, ret))
            return 1;
    }
    return 0;
}

/* Whether MOUNT is PATH or a folder above it: "/srv/agent" holds "/srv/agent/x", not
 * "/srv/agent2". */
static int
covers(const char *mount, const char *path)
{
    size_t len = strlen(mount);

    while (len > 1 && mount[len - 1] == '/')
        len--;
    if (len == 1 && mount[0] == '/')
        return path[0] == '/';
    return strncmp(mount, path, len) == 0 && (path[len] == '/' || !path[len]);
}

int
hf__mountinfo_find(const char *table, size_t len, int64_t id, const char *path,
                   struct hf__mount_row *ret)
{
    const char *at = table, *end = table + len;
    struct hf__mount_row row;
    size_t best = 0;
    int found = 0;

    while (hf__mountinfo_next(&at, end, &row)) {
        if (id >= 0) {
            if (row.id != id)
                continue;
            *ret = row;
            return 1;
        }
        if (!covers(row.mount_point, path) || (found && strlen(row.mount_point) < best))
            continue;
        best = strlen(row.mount_point);
        *ret = row;
        found = 1;
    }
    return found;
}

int
hf__mountinfo_option(const struct hf__mount_row *row, const char *name, char *ret,
                     size_t size)
{
    const char *s = row->super, *end = s + row->super_len;
    size_t len = strlen(name);

    while (s < end) {
        const char *comma = memchr(s, ',', (size_t)(end - s)),
                   *stop = comma ? comma : end;

        if ((size_t)(stop - s) > len && memcmp(s, name, len) == 0 && s[len] == '=')
            return hf__mountinfo_decode(s + len + 1, (size_t)(stop - s) - len - 1, ret,
                                        size);
        s = comma ? comma + 1 : end;
    }
    return 0;
}
