/*
 * particles/particles.h - the law, and where a process keeps its particles. For the host programs,
 * weft's kernel and the two-model kernels alike.
 *
 * Soft spheres of mass 1 in a box that repeats in both directions: two particles at a distance r
 * below the cutoff, which is 1, push each other apart with the force S (1 - r) along the line
 * between them. In each step, of length T, first v += T F, then x += T v.
 *
 * The box is cut into segments of height 1, one above the other, and each of these into square
 * cells: what acts on a particle lies in the nine cells around it. A segment keeps its particles
 * sorted by cell, so that three cells in a row are one range of its array. Segments hold what
 * happens to be in them, up to a capacity.
 */
#ifndef PARTICLES_H
#define PARTICLES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PARTICLES_FN static __host__ __device__ inline
#else
#define PARTICLES_FN static inline
#endif

#define PARTICLES_STIFFNESS 10.0 /* S */
#define PARTICLES_STEP      0.01 /* T */

#define PARTICLES_WIDE __attribute__((aligned(16))) /* one load or store of 16 bytes on a GPU */

struct PARTICLES_WIDE point {
    double x, y;
};

/* A particle on its way to another rank or process. */
struct PARTICLES_WIDE particle {
    double x, y, vx, vy;
    uint32_t id;
    uint32_t cell, slot; /* there: its cell, and its number among those that go to the cell */
    uint32_t unused;
};

/* One that has moved within a segment, or out of it (step.h), but for where it is. */
struct __attribute__((aligned(8))) particle_mark {
    uint32_t id, goes;
};

/* Particles that leave a rank or a process in a step, in one direction. */
struct particle_list {
    uint32_t count, unused[3];
    struct particle item[];
};

/* The box, and a process's part of it: segments first .. first + segments - 1 of `all`. */
struct particles_box {
    uint32_t cells; /* of a segment: the width of the box */
    uint32_t segments, first, all;
    uint32_t capacity;      /* particles of a segment, at most */
    uint32_t list_capacity; /* of a list */
    uint32_t boundaries;    /* between ranks of this process, and to the next processes */
};

/*
 * Offsets into a process's arena, the same on all. A segment's block is what its neighbours read:
 * where its cells begin, and the positions. Blocks 0 and segments + 1 are halos: copies of segments
 * of the next processes. The rest has an entry for each particle of segments 1, 2, ...
 */
struct particles_layout {
    size_t block, block_bytes, positions; /* positions: from the beginning of a block */
    size_t lists, list_bytes;             /* up and down for each boundary, one after the other */
    size_t velocity, id;                  /* from here on: nobody else's business */
    size_t moved_position, moved_velocity, moved_mark; /* between the parts of a step */
    size_t count;       /* of each cell, for the next step; zero between steps */
    size_t moved_count; /* of each segment: how many have moved */
    size_t bytes;
};

PARTICLES_FN size_t particles_reserve(struct particles_layout *layout, size_t bytes)
{
    const size_t offset = layout->bytes;
    layout->bytes += (bytes + 63) / 64 * 64;
    return offset;
}

PARTICLES_FN struct particles_layout particles_layout_of(const struct particles_box *box)
{
    const size_t all = (size_t)box->segments * box->capacity;
    struct particles_layout layout = {0};
    layout.positions = ((size_t)box->cells + 1 + 15) / 16 * 16 * sizeof(uint32_t);
    layout.block_bytes = layout.positions + (box->capacity + 3) / 4 * 4 * sizeof(struct point);
    layout.list_bytes = sizeof(struct particle_list) + box->list_capacity * sizeof(struct particle);
    layout.block = particles_reserve(&layout, (box->segments + 2) * layout.block_bytes);
    layout.lists = particles_reserve(&layout, 2 * (size_t)box->boundaries * layout.list_bytes);
    layout.velocity = particles_reserve(&layout, all * sizeof(struct point));
    layout.id = particles_reserve(&layout, all * sizeof(uint32_t));
    layout.moved_position = particles_reserve(&layout, all * sizeof(struct point));
    layout.moved_velocity = particles_reserve(&layout, all * sizeof(struct point));
    layout.moved_mark = particles_reserve(&layout, all * sizeof(struct particle_mark));
    layout.count =
        particles_reserve(&layout, (size_t)box->segments * box->cells * sizeof(uint32_t));
    layout.moved_count = particles_reserve(&layout, box->segments * sizeof(uint32_t));
    return layout;
}

