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
 * `turn` guards the blocks and what their chunks are. Who holds it prints nothing: a thread that
 * waits here may hold the lock of stdout. `work` is taken before it, and held while a touched chunk
 * waits for the devices: no more is given to them. Both are left before work is given, which may
 * wait for a callback that touches such memory, and who waits for devices looks at `givers`.
 */
#include "base/say.h"
#include "remote/client/inside.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    CHUNK = 64 << 10,
    RUN_MOST = 32, /* chunks that are fetched at once */
    SMALL = 16     /* chunks: so small a block is fetched when a device was waited for */
};

enum state { WRITES, READS, CLOSED }; /* what the host does */

struct block {
    struct block *next;
    uint64_t base, bytes; /* whole pages, */
    CUdeviceptr around;   /* in this allocation */
    unsigned char *alias; /* NULL: host and devices have one address space */
    unsigned flags;       /* of mapped host memory; 0: it is managed */
    struct client_device *home;
    uint64_t after, run;   /* the chunk behind those that were fetched last; how many these were */
    uint64_t chunks, open; /* how many there are, and are not closed */
    unsigned char state[];
};

static struct weft_lock work, turn;
static struct block *blocks;
static uint32_t givers; /* calls that may give work, though they have left */
static _Thread_local bool gives_later;

/* gives: work to devices, or waits for what they were given. */
static bool enter(bool gives)
{
    const bool any = __atomic_load_n(&client.manages, __ATOMIC_RELAXED);

    if (any) {
        if (gives)
            weft_lock(&work);
        weft_lock(&turn);
        client_has_turn = true;
    }
    return any;
}

static void leave(bool gives)
{
    client_has_turn = false;
    weft_unlock(&turn);
    if (gives)
        weft_unlock(&work);
}

void client_given(void)
{
    if (gives_later)
        __atomic_fetch_sub(&givers, 1, __ATOMIC_RELEASE);
    gives_later = false;
}

static struct block *block_at(uint64_t address)
{
    struct block *b = blocks;

    while (b != NULL && address - b->base >= b->bytes)
        b = b->next;
    return b;
}

/* ---- chunks; `turn` is held ------------------------------------------------------------------ */

/* How many from there on are in the same state. */
static uint64_t run_of(const struct block *b, uint64_t first)
{
    uint64_t end = first;

    while (end < b->chunks && b->state[end] == b->state[first])
        end++;
    return end - first;
}

static uint64_t bytes_of(const struct block *b, uint64_t first, uint64_t count)
{
    const uint64_t left = b->bytes - first * CHUNK;

    return count * CHUNK < left ? count * CHUNK : left;
}

static CUresult set_state(struct block *b, uint64_t first, uint64_t count, enum state state)
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

static CUresult copy(const struct block *b, uint64_t first, uint64_t count, bool to_device)
{
    const uint64_t device = b->base + first * CHUNK,
                   host = (uint64_t)(uintptr_t)b->alias + first * CHUNK;

    return client_copy_plain(to_device ? device : host, to_device ? host : device,
                             bytes_of(b, first, count), b->home->paging, false);
}

/* For a stream's end, or a device's. The first answer may bring an error of another call (call.c).
 */
static CUresult wait_for(const struct client_device *device, enum weft_call call,
                         const uint64_t *words, uint32_t count)
{
    const CUresult result = client_call(device, call, words, count, NULL, 0, NULL);

    return result == CUDA_SUCCESS ? result : client_call(device, call, words, count, NULL, 0, NULL);
}

static CUresult wait_for_copies(const struct block *b)
{
    return wait_for(b->home, WEFT_CALL_stream_synchronize, CLIENT_WORDS(WORD(b->home->paging)));
}

/* Closed first, so that no later store of the host's is left out. */
static CUresult give(struct block *b)
{
    CUresult result = CUDA_SUCCESS;
    bool copied = false;

    for (uint64_t c = 0, n; c < b->chunks && result == CUDA_SUCCESS; c += n) {
        const enum state before = b->state[c];
        n = run_of(b, c);
        if (before != CLOSED)
            result = set_state(b, c, n, CLOSED);
        if (before == WRITES && result == CUDA_SUCCESS)
            result = copy(b, c, n, true);
        copied |= before == WRITES;
    }
    return copied && result == CUDA_SUCCESS ? wait_for_copies(b) : result;
}

