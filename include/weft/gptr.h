/*
 * weft/gptr.h - global pointers: 16 bytes that say where a byte of the job's global memory is, the
 * same in every process. Compiles alone, as C17, C++ and CUDA C.
 *
 * A place is a process with its device and its memory. A segment is memory that places have
 * allocated together, at most one part each. Segment 0 is the heap that each place has. A global
 * pointer is plain data: it may be copied, stored, put and sent. Only weft/pgas.h reaches what it
 * points to.
 */
#ifndef WEFT_GPTR_H
#define WEFT_GPTR_H

#include <weft/types.h>

#include <assert.h>

#ifdef __CUDACC__
#define WEFT_GPTR_FN static __host__ __device__ inline
#else
#define WEFT_GPTR_FN static inline
#endif

/* A global pointer. All zero: NULL. */
typedef struct weft_gptr {
    uint32_t where;      /* the place (lower 24 bits), and WEFT_GPTR_VALID */
    uint16_t segment;    /* number of the segment; 0: the place's heap */
    uint16_t generation; /* generation of the segment: a freed segment is recognised */
    uint64_t offset;     /* bytes from the start of the segment's part at that place */
} weft_gptr;
static_assert(sizeof(weft_gptr) == 16, "a global pointer has 16 bytes");

enum { WEFT_GPTR_PLACES = 1 << 24 };
#define WEFT_GPTR_VALID 0x01000000u /* no other of the upper 8 bits is set */

WEFT_GPTR_FN weft_gptr weft_gptr_make(int place, uint32_t segment, uint32_t generation,
                                      uint64_t offset)
{
    weft_gptr g;
    g.where = ((uint32_t)place & 0xffffffu) | WEFT_GPTR_VALID;
    g.segment = (uint16_t)segment;
    g.generation = (uint16_t)generation;
    g.offset = offset;
    return g;
}

WEFT_GPTR_FN weft_gptr weft_gptr_null(void)
{
    weft_gptr g;
    g.where = 0;
    g.segment = g.generation = 0;
    g.offset = 0;
    return g;
}

WEFT_GPTR_FN int weft_gptr_is_null(weft_gptr g)
{
    return g.where == 0;
}

WEFT_GPTR_FN int weft_gptr_place(weft_gptr g)
{
    return (int)(g.where & 0xffffffu);
}

WEFT_GPTR_FN int weft_gptr_equal(weft_gptr a, weft_gptr b)
{
    return a.where == b.where && a.segment == b.segment && a.generation == b.generation &&
           a.offset == b.offset;
}

/* Moves a pointer by so many bytes, forward or back, in the same part. */
WEFT_GPTR_FN weft_gptr weft_gptr_add(weft_gptr g, int64_t bytes)
{
    g.offset += (uint64_t)bytes;
    return g;
}

/* Gives the pointer to the same offset in another place's part. */
WEFT_GPTR_FN weft_gptr weft_gptr_at_place(weft_gptr g, int place)
{
    g.where = ((uint32_t)place & 0xffffffu) | (g.where & 0xff000000u);
    return g;
}

#endif
