/*
 * fuzz_wqe.c - a queue with any bytes in its slots, any doorbell record and any doorbell. The
 * software NIC executes what is right, and writes nothing but the memory that it knows. So does the
 * one that runs on a device, here as a warp of one lane; where doorbells are right both come to the
 * same end.
 */
#include "fuzz.h"

#include "base/task.h"
#include "gda/softnic/block.h"
#include "gda/softnic/engine.h"

enum { SLOTS = 16, QPN = 7, KEY = 0x300, BYTES = 256, BESIDE = 64, ROUNDS = 64 };

static _Alignas(64) unsigned char wqe[SLOTS * WEFT_MLX5_SLOT], cqe[SLOTS * WEFT_MLX5_CQE_BYTES];
static _Alignas(64) unsigned char memory[BESIDE + BYTES + BESIDE];

/* Often a right one, whose address and key the input does not know. */
static void any_slot(struct fuzz_bytes *in, unsigned char *slot, uint32_t index)
{
    struct weft_wqe right;
    const unsigned kind = fuzz_byte(in);
    const uint64_t at = (uint64_t)(uintptr_t)memory + BESIDE;
    const struct weft_gda_remote to = {at + fuzz_byte(in), KEY};
    const struct weft_gda_local from = {at + fuzz_byte(in), fuzz_byte(in), KEY};

    weft_wqe_control(&right, WEFT_MLX5_NOP, index, QPN, 1, true);
    if (kind % 4 == 1)
        weft_wqe_move(&right, kind & 4 ? WEFT_MLX5_READ : WEFT_MLX5_WRITE, index, QPN, to, from,
                      kind & 8);
    if (kind % 4 == 2)
        weft_wqe_atomic(&right, kind & 4 ? WEFT_MLX5_FETCH_ADD : WEFT_MLX5_COMPARE_SWAP, index, QPN,
                        to, 1, 0, from, kind & 8);
    memcpy(slot, right.word, WEFT_MLX5_SLOT);
    for (unsigned i = fuzz_byte(in) % 4; i > 0; i--)
        slot[fuzz_byte(in) % WEFT_MLX5_SLOT] = (unsigned char)fuzz_byte(in);
    if (kind % 4 == 3)
        for (int i = 0; i < WEFT_MLX5_SLOT; i++)
            slot[i] = (unsigned char)fuzz_byte(in);
}

/* What became of a queue. */
struct end {
    uint64_t fetched;
    uint32_t syndrome;
    bool right; /* all that was rung for was in the record */
};

/* Rings for any slots, or for none that there are; then the NIC does all that it can. */
static void any_turns(struct fuzz_bytes *in, uint32_t record[2], uint64_t *doorbell,
                      struct end *end, bool (*turn)(void *queue), void *queue)
{
    for (int t = 0; t < 4; t++) {
        record[1] = weft_be32(fuzz_byte(in) < 200 ? fuzz_byte(in) % (SLOTS + 1) : fuzz_word(in));
        *doorbell = weft_mlx5_doorbell(weft_be32(record[1]) & 0xffff, QPN);
        if (fuzz_byte(in) >= 200) {
            *doorbell = (uint64_t)fuzz_word(in) << 32 | fuzz_word(in);
            end->right = false;
        }
        for (int round = 0; round < ROUNDS && turn(queue); round++)
            MUST(round < ROUNDS - 1);
    }
    for (int i = 0; i < BESIDE; i++)
        MUST(memory[i] == 0xa5 && memory[BESIDE + BYTES + i] == 0xa5);
}

static bool host_turn(void *queue)
{
    return weft_softnic_round(queue);
}

static struct end by_host(struct fuzz_bytes in, const struct weft_gda_keys *keys)
{
    struct weft_bell bell = {0};
    struct weft_softnic nic = {.keys = keys, .bell = &bell};
    uint32_t record[2] = {0};
    uint64_t doorbell = weft_mlx5_doorbell(0, QPN);
    struct weft_softnic_queue queue = {.nic = &nic,
                                       .wire = &weft_softnic_loop,
                                       .wqe = wqe,
                                       .cqe = cqe,
                                       .record = record,
                                       .doorbell = &doorbell,
                                       .qpn = QPN,
                                       .slots = SLOTS};
    struct end end = {.right = true};

    MUST(weft_softnic_open(&queue, 0));
    any_turns(&in, record, &doorbell, &end, host_turn, &queue);
    end.fetched = queue.broken != 0 ? queue.failed : queue.fetched;
    end.syndrome = queue.broken;
    weft_softnic_close(&queue);
    return end;
}

static bool block_turn(void *nic)
{
    uint64_t words[WEFT_NIC_WORDS];

    return weft_nic_turn(nic, ((struct weft_nic *)nic)->queues, words, 0);
}

static struct end by_block(struct fuzz_bytes in, const struct weft_gda_keys *keys)
{
    _Alignas(8) unsigned char room[sizeof(struct weft_nic_report) + sizeof(uint64_t)] = {0};
    struct weft_nic_report *report = (struct weft_nic_report *)(void *)room;
    uint32_t record[2] = {0};
    uint64_t doorbell = weft_mlx5_doorbell(0, QPN);
    struct weft_nic_queue queue = {.wqe = (const uint64_t *)(const void *)wqe,
                                   .cqe = cqe,
                                   .record = record,
                                   .doorbell = &doorbell,
                                   .qpn = QPN,
                                   .slots = SLOTS,
                                   .failed = report->failed};
    struct weft_nic nic = {.queues = &queue, .keys = keys, .report = report, .count = 1};
    struct end end = {.right = true};

    any_turns(&in, record, &doorbell, &end, block_turn, &nic);
    end.fetched = queue.fetched;
    end.syndrome = queue.syndrome;
    MUST(report->failures == (queue.syndrome != 0));
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    const uint64_t begin = (uint64_t)(uintptr_t)memory + BESIDE;
    const struct weft_gda_keys keys = {
        .count = 1, .key = {{.begin = begin, .end = begin + BYTES, .lkey = KEY}}};

    memset(memory, 0xa5, sizeof(memory));
    for (uint32_t i = 0; i < SLOTS; i++)
        any_slot(&in, wqe + i * WEFT_MLX5_SLOT, i);
    const struct end one = by_host(in, &keys), other = by_block(in, &keys);
    MUST(!one.right || (one.syndrome == other.syndrome && one.fetched == other.fetched));
    return 0;
}
