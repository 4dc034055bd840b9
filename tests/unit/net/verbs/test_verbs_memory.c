/*
 * net/verbs/memory.h: what a place says, that an old one never fits newer
 * memory, and how memory of a GPU is handed to the device by dma-buf. The
 * real code, over functions that stand for the driver's (--wrap).
 */
#include "net/verbs/state.h"

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

static bool never(void *context, void *target, const void *source, size_t bytes)
{
    (void)context, (void)target, (void)source, (void)bytes;
    return false;
}

static struct weft_device_ops gpu;
static struct weft_transport t;

static void begin(bool elsewhere)
{
    static struct weft_net_device on_gpu = {.ops = &gpu};

    memset(&t, 0, sizeof(t));
    memset(&asked, 0, sizeof(asked));
    gpu = (struct weft_device_ops){0};
    on_gpu.deliver = elsewhere ? never : NULL;
    t.open.device = &on_gpu;
    t.device = (struct weft_verbs_device){.attr = {.max_mr_size = 1 << 20}, .name = "none:1"};
}

/* The place alone tells where the device knows the memory, for any base, through all generations.
 */
static void places(void **state)
{
    static unsigned char area[1 << 16];
    uint64_t before = 0;

    (void)state;
    begin(false);
    for (int i = 0; i < 3000; i++) {
        unsigned char *base = area + (i * 977) % 60000;
        const struct weft_verbs_region *region;
        uint64_t place[2];
        void *mr;
        assert_int_equal(weft_verbs_reg(&t, base, 4000, place, &mr), WEFT_OK);
        assert_non_null(mr);
        assert_true(place[0] >> 63 == 0 && place[0] != before);
        assert_int_equal(weft_verbs_place_rkey(place[0]), RKEY);
        assert_int_equal(weft_verbs_place_base(place[0]), asked.iova);
        assert_int_equal(asked.iova & 0x1fffff, (uintptr_t)base & 0x1fffff);
        assert_true((asked.access & IBV_ACCESS_REMOTE_WRITE) != 0);
        /* An old place means an address that the new memory does not have, offset included. */
        if (before != 0)
            assert_true(weft_verbs_place_base(before) >> 48 !=
                        weft_verbs_place_base(place[0]) >> 48);
        region = mr;
        assert_int_equal(region->base, (uintptr_t)base);
        assert_int_equal(region->address, asked.iova);
        assert_int_equal(region->mr->lkey, LKEY);
        before = place[0];
        weft_verbs_dereg(&t, mr);
        assert_int_equal(asked.alive, 0);
    }
}

/* What the device cannot map has no place; nor has nothing. */
static void without_place(void **state)
{
    static unsigned char area[64];
    uint64_t place[2];
    void *mr;

    (void)state;
    begin(false);
    assert_int_equal(weft_verbs_reg(&t, area, 0, place, &mr), WEFT_OK);
    assert_true(place[0] == 0 && mr == NULL);
    asked.refuse = true;
    assert_int_equal(weft_verbs_reg(&t, area, 32, place, &mr), WEFT_OK);
    assert_true(place[0] == 0 && mr == NULL);
}

static void dmabufs(void **state)
{
    static unsigned char area[1 << 16];
    uint64_t place[2];
    void *mr;

    (void)state;
    begin(true);
    t.dmabuf = true;
    gpu.dmabuf = give_dmabuf;
    assert_int_equal(weft_verbs_reg(&t, area + 1234, 4000, place, &mr), WEFT_OK);
    assert_true(place[0] != 0 && mr != NULL);
    assert_int_equal(asked.offset, (uintptr_t)(area + 1234) & 4095);
    assert_int_equal(asked.iova & 4095, asked.offset); /* a device asks that of pages */
    assert_int_equal(asked.bytes, 4000);
    assert_int_equal(fcntl(asked.fd, F_GETFD), -1); /* closed */
    weft_verbs_dereg(&t, mr);
    assert_int_equal(asked.alive, 0);

    asked.refuse = true; /* by the device: through host buffers, and a warning */
    assert_int_equal(weft_verbs_reg(&t, area, 4000, place, &mr), WEFT_OK);
    assert_true(place[0] == 0 && mr == NULL);
    assert_int_equal(fcntl(asked.fd, F_GETFD), -1);
    gpu.dmabuf = give_none; /* by the driver */
    assert_int_equal(weft_verbs_reg(&t, area, 4000, place, &mr), WEFT_OK);
    assert_true(place[0] == 0 && mr == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(without_place),
        cmocka_unit_test(dmabufs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
