/*
 * coll/host/shared_call.c - the calls of shared.h: what becomes of others' parts. The calling
 * thread alone.
 */
#include "coll/host/shared.h"

#include "coll/host/ways.h"
#include "msg/copy.h"

#include <string.h>

enum {
    SPLITS = 3072,  /* bytes that all slices save a member, for which one more step is taken */
    PIECE = 8 << 10 /* of a broadcast; a root's two are hot in a cache */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Bytes of a slice, if each member is to put one together of such parts, and to take the others';
 * 0: all put all together.
 */
static size_t slice_of(const struct weft_shared *what, size_t bytes, size_t members)
{
    if (what->combine == NULL || bytes * (members - 1) < SPLITS + bytes)
        return 0;
    return (bytes / what->combine->bytes + members - 1) / members * what->combine->bytes;
}

/* Lower members' are the left operands. From `at` on, of parts of `most` bytes. */
static void put_together(const weft_team *team, const weft_combine *combine, size_t most, size_t at,
                         size_t bytes, void *target)
{
    if (bytes == 0)
        return;
    weft_read_shared(target, weft_at(weft_shared_given_by(team, team->members - 1, most), at),
                     bytes);
    for (int i = team->members - 2; i >= 0; i--) {
        const void *left = weft_at(weft_shared_given_by(team, i, most), at);
        weft_used_shared(left, bytes);
        combine->combine(combine, left, target, bytes / combine->bytes);
    }
}

/* ---- by parts -------------------------------------------------------------------------------- */

/* In one step, or in two. call: bytes of the whole call. */
static weft_status by_parts(weft_team *team, int tag, const struct weft_shared *what, size_t call)
{
    _Alignas(64) unsigned char sum[WEFT_SHARED_TWICE];
    const size_t bytes = what->each, slice = slice_of(what, bytes, (size_t)team->members);
    const size_t mine = least(slice * (size_t)team->me, bytes);
    struct weft_shared_given given = {.data = what->gives ? what->source : NULL,
                                      .bytes = what->gives ? bytes : 0,
                                      .most = bytes,
                                      .of_call = (uint32_t)call};

    if (slice != 0) {
        WEFT_TRY(weft_shared_step(team, tag, &given, 0, team->members));
        given.data = sum;
        given.bytes = least(slice, bytes - mine);
        given.most = slice;
        put_together(team, what->combine, bytes, mine, given.bytes, sum);
    }
    WEFT_TRY(weft_shared_step(team, tag, &given, what->first, what->end));
    if (what->combine != NULL && slice == 0 && what->first != what->end)
        put_together(team, what->combine, bytes, 0, bytes, what->target);
    for (int i = what->first; i < what->end && (what->combine == NULL || slice != 0); i++) {
        const size_t begin =
            slice != 0 ? least(slice * (size_t)i, bytes) : (size_t)(i - what->first) * what->in;
        const size_t in = slice != 0 ? least(slice, bytes - begin) : what->in;
        void *const into = weft_at(what->target, begin), *own = weft_at(what->source, what->at);
        if (in != 0 && (i != team->me || slice != 0))
            weft_read_shared(into, weft_at(weft_shared_given_by(team, i, given.most), what->at),
                             in);
        else if (in != 0 && into != own) /* others look at its part, which is slow to read */
            memcpy(into, own, in);
    }
    return WEFT_OK;
}

/* The others read a piece while the root stores the next. */
static weft_status broadcast(weft_team *team, int tag, const struct weft_shared *what)
{
    weft_status status = WEFT_OK;

    for (size_t done = 0; done < what->each && status == WEFT_OK; done += PIECE) {
        struct weft_shared piece = *what;
        piece.source = weft_at(what->source, done);
        piece.target = weft_at(what->target, done);
        piece.each = piece.in = least(what->each - done, PIECE);
        status = by_parts(team, tag, &piece, what->each);
    }
    return status;
}

/* ---- where they lie -------------------------------------------------------------------------- */

/*
 * Where a member has said that its part lies, or the buffer into which parts go. Of this one it is
 * not looked up: what it has posted is in memory that others map.
 */
static uint64_t place_of(const weft_team *team, int member, uint64_t mine)
{
    uint64_t place = mine;

    if (member != team->me)
        weft_read_shared(&place, weft_shared_given_by(team, member, sizeof(place)), sizeof(place));
    return place;
}

/* Out of a member's memory, or (writes) into it. */
static weft_status copy(weft_team *team, int tag, int member, bool writes, void *here,
                        uint64_t there, size_t bytes)
{
    void *const own = (void *)(uintptr_t)there;

    if (member == team->me) {
        if (own != here)
            writes ? memcpy(own, here, bytes) : memcpy(here, own, bytes);
        return WEFT_OK;
    }
    for (size_t at = 0, some; at < bytes; at += some) {
        some = weft_msg_copy_between(team->of->messages, team->parts->of[member].process, writes,
                                     weft_at(here, at), there + at, bytes - at);
        if (some == 0)
            return weft_shared_unreached(team, tag, member, there + at, bytes - at);
    }
    return WEFT_OK;
}

/* Blocks of others. Each member begins with the next one, so that not all read from one at a time.
 */
static weft_status read_blocks(weft_team *team, int tag, const struct weft_shared *what,
                               uint64_t mine)
{
    const int taken = what->end - what->first;

    for (int i = 1; i <= taken; i++) {
        const int from = taken == 1 ? what->first : (team->me + i) % taken;
        WEFT_TRY(copy(team, tag, from, false,
                      weft_at(what->target, (size_t)(from - what->first) * what->in),
                      place_of(team, from, mine) + what->at, what->in));
    }
    return WEFT_OK;
}

/*
 * A root that gathers has its blocks written by their owners, who are many; else who takes reads.
 * Nobody's memory is touched any more when its last step is over.
 */
static weft_status where_they_lie(weft_team *team, int tag, const struct weft_shared *what)
{
    const bool gathers = what->kind == WEFT_TEAM_GATHER, root = team->me == (int)what->root;
    const uint64_t mine = (uintptr_t)(gathers && root ? what->target : what->source);
    const bool touched = gathers ? root : what->gives; /* this member's memory, by the others */
    /* A root, too, looks at all: who gives fewer bytes may store them, and wait for nobody. */
    const bool one = gathers && !root;
    const int to = (int)what->root;
    struct weft_shared_given given = {.data = &mine,
                                      .bytes = sizeof(mine),
                                      .most = sizeof(mine),
                                      .of_call = (uint32_t)what->each};

    WEFT_TRY(weft_shared_step(team, tag, &given, one ? to : what->first, one ? to + 1 : what->end));
    if (gathers)
        WEFT_TRY(copy(team, tag, to, true, (void *)what->source,
                      place_of(team, to, mine) + what->in * (size_t)team->me, what->in));
    else
        WEFT_TRY(read_blocks(team, tag, what, mine));
    given.bytes = 0;
    return weft_shared_step(team, tag, &given, 0, touched ? team->members : 0);
}

static weft_status run(weft_team *team, int tag, const struct weft_shared *what)
{
    /* Of a row of blocks each member reads one, and asking the kernel for one takes as long. */
    const size_t most = what->in != what->each ? WEFT_SHARED_MOST : WEFT_SHARED_TWICE;

    if (what->kind == WEFT_TEAM_BROADCAST && what->each > PIECE)
        return broadcast(team, tag, what);
    return what->each > most ? where_they_lie(team, tag, what)
                             : by_parts(team, tag, what, what->each);
}

/*
 * Through memory of the host, in a frame that other calls do without. The members have agreed that
 * such calls are of few bytes.
 */
WEFT_COLD weft_status run_far(weft_team *team, int tag, struct weft_shared what, size_t out,
                              size_t in, bool into_far)
{
    _Alignas(64) unsigned char source[WEFT_SHARED_BESIDE],
        target[WEFT_SHARED_MEMBERS * sizeof(source)];
    struct weft_messages *m = team->of->messages;
    void *const there = what.target;

    if (out != 0 && !weft_msg_copy(m, source, what.source, out))
        return WEFT_ERR_DEVICE;
    what.source = source;
    if (into_far)
        what.target = target;
    const weft_status status = run(team, tag, &what);
    if (status == WEFT_OK && into_far && in != 0 && !weft_msg_copy(m, there, target, in))
        return WEFT_ERR_DEVICE;
    return status;
}

static inline weft_status place(const weft_team *team, int tag, const void *memory, size_t bytes,
                                bool *far)
{
    *far = false;
    return (bytes == 0 || memory != NULL) && weft_msg_is_near(team->job, bytes)
               ? WEFT_OK
               : weft_team_place(team, tag, memory, bytes, far);
}

static weft_status begin(weft_team *team, const struct weft_shared *what)
{
    const int tag = weft_team_tag(team->number, what->kind, what->root);
    const int taken = what->end - what->first;
    const size_t out = what->gives ? what->each : 0;
    const size_t in = what->in * (size_t)(what->combine != NULL && taken != 0 ? 1 : taken);
    bool far, into_far;
    weft_status status = place(team, tag, what->source, out, &far);

    if (status == WEFT_OK)
        status = place(team, tag, what->target, in, &into_far);
    if (status != WEFT_OK)
        return status;
    team->history[team->number++ % WEFT_TEAM_HISTORY] = tag | INT32_MIN;
    return far || into_far ? run_far(team, tag, *what, out, in, into_far) : run(team, tag, what);
}

bool weft_shared_call(weft_team *team, const struct weft_shared *what, weft_status *status)
{
    if (what->in > team->job->config.coll_shared || team->members > WEFT_SHARED_MEMBERS ||
        (what->combine != NULL &&
         (what->each > WEFT_SHARED_TWICE || (team->launches && what->combine->known))))
        return false;
    *status = weft_job_ready(team->job, team->names[what->kind]);
    if (*status == WEFT_OK && !team->asked)
        *status = weft_shared_agree(team, what->kind);
    if (*status == WEFT_OK && (team->parts == NULL || what->each > team->parts->most))
        return false;
    if (*status == WEFT_OK)
        *status = begin(team, what);
    return true;
}
