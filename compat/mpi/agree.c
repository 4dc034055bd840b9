/*
 * compat/mpi/agree.c - how the members of a communicator agree on the number of a new one: each
 * says which numbers are free in its process; of those that are in all, they try one; each says
 * whether it is free still, since it may make several communicators at once. Until all say yes.
 *
 * What all say goes up and down a tree, in messages over the whole job: so it stands in no order
 * with collectives, and those of a group alone can agree. Their tag is the communicator's number
 * with the program's tag; agreements of one tag are made one after the other.
 */
#include "request.h"

enum {
    LOOKS = 2000, /* looks at an agreement before a waiting thread sleeps between them */
    WORDS = WEFTMPI_NUMBERS / 64,
    TAG_BITS = 17,                    /* bits of an agreement's tag below the number */
    TAG_OF_ALL = 1 << (TAG_BITS - 1), /* agreements of all members; no program's tag has the bit */
};
_Static_assert(((int64_t)WEFTMPI_NUMBERS << TAG_BITS) - 1 <= WEFT_TAG_MOST,
               "numbers and tags are one tag");

static uint64_t used[WORDS] = {3}; /* 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF */

/* What a member does with those above and below it in the tree. */
enum step { FROM_FIRST, FROM_SECOND, TO_PARENT, FROM_PARENT, TO_FIRST, TO_SECOND, STEPS };

struct weftmpi_agreement {
    struct weftmpi_agreement *next;
    struct weftmpi_comm *comm; /* NULL: this process gets none */
    struct weftmpi_group *all; /* the processes that agree */
    int own, tag, context;     /* own: this process's number in `all` */
    MPI_Comm *made;
    struct weftmpi_call call;
    bool voting, over;
    weft_status status; /* how it ended, once it is over */
    int error;          /* what this process brought: MPI_SUCCESS, or an error */
    unsigned attempt, looks;
    int number; /* the number that is tried; -1: this process has not taken it */
    enum step step;
    bool begun; /* the step has begun */
    weft_message_op op;
    size_t count; /* words of the step's messages */
    uint64_t words[WORDS], theirs[WORDS];
};

struct weftmpi_agreement *weftmpi_agreements;
static weft_comm channel; /* messages over the whole job */

weft_status weftmpi_channel_open(const struct weftmpi_group *world)
{
    return weft_message_group_take(weftmpi.job, 2, world->processes, world->size, &channel);
}

