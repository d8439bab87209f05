/* shared_map.c - whether a folder's file system lets a file be mapped shared and
 * written, which WAL needs for its -shm.  Asked with a scratch file, because SQLite
 * finds out only after it has switched the database's header. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "db.h"

int
hf__shared_map_probe(const char *db_path, uint32_t *ret_refused, struct hf_error *err)
{
    static const char zeroes[4096];
    char name[4128], folder[4128], hex[17];
    int code = HF_OK, fd;
    struct hf__shown shown;

    hf__path_folder(folder, sizeof folder, db_path);
    do {
        hf__random_hex(hex, 8);
        if (snprintf(name, sizeof name, "%s/.holdfast-probe-%s", folder, hex) >=
            (int)sizeof name)
            return hf_error_set(err, HF_TOO_BIG, folder,
                                "the path of the folder is too long");
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST);
    /* Written before it is mapped: a page without room behind it would be a SIGBUS. */
    if (fd < 0 || write(fd, zeroes, sizeof zeroes) != (ssize_t)sizeof zeroes) {
        int sys = errno;
        code = sys == ENOSPC || sys == EDQUOT                  ? HF_DISK_FULL
               : sys == EACCES || sys == EPERM || sys == EROFS ? HF_READ_ONLY
                                                               : HF_IO;
        hf_error_set(err, code, folder, "cannot write into the folder %s: %s",
                     hf__shown(&shown, folder), strerror(sys));
        if (err)
            err->sys_errno = sys;
    } else {
        char *map =
            mmap(NULL, sizeof zeroes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            *ret_refused = 1;
        else {
            *(volatile char *)map = 1;
            *ret_refused = msync(map, sizeof zeroes, MS_SYNC) != 0;
            munmap(map, sizeof zeroes);
        }
    }
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    return code;
}
