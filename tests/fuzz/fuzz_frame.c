/*
 * fuzz_frame.c - the stream of packets of the control channel, received in pieces of any size: what
 * is taken is whole, within its bounds, and the same as what was sent.
 */
#include "fuzz.h"

#include "boot/control.h"
#include "boot/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    struct weft_stream stream = {0};
    const size_t piece_most = 1 + fuzz_byte(&in) * fuzz_byte(&in);
    const uint8_t *sent = in.data; /* the packets, one behind the other */
    int taken = 0;

    while (in.size > 0 && taken >= 0) {
        struct weft_header header;
        const void *payload;
        MUST(weft_stream_reserve(&stream));
        const size_t room = stream.capacity - stream.end;
        MUST(room > 0);
        size_t piece = in.size < piece_most ? in.size : piece_most;
        piece = piece < room ? piece : room;
        memcpy(stream.data + stream.end, in.data, piece);
        stream.end += piece;
        in.data += piece;
        in.size -= piece;
        while ((taken = weft_stream_take(&stream, &header, &payload)) > 0) {
            unsigned char wire[WEFT_HEADER_BYTES];
            MUST(header.bytes <= WEFT_FRAME_MAX);
            weft_header_put(wire, &header);
            MUST(memcmp(wire, sent, sizeof(wire)) == 0);
            MUST(header.bytes == 0 || memcmp(payload, sent + sizeof(wire), header.bytes) == 0);
            sent += sizeof(wire) + header.bytes;
            MUST(sent <= in.data);
            MUST(header.op != WEFT_OP_REFUSED || weft_refusals[header.kind].text != NULL);
        }
    }
    weft_stream_free(&stream);
    return 0;
}
