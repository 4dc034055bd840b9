/* device/cpu/random/cells.c - see the header. */
#include "device/cpu/random/cells.h"

#include <stdlib.h>

enum { FIRST_SIZE = 1024 };

static uint64_t key_of(const void *address)
{
    return (uint64_t)(uintptr_t)address >> 3;
}

/* Returns the cell of `key`, or the unused one where it belongs. */
static struct weft_cell *probe(const struct weft_cells *cells, uint64_t key)
{
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 20;

    for (;; at++) {
        struct weft_cell *cell = &cells->cell[at & (cells->size - 1)];
        if (cell->key == key || cell->key == 0)
            return cell;
    }
}

static struct weft_cell *find_cell(const struct weft_cells *cells, uint64_t key)
{
    if (cells->size == 0)
        return NULL;
    struct weft_cell *cell = probe(cells, key);
    return cell->key != 0 ? cell : NULL;
}

static void grow(struct weft_cells *cells)
{
    struct weft_cells bigger = {.size = cells->size == 0 ? FIRST_SIZE : cells->size * 2,
                                .used = cells->used};

    bigger.cell = weft_random_memory(bigger.size * sizeof(struct weft_cell));
    for (uint64_t i = 0; i < cells->size; i++)
        if (cells->cell[i].key != 0)
            *probe(&bigger, cells->cell[i].key) = cells->cell[i];
    free(cells->cell);
    *cells = bigger;
}

static struct weft_cell *find_or_add(struct weft_cells *cells, uint64_t key)
{
    struct weft_cell *cell = find_cell(cells, key);

    if (cell != NULL)
        return cell;
    if (cells->used * 2 >= cells->size)
        grow(cells);
    cell = probe(cells, key);
    cell->key = key;
    cells->used++;
    return cell;
}

static void clear(struct weft_cell *cell)
{
    weft_clock_drop(cell->word[0]);
    weft_clock_drop(cell->word[1]);
    *cell = (struct weft_cell){.key = cell->key};
}

void weft_cells_free(struct weft_cells *cells)
{
    for (uint64_t i = 0; i < cells->size; i++)
        clear(&cells->cell[i]);
    free(cells->cell);
    *cells = (struct weft_cells){0};
}

/* Tells which halves of its cell 4 or 8 bytes, or the word around 2, cover: [*first, return
 * value). */
static int halves(const void *word, int size, int *first)
{
    *first = (int)((uintptr_t)word >> 2 & 1);
    return *first + (size + 3) / 4;
}

void weft_cells_set(struct weft_cells *cells, const void *word, int size, struct weft_clock *clock)
{
    struct weft_cell *cell =
        clock != NULL ? find_or_add(cells, key_of(word)) : find_cell(cells, key_of(word));
    int half;

    if (cell == NULL)
        return;
    for (int end = halves(word, size, &half); half < end; half++) {
        weft_clock_drop(cell->word[half]);
        cell->word[half] = weft_clock_share(clock);
    }
}

void weft_cells_add(struct weft_cells *cells, const void *word, int size, struct weft_clock *clock)
{
    int half;

    if (clock == NULL)
        return;
    struct weft_cell *cell = find_or_add(cells, key_of(word));
    for (int end = halves(word, size, &half); half < end; half++)
        cell->word[half] = weft_clock_merge(cell->word[half], clock);
}

bool weft_cells_join(struct weft_cells *cells, const void *word, int size, uint32_t *stamps,
                     uint32_t self, uint32_t *own)
{
    const struct weft_cell *cell = find_cell(cells, key_of(word));
    bool rose = false;
    int half;

    if (cell == NULL)
        return false;
    for (int end = halves(word, size, &half); half < end; half++) {
        const struct weft_clock *clock = cell->word[half];
        rose |= weft_clock_join(stamps, clock);
        if (clock != NULL && self < clock->length && clock->stamp[self] > *own)
            *own = clock->stamp[self];
    }
    return rose;
}

/* Returns which bytes of cell `key` lie in [address, address + bytes), as bits. */
static uint8_t bytes_in(uint64_t key, uintptr_t address, size_t bytes)
{
    const uintptr_t start = (uintptr_t)(key << 3);
    const unsigned skip = address > start ? (unsigned)(address - start) : 0;
    const uintptr_t end = address + bytes;
    const unsigned stop = end < start + 8 ? (unsigned)(end - start) : 8;

    return (uint8_t)((1u << stop) - (1u << skip));
}

static void plain(struct weft_cell *cell, uint8_t bytes)
{
    static const uint8_t half_bytes[2] = {0x0f, 0xf0};

    for (int half = 0; half < 2; half++)
        if ((bytes & half_bytes[half]) != 0) {
            weft_clock_drop(cell->word[half]);
            cell->word[half] = NULL;
        }
}

