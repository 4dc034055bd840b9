/* tests/mpi/rma_windows.c - windows of all kinds, what programs ask of them, and what is refused.
 */
#include "mpi_rma.h"

static MPI_Win win;

static int deleted;

static int count_delete(MPI_Win w, int keyval, void *value, void *extra)
{
    (void)w;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static int raised;

static void handler(MPI_Win *w, int *code, ...)
{
    CHECK(*w == win);
    raised = *code;
}

void attributes(void)
{
    int memory[N], flag, keyval, result, length, *unit, *flavor, *model;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group, world;
    MPI_Errhandler own, got;
    MPI_Aint *bytes;
    MPI_Info info;
    void *base;

    open_window(memory, &win);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag) == MPI_SUCCESS && flag);
    CHECK(base == memory);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag) == MPI_SUCCESS && flag);
    CHECK(*bytes == sizeof(memory));
    CHECK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag) == MPI_SUCCESS && flag);
    CHECK(*unit == sizeof(int));
    CHECK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag) == MPI_SUCCESS && flag);
    CHECK(*flavor == MPI_WIN_FLAVOR_CREATE);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag) == MPI_SUCCESS && flag);
    CHECK(*model == MPI_WIN_UNIFIED);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_delete, &keyval, NULL);
    CHECK(MPI_Win_get_attr(win, keyval, &base, &flag) == MPI_SUCCESS && !flag);
    MPI_Win_set_attr(win, keyval, &flag);
    CHECK(MPI_Win_get_attr(win, keyval, &base, &flag) == MPI_SUCCESS && flag && base == &flag);
    MPI_Win_delete_attr(win, keyval);
    CHECK(deleted == 1);
    MPI_Win_set_attr(win, keyval, &flag);
    MPI_Win_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0);
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "no_locks", MPI_MAX_OBJECT_NAME - 1, name, &flag);
    CHECK(flag && strcmp(name, "true") == 0);
    MPI_Info_get(info, "same_size", MPI_MAX_OBJECT_NAME - 1, name, &flag);
    CHECK(flag && strcmp(name, "false") == 0);
    MPI_Info_free(&info);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(handler, &own);
    MPI_Win_set_errhandler(win, own);
    MPI_Errhandler_free(&own);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(raised == MPI_ERR_OTHER);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    CHECK(raised == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL && deleted == 2);
}

void dynamic(void)
{
    enum { REGIONS = 20 };
    int memory[REGIONS][4], to = (rank + 1) % size, value;
    MPI_Aint address[REGIONS], theirs[REGIONS];
    MPI_Win w;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    for (int i = 0; i < REGIONS; i++) {
        memset(memory[i], 0, sizeof(memory[i]));
        CHECK(MPI_Win_attach(w, memory[i], sizeof(memory[i])) == MPI_SUCCESS);
        MPI_Get_address(memory[i], &address[i]);
    }
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(w, memory[3] + 1, 4));
    MPI_Sendrecv(address, REGIONS, MPI_AINT, (rank + size - 1) % size, 0, theirs, REGIONS, MPI_AINT,
                 to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w);
    for (int i = 0; i < REGIONS; i++) {
        value = rank * 100 + i;
        MPI_Put(&value, 1, MPI_INT, to, MPI_Aint_add(theirs[i], sizeof(int)), 1, MPI_INT, w);
        MPI_Accumulate(&value, 1, MPI_INT, to, MPI_Aint_add(theirs[i], sizeof(int)), 1, MPI_INT,
                       MPI_SUM, w);
        MPI_Win_flush_local(to, w);
    }
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, to, 16, 1, MPI_INT, w));
    MPI_Win_unlock(to, w);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w);
    for (int i = 0; i < REGIONS; i++)
        CHECK(memory[i][1] == 2 * ((rank + size - 1) % size * 100 + i));
    MPI_Win_unlock(rank, w);
    /* Operations over regions that lie side by side. */
    int many[12], got[12];
    for (int i = 0; i < 12; i++)
        many[i] = rank * 1000 + i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w);
    MPI_Put(many, 12, MPI_INT, to, MPI_Aint_add(theirs[4], sizeof(int)), 12, MPI_INT, w);
    MPI_Get_accumulate(many, 12, MPI_INT, got, 12, MPI_INT, to,
                       MPI_Aint_add(theirs[4], sizeof(int)), 12, MPI_INT, MPI_SUM, w);
    for (int i = 0; i < 12; i++)
        CHECK(got[i] == many[i]);
    MPI_Accumulate(many, 12, MPI_INT, to, MPI_Aint_add(theirs[4], sizeof(int)), 12, MPI_INT,
                   MPI_SUM, w);
    MPI_Get(got, 12, MPI_INT, to, MPI_Aint_add(theirs[4], sizeof(int)), 12, MPI_INT, w);
    MPI_Win_unlock(to, w);
    for (int i = 0; i < 12; i++)
        CHECK(got[i] == 3 * many[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS / 2; i++)
        MPI_Win_detach(w, memory[i]);
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(w, memory[0]));
    CHECK(MPI_Win_attach(w, memory[0], sizeof(memory[0])) == MPI_SUCCESS);
    MPI_Win_free(&w); /* with what is attached still */
}

