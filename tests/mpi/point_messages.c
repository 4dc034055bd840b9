/* tests/mpi/point_messages.c - sends and receives of every form and size, their order, and probes.
 */
#include "mpi_point.h"

/* Every form of a send, sizes on both sides of every limit. */
void forms(void)
{
    static const int sizes[] = {0, 1, 7, 8, 100, 4096, 8192, 8193, 70000, 1 << 20};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        const int n = sizes[s];
        unsigned char *out = memory((size_t)n), *in = memory((size_t)n);
        for (int form = 0; form < 8; form++) {
            MPI_Request receive, send = MPI_REQUEST_NULL;
            MPI_Status status;
            int count;
            for (int i = 0; i < n; i++)
                out[i] = (unsigned char)mix((uint32_t)rank, (uint32_t)form, (uint32_t)i);
            memset(in, 0, (size_t)n);
            void *buffer = memory((size_t)n + MPI_BSEND_OVERHEAD);
            MPI_Buffer_attach(buffer, n + MPI_BSEND_OVERHEAD);
            MPI_Irecv(in, n, MPI_BYTE, left, form, MPI_COMM_WORLD, &receive);
            switch (form) {
            case 0:
                MPI_Send(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD);
                break;
            case 1:
                MPI_Ssend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD);
                break;
            case 2:
                MPI_Rsend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD);
                break;
            case 3:
                MPI_Bsend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD);
                memset(out, 0xee, (size_t)n);
                break;
            case 4:
                MPI_Isend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD, &send);
                break;
            case 5:
                MPI_Issend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD, &send);
                break;
            case 6:
                MPI_Irsend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD, &send);
                break;
            default:
                MPI_Ibsend(out, n, MPI_BYTE, right, form, MPI_COMM_WORLD, &send);
                break;
            }
            CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
            CHECK(receive == MPI_REQUEST_NULL);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(status.MPI_SOURCE == left && status.MPI_TAG == form && count == n);
            for (int i = 0; i < n; i++)
                CHECK(in[i] == (unsigned char)mix((uint32_t)left, (uint32_t)form, (uint32_t)i));
            count_t detached;
            MPI_Buffer_detach(&buffer, &detached);
            CHECK(detached == n + MPI_BSEND_OVERHEAD);
            free(buffer);
        }
        free(out);
        free(in);
    }
}

/* Messages of one pair match in the order of the sends, whatever their sizes and the receives. */
void order(void)
{
    enum { MANY = 200 };
    MPI_Request sends[MANY];
    int *out[MANY];

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        const size_t n = 1 + mix((uint32_t)i, 7, 0) % (i % 5 == 0 ? 20000 : 50);
        out[i] = memory(n * sizeof(int));
        for (size_t k = 0; k < n; k++)
            out[i][k] = i;
        MPI_Isend(out[i], (int)n, MPI_INT, right, i % 3, MPI_COMM_WORLD, &sends[i]);
    }
    int next[3] = {0, 1, 2}; /* of each tag */
    int *in = memory(20000 * sizeof(int));
    for (int i = 0; i < MANY; i++) {
        MPI_Status status;
        int count;
        const int tag = i % 2 == 0 || next[(i / 2) % 3] >= MANY ? MPI_ANY_TAG : (i / 2) % 3;
        MPI_Recv(in, 20000, MPI_INT, i % 4 < 2 ? left : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                 &status);
        MPI_Get_count(&status, MPI_INT, &count);
        const int expected = next[status.MPI_TAG];
        next[status.MPI_TAG] += 3;
        CHECK(status.MPI_SOURCE == left && in[0] == expected && in[count - 1] == expected);
        CHECK(count == (int)(1 + mix((uint32_t)expected, 7, 0) % (expected % 5 == 0 ? 20000 : 50)));
    }
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        free(out[i]);
    free(in);
}

void both_ways(void)
{
    int out = rank, in = -1, pair[2] = {rank, rank};
    MPI_Status status;
    MPI_Request request;

    MPI_Sendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    CHECK(in == left && status.MPI_SOURCE == left);
    MPI_Sendrecv_replace(pair, 2, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(pair[0] == left && pair[1] == left);
    in = -1;
    MPI_Isendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(in == left && status.MPI_SOURCE == left);
    pair[0] = pair[1] = rank;
    MPI_Isendrecv_replace(pair, 2, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(pair[0] == left && pair[1] == left);
    /* Nobody. */
    in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 1, &in, 1, MPI_INT, MPI_PROC_NULL, 1,
                 MPI_COMM_WORLD, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(in == -1 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG &&
          count == 0);
}

void probes(void)
{
    int data[3] = {rank, rank + 1, rank + 2}, in[3], flag = 0, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request, sends[5];

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int tag = 5; tag < 10; tag++)
        MPI_Isend(data, tag % 4, MPI_INT, right, tag, MPI_COMM_WORLD, &sends[tag - 5]);
    MPI_Probe(left, 6, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 6 && count == 2);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3);
    MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, &status);
    MPI_Iprobe(left, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Mrecv(in, 3, MPI_INT, &message, &status);
    CHECK(in[2] == left + 2 && message == MPI_MESSAGE_NULL && status.MPI_TAG == 7);
    flag = 0;
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Imrecv(in, 3, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 2 && in[1] == left + 1);
    for (int i = 0; i < 3; i++) {
        MPI_Recv(in, 3, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_TAG == (i == 0 ? 5 : 7 + i));
    }
    MPI_Waitall(5, sends, MPI_STATUSES_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, 3, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
}
