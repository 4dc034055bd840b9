/*
 * remote/client/tasks.c - numbers of copies and callbacks, and the tasks: one drives the network
 * when nobody waits, one runs callbacks.
 */
#include "remote/client/inside.h"

static const uint64_t rest_ns = 1000000, patience_ns = 2000000000;

/* ---- numbers of copies and callbacks --------------------------------------------------------- */

/* Takes a free number, waiting for one. Lock held. NULL: the job has failed. Managed memory has
 * some of its own: the callback that has another one may wait for it. */
static struct client_copy *take_number(void)
{
    enum { OWN = 16 };
    const uint32_t most = client_has_turn ? WEFT_COPIES : WEFT_COPIES - OWN;

    do {
        for (uint32_t i = 0; i < most; i++)
            if (!client.copies[client.next_copy++ % most].used)
                return &client.copies[(client.next_copy - 1) % most];
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

/* Ends a copy or callback, and frees its number. The caller holds the lock. */
static void end_copy(uint32_t number)
{
    struct client_copy *copy = &client.copies[number];

    client.writers -= copy->run != NULL || copy->region != NULL;
    client.readers -= copy->send.bytes != 0;
    if (copy->region != NULL && !copy->region->pinned)
        client_region_drop(copy->region);
    *copy = (struct client_copy){0};
}

/* Takes a session's notice of a copy. Called within progress, with the lock held. */
weft_status client_copy_notice(void *context, int process, enum weft_copy_step step,
                               uint32_t number)
{
    struct client_copy *copy = number < WEFT_COPIES ? &client.copies[number] : NULL;

    (void)context;
    (void)process;
    if (copy == NULL || !copy->used)
        return WEFT_ERR_PROTOCOL;
    if (step != WEFT_COPY_FREE && copy->called)
        return WEFT_ERR_PROTOCOL;
    copy->called = true;
    if (step == WEFT_COPY_GO && copy->send.bytes != 0)
        return weft_sources_add(&client.sources, &copy->send);
    if (step == WEFT_COPY_GO && copy->run != NULL) {
        client.calling[client.last_calling++ % WEFT_COPIES] = (uint16_t)number;
        weft_bell_ring(&client.callbacks);
        return WEFT_OK;
    }
    if (step != WEFT_COPY_FREE || (copy->run != NULL && !copy->ran))
        return WEFT_ERR_PROTOCOL;
    struct weft_sending *sending = weft_sources_find(&client.sources, number);
    if (sending == NULL) {
        end_copy(number);
        return WEFT_OK;
    }
    sending->over =
        end_copy; /* the network may read its memory until then, whatever a server says */
    return sending->put == sending->send.bytes ? WEFT_OK : WEFT_ERR_PROTOCOL;
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
    client_managed_close(); /* work that comes after it was given before */
    weft_lock(&client.lock);
    client.running = false;
    client.copies[number].ran = true;
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

/* Waits until `so` is true, which is asked under the lock. False: not within `longest` ns. */
static bool until(bool (*so)(void), uint64_t longest)
{
    const uint64_t start = weft_now_ns();

    for (;;) {
        weft_lock(&client.lock);
        const bool is = so();
        weft_unlock(&client.lock);
        if (is || weft_now_ns() - start >= longest)
            return is;
        weft_task_yield(true);
    }
}

static bool is_sent(void)
{
    bool sent = true;

    for (int p = 1; p < client.links.processes && client.links.status == WEFT_OK; p++) {
        const struct weft_record_link *link = &client.links.link[p];
        sent = sent && link->out.put == link->out.head && link->unsent == 0;
    }
    return sent && (client.links.status != WEFT_OK || weft_net_left(client.links.net));
}

static bool calls_nobody(void)
{
    return !client.running;
}

static bool is_alone(void)
{
    client.left = true;
    return client.napping == 0;
}

void client_stop_tasks(void)
{
    until(is_sent, patience_ns);
    __atomic_store_n(&client.closing, true, __ATOMIC_RELEASE);
    weft_bell_ring(&client.callbacks);
    weft_task_join(&client.service);
    if (until(calls_nobody, patience_ns)) /* one may not return, perhaps as it has called exit */
        weft_task_join(&client.caller);
    until(is_alone, UINT64_MAX);
}
