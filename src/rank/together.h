/*
 * rank/together.h - calls that all threads of a rank make together, where a rank of the CPU device
 * has several (device/cpu/team.h): each thread comes with its arguments, the last one makes the
 * call for all, and each returns what it gave. Below, a rank of the CPU device is one thread as
 * ever.
 *
 * WEFT_TOGETHER begins a call without a result, WEFT_TOGETHER_FOR one with a result of that type;
 * then: what each thread does when it is made.
 * call: itself; then those of its arguments on which all threads must agree.
 */
#ifndef WEFT_RANK_TOGETHER_H
#define WEFT_RANK_TOGETHER_H

#include "rank/fail.h"

#ifdef __CUDACC__

#define WEFT_TOGETHER(self, call, ...)
#define WEFT_TOGETHER_THEN(self, call, then, ...)
#define WEFT_TOGETHER_FOR(type, self, call, ...)
#define WEFT_BY_FIRST(self)

#else

/* True: the caller is to make the call. */
static inline bool weft_arrive_at(weft_self *self, struct weft_call *call)
{
    struct weft_objection_of_team why;
    const enum weft_met met = weft_team_meet(&self->port, call, &why);

    if (met == WEFT_MET_AT_ODDS)
        weft_fail(self, why.status, why.text, 0, NULL);
    return met == WEFT_MET_LAST;
}

/* clang-format off */
#define WEFT_VALUE(x) (uint64_t)(uintptr_t)(x)
#define WEFT_VALUES_1(x)       WEFT_VALUE(x)
#define WEFT_VALUES_2(x, ...)  WEFT_VALUE(x), WEFT_VALUES_1(__VA_ARGS__)
#define WEFT_VALUES_3(x, ...)  WEFT_VALUE(x), WEFT_VALUES_2(__VA_ARGS__)
#define WEFT_VALUES_4(x, ...)  WEFT_VALUE(x), WEFT_VALUES_3(__VA_ARGS__)
#define WEFT_VALUES_5(x, ...)  WEFT_VALUE(x), WEFT_VALUES_4(__VA_ARGS__)
#define WEFT_VALUES_6(x, ...)  WEFT_VALUE(x), WEFT_VALUES_5(__VA_ARGS__)
#define WEFT_VALUES_7(x, ...)  WEFT_VALUE(x), WEFT_VALUES_6(__VA_ARGS__)
#define WEFT_VALUES_8(x, ...)  WEFT_VALUE(x), WEFT_VALUES_7(__VA_ARGS__)
#define WEFT_VALUES_9(x, ...)  WEFT_VALUE(x), WEFT_VALUES_8(__VA_ARGS__)
#define WEFT_VALUES_10(x, ...) WEFT_VALUE(x), WEFT_VALUES_9(__VA_ARGS__)
#define WEFT_VALUES_PICK(a, b, c, d, e, f, g, h, i, j, name, ...) name
#define WEFT_VALUES(...)                                                                           \
    WEFT_VALUES_PICK(__VA_ARGS__, WEFT_VALUES_10, WEFT_VALUES_9, WEFT_VALUES_8, WEFT_VALUES_7,     \
                     WEFT_VALUES_6, WEFT_VALUES_5, WEFT_VALUES_4, WEFT_VALUES_3, WEFT_VALUES_2,    \
                     WEFT_VALUES_1, 0)(__VA_ARGS__)
/* clang-format on */

#define WEFT_CALL(call_result, call_bytes, ...)                                                    \
    {                                                                                              \
        .name = __func__, .arguments = #__VA_ARGS__,                                               \
        .count = (int)(sizeof((const uint64_t[]){WEFT_VALUES(__VA_ARGS__)}) / sizeof(uint64_t)),   \
        .value = {WEFT_VALUES(__VA_ARGS__)}, .result = (call_result), .bytes = (call_bytes)        \
    }

#define WEFT_TOGETHER(self, call, ...) WEFT_TOGETHER_THEN(self, call, (void)0, __VA_ARGS__)

#define WEFT_TOGETHER_THEN(self, call, then, ...)                                                  \
    if (WEFT_UNLIKELY((self)->port.meets != NULL)) {                                               \
        struct weft_call together = WEFT_CALL(NULL, 0, __VA_ARGS__);                               \
        if (weft_arrive_at(self, &together)) {                                                          \
            call;                                                                                  \
            weft_team_made(&(self)->port);                                                         \
        }                                                                                          \
        then;                                                                                      \
        return;                                                                                    \
    }

#define WEFT_TOGETHER_FOR(type, self, call, ...)                                                   \
    if (WEFT_UNLIKELY((self)->port.meets != NULL)) {                                               \
        type result;                                                                               \
        struct weft_call together = WEFT_CALL(&result, sizeof(result), __VA_ARGS__);               \
        if (weft_arrive_at(self, &together)) {                                                          \
            result = call;                                                                         \
            weft_team_made(&(self)->port);                                                         \
        }                                                                                          \
        return result;                                                                             \
    }

/* A call that one thread makes for its rank, whether or not the others make it, too. */
#define WEFT_BY_FIRST(self)                                                                        \
    if (WEFT_UNLIKELY((self)->port.meets != NULL) && weft_strand.thread != 0)                       \
    return

#endif
#endif
