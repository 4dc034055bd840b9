/*
 * A table of keys and values that lies in all ranks' memory. Every rank inserts its keys by
 * compare_swap and adds to their values by fetch_add, whoever has the place; then it looks up all
 * keys of another rank by get. No rank answers for another: the owner of a place does nothing.
 */
#include <weft/device.h>

#include "get.h"

/* The i-th place to look at for a key: the rank that has it, and its offset there. */
WEFT_DEVICE_FN uint64_t place_of(uint64_t key, uint64_t i, uint64_t places, int n, int *rank)
{
    const uint64_t place = (key * 0x9e3779b97f4a7c15u + i) % (places * (uint64_t)n);
    *rank = (int)(place / places);
    return place % places * sizeof(struct cell);
}

/* Where the key is, or now is; 0: `insert` is not set, and it is nowhere. */
WEFT_DEVICE_FN int find(weft_self *self, weft_win table, struct get *user, struct cell *found,
                        uint64_t key, int insert, int *rank, uint64_t *offset)
{
    for (uint64_t i = 0;; i++) {
        *offset = place_of(key, i, user->places, weft_size(self, WEFT_COMM_WORLD), rank);
        if (insert) {
            const uint64_t was = weft_compare_swap(self, table, *rank, *offset, 0, key);
            if (was == 0 || was == key)
                return 1;
        } else {
            weft_get(self, table, *rank, *offset, found, sizeof(*found));
            if (found->key == key || found->key == 0)
                return found->key == key;
            weft_sync(self); /* all have looked at it before it is fetched again */
        }
    }
}

WEFT_KERNEL(get_kernel, struct get, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int here = weft_rank(self, WEFT_COMM_DEVICE), other = (me + 1) % n;
    struct cell *const found = user->found + here;
    uint64_t offset, wrong = 0;
    int rank;

    weft_win table = weft_win_create(self, WEFT_COMM_WORLD, user->cells + user->places * here,
                                     user->places * sizeof(struct cell));
    weft_win count = weft_win_create(self, WEFT_COMM_WORLD, user->count, sizeof(*user->count));

    for (uint64_t k = 0; k < KEYS; k++) {
        const uint64_t key = (uint64_t)me * KEYS + k + 1;
        find(self, table, user, found, key, 1, &rank, &offset);
        weft_fetch_add(self, table, rank, offset + sizeof(key), 2 * key);
        weft_add(self, table, rank, offset + sizeof(key), key);
        weft_add(self, count, 0, 0, 1);
    }
    weft_flush(self, table);
    weft_flush(self, count);
    weft_barrier(self, WEFT_COMM_WORLD);

    for (uint64_t k = 0; k < KEYS; k++) {
        const uint64_t key = (uint64_t)other * KEYS + k + 1;
        wrong += !find(self, table, user, found, key, 0, &rank, &offset) || found->value != 3 * key;
        weft_sync(self);
    }
    weft_get(self, count, 0, 0, &found->key, sizeof(found->key));
    wrong += found->key != (uint64_t)n * KEYS;
    weft_sync(self);
    if (weft_thread(self) == 0)
        found->value = wrong;
    weft_win_free(self, &count);
    weft_win_free(self, &table);
}
