/*
 * device/cpu/random/cells.h - what the model knows about memory, in cells of 8 bytes: the clocks of
 * atomic words, and who accessed each byte last, for the race check (after FastTrack).
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_CELLS_H
#define WEFT_DEVICE_CPU_RANDOM_CELLS_H

#include "device/cpu/random/clock.h"

enum { WEFT_CELL_WRITES = 8, WEFT_CELL_READS = 8 };

/* An access by a task, at its stamp, to the bytes of a cell whose bits are set. */
struct weft_access {
    uint32_t stamp;
    uint16_t task;
    uint8_t bytes;
};

struct weft_cell {
    uint64_t key;               /* address / 8; 0: unused */
    struct weft_clock *word[2]; /* of the value in each half; a word of 8 bytes has it in both */
    uint8_t writes, reads, evict;
    struct weft_access write[WEFT_CELL_WRITES]; /* exact: no two have a byte in common */
    struct weft_access read[WEFT_CELL_READS];   /* the latest few */
};

/* A hash table that grows; cells move when one is added. */
struct weft_cells {
    struct weft_cell *cell;
    uint64_t size, used; /* size: a power of two, or 0 */
};

void weft_cells_free(struct weft_cells *cells);

/* Set the clock of the value that a word of 4 or 8 bytes holds, join more into it, or join it into
 * stamps. True: any of these rose. *own is raised to the clock's stamp of task `self`. */
void weft_cells_set(struct weft_cells *cells, const void *word, int size, struct weft_clock *clock);
void weft_cells_add(struct weft_cells *cells, const void *word, int size, struct weft_clock *clock);
bool weft_cells_join(struct weft_cells *cells, const void *word, int size, uint32_t *stamps,
                     uint32_t self, uint32_t *own);

/* Plain bytes have arrived: words among them no longer hold a released value. */
void weft_cells_plain(struct weft_cells *cells, const void *address, size_t bytes);

/* Erases all that is known of a range, whose memory was freed or reused. */
void weft_cells_forget(struct weft_cells *cells, const void *address, size_t bytes);

/* READER: a read by one of a task's readers. CLAIM checks as WRITE does and records nothing. */
enum weft_access_kind {
    WEFT_ACCESS_READ,
    WEFT_ACCESS_READER,
    WEFT_ACCESS_WRITE,
    WEFT_ACCESS_CLAIM
};

/* The earlier access that a new one is not ordered after. */
struct weft_conflict {
    uint32_t task;
    bool wrote;
    uintptr_t address; /* the first byte in common within its cell */
};

/* Records an access by task or reader `self`, who knows stamps. False, with *conflict: a race. */
bool weft_cells_access(struct weft_cells *cells, const void *address, size_t bytes,
                       enum weft_access_kind kind, uint32_t self, const uint32_t *stamps,
                       struct weft_conflict *conflict);

#endif
