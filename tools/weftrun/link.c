/* link.c - records over a pair of descriptors. */
#include "link.h"

#include "weftrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool no_waiting(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool link_open(struct link *link, int in, int out, int silence_s)
{
    const uint64_t now = weft_now_ns();

    *link = (struct link){
        .in = in, .out = out, .silence_s = silence_s, .heard = now, .spoke = now, .asked = now};
    return no_waiting(in) && no_waiting(out);
}

void link_close(struct link *link)
{
    if (link->out >= 0 && link->out != link->in)
        close(link->out);
    if (link->in >= 0)
        close(link->in);
    weft_stream_free(&link->received);
    free(link->waiting);
    *link = (struct link){.in = -1, .out = -1};
}

/* ---- sending --------------------------------------------------------------------------------- */

bool link_flush(struct link *link)
{
    while (link->out >= 0 && link->begin < link->end) {
        const ssize_t sent = write(link->out, link->waiting + link->begin, link->end - link->begin);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        link->begin += (size_t)sent;
    }
    if (link->begin == link->end)
        link->begin = link->end = 0;
    return link->out >= 0;
}

static bool make_room(struct link *link, size_t bytes)
{
    if (link->capacity - link->end >= bytes)
        return true;
    if (link->begin > 0) {
        memmove(link->waiting, link->waiting + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    if (link->capacity - link->end >= bytes)
        return true;
    char *more = realloc(link->waiting, 2 * (link->end + bytes));
    if (more == NULL)
        return false;
    link->waiting = more;
    link->capacity = 2 * (link->end + bytes);
    return true;
}

bool link_send(struct link *link, enum record kind, int process, const void *payload, size_t bytes)
{
    const struct weft_header header = {.bytes = (uint32_t)bytes,
                                       .kind = (uint16_t)kind,
                                       .source = (uint16_t)process,
                                       .op = WEFT_OP_FRAME};

    if (link->out < 0 || !make_room(link, WEFT_HEADER_BYTES + bytes))
        return false;
    weft_header_put((unsigned char *)link->waiting + link->end, &header);
    if (bytes > 0)
        memcpy(link->waiting + link->end + WEFT_HEADER_BYTES, payload, bytes);
    link->end += WEFT_HEADER_BYTES + bytes;
    link->spoke = weft_now_ns();
    return link_flush(link);
}

bool link_text(struct link *link, enum record kind, const char *text)
{
    return link_send(link, kind, 0, text, strlen(text));
}

bool link_beat(struct link *link)
{
    /* What waits to be sent says as much, once it gets through. */
    if (link_backlog(link) > 0 || weft_now_ns() - link->spoke < (uint64_t)LINK_BEAT_MS * 1000000)
        return true;
    return link_send(link, RECORD_BEAT, 0, NULL, 0);
}

/* ---- receiving ------------------------------------------------------------------------------- */

bool link_read(struct link *link)
{
    struct weft_stream *stream = &link->received;

    if (link->in < 0 || !weft_stream_reserve(stream))
        return false;
    const ssize_t got = read(link->in, stream->data + stream->end, stream->capacity - stream->end);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0)
        return false;
    stream->end += (size_t)got;
    link->heard = weft_now_ns();
    return true;
}

int link_take(struct link *link, struct weft_header *header, const void **payload)
{
    const int taken = weft_stream_take(&link->received, header, payload);

    if (taken > 0 &&
        (header->op != WEFT_OP_FRAME || header->kind == 0 || header->kind >= RECORD_COUNT))
        return -1;
    return taken;
}

bool link_silent(struct link *link)
{
    const uint64_t now = weft_now_ns(), passed = now - link->asked;

    if (passed > (uint64_t)LINK_BEAT_MS * 1000000)
        link->heard = now;
    link->asked = now;
    return now - link->heard > (uint64_t)link->silence_s * 1000000000;
}

void link_put_number(unsigned char wire[4], uint32_t number)
{
    for (int i = 0; i < 4; i++)
        wire[i] = (unsigned char)(number >> 8 * i);
}

bool link_get_number(uint32_t *number, const void *payload, size_t bytes)
{
    const unsigned char *wire = payload;

    if (bytes != 4)
        return false;
    *number = wire[0] | (uint32_t)wire[1] << 8 | (uint32_t)wire[2] << 16 | (uint32_t)wire[3] << 24;
    return true;
}
