/*
 * tests/mpi/test_mpi_threads.c - several threads of each process call MPI at once: messages of
 * their own tags, collectives on communicators of their own, and windows; objects of every kind,
 * made and freed, and such that the threads share.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static MPI_Comm comms[THREADS];
static int shared_key;
static MPI_Info shared_info;
static MPI_Datatype shared_type;

static void *run(void *argument)
{
    const int t = (int)(intptr_t)argument, right = (rank + 1) % size,
              left = (rank + size - 1) % size;

    for (int i = 0; i < ROUNDS; i++) {
        int out = rank * 1000 + i, in = -1, sum, one = 1;
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(&out, 1, MPI_INT, right, t, MPI_COMM_WORLD, &request);
        MPI_Recv(&in, 1, MPI_INT, left, t, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in == left * 1000 + i && status.MPI_TAG == t);
        if (i % 2 == 0) {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        } else {
            MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK(sum == size);
        if (i % 50 == 0) { /* communicators of several threads at once */
            MPI_Comm copy;
            MPI_Comm_dup(comms[t], &copy);
            MPI_Bcast(&out, 1, MPI_INT, 0, copy);
            CHECK(out == i);
            MPI_Comm_free(&copy);
        }
    }
    return NULL;
}

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    return value == NULL ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL && *code == MPI_ERR_RANK);
}

static void ignore(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

/* A key of this thread on a communicator of all, a key of all on its own, and a copy of it. */
static void attributes(int t)
{
    int key, mine = t, flag;
    int *got;
    MPI_Comm copy;

    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &mine);
    MPI_Comm_set_attr(comms[t], shared_key, &mine);
    MPI_Comm_get_attr(MPI_COMM_SELF, key, &got, &flag);
    CHECK(flag && got == &mine);
    MPI_Comm_dup(comms[t], &copy);
    MPI_Comm_get_attr(copy, shared_key, &got, &flag);
    CHECK(flag && got == &mine);
    MPI_Comm_free(&copy);
    CHECK(MPI_Comm_delete_attr(comms[t], shared_key) == MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, key) == MPI_SUCCESS);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &got, &flag);
    MPI_Comm_free_keyval(&key);
}

static void objects(int t)
{
    char name[MPI_MAX_OBJECT_NAME], key[8], value[8];
    int length, flag, one[1] = {0}, result;
    MPI_Datatype type = shared_type, vector, copy;
    MPI_Group world, some;
    MPI_Op op;
    MPI_Info info;

    MPI_Type_commit(&type);
    MPI_Type_vector(2, 1, 3, shared_type, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_dup(vector, &copy);
    MPI_Type_free(&vector);
    MPI_Type_set_name(shared_type, "shared");
    MPI_Type_get_name(shared_type, name, &length);
    CHECK(strcmp(name, "shared") == 0);
    MPI_Type_free(&copy);
    MPI_Op_create(ignore, 1, &op);
    MPI_Op_free(&op);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, one, &some);
    MPI_Group_compare(world, some, &result);
    CHECK((result == MPI_IDENT) == (size == 1));
    MPI_Group_free(&some);
    MPI_Group_free(&world);
    snprintf(key, sizeof(key), "key%d", t);
    MPI_Info_set(shared_info, key, key);
    MPI_Info_dup(shared_info, &info);
    MPI_Info_get(info, key, sizeof(value) - 1, value, &flag);
    CHECK(flag && strcmp(value, key) == 0);
    MPI_Info_free(&info);
    MPI_Info_delete(shared_info, key);
    MPI_Comm_set_name(MPI_COMM_SELF, "self");
}

/* Each sets its handler on a communicator of all, and errors there meet the one or the other. */
static void handlers(void)
{
    MPI_Errhandler mine, got;

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    MPI_Errhandler_free(&mine);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &got);
    MPI_Errhandler_free(&got);
    CHECK(MPI_Send(&size, 1, MPI_INT, 1, 0, MPI_COMM_SELF) == MPI_ERR_RANK);
}

