/* compat/mpi/type.c - datatypes: those of the standard, and what all have in common. */
#include "internal.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* number, name, C type, element of Get_elements (a pair has two) */
#define BASIC(X)                                                                                   \
    X(0x201, MPI_AINT, MPI_Aint)                                                                   \
    X(0x202, MPI_COUNT, MPI_Count)                                                                 \
    X(0x203, MPI_OFFSET, MPI_Offset)                                                               \
    X(0x207, MPI_PACKED, char)                                                                     \
    X(0x208, MPI_SHORT, short)                                                                     \
    X(0x209, MPI_INT, int)                                                                         \
    X(0x20a, MPI_LONG, long)                                                                       \
    X(0x20b, MPI_LONG_LONG, long long)                                                             \
    X(0x20c, MPI_UNSIGNED_SHORT, unsigned short)                                                   \
    X(0x20d, MPI_UNSIGNED, unsigned)                                                               \
    X(0x20e, MPI_UNSIGNED_LONG, unsigned long)                                                     \
    X(0x20f, MPI_UNSIGNED_LONG_LONG, unsigned long long)                                           \
    X(0x210, MPI_FLOAT, float)                                                                     \
    X(0x212, MPI_C_FLOAT_COMPLEX, float _Complex)                                                  \
    X(0x213, MPI_CXX_FLOAT_COMPLEX, float _Complex)                                                \
    X(0x214, MPI_DOUBLE, double)                                                                   \
    X(0x216, MPI_C_DOUBLE_COMPLEX, double _Complex)                                                \
    X(0x217, MPI_CXX_DOUBLE_COMPLEX, double _Complex)                                              \
    X(0x220, MPI_LONG_DOUBLE, long double)                                                         \
    X(0x224, MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex)                                      \
    X(0x225, MPI_CXX_LONG_DOUBLE_COMPLEX, long double _Complex)                                    \
    X(0x238, MPI_C_BOOL, _Bool)                                                                    \
    X(0x239, MPI_CXX_BOOL, _Bool)                                                                  \
    X(0x23c, MPI_WCHAR, wchar_t)                                                                   \
    X(0x240, MPI_INT8_T, int8_t)                                                                   \
    X(0x241, MPI_UINT8_T, uint8_t)                                                                 \
    X(0x243, MPI_CHAR, char)                                                                       \
    X(0x244, MPI_SIGNED_CHAR, signed char)                                                         \
    X(0x245, MPI_UNSIGNED_CHAR, unsigned char)                                                     \
    X(0x247, MPI_BYTE, unsigned char)                                                              \
    X(0x248, MPI_INT16_T, int16_t)                                                                 \
    X(0x249, MPI_UINT16_T, uint16_t)                                                               \
    X(0x250, MPI_INT32_T, int32_t)                                                                 \
    X(0x251, MPI_UINT32_T, uint32_t)                                                               \
    X(0x258, MPI_INT64_T, int64_t)                                                                 \
    X(0x259, MPI_UINT64_T, uint64_t)
/* number, name, type of the value; behind it an int */
#define PAIRS(X)                                                                                   \
    X(0x228, MPI_FLOAT_INT, float)                                                                 \
    X(0x229, MPI_DOUBLE_INT, double)                                                               \
    X(0x22a, MPI_LONG_INT, long)                                                                   \
    X(0x22b, MPI_2INT, int)                                                                        \
    X(0x22c, MPI_SHORT_INT, short)                                                                 \
    X(0x22d, MPI_LONG_DOUBLE_INT, long double)

enum { FIRST = 0x200, LAST = 0x25f };

static struct weftmpi_run basic_runs[LAST - FIRST + 1][2];
static struct weftmpi_basics basic_patterns[LAST - FIRST + 1][2];
static struct weftmpi_type basics[LAST - FIRST + 1];

static void make_basic(int number, const char *name, size_t bytes, size_t align)
{
    struct weftmpi_type *type = &basics[number - FIRST];

    basic_runs[number - FIRST][0] = (struct weftmpi_run){0, (MPI_Aint)bytes, bytes, 1};
    basic_patterns[number - FIRST][0] = (struct weftmpi_basics){bytes, 1};
    *type = (struct weftmpi_type){.handle = (MPI_Datatype)(uintptr_t)number,
                                  .size = bytes,
                                  .upper = (MPI_Aint)bytes,
                                  .true_upper = (MPI_Aint)bytes,
                                  .align = align,
                                  .dense = true,
                                  .committed = true,
                                  .basic = true,
                                  .references = 1,
                                  .runs = basic_runs[number - FIRST],
                                  .runs_count = 1,
                                  .pattern = basic_patterns[number - FIRST],
                                  .pattern_count = 1,
                                  .repeats = 1};
    snprintf(type->name, sizeof(type->name), "%s", name);
}

