/*
 * net/verbs/memory.h: what a key says, that an old key never fits newer
 * memory, where sources are found, and how memory of a GPU is handed to the device by dma-buf. The
 * real code, over functions that stand for the driver's (--wrap).
 */
#include "net/verbs/device.h"
#include "net/verbs/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

enum { RKEY = 0x1200, LKEY = 0x3400 };

/* The last registration. */
static struct {
    uint64_t iova, offset;
    size_t bytes;
    int access, fd, alive;
    bool refuse;
} asked;

static struct ibv_mr *registered(size_t bytes, uint64_t iova, int access)
{
    struct ibv_mr *mr = calloc(1, sizeof(*mr));

    if (asked.refuse) {
        free(mr);
        return NULL;
    }
    assert_non_null(mr);
    mr->rkey = RKEY; /* always the same: as a device might give it again */
    mr->lkey = LKEY;
    asked.iova = iova;
    asked.bytes = bytes;
    asked.access = access;
    asked.alive++;
    return mr;
}

#undef ibv_reg_mr_iova
struct ibv_mr *__wrap_ibv_reg_mr_iova(struct ibv_pd *pd, void *base, size_t bytes, uint64_t iova,
                                      int access);
struct ibv_mr *__wrap_ibv_reg_mr_iova(struct ibv_pd *pd, void *base, size_t bytes, uint64_t iova,
                                      int access)
{
    (void)pd, (void)base;
    return registered(bytes, iova, access);
}
struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *base, size_t bytes, uint64_t iova,
                                       unsigned int access);
struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *base, size_t bytes, uint64_t iova,
                                       unsigned int access)
{
    (void)pd, (void)base;
    return registered(bytes, iova, (int)access);
}
struct ibv_mr *__wrap_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t bytes,
                                        uint64_t iova, int fd, int access);
struct ibv_mr *__wrap_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t bytes,
                                        uint64_t iova, int fd, int access)
{
    (void)pd;
    assert_true(fcntl(fd, F_GETFD) >= 0);
    asked.offset = offset;
    asked.fd = fd;
    return registered(bytes, iova, access);
}
int __wrap_ibv_dereg_mr(struct ibv_mr *mr);
int __wrap_ibv_dereg_mr(struct ibv_mr *mr)
{
    asked.alive--;
    free(mr);
    return 0;
}

static int give_dmabuf(struct weft_device *context, void *base, size_t bytes, uint64_t *offset)
{
    (void)context, (void)bytes;
    *offset = (uintptr_t)base & 4095;
    return open("/dev/null", O_RDONLY);
}
static int give_none(struct weft_device *context, void *base, size_t bytes, uint64_t *offset)
{
    (void)context, (void)base, (void)bytes, (void)offset;
    return -1;
}

static const struct weft_verbs_device device = {.attr = {.max_mr_size = 1 << 20}, .name = "none:1"};
static struct weft_device_ops gpu;
static struct weft_arrive arrive;
static struct weft_verbs_memory memory;

static void begin(bool by_message)
{
    memset(&memory, 0, sizeof(memory));
    memset(&asked, 0, sizeof(asked));
    static const struct weft_arrive_device on_gpu = {.ops = &gpu};

    gpu = (struct weft_device_ops){0};
    weft_arrive_open(&arrive, "verbs", &(struct weft_net_open){.device = &on_gpu}, NULL, 1, NULL);
    memory.device = &device;
    memory.by_message = by_message;
    memory.arrive = &arrive;
}