static void requests(int t)
{
    int out = t, in[4] = {-1, -1, -1, -1}, flag;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;

    MPI_Irecv(&in[0], 1, MPI_INT, 0, t, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    MPI_Bsend(&out, 1, MPI_INT, 0, t, MPI_COMM_SELF);
    MPI_Send(&out, 1, MPI_INT, 0, t, MPI_COMM_SELF);
    MPI_Mprobe(0, t, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&in[1], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Issend(&out, 1, MPI_INT, 0, t, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && in[0] == t && in[1] == t);
}

static void *make(void *argument)
{
    const int t = (int)(intptr_t)argument;

    for (int i = 0; i < ROUNDS / 4; i++) {
        attributes(t);
        objects(t);
        handlers();
        requests(t);
    }
    return NULL;
}

static void together(void *(*part)(void *))
{
    pthread_t threads[THREADS];

    for (intptr_t t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, part, (void *)t) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static MPI_Win shared_window; /* locked by all; three words at rank 0 */

/* A window of each thread's own, and updates in one that all share. */
static void *windows(void *argument)
{
    const int t = (int)(intptr_t)argument, right = (rank + 1) % size;
    long *base, one = 1, old, from = rank * THREADS + t, last = -1;
    MPI_Win own;

    for (int i = 0; i < 3; i++) {
        MPI_Win_allocate(sizeof(*base), 1, MPI_INFO_NULL, comms[t], &base, &own);
        MPI_Win_fence(0, own);
        MPI_Put(&from, 1, MPI_LONG, right, 0, 1, MPI_LONG, own);
        MPI_Win_fence(0, own);
        CHECK(*base == (rank + size - 1) % size * THREADS + t);
        MPI_Win_free(&own);
    }
    for (int i = 0; i < 20; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, shared_window);
        CHECK(old > last);
        last = old;
        MPI_Accumulate(&one, 1, MPI_LONG, 0, sizeof(long), 1, MPI_LONG, MPI_SUM, shared_window);
        MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, 0, 2 * sizeof(long), 1, MPI_LONG,
                           MPI_BXOR, shared_window);
        MPI_Win_flush(0, shared_window);
    }
    return NULL;
}

static void share_window(void)
{
    const long expected = 20L * THREADS * size;
    long *base;

    MPI_Win_allocate(3 * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared_window);
    memset(base, 0, 3 * sizeof(long));
    MPI_Win_fence(0, shared_window);
    MPI_Win_lock_all(0, shared_window);
    together(windows);
    MPI_Win_unlock_all(shared_window);
    MPI_Win_fence(0, shared_window);
    CHECK(rank != 0 || (base[0] == expected && base[1] == expected && base[2] == 0));
    MPI_Win_free(&shared_window);
}

static int query(void *extra, MPI_Status *status)
{
    MPI_Status_set_cancelled(status, 0);
    ++*(int *)extra;
    return MPI_Status_set_elements(status, MPI_BYTE, 0);
}

static int release(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static MPI_Request general;
static pthread_barrier_t both;

static void *completes(void *unused)
{
    for (int i = 0; i < 20 * ROUNDS; i++) {
        pthread_barrier_wait(&both);
        MPI_Grequest_complete(general);
        pthread_barrier_wait(&both);
    }
    return unused;
}

/* Another thread completes generalized requests while this one waits for them, or frees them. */
static void generalized(void)
{
    pthread_t other;

    pthread_barrier_init(&both, NULL, 2);
    CHECK(pthread_create(&other, NULL, completes, NULL) == 0);
    for (int i = 0; i < 20 * ROUNDS; i++) {
        int calls = 0;
        MPI_Grequest_start(query, release, cancel, &calls, &general);
        MPI_Request own = general;
        pthread_barrier_wait(&both);
        if (i % 2 == 0)
            MPI_Wait(&own, MPI_STATUS_IGNORE);
        else
            MPI_Request_free(&own);
        pthread_barrier_wait(&both);
        CHECK(own == MPI_REQUEST_NULL && calls == (i % 2 == 0 ? 2 : 1));
    }
    pthread_join(other, NULL);
    pthread_barrier_destroy(&both);
}

int main(int argc, char **argv)
{
    char buffer[THREADS * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    void *detached;
    int provided, flag;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&provided);
    MPI_Is_thread_main(&flag);
    CHECK(provided == MPI_THREAD_MULTIPLE && flag);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    together(run);
    share_window();
    generalized();
    MPI_Comm_create_keyval(copied, deleted, &shared_key, NULL);
    MPI_Info_create(&shared_info);
    MPI_Type_contiguous(3, MPI_INT, &shared_type);
    MPI_Buffer_attach(buffer, sizeof(buffer));
    together(make);
    MPI_Buffer_detach(&detached, &flag);
    CHECK(detached == buffer && flag == sizeof(buffer));
    MPI_Info_get_nkeys(shared_info, &flag);
    CHECK(flag == 0);
    MPI_Info_free(&shared_info);
    MPI_Type_free(&shared_type);
    MPI_Comm_free_keyval(&shared_key);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return 0;
}
