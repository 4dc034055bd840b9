/* tests/mpi/types_random.c - random datatypes, against lists of their bytes. */
#include "mpi_types.h"

#include <limits.h>
#include <stdbool.h>

static uint32_t seed = 1;

static int pick(int below)
{
    seed = mix(seed, 17, 4);
    return (int)(seed % (uint32_t)below);
}

/* A type, and the offsets of its bytes in the order of its type map; marked: it has markers. */
struct model {
    MPI_Datatype type;
    int count;
    bool marked;
    MPI_Aint at[3000], lower, upper;
};

static void start(struct model *made)
{
    made->count = 0;
    made->marked = false;
    made->lower = INT_MAX;
    made->upper = INT_MIN;
}

static void join(struct model *to, const struct model *old, MPI_Aint offset)
{
    to->marked = old->marked;
    for (int i = 0; i < old->count; i++)
        to->at[to->count++] = old->at[i] + offset;
    to->lower = to->lower < old->lower + offset ? to->lower : old->lower + offset;
    to->upper = to->upper > old->upper + offset ? to->upper : old->upper + offset;
}

/* A new type of old ones, by one of the constructors. */
static void construct(struct model *made, const struct model *old)
{
    const MPI_Aint extent = old->upper - old->lower;
    const int n = 1 + pick(3), length = 1 + pick(2), form = pick(9), step = pick(2) ? 3 : -3;
    count_t lengths[3], offsets[3];
    MPI_Aint places[3];
    MPI_Datatype types[3] = {old->type, old->type, old->type};

    start(made);
    for (int i = 0; i < n; i++) {
        lengths[i] = 1 + pick(2);
        offsets[i] = i * step + pick(2);
        places[i] = offsets[i] * (extent != 0 ? extent : 1) + pick(3);
    }
    switch (form) {
    case 0:
        MPI_Type_contiguous(n, old->type, &made->type);
        for (int i = 0; i < n; i++)
            join(made, old, i * extent);
        break;
    case 1:
        MPI_Type_vector(n, length, step, old->type, &made->type);
        for (int i = 0; i < n * length; i++)
            join(made, old, (i / length * step + i % length) * extent);
        break;
    case 2:
        MPI_Type_create_hvector(n, length, step * extent + 5, old->type, &made->type);
        for (int i = 0; i < n * length; i++)
            join(made, old, i / length * (step * extent + 5) + i % length * extent);
        break;
    case 3:
        MPI_Type_indexed(n, lengths, offsets, old->type, &made->type);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < lengths[i]; k++)
                join(made, old, (offsets[i] + k) * extent);
        break;
    case 4:
        MPI_Type_create_hindexed(n, lengths, places, old->type, &made->type);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < lengths[i]; k++)
                join(made, old, places[i] + k * extent);
        break;
    case 5:
        MPI_Type_create_indexed_block(n, length, offsets, old->type, &made->type);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < length; k++)
                join(made, old, (offsets[i] + k) * extent);
        break;
    case 6:
        MPI_Type_create_struct(n, lengths, places, types, &made->type);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < lengths[i]; k++)
                join(made, old, places[i] + k * extent);
        break;
    case 7:
        MPI_Type_dup(old->type, &made->type);
        join(made, old, 0);
        break;
    default: /* the extent is large enough, in either direction, that elements do not overlap */
        MPI_Type_create_resized(old->type, old->lower + step, 200 * step, &made->type);
        join(made, old, 0);
        made->marked = true;
        made->lower = old->lower + step;
        made->upper = made->lower + 200 * step;
        break;
    }
    if (!made->marked) /* of shorts */
        made->upper += (made->upper - made->lower) % 2;
}

/* Elements of a type do not overlap, so that each can be told from the others. */
static bool is_plain(const struct model *model)
{
    static bool seen[200000];
    bool plain = true;

    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < 3 * model->count; i++) {
        const MPI_Aint at = model->at[i / 3] + i % 3 * (model->upper - model->lower) + 100000;
        plain = plain && at >= 0 && at < (MPI_Aint)sizeof(seen) && !seen[at];
        if (plain)
            seen[at] = true;
    }
    return plain;
}

static void compare(const struct model *model)
{
    enum { COUNT = 3 };
    int bytes;
    count_t position = 0, packed_size;
    MPI_Aint lower, extent, true_lower, true_extent, low = INT_MAX, high = INT_MIN;
    MPI_Datatype type;

    MPI_Type_dup(model->type, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    for (int i = 0; i < model->count; i++) {
        low = model->at[i] < low ? model->at[i] : low;
        high = model->at[i] + 1 > high ? model->at[i] + 1 : high;
    }
    CHECK(bytes == model->count && lower == model->lower && extent == model->upper - model->lower);
    CHECK(true_lower == low && true_extent == high - low);
    enum { ROOM = 200000 };
    static unsigned char sent[ROOM], received[ROOM];
    unsigned char *user = sent + ROOM / 2, *copy = received + ROOM / 2;
    unsigned char *packed = memory((size_t)(bytes * COUNT));
    for (size_t i = 0; i < ROOM; i++)
        sent[i] = (unsigned char)mix((uint32_t)i, 5, 5);
    memset(received, 0, ROOM);
    MPI_Pack_size(COUNT, type, MPI_COMM_SELF, &packed_size);
    CHECK(packed_size >= bytes * COUNT);
    MPI_Pack(user, COUNT, type, packed, bytes * COUNT, &position, MPI_COMM_SELF);
    CHECK(position == bytes * COUNT);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < model->count; i++)
            CHECK(packed[k * bytes + i] == user[k * extent + model->at[i]]);
    /* A message of a part of an element fills that part. */
    const int part = bytes * COUNT - (bytes > 1 ? bytes / 2 : 0);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(copy, COUNT, type, 0, 1, MPI_COMM_SELF, &request);
    MPI_Send(packed, part, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    for (int i = 0; i < part; i++)
        CHECK(copy[i / bytes * extent + model->at[i % bytes]] == packed[i]);
    position = 0;
    MPI_Unpack(packed, bytes * COUNT, &position, copy, COUNT, type, MPI_COMM_SELF);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < model->count; i++)
            CHECK(copy[k * extent + model->at[i]] == user[k * extent + model->at[i]]);
    MPI_Type_free(&type);
    free(packed);
}

void random_types(void)
{
    static struct model models[4];
    int compared = 0;

    for (int round = 0; round < 3000; round++) {
        const int depth = 1 + pick(3);
        start(&models[0]);
        models[0].type = MPI_SHORT;
        models[0].lower = 0;
        models[0].upper = 2;
        models[0].at[models[0].count++] = 0;
        models[0].at[models[0].count++] = 1;
        int last = 0;
        for (; last < depth && models[last].count < 200; last++)
            construct(&models[last + 1], &models[last]);
        if (is_plain(&models[last])) {
            compare(&models[last]);
            compared++;
        }
        for (; last > 0; last--)
            MPI_Type_free(&models[last].type);
    }
    CHECK(compared > 2000);
}
