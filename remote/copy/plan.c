/* remote/copy/plan.c - see the header. Pure functions for any thread. */
#include "remote/copy/plan.h"

#include "base/say.h"
#include "net/staging.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 4096, LARGEST = 16 << 20, ALL = UINT32_MAX };

/* Returns SIZE of NxSIZE, in units; 0: it is none. */
static uint32_t units_of(const char *text)
{
    uint64_t bytes;

    if (strcmp(text, "all") == 0)
        return ALL;
    return weft_config_bytes(text, &bytes) && bytes <= LARGEST && bytes % UNIT == 0
               ? (uint32_t)(bytes / UNIT)
               : 0;
}

weft_status weft_plan_parse(struct weft_plan *plan, const char *text)
{
    const bool each = strncmp(text, "each:", 5) == 0, once = strncmp(text, "once:", 5) == 0;
    char *end = NULL;

    *plan = (struct weft_plan){.each = each};
    if (strcmp(text, "auto") == 0 || strcmp(text, "direct") == 0)
        return WEFT_OK;
    if ((each || once) && text[5] >= '1' && text[5] <= '9') {
        const unsigned long depth = strtoul(text + 5, &end, 10);
        plan->depth = depth <= WEFT_PLAN_DEPTH ? (uint32_t)depth : 0;
        plan->unit = *end == 'x' ? units_of(end + 1) : 0;
    }
    if (plan->depth != 0 && plan->unit != 0)
        return WEFT_OK;
    return weft_err(
        WEFT_ERR_CONFIG,
        "WEFT_REMOTE_PIPE=%s: not direct, auto, once:NxSIZE or each:NxSIZE with N in 1..%d and "
        "SIZE all or in 4K..16M, a multiple of 4K",
        text, WEFT_PLAN_DEPTH);
}

bool weft_plan_is_good(const struct weft_plan *plan)
{
    return plan->depth <= WEFT_PLAN_DEPTH && plan->each <= 1 &&
           (plan->unit == ALL || plan->unit <= LARGEST / UNIT);
}

size_t weft_plan_piece(const struct weft_plan *plan, const struct weft_config *config,
                       uint64_t bytes)
{
    const size_t most = plan->each ? config->stage_memory : config->stage_memory / 2;
    const uint64_t piece = plan->unit == ALL ? bytes : (uint64_t)plan->unit * UNIT;

    if (plan->unit == 0)
        return weft_stage_piece(config, bytes);
    return piece < most ? (size_t)piece : most;
}

uint32_t weft_plan_depth(const struct weft_plan *plan, const struct weft_config *config)
{
    return plan->depth != 0 ? plan->depth : weft_stage_depth(config);
}
