/*
 * coll/host/shared_call.c - the calls of shared.h: pieces, and what becomes of others' parts. The
 * calling thread alone.
 */
#include "coll/host/shared.h"

#include "coll/host/ways.h"
#include "msg/copy.h"

#include <string.h>

enum { SPLITS = 3072 /* bytes that all slices save a member, for which one more step is taken */ };

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

/* What goes in one step, or in two: so many bytes of each part, `done` bytes behind its begin. */
static weft_status run_piece(weft_team *team, int tag, const struct weft_shared *what, size_t done,
                             size_t bytes)
{
    _Alignas(64) unsigned char sum[WEFT_SHARED_MOST];
    const size_t slice = slice_of(what, bytes, (size_t)team->members);
    const size_t mine = least(slice * (size_t)team->me, bytes);
    struct weft_shared_given given = {.data = what->gives ? weft_at(what->source, done) : NULL,
                                      .bytes = what->gives ? bytes : 0,
                                      .most = bytes,
                                      .of_call = (uint32_t)what->each};
    weft_status status = WEFT_OK;

    if (slice != 0) {
        status = weft_shared_step(team, tag, &given, 0, team->members);
        if (status != WEFT_OK)
            return status;
        given.data = sum;
        given.bytes = least(slice, bytes - mine);
        given.most = slice;
        put_together(team, what->combine, bytes, mine, given.bytes, sum);
    }
    status = weft_shared_step(team, tag, &given, what->first, what->end);
    if (status != WEFT_OK || what->first == what->end)
        return status;
    if (what->combine != NULL && slice == 0)
        put_together(team, what->combine, bytes, 0, bytes, weft_at(what->target, done));
    for (int i = what->first; i < what->end && (what->combine == NULL || slice != 0); i++) {
        const size_t begin =
            slice != 0 ? least(slice * (size_t)i, bytes) : (size_t)(i - what->first) * what->in;
        const size_t in = slice != 0 ? least(slice, bytes - begin) : least(what->in, bytes);
        void *const into = weft_at(what->target, done + begin);
        const void *const own = weft_at(what->source, done + what->at);
        if (in != 0 && (i != team->me || slice != 0))
            weft_read_shared(into, weft_at(weft_shared_given_by(team, i, given.most), what->at),
                             in);
        else if (in != 0 && into != own) /* others look at its part, which is slow to read */
            memcpy(into, own, in);
    }
    return WEFT_OK;
}

static weft_status run(weft_team *team, int tag, const struct weft_shared *what)
{
    const size_t one =
        what->each > WEFT_SHARED_MOST && what->combine != NULL ? what->combine->bytes : 1;
    const size_t most = WEFT_SHARED_MOST - (one != 1 ? WEFT_SHARED_MOST % one : 0);
    weft_status status;
    size_t done = 0, bytes;

    do {
        bytes = least(what->each - done, most);
        status = run_piece(team, tag, what, done, bytes);
        done += bytes;
    } while (status == WEFT_OK && done < what->each);
    return status;
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
    /* Of one piece: blocks; and what two have, of whom one reads more in the other's memory. */
    const bool of_one = what->in != what->each || team->members == 2;

    if (what->each > team->job->config.coll_shared || team->members > WEFT_SHARED_MEMBERS ||
        (of_one && what->each > WEFT_SHARED_MOST) ||
        (what->combine != NULL &&
         (what->combine->bytes > WEFT_SHARED_MOST || (team->launches && what->combine->known))))
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
