/* base/share.c - anonymous memory files, mapped by others through /proc/PID/fd. Any thread. */
#include "base/share.h"

#include "base/quiet.h"
#include "base/say.h"
#include "order/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int resize(int fd, uint64_t bytes)
{
    sigset_t before;

    weft_quiet_begin(&before);
    const int result = ftruncate(fd, (off_t)bytes);
    weft_quiet_end(&before);
    return result;
}

weft_status weft_share_create(uint64_t bytes, void **memory, struct weft_share *share)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t size = bytes == 0 ? page : (bytes + page - 1) / page * page;

    if (bytes > INT64_MAX - page)
        return weft_err(WEFT_ERR_MEMORY, "%llu bytes of memory are more than a file can have",
                        (unsigned long long)bytes);
    int fd = memfd_create("weft", MFD_CLOEXEC);
    if (fd < 0)
        return weft_err(WEFT_ERR_SYSTEM, "memfd_create: %s", strerror(errno));
    weft_status status = WEFT_OK;
    struct stat info;
    void *m = MAP_FAILED;
    if (resize(fd, size) != 0)
        status = weft_err(WEFT_ERR_MEMORY, "no %llu bytes of shared memory: %s%s",
                          (unsigned long long)size, strerror(errno),
                          errno == EFBIG ? " (ulimit -f)" : "");
    else if (fstat(fd, &info) != 0)
        status = weft_err(WEFT_ERR_SYSTEM, "fstat of a memfd: %s", strerror(errno));
    else if ((m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        status = weft_err(WEFT_ERR_MEMORY, "mmap of %llu bytes: %s", (unsigned long long)size,
                          strerror(errno));
    if (status != WEFT_OK) {
        close(fd);
        return status;
    }
    *memory = m;
    *share = (struct weft_share){.bytes = size,
                                 .address = (uint64_t)(uintptr_t)m,
                                 .device = info.st_dev,
                                 .file = info.st_ino,
                                 .pid = (int32_t)getpid(),
                                 .fd = fd};
    return WEFT_OK;
}

void weft_share_destroy(void *memory, const struct weft_share *share)
{
    if (weft_model != NULL) /* stores that are held back arrive, or never */
        weft_model->forget(memory, share->bytes);
    munmap(memory, share->bytes);
    close(share->fd);
}

void *weft_share_map(const struct weft_share *share, bool one_address_space, const char **reason)
{
    if (one_address_space)
        return (void *)(uintptr_t)share->address;

    char path[64];
    struct stat info;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)share->pid, (int)share->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        *reason = errno == ENOENT   ? "not in /proc: it has ended, is in another PID namespace, or "
                                      "/proc is not mounted"
                  : errno == EACCES ? "permission denied: it is another user's, or in another user "
                                      "or PID namespace"
                                    : strerror(errno);
        return NULL;
    }
    void *memory = NULL;
    if (fstat(fd, &info) != 0) {
        *reason = strerror(errno);
    } else if ((uint64_t)info.st_dev != share->device || (uint64_t)info.st_ino != share->file) {
        *reason = "that number of that process is another file: freed, or another PID namespace";
    } else if (share->bytes == 0 || (uint64_t)info.st_size != share->bytes) {
        *reason = "its size is not what was announced";
    } else {
        memory = mmap(NULL, share->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) {
            *reason = strerror(errno);
            memory = NULL;
        }
    }
    close(fd);
    return memory;
}

void weft_share_unmap(void *memory, const struct weft_share *share, bool one_address_space)
{
    if (!one_address_space)
        munmap(memory, share->bytes);
}