/* Before work for any device, which may reach another one's memory. */
static CUresult give_all(void)
{
    CUresult result = CUDA_SUCCESS;
    bool any = false;

    for (struct block *b = blocks; b != NULL && result == CUDA_SUCCESS; b = b->next)
        if (b->open != 0) {
            result = give(b);
            any = true;
        }
    if (any)
        client_faults_watch();
    return result;
}

/* For all that devices were given. `work` is held, too; blocks may come and go. */
static CUresult wait_for_devices(void)
{
    CUresult result = CUDA_SUCCESS;
    bool more;

    weft_unlock(&turn);
    do {
        more = __atomic_load_n(&givers, __ATOMIC_ACQUIRE) != 0;
        for (int d = 0; d < client.met && result == CUDA_SUCCESS; d++)
            if (client.device[d].works)
                result = wait_for(&client.device[d], WEFT_CALL_context_synchronize, NULL, 0);
    } while (more && result == CUDA_SUCCESS);
    weft_lock(&turn);
    return result;
}

/* The devices are idle. */
static CUresult fetch(struct block *b, uint64_t first, uint64_t count, enum state state)
{
    CUresult result = copy(b, first, count, false);

    if (result == CUDA_SUCCESS)
        result = wait_for_copies(b);
    return result == CUDA_SUCCESS ? set_state(b, first, count, state) : result;
}

/* How many are fetched, of which the first is touched: the more, the longer it goes on so. */
static uint64_t next_run(struct block *b, uint64_t chunk)
{
    const uint64_t closed = run_of(b, chunk);

    if (chunk != b->after)
        b->run = 1;
    else if (b->run < RUN_MOST)
        b->run *= 2;
    const uint64_t count = b->run < closed ? b->run : closed;
    b->after = chunk + count;
    return count;
}

static uint64_t chunk_of(const struct block *b, uint64_t address)
{
    return (address - b->base) / CHUNK;
}

/* `turn` is held; but in a callback the devices are idle. */
static CUresult open_chunk(struct block *b, const struct client_fault *fault)
{
    const uint64_t chunk = chunk_of(b, fault->address);

    if (b->state[chunk] == READS && fault->writes)
        return set_state(b, chunk, 1, WRITES);
    return b->state[chunk] == CLOSED /* else another thread was first */
               ? fetch(b, chunk, next_run(b, chunk), fault->writes ? WRITES : READS)
               : CUDA_SUCCESS;
}

static enum client_fault_answer answer_fault(const struct client_fault *fault)
{
    const bool waits = !fault->in_callback;
    CUresult result = CUDA_SUCCESS;

