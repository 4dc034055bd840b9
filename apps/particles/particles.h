/*
 * particles/particles.h - the law, and where a process keeps its particles. For the host programs,
 * weft's kernel and the two-model kernels alike.
 *
 * Soft spheres of mass 1 in a box that repeats in both directions: two particles at a distance r
 * below the cutoff, which is 1, push each other apart with the force S (1 - r) along the line
 * between them. In each step, of length T, first v += T F, then x += T v.
 *
 * The box is cut into rows of height 1, one above the other, and each of these into square cells:
 * what acts on a particle lies in the nine cells around it. A segment is a run of cells, row after
 * row, of any length: what a rank owns, or in the two-model form one row. It keeps its particles
 * in one array, sorted by cell, so that three cells in a row are one range of it. Segments hold
 * what happens to be in them, up to a capacity.
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

/* A particle on its way to another segment. */
struct PARTICLES_WIDE particle {
    double x, y, vx, vy;
    uint32_t id;
    uint32_t cell, slot; /* there: its cell, and its number among those that go to the cell */
    uint32_t unused;
};

/* Particles that leave a segment or a process in a step, in one direction. */
struct particle_list {
    uint32_t count, unused[3];
    struct particle item[];
};

/*
 * The box, and a process's part of it: rows first .. first + rows - 1 of `all`. Cells of the part
 * have numbers from 0; those of the rows below and above it, the halos, go on in both directions.
 */
struct particles_box {
    uint32_t width; /* cells of a row */
    uint32_t rows, first, all;
    uint32_t segments, each, more; /* cells of a segment; the first `more` have `grain` more */
    uint32_t grain, less;          /* the first and the last have `less` fewer */
    uint32_t capacity;             /* particles of a segment, at most */
    uint32_t row_capacity;         /* of a row */
    uint32_t list_capacity;        /* of a list */
    uint32_t boundaries;           /* between segments of this process, and to the next processes */
};

/*
 * Offsets into a process's arena, the same on all. A segment's block is what its neighbours read:
 * where its cells begin, and the positions. A halo is the same for one row of the next process,
 * whose numbers may begin anywhere. The rest has an entry for each particle of a segment.
 */
struct particles_layout {
    size_t halos, halo_bytes, halo_positions; /* below and above; positions: in a halo */
    size_t block, block_bytes, positions;     /* positions: from the beginning of a block */
    size_t lists, list_bytes; /* up and down for each boundary, one after the other */
    size_t velocity, id;      /* from here on: nobody else's business */
    size_t moved_position, moved_velocity, moved_id, moved_slot; /* between the parts of a step */
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

/* Of where cells begin: one number more than there are cells. */
PARTICLES_FN size_t particles_start_bytes(uint32_t cells)
{
    return ((size_t)cells + 1 + 15) / 16 * 16 * sizeof(uint32_t);
}

/* Entries of an array of positions: a few are looked at behind the last one. */
PARTICLES_FN size_t particles_room(uint32_t capacity)
{
    return ((size_t)capacity + 4) / 4 * 4;
}

PARTICLES_FN size_t particles_position_bytes(uint32_t capacity)
{
    return particles_room(capacity) * sizeof(struct point);
}

/* Of a segment of so many cells that is kept whole in memory that threads share (held.h). */
PARTICLES_FN size_t particles_held_bytes(const struct particles_box *box, uint32_t cells)
{
    const size_t each = 3 * sizeof(struct point) + 2 * sizeof(uint32_t);
    return particles_room(box->capacity) * each + ((size_t)cells + 1) * sizeof(uint32_t);
}

PARTICLES_FN uint32_t particles_cells(const struct particles_box *box) /* of the part */
{
    return box->width * box->rows;
}

/* The first cell of a segment; of the one after the last: where the part ends. */
PARTICLES_FN uint32_t particles_first(const struct particles_box *box, uint32_t segment)
{
    const uint32_t less = segment == 0 ? 0 : segment < box->segments ? box->less : 2 * box->less;
    return segment * box->each + (segment < box->more ? segment : box->more) * box->grain - less;
}

/* Cells of a segment, at most. */
PARTICLES_FN uint32_t particles_most_cells(const struct particles_box *box)
{
    return box->each + (box->more > 0 ? box->grain : 0);
}

PARTICLES_FN struct particles_layout particles_layout_of(const struct particles_box *box)
{
    const size_t all = (size_t)box->segments * box->capacity;
    struct particles_layout layout = {0};
    layout.halo_positions = particles_start_bytes(box->width);
    layout.halo_bytes = layout.halo_positions + particles_position_bytes(box->row_capacity);
    layout.positions = particles_start_bytes(particles_most_cells(box));
    layout.block_bytes = layout.positions + particles_position_bytes(box->capacity);
    layout.list_bytes = sizeof(struct particle_list) + box->list_capacity * sizeof(struct particle);
    layout.halos = particles_reserve(&layout, 2 * layout.halo_bytes);
    layout.block = particles_reserve(&layout, box->segments * layout.block_bytes);
    layout.lists = particles_reserve(&layout, 2 * (size_t)box->boundaries * layout.list_bytes);
    layout.velocity = particles_reserve(&layout, all * sizeof(struct point));
    layout.id = particles_reserve(&layout, all * sizeof(uint32_t));
    layout.moved_position = particles_reserve(&layout, all * sizeof(struct point));
    layout.moved_velocity = particles_reserve(&layout, all * sizeof(struct point));
    layout.moved_id = particles_reserve(&layout, all * sizeof(uint32_t));
    layout.moved_slot = particles_reserve(&layout, all * sizeof(uint32_t));
    layout.count = particles_reserve(&layout, particles_cells(box) * sizeof(uint32_t));
    layout.moved_count = particles_reserve(&layout, box->segments * sizeof(uint32_t));
    return layout;
}

/* A process's particles, as kernels see them. */
struct particles_store {
    struct particles_box box;
    struct particles_layout layout;
    char *arena;
    uint32_t *count;               /* of each cell, for the next step; zero between steps */
    uint32_t counted, counted_end; /* cells from the first of these on: who leaves them, leaves */
    uint32_t *failure; /* 1: more particles than a segment or a list holds; 2: one was too fast */
};

enum { PARTICLES_FULL = 1, PARTICLES_FAST = 2 };

PARTICLES_FN size_t particles_block_offset(const struct particles_store *store, uint32_t segment)
{
    return store->layout.block + segment * store->layout.block_bytes;
}

/* Where the cells of a segment begin in its array; after the last cell: its count. */
PARTICLES_FN uint32_t *particles_start(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + particles_block_offset(store, segment));
}

