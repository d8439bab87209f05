/* test_loader.c - what is wrong with a module's file, who could have put it there, and
 * what is found in the built-in folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <link.h>

#include "../support/scratch.h"
#include "internal.h"
#include "plugins.h"

static void
elf_says(const char *path, const char *word)
{
    struct hf_error err;

    assert_int_equal(hf__elf_check(path, &err), HF_PLUGIN);
    assert_non_null(strstr(err.message, path));
    if (!strstr(err.message, word))
        fail_msg("'%s' is not in: %s", word, err.message);
    assert_string_equal(err.path, path);
}

/* The bytes of a good module. */
static char *
good(size_t *ret_len)
{
    struct hf_error err;
    char *bytes = NULL;

    assert_int_equal(
        hf__read_file(plugins_module("memory"), 16u << 20, &bytes, ret_len, &err), 0);
    return bytes;
}

static void
broken_files(void **state)
{
    char *dir = scratch_make(), *bytes;
    const char *path = scratch_path(dir, "hf_a.so");
    size_t len;
    ElfW(Ehdr) head;

    (void)state;
    elf_says(path, "is not there");
    elf_says(dir, "is a directory");
    scratch_write(path, "", 0);
    elf_says(path, "is empty");
    scratch_text(path, "hello");
    elf_says(path, "68 65 6c 6c");

    bytes = good(&len);
    memcpy(&head, bytes, sizeof head);
    scratch_write(path, bytes, len);
    assert_int_equal(hf__elf_check(path, NULL), HF_OK);
    /* Every length that cuts a header or a segment off. */
    for (size_t cut = 1; cut < 600; cut += 7) {
        scratch_write(path, bytes, cut);
        elf_says(path, cut < 4 ? "no shared object" : "truncated");
    }
    scratch_write(path, bytes, len - 1);
    elf_says(path, "truncated");

    head.e_machine = head.e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
    memcpy(bytes, &head, sizeof head);
    scratch_write(path, bytes, len);
    elf_says(path, "another machine");
    bytes[EI_CLASS] = ELFCLASS32 + ELFCLASS64 - bytes[EI_CLASS];
    scratch_write(path, bytes, len);
    elf_says(path, "-bit");
    free(bytes);
    bytes = good(&len);
    memcpy(&head, bytes, sizeof head);
    head.e_type = ET_REL;
    memcpy(bytes, &head, sizeof head);
    scratch_write(path, bytes, len);
    elf_says(path, "found 1");
    head.e_type = ET_DYN;
    head.e_phoff = (ElfW(Off)) - 8; /* an end that does not fit in 64 bits */
    memcpy(bytes, &head, sizeof head);
    scratch_write(path, bytes, len);
    elf_says(path, "truncated");
    head.e_phoff = sizeof head;
    head.e_phnum = 0;
    memcpy(bytes, &head, sizeof head);
    scratch_write(path, bytes, len);
    elf_says(path, "no program headers");
    free(bytes);
    scratch_remove(dir);
}

static void
unsafe_places(void **state)
{
    char *dir = scratch_make();
    const char *folder = scratch_path(dir, "folder");
    const char *path = scratch_path(dir, "folder/hf_a.so");
    struct hf_error err;

    (void)state;
    scratch_folder(folder);
    scratch_text(path, "x");
    chmod(path, 0644);
    assert_int_equal(hf__loader_safe(path, &err), HF_OK);
    chmod(path, 0646);
    assert_int_equal(hf__loader_safe(path, &err), HF_PLUGIN);
    assert_non_null(strstr(err.message, "mode 0646"));
    chmod(path, 0664); /* the user's own group may */
    if (chown(path, (uid_t)-1, getegid()) == 0)
        assert_int_equal(hf__loader_safe(path, &err), HF_OK);
    chmod(path, 0644);
    chmod(folder, 0707);
    assert_int_equal(hf__loader_safe(path, &err), HF_PLUGIN);
    assert_non_null(strstr(err.message, "mode 0707"));
    assert_non_null(strstr(err.message, folder));
    chmod(folder, 01777);
    assert_int_equal(hf__loader_safe(path, &err), HF_OK);
    chmod(folder, 0700);
    assert_int_equal(hf__loader_safe(scratch_path(dir, "none"), &err), HF_PLUGIN);
    scratch_remove(dir);
}

static void
loads(void **state)
{
    const struct hf_plugin *plugin = NULL, *again = NULL;
    struct hf_error err;

    (void)state;
    assert_int_equal(hf__loader_load(plugins_module("memory"), "memory", plugins_host(),
                                     &plugin, &err),
                     HF_OK);
    assert_int_equal(plugin->kind, HF_KIND_STORE);
    assert_int_equal(hf__loader_load(plugins_module("memory"), "memory", plugins_host(),
                                     &again, &err),
                     HF_OK);
    assert_ptr_equal(plugin, again);
    assert_int_equal(hf__loader_load(plugins_module("memory"), "other", plugins_host(),
                                     &again, NULL),
                     HF_PLUGIN);
}

static void
builtin(void **state)
{
    char *dir = hf__loader_builtin_dir();

    (void)state;
    /* This program holds the core itself and lies elsewhere: the installed folder. */
    assert_non_null(dir);
    assert_non_null(strstr(dir, "/holdfast/backends"));
    free(dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files),
        cmocka_unit_test(unsafe_places),
        cmocka_unit_test(loads),
        cmocka_unit_test(builtin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
