/*
 * remote/client/pages.c - what the chunks of managed memory are to the host: closed before a device
 * is given work, opened when a thread has touched them (fault.c). Any thread.
 */
#include "remote/client/pages.h"
#include "base/say.h"

#include <sys/mman.h>

enum {
    RUN_MOST = 32, /* chunks that are fetched at once */
    SMALL = 16     /* chunks of a block that is fetched when a device was waited for, at most */
};

static uint32_t givers; /* calls that may give work, though they have left */
static _Thread_local bool gives_later;

/* ---- chunks; managed_turn is held ------------------------------------------------------------ */

/* Returns how many chunks from `first` on are in the same state. */
static uint64_t run_of(const struct client_block *b, uint64_t first)
{
    uint64_t end = first;

    while (end < b->chunks && b->state[end] == b->state[first])
        end++;
    return end - first;
}

static uint64_t bytes_of(const struct client_block *b, uint64_t first, uint64_t count)
{
    const uint64_t left = b->bytes - first * CHUNK;

    return count * CHUNK < left ? count * CHUNK : left;
}

CUresult managed_set(struct client_block *b, uint64_t first, uint64_t count, enum state state)
{
    static const int protections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};

    if (mprotect((void *)(b->base + first * CHUNK), bytes_of(b, first, count),
                 protections[state]) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY; /* too many mappings */
    for (uint64_t c = first; c < first + count; c++) {
        b->open += (state != CLOSED) - (uint64_t)(b->state[c] != CLOSED);
        b->state[c] = (unsigned char)state;
    }
    return CUDA_SUCCESS;
}

static CUresult copy(const struct client_block *b, uint64_t first, uint64_t count, bool to_device)
{
    const uint64_t device = b->base + first * CHUNK,
                   host = (uint64_t)(uintptr_t)b->alias + first * CHUNK;

    return client_copy_plain(to_device ? device : host, to_device ? host : device,
                             bytes_of(b, first, count), b->home->paging, false);
}

static CUresult wait_for_copies(const struct client_block *b)
{
    return CLIENT_CALL(b->home, stream_synchronize, NULL, WORD(b->home->paging));
}

/* Closes a block and copies to the device what the host wrote. Closed first, so that no later store
 * of the host's is left out. */
static CUresult give(struct client_block *b)
{
    CUresult result = CUDA_SUCCESS;
    bool copied = false;

    for (uint64_t c = 0, n; c < b->chunks && result == CUDA_SUCCESS; c += n) {
        const enum state before = b->state[c];
        n = run_of(b, c);
        if (before != CLOSED)
            result = managed_set(b, c, n, CLOSED);
        if (before == WRITES && result == CUDA_SUCCESS)
            result = copy(b, c, n, true);
        copied |= before == WRITES;
    }
    return copied && result == CUDA_SUCCESS ? wait_for_copies(b) : result;
}

/* Closes all blocks before work for any device, which may reach another one's memory. */
static CUresult give_all(void)
{
    CUresult result = CUDA_SUCCESS;
    bool any = false;

    for (struct client_block *b = managed_blocks; b != NULL && result == CUDA_SUCCESS; b = b->next)
        if (b->open != 0) {
            result = give(b);
            any = true;
        }
    if (any)
        client_faults_watch();
    return result;
}

/* Waits for all that devices were given. `work` is held, too; blocks may come and go. */
static CUresult wait_for_devices(void)
{
    CUresult result = CUDA_SUCCESS;
    bool more;

    weft_unlock(&managed_turn);
    do {
        more = __atomic_load_n(&givers, __ATOMIC_ACQUIRE) != 0;
        for (int d = 0; d < client.met && result == CUDA_SUCCESS; d++)
            if (client.device[d].works)
                result = client_call(&client.device[d], WEFT_CALL_context_synchronize, NULL, 0,
                                     NULL, 0, NULL);
    } while (more && result == CUDA_SUCCESS);
    weft_lock(&managed_turn);
    return result;
}

/* Copies chunks from the device to the host and opens them. The devices are idle. */
static CUresult fetch(struct client_block *b, uint64_t first, uint64_t count, enum state state)
{
    CUresult result = copy(b, first, count, false);

    if (result == CUDA_SUCCESS)
        result = wait_for_copies(b);
    return result == CUDA_SUCCESS ? managed_set(b, first, count, state) : result;
}

