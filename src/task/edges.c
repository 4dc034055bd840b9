/*
 * task/edges.c - which recorded tasks wait for which: those whose data overlap, where one writes.
 *
 * The list of tasks is walked twice. What has been read and written and not written since is live;
 * a task waits for who has live accesses that its own overlap. Edges of the second walk to tasks of
 * the first are of the epoch before. A write takes what it covers from the live accesses: who comes
 * later waits for the write, which waits for those.
 *
 * The memory of a window at a place has a grid, of rows as long as the pitch of its data. Cells,
 * about as large as those data, list the live accesses.
 */
#include "task/recorded.h"

#include <stdlib.h>
#include <string.h>

struct piece {
    uint64_t at, bytes, pitch, rows; /* as in weft_task_data_desc; pitch of one row: its bytes */
};

/* The memory of a window at a place, or a place's copy of that. */
struct space {
    weft_win win;
    int32_t place, storage;
    uint64_t pitch, end;
    uint64_t pieces, rows, columns; /* sums over the pieces: their number; rows; bytes of a row */
    uint64_t height, width, across; /* rows and bytes of a cell; cells in a row */
    uint64_t first_cell;            /* index of its first cell in walk.cell */
};

struct access {
    struct piece piece;
    uint32_t task, data;
    bool dead;
    uint8_t walk;
};

/* A link of a cell's list. */
struct link {
    uint32_t access, next; /* index of the access; of the next link, + 1 */
};

struct walk {
    struct weft_recorded *recorded;
    struct space *space;
    uint32_t spaces, *space_of; /* number of spaces; by piece of data: its space */
    struct {
        uint32_t read, write; /* first links of the cell's lists, + 1; 0: none */
    } * cell;
    struct access *access;
    struct link *link;
    uint64_t accesses, links;
    uint32_t *seen[2]; /* by task: last task that waits for it, + 1; [1]: in the epoch before */
    uint32_t task, data;
    uint8_t number;
    bool full;           /* there was no memory */
    weft_edges_met *met; /* NULL: the walk finds edges */
    void *context;
};

/* ---- pieces of memory ------------------------------------------------------------------------ */

static struct piece piece_of(const weft_task_data_desc *data)
{
    const uint64_t all = weft_task_bytes(data);

    if (data->rows <= 1 || data->pitch <= data->bytes)
        return (struct piece){.at = data->offset, .bytes = all, .pitch = all, .rows = 1};
    return (struct piece){
        .at = data->offset, .bytes = data->bytes, .pitch = data->pitch, .rows = data->rows};
}

static uint64_t end_of(const struct piece *p)
{
    return p->at + (p->rows - 1) * p->pitch + p->bytes;
}

/* Whether a row of p has any of the bytes. */
static bool touches(const struct piece *p, uint64_t at, uint64_t end)
{
    const uint64_t first_end = p->at + p->bytes;
    const uint64_t before = at < first_end ? 0 : (at - first_end) / p->pitch + 1; /* rows */

    return before < p->rows && p->at + before * p->pitch < end;
}

/* Rows of two pitches overlap where their ends do. */
static bool overlap(const struct piece *a, const struct piece *b)
{
    if (a->rows == 1 || b->rows == 1 || a->pitch != b->pitch)
        return a->rows == 1 ? touches(b, a->at, end_of(a)) : touches(a, b->at, end_of(b));
    if (a->at > b->at)
        return overlap(b, a);
    const uint64_t row = (b->at - a->at) / a->pitch, column = (b->at - a->at) % a->pitch;
    return (row < a->rows && column < a->bytes) ||
           (row + 1 < a->rows && column + b->bytes > a->pitch);
}

static bool covers(const struct piece *a, const struct piece *b)
{
    if (b->at < a->at || end_of(b) > end_of(a) || a->rows == 1)
        return b->at >= a->at && end_of(b) <= end_of(a);
    return (b->at - a->at) % a->pitch + b->bytes <= a->bytes &&
           (b->rows == 1 || b->pitch == a->pitch);
}

/* Joins what columns from `at`, `bytes` of them, of rows from `row` on have of the piece. */
static void join(struct weft_rect *rect, const struct piece *p, int64_t row, uint64_t rows,
                 uint64_t at, uint64_t bytes)
{
    const int64_t from = row > 0 ? row : 0, to = row + (int64_t)rows;
    const int64_t end = to < (int64_t)p->rows ? to : (int64_t)p->rows;
    const uint64_t end_column = at + bytes < p->bytes ? at + bytes : p->bytes;

    if (from >= end || at >= end_column)
        return;
    const bool none = rect->rows_end == 0;
    rect->row = none || (uint64_t)from < rect->row ? (uint64_t)from : rect->row;
    rect->rows_end = (uint64_t)end > rect->rows_end ? (uint64_t)end : rect->rows_end;
    rect->at = none || at < rect->at ? at : rect->at;
    rect->end = end_column > rect->end ? end_column : rect->end;
}

