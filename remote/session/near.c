/*
 * remote/session/near.c - copies that the driver makes: within this session, from and to memory
 * that the program shares, from and to bytes of a record. Session's thread only.
 */
#include "remote/session/inside.h"

#include <string.h>

static CUresult copy(const struct weft_cuda_table *table, const struct weft_box *box,
                     CUstream stream)
{
    return box->rows == 1 && box->slices == 1 && box->to.type == CU_MEMORYTYPE_UNIFIED &&
                   box->from.type == CU_MEMORYTYPE_UNIFIED
               ? table->copy_async(box->to.device, box->from.device, box->width, stream)
               : table->copy_box((const CUDA_MEMCPY3D *)(const void *)box, stream);
}

/* ---- inside records -------------------------------------------------------------------------- */

/* Copies rows of the device from or to a chunk, in which they lie one behind the other. */
static int copy_inside(struct weft_session *session, struct weft_record *record,
                       struct weft_box_side side, uint64_t width, uint64_t rows, CUstream stream,
                       bool in)
{
    struct session_wait *wait; /* with the chunk: until the copy is done */
    int i = 0;

    if (width == 0 || width > WEFT_COPY_INSIDE || rows == 0 || rows > WEFT_COPY_INSIDE ||
        width * rows > WEFT_COPY_INSIDE || (in ? record->extra != width * rows : record->lane == 0))
        return SESSION_WRONG;
    if (session_rows_at(session, side.device, side.pitch, width, rows) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    while (i < SESSION_CHUNKS && session->chunk_used[i])
        i++;
    if (i == SESSION_CHUNKS)
        return SESSION_AGAIN; /* as a full queue of the driver's */
    const int made = session_wait_make(session, record->device, in ? -1 : record->lane, 1, NULL,
                                       width * rows, &wait);
    if (made != CUDA_SUCCESS)
        return made;
    const struct weft_box_side chunk = {.type = CU_MEMORYTYPE_UNIFIED,
                                        .device = (CUdeviceptr)session->chunks[i],
                                        .pitch = width,
                                        .height = rows};
    const struct weft_box box = {.to = in ? side : chunk,
                                 .from = in ? chunk : side,
                                 .width = width,
                                 .rows = rows,
                                 .slices = 1};
    if (in)
        memcpy(session->chunks[i], weft_record_extra(record), record->extra);
    CUresult result = copy(session->table, &box, stream);
    if (result == CUDA_SUCCESS)
        result = session_wait_record(session, wait, stream);
    if (result == CUDA_SUCCESS) {
        session->chunk_used[i] = true;
        wait->chunk = i;
    }
    return session_wait_begin(session, wait, result);
}

#define INSIDE(name, in)                                                                           \
    SESSION_DO(name)                                                                               \
    {                                                                                              \
        const struct weft_box_side side = {.type = CU_MEMORYTYPE_UNIFIED,                          \
                                           .device = call->address,                                \
                                           .pitch = call->pitch,                                   \
                                           .height = call->rows};                                  \
        return copy_inside(session, record, side, call->width, call->rows, call->stream, in);      \
    }
INSIDE(copy_in, true)
INSIDE(copy_out, false)

/* ---- by the driver alone --------------------------------------------------------------------- */

/*
 * Checks one side of a box, and has nothing but what was checked in it. *owner: its device; -1: it
 * is the program's, shared, at its address here.
 */
static bool take_side(const struct weft_session *session, int device, const struct weft_box *box,
                      struct weft_box_side *side, int *owner)
{
    static const uint64_t most = 1ull << 40; /* rows */
    const struct weft_box_side asked = *side;

    *side = (struct weft_box_side){.type = asked.type};
    *owner = device;
    if (asked.type == CU_MEMORYTYPE_ARRAY) {
        side->x = asked.x;
        side->y = asked.y;
        side->z = asked.z;
        side->array = session_array(session, device, asked.array);
        return side->array != NULL;
    }
    if (asked.type != CU_MEMORYTYPE_UNIFIED || box->rows - 1 >= most || asked.height > most ||
        (box->slices > 1 && asked.height < box->rows))
        return false;
    const uint64_t bytes =
        session_extent(asked.pitch, box->width, (box->slices - 1) * asked.height + box->rows);
    if (bytes == 0)
        return false;
    *owner = session_device_of(session, asked.device, bytes);
    if (*owner < 0 && weft_ranges_gap(&session->device[device].reached, asked.device,
                                      asked.device + bytes) == asked.device + bytes)
        *owner = device; /* another server's, which this device reaches */
    side->device =
        *owner >= 0 ? asked.device : (CUdeviceptr)session_shared(session, asked.device, bytes);
    side->pitch = asked.pitch;
    side->height = asked.height > box->rows ? asked.height : box->rows;
    return side->device != 0;
}

/* Has the driver copy a box; between devices a row alone. */
SESSION_DO(copy_near)
{
    struct weft_box *box = &call->box;
    const bool arrays =
        box->to.type == CU_MEMORYTYPE_ARRAY || box->from.type == CU_MEMORYTYPE_ARRAY;
    int to, from;

    if (box->slices - 1 >= SESSION_SIDE_MOST ||
        !take_side(session, record->device, box, &box->to, &to) ||
        !take_side(session, record->device, box, &box->from, &from) || (to < 0 && from < 0))
        return CUDA_ERROR_INVALID_VALUE;
    if (to >= 0 && from >= 0 && to != from)
        return arrays || box->rows != 1 || box->slices != 1
                   ? CUDA_ERROR_INVALID_VALUE
                   : session->table->copy_peer(box->to.device, session->device[to].context,
                                               box->from.device, session->device[from].context,
                                               box->width, call->stream);
    return copy(session->table, box, call->stream);
}
