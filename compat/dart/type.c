/* compat/dart/type.c - data types, and what operations do to their elements. */
#include "internal.h"

/* ---- types ----------------------------------------------------------------------------------- */

static const struct weftdart_block one = {0, 1};
/* The predefined types: X(name, type of C, what operations there are, how weft names it). */
#define TYPES(X)                                                                                   \
    X(BYTE, char, INTEGER, 0)                                                                      \
    X(SHORT, short, INTEGER, 0)                                                                    \
    X(INT, int, INTEGER, 1 + WEFT_I32)                                                             \
    X(UINT, unsigned, INTEGER, 1 + WEFT_U32)                                                       \
    X(LONG, long, INTEGER, 1 + WEFT_I64)                                                           \
    X(ULONG, unsigned long, INTEGER, 1 + WEFT_U64)                                                 \
    X(LONGLONG, long long, INTEGER, 1 + WEFT_I64)                                                  \
    X(ULONGLONG, unsigned long long, INTEGER, 1 + WEFT_U64)                                        \
    X(FLOAT, float, REAL, 1 + WEFT_F32)                                                            \
    X(DOUBLE, double, REAL, 1 + WEFT_F64)                                                          \
    X(LONG_DOUBLE, long double, REAL, 0)
#define PLAIN(name, type, kind, native)                                                            \
    [DART_TYPE_##name] = {DART_TYPE_##name, sizeof(type), 1, 1, 1, &one, native},
static const struct weftdart_type plain[] = {TYPES(PLAIN)};

dart_ret_t weftdart_type_of(dart_datatype_t type, const struct weftdart_type **found)
{
    if (type <= DART_TYPE_UNDEFINED || type == DART_TYPE_LAST)
        return INVALID("%ld is no data type", (long)type);
    *found = type < DART_TYPE_LAST ? &plain[type] : (const struct weftdart_type *)type;
    return DART_OK;
}

dart_ret_t weftdart_bytes(size_t nelem, dart_datatype_t type, size_t *bytes)
{
    const struct weftdart_type *of;

    TRY(weftdart_type_of(type, &of));
    if (!weftdart_is_plain(of))
        return INVALID("not of a strided or indexed type");
    if (__builtin_mul_overflow(nelem, of->size, bytes))
        return INVALID("%zu elements of %zu bytes", nelem, of->size);
    return DART_OK;
}

/* Makes a type with room for `count` blocks of elements of a plain type behind it. */
static dart_ret_t make_type(dart_datatype_t base, size_t count, struct weftdart_type **made,
                            struct weftdart_block **block)
{
    size_t size;

    TRY(weftdart_bytes(1, base, &size));
    if (count == 0 || count > SIZE_MAX / sizeof(**block) - 1)
        return INVALID("%zu blocks", count);
    *made = malloc(sizeof(**made) + count * sizeof(**block));
    TRY_MEMORY(*made);
    *block = (struct weftdart_block *)(*made + 1);
    **made = (struct weftdart_type){.base = base, .size = size, .count = count, .block = *block};
    return DART_OK;
}

dart_ret_t dart_type_create_strided(dart_datatype_t base, size_t stride, size_t blocklen,
                                    dart_datatype_t *newtype)
{
    struct weftdart_type *type;
    struct weftdart_block *block;

    TRY_PLACES(newtype);
    if (blocklen == 0 || stride < blocklen)
        return INVALID("blocks of %zu elements, %zu apart", blocklen, stride);
    TRY(make_type(base, 1, &type, &block));
    *block = (struct weftdart_block){0, blocklen};
    type->extent = stride;
    type->elements = blocklen;
    *newtype = (dart_datatype_t)type;
    return DART_OK;
}

dart_ret_t dart_type_create_indexed(dart_datatype_t base, size_t count, const size_t blocklen[],
                                    const size_t offset[], dart_datatype_t *newtype)
{
    struct weftdart_type *type;
    struct weftdart_block *block;
    size_t first = SIZE_MAX, end = 0, elements = 0;

    TRY_PLACES(newtype, blocklen, offset);
    for (size_t i = 0; i < count; i++)
        if (blocklen[i] == 0 || offset[i] > SIZE_MAX / 2 || blocklen[i] > SIZE_MAX / 2 ||
            __builtin_add_overflow(elements, blocklen[i], &elements))
            return INVALID("block %zu has %zu elements at %zu", i, blocklen[i], offset[i]);
    TRY(make_type(base, count, &type, &block));
    for (size_t i = 0; i < count; i++) {
        block[i] = (struct weftdart_block){offset[i], blocklen[i]};
        first = offset[i] < first ? offset[i] : first;
        end = offset[i] + blocklen[i] > end ? offset[i] + blocklen[i] : end;
    }
    type->extent = end - first;
    type->elements = elements;
    *newtype = (dart_datatype_t)type;
    return DART_OK;
}

dart_ret_t dart_type_create_custom(size_t num_bytes, dart_datatype_t *newtype)
{
    struct weftdart_type *type;
    struct weftdart_block *block;

    TRY_PLACES(newtype);
    if (num_bytes == 0)
        return INVALID("a type of 0 bytes");
    TRY(make_type(DART_TYPE_BYTE, 1, &type, &block));
    *block = one;
    type->size = num_bytes;
    type->extent = type->elements = 1;
    *newtype = type->base = (dart_datatype_t)type;
    return DART_OK;
}

dart_ret_t dart_type_destroy(dart_datatype_t *type)
{
    TRY_PLACES(type);
    if (*type <= DART_TYPE_LAST)
        return INVALID("the program has not made type %ld", (long)*type);
    free((void *)*type);
    *type = DART_TYPE_UNDEFINED;
    return DART_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

typedef void combine_fn(const weft_combine *combine, const void *from, void *into, size_t count);

#define FUNCTIONS(name, type, kind, native) ELEMENT_##kind##S(name, type)
TYPES(FUNCTIONS)

static combine_fn *const functions[DART_TYPE_LAST][DART_OP_LAST];

/* Combines pairs: the lesser of the first, the greater of the second. */
static void minmax_any(const weft_combine *combine, const void *from, void *into, size_t count)
{
    combine_fn *const *const of = functions[combine->check >> 8];
    const size_t each = combine->bytes / 2;

    for (size_t i = 0; i < count; i++) {
        const char *const a = (const char *)from + 2 * i * each;
        char *const b = (char *)into + 2 * i * each;
        of[DART_OP_MIN](combine, a, b, 1);
        of[DART_OP_MAX](combine, a + each, b + each, 1);
    }
}
static void replace_any(const weft_combine *combine, const void *from, void *into, size_t count)
{
    memcpy(into, from, count * combine->bytes);
}
static void no_op_any(const weft_combine *combine, const void *from, void *into, size_t count)
{
    (void)combine, (void)from, (void)into, (void)count;
}

#define REAL_ROW(name)                                                                             \
    [DART_OP_MIN] = min_##name, [DART_OP_MAX] = max_##name, [DART_OP_MINMAX] = minmax_any,         \
    [DART_OP_SUM] = sum_##name, [DART_OP_PROD] = prod_##name, [DART_OP_REPLACE] = replace_any,     \
    [DART_OP_NO_OP] = no_op_any
#define INTEGER_ROW(name)                                                                          \
    REAL_ROW(name), [DART_OP_BAND] = band_##name, [DART_OP_LAND] = land_##name,                    \
                    [DART_OP_BOR] = bor_##name, [DART_OP_LOR] = lor_##name,                        \
                    [DART_OP_BXOR] = bxor_##name, [DART_OP_LXOR] = lxor_##name
#define ROW(name, type, kind, native) [DART_TYPE_##name] = {kind##_ROW(name)},
static combine_fn *const functions[DART_TYPE_LAST][DART_OP_LAST] = {TYPES(ROW)};

/* One that the program has made. */
struct own_operation {
    dart_operator_t function;
    void *user_data;
    dart_datatype_t type;
    bool commutes;
};

static void combine_own(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const struct own_operation *const own = combine->operation;

    own->function(from, into, count, own->user_data);
}

dart_ret_t weftdart_combine(dart_datatype_t type, dart_operation_t op, size_t *of,
                            weft_combine *combine)
{
    const size_t pair = op == DART_OP_MINMAX ? 2 : 1;
    size_t size;

    TRY(weftdart_bytes(1, type, &size));
    *combine = (weft_combine){.bytes = pair * size, .commutes = 1, .check = UINT32_MAX};
    if (op > DART_OP_LAST) {
        const struct own_operation *const own = (const struct own_operation *)op;
        if (own->type != type)
            return INVALID("the operation is of another type");
        combine->combine = combine_own;
        combine->commutes = own->commutes;
        combine->in_calls = 1;
        combine->operation = own;
        return DART_OK;
    }
    if (op > DART_OP_UNDEFINED && op < DART_OP_LAST && type < DART_TYPE_LAST) {
        combine->combine = functions[type][op];
        combine->check = (uint32_t)type << 8 | (uint32_t)op;
    }
    if (combine->combine == NULL || *of % pair != 0)
        return INVALID("operation %ld of %zu elements of type %ld of %zu bytes", (long)op, *of,
                       type < DART_TYPE_LAST ? (long)type : -1, size);
    *of /= pair;
    return DART_OK;
}

dart_ret_t dart_op_create(dart_operator_t op, void *user_data, bool commute, dart_datatype_t type,
                          bool type_is_temporary, dart_operation_t *new_op)
{
    size_t size;

    (void)type_is_temporary;
    TRY_PLACES(new_op, op);
    TRY(weftdart_bytes(1, type, &size));
    struct own_operation *const own = malloc(sizeof(*own));
    TRY_MEMORY(own);
    *own = (struct own_operation){
        .function = op, .user_data = user_data, .type = type, .commutes = commute};
    *new_op = (dart_operation_t)own;
    return DART_OK;
}

dart_ret_t dart_op_destroy(dart_operation_t *op)
{
    TRY_PLACES(op);
    if (*op <= DART_OP_LAST)
        return INVALID("the program has not made operation %ld", (long)*op);
    free((void *)*op);
    *op = DART_OP_UNDEFINED;
    return DART_OK;
}
