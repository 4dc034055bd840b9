/*
 * rank/together.h - calls that all threads of a rank make together, where a rank of the CPU device
 * has several (device/cpu/team.h). Each thread comes with its arguments, the last one makes the
 * call for all, and each returns what it gave. Meanwhile the rank has one thread for weft_thread,
 * weft_threads and weft_for, as ever on the CPU device.
 *
 * A call begins with one of these. call: itself; then those of its arguments on which all threads
 * must agree, or 0.
 *     WEFT_TOGETHER       it has no result
 *     WEFT_TOGETHER_THEN  each thread does something at its end
 *     WEFT_TOGETHER_LIST  the elements of a list are arguments, too
 *     WEFT_TOGETHER_FOR   it has a result of that type
 * _ALL, _ALL_FOR: the same by name and arguments; all threads must agree on each of these.
 *     WEFT_TOGETHER_LANES the threads of each warp make it by themselves, or each thread (1)
 */
#ifndef WEFT_RANK_TOGETHER_H
#define WEFT_RANK_TOGETHER_H

#include "rank/fail.h"
#include "rank/wait/wait.h"

#ifdef __CUDACC__

/*
 * A call of all threads is not made while a warp, or a thread, makes one of its own. At its end all
 * know a channel that it has opened: warps do not tell each other. It returns in several places, to
 * which threads of a warp may come apart: its barriers there are not aligned, as __syncthreads is.
 */
#if WEFT_WARPS
WEFT_INLINE void weft_meet_apart(void)
{
    asm volatile("barrier.sync 0;" ::: "memory");
}

WEFT_COLD void weft_hear_news(weft_self *self)
{
    weft_meet_apart(); /* all have seen that there are some */
    weft_routes_clear(self);
    if (threadIdx.x == 0)
        self->news = 0;
    weft_meet_apart();
}

struct weft_whole_rank {
    weft_self *const self;

    __device__ weft_whole_rank(weft_self *rank) : self(rank)
    {
        __syncthreads();
    }
    __device__ ~weft_whole_rank()
    {
        weft_meet_apart();
        if (WEFT_UNLIKELY(*(volatile const uint32_t *)&self->news != 0))
            weft_hear_news(self);
    }
};
#define WEFT_WHOLE_RANK(self) const struct weft_whole_rank whole_rank(self);
#else
#define WEFT_WHOLE_RANK(self)
#endif

#define WEFT_TOGETHER(self, call, ...)                           WEFT_WHOLE_RANK(self)
#define WEFT_TOGETHER_THEN(self, call, then, ...)                WEFT_WHOLE_RANK(self)
#define WEFT_TOGETHER_LIST(self, call, field, list, length, ...) WEFT_WHOLE_RANK(self)
#define WEFT_TOGETHER_FOR(type, self, call, ...)                 WEFT_WHOLE_RANK(self)
#define WEFT_TOGETHER_LANES(lanes, self, call, ...)
#define WEFT_TOGETHER_LANES_FOR(type, lanes, self, call, ...)

#else

/*
 * Meets all threads of a call, by each of them. True: the caller is to make the call, and then says
 * weft_team_made. Apart, so that the calls stay as small as without it.
 */
static __attribute__((noinline, cold, unused)) bool weft_together(weft_self *self,
                                                                  struct weft_call *call)
{
    struct weft_disagreement why;
    const enum weft_met met = weft_team_meet(self->port.team, call, &why);

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

#define WEFT_CALL(...)                                                                             \
    .name = __func__, .arguments = #__VA_ARGS__,                                                   \
    .value = (const uint64_t[]){WEFT_VALUES(__VA_ARGS__)},                                         \
    .count = (int)(sizeof((const uint64_t[]){WEFT_VALUES(__VA_ARGS__)}) / sizeof(uint64_t))

#define WEFT_TOGETHER_AS(self, call, then, group, field, list, length, ...)                        \
    if (WEFT_UNLIKELY(weft_threads(self) != 1)) {                                                  \
        struct weft_call together = {WEFT_CALL(__VA_ARGS__), .lanes = group, .field = list,        \
                                     .listed = length};                                            \
        if (weft_together(self, &together)) {                                                      \
            call;                                                                                  \
            weft_team_made((self)->port.team);                                                     \
        }                                                                                          \
        then;                                                                                      \
        return;                                                                                    \
    }
#define WEFT_TOGETHER(self, call, ...)                                                             \
    WEFT_TOGETHER_AS(self, call, (void)0, 0, targets, NULL, 0, __VA_ARGS__)
#define WEFT_TOGETHER_THEN(self, call, then, ...)                                                  \
    WEFT_TOGETHER_AS(self, call, then, 0, targets, NULL, 0, __VA_ARGS__)
#define WEFT_TOGETHER_LIST(self, call, field, list, length, ...)                                   \
    WEFT_TOGETHER_AS(self, call, (void)0, 0, field, list, length, __VA_ARGS__)
#define WEFT_TOGETHER_LANES(lanes, self, call, ...)                                                \
    WEFT_TOGETHER_AS(self, call, (void)0, lanes, targets, NULL, 0, __VA_ARGS__)

#define WEFT_TOGETHER_FOR(type, self, call, ...)                                                   \
    WEFT_TOGETHER_LANES_FOR(type, 0, self, call, __VA_ARGS__)
#define WEFT_TOGETHER_LANES_FOR(type, group, self, call, ...)                                      \
    if (WEFT_UNLIKELY(weft_threads(self) != 1)) {                                                  \
        type result;                                                                               \
        struct weft_call together = {WEFT_CALL(__VA_ARGS__), .lanes = group, .result = &result,    \
                                     .bytes = sizeof(result)};                                     \
        if (weft_together(self, &together)) {                                                      \
            result = call;                                                                         \
            weft_team_made((self)->port.team);                                                     \
        }                                                                                          \
        return result;                                                                             \
    }

#endif

#define WEFT_TOGETHER_ALL(name, self, ...) WEFT_TOGETHER(self, name(self, __VA_ARGS__), __VA_ARGS__)
#define WEFT_TOGETHER_ALL_FOR(type, name, self, ...)                                               \
    WEFT_TOGETHER_FOR(type, self, name(self, __VA_ARGS__), __VA_ARGS__)

#endif
