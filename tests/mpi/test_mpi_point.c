/* tests/mpi/test_mpi_point.c - point-to-point between a process and its neighbours in a ring. */
#include "mpi_test.h"

static int left, right;

/* Every form of a send, sizes on both sides of every limit. */
static void forms(void)
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
static void order(void)
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

static void both_ways(void)
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

static void probes(void)
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

static void persistent(void)
{
    MPI_Request requests[2];
    int out, in;

    MPI_Recv_init(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 10; i++) {
        MPI_Status statuses[2];
        out = rank * 100 + i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK(in == left * 100 + i && statuses[0].MPI_SOURCE == left);
        CHECK(requests[0] != MPI_REQUEST_NULL);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* not active: returns */
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    MPI_Ssend_init(&out, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Recv(&in, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[1]);
}

/* Waits and tests of several requests. */
static void several(void)
{
    enum { N = 6 };
    MPI_Request requests[N], send;
    MPI_Status statuses[N];
    int in[N], out[N], index, flag, done, indices[N], seen = 0;

    for (int i = 0; i < N; i++) {
        out[i] = rank * 10 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Testany(N, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&out[4], 1, MPI_INT, right, 24, MPI_COMM_WORLD);
    MPI_Waitany(N, requests, &index, &statuses[0]);
    CHECK(index == 4 && in[4] == left * 10 + 4 && statuses[0].MPI_TAG == 24 &&
          requests[4] == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        if (i != 4)
            MPI_Send(&out[i], 1, MPI_INT, right, 20 + i, MPI_COMM_WORLD);
    while (seen < N - 1) {
        if (seen % 2 == 0)
            MPI_Waitsome(N, requests, &done, indices, statuses);
        else
            MPI_Testsome(N, requests, &done, indices, statuses);
        for (int i = 0; i < done; i++)
            CHECK(in[indices[i]] == left * 10 + indices[i] &&
                  statuses[i].MPI_TAG == 20 + indices[i]);
        seen += done;
    }
    MPI_Waitsome(N, requests, &done, indices, statuses);
    CHECK(done == MPI_UNDEFINED);
    MPI_Waitany(N, requests, &index, statuses);
    CHECK(index == MPI_UNDEFINED);
    MPI_Testany(N, requests, &index, &flag, statuses);
    CHECK(flag && index == MPI_UNDEFINED);
    /* A request that the program no longer wants. */
    MPI_Isend(out, 1, MPI_INT, right, 30, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    MPI_Irecv(in, 1, MPI_INT, left, 30, MPI_COMM_WORLD, &requests[0]);
    flag = 0;
    while (!flag)
        MPI_Request_get_status(requests[0], &flag, statuses);
    CHECK(requests[0] != MPI_REQUEST_NULL && statuses[0].MPI_TAG == 30);
    MPI_Test(&requests[0], &flag, statuses);
    CHECK(flag && requests[0] == MPI_REQUEST_NULL);
}

/* A wait for many requests of all kinds, after one in which a handle was none. */
static void many(void)
{
    enum { N = 400, NONE = 133 };
    static MPI_Request requests[N];
    static MPI_Status statuses[N];
    static int in[N][4], out[N];
    const MPI_Request none = (MPI_Request)(uintptr_t)0x500000071;
    MPI_Datatype apart;
    int count, flag;

    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    for (int i = 0; i < N; i++) {
        out[i] = rank * N + i;
        requests[i] = MPI_REQUEST_NULL;
        if (i % 7 < 3)
            MPI_Irecv(in[i], 2, MPI_INT, i % 7 == 0 ? MPI_ANY_SOURCE : left, i, MPI_COMM_WORLD,
                      &requests[i]);
        else if (i % 7 == 3)
            MPI_Irecv(in[i], 1, apart, left, i, MPI_COMM_WORLD, &requests[i]);
        else if (i % 7 == 4)
            MPI_Irecv(in[i], 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < N; i++)
        if (i % 7 == 5)
            MPI_Isend(&out[i], 1, MPI_INT, right, i - 5, MPI_COMM_WORLD, &requests[i]);
        else if (i % 7 == 6)
            MPI_Issend(&out[i], 1, MPI_INT, right, i - 5, MPI_COMM_WORLD, &requests[i]);
        else if (i % 7 == 2 || i % 7 == 3)
            MPI_Send(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) /* those of the last, incomplete group */
        if (i % 7 < 2 && i + 5 >= N)
            MPI_Send(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD);
    const MPI_Request was = requests[NONE];
    requests[NONE] = none;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Waitall(N, requests, statuses) == MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    requests[NONE] = was;
    MPI_Waitall(N, requests, statuses);
    for (int i = 0; i < N; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK(!flag);
        if (i % 7 > 3 || (i % 7 < 2 && i + 5 >= N))
            continue;
        if (i > NONE) { /* those before may have ended in the first call */
            MPI_Get_count(&statuses[i], MPI_INT, &count);
            CHECK(count == 1 && statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == i);
        }
        CHECK(in[i][0] == left * N + (i % 7 < 2 ? i + 5 : i));
    }
    MPI_Type_free(&apart);
}

/* Sends that nobody receives are taken back, or else are received; in every form and size. */
static void cancelled_sends(void)
{
    static const int sizes[] = {0, 1, 100, 8192, 70000, 1 << 20};
    static char out[1 << 20], in[1 << 20];
    MPI_Request request;
    MPI_Status status;
    int flag, there, count;

    for (int i = 0; i < 24; i++) {
        const int n = sizes[i / 4], form = i % 4, tag = 50 + i;
        if (form == 0)
            MPI_Isend(out, n, MPI_CHAR, right, tag, MPI_COMM_WORLD, &request);
        else if (form == 1)
            MPI_Issend(out, n, MPI_CHAR, right, tag, MPI_COMM_WORLD, &request);
        else if (form == 2)
            MPI_Send_init(out, n, MPI_CHAR, right, tag, MPI_COMM_WORLD, &request);
        else
            MPI_Ssend_init(out, n, MPI_CHAR, right, tag, MPI_COMM_WORLD, &request);
        if (form >= 2)
            MPI_Start(&request);
        if (n % 3 == 1) /* it is there, or perhaps on its way */
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag || form % 2 == 0); /* a synchronous one can be in no other way complete */
        CHECK((request == MPI_REQUEST_NULL) == (form < 2));
        if (form >= 2)
            MPI_Request_free(&request);
        MPI_Sendrecv(&flag, 1, MPI_INT, right, 41, &there, 1, MPI_INT, left, 41, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (!there) {
            MPI_Recv(in, n, MPI_CHAR, left, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &count);
            CHECK(count == n);
        }
        MPI_Iprobe(left, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
}

/* What is taken back, what is matched already, and what cannot be. */
static void cancelled(void)
{
    static char out[1 << 20], in[1 << 20];
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, send;
    MPI_Status statuses[3];
    int flag, number = -1;

    MPI_Irecv(in, 1, MPI_CHAR, left, 31, MPI_COMM_WORLD, &requests[1]);
    MPI_Cancel(&requests[1]);
    MPI_Waitall(3, requests, statuses);
    for (int i = 0; i < 3; i++) {
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK(flag == (i == 1) && statuses[i].MPI_ERROR == MPI_SUCCESS);
    }
    MPI_Recv_init(&number, 1, MPI_INT, left, 32, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], statuses);
    MPI_Test_cancelled(statuses, &flag);
    CHECK(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[0]);
    MPI_Send(&rank, 1, MPI_INT, right, 32, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], statuses);
    MPI_Test_cancelled(statuses, &flag);
    CHECK(!flag && number == left);
    MPI_Irecv(in, sizeof(in), MPI_CHAR, left, 33, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Issend(out, sizeof(out), MPI_CHAR, right, 33, MPI_COMM_WORLD, &send);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Cancel(&send);
    MPI_Wait(&send, statuses);
    MPI_Test_cancelled(statuses, &flag);
    CHECK(!flag);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Cancel(&send) == MPI_ERR_REQUEST);        /* none */
    CHECK(MPI_Cancel(&requests[0]) == MPI_ERR_REQUEST); /* not active */
    MPI_Ibarrier(MPI_COMM_WORLD, &send);
    CHECK(MPI_Cancel(&send) == MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
}

/* Of none, or of one that is not active, the status is the empty one. */
static void empty_statuses(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, count;

    for (int i = 0; i < 8; i++) {
        memset(&status, 0x55, sizeof(status));
        if (i == 4)
            MPI_Send_init(&count, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
        if (i % 4 == 0)
            MPI_Wait(&request, &status);
        else if (i % 4 == 1)
            MPI_Test(&request, &flag, &status);
        else if (i % 4 == 2)
            MPI_Waitany(1, &request, &count, &status);
        else
            MPI_Request_get_status(request, &flag, &status);
        MPI_Test_cancelled(&status, &flag);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
        CHECK(status.MPI_ERROR == MPI_SUCCESS && count == 0 && !flag);
    }
    MPI_Request_free(&request);
}

/* Handles of requests that are over, whose memory the next ones get. */
static void stale(void)
{
    int in[2] = {0}, out = 7, flag;
    MPI_Request request, was, freed, twice[2];
    MPI_Status status, statuses[2];

    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
        was = request;
        MPI_Send(&out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
        request = MPI_Request_f2c(MPI_Request_c2f(was)); /* Fortran's number has no generation */
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST);
        MPI_Irecv(&in[0], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &freed);
        MPI_Irecv(&in[1], 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &request);
        CHECK(was != freed && was != request && freed != request);
        CHECK(MPI_Test(&was, &flag, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST);
        CHECK(MPI_Cancel(&was) == MPI_ERR_REQUEST);
        was = freed;
        MPI_Request_free(&freed); /* it goes on without a handle */
        CHECK(MPI_Wait(&was, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST);
        MPI_Send(&out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
        MPI_Send(&out, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
        CHECK(MPI_Waitall(1, &request, &status) == MPI_SUCCESS && status.MPI_TAG == 4);
        CHECK(in[0] == 7 && in[1] == 7);
        /* One that is in a list twice ends once. */
        MPI_Irecv(in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &twice[0]);
        twice[1] = twice[0];
        MPI_Send(&out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
        CHECK(MPI_Waitall(2, twice, statuses) == MPI_ERR_IN_STATUS &&
              statuses[1].MPI_ERROR == MPI_ERR_REQUEST);
    }
}

static void errors(void)
{
    int data[4] = {0}, code;
    MPI_Status status;
    MPI_Request request;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD) == MPI_ERR_TAG);
    CHECK(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL) == MPI_ERR_COMM);
    CHECK(MPI_Bsend(data, 1, MPI_INT, right, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Send(NULL, 1, MPI_INT, right, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Irecv(data, 1, MPI_INT, left, 0, MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    MPI_Isend(data, 4, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
    code = MPI_Recv(data, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    MPI_Error_class(code, &code);
    CHECK(code == MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    request = (MPI_Request)(uintptr_t)0x500000071;
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST);
    stale();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    left = (rank - 1 + size) % size;
    right = (rank + 1) % size;
    forms();
    order();
    both_ways();
    probes();
    persistent();
    several();
    many();
    cancelled_sends();
    cancelled();
    empty_statuses();
    errors();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
