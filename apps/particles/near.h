/*
 * particles/near.h - the force on a particle, in both models' kernels. Its cell is known, and so
 * three ranges of cells that hold all that can push it: in its row and in those below and above.
 */
#ifndef PARTICLES_NEAR_H
#define PARTICLES_NEAR_H

#include "particles.h"

#ifdef __CUDACC__
#define STEP_FN     static __device__ inline
#define STEP_ROLLED _Pragma("unroll 1")
#define STEP_UNROLL _Pragma("unroll")
enum { STEP_AT_ONCE = 4 };
/* Where a pointer points, which nvcc does not know. */
#define STEP_GLOBAL(pointer) __builtin_assume(__isGlobal(pointer))
#define STEP_SHARED(pointer) __builtin_assume(__isShared(pointer))
STEP_FN uint32_t step_lowest(uint32_t bits) /* the number of the lowest bit that is 1 */
{
    return (uint32_t)__ffs((int)bits) - 1;
}
/* 1 / sqrt(x) to the last bit or two: the GPU's 20 bits, refined once. No x is special. */
STEP_FN double step_inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double error = fma(x, -(y * y), 1.0);
    return fma(fma(0.375, error, 0.5), y * error, y);
}
#else
#define STEP_FN static inline
#define STEP_ROLLED
#define STEP_UNROLL
enum { STEP_AT_ONCE = 1 };
#define STEP_GLOBAL(pointer) (void)(pointer)
#define STEP_SHARED(pointer) (void)(pointer)
STEP_FN uint32_t step_lowest(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}
STEP_FN double step_inverse_root(double x)
{
    return 1 / sqrt(x);
}
#endif

#ifndef STEP_HELD
#define STEP_HELD false /* whether a segment may be in shared memory */
#endif
#ifndef STEP_ROWS
#define STEP_ROWS false /* whether every segment is a row, as in the two-model form */
#endif

/* ---- what is where ------------------------------------------------------------------------- */

/* A segment or halo, as seen from a segment beside it: cells first .. end - 1. */
struct step_piece {
    const uint32_t *start; /* of the first cell, and so on */
    const struct point *position;
    int first, end;
    double off; /* its y are so much more than they are seen as: the box repeats */
};

/* A segment and what lies below and above. */
enum step_pieces { STEP_BELOW, STEP_OWN, STEP_ABOVE, STEP_PIECES };

struct step_view {
    struct step_piece piece[STEP_PIECES];
    int width;
    bool held; /* its own are in shared memory */
};

STEP_FN struct step_piece step_segment(const struct particles_store *store, uint32_t segment)
{
    struct step_piece piece;
    piece.start = particles_start(store, segment);
    piece.position = particles_position(store, segment);
    piece.first = (int)particles_first(&store->box, segment);
    piece.end = (int)particles_first(&store->box, segment + 1);
    piece.off = 0;
    return piece;
}

STEP_FN struct step_piece step_halo(const struct particles_store *store, uint32_t side)
{
    const struct particles_box *box = &store->box;
    struct step_piece piece;
    piece.start = particles_halo_start(store, side);
    /* Its numbers may begin anywhere; a pointer before the array would not be one. */
    piece.position = (const struct point *)((uintptr_t)particles_halo_position(store, side) -
                                            piece.start[0] * sizeof(struct point));
    piece.first = side == 0 ? -(int)box->width : (int)particles_cells(box);
    piece.end = piece.first + (int)box->width;
    piece.off = 0;
    if (side == 0 && box->first == 0)
        piece.off = box->all;
    if (side == 1 && box->first + box->rows == box->all)
        piece.off = -(double)box->all;
    return piece;
}

/* When the halos have come: where their numbers begin is different each time. */
STEP_FN struct step_view step_view_of(const struct particles_store *store, uint32_t segment)
{
    struct step_view view;
    view.piece[STEP_BELOW] = segment == 0 ? step_halo(store, 0) : step_segment(store, segment - 1);
    view.piece[STEP_OWN] = step_segment(store, segment);
    view.piece[STEP_ABOVE] =
        segment + 1 == store->box.segments ? step_halo(store, 1) : step_segment(store, segment + 1);
    view.width = (int)store->box.width;
    view.held = false;
    return view;
}

STEP_FN uint32_t step_piece_of(const struct step_view *view, int cell)
{
    const struct step_piece *own = &view->piece[STEP_OWN];
    return cell < own->first ? STEP_BELOW : cell < own->end ? STEP_OWN : STEP_ABOVE;
}

/* ---- the force ------------------------------------------------------------------------------- */

/* So small that it changes no distance, and large enough to divide by that of a particle to itself,
 * whose push is then 0. */
#define STEP_TINY 1e-300

STEP_FN double step_square(struct point a, struct point b)
{
    const double dx = a.x - b.x, dy = a.y - b.y;
    return dx * dx + (dy * dy + STEP_TINY);
}

