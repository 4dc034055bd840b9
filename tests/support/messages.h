/* support/messages.h - what a message between host programs has in it. */
#ifndef TESTS_SUPPORT_MESSAGES_H
#define TESTS_SUPPORT_MESSAGES_H

#include "support/test.h"

#include "weft/message.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MOST = 300000 };

static inline unsigned char *buffer(size_t bytes)
{
    unsigned char *memory = malloc(bytes + 1);

    if (memory == NULL)
        abort();
    return memory;
}

static inline void fill(unsigned char *data, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = test_byte(key, i);
}

static inline size_t wrong(const unsigned char *data, size_t bytes, uint64_t key)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += data[i] != test_byte(key, i);
    return count;
}

static inline uint64_t key_of(int from, int to, int tag)
{
    return (uint64_t)from * 1000003 + (uint64_t)to * 1009 + (uint64_t)tag;
}

static inline void receive_and_check(struct test_env *env, int from, int tag, size_t bytes,
                                     unsigned char *memory)
{
    weft_message message = {.from = -2};

    TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, from, tag, memory, bytes, &message),
            WEFT_OK);
    TEST_EQ(env, message.from, from);
    TEST_EQ(env, message.tag, tag);
    TEST_EQ(env, message.bytes, bytes);
    TEST_EQ(env, message.status, WEFT_OK);
    TEST_EQ(env, wrong(memory, bytes, key_of(from, env->numbers->process, tag)), 0);
}

#endif