void weft_cells_plain(struct weft_cells *cells, const void *address, size_t bytes)
{
    const uintptr_t start = (uintptr_t)address;

    for (uint64_t key = start >> 3; bytes > 0 && key <= (start + bytes - 1) >> 3; key++) {
        struct weft_cell *cell = find_cell(cells, key);
        if (cell != NULL)
            plain(cell, bytes_in(key, start, bytes));
    }
}

static void forget(struct weft_cell *cell, uint8_t bytes)
{
    plain(cell, bytes);
    for (int i = 0; i < cell->writes; i++)
        cell->write[i].bytes &= (uint8_t)~bytes;
    for (int i = 0; i < cell->reads; i++)
        cell->read[i].bytes &= (uint8_t)~bytes;
}

void weft_cells_forget(struct weft_cells *cells, const void *address, size_t bytes)
{
    const uintptr_t start = (uintptr_t)address;

    if (bytes == 0)
        return;
    const uint64_t first = start >> 3, last = (start + bytes - 1) >> 3;
    for (uint64_t i = 0; i < cells->size; i++) { /* most of the range was never used */
        struct weft_cell *cell = &cells->cell[i];
        if (cell->key >= first && cell->key <= last && cell->key != 0)
            forget(cell, bytes_in(cell->key, start, bytes));
    }
}

/* Returns the first access that has bytes in common and is not known to the clock, or NULL. */
static const struct weft_access *unordered(const struct weft_access *access, int count,
                                           uint8_t bytes, const uint32_t *stamps)
{
    for (int i = 0; i < count; i++)
        if ((access[i].bytes & bytes) != 0 && stamps[access[i].task] < access[i].stamp)
            return &access[i];
    return NULL;
}

/* Takes bytes from the accesses and drops those that have none left. Returns the new count. */
static uint8_t remove_bytes(struct weft_access *access, uint8_t count, uint8_t bytes)
{
    uint8_t kept = 0;

    for (int i = 0; i < count; i++) {
        access[i].bytes &= (uint8_t)~bytes;
        if (access[i].bytes != 0)
            access[kept++] = access[i];
    }
    return kept;
}

/* Records an ordered write: later accesses are checked against it, not against earlier ones. */
static void record_write(struct weft_cell *cell, struct weft_access access)
{
    cell->reads = remove_bytes(cell->read, cell->reads, access.bytes);
    cell->writes = remove_bytes(cell->write, cell->writes, access.bytes);
    cell->write[cell->writes++] = access;
}

/*
 * Records a read, in place of one that it makes redundant. Who learns of this one by a release
 * learns of all that its task knows; who learns of it as a reader's, of that reader alone. If there
 * is no room, one read is forgotten.
 */
static void record_read(struct weft_cell *cell, struct weft_access access, bool reader,
                        const uint32_t *stamps)
{
    for (int i = 0; i < cell->reads; i++) {
        struct weft_access *old = &cell->read[i];
        if ((old->bytes & ~access.bytes) == 0 &&
            (reader ? old->task == access.task : stamps[old->task] >= old->stamp)) {
            *old = access;
            return;
        }
    }
    if (cell->reads < WEFT_CELL_READS)
        cell->read[cell->reads++] = access;
    else
        cell->read[cell->evict++ % WEFT_CELL_READS] = access;
}

bool weft_cells_access(struct weft_cells *cells, const void *address, size_t bytes,
                       enum weft_access_kind kind, uint32_t self, const uint32_t *stamps,
                       struct weft_conflict *conflict)
{
    const uintptr_t start = (uintptr_t)address;

    for (uint64_t key = start >> 3; bytes > 0 && key <= (start + bytes - 1) >> 3; key++) {
        struct weft_cell *cell = find_or_add(cells, key);
        const struct weft_access access = {stamps[self], (uint16_t)self,
                                           bytes_in(key, start, bytes)};
        const struct weft_access *write =
            unordered(cell->write, cell->writes, access.bytes, stamps);
        const struct weft_access *other = write;

        if (other == NULL && kind >= WEFT_ACCESS_WRITE)
            other = unordered(cell->read, cell->reads, access.bytes, stamps);
        if (other != NULL) {
            conflict->task = other->task;
            conflict->wrote = write != NULL;
            conflict->address =
                (uintptr_t)(key << 3) + (unsigned)__builtin_ctz(other->bytes & access.bytes);
            return false;
        }
        if (kind == WEFT_ACCESS_WRITE)
            record_write(cell, access);
        else if (kind != WEFT_ACCESS_CLAIM)
            record_read(cell, access, kind == WEFT_ACCESS_READER, stamps);
    }
    return true;
}