void weft_rect_join(struct weft_rect *rect, const weft_task_data_desc *of,
                    const weft_task_data_desc *with)
{
    const struct piece p = piece_of(of), q = piece_of(with);
    const uint64_t from = q.at > p.at ? q.at - p.at : 0, end = end_of(&q) - p.at;

    if (p.rows == 1) {
        join(rect, &p, 0, 1, from, end - from);
    } else if (q.bytes > p.pitch || (q.rows > 1 && q.pitch != p.pitch)) {
        join(rect, &p, 0, p.rows, 0, p.bytes);
    } else { /* its rows begin in rows of the piece, and may end in the next ones */
        const int64_t apart = (int64_t)(q.at - p.at), pitch = (int64_t)p.pitch;
        const int64_t row = apart / pitch - (apart % pitch < 0);
        const uint64_t at = (uint64_t)(apart - row * pitch);
        join(rect, &p, row, q.rows, at, q.bytes);
        if (at + q.bytes > p.pitch)
            join(rect, &p, row + 1, q.rows, 0, at + q.bytes - p.pitch);
    }
}

/* ---- the grid -------------------------------------------------------------------------------- */

static struct space *space_for(struct walk *w, const struct weft_recorded_data *data)
{
    const weft_task_data_desc *const desc = &data->desc;

    for (uint32_t s = w->spaces; s-- > 0;)
        if (w->space[s].win == desc->win && w->space[s].place == desc->place &&
            (w->met != NULL || w->space[s].storage == data->storage))
            return &w->space[s];
    if (!WEFT_RECORDED_ROOM(w->space, w->spaces))
        return NULL;
    w->space[w->spaces] =
        (struct space){.win = desc->win, .place = desc->place, .storage = data->storage};
    return &w->space[w->spaces++];
}

/* Cells as large as the mean piece, and not many more of them than pieces. Pieces that follow each
 * other, all of one size, have a cell each. */
static void find_cells(struct space *space)
{
    if (space->pitch == 0)
        space->pitch = space->columns / space->pieces;
    space->height = space->rows / space->pieces + 1;
    space->width = space->columns / space->pieces + 1;
    for (;;) {
        const uint64_t down = space->end / space->pitch / space->height + 1;
        space->across = (space->pitch + space->width - 1) / space->width;
        if (down / 4 <= space->pieces / space->across)
            return;
        if (down > space->across)
            space->height *= 2;
        else
            space->width *= 2;
    }
}

static bool find_spaces(struct walk *w)
{
    uint64_t cells = 0;

    for (uint32_t i = 0; i < w->recorded->datas; i++) {
        const struct weft_recorded_data *const data = &w->recorded->data[i];
        const struct piece p = piece_of(&data->desc);
        if (!weft_recorded_has_bytes(data))
            continue;
        struct space *const space = space_for(w, data);
        if (space == NULL)
            return false;
        w->space_of[i] = (uint32_t)(space - w->space);
        space->pieces++;
        space->rows += p.rows;
        space->columns += p.bytes;
        space->end = end_of(&p) > space->end ? end_of(&p) : space->end;
        if (p.rows > 1)
            space->pitch = p.pitch;
    }
    for (uint32_t s = 0; s < w->spaces; s++) {
        struct space *const space = &w->space[s];
        find_cells(space);
        space->first_cell = cells;
        cells += (space->end / space->pitch / space->height + 1) * space->across;
    }
    w->cell = calloc(cells + 1, sizeof(*w->cell));
    return w->cell != NULL;
}

/* ---- live accesses --------------------------------------------------------------------------- */

/* Lets the task that is walked wait for `task`, unless it is known to. */
static void wait_for(struct walk *w, uint32_t task, bool before)
{
    if (w->seen[before][task] == w->task + 1)
        return;
    struct weft_recorded *const all = w->recorded;
    w->seen[before][task] = w->task + 1;
    w->full = w->full || !WEFT_RECORDED_ROOM(all->edge, all->edges);
    if (!w->full)
        all->edge[all->edges++] = before ? task | WEFT_TASK_BEFORE : task;
}

/* Meets a cell's accesses of one kind with one of the task; dead ones leave the list. */
static void meet(struct walk *w, uint32_t *list, const struct piece *piece, bool write)
{
    while (*list != 0) {
        struct link *const link = &w->link[*list - 1];
        struct access *const other = &w->access[link->access];
        if (!other->dead && overlap(piece, &other->piece)) {
            other->dead = write && covers(piece, &other->piece);
            if (w->met != NULL)
                w->met(w->context, other->data, w->data, w->number - other->walk, other->dead);
            else if (w->number == 1)
                wait_for(w, other->task, other->walk == 0);
        }
        if (other->dead)
            *list = link->next;
        else
            list = &link->next;
    }
}

