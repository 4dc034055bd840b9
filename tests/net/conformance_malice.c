/*
 * net/conformance_malice.c - what a broken or hostile end may ask for: it ends in
 * WEFT_ERR_PROTOCOL, and not a byte is written.
 */
#include "conformance.h"

#include "base/task.h"

#include <string.h>

enum { REFUSED = 0x1dead };

/* What a broken peer may ask for; 8 bytes of data, except where the notice is the matter. */
static const struct malice {
    const char *name;
    uint64_t key_change, offset;
    size_t bytes;
    bool gone; /* the key of memory that is not registered any more, in whose place other is */
    uint32_t notice;
} list[] = {
    {"7 bytes inside", 0, END_MEMORY - 7, 8, false, 1},
    {"an offset that wraps", 0, UINT64_MAX - 3, 8, false, 1},
    {"one byte behind the end", 0, END_MEMORY, 1, false, 1},
    {"far away", 0, 1ull << 40, 8, false, 1},
    {"another region", 7, 0, 8, false, 1},
    {"a region beyond all", 0xffffff00, 0, 8, false, 1},
    {"another generation", 1ull << 40, 0, 8, false, 1},
    {"memory no longer registered", 0, 0, 8, true, 1},
    {"a malformed notice", 0, 0, 0, false, REFUSED},
};

int malices(void)
{
    return sizeof(list) / sizeof(list[0]);
}

void suffer(struct end *end, int number)
{
    const struct malice *m = &list[number];
    struct ends *all = end->all;
    struct end *victim = &all->end[0];
    unsigned char source[8];
    weft_status status = WEFT_OK;
    uint64_t other = 0;

    memset(source, 0xee, sizeof(source));
    if (end->me == all->count - 1)
        for (int i = 0; i < 8; i++)
            CHECK(all, end_put(end, 0, (size_t)i * 8, source, 8, notice_of((uint32_t)i),
                               END_KEEP) == WEFT_OK);
    end_settle(end);
    if (end == victim) {
        memset(end->memory, 0, END_SPACE);
        end->refuse = REFUSED;
    }
    end_meet(end);
    const uint64_t key = victim->key; /* as the sender still knows it */
    const int good = end->put_count;
    end_meet(end);
    if (end == victim && m->gone) {
        weft_net_dereg(end->net, end->key);
        CHECK(all, weft_net_reg(end->net, end->memory, END_MEMORY, false, &other) == WEFT_OK);
        CHECK(all, other != end->key);
        end->key = other;
    }
    end_meet(end);
    if (end->me == all->count - 1) {
        const struct weft_net_put put = {.process = 0,
                                         .key = key ^ m->key_change,
                                         .offset = m->offset,
                                         .source = source,
                                         .bytes = m->bytes,
                                         .notice = m->notice};
        status = end_try(end, &put, END_SPOIL);
        CHECK(all, status == WEFT_OK || end == victim);
    }
    if (end == victim) {
        const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;
        while (status == WEFT_OK && weft_now_ns() < deadline)
            status = end_move(end);
        if (status != WEFT_ERR_PROTOCOL)
            printf("%s: status %d\n", m->name, (int)status);
        CHECK(all, status == WEFT_ERR_PROTOCOL);
        size_t touched = 0;
        for (size_t i = 0; i < END_SPACE; i++)
            touched += end->memory[i] != 0;
        CHECK(all, touched == 0);
        CHECK(all, end->notice_count[all->count - 1] == 0);
    }
    end_meet(end);
    if (end->me == all->count - 1 && end->put_count > good) {
        end_move(end);
        CHECK(all, end->puts[good].delivered == 0);
    }
    end_meet(end); /* nobody takes away, in the same space, what another still looks at */
}