/* Returns how many chunks to open, the touched one first: the more, the longer it goes on so. */
static uint64_t next_run(struct client_block *b, uint64_t chunk)
{
    const uint64_t alike = run_of(b, chunk);

    if (chunk != b->after)
        b->run = 1;
    else if (b->run < RUN_MOST)
        b->run *= 2;
    const uint64_t count = b->run < alike ? b->run : alike;
    b->after = chunk + count;
    return count;
}

static uint64_t chunk_of(const struct client_block *b, uint64_t address)
{
    return (address - b->base) / CHUNK;
}

/* Opens the touched chunk. `managed_turn` is held; devices are idle, but for a callback's touch. */
static CUresult open_chunk(struct client_block *b, const struct client_fault *fault)
{
    const uint64_t chunk = chunk_of(b, fault->address);
    const enum state wanted = fault->writes ? WRITES : READS, now = b->state[chunk];

    if (now <= wanted) /* another thread was first */
        return CUDA_SUCCESS;
    return now == CLOSED ? fetch(b, chunk, next_run(b, chunk), wanted)
                         : managed_set(b, chunk, next_run(b, chunk), wanted);
}

enum client_fault_answer managed_answer(const struct client_fault *fault)
{
    const bool waits = !fault->in_callback;
    CUresult result = CUDA_SUCCESS;

    if (!managed_enter(waits))
        return CLIENT_FAULT_OPENED; /* the program ends, and all is open */
    struct client_block *b = managed_block(fault->address);
    if (waits && b != NULL && b->state[chunk_of(b, fault->address)] == CLOSED) {
        result = wait_for_devices();
        b = managed_block(fault->address);
    }
    if (b != NULL && result == CUDA_SUCCESS)
        result = open_chunk(b, fault);
    const bool ends = !__atomic_load_n(&client.open, __ATOMIC_RELAXED);
    if (b != NULL && result != CUDA_SUCCESS && ends)
        result = managed_set(b, chunk_of(b, fault->address), 1, WRITES);
    const char *server = b != NULL ? client.server[b->home->known.process].name : NULL;
    managed_leave(waits);
    if (server == NULL)
        return ends ? CLIENT_FAULT_OPENED : CLIENT_FAULT_STRANGE;
    if (result == CUDA_SUCCESS)
        return CLIENT_FAULT_OPENED;
    weft_say(WEFT_SAY_ERROR, "managed memory cannot be brought from server %s: %s", server,
             weft_cuda_error(result)->text);
    return CLIENT_FAULT_LOST;
}

/* ---- work that is given to devices ----------------------------------------------------------- */

void client_given(void)
{
    if (gives_later)
        __atomic_fetch_sub(&givers, 1, __ATOMIC_RELEASE);
    gives_later = false;
}

/* Closes blocks before work that may use them. `work` and `managed_turn` are held, and left. */
static CUresult let_give(struct client_device *device)
{
    device->works = true;
    const CUresult result = give_all();
    if (result == CUDA_SUCCESS) {
        gives_later = true;
        __atomic_fetch_add(&givers, 1, __ATOMIC_RELAXED);
    }
    managed_leave(true);
    return result;
}

CUresult client_work(struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, struct client_call *answer)
{
    CUresult result = managed_enter(true) ? let_give(device) : CUDA_SUCCESS;

    if (result == CUDA_SUCCESS)
        result = answer != NULL ? client_call(device, call, words, count, extra, bytes, answer)
                                : client_post(device, call, words, count, extra, bytes);
    client_given();
    return result;
}

CUresult client_give(struct client_device *device, uint64_t to, uint64_t from)
{
    if (!managed_enter(true))
        return CUDA_SUCCESS;
    if (managed_block(to) != NULL || managed_block(from) != NULL)
        return let_give(device);
    managed_leave(true);
    return CUDA_SUCCESS;
}

void client_managed_close(void)
{
    if (managed_enter(false)) {
        (void)give_all(); /* what fails fails what comes next */
        managed_leave(false);
    }
}

/* Opens small blocks again once devices are idle: they are then there for system calls, too, which
 * raise no signal. */
void client_managed_idle(const struct client_device *device)
{
    CUresult result = CUDA_SUCCESS;

    if (!managed_enter(true))
        return;
    for (int d = 0; d < client.met; d++)
        if (client.device[d].works && &client.device[d] != device)
            result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) /* another thread may have given it more */
        result = wait_for_devices();
    for (struct client_block *b = managed_blocks; b != NULL && result == CUDA_SUCCESS; b = b->next)
        if (b->alias != NULL && b->open == 0 && b->chunks <= SMALL)
            result = fetch(b, 0, b->chunks, WRITES);
    managed_leave(true);
}
