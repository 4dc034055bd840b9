/*
 * Mixtures of experts, drawn from a key: how many tokens each member has, whom they choose, what
 * the experts make of them; and what dispatch and combine must make of that.
 */
#ifndef WEFT_TESTS_MOE_REFERENCE_H
#define WEFT_TESTS_MOE_REFERENCE_H

#include "support/ccl_reference.h"

#include <string.h>

enum { MEMBERS = 8, NONE = -1 };

/* A mixture, and the latest batch of all members. */
struct mixture {
    weft_ccl_moe *moe;
    weft_ccl_moe_desc desc;
    size_t back;         /* back_bytes of the desc, or row_bytes */
    int each, members;   /* experts of a member; members */
    uint64_t key;        /* key of the batch */
    int tokens[MEMBERS]; /* tokens of each member */
    int32_t *chosen;     /* by member, token, choice */
    bool wrong;          /* 1: some choices are wrong */
};

static uint64_t mixed(uint64_t key, uint64_t a, uint64_t b, uint64_t c)
{
    return test_mix(key + test_mix(a * 1000003u + test_mix(b * 8191u + c)));
}

static int32_t *chosen_of(const struct mixture *x, int member, int token)
{
    return x->chosen +
           ((size_t)member * (size_t)x->desc.tokens + (size_t)token) * (size_t)x->desc.topk;
}

/* Draws a choice: any, with some that are none; one expert for all; one member's; none. */
static int32_t draw_choice(const struct mixture *x, int member, int token, int k)
{
    const uint64_t bits = mixed(x->key, (uint64_t)member, (uint64_t)token, (uint64_t)k);
    const uint64_t how = (x->key >> 8) % 5, experts = (uint64_t)x->desc.experts;

    if (how == 1)
        return k == 0 ? (int32_t)((x->key >> 16) % experts) : NONE;
    if (how == 2)
        return (int32_t)((bits >> 8) % (uint64_t)x->each);
    if ((how == 3 && token % 3 != 0) || (bits & 7) == 0)
        return NONE;
    return (int32_t)((bits >> 8) % experts);
}

static void draw_batch(struct mixture *x, uint64_t key)
{
    x->key = test_mix(key);
    for (int m = 0; m < x->members; m++) {
        const uint64_t bits = mixed(x->key, 77, (uint64_t)m, 0);
        x->tokens[m] = (bits & 3) == 0   ? (int)(bits >> 2 & 1)
                       : (bits & 3) == 1 ? x->desc.tokens
                                         : (int)((bits >> 8) % (uint64_t)(x->desc.tokens + 1));
        for (int t = 0; t < x->tokens[m]; t++)
            for (int k = 0; k < x->desc.topk; k++) {
                int32_t e = draw_choice(x, m, t, k);
                const uint64_t odd = mixed(x->key, 99, (uint64_t)(m * 4096 + t), (uint64_t)k);
                for (int j = 0; j < k && !x->wrong; j++)
                    e = chosen_of(x, m, t)[j] == e ? NONE : e;
                if (x->wrong && odd % 5 == 0)
                    e = odd % 2 ? x->desc.experts + (int32_t)(odd >> 32 & 0xff) : -2;
                chosen_of(x, m, t)[k] = e;
            }
    }
}

/* Gives what dispatch takes a choice for. */
static int32_t taken(const struct mixture *x, int member, int token, int k)
{
    const int32_t *const chosen = chosen_of(x, member, token);
    int32_t e = chosen[k] >= 0 && chosen[k] < x->desc.experts ? chosen[k] : NONE;

    for (int j = 0; j < k; j++)
        e = chosen[j] == e ? NONE : e;
    return e;
}

static unsigned char row_byte(const struct mixture *x, int member, int token, size_t i)
{
    return (unsigned char)(mixed(x->key, (uint64_t)member, (uint64_t)token, i / 8) >> i % 8 * 8);
}

/* Gives an element that an expert makes of a token: often of like size, now and then any bits. */
static uint64_t made(const struct mixture *x, weft_type type, int member, int token, int32_t e,
                     size_t i)
{
    const struct ccl_call call = {.type = type, .key = x->key + (uint64_t)e * 31u};
    return ccl_element(&call, member, token, i);
}

static float weight_of(const struct mixture *x, int member, int token, int k)
{
    const uint64_t bits = mixed(x->key, (uint64_t)member + 50, (uint64_t)token, (uint64_t)k);
    return (float)(bits & 0xffff) / 65536.0f - ((bits & 0x70000) == 0 ? 0.5f : 0.0f);
}

/* Gives what combine makes of an element. */
static uint64_t summed(const struct mixture *x, weft_type type, int member, int token, size_t i)
{
    uint64_t sum = 0;

    for (int k = 0; k < x->desc.topk; k++) {
        const int32_t e = taken(x, member, token, k);
        const float weight = weight_of(x, member, token, k);
        uint32_t bits;
        if (e == NONE)
            continue;
        memcpy(&bits, &weight, sizeof(bits));
        const uint64_t f32 =
            ccl_bits(ccl_worth(made(x, type, member, token, e, i), type), WEFT_F32);
        const uint64_t product = ccl_f32(f32, bits, WEFT_PROD);
        sum = ccl_f32(sum, product, WEFT_SUM);
    }
    return ccl_bits(ccl_worth(sum, WEFT_F32), type);
}

#endif
