/*
 * ring/lines.h - words that vouch for themselves: what the rings of commands and channels have
 * in common.
 *
 * Each 64-bit word is stored undivided, and its top byte tells this lap of the ring from the one
 * before. So a reader knows of each word whether it is there, and needs no other word for it. By
 * the atomics of order/atomic.h, which come before it.
 */
#ifndef WEFT_RING_LINES_H
#define WEFT_RING_LINES_H

#include "abi/line.h"

#ifdef __CUDACC__

/* Stores two words at once: each is undivided, no more. line: 16 bytes, aligned. */
WEFT_INLINE void weft_lap_write(uint64_t line[2], uint64_t word0, uint64_t word1)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(WEFT_GLOBAL(line)),
                 "l"(word0), "l"(word1)
                 : "memory");
}

#define WEFT_LAP_LOAD(code, line)                                                                  \
    ({                                                                                             \
        struct weft_ring_line found_;                                                              \
        asm volatile(code "v2.u64 {%0, %1}, [%2];"                                                 \
                     : "=l"(found_.word[0]), "=l"(found_.word[1])                                  \
                     : "l"(WEFT_GLOBAL(line))                                                      \
                     : "memory");                                                                  \
        found_;                                                                                    \
    })

/* Polls both words of a line: weft_polled acquires what came before them. */
WEFT_INLINE struct weft_ring_line weft_lap_read(const struct weft_ring_line *line)
{
    return WEFT_LAP_LOAD(WEFT_POLL, line);
}

/* Looks at a line without order: what the words do not bring themselves is not acquired. */
WEFT_INLINE struct weft_ring_line weft_lap_look(const struct weft_ring_line *line)
{
    return WEFT_LAP_LOAD("ld.relaxed.sys.global.", line);
}

/*
 * Polls four lines in one go: of four separate loads the compiler lets each wait for what is done
 * with the one before.
 */
WEFT_INLINE void weft_lap_read_four(struct weft_ring_line line[4], const void *const from[4])
{
    asm volatile(WEFT_POLL "v2.u64 {%0, %1}, [%8];\n\t" WEFT_POLL
                           "v2.u64 {%2, %3}, [%9];\n\t" WEFT_POLL
                           "v2.u64 {%4, %5}, [%10];\n\t" WEFT_POLL "v2.u64 {%6, %7}, [%11];"
                 : "=l"(line[0].word[0]), "=l"(line[0].word[1]), "=l"(line[1].word[0]),
                   "=l"(line[1].word[1]), "=l"(line[2].word[0]), "=l"(line[2].word[1]),
                   "=l"(line[3].word[0]), "=l"(line[3].word[1])
                 : "l"(WEFT_GLOBAL(from[0])), "l"(WEFT_GLOBAL(from[1])), "l"(WEFT_GLOBAL(from[2])),
                   "l"(WEFT_GLOBAL(from[3]))
                 : "memory");
}

#else

static inline void weft_lap_write(uint64_t line[2], uint64_t word0, uint64_t word1)
{
    weft_store_relaxed_u64(&line[0], word0);
    weft_store_relaxed_u64(&line[1], word1);
}

static inline struct weft_ring_line weft_lap_read(const struct weft_ring_line *line)
{
    struct weft_ring_line found;
    found.word[0] = weft_poll_u64(&line->word[0], ORDER_eager_seen);
    found.word[1] = weft_poll_u64(&line->word[1], ORDER_eager_seen);
    return found;
}

static inline struct weft_ring_line weft_lap_look(const struct weft_ring_line *line)
{
    struct weft_ring_line found;
    found.word[0] = weft_load_relaxed_u64(&line->word[0]);
    found.word[1] = weft_load_relaxed_u64(&line->word[1]);
    return found;
}

static inline void weft_lap_read_four(struct weft_ring_line line[4], const void *const from[4])
{
    for (uint32_t k = 0; k < 4; k++)
        line[k] = weft_lap_read((const struct weft_ring_line *)from[k]);
}

#endif
#endif
