/* marker.c - says that it was loaded, by writing a file from its constructor: whoever
 * finds $HF_TEST_MARKER knows that a module was taken from where it must not be. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "stub.h"

__attribute__((constructor)) static void
mark(void)
{
    const char *path = getenv("HF_TEST_MARKER");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        close(fd);
}

static const struct hf_backend ops = {STUB_MEMBERS("sqlite")};
HF_BACKEND_EXPORT(sqlite, ops);
