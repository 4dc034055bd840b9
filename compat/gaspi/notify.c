/*
 * compat/gaspi/notify.c - this process's own notifications: words of a segment, which are polled.
 *
 * Who writes one has fenced before, so an acquire load that sees it sees the data. Notifications
 * are counted by weftgaspi.tag too: who sleeps is woken by the count, and looks at the words.
 */
#include "internal.h"

#include <math.h>
#include <stdio.h>

enum { BUNCH = 1024 }; /* notifications of a GPU's memory fetched at once */

/* Looks once for a notification. TIMEOUT: none is set. *reading: reads that set some are under
 * way. */
static gaspi_return_t look_for_notification(gaspi_segment_id_t segment, uint32_t first,
                                            uint32_t number, gaspi_notification_id_t *found,
                                            bool *reading)
{
    static uint32_t fetched[BUNCH]; /* of a GPU's memory */
    struct weftgaspi_place place;

    LOCKED;
    *reading = weftgaspi_reads_done();
    TRY_SEGMENT(s, segment);
    if (weftgaspi.on_gpu)
        TRY(weftgaspi_place_of((gaspi_rank_t)weftgaspi.rank, segment, &place));
    for (uint32_t at = first, left = number; left > 0;) {
        const uint32_t bunch = left < BUNCH ? left : BUNCH;
        const uint32_t *words = (const uint32_t *)(const void *)s->head + at;
        if (weftgaspi.on_gpu) {
            words = fetched;
            TRY_WEFT(weft_host_get(weftgaspi.job, place.head, 0, (size_t)at * 4, fetched,
                                   (size_t)bunch * 4));
        }
        for (uint32_t i = 0; i < bunch; i++)
            if (__atomic_load_n(&words[i], __ATOMIC_ACQUIRE) != 0) {
                *found = at + i;
                return GASPI_SUCCESS;
            }
        at += bunch;
        left -= bunch;
    }
    return GASPI_TIMEOUT;
}

/* Says every ten seconds that a thread waits: naps are too short for the job to say it. */
static void say_stall(gaspi_segment_id_t segment, uint32_t first, uint32_t number, double began,
                      double *next)
{
    const double every = 10, now = weftgaspi_now();

    if (now < *next)
        return;
    if (*next != 0)
        fprintf(stderr,
                "weft-gaspi: rank %d has waited %.0f s in gaspi_notify_waitsome for one of %u "
                "notifications from %u on of segment %u\n",
                weftgaspi.rank, now - began, number, first, segment);
    *next = now + every;
}

API(notify_waitsome, (const gaspi_segment_id_t local, const gaspi_notification_id_t first,
                      const gaspi_number_t number, gaspi_notification_id_t *const found,
                      const gaspi_timeout_t timeout_ms))
{
    const double until = weftgaspi_until(timeout_ms), began = weftgaspi_now();
    double next = 0; /* time to say that it waits */
    bool reading;
    int counted;

    TRY_OPEN(found);
    if (number == 0) /* nothing is waited for */
        return GASPI_SUCCESS;
    NEED_NOTIFICATION(first);
    NEED(number <= weftgaspi.config.notification_num - first, GASPI_ERR_INV_NUM,
         "%u from %u on, of %u", number, first, weftgaspi.config.notification_num);
    /* The count of what is found, and what lands only while this process looks. */
    weft_status status = weft_host_test(weftgaspi.job, weftgaspi.tag, 1, &counted);
    while (status == WEFT_OK || status == WEFT_ERR_TIMEOUT) {
        const double left = weftgaspi_left(until); /* then it looks */
        const gaspi_return_t code = look_for_notification(local, first, number, found, &reading);
        if (code != GASPI_TIMEOUT || left <= 0)
            return code;
        say_stall(local, first, number, began, &next);
        /* Another thread may take the count: nobody sleeps for long. */
        status =
            weft_host_wait_for(weftgaspi.job, weftgaspi.tag, 1, fmin(left, reading ? 20e-6 : 1e-3));
    }
    return weftgaspi_result(status, -1);
}

API(notify_reset, (const gaspi_segment_id_t local, const gaspi_notification_id_t id,
                   gaspi_notification_t *const value))
{
    struct weftgaspi_place place;
    gaspi_notification_t was = 0;

    TRY_OPEN();
    NEED_NOTIFICATION(id);
    LOCKED;
    TRY_SEGMENT(s, local);
    if (weftgaspi.on_gpu) {
        TRY(weftgaspi_place_of((gaspi_rank_t)weftgaspi.rank, local, &place));
        TRY(weftgaspi_result(
            weft_host_swap_u32(weftgaspi.job, place.head, 0, (size_t)id * 4, 0, &was),
            weftgaspi.rank));
    } else {
        was = __atomic_exchange_n((uint32_t *)(void *)s->head + id, 0, __ATOMIC_ACQ_REL);
    }
    if (value != NULL)
        *value = was;
    return GASPI_SUCCESS;
}

gaspi_return_t weftgaspi_notify_self(gaspi_segment_id_t segment, gaspi_notification_id_t id,
                                     gaspi_notification_t value)
{
    struct weftgaspi_place place;

    TRY_SEGMENT(s, segment);
    if (!weftgaspi.on_gpu) {
        __atomic_store_n((uint32_t *)(void *)s->head + id, value, __ATOMIC_RELEASE);
    } else {
        TRY(weftgaspi_place_of((gaspi_rank_t)weftgaspi.rank, segment, &place));
        TRY_WEFT(weft_host_put(weftgaspi.job, place.head, 0, (size_t)id * 4, &value, 4));
        TRY_WEFT(weft_host_flush(weftgaspi.job, place.head));
    }
    return weftgaspi_result(weft_host_notify(weftgaspi.job, weftgaspi.rank, weftgaspi.tag),
                            weftgaspi.rank);
}
