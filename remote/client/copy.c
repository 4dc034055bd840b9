/*
 * remote/client/copy.c - which way a copy goes. Any thread.
 *
 * Short ones between host and the stream's device travel inside records. Within one server its
 * driver copies. All others are copies between processes: the session of the stream closes a gate
 * in it and says when it is reached, the source puts the pieces straight into the target's memory.
 * No byte of a copy between servers passes this process.
 *
 * CUDA promises when a source is read. Pageable memory may be read at once, pinned memory in the
 * stream's turn. Only what writes host memory meanwhile could tell the difference: a callback, or a
 * copy to the host. So where none is under way a source is read at once, too.
 *
 * Pinned memory that the sessions have mapped is copied by the driver in the stream, as if the
 * program had called it.
 *
 * A device does not reach another's memory in its own copies, also within a server: only
 * cuMemcpyPeer does, and what the memory's own device is told to do.
 */
#include "base/say.h"
#include "remote/client/inside.h"

#include <stdlib.h>
#include <string.h>

enum { INSIDE_MOST = 4 * WEFT_COPY_INSIDE }; /* of a copy from the host that goes in records */

struct copy {
    uint64_t to, from, bytes; /* bytes: of a row */
    uint64_t rows, to_pitch, from_pitch;
    CUstream stream;
    struct client_device *at; /* the stream's device */
    enum client_place to_place, from_place;
    struct client_device *to_device, *from_device;
    struct weft_client_region *region; /* pinned memory with all of the host's side; NULL: none */
    bool writers;                      /* something may write host memory meanwhile */
    bool waits;                        /* the caller waits in any case */
};

static CUresult synchronize(const struct copy *c)
{
    return client_synchronize(c->at, c->stream);
}

/* Has the memory's own device do a copy, in its default stream: after the copy's stream, and done
 * on return. */
static CUresult elsewhere(const struct copy *c, struct client_device *device,
                          CUresult (*run)(const struct copy *))
{
    struct copy there = *c;
    CUresult result = synchronize(c);

    there.at = device;
    there.stream = NULL;
    if (result == CUDA_SUCCESS)
        result = run(&there);
    return result == CUDA_SUCCESS ? synchronize(&there) : result;
}

static void look_at_host(struct copy *c)
{
    const bool to = c->to_place == CLIENT_HOST;
    const uint64_t bytes = (c->rows - 1) * (to ? c->to_pitch : c->from_pitch) + c->bytes;

    if (!to && c->from_place != CLIENT_HOST)
        return;
    weft_lock(&client.lock);
    c->region = client_region_at((void *)(to ? c->to : c->from), bytes);
    if (c->region != NULL && !c->region->pinned)
        c->region = NULL;
    c->writers = client.writers != 0;
    weft_unlock(&client.lock);
}

/* Whether a copy is between the stream's device and memory that the sessions have mapped: then the
 * device's driver makes it. */
static bool goes_direct(const struct copy *c)
{
    return c->region != NULL && c->region->shared &&
           (c->to_place == CLIENT_HOST ? c->from_device : c->to_device) == c->at;
}

/* ---- between processes ----------------------------------------------------------------------- */

/* Copies to memory of a process by pieces: the source hears when the gate in the stream is reached.
 * A program sends its own memory. */
static CUresult by_pieces(const struct copy *c, struct client_copy copy, int process, uint64_t key,
                          uint64_t offset)
{
    const bool from_here = c->from_place == CLIENT_HOST;
    struct weft_send send = {.plan = client.plan,
                             .owner = c->at->known.process,
                             .process = process,
                             .device = -1,
                             .from = c->from,
                             .bytes = c->bytes,
                             .key = key,
                             .offset = offset};
    uint64_t source = 0;

    if (from_here)
        copy.send = send;
    CUresult result = client_number(&copy, &send.number);
    if (result == CUDA_SUCCESS && !from_here) {
        source = (uint64_t)c->from_device->known.process;
        result = client_post(c->from_device, WEFT_CALL_send, NULL, 0, &send, sizeof(send));
    }
    return result == CUDA_SUCCESS ? CLIENT_POST(c->at, gate, send.number, WORD(c->stream), source)
                                  : result;
}

