/* GASPI_GPU_table.h - what gaspi_gpu_table makes and gpu_gaspi_* read, in device memory. */
#ifndef GASPI_GPU_TABLE_H
#define GASPI_GPU_TABLE_H

#include <weft/types.h>

/* A segment of a rank of GASPI, as ranks of weft reach it. */
struct gpu_gaspi_place {
    uint64_t bytes;  /* 0: there is none */
    uint64_t offset; /* of its data in the window */
    weft_win head, data;
};

/* Values of notifications that a block has under way, and the puts that read them. */
enum { GPU_GASPI_VALUES = 16 };
struct gpu_gaspi_outbox {
    uint64_t sent;
    weft_op op[GPU_GASPI_VALUES];
    uint32_t value[GPU_GASPI_VALUES];
};

struct gpu_gaspi_table {
    int32_t rank, ranks, segments, blocks;
    int32_t tag;                       /* counted with notifications: host programs wait for it */
    uint32_t notification_num;         /* of a segment */
    struct gpu_gaspi_place *places;    /* by rank and segment */
    unsigned char **data;              /* of this process's segments */
    uint32_t **notifications;          /* the same */
    weft_op *newest;                   /* by block, rank, and write or read */
    struct gpu_gaspi_outbox *outboxes; /* by block */
};

#endif
