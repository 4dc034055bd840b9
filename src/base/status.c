/* base/status.c - names and texts of statuses, from the list in weft/types.h. Any thread. */
#include "weft/types.h"

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
