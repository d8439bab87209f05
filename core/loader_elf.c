/* loader_elf.c - what is wrong with a module's file, found before dlopen() sees it:
 * that one calls a file for another machine "not found", and crashes on some truncated
 * ones. */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__i386__)
#define OUR_MACHINE EM_386
#elif defined(__arm__)
#define OUR_MACHINE EM_ARM
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OUR_MACHINE EM_S390
#elif defined(__loongarch__)
#define OUR_MACHINE 258 /* EM_LOONGARCH, younger than some <elf.h> */
#else
#define OUR_MACHINE EM_NONE /* unknown here: the loader of the system decides */
#endif

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OUR_DATA ELFDATA2MSB
#else
#define OUR_DATA ELFDATA2LSB
#endif

static const char *
machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "i386";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "arm";
    case EM_AARCH64:
        return "aarch64";
    case EM_RISCV:
        return "riscv";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390";
    case 258:
        return "loongarch";
    default:
        return "unknown";
    }
}

static int
truncated(const char *path, const char *what, uint64_t needs, uint64_t has,
          struct hf_error *err)
{
    return hf_error_set(err, HF_PLUGIN, path,
                        "%s is truncated: its %s need %llu bytes, the file has %llu; "
                        "install it again",
                        path, what, (unsigned long long)needs, (unsigned long long)has);
}

/* Whether LEN bytes at OFFSET lie in a file of SIZE bytes; *ret_needs is where they
 * would end. */
static int
within(uint64_t offset, uint64_t len, uint64_t size, uint64_t *ret_needs)
{
    *ret_needs = len > UINT64_MAX - offset ? UINT64_MAX : offset + len;
    return *ret_needs <= size;
}

static int
headers_check(int fd, const char *path, uint64_t size, const ElfW(Ehdr) * head,
              struct hf_error *err)
{
    uint64_t needs, table = (uint64_t)head->e_phnum * sizeof(ElfW(Phdr));

    if (head->e_phnum == 0 || head->e_phentsize != sizeof(ElfW(Phdr)))
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s has no program headers: expected a shared object that "
                            "can be loaded",
                            path);
    if (!within(head->e_phoff, table, size, &needs))
        return truncated(path, "program headers", needs, size, err);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (pread(fd, &segment, sizeof segment,
                  (off_t)(head->e_phoff + i * sizeof segment)) != sizeof segment)
            return hf_error_set(err, HF_PLUGIN, path,
                                "%s: its program headers cannot be read", path);
        if (segment.p_type == PT_LOAD &&
            !within(segment.p_offset, segment.p_filesz, size, &needs))
            return truncated(path, "segments", needs, size, err);
    }
    /* The loader never reads the sections, but they stand at the end: a copy that
     * stopped early shows here. */
    if (head->e_shoff &&
        !within(head->e_shoff, (uint64_t)head->e_shnum * head->e_shentsize, size,
                &needs))
        return truncated(path, "section headers", needs, size, err);
    return HF_OK;
}

static int
content_check(int fd, const char *path, uint64_t size, struct hf_error *err)
{
    union {
        unsigned char ident[EI_NIDENT];
        ElfW(Ehdr) head;
    } u;
    ssize_t n;
    unsigned our_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

    memset(&u, 0, sizeof u);
    if (size == 0)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is empty: expected an ELF shared object", path);
    do
        n = pread(fd, &u, sizeof u, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        int e = errno;
        hf_error_set(err, HF_PLUGIN, path, "%s cannot be read: %s", path, strerror(e));
        if (err)
            err->sys_errno = e;
        return HF_PLUGIN;
    }
    if (n < SELFMAG || memcmp(u.ident, ELFMAG, SELFMAG))
        return hf_error_set(
            err, HF_PLUGIN, path,
            "%s is no shared object: expected the ELF mark 7f 45 4c 46, "
            "found %02x %02x %02x %02x",
            path, u.ident[0], u.ident[1], u.ident[2], u.ident[3]);
    if (n < (ssize_t)sizeof u.head)
        return truncated(path, "ELF header", sizeof u.head, size, err);
    if (u.ident[EI_CLASS] != our_class || u.ident[EI_DATA] != OUR_DATA)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is built for another machine: expected a %u-bit "
                            "%s-endian object, found %s-bit %s-endian",
                            path, our_class == ELFCLASS64 ? 64u : 32u,
                            OUR_DATA == ELFDATA2LSB ? "little" : "big",
                            u.ident[EI_CLASS] == ELFCLASS64   ? "64"
                            : u.ident[EI_CLASS] == ELFCLASS32 ? "32"
                                                              : "unknown",
                            u.ident[EI_DATA] == ELFDATA2LSB   ? "little"
                            : u.ident[EI_DATA] == ELFDATA2MSB ? "big"
                                                              : "unknown");
    if (OUR_MACHINE != EM_NONE && u.head.e_machine != OUR_MACHINE)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is built for another machine: expected %s (%u), found "
                            "%s (%u)",
                            path, machine_name(OUR_MACHINE), (unsigned)OUR_MACHINE,
                            machine_name(u.head.e_machine), (unsigned)u.head.e_machine);
    if (u.head.e_type != ET_DYN)
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is no shared object: expected ELF type %u (dynamic), "
                            "found %u",
                            path, (unsigned)ET_DYN, (unsigned)u.head.e_type);
    return headers_check(fd, path, size, &u.head, err);
}

int
hf__elf_check(const char *path, struct hf_error *err)
{
    struct stat st;
    int fd, rc;

    /* Looked at first, so that opening a FIFO or a device does nothing. */
    if (stat(path, &st) < 0) {
        int e = errno;
        if (e == ENOENT && lstat(path, &st) == 0)
            hf_error_set(err, HF_PLUGIN, path,
                         "%s is a symbolic link to a file that is not there", path);
        else if (e == ENOENT || e == ENOTDIR)
            hf_error_set(err, HF_PLUGIN, path, "%s is not there", path);
        else
            hf_error_set(err, HF_PLUGIN, path, "%s cannot be looked at: %s", path,
                         strerror(e));
        if (err)
            err->sys_errno = e;
        return HF_PLUGIN;
    }
    if (S_ISDIR(st.st_mode))
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is a directory: expected a shared object", path);
    if (!S_ISREG(st.st_mode))
        return hf_error_set(err, HF_PLUGIN, path,
                            "%s is no regular file: expected a shared object", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        int e = errno;
        hf_error_set(err, HF_PLUGIN, path,
                     "%s cannot be read: %s (owner %lu, mode %04o)", path, strerror(e),
                     (unsigned long)st.st_uid, (unsigned)(st.st_mode & 07777));
        if (err)
            err->sys_errno = e;
        return HF_PLUGIN;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = hf_error_set(err, HF_PLUGIN, path, "%s changed while it was looked at",
                          path);
    else
        rc = content_check(fd, path, (uint64_t)st.st_size, err);
    close(fd);
    return rc;
}
