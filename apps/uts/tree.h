/*
 * uts/tree.h - the trees of the Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006): what
 * a node's children are follows from its 20 bytes alone, by SHA-1. For ranks and host programs.
 */
#ifndef UTS_TREE_H
#define UTS_TREE_H

#include <weft/device.h>

enum { TREE_MOST_CHILDREN = 100 };

struct tree {
    uint32_t geometric; /* else binomial */
    uint32_t depth;     /* geometric: nodes so deep have no children */
    uint32_t root;      /* binomial: children of the root */
    uint32_t children;  /* binomial: children of another node, or none */
    uint32_t below;     /* binomial: nodes whose number is below this have children */
    /* geometric: nodes of at least at_least[k] have k children or more; so all devices agree */
    uint32_t at_least[TREE_MOST_CHILDREN + 1];
};

struct node {
    uint32_t word[5];
    uint32_t depth;
    uint32_t next, count; /* children: not yet looked at, and all */
};

WEFT_DEVICE_FN inline uint32_t tree_turn(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* SHA-1 of the node's words and, if bytes is 24, a number behind them. */
WEFT_DEVICE_FN inline void tree_hash(const uint32_t *word, uint32_t number, uint32_t bytes,
                                     uint32_t *hash)
{
    uint32_t w[16], a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;

    for (int i = 0; i < 16; i++)
        w[i] = i < 5 ? word[i] : 0;
    w[5] = bytes == 24 ? number : 0x80000000u;
    w[6] = bytes == 24 ? 0x80000000u : 0;
    w[15] = bytes * 8;
    for (int t = 0; t < 80; t++) {
        const uint32_t f = t < 20   ? (b & c) | (~b & d)
                           : t < 40 ? b ^ c ^ d
                           : t < 60 ? (b & c) | (b & d) | (c & d)
                                    : b ^ c ^ d;
        const uint32_t k = t < 20   ? 0x5a827999
                           : t < 40 ? 0x6ed9eba1
                           : t < 60 ? 0x8f1bbcdc
                                    : 0xca62c1d6;
        if (t >= 16)
            w[t & 15] =
                tree_turn(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1);
        const uint32_t next = tree_turn(a, 5) + f + e + k + w[t & 15];
        e = d;
        d = c;
        c = tree_turn(b, 30);
        b = a;
        a = next;
    }
    hash[0] = 0x67452301 + a;
    hash[1] = 0xefcdab89 + b;
    hash[2] = 0x98badcfe + c;
    hash[3] = 0x10325476 + d;
    hash[4] = 0xc3d2e1f0 + e;
}

WEFT_DEVICE_FN inline uint32_t tree_count(const struct tree *tree, const struct node *node)
{
    const uint32_t number = node->word[4] & 0x7fffffff;
    uint32_t k = 0;

    if (tree->geometric == 0)
        return node->depth == 0 ? tree->root : number < tree->below ? tree->children : 0;
    if (node->depth >= tree->depth)
        return 0;
    while (k < TREE_MOST_CHILDREN && number >= tree->at_least[k + 1])
        k++;
    return k;
}

/* A child of a node. */
WEFT_DEVICE_FN inline void tree_child(const struct tree *tree, const struct node *node,
                                      uint32_t number, struct node *child)
{
    tree_hash(node->word, number, 24, child->word);
    child->depth = node->depth + 1;
    child->next = 0;
    child->count = tree_count(tree, child);
}

WEFT_DEVICE_FN inline void tree_root(const struct tree *tree, uint32_t seed, struct node *root)
{
    const uint32_t start[5] = {0, 0, 0, 0, seed};

    tree_hash(start, 0, 20, root->word);
    root->depth = root->next = 0;
    root->count = tree_count(tree, root);
}

#endif
