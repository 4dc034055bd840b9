/*
 * compat/mpi/agree.c - how the members of a communicator agree on the number of a new one: each
 * says which numbers are free in its process; of those that are in all, they try one; each says
 * whether it is free still, since it may make several communicators at once. Until all say yes.
 *
 * Agreements on one communicator are made one after the other, in messages of their own, so that
 * they stand in no order with its collectives.
 */
#include "request.h"

#include <stdlib.h>

enum {
    NUMBERS = WEFT_MESSAGE_GROUPS / WEFTMPI_GROUPS,
    BLOCK = 2048, /* numbers that one message tells of */
    WORDS = BLOCK / 64
};

static uint64_t used[NUMBERS / 64] = {3}; /* 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF */

struct weftmpi_agreement {
    struct weftmpi_agreement *behind;   /* the next on this communicator */
    struct weftmpi_agreement *next;     /* of all */
    struct weftmpi_comm *parent, *comm; /* comm: once it is over; may be NULL */
    struct weftmpi_group *group;        /* NULL: this process gets no communicator */
    struct weftmpi_topology *topology;
    struct weftmpi_errhandler *errhandler;
    struct weftmpi_attribute *attributes;
    MPI_Comm *made;
    const char *call;
    weft_team_op *op;
    bool voting, over;
    weft_status status; /* once it is over, */
    int error;          /* and of the attributes' callbacks */
    unsigned attempt, block;
    int number; /* that is tried; -1: this process has not taken it */
    uint64_t words[WORDS];
};

static struct weftmpi_agreement *agreements; /* under way, for whoever waits to drive */

/* The number is used now. False: it was before. */
static bool take(int number)
{
    LOCKED;
    const bool was_free = (used[number / 64] >> number % 64 & 1) == 0;
    used[number / 64] |= (uint64_t)1 << number % 64;
    return was_free;
}

void weftmpi_number_give(int number)
{
    LOCKED;
    used[number / 64] &= ~((uint64_t)1 << number % 64);
}

static void both(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const uint64_t *a = from;
    uint64_t *b = into;

    (void)combine;
    for (size_t i = 0; i < count; i++)
        b[i] &= a[i];
}
static const weft_combine and_words = {.combine = both, .bytes = sizeof(uint64_t), .commutes = 1};

static weft_status begin(struct weftmpi_agreement *agreement, size_t words)
{
    struct weftmpi_comm *parent = agreement->parent;
    weft_status status = WEFT_OK;

    if (parent->agree_team == NULL) {
        status =
            weft_message_group_take(weftmpi.job, (uint32_t)parent->number * WEFTMPI_GROUPS + 2,
                                    parent->group->processes, parent->size, &parent->agreements);
        if (status == WEFT_OK)
            status = weft_team_open(weftmpi.job, parent->agreements, parent->size, parent->rank,
                                    parent->name, NULL, &parent->agree_team);
    }
    if (status == WEFT_OK)
        status = weft_team_allreduce(parent->agree_team, agreement->words, agreement->words, words,
                                     &and_words, &agreement->op);
    return status;
}

/* Says which numbers of the block are free here. Who gets no communicator has no say. Locked. */
static weft_status begin_offer(struct weftmpi_agreement *agreement)
{
    agreement->voting = false;
    for (int i = 0; i < WORDS; i++)
        agreement->words[i] =
            agreement->group == NULL ? ~(uint64_t)0 : ~used[agreement->block * WORDS + i];
    return begin(agreement, WORDS);
}

/* Tries one of the numbers that are free everywhere; others at every attempt. */
static weft_status begin_vote(struct weftmpi_agreement *agreement)
{
    const unsigned start = agreement->attempt == 0 ? 0
                                                   : (unsigned)agreement->parent->number * 37 +
                                                         agreement->attempt * 101;

    for (unsigned i = 0; i < BLOCK; i++) {
        const unsigned bit = (start + i) % BLOCK;
        if ((agreement->words[bit / 64] >> bit % 64 & 1) == 0)
            continue;
        agreement->number = (int)(agreement->block * BLOCK + bit);
        agreement->words[0] = agreement->group == NULL || take(agreement->number);
        if (agreement->words[0] == 0)
            agreement->number = -1;
        agreement->voting = true;
        return begin(agreement, 1);
    }
    agreement->block++;
    return agreement->block < NUMBERS / BLOCK ? begin_offer(agreement) : WEFT_ERR_LIMIT;
}

/* The number is everybody's: the communicator. */
static weft_status make(struct weftmpi_agreement *agreement)
{
    if (agreement->group == NULL)
        return WEFT_OK;
    struct weftmpi_comm *comm = weftmpi_comm_make(agreement->group, agreement->number);
    if (comm == NULL)
        return WEFT_ERR_MEMORY;
    agreement->comm = comm;
    agreement->group = NULL;
    comm->errhandler = agreement->errhandler;
    agreement->errhandler = NULL;
    comm->topology = agreement->topology;
    agreement->topology = NULL;
    comm->attributes = agreement->attributes;
    return WEFT_OK;
}

