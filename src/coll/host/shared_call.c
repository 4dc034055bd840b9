/*
 * coll/host/shared_call.c - the calls of shared.h: what becomes of others' parts. The calling
 * thread does all.
 */
#include "coll/host/shared.h"

#include "coll/host/ways.h"
#include "msg/copy.h"

#include <errno.h>
#include <string.h>

enum {
    SPLITS = 3072,  /* bytes that slices have to save a member to be worth one more step */
    PIECE = 8 << 10 /* bytes of a broadcast's piece: a root's two large parts stay in a cache */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the bytes of a slice, if each member is to put one together of such parts, and to take
 * the others'; 0: all put all together. */
static size_t slice_of(const struct weft_shared *what, size_t bytes, size_t members)
{
    if (what->combine == NULL || bytes * (members - 1) < SPLITS + bytes)
        return 0;
    return (bytes / what->combine->bytes + members - 1) / members * what->combine->bytes;
}

/* Puts all members' parts together, of `most` bytes, from `at` on. Lower members' are the left
 * operands. */
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

/* Does a call in one step, or in two. call: bytes of the whole call. */
static weft_status by_parts(weft_team *team, int tag, const struct weft_shared *what, size_t call)
{
    _Alignas(64) unsigned char sum[WEFT_SHARED_TWICE];
    const size_t bytes = what->each, slice = slice_of(what, bytes, (size_t)team->members);
    const size_t mine = least(slice * (size_t)team->me, bytes);
    /* Nobody reads what a root gathers of itself, nor the block of a row that is its owner's. */
    const bool gives =
        what->gives && (what->kind != WEFT_TEAM_GATHER || team->me != (int)what->root);
    struct weft_shared_given given = {.data = gives ? what->source : NULL,
                                      .bytes = gives ? bytes : 0,
                                      .most = bytes,
                                      .own_at = what->at,
                                      .own = what->in != bytes ? what->in : 0,
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

/* Does a call in pieces: the others read a piece while its owner stores the next. */
static weft_status in_pieces(weft_team *team, int tag, const struct weft_shared *what, size_t most)
{
    weft_status status = WEFT_OK;

    for (size_t done = 0; done < what->each && status == WEFT_OK; done += most) {
        struct weft_shared piece = *what;
        piece.source = weft_at(what->source, done);
        if (what->first != what->end)
            piece.target = weft_at(what->target, done);
        piece.each = piece.in = least(what->each - done, most);
        status = by_parts(team, tag, &piece, what->each);
    }
    return status;
}

/* ---- where they lie -------------------------------------------------------------------------- */

/* Copies from another member's memory, or (writes) into it. False: it cannot be reached. Then the
 * job fails, unless the kernel gives none, or that process has ended, for which the next step waits
 * in vain. */
static bool copy(const weft_team *team, int tag, int member, bool writes, void *here,
                 uint64_t there, size_t bytes)
{
    const int process = team->parts->of[member].process;

    for (size_t at = 0, some; at < bytes; at += some) {
        some = weft_msg_copy_between(team->of->messages, process, writes, weft_at(here, at),
                                     there + at, bytes - at);
        if (some != 0)
            continue;
        if (errno != EPERM && errno != ENOSYS && errno != ESRCH)
            weft_job_fail(team->job, WEFT_ERR_ARGUMENT,
                          "%s: process %d cannot copy %zu bytes at 0x%llx of process %d: %s",
                          weft_team_name(team, tag), team->job->numbers.process, bytes - at,
                          (unsigned long long)there + at, process, strerror(errno));
        return false;
    }
    return true;
}

/* Copies the blocks of others, or this member's own into the memory of a root that gathers. Each
 * begins with the next member, so that not all read from one at a time. False: `copy` failed. */
static bool copy_blocks(const weft_team *team, int tag, const struct weft_shared *what, bool writes)
{
    const int n = team->members;
    bool good = true;

    for (int i = 1; i <= n && good; i++) {
        const int member = (team->me + i) % n;
        const size_t at = (size_t)(writes ? team->me : member) * what->in;
        void *const block = what->first != what->end ? weft_at(what->target, at) : NULL;
        void *const own = weft_at(what->source, what->at);
        uint64_t place;
        if (member == team->me) {
            if (block != NULL && block != own)
                memcpy(block, own, what->in);
        } else if (!writes || member == (int)what->root) {
            weft_read_shared(&place, weft_shared_given_by(team, member, sizeof(place)),
                             sizeof(place));
            good = copy(team, tag, member, writes, writes ? own : block,
                        place + (writes ? at : what->at), what->in);
        }
    }
    return good;
}

/* Does a call by copies from where parts lie. All members give. Nobody's memory is touched any more
 * when the last step is over. */
static weft_status where_they_lie(weft_team *team, int tag, const struct weft_shared *what)
{
    const bool gathers = what->kind == WEFT_TEAM_GATHER, root = team->me == (int)what->root;
    const uint64_t mine = (uintptr_t)(gathers && root ? what->target : what->source);
    struct weft_shared_given given = {.data = &mine,
                                      .bytes = sizeof(mine),
                                      .most = sizeof(mine),
                                      .of_call = (uint32_t)what->each};

    WEFT_TRY(weft_shared_step(team, tag, &given, 0, team->members));
    const unsigned char failed = !copy_blocks(team, tag, what, gathers);
    given.data = &failed;
    given.bytes = given.most = sizeof(failed);
    WEFT_TRY(weft_shared_step(team, tag, &given, 0, team->members));
    for (int i = 0; i < team->members; i++) {
        unsigned char said;
        weft_read_shared(&said, weft_shared_given_by(team, i, sizeof(said)), sizeof(said));
        if (said != 0) /* all see it, and send messages from now on */
            team->parts->most = WEFT_SHARED_TWICE;
    }
    return WEFT_OK;
}

static weft_status run(weft_team *team, int tag, const struct weft_shared *what)
{
    const weft_combine *const combine = what->combine;
    const size_t bytes = what->each;
    const size_t piece =
        combine == NULL ? PIECE : WEFT_SHARED_TWICE / combine->bytes * combine->bytes;
    /* Of a row of blocks each member reads one, and asking the kernel for one takes as long. The
     * blocks that a root gathers of many are stored by all at once. */
    const bool stored = what->in != bytes || (what->kind == WEFT_TEAM_GATHER && team->members > 2);

    if (combine != NULL || what->kind == WEFT_TEAM_BROADCAST)
        return bytes > piece ? in_pieces(team, tag, what, piece) : by_parts(team, tag, what, bytes);
    return bytes > (stored ? WEFT_SHARED_MOST : WEFT_SHARED_TWICE)
               ? where_they_lie(team, tag, what)
               : by_parts(team, tag, what, bytes);
}

/* Does a call of device memory through memory of the host, in a frame that other calls do without.
 * The members have agreed that such calls are of few bytes. */
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

    WEFT_TRY(place(team, tag, what->source, out, &far));
    WEFT_TRY(place(team, tag, what->target, in, &into_far));
    team->history[team->number++ % WEFT_TEAM_HISTORY] = tag | INT32_MIN;
    return far || into_far ? run_far(team, tag, *what, out, in, into_far) : run(team, tag, what);
}

bool weft_shared_call(weft_team *team, const struct weft_shared *what, weft_status *status)
{
    if (what->in > team->job->config.coll_shared || team->members > WEFT_SHARED_MEMBERS ||
        (what->combine != NULL &&
         (what->combine->bytes > WEFT_SHARED_TWICE || (team->launches && what->combine->known) ||
          /* each of many reads all of each piece, where messages divide the work */
          (what->each > WEFT_SHARED_TWICE && team->members > 2))))
        return false;
    *status = weft_job_ready(team->job, team->names[what->kind]);
    if (*status == WEFT_OK && !team->asked)
        *status = weft_shared_agree(team, what->kind);
    if (*status == WEFT_OK && (team->parts == NULL || what->each > team->parts->most))
        return false;
    if (*status == WEFT_OK)
        *status = begin(team, what);
    return *status != WEFT_OK || what->each <= team->parts->most;
}
