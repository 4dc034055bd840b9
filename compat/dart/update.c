/*
 * compat/dart/update.c - updates. What weft has no update for is a compare and swap of the word in
 * which the element is, until nobody has come between.
 */
#include "internal.h"

/* An element of a predefined type, and its word: 8 bytes, or 4 for all that is smaller. */
struct element {
    const struct weftdart_type *type;
    weft_win win;
    int member;
    size_t word, size; /* offset and bytes of the word */
    size_t at;         /* offset of the element in the word */
};

static dart_ret_t find_target(dart_gptr_t gptr, size_t nelem, dart_datatype_t type,
                              struct element *e)
{
    size_t bytes;
    weft_gwhere where;

    TRY(weftdart_open());
    TRY(weftdart_type_of(type, &e->type));
    if (type >= DART_TYPE_LONG_DOUBLE)
        return INVALID("not of a type of %zu bytes, or made by the program", e->type->size);
    TRY(weftdart_bytes(nelem, type, &bytes));
    TRY(weftdart_where(gptr, bytes, &where));
    if (gptr.addr_or_offs.offset % e->type->size != 0)
        return INVALID("offset %llu is not aligned to %zu bytes",
                       (unsigned long long)gptr.addr_or_offs.offset, e->type->size);
    e->win = where.win;
    e->member = where.member;
    e->size = e->type->size == 8 ? 8 : 4;
    e->at = where.offset % e->size;
    e->word = where.offset - e->at;
    return DART_OK;
}

/* Replaces the word if it is *word, which becomes what was there. */
static weft_status swap_word(const struct element *e, uint64_t desired, uint64_t *word)
{
    uint32_t half;

    if (e->size == 8)
        return weft_host_compare_swap(weftdart.job, e->win, e->member, e->word, *word, desired,
                                      word);
    const weft_status status = weft_host_compare_swap_u32(
        weftdart.job, e->win, e->member, e->word, (uint32_t)*word, (uint32_t)desired, &half);
    if (status == WEFT_OK)
        *word = half;
    return status;
}

/* Changes an element to what combine makes of it and *value; old: NULL, or what it was. */
static dart_ret_t change(const struct element *e, const weft_combine *combine, const void *value,
                         void *old)
{
    uint64_t word = 0, seen, desired;

    TRY_WEFT(swap_word(e, 0, &word)); /* 0 for 0: reads it */
    do {
        seen = desired = word;
        combine->combine(combine, value, (unsigned char *)&desired + e->at, 1);
        TRY_WEFT(swap_word(e, desired, &word));
    } while (word != seen);
    if (old != NULL)
        memcpy(old, (unsigned char *)&seen + e->at, e->type->size);
    return DART_OK;
}

/* ---- accumulate ------------------------------------------------------------------------------ */

/* 1 + the operation of weft; 0: it has none. */
static const int native_operation[DART_OP_LAST] = {
    [DART_OP_MIN] = 1 + WEFT_MIN,   [DART_OP_MAX] = 1 + WEFT_MAX,
    [DART_OP_SUM] = 1 + WEFT_SUM,   [DART_OP_BOR] = 1 + WEFT_OR,
    [DART_OP_BAND] = 1 + WEFT_AND,  [DART_OP_BXOR] = 1 + WEFT_XOR,
    [DART_OP_PROD] = 1 + WEFT_PROD, [DART_OP_REPLACE] = 1 + WEFT_REPLACE};

static bool is_native(const struct element *e, dart_operation_t op)
{
    return e->type->native != 0 && native_operation[op] != 0;
}
#define NATIVE(e, op) (weft_type)((e)->type->native - 1), (weft_operation)(native_operation[op] - 1)

/* Checks all arguments, and tells how elements are combined. */
static dart_ret_t prepare(dart_gptr_t gptr, size_t nelem, dart_datatype_t type, dart_operation_t op,
                          struct element *e, weft_combine *combine)
{
    size_t number = 1;

    if (op <= DART_OP_UNDEFINED || op >= DART_OP_LAST || op == DART_OP_MINMAX)
        return INVALID("not by operation %ld%s", op < DART_OP_LAST ? (long)op : -1,
                       op >= DART_OP_LAST ? ", which the program has made" : "");
    TRY(find_target(gptr, nelem, type, e));
    return weftdart_combine(type, op, &number, combine);
}

static dart_ret_t accumulate(dart_gptr_t gptr, const void *values, size_t nelem,
                             dart_datatype_t type, dart_operation_t op)
{
    struct element e;
    weft_combine combine;
    weft_op begun;

    TRY(prepare(gptr, nelem, type, op, &e, &combine));
    if (values == NULL && nelem > 0)
        return INVALID("%zu values at NULL", nelem);
    if (op == DART_OP_NO_OP)
        return DART_OK;
    if (is_native(&e, op))
        return weftdart_result(weft_host_accumulate_begin(weftdart.job, e.win, e.member, e.word,
                                                          values, nelem, NATIVE(&e, op), &begun));
    for (size_t i = 0; i < nelem; i++) {
        TRY(change(&e, &combine, (const unsigned char *)values + i * e.type->size, NULL));
        e.at += e.type->size;
        e.word += e.at / e.size * e.size;
        e.at %= e.size;
    }
    return DART_OK;
}

/* Defines an accumulate. When it returns, weft has copied the values. */
#define ACCUMULATE(name)                                                                           \
    CALL(name,                                                                                     \
         (dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t type,                \
          dart_operation_t op),                                                                    \
         accumulate(gptr, values, nelem, type, op))
ACCUMULATE(dart_accumulate)
ACCUMULATE(dart_accumulate_blocking_local)

/* ---- one element ----------------------------------------------------------------------------- */

dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void *value, void *result,
                             dart_datatype_t type, dart_operation_t op)
{
    struct element e;
    weft_combine combine;
    weft_op begun;

    TRY_PLACES(result);
    TRY(prepare(gptr, 1, type, op, &e, &combine));
    if (op != DART_OP_NO_OP)
        TRY_PLACES(value);
    if (!is_native(&e, op))
        return change(&e, &combine, value, result);
    TRY_WEFT(weft_host_fetch_accumulate_begin(weftdart.job, e.win, e.member, e.word, value, result,
                                              1, NATIVE(&e, op), &begun));
    return weftdart_result(weft_host_op_wait(weftdart.job, begun, WEFT_LOCAL));
}

dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void *value, const void *compare,
                                 void *result, dart_datatype_t type)
{
    struct element e;
    uint64_t word = 0, seen, desired;

    TRY_PLACES(value, compare, result);
    if (type < DART_TYPE_BYTE || type > DART_TYPE_ULONGLONG)
        return INVALID("not of integers");
    TRY(find_target(gptr, 1, type, &e));
    unsigned char *const there = (unsigned char *)&seen + e.at;
    if (e.type->size == e.size)
        memcpy(&word, compare, e.size);
    else
        TRY_WEFT(swap_word(&e, 0, &word));
    do { /* until the element differs, or nobody has changed what is beside it */
        seen = desired = word;
        memcpy((unsigned char *)&desired + e.at, value, e.type->size);
        if (memcmp(there, compare, e.type->size) != 0)
            break;
        TRY_WEFT(swap_word(&e, desired, &word));
    } while (word != seen);
    memcpy(result, there, e.type->size);
    return DART_OK;
}
