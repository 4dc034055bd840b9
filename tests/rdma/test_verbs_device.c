/*
 * rdma/test_verbs_device.c - windows that the network device cannot write: those of a machine whose
 * host cannot store to device memory (deliver and settle, as with a GPU, which a buffer stands for
 * here), and one that is larger than the device maps. Puts of all sizes go through host buffers, in
 * order with those that do not.
 */
#include "base/say.h"
#include "verbs_pair.h"

enum { DELIVERIES = 4096, MOST = 1 << 20 };

/* What `deliver` was told, and nobody has seen copied yet: the source must stay until then. */
static struct delivery {
    unsigned char *target;
    const unsigned char *source;
    size_t bytes;
} deliveries[DELIVERIES];
static uint64_t begun, done, marks;
static uint32_t asks, waited_in_vain;
static bool hold; /* nothing is there before a second mark is made */

static bool deliver(void *context, void *target, const void *source, size_t bytes)
{
    (void)context;
    CHECK(begun - done < DELIVERIES);
    deliveries[begun++ % DELIVERIES] = (struct delivery){target, source, bytes};
    return true;
}

static void copy_until(uint64_t mark)
{
    for (; done < mark; done++) {
        const struct delivery *l = &deliveries[done % DELIVERIES];
        memcpy(l->target, l->source, l->bytes);
    }
}

static bool settle(void *context)
{
    (void)context;
    copy_until(begun);
    return true;
}

static bool mark_here(void *context, uint64_t *mark)
{
    (void)context;
    *mark = begun;
    marks++;
    return true;
}

static bool settled(void *context, uint64_t mark, bool *there)
{
    (void)context;
    asks++;
    *there = done >= mark || (hold ? marks >= 2 || asks > 100000 : asks % 3 == 0);
    waited_in_vain += *there && hold && marks < 2;
    if (*there)
        copy_until(mark);
    return true;
}

static void fill(unsigned char *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)(i * 131 + seed * 7 + (i >> 9) + 1);
}

/* Every size, with and without a notice; what is delivered is there. */
static void put_sizes(const char *what)
{
    static const size_t sizes[] = {0,    1,    8,    40,    184,    185, 8151,
                                   8152, 8153, 9000, 65536, 100001, MOST};
    unsigned char *source = malloc(MOST);
    uint32_t notices = pair[1].arrived, delivered = pair[0].delivered;

    if (source == NULL)
        exit(1);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(source, sizes[i], (unsigned)i);
        pair_put(0, 64 + i % 2, source, sizes[i],
                 i % 3 != 0 ? weft_notice(WEFT_NOTICE_COUNT, 1, 2) : 0);
        notices += i % 3 != 0;
        PAIR_UNTIL(pair[0].delivered == delivered + (uint32_t)i + 1);
        CHECK(pair[0].sent == pair[0].delivered);
        CHECK(memcmp(pair[1].memory + 64 + i % 2, source, sizes[i]) == 0);
        CHECK(pair[1].arrived == notices);
    }
    printf("%s: done, %llu marks\n", what, (unsigned long long)marks);
    free(source);
}

/* Overlapping puts by turns into one range, through both kinds of windows over it: the last wins.
 */
static void put_turns(uint64_t by_message, uint64_t direct)
{
    enum { TURNS = 301, BYTES = 7000, SHORT = 700 };
    static unsigned char sources[TURNS][BYTES];
    const uint32_t delivered = pair[0].delivered;

    for (int i = 0; i < TURNS; i++) {
        fill(sources[i], BYTES, (unsigned)i);
        pair[1].key = i % 3 == 0 ? by_message : direct;
        pair_put(0, 128, sources[i], i % 2 == 0 ? BYTES : SHORT, 0);
    }
    PAIR_UNTIL(pair[0].delivered == delivered + TURNS);
    CHECK(memcmp(pair[1].memory + 128, sources[TURNS - 1], BYTES) == 0);
}

/* While a piece of a put is on its way to the device, the next ones are received. */
static void put_held(void)
{
    unsigned char *source = malloc(MOST);
    const uint32_t delivered = pair[0].delivered;

    if (source == NULL)
        exit(1);
    fill(source, MOST, 99);
    hold = true;
    marks = asks = 0;
    pair_put(0, 64, source, MOST, weft_notice(WEFT_NOTICE_COUNT, 1, 2));
    PAIR_UNTIL(pair[0].delivered == delivered + 1);
    hold = false;
    CHECK(marks >= 2 && waited_in_vain == 0);
    CHECK(memcmp(pair[1].memory + 64, source, MOST) == 0);
    free(source);
}

/* Outside of the window: refused by the receiver, or, where it is written, by its device. */
static void put_outside(size_t bytes)
{
    const uint64_t until = weft_now_ns() + PAIR_HANG_NS;
    weft_status status = WEFT_OK;

    pair_put(0, PAIR_MEMORY - 7, pair[0].memory, bytes, 0);
    while (status == WEFT_OK && weft_now_ns() < until)
        status = pair_turn();
    CHECK(status == WEFT_ERR_PROTOCOL);
    CHECK(strstr(weft_err_last(), "which is no region of") != NULL);
}

int main(void)
{
    static const struct weft_net_device device = {
        .deliver = deliver, .settle = settle, .mark = mark_here, .settled = settled};
    uint64_t direct;

    setbuf(stdout, NULL);
    pair_open("", &device);
    CHECK((pair[1].key & WEFT_PEER_PLACED) == 0);
    put_sizes("windows in device memory");
    CHECK(marks > 0);
    put_held();
    put_outside(8);
    pair_close();

    pair_open("", NULL);
    direct = pair[1].key;
    weft_net_transport(pair[1].net)->device.attr.max_mr_size = 4096;
    CHECK(weft_net_reg(pair[1].net, pair[1].memory, PAIR_MEMORY, false, &pair[1].key) == WEFT_OK);
    CHECK((pair[1].key & WEFT_PEER_PLACED) == 0 && (direct & WEFT_PEER_PLACED) != 0);
    put_sizes("a window larger than the device maps");
    put_turns(pair[1].key, direct);
    pair[1].key = direct;
    put_outside(8000);
    pair_close();
    printf("%d checks failed\n", failures);
    return failures != 0;
}