static weft_status end_vote(struct weftmpi_agreement *agreement)
{
    if (agreement->words[0] != 0) {
        agreement->over = true;
        return make(agreement);
    }
    if (agreement->group != NULL && agreement->number >= 0)
        weftmpi_number_give(agreement->number);
    agreement->attempt++;
    return begin_offer(agreement);
}

static void start(struct weftmpi_agreement *agreement)
{
    agreement->status = begin_offer(agreement);
    agreement->over = agreement->status != WEFT_OK;
}

/* Out of the lists: the next on this communicator begins. */
static void leave(struct weftmpi_agreement *agreement)
{
    struct weftmpi_agreement **at = &agreements;

    weftmpi_leave(agreement->group);
    weftmpi_leave(agreement->topology);
    weftmpi_leave(agreement->errhandler);
    while (*at != agreement)
        at = &(*at)->next;
    __atomic_store_n(at, agreement->next, __ATOMIC_RELAXED);
    agreement->parent->agreeing = agreement->behind;
    if (agreement->behind != NULL)
        start(agreement->behind);
}

/* Moves it as far as it gets. The lock is held. */
static void move(struct weftmpi_agreement *agreement)
{
    int done = 1;

    while (!agreement->over && agreement->parent->agreeing == agreement && done) {
        weft_status status = weft_team_test(&agreement->op, &done);
        if (status == WEFT_OK && done)
            status = agreement->voting ? end_vote(agreement) : begin_vote(agreement);
        agreement->status = status;
        agreement->over |= status != WEFT_OK;
    }
    if (agreement->over && agreement->parent->agreeing == agreement)
        leave(agreement);
}

bool weftmpi_drive(void)
{
    struct weftmpi_agreement *next;

    if (__atomic_load_n(&agreements, __ATOMIC_RELAXED) == NULL)
        return false;
    LOCKED;
    for (struct weftmpi_agreement *a = agreements; a != NULL; a = next) {
        next = a->next;
        move(a);
    }
    return true;
}

/* It is over: the communicator, or why there is none. */
static int tell(struct weftmpi_agreement *agreement)
{
    TRY(weftmpi_failed(agreement->parent, agreement->call, agreement->status));
    if (agreement->error != MPI_SUCCESS) { /* of copies, which only those with a group make */
        weftmpi_attributes_delete(agreement->comm);
        weftmpi_leave(agreement->comm);
    } else if (agreement->comm != NULL) {
        *agreement->made = agreement->comm->object.handle;
    }
    return agreement->error;
}

bool weftmpi_agree_poll(struct weftmpi_request *request, double seconds, int *error)
{
    struct weftmpi_agreement *agreement = request->state;

    weftmpi_drive();
    weftmpi_lock();
    const bool over = agreement->over && agreement->parent->agreeing != agreement;
    weftmpi_unlock();
    if (over) {
        *error = tell(agreement);
        free(agreement);
        request->state = NULL;
    } else if (seconds > 0) { /* another's turn, or messages of others */
        weftmpi_pause();
    }
    return over;
}

int weftmpi_agree(struct weftmpi_request *request, const char *call, struct weftmpi_comm *parent,
                  struct weftmpi_group *group, bool copies, struct weftmpi_topology *topology,
                  MPI_Comm *made)
{
    struct weftmpi_agreement *agreement = made != NULL ? calloc(1, sizeof(*agreement)) : NULL;

    weftmpi_request_open(request, WEFTMPI_AGREE, call, parent);
    if (agreement == NULL) {
        weftmpi_leave(group);
        weftmpi_leave(topology);
        return made == NULL ? weftmpi_place_in(call, made) : weftmpi_no_memory(parent, call);
    }
    *made = MPI_COMM_NULL;
    *agreement = (struct weftmpi_agreement){.parent = parent,
                                            .group = group,
                                            .topology = topology,
                                            .errhandler = weftmpi_errhandler_of(parent),
                                            .made = made,
                                            .call = call,
                                            .number = -1};
    if (copies)
        agreement->error = weftmpi_attributes_copy(call, parent, &agreement->attributes);
    request->state = agreement;
    LOCKED;
    struct weftmpi_agreement **last = &parent->agreeing;
    while (*last != NULL)
        last = &(*last)->behind;
    *last = agreement;
    agreement->next = agreements;
    __atomic_store_n(&agreements, agreement, __ATOMIC_RELAXED);
    if (parent->agreeing == agreement)
        start(agreement);
    return MPI_SUCCESS;
}

int weftmpi_agree_now(const char *call, struct weftmpi_comm *parent, struct weftmpi_group *group,
                      struct weftmpi_topology *topology, MPI_Comm *made)
{
    struct weftmpi_request request = {0};
    const int error = weftmpi_agree(&request, call, parent, group, false, topology, made);

    return weftmpi_request_wait(&request, error, MPI_STATUS_IGNORE);
}
