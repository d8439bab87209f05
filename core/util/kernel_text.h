/* kernel_text.h - the file NAME.kernel (SPEC 4.6) as text: who of several kernels has a
 * database open for writing.  Looking changes nothing. */
#ifndef HF_UTIL_KERNEL_TEXT_H
#define HF_UTIL_KERNEL_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hf__kernel_owner {
    char boot[65]; /* letters, digits and dashes */
    char host[65]; /* printable */
    long pid;      /* of whoever renewed it last */
    uint64_t counter; /* milliseconds since that kernel's start, at the renewal */
};

enum hf__kernel_kind {
    HF__KERNEL_NONE = 0, /* no such file */
    HF__KERNEL_OWNED,
    HF__KERNEL_GARBLED,  /* a file, but not as we write it */
    HF__KERNEL_OBSTACLE, /* a folder, a link, a pipe... */
    HF__KERNEL_UNREAD    /* error says why */
};
struct hf__kernel_seen {
    uint32_t kind;
    int error;
    struct hf__kernel_owner owner; /* of HF__KERNEL_OWNED */
    off_t size;
    size_t len; /* of what was read */
    char bytes[512];
};

/* 1 when LEN bytes are a kernel file.  Pure. */
int hf__kernel_parse(const char *bytes, size_t len, struct hf__kernel_owner *ret);
/* The text of it; its length. */
size_t hf__kernel_format(const struct hf__kernel_owner *owner, char *ret, size_t size);
void hf__kernel_look(const char *path, struct hf__kernel_seen *ret);
int hf__kernel_same(const struct hf__kernel_seen *a, const struct hf__kernel_seen *b);
/* This kernel and process, counter 0; 0 where the kernel has no boot id. */
int hf__kernel_self(struct hf__kernel_owner *ret);

#endif
