/* experts/router.c - the serial router. */
#include "router.h"

#include "experts.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void router_choose(const struct layer *layer, int step, int member, int token, int32_t chosen[])
{
    uint64_t bits = mix(((uint64_t)step << 40) + ((uint64_t)member << 32) + (uint64_t)token + 1);

    for (int k = 0; k < layer->topk; k++) {
        double u = 1;
        bits = mix(bits + 1);
        for (int s = 0; s <= layer->skew; s++) /* a product of uniform numbers: small ones */
            u *= (double)(mix(bits + (uint64_t)s) >> 11) * 0x1p-53;
        chosen[k] = (int32_t)(u * layer->experts);
        for (int j = 0; j < k; j++)
            if (chosen[j] == chosen[k]) { /* the next one, compared with all again */
                chosen[k] = (chosen[k] + 1) % layer->experts;
                j = -1;
            }
    }
}

float router_weight(int k)
{
    return (float)(1 + k % 4) / 8;
}

float router_element(int step, int member, int token, int i)
{
    return (float)((step * 5 + member * 17 + token * 31 + i * 7) % 64 - 32);
}

float router_result(const struct layer *layer, int step, int member, int token, int i)
{
    int32_t chosen[8];
    float sum = 0;

    router_choose(layer, step, member, token, chosen);
    for (int k = 0; k < layer->topk; k++)
        sum +=
            router_weight(k) * experts_factor(chosen[k]) * router_element(step, member, token, i);
    return sum;
}

void router_count(const struct layer *layer, int step, int first, int own, int32_t counts[])
{
    int32_t chosen[8];

    memset(counts, 0, (size_t)own * sizeof(*counts));
    for (int m = 0; m < layer->members; m++)
        for (int t = 0; t < layer->tokens; t++) {
            router_choose(layer, step, m, t, chosen);
            for (int k = 0; k < layer->topk; k++)
                if (chosen[k] >= first && chosen[k] < first + own)
                    counts[chosen[k] - first]++;
        }
}
