/* tests/mpi/comm_attributes.c - attributes of communicators, and error handlers. */
#include "mpi_comm.h"

#include <stdbool.h>

static int copies, deletes;

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    CHECK(extra == &copies);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    CHECK(extra == &copies);
    deletes++;
    return MPI_SUCCESS;
}

void attributes(void)
{
    int key, flag, *number;
    void *value;
    char text[8];
    MPI_Comm copy;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WIN_BASE, &number, &flag); /* of windows */
    CHECK(!flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    CHECK(flag && *number >= 32767);
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &copies);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, text);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, text + 1);
    CHECK(deletes == 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(copies == 1 && flag && value == text + 2);
    MPI_Comm_free(&copy);
    CHECK(deletes == 2);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    CHECK(deletes == 3);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, text);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID); /* the value goes with MPI_Finalize */
}

enum { LAST = 5 };
static int finals; /* deleted by MPI_Finalize */

static int delete_final(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int finalized, sum, one = 1;

    (void)extra;
    finals++;
    CHECK((intptr_t)value == LAST - finals); /* last first */
    MPI_Finalized(&finalized);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(comm == MPI_COMM_SELF && !finalized && sum == size);
    MPI_Comm_free_keyval(&keyval); /* again: it is there as long as there are values */
    return MPI_SUCCESS;
}

static bool fails;

static int copy_or_fail(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *flag = 1;
    return fails ? MPI_ERR_OTHER : copy_attribute(comm, keyval, extra, in, out, flag);
}

static int delete_or_fail(MPI_Comm comm, int keyval, void *value, void *extra)
{
    return fails ? MPI_ERR_OTHER : delete_attribute(comm, keyval, value, extra);
}

/* Callbacks that fail, and what a duplicate begins with. */
void callbacks(void)
{
    MPI_Comm comm, copy;
    MPI_Request request;
    int key, flag, before;
    char text[4];
    void *value;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy_or_fail, delete_or_fail, &key, &copies);
    MPI_Comm_set_attr(comm, key, text);
    fails = true;
    CHECK(MPI_Comm_set_attr(comm, key, text + 1) == MPI_ERR_OTHER);
    CHECK(MPI_Comm_delete_attr(comm, key) == MPI_ERR_OTHER);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_ERR_OTHER && copy == MPI_COMM_NULL);
    CHECK(MPI_Comm_free(&comm) == MPI_ERR_OTHER && comm != MPI_COMM_NULL);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(flag && value == text);
    fails = false;
    before = deletes;
    MPI_Comm_idup(comm, &copy, &request);
    MPI_Comm_delete_attr(comm, key); /* after the call: the copy has it */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(flag && value == text + 1 && deletes == before + 1);
    CHECK(MPI_Send(&flag, 1, MPI_INT, size, 0, copy) == MPI_ERR_RANK);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    copies--;
    deletes -= 2;
    for (intptr_t i = 0; i < LAST; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_final, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)i);
        flag = key;
        MPI_Comm_free_keyval(&key);
        CHECK(MPI_Comm_free_keyval(&flag) == MPI_SUCCESS);
    }
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL && *code == MPI_ERR_RANK);
    handled++;
}

void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_Comm copy;
    int data = 0;

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_errhandler(copy, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(copy, mine);
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(&data, 1, MPI_INT, size, 0, copy) == MPI_ERR_RANK && handled == 1);
    MPI_Comm_free(&copy);
}

/* After MPI_Finalize. */
void all_deleted(void)
{
    CHECK(deletes == 4 && finals == LAST);
}
