/*
 * litmus/messages.c - messages between the two host programs: bytes in the line and behind it, and
 * more of them than a ring has room for.
 */
#include "messages.h"

#include <weft/message.h>

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
