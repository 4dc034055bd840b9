/*
 * tests/mpi/test_mpi_types.c - datatypes, packing, operations and info objects: what one process
 * can tell by itself. Random types are compared with a list of their bytes.
 */
#include "mpi_test.h"

#include <complex.h>
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

static void random_types(void)
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

static void check_bounds(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Aint true_lower,
                         MPI_Aint true_extent)
{
    MPI_Aint got[4];

    MPI_Type_get_extent(type, &got[0], &got[1]);
    MPI_Type_get_true_extent(type, &got[2], &got[3]);
    CHECK(got[0] == lower && got[1] == extent && got[2] == true_lower && got[3] == true_extent);
    MPI_Type_free(&type);
}

/* Bounds of each constructor, by the rules of MPI 3.1, 4.1.6: of ints that end before they begin.
 */
static void negative_extents(void)
{
    const count_t lengths[3] = {2, 0, 1}, offsets[3] = {4, -20, -2}, pair[2] = {4, -2};
    const count_t sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};
    const MPI_Aint places[3] = {5, -21, -3};
    MPI_Datatype back, type, types[2];

    MPI_Type_create_resized(MPI_INT, 6, -9, &back);
    MPI_Type_dup(back, &type);
    check_bounds(type, 6, -9, 0, 4);
    MPI_Type_contiguous(3, back, &type);
    check_bounds(type, -12, 9, -18, 22);
    MPI_Type_vector(3, 2, 5, back, &type);
    check_bounds(type, -93, 90, -99, 103);
    MPI_Type_vector(3, 2, -5, back, &type);
    check_bounds(type, -3, 90, -9, 103);
    MPI_Type_vector(2, 1, -1, back, &type);
    check_bounds(type, 6, 0, 0, 13);
    MPI_Type_create_hvector(3, 2, -7, back, &type);
    check_bounds(type, -17, 14, -23, 27);
    MPI_Type_indexed(3, lengths, offsets, back, &type);
    check_bounds(type, -39, 54, -45, 67);
    MPI_Type_create_hindexed(3, lengths, places, back, &type);
    check_bounds(type, 2, 0, -4, 13);
    MPI_Type_create_indexed_block(2, 2, pair, back, &type);
    check_bounds(type, -39, 54, -45, 67);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, back, &type);
    check_bounds(type, 0, -180, -117, 67);
    MPI_Type_create_struct(1, (count_t[]){3}, (MPI_Aint[]){-7}, &back, &type);
    check_bounds(type, -19, 9, -25, 22);
    types[0] = back;
    types[1] = MPI_CHAR;
    MPI_Type_create_struct(2, (count_t[]){1, 1}, (MPI_Aint[]){0, 16}, types, &type);
    check_bounds(type, 6, -9, 0, 17);
    MPI_Type_create_resized(back, 2, 6, &type);
    check_bounds(type, 2, 6, 0, 4);
    MPI_Type_free(&back);
}

/* A type is padded to the alignment of what is in it, unless it has bounds of a resized type. */
static void paddings(void)
{
    MPI_Datatype tight, type, inner, types[2] = {MPI_INT, MPI_CHAR};
    const count_t ones[2] = {1, 1};

    MPI_Type_create_resized(MPI_DOUBLE, 0, 12, &tight);
    MPI_Type_create_struct(1, ones, (MPI_Aint[]){3}, &tight, &type);
    check_bounds(type, 3, 12, 3, 8);
    types[0] = tight;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, -5}, types, &type);
    check_bounds(type, 0, 12, -5, 13);
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){16, 0}, types, &type);
    check_bounds(type, 16, 12, 0, 24);
    MPI_Type_create_struct(2, (count_t[]){0, 1}, (MPI_Aint[]){16, 1}, types, &type);
    check_bounds(type, 1, 1, 1, 1);
    MPI_Type_create_hvector(3, 2, 33, MPI_INT, &type);
    check_bounds(type, 0, 76, 0, 74);
    types[0] = MPI_INT;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, 4}, types, &inner);
    MPI_Type_dup(inner, &type);
    types[1] = type;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, 17}, types, &inner);
    check_bounds(inner, 0, 28, 0, 22);
    check_bounds(type, 0, 8, 0, 5);
    MPI_Type_contiguous(0, MPI_INT, &inner);
    check_bounds(inner, 0, 0, 0, 0);
    MPI_Type_free(&tight);
}