static CUresult to_device(const struct copy *c)
{
    if (c->to_place != CLIENT_ARENA) { /* a variable is no memory that others may put into */
        weft_say(WEFT_SAY_ERROR, "a copy from another server to a __device__ variable is not "
                                 "supported: copy it to memory of that device first");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return by_pieces(c, (struct client_copy){0}, c->to_device->known.process, c->to_device->key,
                     c->to - c->to_device->base);
}

static CUresult to_host(struct copy *c)
{
    struct client_copy copy = {.region = c->region};

    if (c->region == NULL) {
        c->waits = true;
        copy.region = client_region_add(
            (struct weft_client_region){.base = (unsigned char *)c->to, .bytes = c->bytes});
    }
    if (copy.region == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return by_pieces(c, copy, 0, copy.region->key, c->to - (uint64_t)(uintptr_t)copy.region->base);
}

/* ---- inside records -------------------------------------------------------------------------- */

/* Returns how many rows of a copy the next record takes, and *width: a wide row goes in parts. */
static uint64_t next_rows(const struct copy *c, uint64_t row, uint64_t at, uint64_t *width)
{
    const uint64_t whole = WEFT_COPY_INSIDE / c->bytes, left = c->rows - row;

    *width = c->bytes - at < WEFT_COPY_INSIDE ? c->bytes - at : WEFT_COPY_INSIDE;
    return whole == 0 ? 1 : whole < left ? whole : left;
}

/* Copies rows that lie apart to lie one behind the other, or (not `in`) back. */
static void pack(char *packed, char *apart, uint64_t pitch, uint64_t width, uint64_t rows, bool in)
{
    for (uint64_t r = 0; r < rows; r++)
        if (in)
            memcpy(packed + r * width, apart + r * pitch, width);
        else
            memcpy(apart + r * pitch, packed + r * width, width);
}

/* Copies between host and device inside records, one for each 64 KiB. */
static CUresult copy_inside(const struct copy *c)
{
    const bool in = client_on_device(c->to_place);
    const uint64_t far = in ? c->to : c->from, far_pitch = in ? c->to_pitch : c->from_pitch,
                   near = in ? c->from : c->to, near_pitch = in ? c->from_pitch : c->to_pitch;
    char *packed = c->rows > 1 ? malloc(WEFT_COPY_INSIDE) : NULL;
    CUresult result = c->rows > 1 && packed == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;

    for (uint64_t row = 0, at = 0; row < c->rows && result == CUDA_SUCCESS;) {
        uint64_t width;
        const uint64_t rows = next_rows(c, row, at, &width);
        const uint64_t words[] = {far + row * far_pitch + at, far_pitch, width, rows,
                                  (uint64_t)(uintptr_t)c->stream};
        char *mine = (char *)near + row * near_pitch + at, *data = rows > 1 ? packed : mine;
        struct client_call answer = {.extra = data, .room = (uint32_t)(width * rows)};
        if (in && rows > 1)
            pack(packed, mine, near_pitch, width, rows, true);
        result = in ? client_post(c->at, WEFT_CALL_copy_in, words, 5, data, answer.room)
                    : client_call(c->at, WEFT_CALL_copy_out, words, 5, NULL, 0, &answer);
        if (!in && result == CUDA_SUCCESS && answer.got != answer.room)
            result = CUDA_ERROR_UNKNOWN;
        if (!in && rows > 1 && result == CUDA_SUCCESS)
            pack(packed, mine, near_pitch, width, rows, false);
        at += width;
        if (at == c->bytes) {
            row += rows;
            at = 0;
        }
    }
    free(packed);
    return in ? result : client_tell(result);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static CUresult copy_from_host(struct copy *c)
{
    const bool now = (c->region == NULL && !c->waits) || !c->writers;
    const bool near = c->to_device == c->at;

    const bool inside = c->rows > 1 || c->to_place != CLIENT_ARENA; /* it has no gate; or a variable
                                                                       is no memory to put into */
    if (near && (inside || (now && c->bytes <= INSIDE_MOST))) {
        const CUresult result = now ? CUDA_SUCCESS : synchronize(c);
        return result == CUDA_SUCCESS ? copy_inside(c) : result;
    }
    if (inside)
        return elsewhere(c, c->to_device, copy_inside);
    c->waits = c->waits || c->region == NULL;
    return to_device(c);
}

static CUresult copy_to_host(struct copy *c)
{
    const bool near = c->from_device == c->at;

    if (c->rows > 1 || (near && c->bytes <= WEFT_COPY_INSIDE && (c->waits || c->region == NULL))) {
        c->waits = false; /* the answer brings it */
        return near ? copy_inside(c) : elsewhere(c, c->from_device, copy_inside);
    }
    return to_host(c);
}

CUresult client_copy_near(const struct client_device *device, const struct weft_box *box,
                          CUstream stream)
{
    return client_post(device, WEFT_CALL_copy_near, CLIENT_WORDS(WORD(stream)), box, sizeof(*box));
}

static CUresult copy_near(const struct copy *c)
{
    const struct weft_box box = {
        .to = {.type = CU_MEMORYTYPE_UNIFIED, .device = c->to, .pitch = c->to_pitch},
        .from = {.type = CU_MEMORYTYPE_UNIFIED, .device = c->from, .pitch = c->from_pitch},
        .width = c->bytes,
        .rows = c->rows,
        .slices = 1};

    return client_copy_near(c->at, &box, c->stream);
}

/* Whether the stream's device reaches the side that is another server's. */
static bool reaches_other(const struct copy *c)
{
    const bool out = c->at == c->from_device;

    return (out || c->at == c->to_device) && (out ? c->to_place : c->from_place) == CLIENT_ARENA &&
           client_reaches(c->at, out ? c->to_device : c->from_device, out ? c->to : c->from,
                          c->bytes);
}

static CUresult copy_on_devices(const struct copy *c)
{
    if (c->to_device->known.process != c->from_device->known.process)
        return reaches_other(c) ? copy_near(c) : to_device(c);
    return c->at == c->to_device || c->at == c->from_device
               ? copy_near(c)
               : elsewhere(c, c->to_device, copy_near); /* the stream's device has neither */
}

/* Whether rows travel together: within a device; from and to the host where records take them, and
 * none has to wait for its turn, which the caller does not. */
static bool goes_whole(const struct copy *c)
{
    if (c->rows == 1 || goes_direct(c))
        return true;
    if (client_on_device(c->to_place) && client_on_device(c->from_place))
        return c->to_device == c->from_device;
    return c->bytes <= WEFT_COPY_INSIDE && c->to_place != c->from_place &&
           (c->region == NULL || (client_on_device(c->to_place) && !c->writers));
}

static CUresult copy_placed(struct copy *c)
{
    CUresult result = CUDA_SUCCESS;

    if (goes_direct(c))
        return copy_near(c);
    if (client_on_device(c->to_place) && client_on_device(c->from_place))
        return copy_on_devices(c);
    if (client_on_device(c->to_place))
        return copy_from_host(c);
    if (client_on_device(c->from_place))
        return copy_to_host(c);
    result = synchronize(c);
    if (result == CUDA_SUCCESS)
        memmove((void *)c->to, (const void *)c->from, c->bytes);
    return result;
}

CUresult client_copy_slice(const struct weft_box *box, CUstream stream, bool waits)
{
    const bool gaps = box->width != box->to.pitch || box->width != box->from.pitch;
    struct copy c = {.to = box->to.device,
                     .from = box->from.device,
                     .bytes = gaps ? box->width : box->width * box->rows,
                     .rows = gaps ? box->rows : 1,
                     .to_pitch = box->to.pitch,
                     .from_pitch = box->from.pitch,
                     .stream = stream,
                     .waits = waits};
    struct client_route route = {client_now(), false};
    CUresult result = client_route_stream(&route, c.stream);

    if (result != CUDA_SUCCESS || c.bytes == 0 || c.rows == 0)
        return result;
    c.at = route.device;
    c.to_place = client_find(c.to, (c.rows - 1) * c.to_pitch + c.bytes, &c.to_device);
    c.from_place = client_find(c.from, (c.rows - 1) * c.from_pitch + c.bytes, &c.from_device);
    if (c.to_place == CLIENT_NOWHERE || c.from_place == CLIENT_NOWHERE)
        return CUDA_ERROR_INVALID_VALUE;
    look_at_host(&c);
    if (!client_has_turn)
        result = client_give(c.at, c.to, c.from);
    if (result != CUDA_SUCCESS)
        return result;
    if (goes_whole(&c)) {
        result = copy_placed(&c);
    } else {
        struct copy row = c;
        row.rows = 1;
        for (uint64_t r = 0; r < c.rows && result == CUDA_SUCCESS; r++) {
            row.to = c.to + r * c.to_pitch;
            row.from = c.from + r * c.from_pitch;
            look_at_host(&row);
            result = copy_placed(&row);
        }
        c.waits = row.waits;
    }
    client_given();
    return result == CUDA_SUCCESS && c.waits ? synchronize(&c) : result;
}

CUresult client_copy_plain(uint64_t to, uint64_t from, uint64_t bytes, CUstream stream, bool waits)
{
    return client_copy_slice(
        &(struct weft_box){.to.device = to, .from.device = from, .width = bytes, .rows = 1}, stream,
        waits);
}

CUresult client_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return client_copy_plain(to, from, bytes, NULL, true);
}

CUresult client_copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return client_copy_plain(to, from, bytes, stream, false);
}