/*
 * Which of 32 particles at most are within reach: bit i for other[i]. On a GPU several are looked
 * at together, and so a few behind the last, which are in memory still and do not count.
 */
STEP_FN uint32_t step_near(const struct point *other, uint32_t count, struct point at)
{
    uint32_t near = 0;
    STEP_ROLLED
    for (uint32_t i = 0; i < count; i += STEP_AT_ONCE) {
        struct point there[STEP_AT_ONCE];
        uint32_t some = 0;
        for (uint32_t k = 0; k < STEP_AT_ONCE; k++)
            there[k] = other[i + k];
        for (uint32_t k = 0; k < STEP_AT_ONCE; k++)
            some |= step_square(at, there[k]) < 1 ? 1u << k : 0;
        near |= some << i;
    }
    return count < 32 ? near & ((1u << count) - 1) : near;
}

/* Adds the push of one that is within reach. */
STEP_FN struct point step_push(struct point other, struct point at, struct point force)
{
    const double factor = step_inverse_root(step_square(at, other)) - 1;
    force.x += factor * (at.x - other.x);
    force.y += factor * (at.y - other.y);
    return force;
}

/*
 * Adds the push of particles first .. end - 1 of an array. First those are found that push: a third
 * of them, each of which costs more than to look at all others.
 */
STEP_FN struct point step_push_range(const struct point *other, uint32_t first, uint32_t end,
                                     struct point at, struct point force)
{
    for (; first < end; first += 32) {
        uint32_t near = step_near(other + first, end - first < 32 ? end - first : 32, at);
        for (; near != 0; near &= near - 1)
            force = step_push(other[first + step_lowest(near)], at, force);
    }
    return force;
}

/* Where in a piece's array a cell begins. */
STEP_FN uint32_t step_begin(const struct step_view *view, uint32_t number, int cell)
{
    const struct step_piece *piece = &view->piece[number];
    const uint32_t *start = piece->start;
    if (!STEP_HELD || !view->held || number != STEP_OWN)
        STEP_GLOBAL(start);
    return start[cell - piece->first];
}

/* The same of all that are in a piece's array from `first` on. */
STEP_FN struct point step_push_piece(const struct step_view *view, uint32_t number, uint32_t first,
                                     uint32_t end, struct point at, struct point force)
{
    const struct step_piece *piece = &view->piece[number];
    const struct point *position = piece->position;
    at.y += piece->off;
    if (STEP_HELD && view->held && number == STEP_OWN) {
        STEP_SHARED(position);
        return step_push_range(position, first, end, at, force);
    }
    STEP_GLOBAL(position);
    return step_push_range(position, first, end, at, force);
}

/* The same of cells low .. end - 1 of a row, -1, 0 or 1: of one piece or of two. */
STEP_FN struct point step_push_cells(const struct step_view *view, int row, int low, int end,
                                     struct point at, struct point force)
{
    low += row * view->width;
    end += row * view->width;
    STEP_ROLLED
    while (low < end) {
        const uint32_t number = STEP_ROWS ? (uint32_t)(STEP_OWN + row) : step_piece_of(view, low);
        const int most = view->piece[number].end;
        const int stop = STEP_ROWS || end < most ? end : most;
        force = step_push_piece(view, number, step_begin(view, number, low),
                                step_begin(view, number, stop), at, force);
        low = stop;
    }
    return force;
}

/* Where a particle is: its cell and the ends of the range in its row that can push it. */
struct step_place {
    struct point at;
    int column, cell, low, end;
};

STEP_FN struct step_place step_place_of(const struct particles_box *box, struct point at)
{
    struct step_place place;
    place.at = at;
    place.column = (int)particles_column(box, at.x);
    place.cell = (int)particles_cell(box, at);
    place.low = place.cell - (place.column > 0 ? 1 : 0);
    place.end = place.cell + 1 + (place.column + 1 < (int)box->width ? 1 : 0);
    return place;
}

/* The push of the cells at the other side of the box, which repeats. */
STEP_FN struct point step_across(const struct step_view *view, const struct step_place *place,
                                 struct point force)
{
    const int last = view->width - 1;
    const int other = place->cell + (place->column == 0 ? last : -last);
    const double width = place->column == 0 ? view->width : -(double)view->width;
    const struct point at = {place->at.x + width, place->at.y};
    for (int row = -1; row <= 1; row++)
        force = step_push_cells(view, row, other, other + 1, at, force);
    return force;
}

/* The push of all others. */
STEP_FN struct point step_around(const struct step_view *view, const struct step_place *place)
{
    struct point force = {0, 0};
    STEP_ROLLED
    for (int row = -1; row <= 1; row++)
        force = step_push_cells(view, row, place->low, place->end, place->at, force);
    return force;
}

/* The force on a particle, times 1 / S. */
STEP_FN struct point step_force(const struct step_view *view, const struct step_place *place)
{
    struct point force = step_around(view, place);
    if (place->column == 0 || place->column == view->width - 1)
        force = step_across(view, place, force);
    return force;
}

#endif
