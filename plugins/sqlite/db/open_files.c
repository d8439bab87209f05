/* open_files.c - the databases that this process has open, by identity.
 *
 * A POSIX record lock dies when any descriptor of its file is closed anywhere in the
 * process.  So nothing here or in preflight.c opens a descriptor of a database that is
 * already open: it is read through the descriptor that is there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"

struct hf__open_file {
    struct hf__open_file *next;
    dev_t dev;
    ino_t ino;
    uint32_t users, writers;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf__open_file *all_files;

void
hf__open_files_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
hf__open_files_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int
hf__open_files_fork_enter(void)
{
    return pthread_mutex_trylock(&lock);
}

int
hf__open_files_fork_child(void)
{
    int any = all_files != NULL;
    all_files = NULL; /* they belong to handles of the parent's */
    return any;
}

static struct hf__open_file *
file_find(dev_t dev, ino_t ino)
{
    struct hf__open_file *f = all_files;
    while (f && (f->dev != dev || f->ino != ino))
        f = f->next;
    return f;
}

struct hf__open_file *
hf__open_file_use(const struct stat *st)
{
    struct hf__open_file *f = file_find(st->st_dev, st->st_ino);
    if (!f && (f = calloc(1, sizeof *f))) {
        f->dev = st->st_dev;
        f->ino = st->st_ino;
        f->next = all_files;
        all_files = f;
    }
    if (f)
        f->users++;
    return f;
}

void
hf__open_file_writer(struct hf__open_file *file)
{
    pthread_mutex_lock(&lock);
    file->writers++;
    pthread_mutex_unlock(&lock);
}

int
hf__open_file_writer_done(struct hf__open_file *file)
{
    pthread_mutex_lock(&lock);
    int last = --file->writers == 0;
    pthread_mutex_unlock(&lock);
    return last;
}

void
hf__open_file_release(struct hf__open_file *file)
{
    pthread_mutex_lock(&lock);
    if (--file->users == 0) {
        struct hf__open_file **p = &all_files;
        while (*p != file)
            p = &(*p)->next;
        *p = file->next;
        free(file);
    }
    pthread_mutex_unlock(&lock);
}

/* A descriptor of this process on that file, whoever opened it; -1: none is seen. */
static int
descriptor_find(dev_t dev, ino_t ino)
{
    DIR *dir = opendir("/proc/self/fd");
    int found = -1;
    if (!dir)
        return -1;
    for (struct dirent *e; found < 0 && (e = readdir(dir));) {
        struct stat st;
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(dir) || fstat(fd, &st))
            continue;
        if (st.st_dev == dev && st.st_ino == ino &&
            (fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_WRONLY &&
            !(fcntl(fd, F_GETFL) & O_PATH))
            found = fd;
    }
    closedir(dir);
    return found;
}

int
hf__descriptor_borrow(const char *path, const struct stat *st, int *ret_borrowed)
{
    int fd = descriptor_find(st->st_dev, st->st_ino);
    *ret_borrowed = fd >= 0;
    if (fd >= 0)
        return fd;
    if (file_find(st->st_dev, st->st_ino)) {
        errno = EBUSY; /* open, but its descriptor is out of sight */
        return -1;
    }
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int
hf__peek(const char *path, const struct stat *st, void *ret, size_t size,
         size_t *ret_len)
{
    struct stat now;
    ssize_t n;
    int error = 0, borrowed;
    int fd = hf__descriptor_borrow(path, st, &borrowed);

    if (fd < 0)
        return errno == EBUSY ? HF__PEEK_ELSEWHERE : errno;
    do
        n = pread(fd, ret, size, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        error = errno;
    /* A borrowed descriptor may have been closed and its number used again meanwhile;
     * an own one may have met another file than lstat() saw. */
    if (!error &&
        (fstat(fd, &now) || now.st_dev != st->st_dev || now.st_ino != st->st_ino))
        error = borrowed ? HF__PEEK_ELSEWHERE : ESTALE;
    if (!borrowed)
        close(fd);
    if (!error)
        *ret_len = (size_t)n;
    return error;
}
