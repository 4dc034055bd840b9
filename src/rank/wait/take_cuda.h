/*
 * rank/wait/take_cuda.h - how the first warp of a rank takes what has come by several channels, or
 * is not what the look expects: of all of them at once. A lane takes short messages of a channel by
 * itself; longer ones are divided among teams of lanes, equal ones, as large as a power of two can
 * be. Channel i is lane i's: it reads the heads, and notes what was taken.
 */
#ifndef WEFT_RANK_WAIT_TAKE_CUDA_H
#define WEFT_RANK_WAIT_TAKE_CUDA_H

#include "rank/wait/look_cuda.h"

/* Messages of a channel in one go: then others have their turn. */
enum { WEFT_TAKE_MANY = 16 };

/* What a wait needs of a tag, of which so many are counted. */
struct weft_want {
    uint32_t tag, have, need;
};

/* Notes a message that has been stored in full. By the lane of the channel. */
WEFT_INLINE void weft_take_noted(weft_self *self, struct weft_in *in, const struct weft_head *head)
{
    if (head->notice)
        atomicSub(&self->consumed[head->tag], 1u);
    if (head->bye)
        in->bye = 1;
    weft_read_on(in, head);
}

/*
 * Short messages: a lane takes those of one channel, which may be several. *line: the first head,
 * then the last that the lane has read. Returns, by lane, where that is the head of a longer one.
 */
WEFT_INLINE unsigned weft_take_short(weft_self *self, struct weft_ring_line *line, unsigned heads)
{
    struct weft_in *const in = &self->in[threadIdx.x % WEFT_CHANNELS_IN];
    bool there = (heads >> threadIdx.x & 1) != 0, is_long = false;

    for (uint32_t n = 0; n < WEFT_TAKE_MANY && __any_sync(~0u, there); n++) {
        const struct weft_head head = weft_head_of(line->word[0], line->word[1]);
        const uint32_t lines = weft_message_lines(head.bytes), next = in->tail + lines;
        if (there && lines <= 2) {
            const struct weft_ring_line rest = weft_lap_read(weft_lap_at(in, next - 1));
            const struct weft_ring_line after = weft_lap_read(weft_lap_at(in, next));
            there =
                lines == 1 || weft_lap_there(rest.word[0], rest.word[1], weft_lap_flag(next - 1));
            if (there) {
                if (head.release)
                    weft_polled();
                weft_deliver_line(&head, 0, line);
                if (lines == 2)
                    weft_deliver_line(&head, 1, &rest);
                weft_take_noted(self, in, &head);
                *line = after;
                there = weft_lap_there(after.word[0], after.word[1], weft_lap_flag(next));
            }
        } else if (there) {
            is_long = true;
            there = false;
        }
    }
    return __ballot_sync(~0u, is_long);
}

/* A team: the lanes that take a channel's message together, and the caller's lane. */
struct weft_warp_team {
    uint32_t lanes, lane;
    uint32_t channel;
    bool some; /* 1: a channel is left for the team */
};

/* Teams are numbered as the channels of `heads` are, from the lowest. */
WEFT_INLINE struct weft_warp_team weft_team_of(unsigned heads)
{
    struct weft_warp_team team;
    unsigned left = heads;

    team.lanes = 32u >> (32 - __clz(__popc(heads) - 1));
    team.lane = threadIdx.x % team.lanes;
    for (uint32_t i = 0; i < threadIdx.x / team.lanes; i++)
        left &= left - 1;
    team.some = left != 0;
    team.channel = (uint32_t)__ffs((int)(team.some ? left : heads)) - 1;
    return team;
}

/* Whether those who voted are all lanes of a team, which has this number; `team` is any. */
WEFT_INLINE bool weft_team_all(unsigned voted, struct weft_warp_team team, uint32_t number)
{
    return (~voted >> number * team.lanes & ~0u >> (32 - team.lanes)) == 0;
}

/*
 * Stores what of a message is there behind its head. Whether the lane's share was there. Lines are
 * this message's if they have the flag of their lap, since the sender had room for all of it when
 * it wrote the head. What is stored of one that is not complete is stored again: the sender has
 * promised the place to it.
 */
