/* support/far_beside.c - what blocks of the library's own do on a far device (far_device.h). */
#include "abi/errand.h"
#include "base/say.h"
#include "base/task.h"
#include "gda/softnic/block.h"
#include "order/atomic.h"
#include "support/far_device.h"

#include <string.h>
#include <time.h>

static void *run_beside(void *argument)
{
    enum { IDLE = 64 }; /* turns without work before it sleeps */
    struct far_beside *beside = argument;
    uint64_t words[WEFT_NIC_WORDS];
    uint32_t leaves, idle = 0;
    bool did;

    do {
        leaves = weft_load_acquire_u32(&beside->leave, ORDER_none);
        did = false;
        for (uint64_t i = 0; i < beside->nic->count; i++)
            if (weft_nic_turn(beside->nic, &beside->nic->queues[i], words, 0))
                did = true;
        idle = did ? 0 : idle + 1;
        if (did)
            weft_bell_ring(beside->bell);
        else if (idle > IDLE && leaves == 0)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    } while (did || leaves == 0);
    return NULL;
}

weft_status far_beside_begin(struct far_beside *beside)
{
    return pthread_create(&beside->thread, NULL, run_beside, beside) == 0
               ? WEFT_OK
               : weft_err(WEFT_ERR_DEVICE, "far: no thread for what runs beside ranks");
}

void far_beside_end(struct far_beside *beside)
{
    weft_store_release_u32(&beside->leave, 1, ORDER_none);
    pthread_join(beside->thread, NULL);
}

/* Copies from memory that another thread may have, to such memory. */
static void far_move(unsigned char *target, const unsigned char *source, size_t bytes)
{
    unsigned char some[512];

    for (size_t at = 0, count; at < bytes; at += count) {
        count = bytes - at < sizeof(some) ? bytes - at : sizeof(some);
        weft_read_shared(some, source + at, count);
        weft_deliver(target + at, some, count);
    }
}

void far_errand(struct weft_errand *errand)
{
    unsigned char *const memory = (unsigned char *)(uintptr_t)errand->address;
    const uint32_t size = errand->kind == WEFT_ERRAND_UPDATE ? weft_type_bytes(errand->type) : 8;
    uint64_t now[WEFT_ERRAND_BYTES / 8] = {0};

    if (errand->kind == WEFT_ERRAND_FETCH)
        weft_read_shared(now, memory, errand->bytes);
    else if (errand->kind == WEFT_ERRAND_STORE)
        weft_deliver(memory, errand->data, errand->bytes);
    else if (errand->kind == WEFT_ERRAND_COPY)
        far_move(memory, (const void *)(uintptr_t)errand->data[0], errand->data[1]);
    for (uint32_t at = 0; errand->kind == WEFT_ERRAND_UPDATE && at < errand->bytes; at += size) {
        struct weft_change change = {
            .expected = errand->data[1], .how = errand->how, .type = errand->type};
        memcpy(&change.value, (unsigned char *)errand->data + at, size);
        const uint64_t old = weft_update(memory + at, &change);
        memcpy((unsigned char *)now + at, &old, size);
    }
    memcpy(errand->data, now, sizeof(now));
}