void weftmpi_number_give(int number)
{
    LOCKED;
    used[number / 64] &= ~((uint64_t)1 << number % 64);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Begins a climb, by which all get what is in all their words. */
static void begin(struct weftmpi_agreement *agreement, size_t count)
{
    agreement->step = FROM_FIRST;
    agreement->count = count;
}

/* Returns the process that the step is with; -1: none. */
static int peer_of(const struct weftmpi_agreement *agreement)
{
    const int own = agreement->own, child = 2 * own + 1;
    const int up = own == 0 ? -1 : (own - 1) / 2;
    const int peers[STEPS] = {child, child + 1, up, up, child, child + 1};
    const int peer = peers[agreement->step];

    return peer >= 0 && peer < agreement->all->size ? agreement->all->processes[peer] : -1;
}

static weft_status begin_step(struct weftmpi_agreement *a, int peer)
{
    const size_t bytes = a->count * sizeof(a->words[0]);

    if (a->step < TO_PARENT || a->step == FROM_PARENT)
        return weft_host_receive_begin(weftmpi.job, channel, peer, a->tag,
                                       a->step < TO_PARENT ? a->theirs : a->words, bytes, &a->op);
    return weft_host_send_begin(weftmpi.job, channel, peer, a->tag, a->words, bytes, &a->op);
}

/* Goes on with the tree's steps as far as it gets; *done: all steps are done. */
static weft_status climb(struct weftmpi_agreement *a, int *done)
{
    weft_status status = WEFT_OK;

    for (*done = 1; a->step < STEPS; a->step++, a->begun = false) {
        const int peer = peer_of(a);
        if (peer < 0)
            continue;
        if (!a->begun)
            status = begin_step(a, peer);
        a->begun = true;
        if (status == WEFT_OK)
            status = weft_host_message_test(weftmpi.job, &a->op, done, NULL);
        if (status != WEFT_OK || !*done)
            return status;
        for (size_t i = 0; a->step < TO_PARENT && i < a->count; i++)
            a->words[i] &= a->theirs[i];
    }
    return WEFT_OK;
}

/* ---- one agreement --------------------------------------------------------------------------- */

/* Says which numbers are free here. Who gets no communicator has no say. */
static void begin_offer(struct weftmpi_agreement *agreement)
{
    const bool silent = agreement->comm == NULL;

    agreement->voting = false;
    for (int i = 0; i < WORDS; i++)
        agreement->words[i] = silent ? ~(uint64_t)0 : ~used[i];
    begin(agreement, WORDS);
}

/* Picks one of the numbers that are free everywhere, another at every attempt; -1: none. */
static int pick(const uint64_t words[], unsigned context, unsigned attempt)
{
    const unsigned start = attempt == 0 ? 0 : context * 37 + attempt * 101;

    for (unsigned i = 0; i <= WORDS; i++) { /* of the first word only what is behind the start */
        const unsigned at = (start / 64 + i) % WORDS;
        const uint64_t bits = words[at] & (i == 0 ? ~(uint64_t)0 << start % 64 : ~(uint64_t)0);
        if (bits != 0)
            return (int)(at * 64) + __builtin_ctzll(bits);
    }
    return -1;
}

static weft_status begin_vote(struct weftmpi_agreement *agreement)
{
    const int number = pick(agreement->words, (unsigned)agreement->context, agreement->attempt);

    if (number < 0)
        return WEFT_ERR_LIMIT;
    const uint64_t bit = (uint64_t)1 << number % 64;
    const bool agrees = agreement->comm == NULL || (used[number / 64] & bit) == 0;
    agreement->words[0] = agrees;
    agreement->number = agrees ? number : -1;
    if (agreement->comm != NULL)
        used[number / 64] |= bit;
    agreement->voting = true;
    begin(agreement, 1);
    return WEFT_OK;
}

static weft_status end_vote(struct weftmpi_agreement *agreement)
{
    if (agreement->words[0] != 0) { /* the number is everybody's */
        agreement->over = true;
        return agreement->comm == NULL || weftmpi_comm_open(agreement->comm, agreement->number)
                   ? WEFT_OK
                   : WEFT_ERR_MEMORY;
    }
    if (agreement->comm != NULL && agreement->number >= 0)
        weftmpi_number_give(agreement->number);
    agreement->attempt++;
    begin_offer(agreement);
    return WEFT_OK;
}

/* Moves the agreement at that place as far as it gets, if none before it has its tag. Locked. */
static void move(struct weftmpi_agreement **at)
{
    struct weftmpi_agreement *agreement = *at;
    int done = 1;

    for (const struct weftmpi_agreement *a = weftmpi_agreements; a != agreement; a = a->next)
        if (a->tag == agreement->tag)
            return;
    while (!agreement->over && done) {
        weft_status status = climb(agreement, &done);
        if (status == WEFT_OK && done)
            status = agreement->voting ? end_vote(agreement) : begin_vote(agreement);
        agreement->status = status;
        agreement->over |= status != WEFT_OK;
    }
    if (agreement->over)
        __atomic_store_n(at, agreement->next, __ATOMIC_RELAXED);
}

bool weftmpi_agreements_drive(void)
{
    LOCKED;
    struct weftmpi_agreement **at = &weftmpi_agreements, *agreement;
    for (; (agreement = *at) != NULL; at = *at == agreement ? &agreement->next : at)
        move(at);
    return true;
}

/* Ends an agreement that is over: gives the communicator, or raises why there is none. */
static int tell(struct weftmpi_agreement *agreement)
{
    struct weftmpi_comm *comm = agreement->comm;
    int error = agreement->error;

    if (agreement->status != WEFT_OK)
        error = weftmpi_failed_in(agreement->call, agreement->status);
    if (comm != NULL && error != MPI_SUCCESS) {
        weftmpi_attributes_delete(&comm->object);
        weftmpi_leave(comm);
    } else if (comm != NULL) {
        *agreement->made = comm->object.handle;
    }
    weftmpi_leave(agreement->all);
    free(agreement);
    return error;
}

bool weftmpi_agree_poll(struct weftmpi_request *request, double seconds, int *error)
{
    struct weftmpi_agreement *agreement = request->state;

    weftmpi_drive();
    weftmpi_lock();
    const bool over = agreement->over;
    weftmpi_unlock();
    if (over) {
        *error = tell(agreement);
        request->state = NULL;
    } else if (seconds > 0 && ++agreement->looks > LOOKS) { /* another's turn, or messages */
        weftmpi_pause();
    }
    return over;
}

/* Begins an agreement by the members of `all`, which it takes; tag: the program's, or
 * TAG_OF_ALL. */
static void agree(struct weftmpi_request *request, struct weftmpi_comm *parent,
                  struct weftmpi_comm *comm, struct weftmpi_group *all, int context, int tag,
                  int error, MPI_Comm *made)
{
    struct weftmpi_agreement *agreement = weftmpi_room(NULL, sizeof(*agreement));

    weftmpi_request_open(request, WEFTMPI_AGREE, parent);
    *made = MPI_COMM_NULL;
    *agreement = (struct weftmpi_agreement){
        .comm = comm,
        .all = all,
        .own = weftmpi_group_own(all),
        .tag = context << TAG_BITS | tag,
        .context = context,
        .made = made,
        .call = weftmpi_call,
        .error = error,
        .number = -1,
    };
    request->state = agreement;
    LOCKED;
    begin_offer(agreement);
    struct weftmpi_agreement **last = &weftmpi_agreements;
    while (*last != NULL)
        last = &(*last)->next;
    __atomic_store_n(last, agreement, __ATOMIC_RELAXED);
}

void weftmpi_agree(struct weftmpi_request *request, struct weftmpi_comm *parent,
                   struct weftmpi_comm *comm, int error, MPI_Comm *made)
{
    agree(request, parent, comm, weftmpi_hold(parent->all), parent->number, TAG_OF_ALL, error,
          made);
}

int weftmpi_comm_new(struct weftmpi_comm *parent, struct weftmpi_comm *comm, MPI_Comm *made)
{
    struct weftmpi_request request = {0};

    weftmpi_agree(&request, parent, comm, MPI_SUCCESS, made);
    return weftmpi_request_wait(&request, MPI_SUCCESS, MPI_STATUS_IGNORE);
}

int weftmpi_comm_new_apart(struct weftmpi_comm *parent, struct weftmpi_comm *comm, int context,
                           int tag, MPI_Comm *made)
{
    struct weftmpi_request request = {0};

    agree(&request, parent, comm, weftmpi_group_both(comm->group, comm->remote), context,
          tag & (TAG_OF_ALL - 1), MPI_SUCCESS, made);
    return weftmpi_request_wait(&request, MPI_SUCCESS, MPI_STATUS_IGNORE);
}
