/*
 * net/ofi/inside.h - the state of the ofi transport, and what its files offer each other.
 *
 * One endpoint, a completion queue for each side. `lock` covers every call into libfabric, and what
 * the two sides share; so the provider need not be thread safe.
 */
#ifndef WEFT_NET_OFI_INSIDE_H
#define WEFT_NET_OFI_INSIDE_H

#include "base/netif.h"
#include "base/task.h"
#include "net/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

/*
 * libfabric, loaded when a job wants it. It brings its providers' libraries with it, and starting
 * them takes tenths of a second, which programs that need no fabric do not pay. All its other calls
 * are inline functions over what these return. X(name). dupinfo of NULL: a new, empty one.
 */
#define WEFT_OFI_LIBRARY(X) X(getinfo) X(freeinfo) X(dupinfo) X(fabric) X(strerror)

struct weft_ofi_library {
#define WEFT_OFI_FIELD(name) __typeof__(&fi_##name) name;
    WEFT_OFI_LIBRARY(WEFT_OFI_FIELD)
#undef WEFT_OFI_FIELD
};

enum {
    WEFT_OFI_PACKET = 16384, /* every process takes such packets; ofi_rxm sends them eagerly */
    WEFT_OFI_LONG = 1 << 17, /* packets to windows of a device: long puts come by them, too */
    WEFT_OFI_GATHERED = (1 << 19) + 4096, /* to windows of a device, if the provider gathers */
    WEFT_OFI_GATHER_FROM = 3 << 15,       /* shorter data is quicker in eager packets */
    WEFT_OFI_SENDS = 64,                  /* buffers for packets that go */
    WEFT_OFI_WRITES = 256,                /* writes under way */
    WEFT_OFI_RECEIVES = 128, /* buffers for packets that come; as many more if all are held */
    WEFT_OFI_RECEIVES_GATHERED = 32, /* buffers for packets that come, if they are so long */
    WEFT_OFI_BATCH = 64,             /* completions read at once */
    WEFT_OFI_PROCESS_BITS = 16
};

/* The remote data of a write: its sender, and above it the immediate of the peer layer. */
static inline uint64_t weft_ofi_data(int process, uint64_t immediate)
{
    return immediate << WEFT_OFI_PROCESS_BITS | (uint64_t)process;
}
static inline int weft_ofi_data_process(uint64_t data)
{
    return (int)(data & ((1u << WEFT_OFI_PROCESS_BITS) - 1));
}
static inline uint64_t weft_ofi_data_immediate(uint64_t data)
{
    return data >> WEFT_OFI_PROCESS_BITS;
}

enum weft_ofi_kind { WEFT_OFI_SEND, WEFT_OFI_WRITE, WEFT_OFI_RECEIVE };

/* What a completion belongs to: a packet in a buffer, or a write. */
struct weft_ofi_op {
    struct fi_context2 for_provider; /* first: libfabric gets its address */
    struct weft_ofi_op *next;
    enum weft_ofi_kind kind;
    int process;
    uint64_t value;       /* a write's cookie; the number of a packet's buffer */
    unsigned char *bytes; /* the packet's buffer */
    void *descriptor;
    long error; /* why the connection broke; 0: it has not */
};

/* Ops of one kind, and their buffers. */
struct weft_ofi_pool {
    struct weft_ofi_pool *next;
    unsigned char *memory; /* NULL: writes have none */
    struct fid_mr *mr;
    struct weft_ofi_op ops[];
};

/* What the provider can do; choose.c asks. */
struct weft_ofi_abilities {
    uint32_t data_bits;  /* of the remote data of writes; 0: no writes */
    bool ordered_writes; /* of two writes to one place the later one stays */
    bool local_mr, virtual_addresses, own_keys, bind_mr, data_takes_buffer;
    bool gathers;  /* packets of several parts, and memory that is not registered */
    size_t inject; /* the longest packet it takes at once */
};

