/*
 * net/arrive.h - how what a network receives takes effect in this process: memory that others may
 * put into, its keys and bounds, landing, notices, and when senders may be told.
 *
 * A receiver hands each put to weft_arrive_deliver, in the order in which puts take effect, and
 * ends a batch of them with weft_arrive_batch_end. When the data of the batch is in place, and all
 * data before it, the network's `conclude` is called with the batch's cookie: then what the data
 * came from may be used again, and the sender may be told. Where windows are the host's memory that
 * is at once; where a device fetches data, batches wait in a FIFO meanwhile.
 *
 * Receive thread, except where it says otherwise.
 */
#ifndef WEFT_NET_ARRIVE_H
#define WEFT_NET_ARRIVE_H

#include "base/task.h"
#include "device/device.h"
#include "net/net.h"
#include "net/rows.h"

enum { WEFT_NOTICE_KINDS = 16, WEFT_ARRIVE_BATCHES = 64 };

/* A notice, and the data that takes effect before it. */
struct weft_arrival {
    int process; /* whose; -1: the network cannot tell */
    uint32_t notice;
    size_t bytes; /* that whoever applies the notice lands first; 0: all is in place */
    void *target;
    const void *source; /* readable until a mark taken later is reached */
};

/*
 * Who applies a notice, by its kind (abi/notice.h). Receive thread; must not wait for another
 * process. PROTOCOL: the notice is malformed, and nothing has happened. DEVICE: the device failed.
 */
typedef weft_status (*weft_notice_apply)(void *context, const struct weft_arrival *arrival);
struct weft_notice_kinds {
    struct {
        weft_notice_apply apply; /* NULL: nobody */
        void *context;
    } of[WEFT_NOTICE_KINDS];
};

/* Before a network is opened with the table. */
void weft_notice_add(struct weft_notice_kinds *kinds, uint32_t kind, weft_notice_apply apply,
                     void *context);
/* By whom it concerns. Errors as there; PROTOCOL: nobody has registered the kind. */
weft_status weft_notice_take(const struct weft_notice_kinds *kinds,
                             const struct weft_arrival *arrival);

/*
 * Where windows are not memory that the host stores to: how data gets there. Networks call the
 * functions below instead. Receive thread. bool: false, the device failed.
 */
struct weft_arrive_device {
    void *context;
    /* Begins to copy data into a window; waits until all that was landed and counted is there. */
    bool (*land)(void *context, void *target, const void *source, size_t bytes);
    bool (*settle)(void *context);
    /* A mark behind all that; whether everything before it is there. Marks are reached in order. */
    bool (*mark)(void *context, uint64_t *mark);
    bool (*settled)(void *context, uint64_t mark, bool *there);
    /* The device itself; ops NULL: it is none that fetches from pinned memory. */
    const struct weft_device_ops *ops;
    struct weft_device *device;
};

/* A region. */
struct weft_exposure {
    unsigned char *base;
    size_t bytes;
    uint32_t generation;
    bool used, own;    /* own: the host stores there itself */
    void *mr;          /* the network's registration of it; NULL: none */
    uint64_t place[2]; /* what the others need to write there */
};

/* In a network's state. All members are arrive.c's. */
struct weft_arrive {
    const char *name;
    const struct weft_notice_kinds *kinds;
    const struct weft_arrive_device *device; /* NULL: none */

    struct weft_lock lock; /* over the regions */
    struct weft_exposure *list;
    uint32_t count;
    uint32_t found; /* the place in it that weft_arrive_placed found last */

    struct weft_net *net;
    weft_status (*conclude)(struct weft_net *net, uint64_t cookie);
    struct {
        uint64_t mark, cookie;
    } batches[WEFT_ARRIVE_BATCHES]; /* a FIFO */
    uint32_t first, waiting, most;
    bool unmarked; /* something came since the last mark */
};

/* name: for errors. most: batches that may wait, at most WEFT_ARRIVE_BATCHES. Cannot fail. */
void weft_arrive_open(struct weft_arrive *arrive, const char *name,
                      const struct weft_net_open *open, struct weft_net *net, uint32_t most,
                      weft_status (*conclude)(struct weft_net *net, uint64_t cookie));