/* A process's particles, as kernels see them. */
struct particles_store {
    struct particles_box box;
    struct particles_layout layout;
    char *arena;
    uint32_t *count;   /* of each cell, for the next step; zero between steps */
    uint32_t counted;  /* the segment whose counts are the first of these */
    uint32_t *failure; /* 1: more particles than a segment or a list holds; 2: one was too fast */
};

enum { PARTICLES_FULL = 1, PARTICLES_FAST = 2 };

/* segment: of this process, from 1; for blocks also 0 and segments + 1. */
PARTICLES_FN char *particles_block(const struct particles_store *store, uint32_t segment)
{
    return store->arena + store->layout.block + segment * store->layout.block_bytes;
}

/* Where the cells of a segment begin in its array: cells + 1 numbers, the last one is its count. */
PARTICLES_FN uint32_t *particles_start(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)particles_block(store, segment);
}

PARTICLES_FN struct point *particles_position(const struct particles_store *store, uint32_t segment)
{
    return (struct point *)(particles_block(store, segment) + store->layout.positions);
}

PARTICLES_FN uint32_t particles_count(const struct particles_store *store, uint32_t segment)
{
    return particles_start(store, segment)[store->box.cells];
}

/* The bytes of a block that are in use. */
PARTICLES_FN size_t particles_block_used(const struct particles_store *store, uint32_t segment)
{
    return store->layout.positions + particles_count(store, segment) * sizeof(struct point);
}

/* Where in the arrays of all segments that of one begins. */
PARTICLES_FN size_t particles_begin(const struct particles_store *store, uint32_t segment)
{
    return (size_t)(segment - 1) * store->box.capacity;
}

PARTICLES_FN struct point *particles_velocity(const struct particles_store *store, uint32_t segment)
{
    return (struct point *)(store->arena + store->layout.velocity) +
           particles_begin(store, segment);
}

PARTICLES_FN uint32_t *particles_id(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + store->layout.id) + particles_begin(store, segment);
}

PARTICLES_FN struct point *particles_moved_position(const struct particles_store *store,
                                                    uint32_t segment)
{
    return (struct point *)(store->arena + store->layout.moved_position) +
           particles_begin(store, segment);
}

PARTICLES_FN struct point *particles_moved_velocity(const struct particles_store *store,
                                                    uint32_t segment)
{
    return (struct point *)(store->arena + store->layout.moved_velocity) +
           particles_begin(store, segment);
}

PARTICLES_FN struct particle_mark *particles_moved_mark(const struct particles_store *store,
                                                        uint32_t segment)
{
    return (struct particle_mark *)(store->arena + store->layout.moved_mark) +
           particles_begin(store, segment);
}

PARTICLES_FN uint32_t *particles_cell_count(const struct particles_store *store, uint32_t segment)
{
    return store->count + (size_t)(segment - store->counted) * store->box.cells;
}

PARTICLES_FN uint32_t *particles_moved_count(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + store->layout.moved_count) + (segment - 1);
}

/* direction: 0 up, 1 down. */
PARTICLES_FN size_t particles_list_offset(const struct particles_store *store, uint32_t boundary,
                                          uint32_t direction)
{
    return store->layout.lists + (2 * (size_t)boundary + direction) * store->layout.list_bytes;
}

PARTICLES_FN struct particle_list *particles_list(const struct particles_store *store,
                                                  uint32_t boundary, uint32_t direction)
{
    return (struct particle_list *)(store->arena +
                                    particles_list_offset(store, boundary, direction));
}

PARTICLES_FN uint32_t particles_cell_of(const struct particles_box *box, double x)
{
    const uint32_t cell = (uint32_t)x;
    return cell < box->cells ? cell : box->cells - 1; /* x is the width after rounding */
}

#endif
