/*
 * remote/client/tasks.c - numbers of copies and callbacks, and the tasks: one drives the network
 * when nobody waits, one runs callbacks.
 */
#include "remote/client/inside.h"

static const uint64_t rest_ns = 1000000, patience_ns = 2000000000;

/* ---- numbers of copies and callbacks --------------------------------------------------------- */

/* Lock held; a free one, waiting for one. NULL: the job has failed. */
static struct client_copy *take_number(void)
{
    do {
        for (uint32_t i = 0; i < WEFT_COPIES; i++)
            if (!client.copies[client.next_copy++ % WEFT_COPIES].used)
                return &client.copies[(client.next_copy - 1) % WEFT_COPIES];
    } while (client_take_turns());
    return NULL;
}

CUresult client_number(const struct client_copy *copy, uint32_t *number)
{
    weft_lock(&client.lock);
    struct client_copy *place = take_number();
    if (place != NULL) {
        *number = (uint32_t)(place - client.copies);
        *place = *copy;
        place->used = true;
        place->send.number = *number;
        client.writers += copy->run != NULL || copy->region != NULL;
        client.readers += copy->send.bytes != 0;
    }
    weft_unlock(&client.lock);
    return place != NULL ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
}

/* Lock held: from progress. */
weft_status client_copy_notice(void *context, int process, enum weft_copy_step step,
                               uint32_t number)
{
    struct client_copy *copy = number < WEFT_COPIES ? &client.copies[number] : NULL;

    (void)context;
    (void)process;
    if (copy == NULL || !copy->used)
        return WEFT_ERR_PROTOCOL;
    if (step == WEFT_COPY_GO && copy->send.bytes != 0)
        return weft_sources_add(&client.sources, &copy->send);
    if (step == WEFT_COPY_CALL && copy->run != NULL) {
        client.calling[client.last_calling++ % WEFT_COPIES] = (uint16_t)number;
        weft_bell_ring(&client.callbacks);
        return WEFT_OK;
    }
    if (step != WEFT_COPY_FREE)
        return WEFT_ERR_PROTOCOL;
    client.writers -= copy->run != NULL || copy->region != NULL;
    client.readers -= copy->send.bytes != 0;
    if (copy->region != NULL && !copy->region->pinned)
        client_region_drop(copy->region);
    *copy = (struct client_copy){0};
    return WEFT_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool closing(void)
{
    return __atomic_load_n(&client.closing, __ATOMIC_ACQUIRE);
}

static void serve(void *argument)
{
    (void)argument;
    while (!closing())
        client_nap(rest_ns);
}

static void run_callback(uint32_t number)
{
    const struct client_copy copy = client.copies[number];

    client.running = true;
    weft_unlock(&client.lock);
    copy.run(copy.argument);
    weft_lock(&client.lock);
    client.running = false;
    if (client.left)
        return;
    const weft_status status =
        weft_links_notify(&client.links, copy.process, WEFT_COPY_DONE, number);
    if (status != WEFT_OK)
        weft_links_failed(&client.links, status);
}

static void run_callbacks(void *argument)
{
    (void)argument;
    while (!closing()) {
        const uint32_t ticket = weft_bell_prepare(&client.callbacks);
        weft_lock(&client.lock);
        const bool there = client.first_calling != client.last_calling;
        if (there)
            run_callback(client.calling[client.first_calling++ % WEFT_COPIES]);
        weft_unlock(&client.lock);
        if (there)
            weft_bell_cancel(&client.callbacks);
        else
            weft_bell_sleep(&client.callbacks, ticket, 100 * rest_ns);
    }
}

void client_start_tasks(void)
{
    weft_task_start(&client.service, "weft-remote", serve, NULL);
    weft_task_start(&client.caller, "weft-callbacks", run_callbacks, NULL);
}

/* Until no callback runs; false: one does not return, perhaps as it has called exit. */
static bool await_callback(void)
{
    const uint64_t deadline = weft_now_ns() + patience_ns;
    bool running = true;

    while (running && weft_now_ns() < deadline) {
        weft_lock(&client.lock);
        running = client.running;
        weft_unlock(&client.lock);
        if (running)
            weft_task_yield(true);
    }
    return !running;
}

void client_stop_tasks(void)
{
    __atomic_store_n(&client.closing, true, __ATOMIC_RELEASE);
    weft_bell_ring(&client.callbacks);
    weft_task_join(&client.service);
    if (await_callback())
        weft_task_join(&client.caller);
}

void client_leave(void)
{
    bool napping = true;

    while (napping) {
        weft_lock(&client.lock);
        client.left = true;
        napping = client.napping != 0;
        weft_unlock(&client.lock);
        if (napping)
            weft_task_yield(true);
    }
}
