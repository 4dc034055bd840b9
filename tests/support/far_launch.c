/*
 * support/far_launch.c - kernels of the library's on a far device (far_device.h): left.cu, and
 * those of ccl/kernels.cu, played by threads of the host. A launch returns when it is done, which a
 * GPU's does not; the program waits then as it would for its stream.
 */
#include "runtime/space/left.h"
#include "support/ccl_block.h"
#include "support/far_device.h"

#include <stdlib.h>
#include <string.h>

struct launch {
    const struct weft_ccl_launch *argument;
    const char *name;
    int blocks;
    uint32_t movers;
    struct block block; /* threads of a block; blocks run one after the other, as at all members */
};

struct actor {
    struct launch *launch;
    uint32_t thread;
};

static void run_block(const struct launch *launch, uint32_t column)
{
    const struct weft_ccl_launch *const all = launch->argument;
    const bool few = strstr(launch->name, "words") != NULL;
    struct weft_ccl_call call = all->call;

    weft_ccl_cut(&call, all->each, column);
    if (all->call.what >= WEFT_CCL_ALLTOALL_SIZES)
        weft_ccl_run_more(NULL, all, column, (uint32_t)launch->blocks, launch->movers,
                          all->call.what);
    else
        weft_ccl_run(NULL, &all->view, column, &call, launch->movers, WEFT_CCL_MEMBERS, few);
}

static void *act(void *argument)
{
    const struct actor *const actor = argument;

    my_block = &actor->launch->block;
    my_thread = actor->thread;
    for (int i = 0; i < actor->launch->blocks; i++) {
        run_block(actor->launch, (uint32_t)i);
        weft_column_all(true); /* the next block may meet by the same barrier */
        memset(my_block->bad, 0, sizeof(my_block->bad));
        weft_column_all(true);
    }
    return NULL;
}

weft_status far_load(struct weft_device *device, struct weft_device_code *code)
{
    (void)device;
    code->module = code;
    return WEFT_OK;
}

void far_unload(struct weft_device *device, struct weft_device_code *code)
{
    (void)device;
    code->module = NULL;
}

weft_status far_launch(struct weft_device *device, const struct weft_device_code *code, int kernel,
                       void *argument, int blocks, int threads, void *stream)
{
    if (strcmp(code->name[kernel], "weft_left") == 0) {
        for (int i = 0; i < blocks * threads; i++)
            weft_left_at(argument, (uint32_t)i);
        return WEFT_OK;
    }
    struct launch launch = {.argument = argument,
                            .name = code->name[kernel],
                            .blocks = blocks,
                            .movers = threads - 32 < BLOCK_MOVERS ? (uint32_t)(threads - 32)
                                                                  : (uint32_t)BLOCK_MOVERS};
    struct weft_moe_own *const moe = &((struct weft_ccl_launch *)argument)->more.moe;
    struct actor actors[BLOCK_THREADS];
    pthread_t started[BLOCK_THREADS];

    (void)device, (void)stream;
    if (strstr(launch.name, "dispatch") != NULL) /* as shared memory */
        moe->moe.counts = calloc((size_t)blocks, sizeof(*moe->moe.counts));
    pthread_barrier_init(&launch.block.barrier, NULL, BLOCK_THREADS);
    for (uint32_t i = 0; i < BLOCK_THREADS; i++) {
        actors[i] = (struct actor){&launch, i};
        if (pthread_create(&started[i], NULL, act, &actors[i]) != 0)
            return WEFT_ERR_SYSTEM;
    }
    for (uint32_t i = 0; i < BLOCK_THREADS; i++)
        pthread_join(started[i], NULL);
    pthread_barrier_destroy(&launch.block.barrier);
    if (strstr(launch.name, "dispatch") != NULL)
        free(moe->moe.counts);
    return WEFT_OK;
}