/* Waits for the device, which may still read what the network frees next. Concludes nothing. */
void weft_arrive_close(struct weft_arrive *arrive);

/* ---- memory that others may put into. Any thread --------------------------------------------- */

/*
 * A key is a place in the table and its generation, so that a key that is no longer good is
 * recognised even when other memory has taken its place. Its top bit is never set. Errors: MEMORY.
 */
weft_status weft_arrive_reg(struct weft_arrive *arrive, void *base, size_t bytes, bool own,
                            uint64_t *key);
/*
 * When it returns, nothing is written there any more, except by the network's device until the
 * registration that was kept, which is returned, is gone.
 */
void *weft_arrive_dereg(struct weft_arrive *arrive, uint64_t key);

/* Keeps the network's own registration with a region. */
void weft_arrive_place(struct weft_arrive *arrive, uint64_t key, void *mr, const uint64_t place[2]);
/* A key's region; that in which memory lies, if a registration is kept of it. False: none. */
bool weft_arrive_region(struct weft_arrive *arrive, uint64_t key, struct weft_exposure *region);
bool weft_arrive_around(struct weft_arrive *arrive, const void *memory, size_t bytes,
                        struct weft_exposure *region);
/* The key of the region with that place[0]; one of no region, if there is none. */
uint64_t weft_arrive_placed(struct weft_arrive *arrive, uint64_t place);
/* A registration that is kept still, and no more then; NULL: none. Before weft_arrive_close. */
void *weft_arrive_left(struct weft_arrive *arrive);

/* ---- what arrives ---------------------------------------------------------------------------- */

/*
 * A put of a process (-1: unknown) takes effect: its data, then its notice; either may be missing
 * (bytes 0, notice 0). The data has to stay until the batch is concluded. Errors: PROTOCOL: key,
 * bounds or notice are wrong, nothing was written; DEVICE.
 */
weft_status weft_arrive_deliver(struct weft_arrive *arrive, int process, uint64_t key,
                                uint64_t offset, const void *data, size_t bytes, uint32_t notice);
/* The same with data in rows (net/rows.h). */
weft_status weft_arrive_rows(struct weft_arrive *arrive, int process, uint64_t key, uint64_t offset,
                             const struct weft_net_rows *rows, const void *data, size_t bytes,
                             uint32_t notice);
/* A notice whose data the network's device has written. 0 is malformed. Errors: as above. */
weft_status weft_arrive_notice(struct weft_arrive *arrive, int process, uint32_t notice);

/* Whether another batch may wait. If not, nothing is to be delivered. */
bool weft_arrive_has_room(const struct weft_arrive *arrive);
/* Ends a batch; concludes it at once if nothing is on its way to a device. Errors: DEVICE, its. */
weft_status weft_arrive_batch_end(struct weft_arrive *arrive, uint64_t cookie);
/* Concludes the batches whose data is there. *did is set while any wait: nothing rings then. */
weft_status weft_arrive_settle(struct weft_arrive *arrive, bool *did);

/* ---- what a network needs of the device ------------------------------------------------------ */

/* Whether data lands later than it is delivered, and nobody but the device writes windows. */
bool weft_arrive_is_later(const struct weft_net_open *open);
/*
 * Memory from which much will land: the device can fetch it without the processor's help. Within
 * open and close. False: it cannot be done, which is said, and all is only slower.
 */
bool weft_arrive_pin(const struct weft_arrive *arrive, void *memory, size_t bytes);
void weft_arrive_unpin(const struct weft_arrive *arrive, void *memory); /* NULL: nothing */
/*
 * device.h: dmabuf, for a network whose own device writes windows; -1: there is none. As reg. And
 * before what such a device wrote is told: ranks who learn of it see it. Errors: DEVICE.
 */
bool weft_arrive_has_dmabuf(const struct weft_arrive *arrive);
int weft_arrive_dmabuf(const struct weft_arrive *arrive, void *base, size_t bytes,
                       uint64_t *offset);
weft_status weft_arrive_reached(const struct weft_arrive *arrive);

#endif
