/*
 * net/mpi/packets.c - a packet is a message: sent from one buffer, and received into one of those
 * that wait for messages of anybody.
 */
#include "net/mpi/inside.h"

#include "base/say.h"

enum { TAG = 1 };

/* ---- that go --------------------------------------------------------------------------------- */

/* Notes that a packet to a process failed. The first one is enough: the job ends by it. */
static void lose(struct weft_transport *t, int process, int error)
{
    if (t->out.error != 0)
        return;
    t->out.error = error;
    t->out.lost = process;
    t->ops->explain(error, t->out.text, sizeof(t->out.text));
}

weft_status weft_mpi_commit(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes)
{
    const uint32_t buffer = (uint32_t)((packet - t->out.buffers[0]) / WEFT_MPI_PACKET);
    const int error = t->ops->isend(&t->comm, packet, bytes, t->peers[process].rank, TAG,
                                    &t->out.requests[buffer]);

    t->out.process[buffer] = process;
    if (error != 0)
        lose(t, process, error);
    else
        weft_mpi_add(&t->out.sent, buffer);
    return WEFT_OK;
}

/* Tells which packets MPI has sent. Those that it still has go behind the others. */
int weft_mpi_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0;

    for (uint32_t looks = t->out.sent.count; looks > 0 && count + 1 < most; looks--) {
        const uint32_t buffer = weft_mpi_take(&t->out.sent);
        const int process = t->out.process[buffer];
        bool done;
        size_t bytes;
        int from;
        const int error = t->ops->test(&t->out.requests[buffer], &done, &bytes, &from);
        if (error != 0) { /* the buffer may still be MPI's */
            lose(t, process, error);
        } else if (!done) {
            weft_mpi_add(&t->out.sent, buffer);
        } else {
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_SENT, .process = process, .count = 1, .value = buffer};
        }
    }
    if (t->out.error != 0 && !t->out.said)
        events[count++] = (struct weft_transport_event){
            .kind = WEFT_EVENT_LOST, .process = t->out.lost, .text = t->out.text};
    t->out.said = t->out.error != 0;
    return count;
}

/* ---- that come ------------------------------------------------------------------------------- */

void weft_mpi_post(struct weft_transport *t, uint32_t buffer)
{
    const int error = t->ops->irecv(&t->comm, t->in.buffers[buffer], WEFT_MPI_PACKET, -1, TAG,
                                    &t->in.requests[buffer]);

    if (error == 0)
        weft_mpi_add(&t->in.posted, buffer);
    else if (t->in.status == WEFT_OK)
        t->in.status = weft_mpi_failed(t->ops, error, "MPI_Irecv");
}

static weft_status failed(const struct weft_transport *t, int error)
{
    return t->ops->truncated(error)
               ? weft_err(WEFT_ERR_PROTOCOL, "mpi: a message that is longer than %d bytes came",
                          WEFT_MPI_PACKET)
               : weft_mpi_failed(t->ops, error, "receiving");
}

/* Tells which packets have come. Buffers get messages in the order in which they were posted, and
 * are looked at in that: so the packets of a process stay in order. */
int weft_mpi_poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0, from;
    bool done;
    size_t bytes;

    while (count < most && t->in.posted.count > 0 && t->in.status == WEFT_OK) {
        const uint32_t buffer = t->in.posted.ring[t->in.posted.first % WEFT_MPI_BUFFERS];
        const int error = t->ops->test(&t->in.requests[buffer], &done, &bytes, &from);
        if (error != 0)
            t->in.status = failed(t, error);
        if (error != 0 || !done)
            break;
        weft_mpi_take(&t->in.posted);
        const int process = t->process_of[from];
        t->peers[process].bye |= bytes == 0;
        if (bytes == 0)
            weft_mpi_post(t, buffer);
        else
            events[count++] = (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                                            .process = process,
                                                            .value = buffer,
                                                            .bytes = t->in.buffers[buffer],
                                                            .length = bytes};
    }
    return t->in.status == WEFT_OK ? count : -(int)t->in.status;
}
