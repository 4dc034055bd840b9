/* boot/frame.c - bytes of the control channel: hello, header, packets. Pure functions for any
 * thread. */
#include "boot/frame.h"

#include "boot/control.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_SPACE 65536u /* a stream always has room for this much */

static const char hello_magic[8] = {'w', 'e', 'f', 't', '-', 'j', 'o', 'b'};

static const uint32_t hello_version =
    WEFT_VERSION_MAJOR << 16 | WEFT_VERSION_MINOR << 8 | WEFT_VERSION_PATCH;

struct hello {
    char magic[sizeof(hello_magic)];
    uint32_t version, process, processes;
    unsigned char identity[sizeof(uint64_t)];
    char secret[WEFT_SECRET_BYTES]; /* padded with zeros */
};
_Static_assert(sizeof(struct hello) == WEFT_HELLO_BYTES, "no padding on the wire");

/* Behind a header's members: a stream out of step is noticed. */
static const uint16_t mark = 0x7766;
enum { AT_MARK = WEFT_HEADER_BYTES - (int)sizeof(mark) };
_Static_assert(offsetof(struct weft_header, op) + sizeof(uint16_t) == AT_MARK, "no padding");

const struct weft_refusal_row weft_refusals[WEFT_REFUSAL_COUNT] = {
#define WEFT_REFUSAL_ROW(name, status, text) {WEFT_##status, text},
    WEFT_REFUSAL_MAP(WEFT_REFUSAL_ROW)
#undef WEFT_REFUSAL_ROW
};

void weft_hello_put(unsigned char wire[WEFT_HELLO_BYTES], const struct weft_hello *hello)
{
    struct hello h = {.version = hello_version,
                      .process = (uint32_t)hello->process,
                      .processes = (uint32_t)hello->processes};

    memcpy(h.magic, hello_magic, sizeof(h.magic));
    memcpy(h.identity, &hello->identity, sizeof(h.identity));
    memcpy(h.secret, hello->secret, strnlen(hello->secret, WEFT_SECRET_BYTES));
    memcpy(wire, &h, sizeof(h));
}

enum weft_refusal weft_hello_check(const unsigned char wire[WEFT_HELLO_BYTES],
                                   const struct weft_hello *expected, struct weft_hello *hello)
{
    unsigned char right[WEFT_HELLO_BYTES], differs = 0;
    struct hello h;

    memcpy(&h, wire, sizeof(h));
    if (memcmp(h.magic, hello_magic, sizeof(h.magic)) != 0)
        return WEFT_REFUSAL_STRANGER;
    if (h.version != hello_version)
        return WEFT_REFUSAL_VERSION;
    weft_hello_put(right, expected);
    for (size_t i = offsetof(struct hello, secret); i < WEFT_HELLO_BYTES; i++)
        differs |= wire[i] ^ right[i];
    if (differs != 0)
        return WEFT_REFUSAL_SECRET;
    if (h.processes != (uint32_t)expected->processes)
        return WEFT_REFUSAL_PROCESSES;
    if (h.process >= h.processes)
        return WEFT_REFUSAL_INDEX;
    *hello = *expected;
    hello->process = (int)h.process;
    memcpy(&hello->identity, h.identity, sizeof(h.identity));
    return WEFT_REFUSAL_NONE;
}

void weft_header_put(unsigned char wire[WEFT_HEADER_BYTES], const struct weft_header *header)
{
    memcpy(wire, header, AT_MARK);
    memcpy(wire + AT_MARK, &mark, sizeof(mark));
}

bool weft_header_get(struct weft_header *header, const unsigned char wire[WEFT_HEADER_BYTES])
{
    struct weft_header h = {0};

    memcpy(&h, wire, AT_MARK);
    if (memcmp(wire + AT_MARK, &mark, sizeof(mark)) != 0 || h.op < WEFT_OP_FRAME ||
        h.op > WEFT_OP_REFUSED || h.bytes > (h.op == WEFT_OP_FRAME ? WEFT_FRAME_MAX : 0) ||
        (h.op == WEFT_OP_REFUSED && h.kind >= WEFT_REFUSAL_COUNT))
        return false;
    *header = h;
    return true;
}

bool weft_stream_reserve(struct weft_stream *stream)
{
    const size_t have = stream->end - stream->begin;
    struct weft_header header;
    size_t need = have + STREAM_SPACE;

    if (have >= WEFT_HEADER_BYTES && weft_header_get(&header, stream->data + stream->begin) &&
        need < WEFT_HEADER_BYTES + header.bytes)
        need = WEFT_HEADER_BYTES + header.bytes;
    if (stream->begin > 0) {
        memmove(stream->data, stream->data + stream->begin, have);
        stream->begin = 0;
        stream->end = have;
    }
    if (need <= stream->capacity)
        return true;
    unsigned char *data = realloc(stream->data, need);
    if (data == NULL)
        return false;
    stream->data = data;
    stream->capacity = need;
    return true;
}

int weft_stream_take(struct weft_stream *stream, struct weft_header *header, const void **payload)
{
    const size_t have = stream->end - stream->begin;

    if (have < WEFT_HEADER_BYTES)
        return 0;
    if (!weft_header_get(header, stream->data + stream->begin))
        return -1;
    if (have - WEFT_HEADER_BYTES < header->bytes)
        return 0;
    *payload = stream->data + stream->begin + WEFT_HEADER_BYTES;
    stream->begin += WEFT_HEADER_BYTES + header->bytes;
    return 1;
}

void weft_stream_free(struct weft_stream *stream)
{
    free(stream->data);
    *stream = (struct weft_stream){0};
}
