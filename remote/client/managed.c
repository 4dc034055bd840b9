/*
 * remote/client/managed.c - memory that host and kernels use by one address: managed memory, and
 * host memory that is mapped into devices. Any thread.
 *
 * It is a block of a device, and host memory that is mapped twice: at the block's own address for
 * the program, and at `alias`, from and to which it is copied. A chunk is open to the host, to
 * write or only to read, or closed. Before a device is given work, chunks are closed, and what the
 * host may have written is copied to the block. A thread that touches a closed chunk waits
 * (fault.c) for the devices, and until the chunk was copied back and opened.
 *
 * `managed_turn` guards the blocks and what their chunks are. Who holds it prints nothing: a thread
 * that waits here may hold the lock of stdout. `work` is taken before it, and held while a touched
 * chunk waits for the devices: no more is given to them. Both are left before work is given, which
 * may wait for a callback that touches such memory, and who waits for devices looks at `givers`.
 */
#include "base/say.h"
#include "remote/client/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct client_block *managed_blocks;
struct weft_lock managed_turn;
static struct weft_lock work;

bool managed_enter(bool gives)
{
    const bool any = __atomic_load_n(&client.manages, __ATOMIC_RELAXED);

    if (any) {
        if (gives)
            weft_lock(&work);
        weft_lock(&managed_turn);
        client_has_turn = true;
    }
    return any;
}

void managed_leave(bool gives)
{
    client_has_turn = false;
    weft_unlock(&managed_turn);
    if (gives)
        weft_unlock(&work);
}

struct client_block *managed_block(uint64_t address)
{
    struct client_block *b = managed_blocks;

    while (b != NULL && address - b->base >= b->bytes)
        b = b->next;
    return b;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Puts the host's memory in the place of addresses that were kept free. `managed_turn` is held. */
static CUresult map(struct client_block *b)
{
    struct client_call made = {0};
    CUresult result =
        client_faults_open(managed_answer) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    void *alias = NULL;

    if (result == CUDA_SUCCESS && b->home->paging == NULL) { /* it waits for no other stream */
        result = CLIENT_CALL(b->home, stream_create, &made, CU_STREAM_NON_BLOCKING, 0);
        b->home->paging = (CUstream)made.words[0];
    }
    if (result == CUDA_SUCCESS)
        result = client_host_alloc(&alias, b->bytes, 0);
    if (result != CUDA_SUCCESS)
        return result;
    b->alias = alias;
    if (mremap(alias, 0, b->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)b->base) == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (void)madvise((void *)b->base, b->bytes, MADV_DONTFORK);
    b->open = b->chunks;
    client_faults_watch();
    return CUDA_SUCCESS;
}

CUresult client_managed_alloc(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    struct client_device *home = client_now();
    const uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE, chunks = (whole + CHUNK - 1) / CHUNK;
    CUdeviceptr around = 0;

    if (bytes == 0 || whole < bytes || whole + PAGE < whole)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = client_alloc_on(home, &around, whole + PAGE); /* its pages are its own */
    if (result != CUDA_SUCCESS)
        return result;
    struct client_block *b = calloc(1, sizeof(*b) + chunks);
    __atomic_store_n(&client.manages, true, __ATOMIC_RELAXED);
    managed_enter(false);
    if (b != NULL) {
        *b = (struct client_block){.next = managed_blocks,
                                   .base = around / PAGE * PAGE + PAGE,
                                   .bytes = whole,
                                   .around = around,
                                   .flags = flags,
                                   .home = home,
                                   .run = 1,
                                   .chunks = chunks};
        result = client.links.one_address_space ? CUDA_SUCCESS : map(b);
    }
    if (b == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        managed_blocks = b;
    managed_leave(false);
    if (result == CUDA_SUCCESS) {
        *address = around / PAGE * PAGE + PAGE;
    } else {
        if (b != NULL && b->alias != NULL)
            client_host_free(b->alias);
        free(b);
        (void)client_free_own(around);
    }
    return result;
}

/* Ends the block that begins at `base`, or one of the device `home`; returns the allocation around
 * it; 0: none. */
static CUdeviceptr end_block(CUdeviceptr base, bool mapped, const struct client_device *home)
{
    struct client_block **at = &managed_blocks, *b;

    if (!managed_enter(false))
        return 0;
    while ((b = *at) != NULL && b->home != home && (b->base != base || (b->flags != 0) != mapped))
        at = &b->next;
    if (b != NULL)
        *at = b->next;
    managed_leave(false);
    if (b == NULL)
        return 0;
    const CUdeviceptr around = b->around;
    if (b->alias != NULL) {
        (void)mmap((void *)b->base, b->bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        client_host_free(b->alias);
    }
    free(b);
    return around;
}

CUdeviceptr client_managed_end(CUdeviceptr address, bool mapped)
{
    const CUdeviceptr around = end_block(address, mapped, NULL);

    return around != 0 ? around : address;
}

void client_managed_forget(struct client_device *home)
{
    while (end_block(0, false, home) != 0)
        continue;
    home->paging = NULL;
}

/* Opens all managed memory for good, for threads that go on, and forgets it. */
void client_managed_stop(void)
{
    if (!managed_enter(false))
        return;
    __atomic_store_n(&client.manages, false, __ATOMIC_RELAXED);
    for (struct client_block *b; (b = managed_blocks) != NULL; free(b)) {
        if (b->alias != NULL)
            (void)managed_set(b, 0, b->chunks, WRITES);
        managed_blocks = b->next;
    }
    managed_leave(false);
    client_faults_close();
}

/* ---- what others ask ------------------------------------------------------------------------- */

bool client_managed_at(uint64_t address, unsigned *flags)
{
    if (!managed_enter(false))
        return false;
    const struct client_block *b = managed_block(address);
    *flags = b != NULL ? b->flags : 0;
    managed_leave(false);
    return b != NULL;
}
