/* base/status.c - names and texts of statuses, from the list in weft/types.h; names of types and
 * operations. Any thread. */
#include "base/say.h"

static const struct {
    const char *name, *text;
} statuses[] = {
#define STATUS_ROW(name, text) {"WEFT_" #name, text},
    WEFT_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

const char *weft_status_name(weft_status status)
{
    return (unsigned)status < WEFT_STATUS_COUNT ? statuses[status].name : "WEFT_?";
}

const char *weft_status_text(weft_status status)
{
    return (unsigned)status < WEFT_STATUS_COUNT ? statuses[status].text : "unknown status";
}

const char *weft_type_name(uint64_t type)
{
    static const char names[][5] = {"I32", "U32", "I64", "U64", "F32", "F64", "F16", "BF16", "U8"};
    return type <= WEFT_U8 ? names[type] : "?";
}

const char *weft_operation_name(uint64_t operation)
{
    static const char names[][5] = {"SUM", "MIN", "MAX", "AND", "OR", "XOR", "PROD"};
    return operation <= WEFT_PROD ? names[operation] : "?";
}
