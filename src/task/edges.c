/*
 * task/edges.c - which recorded tasks wait for which: those whose data overlap, where one writes.
 *
 * The list of tasks is walked twice. What has been read and written and not written since is live;
 * a task waits for who has live accesses that its own overlap. Edges of the second walk to tasks of
 * the first are of the epoch before. A write takes what it covers from the live accesses: who comes
 * later waits for the write, which waits for those.
 *
 * Data are rectangles in the memory of a window at a place, whose rows are as long as the pitch of
 * its data, if all agree. Cells of a grid, about as large as those data, list the live accesses.
 */
#include "task/recorded.h"

#include "task/place.h"

#include <stdlib.h>
#include <string.h>

struct box {
    uint64_t row, row_end, column, column_end;
};

/* The memory of a window at a place. */
struct space {
    weft_win win;
    int32_t place;
    uint64_t pitch, end;                  /* pitch 0: there is none on which data agree */
    uint64_t boxes, rows, columns, bytes; /* sums */
    bool split;                           /* data have several pitches */
    uint64_t height, width;               /* of a cell */
    uint64_t down, across, first_cell;
};

struct access {
    struct box box;
    uint32_t task;
    bool write, dead;
    uint8_t walk;
};

/* One of a cell's. */
struct link {
    uint32_t access, next; /* next: + 1 */
};

struct walk {
    const struct weft_recorded *recorded;
    struct space *space;
    uint32_t spaces, *space_of; /* by piece of data */
    struct {
        uint32_t read, write; /* links + 1 */
    } * cell;
    struct access *access;
    struct link *link;
    uint64_t accesses, accesses_room, links, links_room;
    uint32_t *seen[2]; /* by task: the last task that waits for it, + 1; in the epoch before */
    uint32_t *edge;
    uint64_t edges, edges_room;
    uint32_t task;
    uint8_t number;
    bool full; /* there is no memory */
};

/* Room for one more in a list. */
static bool grow(void **list, uint64_t count, uint64_t *room, size_t bytes)
{
    if (count < *room)
        return true;
    const uint64_t more = *room == 0 ? 256 : 2 * *room;
    void *const grown = more > UINT32_MAX ? NULL : realloc(*list, more * bytes);
    if (grown == NULL)
        return false;
    *list = grown;
    *room = more;
    return true;
}

/* ---- data as rectangles ------------------------------------------------------------------------
 */

static bool has_bytes(const weft_task_data_desc *data)
{
    return data->mode != WEFT_TASK_SCRATCH && data->bytes != 0;
}

static bool has_rows(const weft_task_data_desc *data)
{
    return data->rows > 1 && data->pitch > data->bytes;
}

/* From its first byte to its last. */
static uint64_t span_of(const weft_task_data_desc *data)
{
    return (weft_task_rows(data) - 1) * (data->pitch != 0 ? data->pitch : data->bytes) +
           data->bytes;
}

/* A stretch of bytes: some of a row, whole rows, some of one. */
static int stretch(uint64_t pitch, uint64_t from, uint64_t end, struct box box[3])
{
    const uint64_t row = from / pitch, last = (end - 1) / pitch;
    int n = 0;

    if (row == last) {
        box[n++] = (struct box){row, row + 1, from % pitch, (end - 1) % pitch + 1};
        return n;
    }
    const uint64_t whole = from % pitch == 0 ? row : row + 1;
    const uint64_t whole_end = end % pitch == 0 ? last + 1 : last;
    if (whole != row)
        box[n++] = (struct box){row, row + 1, from % pitch, pitch};
    if (whole < whole_end)
        box[n++] = (struct box){whole, whole_end, 0, pitch};
    if (whole_end == last)
        box[n++] = (struct box){last, last + 1, 0, end % pitch};
    return n;
}

static int boxes_of(const struct space *space, const weft_task_data_desc *data, struct box box[3])
{
    const uint64_t pitch = space->pitch, row = data->offset / pitch, column = data->offset % pitch;

    if (!has_rows(data) || space->split)
        return stretch(pitch, data->offset, data->offset + span_of(data), box);
    box[0] = (struct box){row, row + data->rows, column, column + data->bytes};
    if (box[0].column_end <= pitch)
        return 1;
    box[0].column_end = pitch; /* each row of it begins in one, and ends in the next */
    box[1] = (struct box){row + 1, row + 1 + data->rows, 0, column + data->bytes - pitch};
    return 2;
}

