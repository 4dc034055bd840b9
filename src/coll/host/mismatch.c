/*
 * coll/host/mismatch.c - members whose calls differ. The tag of a collective's messages says what
 * it is, so that another's messages match none of its receives. They are found by a member that
 * waits, by its next call, and when the team is closed.
 */
#include "coll/host/shared.h"

#include <stdio.h>

/*
 * number 10 bits, kind 5, root or check 16; of WEFT_TEAM_KINDS, where members agree, the call. The
 * kinds that are left are all reductions to a root, by what came of their checks.
 */
enum { NUMBERS = 1024, KINDS = 32, REDUCED = WEFT_TEAM_KINDS + 1 };

_Static_assert(REDUCED < KINDS, "a kind has 5 bits");

uint32_t weft_team_root(int root, uint32_t check)
{
    return (uint32_t)root | check % (KINDS - REDUCED) << 16;
}

int weft_team_tag(uint32_t number, enum weft_team_kind kind, uint32_t root)
{
    const uint32_t said = kind == WEFT_TEAM_REDUCE ? REDUCED + (root >> 16) : (uint32_t)kind;

    return (int)((number % NUMBERS) << 21 | said << 16 | (root & 0xffff));
}

static uint32_t number_of(int tag)
{
    return (uint32_t)tag >> 21;
}

static enum weft_team_kind kind_of(int tag)
{
    const uint32_t kind = (uint32_t)tag >> 16 & (KINDS - 1);

    return kind < REDUCED ? (enum weft_team_kind)kind : WEFT_TEAM_REDUCE;
}

/* Returns the call that a tag is of, also where members agree before they make it. */
static enum weft_team_kind call_of(int tag)
{
    return kind_of(tag) != WEFT_TEAM_KINDS ? kind_of(tag) : (enum weft_team_kind)(tag & 0xffff);
}

const char *weft_team_name(const weft_team *team, int tag)
{
    return call_of(tag) < WEFT_TEAM_KINDS ? team->names[call_of(tag)] : "an unknown call";
}

void weft_team_words(const void *of, int tag, char *text, size_t bytes)
{
    const weft_team *team = of;

    snprintf(text, bytes, "%s %u on %s", weft_team_name(team, tag), number_of(tag), team->name);
}

static bool has_root(enum weft_team_kind kind)
{
    return kind == WEFT_TEAM_BROADCAST || kind == WEFT_TEAM_REDUCE || kind == WEFT_TEAM_GATHER ||
           kind == WEFT_TEAM_GATHER_SIZES || kind == WEFT_TEAM_SCATTER ||
           kind == WEFT_TEAM_SCATTER_SIZES;
}

/* Fails the job, naming this member's call and another's, which differ. Returns MISMATCH. */
static weft_status differ(const weft_team *team, int mine, int from, int theirs)
{
    char call[256];

    weft_team_words(team, mine, call, sizeof(call));
    if (call_of(mine) != call_of(theirs))
        weft_job_fail(team->job, WEFT_ERR_MISMATCH, "%s in process %d, %s in process %d", call,
                      team->me, weft_team_name(team, theirs), from);
    else if (number_of(mine) != number_of(theirs))
        weft_job_fail(team->job, WEFT_ERR_MISMATCH,
                      "%s in process %d, %s %u in process %d: earlier calls differ", call, team->me,
                      weft_team_name(team, theirs), number_of(theirs), from);
    else if (mine == theirs || kind_of(mine) != kind_of(theirs))
        weft_job_fail(team->job, WEFT_ERR_MISMATCH,
                      "%s: of process %d and process %d one waits for few bytes in the call, and "
                      "one does not",
                      call, team->me, from);
    else if (has_root(kind_of(mine)) && ((mine ^ theirs) & 0xffff) != 0)
        weft_job_fail(team->job, WEFT_ERR_MISMATCH,
                      "%s: root %d in process %d, root %d in process %d", call, mine & 0xffff,
                      team->me, theirs & 0xffff, from);
    else
        weft_job_fail(team->job, WEFT_ERR_MISMATCH,
                      "%s: the types or operations of process %d and process %d differ", call,
                      team->me, from);
    return WEFT_ERR_MISMATCH;
}

weft_status weft_team_compare(const weft_team *team, int mine, int from, int theirs)
{
    if (mine == theirs)
        return WEFT_OK;
    /* Of unlike numbers: this member's call of the other's number says more, if it is kept. */
    const int same = team->history[number_of(theirs) % WEFT_TEAM_HISTORY] & INT32_MAX;
    if (number_of(same) == number_of(theirs) && same != theirs)
        mine = same;
    return differ(team, mine, from, theirs);
}

weft_status weft_team_stranger(weft_team *team, int from, int tag, bool parts)
{
    const uint32_t number = number_of(tag), behind = (team->number - 1 - number) % NUMBERS;

    if (behind >= WEFT_TEAM_HISTORY || behind >= team->number)
        return WEFT_OK; /* of a call that this member has not made yet */
    const int mine = team->history[number % WEFT_TEAM_HISTORY];
    if (kind_of(mine & INT32_MAX) == WEFT_TEAM_KINDS && call_of(mine & INT32_MAX) == call_of(tag))
        return WEFT_OK; /* of the call before which this member still agrees with the others */
    return (mine & INT32_MAX) == tag && parts == (mine < 0)
               ? WEFT_OK
               : differ(team, mine & INT32_MAX, from, tag);
}

weft_status weft_team_strangers(weft_team *team, int from)
{
    weft_message message;
    int there = 0;

    WEFT_TRY(weft_host_probe(team->job, team->comm, from, WEFT_ANY, &there, &message));
    return there ? weft_team_stranger(team, message.from, message.tag, false)
                 : weft_shared_differ(team);
}

weft_status weft_team_unequal(const weft_team *team, int tag, int from, size_t bytes,
                              size_t expected)
{
    weft_job_fail(team->job, WEFT_ERR_MISMATCH,
                  "%s %u on %s: %zu bytes from process %d, and process %d expects %zu",
                  weft_team_name(team, tag), number_of(tag), team->name, bytes, from, team->me,
                  expected);
    return WEFT_ERR_MISMATCH;
}
