/* tests/mpi/more_requests.c - requests of the program, and persistent collectives. */
#include "mpi_more.h"

#include <malloc.h>

static int queried, freed, cancelled, refused;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, abs(*(int *)extra));
    MPI_Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = 77;
    status->MPI_TAG = 78;
    return refused;
}

static int release(void *extra)
{
    freed++;
    return *(int *)extra < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancelled = !complete;
    return MPI_SUCCESS;
}

void general(void)
{
    int extra = 3, flag, count;
    MPI_Request request, copy;
    MPI_Status status;

    MPI_Grequest_start(query, release, cancel, &extra, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queried == 0);
    copy = request;
    MPI_Cancel(&request);
    CHECK(cancelled);
    MPI_Grequest_complete(copy);
    MPI_Wait(&request, &status);
    CHECK(queried == 1 && freed == 1 && request == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &flag);
    CHECK(count == 3 && flag && status.MPI_SOURCE == 77 && status.MPI_TAG == 78);
    MPI_Grequest_start(query, release, cancel, &extra, &request);
    MPI_Grequest_complete(request);
    extra = 5; /* each call that tells the status asks for it */
    MPI_Request_get_status(request, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(flag && count == 5 && queried == 2 && freed == 1);
    refused = MPI_ERR_ARG; /* what the callbacks return is the call's error */
    FAILS(MPI_ERR_ARG, MPI_Request_get_status(request, &flag, &status));
    refused = MPI_SUCCESS;
    extra = -1;
    FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(freed == 2);
    MPI_Grequest_start(query, release, cancel, &extra, &request);
    MPI_Grequest_complete(request);
    extra = 1;
    MPI_Request_free(&request);
    CHECK(queried == 4 && freed == 3);
    for (extra = 1; extra >= -1; extra -= 2) { /* freed first: its completion ends it */
        MPI_Grequest_start(query, release, cancel, &extra, &request);
        copy = request;
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL && freed == 4 - (extra > 0));
        if (extra > 0)
            MPI_Grequest_complete(copy);
        else
            FAILS(MPI_ERR_OTHER, MPI_Grequest_complete(copy));
        CHECK(queried == 4 && freed == 5 - (extra > 0));
    }
}

static void larger(void *from, void *into, count_t *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((int *)from)[i] > ((int *)into)[i])
            ((int *)into)[i] = ((int *)from)[i];
}

/* A persistent collective keeps what it names: the program may give it back before the start. */
void persistent_names(void)
{
    const size_t n = (size_t)size;
    int *send = memory(n * 2 * sizeof(int)), *got = memory(n * 2 * sizeof(int)), most = -1;
    count_t *ones = memory(n * sizeof(*ones));
    place_t *offsets = memory(n * sizeof(*offsets));
    MPI_Datatype *types = memory(n * sizeof(MPI_Datatype));
    MPI_Request requests[2];
    MPI_Op op;

    for (int i = 0; i < size; i++) {
        ones[i] = 1;
        offsets[i] = i * 2 * (int)sizeof(int);
        MPI_Type_contiguous(2, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
        send[2 * i] = send[2 * i + 1] = rank * size + i;
    }
    MPI_Op_create(larger, 1, &op);
    MPI_Allreduce_init(&rank, &most, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Alltoallw_init(send, ones, offsets, types, got, ones, offsets, types, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[1]);
    MPI_Op_free(&op);
    for (int i = 0; i < size; i++)
        MPI_Type_free(&types[i]);
    for (int round = 0; round < 2; round++) {
        memset(got, 0xff, n * 2 * sizeof(int));
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(most == size - 1);
        for (int i = 0; i < size; i++)
            CHECK(got[2 * i] == i * size + rank && got[2 * i + 1] == i * size + rank);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(send);
    free(got);
    free(ones);
    free(offsets);
    free(types);
}

/* A start that fails when it has packed gives the memory back: there is no buffer for its send. */
static void start_in_vain(void)
{
    enum { PIECES = 30000, TIMES = 50 };
    int *const spread = memory(2 * PIECES * sizeof(*spread));
    MPI_Request request;
    MPI_Datatype every_other;

    memset(spread, 0, 2 * PIECES * sizeof(*spread));
    MPI_Type_vector(PIECES, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Bsend_init(spread, 1, every_other, rank, 0, MPI_COMM_WORLD, &request);
    const struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < TIMES; i++)
        FAILS(MPI_ERR_BUFFER, MPI_Start(&request));
    const struct mallinfo2 after = mallinfo2();
    /* not each; processes that are threads share a heap, and some of it is others' just now */
    CHECK(after.uordblks + after.hblkhd <
          before.uordblks + before.hblkhd + TIMES / 2 * PIECES * sizeof(int));
    MPI_Request_free(&request);
    MPI_Type_free(&every_other);
    free(spread);
}

void persistent(void)
{
    int in[8], out[8], *all = memory((size_t)size * sizeof(int)), *each;
    int *send = memory((size_t)size * sizeof(int)), sum;
    MPI_Request requests[5], twice;
    MPI_Datatype pairs;

    each = memory((size_t)size * sizeof(int));
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Bcast_init(out, 2, pairs, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Allgather_init(in, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[2]);
    MPI_Alltoall_init(send, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[3]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[4]);
    MPI_Type_free(&pairs); /* the request keeps it */
    /* Arrays may go, too. */
    count_t *counts = memory((size_t)size * sizeof(*counts));
    int part = -1;
    for (int i = 0; i < size; i++)
        counts[i] = 1;
    MPI_Request scattered;
    MPI_Reduce_scatter_init(send, &part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &scattered);
    memset(counts, 0xff, (size_t)size * sizeof(*counts));
    free(counts);
    for (int i = 0; i < size; i++)
        send[i] = rank + i;
    MPI_Start(&scattered);
    MPI_Wait(&scattered, MPI_STATUS_IGNORE);
    CHECK(part == size * (size - 1) / 2 + size * rank);
    MPI_Request_free(&scattered);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            in[i] = rank + round;
            out[i] = rank == 0 ? round * 10 + i : -1;
        }
        for (int i = 0; i < size; i++)
            send[i] = rank * 100 + i + round;
        for (int i = 0; i < 5; i++) /* in another order everywhere */
            MPI_Start(&requests[(i + rank) % 5]);
        MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
        CHECK(sum == size * (size - 1) / 2 + size * round);
        for (int i = 0; i < 4; i++)
            CHECK(out[i] == round * 10 + i);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == i + round && each[i] == i * 100 + rank + round);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COMM, MPI_Bcast_init(out, 2, MPI_INT, 0, MPI_COMM_NULL, MPI_INFO_NULL, &twice));
    MPI_Start(&requests[4]);
    FAILS(MPI_ERR_REQUEST, MPI_Start(&requests[4]));
    MPI_Wait(&requests[4], MPI_STATUS_IGNORE);
    start_in_vain();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 5; i++)
        MPI_Request_free(&requests[i]);
    free(all);
    free(each);
    free(send);
}