static struct space *space_for(struct walk *w, const weft_task_data_desc *data, uint64_t *room)
{
    for (uint32_t s = w->spaces; s-- > 0;)
        if (w->space[s].win == data->win && w->space[s].place == data->place)
            return &w->space[s];
    if (!grow((void **)&w->space, w->spaces, room, sizeof(*w->space)))
        return NULL;
    w->space[w->spaces] = (struct space){.win = data->win, .place = data->place};
    return &w->space[w->spaces++];
}

/* The spaces, and what their data agree on. */
static bool find_spaces(struct walk *w)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < w->recorded->datas; i++) {
        const weft_task_data_desc *const data = &w->recorded->data[i];
        if (!has_bytes(data))
            continue;
        struct space *const space = space_for(w, data, &room);
        if (space == NULL)
            return false;
        w->space_of[i] = (uint32_t)(space - w->space);
        space->boxes++;
        space->bytes += span_of(data);
        if (data->offset + span_of(data) > space->end)
            space->end = data->offset + span_of(data);
        if (!has_rows(data))
            continue;
        space->split = space->split || (space->pitch != 0 && space->pitch != data->pitch);
        space->pitch = data->pitch;
    }
    for (uint32_t s = 0; s < w->spaces; s++) {
        struct space *const space = &w->space[s];
        if (space->pitch == 0 || space->split)
            space->pitch = space->bytes / space->boxes + 64;
        space->boxes = 0;
    }
    return true;
}

/* Cells as large as the mean piece, and not many more of them than pieces. */
static bool find_cells(struct walk *w)
{
    uint64_t cells = 0;
    struct box box[3];

    for (uint32_t i = 0; i < w->recorded->datas; i++) {
        const weft_task_data_desc *const data = &w->recorded->data[i];
        struct space *const space = has_bytes(data) ? &w->space[w->space_of[i]] : NULL;
        for (int k = space == NULL ? 0 : boxes_of(space, data, box); k-- > 0;) {
            space->boxes++;
            space->rows += box[k].row_end - box[k].row;
            space->columns += box[k].column_end - box[k].column;
        }
    }
    for (uint32_t s = 0; s < w->spaces; s++) {
        struct space *const space = &w->space[s];
        const uint64_t rows = space->end / space->pitch + 2;
        space->height = space->rows / space->boxes + 1;
        space->width = space->columns / space->boxes + 1;
        for (;;) {
            space->down = rows / space->height + 1;
            space->across = space->pitch / space->width + 1;
            if (space->down / 4 <= space->boxes / space->across)
                break;
            if (space->down > space->across)
                space->height *= 2;
            else
                space->width *= 2;
        }
        space->first_cell = cells;
        cells += space->down * space->across;
    }
    w->cell = calloc(cells + 1, sizeof(*w->cell));
    return w->cell != NULL;
}

/* ---- live accesses -----------------------------------------------------------------------------
 */

static bool overlap(const struct box *a, const struct box *b)
{
    return a->row < b->row_end && b->row < a->row_end && a->column < b->column_end &&
           b->column < a->column_end;
}

static bool covers(const struct box *a, const struct box *b)
{
    return a->row <= b->row && b->row_end <= a->row_end && a->column <= b->column &&
           b->column_end <= a->column_end;
}

/* The task that is walked waits for `task`, unless it is known to. */
static void wait_for(struct walk *w, uint32_t task, bool before)
{
    if (w->seen[before][task] == w->task + 1)
        return;
    w->seen[before][task] = w->task + 1;
    if (!grow((void **)&w->edge, w->edges, &w->edges_room, sizeof(*w->edge)))
        w->full = true;
    else
        w->edge[w->edges++] = before ? task | WEFT_TASK_BEFORE : task;
}

/* A cell's accesses of one kind against one of the task; dead ones leave the list. */
static void meet(struct walk *w, uint32_t *list, const struct box *box, bool write)
{
    while (*list != 0) {
        struct link *const link = &w->link[*list - 1];
        struct access *const other = &w->access[link->access];
        if (!other->dead && overlap(box, &other->box)) {
            if (w->number == 1)
                wait_for(w, other->task, other->walk == 0);
            other->dead = write && covers(box, &other->box);
        }
        if (other->dead)
            *list = link->next;
        else
            list = &link->next;
    }
}

