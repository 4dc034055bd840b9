/*
 * weft-info/stream.h - a stream of data through the network shm between two ends in this process,
 * from memory to memory: what a put to another process goes through, without a job.
 */
#ifndef WEFT_INFO_STREAM_H
#define WEFT_INFO_STREAM_H

#include "device/device.h"
#include "net/transport.h"

#include <pthread.h>

enum { STREAM_MOST = 16 << 20, STREAM_DEPTH = 64, STREAM_HOST = 32 << 20 };

struct stream {
    struct weft_config config;
    const struct weft_device_ops *ops; /* NULL: host memory at both ends */
    struct weft_device *device;
    struct weft_net_device end;
    struct weft_net *net[2]; /* by end: from 0 to 1 */
    unsigned char *source, *window;
    struct weft_share source_share, window_share;
    uint64_t key;
    unsigned char *host; /* pinned, for pieces on their way; NULL without a device */
    bool through_rings, host_allocated;
    pthread_t receiver;
    bool receives;
    uint32_t stop, failed;    /* the receiver: ends, has failed */
    uint64_t sent, delivered; /* pieces */
};

/*
 * With rings as config says. device: windows and sources lie in its memory, which the host cannot
 * reach; it stays the caller's. through_rings: pieces come from memory that the receiver cannot
 * read itself. False, after a line that says why.
 */
bool stream_open(struct stream *stream, const struct weft_config *config,
                 const struct weft_device_ops *ops, struct weft_device *device, bool through_rings);
void stream_close(struct stream *stream);

/*
 * Moves `bytes` (at most STREAM_MOST), in pieces of which so many are under way (at most
 * STREAM_DEPTH, and `piece` times that fits into STREAM_HOST), until all are delivered. Its rate in
 * GB/s, the best of several; 0, after a line that says why: it failed.
 */
double stream_rate(struct stream *stream, size_t bytes, size_t piece, uint32_t depth);

#endif