/* The key alone tells where the device knows the memory, for any base, through all generations. */
static void keys(void **state)
{
    static unsigned char area[1 << 16];
    uint64_t before = 0;

    (void)state;
    begin(false);
    for (int i = 0; i < 3000; i++) {
        unsigned char *base = area + (i * 977) % 60000;
        uint64_t key, address;
        uint32_t lkey;
        assert_int_equal(weft_verbs_memory_add(&memory, base, 4000, false, &key), WEFT_OK);
        assert_true((key & WEFT_VERBS_BY_MESSAGE) == 0 && key != before);
        assert_int_equal(weft_verbs_key_rkey(key), RKEY);
        assert_int_equal(weft_verbs_key_base(key), asked.iova);
        assert_int_equal(asked.iova & 0x1fffff, (uintptr_t)base & 0x1fffff);
        assert_true((asked.access & IBV_ACCESS_REMOTE_WRITE) != 0);
        /* An old key means an address that the new memory does not have, offset included. */
        if (before != 0)
            assert_true(weft_verbs_key_base(before) >> 48 != weft_verbs_key_base(key) >> 48);
        assert_true(weft_verbs_memory_find(&memory, base + 100, 3900, &address, &lkey));
        assert_int_equal(address, asked.iova + 100);
        assert_int_equal(lkey, LKEY);
        assert_false(weft_verbs_memory_find(&memory, base + 100, 3901, &address, &lkey));
        assert_false(weft_verbs_memory_find(&memory, base - 1, 1, &address, &lkey));
        before = key;
        weft_verbs_memory_drop(&memory, key);
        assert_int_equal(asked.alive, 0);
        assert_false(weft_verbs_memory_find(&memory, base, 1, &address, &lkey));
    }
    weft_verbs_memory_free(&memory);
    weft_arrive_close(&arrive);
}

static bool lands(uint64_t key, uint64_t offset, const void *data, size_t bytes)
{
    return weft_arrive_deliver(&arrive, 1, weft_verbs_memory_region(&memory, key), offset, data,
                               bytes, 0) == WEFT_OK;
}

/* Messages land inside of the window that the key names, whichever way it is registered. */
static void landing(void **state)
{
    static unsigned char area[64];
    uint64_t direct, by_message;

    (void)state;
    begin(false);
    assert_int_equal(weft_verbs_memory_add(&memory, area, 32, false, &direct), WEFT_OK);
    asked.refuse = true;
    assert_int_equal(weft_verbs_memory_add(&memory, area, 32, false, &by_message), WEFT_OK);
    assert_true((by_message & WEFT_VERBS_BY_MESSAGE) != 0);
    assert_true(lands(direct, 24, "12345678", 8));
    assert_true(lands(by_message, 16, "abcdefgh", 8));
    assert_memory_equal(area + 16, "abcdefgh12345678", 16);
    assert_false(lands(direct, 25, "12345678", 8));
    assert_false(lands(by_message, UINT64_MAX - 3, "12345678", 8));
    assert_false(lands(direct ^ 1ull << 40, 0, "12345678", 8));
    weft_verbs_memory_drop(&memory, direct);
    assert_false(lands(direct, 0, "12345678", 8));
    weft_verbs_memory_free(&memory);
    weft_arrive_close(&arrive);
}

static void dmabufs(void **state)
{
    static unsigned char area[1 << 16];
    uint64_t key;

    (void)state;
    begin(true);
    memory.dmabuf = true;
    gpu.dmabuf = give_dmabuf;
    assert_int_equal(weft_verbs_memory_add(&memory, area + 1234, 4000, false, &key), WEFT_OK);
    assert_true((key & WEFT_VERBS_BY_MESSAGE) == 0 && memory.dmabufs == 1);
    assert_int_equal(asked.offset, (uintptr_t)(area + 1234) & 4095);
    assert_int_equal(asked.iova & 4095, asked.offset); /* a device asks that of pages */
    assert_int_equal(asked.bytes, 4000);
    assert_int_equal(fcntl(asked.fd, F_GETFD), -1); /* closed */
    weft_verbs_memory_drop(&memory, key);
    assert_int_equal(asked.alive, 0);

    asked.refuse = true; /* by the device: through host buffers, and a warning */
    assert_int_equal(weft_verbs_memory_add(&memory, area, 4000, false, &key), WEFT_OK);
    assert_true((key & WEFT_VERBS_BY_MESSAGE) != 0 && memory.dmabufs == 1);
    assert_int_equal(fcntl(asked.fd, F_GETFD), -1);
    gpu.dmabuf = give_none; /* by the driver */
    assert_int_equal(weft_verbs_memory_add(&memory, area, 4000, false, &key), WEFT_OK);
    assert_true((key & WEFT_VERBS_BY_MESSAGE) != 0);
    weft_verbs_memory_free(&memory);
    weft_arrive_close(&arrive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(landing),
        cmocka_unit_test(dmabufs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
