/*
 * test_mpi_rma.c - one-sided communication, as the standard has it: windows of all kinds, what is
 * put, got and updated under every synchronisation, what is refused; and attacks on the order of
 * puts, updates, flushes and epochs.
 */
#include "mpi_test.h"

#include <complex.h>

enum { N = 64 };

static MPI_Win win;

static void open_window(int *base, MPI_Win *made)
{
    MPI_Win_create(base, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, made);
}

/* An error that is returned. */
#define FAILS(error_class, call) CHECK((call) == (error_class))

/* ---- windows -----------------------------------------------------------------------------------
 */

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

static void attributes(void)
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

/* ---- put and get under fences
 * -------------------------------------------------------------------- */

static void fences(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int from[N], into[N], memory[N];
    MPI_Datatype column, every;

    open_window(memory, &win);
    for (int i = 0; i < N; i++) {
        from[i] = (int)mix((uint32_t)rank, (uint32_t)i, 1);
        memory[i] = -1;
    }
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(from, N / 2, MPI_INT, right, 0, N / 2, MPI_INT, win);
    MPI_Put(from, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        CHECK(memory[i] == (i < N / 2 ? (int)mix((uint32_t)left, (uint32_t)i, 1) : -1));
    MPI_Get(into, N, MPI_INT, left, 0, N, MPI_INT, win);
    MPI_Win_fence(0, win);
    const int far = (left + size - 1) % size;
    for (int i = 0; i < N / 2; i++)
        CHECK(into[i] == (int)mix((uint32_t)far, (uint32_t)i, 1));
    /* A row here becomes a column there, and the reverse. */
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Win_fence(0, win);
    MPI_Put(from, 8, MPI_INT, right, 3, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++)
        CHECK(memory[3 + 8 * i] == (int)mix((uint32_t)left, (uint32_t)i, 1));
    memset(into, 0, sizeof(into));
    MPI_Get(into, 1, column, right, 3, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        CHECK(into[i] == (i % 8 == 0 ? (int)mix((uint32_t)rank, (uint32_t)i / 8, 1) : 0));
    /* Two elements of a resized type, the second before the first. */
    MPI_Type_create_resized(MPI_INT, 0, -(MPI_Aint)sizeof(int), &every);
    MPI_Type_commit(&every);
    MPI_Put(from, 2, MPI_INT, right, 9, 2, every, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[9] == (int)mix((uint32_t)left, 0, 1) &&
          memory[8] == (int)mix((uint32_t)left, 1, 1));
    MPI_Type_free(&every);
    MPI_Type_free(&column);
    MPI_Win_free(&win);
}

/* ---- updates
 * ------------------------------------------------------------------------------------- */

/* Every process adds to every one, so that all collide. */
#define SUMS(ctype, type)                                                                          \
    do {                                                                                           \
        ctype *base, from[5], old[5];                                                              \
        MPI_Win w;                                                                                 \
        MPI_Win_allocate(5 * sizeof(ctype), sizeof(ctype), MPI_INFO_NULL, MPI_COMM_WORLD, &base,   \
                         &w);                                                                      \
        for (int i = 0; i < 5; i++) {                                                              \
            base[i] = 1;                                                                           \
            from[i] = (ctype)(i + 1);                                                              \
        }                                                                                          \
        MPI_Win_fence(0, w);                                                                       \
        for (int round = 0; round < 3; round++)                                                    \
            for (int to = 0; to < size; to++) {                                                    \
                MPI_Accumulate(from, 5, type, to, 0, 5, type, MPI_SUM, w);                         \
                MPI_Get_accumulate(from, 5, type, old, 5, type, to, 0, 5, type, MPI_SUM, w);       \
            }                                                                                      \
        MPI_Win_fence(0, w);                                                                       \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(base[i] == (ctype)(1 + 6 * size * (i + 1)));                                     \
        MPI_Win_fence(0, w);                                                                       \
        MPI_Get_accumulate(NULL, 0, type, old, 5, type, (rank + 1) % size, 0, 5, type, MPI_NO_OP,  \
                           w);                                                                     \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(old[i] == (ctype)(1 + 6 * size * (i + 1)));                                      \
        MPI_Win_fence(0, w);                                                                       \
        MPI_Accumulate(from, 5, type, (rank + 1) % size, 0, 5, type, MPI_REPLACE, w);              \
        MPI_Win_fence(0, w);                                                                       \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(base[i] == from[i]);                                                             \
        MPI_Win_free(&w);                                                                          \
    } while (0)

struct place {
    double value;
    int at;
};

static void updates(void)
{
    SUMS(signed char, MPI_SIGNED_CHAR);
    SUMS(short, MPI_SHORT);
    SUMS(int, MPI_INT);
    SUMS(unsigned, MPI_UNSIGNED);
    SUMS(long, MPI_LONG);
    SUMS(float, MPI_FLOAT);
    SUMS(double, MPI_DOUBLE);
    SUMS(long double, MPI_LONG_DOUBLE);
    SUMS(float _Complex, MPI_C_FLOAT_COMPLEX);
    SUMS(double _Complex, MPI_C_DOUBLE_COMPLEX);

    /* Other operations, in an order that does not matter. */
    static const struct {
        MPI_Op op;
        int start, from, every; /* every: more per rank */
    } cases[] = {{MPI_MAX, 5, 0, 3},  {MPI_MIN, 5, 0, 3},     {MPI_BOR, 0, 1, 1},
                 {MPI_BXOR, 1, 5, 2}, {MPI_LAND, 1, 0, 1},    {MPI_LOR, 0, 0, 0},
                 {MPI_LXOR, 0, 1, 0}, {MPI_BAND, 255, 15, 1}, {MPI_PROD, 1, 2, 1}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int memory[2], expected = cases[c].start, from = cases[c].from + rank * cases[c].every;
        MPI_Win w;
        memory[0] = memory[1] = expected;
        MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        MPI_Win_fence(0, w);
        for (int to = 0; to < size; to++)
            MPI_Accumulate(&from, 1, MPI_INT, to, 1, 1, MPI_INT, cases[c].op, w);
        MPI_Win_fence(0, w);
        for (int r = 0; r < size; r++) {
            int other = cases[c].from + r * cases[c].every;
            MPI_Reduce_local(&other, &expected, 1, MPI_INT, cases[c].op);
        }
        CHECK(memory[1] == expected && memory[0] == cases[c].start);
        MPI_Win_free(&w);
    }
    /* Pairs, with a gap in them. */
    struct place best = {-1, -1}, own = {(double)(rank % 2), rank};
    MPI_Win w;
    MPI_Win_create(&best, sizeof(best), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, w);
    MPI_Win_fence(0, w);
    CHECK(best.value == (size > 1) && best.at == (size > 1));
    MPI_Win_free(&w);
    /* Elements that are not aligned: 3 bytes from the window's begin. */
    char odd[3 + 2 * sizeof(int)] = {0};
    int one = 1, sum;
    MPI_Win_create(odd, sizeof(odd), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(&one, 1, MPI_INT, to, 3, 1, MPI_INT, MPI_SUM, w);
    MPI_Win_fence(0, w);
    memcpy(&sum, odd + 3, sizeof(sum));
    CHECK(sum == size);
    MPI_Win_free(&w);
}

static void single_elements(void)
{
    long *base, one = 1, old, sum = 0, all = 0;
    MPI_Win w;

    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    base[0] = base[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int i = 0; i < 20; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, w);
        MPI_Win_flush(0, w);
        sum += old;
    }
    MPI_Win_unlock_all(w);
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    const long n = 20L * size;
    CHECK(rank != 0 || all == n * (n - 1) / 2); /* each number was got once */
    /* One of all wins. */
    long mark = rank + 1, none = 0, won = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
    MPI_Compare_and_swap(&mark, &none, &old, MPI_LONG, 0, 1, w);
    MPI_Win_unlock(0, w);
    won = old == 0;
    MPI_Allreduce(&won, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1);
    MPI_Win_free(&w);
    /* A byte. */
    unsigned char bytes[3] = {0}, is = (unsigned char)(rank + 1), zero = 0, was;
    MPI_Win_create(bytes, sizeof(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    MPI_Compare_and_swap(&is, &zero, &was, MPI_BYTE, 0, 1, w);
    won = was == 0;
    MPI_Win_fence(0, w);
    MPI_Allreduce(&won, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1 && bytes[0] == 0 && bytes[2] == 0 && (rank != 0 || bytes[1] != 0));
    MPI_Win_free(&w);
}

/* All count in many words at once: each number of each is got once. */
static void many_counters(void)
{
    enum { COUNTERS = 33, ROUNDS = 10 };
    int *base, one[COUNTERS], old[COUNTERS], sum[COUNTERS] = {0}, all[COUNTERS];
    const int n = ROUNDS * size;
    MPI_Win w;

    MPI_Win_allocate(COUNTERS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    for (int i = 0; i < COUNTERS; i++) {
        base[i] = 0;
        one[i] = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Get_accumulate(one, COUNTERS, MPI_INT, old, COUNTERS, MPI_INT, 0, 0, COUNTERS, MPI_INT,
                           MPI_SUM, w);
        MPI_Win_flush(0, w);
        for (int i = 0; i < COUNTERS; i++)
            sum[i] += old[i];
    }
    MPI_Win_unlock_all(w);
    MPI_Reduce(sum, all, COUNTERS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < COUNTERS && rank == 0; i++)
        CHECK(all[i] == n * (n - 1) / 2 && base[i] == n);
    MPI_Win_free(&w);
}

/* ---- locks
 * --------------------------------------------------------------------------------------- */

static void locks(void)
{
    int memory[N] = {0}, value;

    open_window(memory, &win);
    /* To get, add and put is undivided under an exclusive lock alone. */
    for (int i = 0; i < 10; i++) {
        const int to = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
        MPI_Get(&value, 1, MPI_INT, to, 7, 1, MPI_INT, win);
        MPI_Win_flush(to, win);
        value++;
        MPI_Put(&value, 1, MPI_INT, to, 7, 1, MPI_INT, win);
        MPI_Win_unlock(to, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    int expected = 0;
    for (int i = 0; i < 10; i++)
        expected += i % size == rank ? size : 0;
    CHECK(memory[7] == expected);
    MPI_Win_unlock(rank, win);
    /* Readers together with a writer among them. */
    for (int i = 0; i < 10; i++) {
        int pair[2];
        MPI_Win_lock((i + rank) % 3 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        if ((i + rank) % 3 == 0) {
            value = i * size + rank + 1;
            MPI_Put(&value, 1, MPI_INT, 0, 10, 1, MPI_INT, win);
            MPI_Put(&value, 1, MPI_INT, 0, 20, 1, MPI_INT, win);
        } else {
            MPI_Get(&pair[0], 1, MPI_INT, 0, 10, 1, MPI_INT, win);
            MPI_Get(&pair[1], 1, MPI_INT, 0, 20, 1, MPI_INT, win);
            MPI_Win_flush_local(0, win);
            CHECK(pair[0] == pair[1]);
        }
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int to = 0; to < size; to++) {
        value = 100 + rank;
        MPI_Put(&value, 1, MPI_INT, to, 30 + rank, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
    }
    MPI_Win_flush_local_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < size; i++)
        CHECK(memory[30 + i] == 100 + i);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* ---- post, start, complete, wait
 * ------------------------------------------------------------------- */

static void some_targets(void)
{
    int memory[N] = {0}, flag, from[2], right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Group all, origins, targets;

    open_window(memory, &win);
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &left, &origins);
    MPI_Group_incl(all, 1, &right, &targets);
    for (int round = 0; round < 20; round++) {
        from[0] = round * size + rank;
        from[1] = -from[0];
        MPI_Win_post(origins, 0, win);
        MPI_Win_start(targets, 0, win);
        MPI_Put(&from[0], 1, MPI_INT, right, round, 1, MPI_INT, win);
        MPI_Accumulate(&from[1], 1, MPI_INT, right, round, 1, MPI_INT, MPI_SUM, win);
        MPI_Put(&from[1], 1, MPI_INT, right, round + 20, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 2 == 0) {
            MPI_Win_wait(win);
        } else {
            do {
                MPI_Win_test(win, &flag);
            } while (!flag);
        }
        CHECK(memory[round] == 0 && memory[round + 20] == -(round * size + left));
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    /* Nobody, and all at once. */
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Win_post(all, 0, win);
    MPI_Win_start(all, 0, win);
    for (int to = 0; to < size; to++)
        MPI_Put(&from[1], 1, MPI_INT, to, 50 + rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    for (int i = 0; i < size; i++)
        CHECK(memory[50 + i] == -(19 * size + i));
    MPI_Group_free(&all);
    MPI_Win_free(&win);
}

/* ---- requests
 * -------------------------------------------------------------------------------------- */

static void requests(void)
{
    int memory[N] = {0}, from[N], into[N], old[4], to = (rank + 1) % size;
    MPI_Request request[3];
    MPI_Datatype odd;

    open_window(memory, &win);
    for (int i = 0; i < N; i++)
        from[i] = rank * N + i;
    MPI_Type_vector(N / 4, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rput(from, N / 2, MPI_INT, to, 0, N / 2, MPI_INT, win, &request[0]);
    MPI_Rput(from, 1, odd, to, N / 2, 1, odd, win, &request[1]);
    MPI_Rput(from, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    MPI_Win_flush(to, win);
    MPI_Rget(into, N / 2, MPI_INT, to, 0, N / 2, MPI_INT, win, &request[0]);
    MPI_Rget(into + N / 2, 1, odd, to, N / 2, 1, odd, win, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        CHECK(i >= N / 2 && i % 2 == 1 ? 1 : into[i] == rank * N + (i < N / 2 ? i : i - N / 2));
    MPI_Raccumulate(from, 4, MPI_INT, to, 0, 4, MPI_INT, MPI_SUM, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Rget_accumulate(from, 4, MPI_INT, old, 4, MPI_INT, to, 0, 4, MPI_INT, MPI_SUM, win,
                        &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++)
        CHECK(old[i] == 2 * (rank * N + i));
    MPI_Win_unlock_all(win);
    MPI_Type_free(&odd);
    MPI_Win_free(&win);
}

/* ---- dynamic and shared windows
 * ---------------------------------------------------------------------- */

static void dynamic(void)
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

static void shared(void)
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

/* ---- what is refused
 * ----------------------------------------------------------------------------------- */

static void errors(void)
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
    MPI_Win_unlock(rank, w);
    MPI_Win_free(&w);
    MPI_Comm_free(&comm);
}

/* ---- attacks on order
 * ------------------------------------------------------------------------------------ */

/*
 * Bytes, a flush, and a flag that says that they are there; the reader polls it without a call of
 * the writer's, and must find the bytes: by a get, and by loads after its window is locked.
 */
static void flag_behind_data(void)
{
    enum { ROUNDS = 30, MOST = 5000 };
    const size_t room = MOST + 16;
    unsigned char *base, *data = memory(MOST), *got = memory(MOST);
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    long long one = 1, flag, seen = 0;
    MPI_Win w;

    MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    memset(base, 0, room);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = 1 + (int)(mix((uint32_t)round, 7, 7) % MOST), put = round % 3;
        for (int i = 0; i < bytes; i++)
            data[i] = (unsigned char)mix((uint32_t)rank, (uint32_t)round, (uint32_t)i);
        if (put == 0)
            MPI_Put(data, bytes, MPI_BYTE, to, 16, bytes, MPI_BYTE, w);
        else if (put == 1)
            MPI_Accumulate(data, bytes, MPI_BYTE, to, 16, bytes, MPI_BYTE, MPI_REPLACE, w);
        else
            for (int i = 0; i < bytes; i += 512)
                MPI_Put(data + i, bytes - i < 512 ? bytes - i : 512, MPI_BYTE, to, 16 + i,
                        bytes - i < 512 ? bytes - i : 512, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        if (round % 2 == 0) /* the flag without, and with an answer */
            MPI_Accumulate(&one, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_SUM, w);
        else
            MPI_Fetch_and_op(&one, &flag, MPI_LONG_LONG, to, 0, MPI_SUM, w);
        MPI_Win_flush(to, w);
        for (seen = 0; seen <= round;)
            MPI_Fetch_and_op(NULL, &seen, MPI_LONG_LONG, rank, 0, MPI_NO_OP, w);
        MPI_Get(got, bytes, MPI_BYTE, rank, 16, bytes, MPI_BYTE, w);
        MPI_Win_flush(rank, w);
        MPI_Win_sync(w);
        for (int i = 0; i < bytes; i++) {
            const unsigned char is =
                (unsigned char)mix((uint32_t)from, (uint32_t)round, (uint32_t)i);
            CHECK(got[i] == is && base[16 + i] == is);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* the reader has read */
    }
    MPI_Win_unlock_all(w);
    MPI_Win_free(&w);
    free(data);
    free(got);
}

/* Short over long over short: what is put after a flush stays, and a get sees its own process's
 * put. */
static void rewrites(void)
{
    enum { ROUNDS = 20, LONG = 20000 };
    unsigned char *base, *data = memory(LONG), *got = memory(LONG);
    const int to = (rank + 1) % size;
    MPI_Win w;

    MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_fence(0, w);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w);
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned char small = (unsigned char)(100 + round);
        const int at = (int)(mix((uint32_t)round, 3, (uint32_t)rank) % LONG);
        memset(data, round, LONG);
        MPI_Put(data, LONG, MPI_BYTE, to, 0, LONG, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        MPI_Put(&small, 1, MPI_BYTE, to, at, 1, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        MPI_Get(got, LONG, MPI_BYTE, to, 0, LONG, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        for (int i = 0; i < LONG; i++)
            CHECK(got[i] == (i == at ? small : round));
    }
    MPI_Win_unlock(to, w);
    MPI_Win_free(&w);
    free(data);
    free(got);
}

/* What one process updates in one element takes effect in its order, also with what fetches. */
static void updates_in_order(void)
{
    long long *base, value, old;
    const int to = (rank + 1) % size;
    MPI_Win w;

    MPI_Win_allocate(sizeof(*base), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    *base = 0;
    MPI_Win_fence(0, w);
    for (int round = 1; round <= 50; round++) {
        value = round;
        MPI_Accumulate(&value, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_REPLACE, w);
        value = 1000;
        MPI_Accumulate(&value, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_SUM, w);
        MPI_Fetch_and_op(NULL, &old, MPI_LONG_LONG, to, 0, MPI_NO_OP, w);
        CHECK(old == round + 1000);
        MPI_Win_fence(0, w);
    }
    MPI_Win_free(&w);
}

/*
 * Epoch behind epoch, whose target stores into the same bytes between them: nothing of an epoch
 * comes before its post or behind its wait.
 */
static void epochs_in_order(void)
{
    enum { ROUNDS = 21, MOST = 20000 };
    unsigned char *base, *data = memory(MOST), *got = memory(MOST);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Group all, origins, targets;
    MPI_Win w;

    MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &left, &origins);
    MPI_Group_incl(all, 1, &right, &targets);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = 1 + (int)(mix((uint32_t)round, 5, 5) % MOST), how = round % 3;
        memset(base, 200 + round, MOST);
        for (int i = 0; i < bytes; i++)
            data[i] = (unsigned char)mix((uint32_t)rank, (uint32_t)round, (uint32_t)i);
        MPI_Win_post(origins, 0, w);
        MPI_Win_start(targets, 0, w);
        if (how == 0)
            MPI_Put(data, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, w);
        else if (how == 1)
            MPI_Accumulate(data, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, MPI_REPLACE, w);
        else
            MPI_Get(got, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, w);
        MPI_Win_complete(w);
        for (int i = 0; i < bytes && how == 2; i++)
            CHECK(got[i] == 200 + round);
        MPI_Win_wait(w);
        for (int i = 0; i < MOST; i++)
            CHECK(base[i] == (how != 2 && i < bytes
                                  ? (unsigned char)mix((uint32_t)left, (uint32_t)round, (uint32_t)i)
                                  : 200 + round));
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&all);
    MPI_Win_free(&w);
    free(data);
    free(got);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    attributes();
    fences();
    updates();
    single_elements();
    many_counters();
    locks();
    some_targets();
    requests();
    dynamic();
    shared();
    errors();
    flag_behind_data();
    rewrites();
    updates_in_order();
    epochs_in_order();
    MPI_Finalize();
    return 0;
}
