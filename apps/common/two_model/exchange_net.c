/*
 * two_model/exchange_net.c - weft's own network, driven by the hosts: notified puts between host
 * windows over the arenas. So the model is compared, and not the network.
 */
#include "exchange.h"
#include "hosts.h"
#include "machine.h"

#ifdef WEFT_TWO_MODEL_CUDA
const char exchange_name[] = "net-cuda";
#else
const char exchange_name[] = "net";
#endif
const bool exchange_enqueues = false;

static char *arena;
static weft_win window;

#ifdef WEFT_TWO_MODEL_CUDA
/*
 * Where the host may read what is to be sent: small messages travel inside a command, into which it
 * copies them itself. Those that are larger weft fetches from the GPU.
 */
static const void *readable(const struct message *message)
{
    enum { SMALL = 1024 }; /* SMALL: the most that WEFT_INLINE allows */
    static char small[EXCHANGE_SLOTS][SMALL];
    if (message->bytes > SMALL)
        return arena + message->from;
    return machine_copy(small[message->slot], arena + message->from, message->bytes)
               ? small[message->slot]
               : NULL;
}
#else
static const void *readable(const struct message *message)
{
    return arena + message->from;
}
#endif

void *exchange_arena(size_t bytes)
{
    arena = hosts_arena(bytes);
    if (!arena || weft_host_win_create(hosts_job, arena, bytes, &window) != WEFT_OK)
        return NULL;
    return arena;
}

static bool send(const struct message *message)
{
    if (message->bytes == 0)
        return weft_host_notify(hosts_job, message->process, message->slot) == WEFT_OK;
    const void *source = readable(message);
    return source && weft_host_put_notify(hosts_job, window, message->process, message->to, source,
                                          message->bytes, message->slot) == WEFT_OK;
}

/*
 * The program sends from a place again only after the target has answered (exchange.h), so a put
 * needs no flush: its source has been read.
 */
bool exchange_run(const struct message *sends, int send_count, const struct message *receives,
                  int receive_count)
{
    if (!machine_wait())
        return false;
    for (int i = 0; i < send_count; i++)
        if (!send(&sends[i]))
            return false;
    for (int i = 0; i < receive_count; i++)
        if (weft_host_wait(hosts_job, receives[i].slot, 1) != WEFT_OK)
            return false;
    return true;
}

void exchange_free(void)
{
    if (window != WEFT_WIN_NONE && weft_host_win_free(hosts_job, &window) == WEFT_OK)
        weft_free(hosts_job, arena);
}