/* What is not there, or no type can have; a place for the result that is NULL. */
static void refused_types(void)
{
    const count_t one = 1, less = -1, four = 4, zero = 0;
    const MPI_Aint place = 0;
    const MPI_Datatype old = MPI_INT;
    MPI_Datatype type;
    MPI_Aint aint;
    int number;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_contiguous(-1, old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_create_struct(-1, &one, &place, &old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_create_struct(1, &less, &place, &old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_vector(1, -1, 1, old, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray(1, &four, &one, &zero, 99, old, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_contiguous(1, old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_vector(1, 1, 1, old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_struct(1, &one, &place, &old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_dup(old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_size(old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_get_extent(old, NULL, &aint) == MPI_ERR_ARG);
    CHECK(MPI_Type_get_true_extent(old, &aint, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Pack_size(1, old, MPI_COMM_SELF, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Op_create(NULL, 1, &(MPI_Op){MPI_OP_NULL}) == MPI_ERR_ARG);
    CHECK(MPI_Info_create(NULL) == MPI_ERR_ARG);
    CHECK(MPI_Reduce_local(&one, &number, 1, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    CHECK(MPI_Reduce_local(&number, &number, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void subarrays(void)
{
    const count_t sizes[3] = {4, 5, 6}, sub[3] = {2, 3, 2}, starts[3] = {1, 1, 3};
    int whole[120], part[12];
    MPI_Datatype type;
    MPI_Aint lower, extent;

    for (int i = 0; i < 120; i++)
        whole[i] = i;
    for (int fortran = 0; fortran < 2; fortran++) {
        count_t position = 0;
        MPI_Type_create_subarray(3, sizes, sub, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                                 MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lower, &extent);
        CHECK(lower == 0 && extent == 480);
        MPI_Pack(whole, 1, type, part, sizeof(part), &position, MPI_COMM_SELF);
        for (int i = 0; i < 12; i++)
            if (fortran)
                CHECK(part[i] == 1 + i % 2 + 4 * (1 + i / 2 % 3) + 20 * (3 + i / 6));
            else
                CHECK(part[i] == 30 * (1 + i / 6) + 6 * (1 + i / 2 % 3) + 3 + i % 2);
        MPI_Type_free(&type);
    }
}

static void elements(void)
{
    struct {
        int a;
        double b;
    } out[3] = {{1, 2}, {3, 4}, {5, 6}}, in[3];
    count_t lengths[2] = {1, 1};
    int count, bytes;
    MPI_Aint places[2] = {0, 8}, lower, extent;
    MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Request request;
    MPI_Status status;

    MPI_Type_create_struct(2, lengths, places, kinds, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(bytes == 12 && extent == 16);
    MPI_Irecv(in, 3, type, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 2, type, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 2 && in[1].a == 3 && in[1].b == 4);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 4);
    MPI_Irecv(in, 3, type, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 4, MPI_INT, 0, 0, MPI_COMM_SELF); /* an int, a double, an int */
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 3);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

#define ALL_OPS(handle, ctype, x, y)                                                               \
    do {                                                                                           \
        const ctype a = (ctype)(x), b = (ctype)(y);                                                \
        ctype got;                                                                                 \
        TRY_OP(MPI_SUM, handle, (ctype)(a + b));                                                   \
        TRY_OP(MPI_PROD, handle, (ctype)(a * b));                                                  \
        TRY_OP(MPI_MIN, handle, a < b ? a : b);                                                    \
        TRY_OP(MPI_MAX, handle, a < b ? b : a);                                                    \
    } while (0)
#define BIT_OPS(handle, ctype, x, y)                                                               \
    do {                                                                                           \
        const ctype a = (ctype)(x), b = (ctype)(y);                                                \
        ctype got;                                                                                 \
        TRY_OP(MPI_BAND, handle, (ctype)(a & b));                                                  \
        TRY_OP(MPI_BOR, handle, (ctype)(a | b));                                                   \
        TRY_OP(MPI_BXOR, handle, (ctype)(a ^ b));                                                  \
        TRY_OP(MPI_LAND, handle, (ctype)(a && b));                                                 \
        TRY_OP(MPI_LOR, handle, (ctype)(a || b));                                                  \
        TRY_OP(MPI_LXOR, handle, (ctype)(!a != !b));                                               \
    } while (0)
#define TRY_OP(op, handle, expected)                                                               \
    do {                                                                                           \
        got = b;                                                                                   \
        CHECK(MPI_Reduce_local(&a, &got, 1, handle, op) == MPI_SUCCESS);                           \
        CHECK(got == (expected));                                                                  \
    } while (0)
#define INTEGER(handle, ctype)                                                                     \
    ALL_OPS(handle, ctype, 5, 3);                                                                  \
    ALL_OPS(handle, ctype, 2, 7);                                                                  \
    BIT_OPS(handle, ctype, 12, 10);                                                                \
    BIT_OPS(handle, ctype, 0, 6)

static void operations(void)
{
    int yes;

    INTEGER(MPI_INT, int);
    INTEGER(MPI_SHORT, short);
    INTEGER(MPI_LONG, long);
    INTEGER(MPI_LONG_LONG, long long);
    INTEGER(MPI_UNSIGNED, unsigned);
    INTEGER(MPI_UNSIGNED_SHORT, unsigned short);
    INTEGER(MPI_UNSIGNED_LONG, unsigned long);
    INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    INTEGER(MPI_SIGNED_CHAR, signed char);
    INTEGER(MPI_UNSIGNED_CHAR, unsigned char);
    INTEGER(MPI_INT8_T, int8_t);
    INTEGER(MPI_INT16_T, int16_t);
    INTEGER(MPI_INT32_T, int32_t);
    INTEGER(MPI_INT64_T, int64_t);
    INTEGER(MPI_UINT8_T, uint8_t);
    INTEGER(MPI_UINT16_T, uint16_t);
    INTEGER(MPI_UINT32_T, uint32_t);
    INTEGER(MPI_UINT64_T, uint64_t);
    INTEGER(MPI_AINT, MPI_Aint);
    INTEGER(MPI_OFFSET, MPI_Offset);
    INTEGER(MPI_COUNT, MPI_Count);
    ALL_OPS(MPI_FLOAT, float, 1.5, -2);
    ALL_OPS(MPI_DOUBLE, double, 1.5, -2);
    ALL_OPS(MPI_LONG_DOUBLE, long double, 1.5, -2);
    double complex x = 1 + 2 * I, y = 3 - I;
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD) == MPI_SUCCESS);
    CHECK(y == (1 + 2 * I) * (3 - I));
    MPI_Op_commutative(MPI_SUM, &yes);
    CHECK(yes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_BAND) == MPI_ERR_OP);
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_C_DOUBLE_COMPLEX, MPI_MIN) == MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void infos(void)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
    int flag, count, length;

    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "2");
    MPI_Info_set(info, "one", "eins");
    MPI_Info_get(info, "one", 10, value, &flag);
    CHECK(flag && strcmp(value, "eins") == 0);
    MPI_Info_get(info, "three", 10, value, &flag);
    CHECK(!flag);
    MPI_Info_get_valuelen(info, "one", &length, &flag);
    CHECK(flag && length == 4);
    length = 3;
    MPI_Info_get_string(info, "one", &length, value, &flag);
    CHECK(flag && length == 5 && strcmp(value, "ei") == 0);
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "one");
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 1);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(strcmp(key, "two") == 0);
    MPI_Info_get_nkeys(copy, &count);
    CHECK(count == 2);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    CHECK(copy == MPI_INFO_NULL);
}

static void environment(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_OBJECT_NAME];
    int length, version, subversion, flag, error_class;
    void *block;
    MPI_Aint a, b;

    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_library_version(text, &length);
    CHECK((int)strlen(text) == length && length > 0);
    MPI_Get_processor_name(text, &length);
    CHECK((int)strlen(text) == length && length > 0);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    CHECK(strstr(text, "MPI_ERR_TRUNCATE") != NULL && (int)strlen(text) == length);
    MPI_Error_class(MPI_ERR_TAG, &error_class);
    CHECK(error_class == MPI_ERR_TAG);
    const struct {
        MPI_Datatype type;
        const char *name;
    } named[] = {{MPI_DOUBLE, "MPI_DOUBLE"}, /* of synonyms the name that the standard has first */
                 {MPI_LONG_LONG, "MPI_LONG_LONG_INT"},
                 {MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX"}};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        MPI_Type_get_name(named[i].type, name, &length);
        CHECK(strcmp(name, named[i].name) == 0);
    }
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    MPI_Alloc_mem(100, MPI_INFO_NULL, &block);
    MPI_Get_address(block, &a);
    MPI_Get_address((char *)block + 7, &b);
    CHECK(b - a == 7);
    MPI_Free_mem(block);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    const double before = MPI_Wtime();
    CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && PMPI_Wtime() >= before);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    random_types();
    negative_extents();
    paddings();
    refused_types();
    subarrays();
    elements();
    operations();
    infos();
    environment();
    MPI_Finalize();
    return 0;
}