void shared(void)
{
    MPI_Comm node;
    MPI_Aint bytes;
    int *base, *other, n, me;
    place_t unit;
    MPI_Win w;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_rank(node, &me);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    const int error = MPI_Win_allocate_shared((me + 1) * (MPI_Aint)sizeof(int), sizeof(int),
                                              MPI_INFO_NULL, node, &base, &w);
    if (error == MPI_SUCCESS) {
        MPI_Win_lock_all(0, w);
        for (int i = 0; i <= me; i++)
            base[i] = me * 100 + i;
        MPI_Win_sync(w);
        MPI_Barrier(node);
        MPI_Win_sync(w);
        for (int r = 0; r < n; r++) {
            int got;
            MPI_Win_shared_query(w, r, &bytes, &unit, &other);
            CHECK(bytes == (r + 1) * (MPI_Aint)sizeof(int) && unit == sizeof(int));
            CHECK(other + (me - r) * (me + r + 1) / 2 == base); /* one behind the other */
            CHECK(other[r] == r * 100 + r);
            MPI_Get(&got, 1, MPI_INT, r, r, 1, MPI_INT, w);
            MPI_Win_flush(r, w);
            CHECK(got == r * 100 + r);
        }
        MPI_Win_unlock_all(w);
        MPI_Win_free(&w);
    } else {
        CHECK(error == MPI_ERR_RMA_SHARED); /* where memory is not mapped */
    }
    MPI_Comm_free(&node);
}

void errors(void)
{
    int memory[N] = {0}, value = 0, *base;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Aint bytes;
    place_t unit;
    MPI_Win w;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_SIZE, MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, comm, &w));
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, comm, &w));
    FAILS(MPI_ERR_BASE, MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, comm, &w));
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, comm, &w);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    /* No epoch. */
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(w));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(7, 0, 0, w));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, w));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, w));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, w));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(w, memory, 4));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(w, 0, &bytes, &unit, &base));
    FAILS(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, w));
    /* Within one. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, w));
    /* Displacements that wrap: to the window's begin, and beyond all addresses. */
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, rank, (MPI_Aint)1 << 62, 1, MPI_INT, w));
    FAILS(MPI_ERR_RMA_RANGE,
          MPI_Get(&value, 1, MPI_INT, rank, ((MPI_Aint)1 << 61) - 1, 1, MPI_INT, w));
    MPI_Comm_group(comm, &group);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(group, 0, w));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(group, 0, w));
    MPI_Group_free(&group);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&w));
    if (size > 1)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, w));
    FAILS(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, w));
    FAILS(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_INT, rank, -1, 1, MPI_INT, w));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, rank, N, 1, MPI_INT, w));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Get(memory, 2, MPI_INT, rank, N - 1, 2, MPI_INT, w));
    FAILS(MPI_ERR_COUNT, MPI_Get(&value, -1, MPI_INT, rank, 0, 1, MPI_INT, w));
    FAILS(MPI_ERR_TYPE, MPI_Get(&value, 1, MPI_DATATYPE_NULL, rank, 0, 1, MPI_INT, w));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_INT, rank, 0, 2, MPI_INT, w));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_OP_NULL, w));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, w));
    FAILS(MPI_ERR_OP, MPI_Accumulate(memory, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, MPI_BAND, w));
    double real = 0, is = 0;
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&real, &real, &is, MPI_DOUBLE, rank, 0, w));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Compare_and_swap(&value, NULL, memory, MPI_INT, rank, 0, w));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Win_unlock(rank, w);
    MPI_Win_free(&w);
    MPI_Comm_free(&comm);
}