static void add(struct walk *w, uint32_t *list, uint32_t access)
{
    w->full = w->full || !WEFT_RECORDED_ROOM(w->link, w->links);
    if (w->full)
        return;
    w->link[w->links] = (struct link){.access = access, .next = *list};
    *list = (uint32_t)++w->links;
}

/* Visits all cells under a piece: meets what is there, or adds it. */
static void visit(struct walk *w, const struct space *space, const struct piece *p, bool write,
                  bool adds)
{
    const uint64_t row = p->at / space->pitch, last = (end_of(p) - 1) / space->pitch;
    const uint64_t column = p->at % space->pitch;
    const uint64_t bytes = row == last ? end_of(p) - p->at : p->bytes; /* from that column on */
    const bool alike = column + bytes <= space->pitch && (row == last || p->pitch == space->pitch);
    const uint64_t from = alike ? column / space->width : 0;
    const uint64_t to = alike ? (column + bytes - 1) / space->width : space->across - 1;

    w->full = w->full || (adds && !WEFT_RECORDED_ROOM(w->access, w->accesses));
    if (adds && !w->full)
        w->access[w->accesses++] =
            (struct access){.piece = *p, .task = w->task, .data = w->data, .walk = w->number};
    for (uint64_t y = row / space->height; y <= last / space->height && !w->full; y++)
        for (uint64_t x = from; x <= to; x++) {
            const uint64_t at = space->first_cell + y * space->across + x;
            if (adds) {
                add(w, write ? &w->cell[at].write : &w->cell[at].read, (uint32_t)w->accesses - 1);
                continue;
            }
            meet(w, &w->cell[at].write, p, write);
            if (write)
                meet(w, &w->cell[at].read, p, true);
        }
}

/* Meets others by what it reads, then by what it overwrites, and then is there for others itself.
 * Whether it writes. */
static bool walk_task(struct walk *w, const struct weft_recorded_task *task)
{
    enum { READS, WRITES, ADDS };
    bool writes = false;

    for (int part = READS; part <= ADDS; part++)
        for (uint32_t i = task->data; i < task->data + task->datas; i++) {
            const struct weft_recorded_data *const data = &w->recorded->data[i];
            const struct piece piece = piece_of(&data->desc);
            const bool write = weft_recorded_writes(data);
            writes = writes || write;
            w->data = i;
            if (weft_recorded_has_bytes(data) &&
                (part == ADDS || part == ((data->desc.mode & WEFT_TASK_IN) != 0 ? READS : WRITES)))
                visit(w, &w->space[w->space_of[i]], &piece, write, part == ADDS);
        }
    return writes;
}

/* Whoever waits for a task in this epoch need not wait for it in the one before. Who writes comes
 * after itself, by who has read or written that since; others say so. */
static void tidy(struct walk *w, struct weft_recorded_task *task, uint64_t from, bool writes)
{
    struct weft_recorded *const all = w->recorded;
    uint64_t kept = from;

    for (uint64_t i = from; i < all->edges; i++) {
        const uint32_t other = all->edge[i] & ~WEFT_TASK_BEFORE;
        if ((all->edge[i] & WEFT_TASK_BEFORE) == 0 || w->seen[0][other] != w->task + 1)
            all->edge[kept++] = all->edge[i];
    }
    all->edges = kept;
    if (!writes)
        wait_for(w, w->task, true);
    task->edge = (uint32_t)from;
    task->edges = (uint32_t)(all->edges - from);
}

weft_status weft_edges_find(struct weft_recorded *recorded, weft_edges_met *met, void *context)
{
    const size_t n = recorded->tasks;
    struct walk w = {.recorded = recorded, .met = met, .context = context};

    recorded->edges = 0;
    w.space_of = calloc((size_t)recorded->datas + 1, sizeof(*w.space_of));
    for (int i = 0; i < 2; i++)
        w.seen[i] = calloc(n + 1, sizeof(*w.seen[i]));
    w.full = w.space_of == NULL || w.seen[0] == NULL || w.seen[1] == NULL || !find_spaces(&w);
    for (w.number = 0; w.number < 2; w.number++) {
        for (w.task = 0; w.task < n && !w.full; w.task++) {
            const uint64_t from = recorded->edges;
            const bool writes = walk_task(&w, &recorded->task[w.task]);
            if (w.number == 1 && met == NULL)
                tidy(&w, &recorded->task[w.task], from, writes);
        }
    }
    free(w.space);
    free(w.space_of);
    free(w.cell);
    free(w.access);
    free(w.link);
    free(w.seen[0]);
    free(w.seen[1]);
    return w.full ? WEFT_ERR_MEMORY : WEFT_OK;
}
