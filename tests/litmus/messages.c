/*
 * litmus/messages.c - messages between the two host programs: bytes in the line and behind it, and
 * more of them than a ring has room for. And small collectives of the two that wait, by which one
 * gets as far ahead of the other as it may.
 */
#include "messages.h"

#include <weft/team.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 12, MOST = 120 };

static size_t bytes_of(int number)
{
    return number % 3 == 0 ? 8 : (size_t)(40 + number * 5);
}

/* All the bytes of a message have its number. */
static bool is_whole(const unsigned char *data, int number)
{
    for (size_t i = 0; i < bytes_of(number); i++)
        if (data[i] != number)
            return false;
    return true;
}

int litmus_messages(weft_job *job)
{
    const int other = 1 - weft_numbers_of(job)->process;
    unsigned char out[COUNT][MOST], in[MOST];
    weft_message_op ops[COUNT];

    for (int i = 0; i < COUNT; i++) {
        memset(out[i], i + 1, MOST);
        if (weft_host_send_begin(job, WEFT_COMM_HOST, other, i, out[i], bytes_of(i + 1), &ops[i]) !=
            WEFT_OK)
            return 1;
    }
    for (int i = 0; i < COUNT; i++) {
        if (weft_host_receive(job, WEFT_COMM_HOST, other, i, in, MOST, NULL) != WEFT_OK)
            return 1;
        if (!is_whole(in, i + 1)) {
            fprintf(stderr, "litmus messages: message %d has other bytes\n", i);
            return 1;
        }
    }
    return weft_host_message_wait_all(job, ops, COUNT, NULL) != WEFT_OK;
}

/* A ring of near payload has room for five; each way, one after the other. */
int litmus_near_ring(weft_job *job)
{
    enum { BYTES = 1500 };
    const int me = weft_numbers_of(job)->process;
    unsigned char data[BYTES];

    for (int i = 0; i < 4 * COUNT; i++) {
        const bool sends = i / (2 * COUNT) == me;
        memset(data, sends ? i + 1 : 0, BYTES);
        const weft_status status =
            sends ? weft_host_send(job, WEFT_COMM_HOST, 1 - me, i, data, BYTES)
                  : weft_host_receive(job, WEFT_COMM_HOST, 1 - me, i, data, BYTES, NULL);
        for (int k = 0; k < BYTES; k++)
            if (status != WEFT_OK || data[k] != i + 1)
                return 1;
    }
    return 0;
}

static void add(const weft_combine *combine, const void *from, void *into, size_t count)
{
    (void)combine;
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)into)[i] += ((const uint64_t *)from)[i];
}

int litmus_shared(weft_job *job)
{
    const weft_combine sum = {.combine = add, .bytes = sizeof(uint64_t), .commutes = 1};
    const int me = weft_numbers_of(job)->process, both[2] = {0, 1};
    uint64_t
        word[130]; /* all: more than lies behind a part's words, so that two parts take turns */
    weft_comm group;
    weft_team *team;

    if (weft_message_group_take(job, 0, both, 2, &group) != WEFT_OK ||
        weft_team_open(job, group, 2, me, "both", NULL, &team) != WEFT_OK)
        return 1;
    for (uint64_t i = 1; i <= 24; i++) {
        const int root = i > 12;
        const int words = i % 2 == 0 ? 4 : 130;
        for (int k = 0; k < words; k++)
            word[k] = me == root ? i + (uint64_t)k : 0;
        weft_status status = i % 12 == 0
                                 ? weft_team_allreduce(team, word, word, (size_t)words, &sum, NULL)
                                 : weft_team_broadcast(team, root, word, 8 * (size_t)words, NULL);
        for (int k = 0; k < words; k++)
            if (status != WEFT_OK || word[k] != i + (uint64_t)k)
                return 1;
    }
    return weft_team_close(&team) != WEFT_OK;
}