WEFT_INLINE bool weft_take_lines(const struct weft_in *in, const struct weft_head *head,
                                 struct weft_warp_team team)
{
    enum { DEEP = 4 };
    const uint32_t tail = in->tail, lines = team.some ? weft_message_lines(head->bytes) : 0;
    bool all = true;

    for (uint32_t first = 1; __any_sync(~0u, first < lines); first += DEEP * team.lanes) {
        struct weft_ring_line line[DEEP];
        weft_lap_read_apart(line, in, tail + first + team.lane, team.lanes);
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++) {
            const uint32_t at = first + k * team.lanes + team.lane;
            const bool there =
                weft_lap_there(line[k].word[0], line[k].word[1], weft_lap_flag(tail + at));
            all &= there || at >= lines;
            if (there && at < lines)
                weft_deliver_line(head, at, &line[k]);
        }
    }
    return all;
}

/*
 * Longer messages, or any: one of each channel in `heads`, and more unless the wait has what it
 * wants. line: the head that the lane has read.
 *
 * Order: a payload comes after what its head's `release` stands for. The lane that has read the
 * head acquires it, and the warp's barrier passes that on to the team that stores.
 */
WEFT_INLINE void weft_take_long(weft_self *self, struct weft_ring_line line, unsigned heads,
                                struct weft_want want)
{
    struct weft_in *const own = &self->in[threadIdx.x % WEFT_CHANNELS_IN];

    for (uint32_t n = 0; n < WEFT_TAKE_MANY && heads != 0; n++) {
        const struct weft_warp_team team = weft_team_of(heads);
        const struct weft_head head = weft_head_of(__shfl_sync(~0u, line.word[0], team.channel),
                                                   __shfl_sync(~0u, line.word[1], team.channel));
        const struct weft_head own_head = weft_head_of(line.word[0], line.word[1]);
        const uint32_t next = own->tail + weft_message_lines(own_head.bytes);
        const bool mine = (heads >> threadIdx.x & 1) != 0;
        struct weft_ring_line after = line;

        if (mine && own_head.release)
            weft_polled();
        __syncwarp();
        if (mine) /* while the others are on their way */
            after = weft_lap_read(weft_lap_at(own, next));
        const unsigned all =
            __ballot_sync(~0u, weft_take_lines(&self->in[team.channel], &head, team));
        /* That of the lane's own channel. */
        const uint32_t number = __popc(heads & ((1u << threadIdx.x) - 1));
        const bool taken = mine && weft_team_all(all, team, number);

        if (taken)
            weft_deliver_line(&own_head, 0, &line);
        __syncwarp(); /* all have read where to begin, and stored what a credit covers */
        if (taken)
            weft_take_noted(self, own, &own_head);
        line = after;
        heads = __ballot_sync(
            ~0u, taken && weft_lap_there(after.word[0], after.word[1], weft_lap_flag(next)));
        __syncwarp(); /* where to begin now, and what is consumed */
        const uint32_t consumed = *(volatile uint32_t *)&self->consumed[want.tag];
        if (heads != 0 && __any_sync(~0u, want.have - consumed >= want.need))
            break;
    }
}

/*
 * Takes what is there of the channels whose heads are, of which each lane has read one. The next
 * look expects what the first of the longer ones was, if there is one.
 */
WEFT_COLD void weft_take_some(weft_self *self, struct weft_ring_line line, unsigned heads,
                              struct weft_want want)
{
    uint32_t hot = (uint32_t)__ffs((int)heads) - 1;
    uint64_t word0 = __shfl_sync(~0u, line.word[0], hot);

    __syncwarp(); /* all have read what changes now */
    heads = weft_take_short(self, &line, heads);
    if (heads != 0) {
        hot = (uint32_t)__ffs((int)heads) - 1;
        word0 = __shfl_sync(~0u, line.word[0], hot);
    }
    if (threadIdx.x == 0) {
        weft_look_deep(self, hot, weft_head_of(word0, 0).bytes);
        self->owes = 1;
    }
    __syncwarp(); /* how far each lane has come */
    weft_take_long(self, line, heads, want);
    __syncwarp(); /* what the lanes wrote of it */
}

#endif