    if (!enter(waits))
        return CLIENT_FAULT_OPENED; /* the program ends, and all is open */
    struct block *b = block_at(fault->address);
    if (waits && b != NULL && b->state[chunk_of(b, fault->address)] == CLOSED) {
        result = wait_for_devices();
        b = block_at(fault->address);
    }
    if (b != NULL && result == CUDA_SUCCESS)
        result = open_chunk(b, fault);
    const bool ends = !__atomic_load_n(&client.open, __ATOMIC_RELAXED);
    if (b != NULL && result != CUDA_SUCCESS && ends)
        result = set_state(b, chunk_of(b, fault->address), 1, WRITES);
    const char *server = b != NULL ? client.server[b->home->known.process].name : NULL;
    leave(waits);
    if (server == NULL)
        return ends ? CLIENT_FAULT_OPENED : CLIENT_FAULT_STRANGE;
    if (result == CUDA_SUCCESS)
        return CLIENT_FAULT_OPENED;
    weft_say(WEFT_SAY_ERROR, "managed memory cannot be brought from server %s: %s", server,
             weft_cuda_error(result)->text);
    return CLIENT_FAULT_LOST;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The host's memory, in the place of addresses that were kept free. `turn` is held. */
static CUresult map(struct block *b)
{
    struct client_call made = {0};
    CUresult result = client_faults_open(answer_fault) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
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
    struct block *b = calloc(1, sizeof(*b) + chunks);
    __atomic_store_n(&client.manages, true, __ATOMIC_RELAXED);
    enter(false);
    if (b != NULL) {
        *b = (struct block){.next = blocks,
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
        blocks = b;
    leave(false);
    if (result == CUDA_SUCCESS) {
        *address = around / PAGE * PAGE + PAGE;
    } else {
        if (b != NULL && b->alias != NULL)
            client_host_free(b->alias);
        free(b);
        client_free(around);
    }
    return result;
}

CUdeviceptr client_managed_end(CUdeviceptr address, bool mapped)
{
    struct block **at = &blocks, *b;

    if (!enter(false))
        return address;
    while ((b = *at) != NULL && (b->base != address || (b->flags != 0) != mapped))
        at = &b->next;
    if (b != NULL)
        *at = b->next;
    leave(false);
    if (b == NULL)
        return address;
    const CUdeviceptr around = b->around;
    if (b->alias != NULL) {
        (void)mmap((void *)b->base, b->bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        client_host_free(b->alias);
    }
    free(b);
    return around;
}

/* One of the device's; false: there is none. */
static bool find_of(const struct client_device *home, struct block *found)
{
    if (!enter(false))
        return false;
    const struct block *b = blocks;
    while (b != NULL && b->home != home)
        b = b->next;
    if (b != NULL)
        *found = *b;
    leave(false);
    return b != NULL;
}

void client_managed_forget(struct client_device *home)
{
    struct block found;

    while (find_of(home, &found))
        client_managed_end(found.base, found.flags != 0);
    home->paging = NULL;
}

/* All of it is open from then on, for threads that go on. */
void client_managed_stop(void)
{
    if (!enter(false))
        return;
    __atomic_store_n(&client.manages, false, __ATOMIC_RELAXED);
    for (struct block *b; (b = blocks) != NULL; free(b)) {
        if (b->alias != NULL)
            (void)set_state(b, 0, b->chunks, WRITES);
        blocks = b->next;
    }
    leave(false);
    client_faults_close();
}

/* ---- what others ask ------------------------------------------------------------------------- */

bool client_managed_at(uint64_t address, unsigned *flags)
{
    if (!enter(false))
        return false;
    const struct block *b = block_at(address);
    *flags = b != NULL ? b->flags : 0;
    leave(false);
    return b != NULL;
}

/* `work` and `turn` are held, and left. An error that the program hears does not come again. */
static CUresult let_give(struct client_device *device)
{
    device->works = true;
    const CUresult result = give_all();
    if (result != CUDA_SUCCESS) {
        __atomic_store_n(&client.late, CUDA_SUCCESS, __ATOMIC_RELAXED);
    } else {
        gives_later = true;
        __atomic_fetch_add(&givers, 1, __ATOMIC_RELAXED);
    }
    leave(true);
    return result;
}

CUresult client_work(struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, struct client_call *answer)
{
    CUresult result = enter(true) ? let_give(device) : CUDA_SUCCESS;

    if (result == CUDA_SUCCESS)
        result = answer != NULL ? client_call(device, call, words, count, extra, bytes, answer)
                                : client_post(device, call, words, count, extra, bytes);
    client_given();
    return result;
}

CUresult client_give(struct client_device *device, uint64_t to, uint64_t from)
{
    if (!enter(true))
        return CUDA_SUCCESS;
    if (block_at(to) != NULL || block_at(from) != NULL)
        return let_give(device);
    leave(true);
    return CUDA_SUCCESS;
}

void client_managed_close(void)
{
    if (enter(false)) {
        (void)give_all(); /* what fails fails what comes next */
        leave(false);
    }
}

/* Small blocks are there for system calls, too, which raise no signal. */
void client_managed_idle(const struct client_device *device)
{
    CUresult result = CUDA_SUCCESS;

    if (!enter(true))
        return;
    for (int d = 0; d < client.met; d++)
        if (client.device[d].works && &client.device[d] != device)
            result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS) /* another thread may have given it more */
        result = wait_for_devices();
    for (struct block *b = blocks; b != NULL && result == CUDA_SUCCESS; b = b->next)
        if (b->alias != NULL && b->open == 0 && b->chunks <= SMALL)
            result = fetch(b, 0, b->chunks, WRITES);
    leave(true);
}
