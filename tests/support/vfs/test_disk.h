/* test_disk.h - what the test VFS remembers of a file: its bytes at the last sync, and
 * the writes since. */
#ifndef HF_TEST_DISK_H
#define HF_TEST_DISK_H

#include <stddef.h>
#include <stdint.h>

struct test_disk;

struct test_disk *test_disk_open(const char *name); /* by its name, several times */
void test_disk_close(struct test_disk *disk);       /* it is remembered all the same */
void test_disk_write(struct test_disk *disk, const void *bytes, size_t len,
                     uint64_t at);
void test_disk_truncate(struct test_disk *disk, uint64_t size);
void test_disk_sync(struct test_disk *disk);
void test_disk_delete(const char *name);

#endif /* HF_TEST_DISK_H */