/* A value and an int, as in a struct of both. */
static void make_pair(int number, const char *name, size_t value, size_t offset, size_t extent,
                      size_t align)
{
    struct weftmpi_type *type = &basics[number - FIRST];

    make_basic(number, name, value, align);
    type->runs[1] = (struct weftmpi_run){(MPI_Aint)offset, sizeof(int), sizeof(int), 1};
    type->pattern[1] = (struct weftmpi_basics){sizeof(int), 1};
    type->size = value + sizeof(int);
    type->upper = (MPI_Aint)extent;
    type->true_upper = (MPI_Aint)(offset + sizeof(int));
    type->runs_count = type->pattern_count = 2;
    type->dense = type->size == extent;
}

static void make_all(void)
{
#define MAKE(number, name, ctype) make_basic(number, #name, sizeof(ctype), _Alignof(ctype));
    BASIC(MAKE)
#undef MAKE
#define MAKE(number, name, ctype)                                                                  \
    {                                                                                              \
        struct pair {                                                                              \
            ctype value;                                                                           \
            int index;                                                                             \
        };                                                                                         \
        make_pair(number, #name, sizeof(ctype), offsetof(struct pair, index), sizeof(struct pair), \
                  _Alignof(struct pair));                                                          \
    }
    PAIRS(MAKE)
#undef MAKE
}

static pthread_once_t made = PTHREAD_ONCE_INIT;

struct weftmpi_type *weftmpi_type_of(MPI_Datatype handle)
{
    const uint64_t number = WEFTMPI_NUMBER(handle);

    if (number > LAST)
        return weftmpi_handle_find(WEFTMPI_TYPE, number);
    pthread_once(&made, make_all);
    return number >= FIRST && basics[number - FIRST].size != 0 ? &basics[number - FIRST] : NULL;
}

void weftmpi_type_leave(struct weftmpi_type *type)
{
    if (type->basic || !weftmpi_let_go(&type->references))
        return;
    weftmpi_handle_drop(WEFTMPI_NUMBER(type->handle));
    free(type->runs);
    free(type->pattern);
    free(type);
}

int weftmpi_type_in(struct weftmpi_comm *comm, const char *call, MPI_Datatype handle, int count,
                    struct weftmpi_type **type)
{
    *type = weftmpi_type_of(handle);
    if (*type == NULL)
        return weftmpi_fail(comm, call, MPI_ERR_TYPE, "no datatype, or it was freed");
    if (!(*type)->committed)
        return weftmpi_fail(comm, call, MPI_ERR_TYPE, "the datatype %s is not committed",
                            (*type)->name);
    if (count < 0)
        return weftmpi_fail(comm, call, MPI_ERR_COUNT, "count %d", count);
    return MPI_SUCCESS;
}

/* ---- what programs ask ----------------------------------------------------------------------- */

int weftmpi_any_type_in(const char *call, MPI_Datatype handle, struct weftmpi_type **type)
{
    *type = weftmpi_type_of(handle);
    return *type != NULL ? MPI_SUCCESS
                         : weftmpi_fail(NULL, call, MPI_ERR_TYPE, "no datatype, or it was freed");
}

API(Type_size, (MPI_Datatype handle, int *bytes))
{
    TYPE_IN(type, handle);
    *bytes = type->size > INT32_MAX ? MPI_UNDEFINED : (int)type->size;
    return MPI_SUCCESS;
}

API(Type_get_extent, (MPI_Datatype handle, MPI_Aint *lower, MPI_Aint *extent))
{
    TYPE_IN(type, handle);
    *lower = type->lower;
    *extent = weftmpi_extent(type);
    return MPI_SUCCESS;
}

API(Type_get_true_extent, (MPI_Datatype handle, MPI_Aint *lower, MPI_Aint *extent))
{
    TYPE_IN(type, handle);
    *lower = type->true_lower;
    *extent = type->true_upper - type->true_lower;
    return MPI_SUCCESS;
}

API(Type_get_name, (MPI_Datatype handle, char *name, int *length))
{
    TYPE_IN(type, handle);
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", type->name);
    return MPI_SUCCESS;
}

API(Type_set_name, (MPI_Datatype handle, const char *name))
{
    TYPE_IN(type, handle);
    snprintf(type->name, sizeof(type->name), "%s", name);
    return MPI_SUCCESS;
}

API(Type_commit, (MPI_Datatype * handle))
{
    TYPE_IN(type, *handle);
    type->committed = true;
    return MPI_SUCCESS;
}

API(Type_free, (MPI_Datatype * handle))
{
    TYPE_IN(type, *handle);
    if (type->basic)
        return weftmpi_fail(NULL, __func__, MPI_ERR_TYPE, "%s is the standard's", type->name);
    weftmpi_type_leave(type); /* operations under way may name it still */
    *handle = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
