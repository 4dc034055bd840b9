/* tests/mpi/point_requests.c - requests: persistent, several at once, taken back, and stale. */
#include "mpi_point.h"

void persistent(void)
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
void several(void)
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
void many(void)
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
void cancelled_sends(void)
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
void cancelled(void)
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
void empty_statuses(void)
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

void errors(void)
{
    int data[4] = {0}, code;
    MPI_Status status;
    MPI_Request request;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD) == MPI_ERR_TAG);
    CHECK(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, right, 0, NULL, 0, MPI_DATATYPE_NULL, left, 0,
                 MPI_COMM_WORLD, &status); /* nothing is meant */
    CHECK(status.MPI_SOURCE == left);
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