struct weft_transport {
    struct weft_net_open open;
    const struct weft_ofi_library *fi;
    struct fi_info *info;
    struct weft_ofi_abilities can;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq[2]; /* by side */
    struct fid_ep *ep;
    bool enabled;           /* the endpoint */
    uint32_t packet, takes; /* bytes of the longest that goes, that comes */
    unsigned char
        name[160]; /* libfabric's address of the endpoint; zeros behind it, one at least */
    size_t name_bytes;
    fi_addr_t *addresses; /* of the processes */
    struct weft_ofi_pool *pools;
    struct weft_bell bells[2]; /* by side: the receive side rings for the other */
    int fd[2];                 /* of the queues, to sleep on; -1: none */

    struct weft_lock lock;
    uint32_t outstanding; /* send completions that will come */
    bool stuck;           /* the provider had no room: drive it */
    uint32_t vain; /* wakings by the receive queue's descriptor since something was in that queue */

    /* Who has the send lock. */
    struct weft_ofi_pool *packets; /* whose buffers the peer layer builds them in */
    struct weft_ofi_op *writes;    /* free operations for writes */
    struct weft_ofi_op *done;      /* operations whose event is to be given */

    /* The receive task's own. */
    struct weft_ofi_op *released; /* buffers to be posted again */
    uint32_t posted;
};

/* ---- choose.c: which provider, which interface, what it can do ---- */

/* Errors: CONFIG, NETWORK: none does. */
weft_status weft_ofi_choose(struct weft_transport *t);
/* The text of one of libfabric's error codes; it stays. */
const char *weft_ofi_error(long code);

/* ---- where.c ---- */

/*
 * The address that this process should use: WEFT_INTERFACE's, else the one towards the root. False:
 * none is known. A WEFT_INTERFACE that is no address or interface here is left to the provider's
 * own names.
 */
bool weft_ofi_local_address(const struct weft_net_open *open, union weft_address *address);
bool weft_ofi_same_host_address(const struct sockaddr *a, const struct sockaddr *b);

/* ---- memory.c: registered memory, and the memory of packets ---- */

weft_status weft_ofi_reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                         void **mr);
void weft_ofi_dereg(struct weft_transport *t, void *mr);
/* More ops, in t->pools; pushed to *list, if it is not NULL. Lock held, or nobody else is there.
 * Errors: MEMORY, NETWORK. */
weft_status weft_ofi_pool_open(struct weft_transport *t, enum weft_ofi_kind kind, size_t count,
                               struct weft_ofi_op **list);
/* The registrations of all; the memory. */
void weft_ofi_pools_unregister(struct weft_transport *t);
void weft_ofi_pools_close(struct weft_transport *t);

/* ---- move.c: packets, writes, events: as transport.h ---- */

weft_status weft_ofi_commit(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes);
weft_status weft_ofi_gather(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes, const void *data, size_t data_bytes);
weft_status weft_ofi_write(struct weft_transport *t, const struct weft_transport_write *write);
int weft_ofi_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most);
int weft_ofi_poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most);
void weft_ofi_release(struct weft_transport *t, int process, uint64_t packet);
bool weft_ofi_sleep(struct weft_transport *t, uint64_t ns);
/* Posts the buffers that were released, and more if there are none. Lock held. Errors: NETWORK. */
weft_status weft_ofi_post(struct weft_transport *t);

/* ---- ofi.c ---- */

/* Also of what was opened in part. */
void weft_ofi_close(struct weft_transport *t);
/* An error of libfabric's. */
weft_status weft_ofi_failed(const struct weft_transport *t, const char *what, long error);

static inline void weft_ofi_push(struct weft_ofi_op **list, struct weft_ofi_op *op)
{
    op->next = *list;
    *list = op;
}
static inline struct weft_ofi_op *weft_ofi_pop(struct weft_ofi_op **list)
{
    struct weft_ofi_op *op = *list;

    if (op != NULL)
        *list = op->next;
    return op;
}

#endif
