/*
 * fuzz_wqe.c - a queue with any bytes in its slots, any doorbell record and any doorbell. The
 * software NIC executes what is right, and writes nothing but the memory that it knows.
 */
#include "fuzz.h"

#include "base/task.h"
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

    weft_wqe_nop(&right, index, QPN, true);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    const uint64_t begin = (uint64_t)(uintptr_t)memory + BESIDE;
    const struct weft_gda_keys keys = {
        .count = 1, .key = {{.begin = begin, .end = begin + BYTES, .lkey = KEY}}};
    struct weft_bell bell = {0};
    struct weft_softnic nic = {.keys = &keys, .bell = &bell};
    uint32_t record[2] = {0};
    uint64_t doorbell = weft_mlx5_doorbell(0, QPN);
    struct weft_softnic_queue queue = {.nic = &nic,
                                       .wire = &weft_softnic_loop,
                                       .wqe = wqe,
                                       .cqe = cqe,
                                       .record = record,
                                       .doorbell = &doorbell,
                                       .qpn = QPN,
                                       .slots = SLOTS,
                                       .cq_slots = fuzz_byte(&in) & 1 ? SLOTS : 1};

    memset(memory, 0xa5, sizeof(memory));
    MUST(weft_softnic_open(&queue, 0));
    for (uint32_t i = 0; i < SLOTS; i++)
        any_slot(&in, wqe + i * WEFT_MLX5_SLOT, i);
    for (int turn = 0; turn < 4; turn++) {
        record[1] = weft_be32(fuzz_byte(&in) < 200 ? fuzz_byte(&in) % (SLOTS + 1) : fuzz_word(&in));
        doorbell = fuzz_byte(&in) < 200 ? weft_mlx5_doorbell(weft_be32(record[1]) & 0xffff, QPN)
                                        : (uint64_t)fuzz_word(&in) << 32 | fuzz_word(&in);
        for (int round = 0; round < ROUNDS && weft_softnic_round(&queue); round++)
            MUST(round < ROUNDS - 1);
    }
    for (int i = 0; i < BESIDE; i++)
        MUST(memory[i] == 0xa5 && memory[BESIDE + BYTES + i] == 0xa5);
    weft_softnic_close(&queue);
    return 0;
}