static void add(struct walk *w, uint32_t *list, uint32_t access)
{
    if (!grow((void **)&w->link, w->links, &w->links_room, sizeof(*w->link))) {
        w->full = true;
        return;
    }
    w->link[w->links] = (struct link){.access = access, .next = *list};
    *list = (uint32_t)++w->links;
}

/* All cells under a rectangle: meets what is there, or adds it. */
static void visit(struct walk *w, const struct space *space, const struct box *box, bool write,
                  bool adds)
{
    if (adds && !grow((void **)&w->access, w->accesses, &w->accesses_room, sizeof(*w->access))) {
        w->full = true;
        return;
    }
    if (adds)
        w->access[w->accesses++] =
            (struct access){.box = *box, .task = w->task, .write = write, .walk = w->number};
    for (uint64_t y = box->row / space->height; y <= (box->row_end - 1) / space->height; y++)
        for (uint64_t x = box->column / space->width; x <= (box->column_end - 1) / space->width;
             x++) {
            const uint64_t at = space->first_cell + y * space->across + x;
            if (adds) {
                add(w, write ? &w->cell[at].write : &w->cell[at].read, (uint32_t)w->accesses - 1);
                continue;
            }
            meet(w, &w->cell[at].write, box, write);
            if (write)
                meet(w, &w->cell[at].read, box, true);
        }
}

/* Waits for others first, then is there for others itself. */
static void walk_task(struct walk *w)
{
    const struct weft_recorded_task *const task = &w->recorded->task[w->task];
    struct box box[3];

    for (int adds = 0; adds < 2; adds++)
        for (uint32_t i = task->data; i < task->data + task->datas; i++) {
            const weft_task_data_desc *const data = &w->recorded->data[i];
            const struct space *const space = has_bytes(data) ? &w->space[w->space_of[i]] : NULL;
            const int boxes = space == NULL ? 0 : boxes_of(space, data, box);
            for (int k = 0; k < boxes; k++)
                visit(w, space, &box[k], (data->mode & WEFT_TASK_OUT) != 0, adds);
        }
}

/* Whoever waits for a task in this epoch need not wait for it in the one before. Who writes comes
 * after itself, by who has read or written that since; others say so. */
static void tidy(struct walk *w, uint64_t from)
{
    const struct weft_recorded_task *const task = &w->recorded->task[w->task];
    uint64_t kept = from;
    bool writes = false;

    for (uint32_t i = task->data; i < task->data + task->datas; i++)
        writes = writes || (has_bytes(&w->recorded->data[i]) &&
                            (w->recorded->data[i].mode & WEFT_TASK_OUT) != 0);
    for (uint64_t i = from; i < w->edges; i++) {
        const uint32_t other = w->edge[i] & ~WEFT_TASK_BEFORE;
        if ((w->edge[i] & WEFT_TASK_BEFORE) == 0 || w->seen[0][other] != w->task + 1)
            w->edge[kept++] = w->edge[i];
    }
    w->edges = kept;
    if (!writes)
        wait_for(w, w->task, true);
}

weft_status weft_edges_find(const struct weft_recorded *recorded, struct weft_edges *edges)
{
    const size_t n = recorded->tasks;
    struct walk w = {.recorded = recorded};

    *edges = (struct weft_edges){.first = calloc(n + 1, sizeof(*edges->first))};
    w.space_of = calloc((size_t)recorded->datas + 1, sizeof(*w.space_of));
    for (int i = 0; i < 2; i++)
        w.seen[i] = calloc(n + 1, sizeof(*w.seen[i]));
    w.full = edges->first == NULL || w.space_of == NULL || w.seen[0] == NULL || w.seen[1] == NULL ||
             !find_spaces(&w) || !find_cells(&w);
    for (w.number = 0; w.number < 2 && !w.full; w.number++)
        for (w.task = 0; w.task < n && !w.full; w.task++) {
            const uint64_t from = w.edges;
            walk_task(&w);
            if (w.number == 1 && !w.full)
                tidy(&w, from);
            edges->first[w.task + 1] = (uint32_t)w.edges;
        }
    edges->edge = w.edge;
    free(w.space);
    free(w.space_of);
    free(w.cell);
    free(w.access);
    free(w.link);
    free(w.seen[0]);
    free(w.seen[1]);
    return w.full ? WEFT_ERR_MEMORY : WEFT_OK;
}

void weft_edges_free(struct weft_edges *edges)
{
    free(edges->first);
    free(edges->edge);
    *edges = (struct weft_edges){.first = NULL};
}
