/* support/notices.h - one function that takes all notices of a network under test. */
#ifndef WEFT_TESTS_NOTICES_H
#define WEFT_TESTS_NOTICES_H

#include "net/net.h"

static inline struct weft_notice_kinds all_notices(weft_notice_apply apply, void *context)
{
    struct weft_notice_kinds kinds;

    for (uint32_t kind = 0; kind < WEFT_NOTICE_KINDS; kind++)
        weft_notice_add(&kinds, kind, apply, context);
    return kinds;
}

#endif