PARTICLES_FN struct point *particles_position(const struct particles_store *store, uint32_t segment)
{
    return (struct point *)((char *)particles_start(store, segment) + store->layout.positions);
}

/* side: 0 below, 1 above. The same of a halo, but that the first number need not be 0. */
PARTICLES_FN size_t particles_halo_offset(const struct particles_store *store, uint32_t side)
{
    return store->layout.halos + side * store->layout.halo_bytes;
}

PARTICLES_FN uint32_t *particles_halo_start(const struct particles_store *store, uint32_t side)
{
    return (uint32_t *)(store->arena + particles_halo_offset(store, side));
}

PARTICLES_FN struct point *particles_halo_position(const struct particles_store *store,
                                                   uint32_t side)
{
    return (struct point *)((char *)particles_halo_start(store, side) +
                            store->layout.halo_positions);
}

PARTICLES_FN uint32_t particles_count(const struct particles_store *store, uint32_t segment)
{
    const uint32_t cells =
        particles_first(&store->box, segment + 1) - particles_first(&store->box, segment);
    return particles_start(store, segment)[cells];
}

/* Where in the arrays of all segments that of one begins. */
PARTICLES_FN size_t particles_begin(const struct particles_store *store, uint32_t segment)
{
    return (size_t)segment * store->box.capacity;
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

PARTICLES_FN uint32_t *particles_moved_id(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + store->layout.moved_id) + particles_begin(store, segment);
}

PARTICLES_FN uint32_t *particles_moved_slot(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + store->layout.moved_slot) + particles_begin(store, segment);
}

PARTICLES_FN uint32_t *particles_moved_count(const struct particles_store *store, uint32_t segment)
{
    return (uint32_t *)(store->arena + store->layout.moved_count) + segment;
}

PARTICLES_FN uint32_t *particles_cell_count(const struct particles_store *store, uint32_t cell)
{
    return store->count + (cell - store->counted);
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

/* Where in its row, and in which of all rows, a particle is. */
PARTICLES_FN uint32_t particles_column(const struct particles_box *box, double x)
{
    const uint32_t column = (uint32_t)x;
    return column < box->width ? column : box->width - 1; /* x is the width after rounding */
}

PARTICLES_FN uint32_t particles_row(const struct particles_box *box, double y)
{
    const uint32_t row = (uint32_t)y;
    return row < box->all ? row : box->all - 1;
}

/* The cell of a particle of the part. */
PARTICLES_FN uint32_t particles_cell(const struct particles_box *box, struct point at)
{
    return (particles_row(box, at.y) - box->first) * box->width + particles_column(box, at.x);
}

#endif
