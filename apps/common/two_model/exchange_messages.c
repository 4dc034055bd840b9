/*
 * two_model/exchange_messages.c - weft's messages between host programs, from arena to arena: GPU
 * memory as it is.
 */
#include "exchange.h"
#include "hosts.h"
#include "machine.h"

#include <stdio.h>
#include <weft/message.h>

#ifdef WEFT_TWO_MODEL_CUDA
const char exchange_name[] = "messages-cuda";
#else
const char exchange_name[] = "messages";
#endif
const bool exchange_enqueues = false;

static char *arena;
static weft_comm group; /* the hosts' own communicator is the team's; goes with the job */

void *exchange_arena(size_t bytes)
{
    arena = hosts_arena(bytes);
    if (!arena ||
        weft_host_split(hosts_job, 0, weft_numbers_of(hosts_job)->process, &group) != WEFT_OK)
        return NULL;
    return arena;
}

bool exchange_run(const struct message *sends, int send_count, const struct message *receives,
                  int receive_count)
{
    weft_message_op ops[EXCHANGE_MESSAGES];
    size_t count = 0;

    if (send_count + receive_count > EXCHANGE_MESSAGES) {
        fprintf(stderr, "two-model: an exchange of more than %d messages\n", EXCHANGE_MESSAGES);
        return false;
    }
    for (int i = 0; i < receive_count; i++)
        if (weft_host_receive_begin(hosts_job, group, receives[i].process, receives[i].slot,
                                    arena + receives[i].to, receives[i].bytes,
                                    &ops[count++]) != WEFT_OK)
            return false;
    if (!machine_wait()) /* the kernels that made what is sent */
        return false;
    for (int i = 0; i < send_count; i++)
        if (weft_host_send_begin(hosts_job, group, sends[i].process, sends[i].slot,
                                 arena + sends[i].from, sends[i].bytes, &ops[count++]) != WEFT_OK)
            return false;
    return weft_host_message_wait_all(hosts_job, ops, count, NULL) == WEFT_OK;
}

void exchange_free(void)
{
    weft_free(hosts_job, arena);
}
