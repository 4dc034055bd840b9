/*
 * compat/mpi/agree.c - how the members of a communicator agree on the number of a new one: each
 * says which numbers are free in its process; of those that are in all, they try one; each says
 * whether it is free still, since it may make several communicators at once. Until all say yes.
 *
 * Agreements on one communicator are made one after the other, in messages of their own, so that
 * they stand in no order with its collectives.
 */
#include "request.h"

enum {
    LOOKS = 2000, /* at an agreement, before who waits for it sleeps between them */
    NUMBERS = WEFT_MESSAGE_GROUPS / WEFTMPI_GROUPS,
    BLOCK = 2048, /* numbers that one message tells of */
    WORDS = BLOCK / 64
};

static uint64_t used[NUMBERS / 64] = {3}; /* 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF */

struct weftmpi_agreement {
    struct weftmpi_agreement *behind;   /* the next on this communicator */
    struct weftmpi_agreement *next;     /* of all */
    struct weftmpi_comm *parent, *comm; /* comm NULL: this process gets none */
    struct weftmpi_group *apart;        /* who agree, in messages with that tag; NULL: all */
    int tag, context;
    MPI_Comm *made;
    struct weftmpi_call call;
    weft_team_op *op;
    bool voting, over;
    weft_status status; /* once it is over, */
    int error;          /* and of this process alone */
    unsigned attempt, block, looks;
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

/* ---- apart: those of a group alone, in messages over the whole job --------------------------- */

static weft_comm channel; /* messages of WORLD's fourth group */

int weftmpi_message(struct weftmpi_comm *comm, weft_comm group, int peer, int tag, bool receives,
                    void *data, size_t bytes)
{
    struct weftmpi_request request = {0};

    weftmpi_request_open(&request, receives ? WEFTMPI_RECEIVE : WEFTMPI_SEND, comm);
    const weft_status status =
        receives ? weft_host_receive_begin(weftmpi.job, group, peer, tag, data, bytes, &request.op)
                 : weft_host_send_begin(weftmpi.job, group, peer, tag, data, bytes, &request.op);
    return weftmpi_request_wait(&request, weftmpi_failed(status), MPI_STATUS_IGNORE);
}

static int message_apart(const struct weftmpi_agreement *agreement, int process, bool receives,
                         uint64_t words[], size_t count)
{
    return weftmpi_message(agreement->parent, channel, process, agreement->tag, receives, words,
                           count * sizeof(words[0]));
}

/* All get what is in all their words: the first collects, and tells. */
static int and_apart(struct weftmpi_agreement *agreement, size_t count)
{
    const struct weftmpi_group *all = agreement->apart;
    const int own = weftmpi_group_rank(all, weft_numbers_of(weftmpi.job)->process);
    uint64_t *const words = agreement->words, theirs[WORDS];

    for (int i = 1; own == 0 && i < all->size; i++) {
        TRY(message_apart(agreement, all->processes[i], true, theirs, count));
        both(&and_words, theirs, words, count);
    }
    for (int i = 1; own == 0 && i < all->size; i++)
        TRY(message_apart(agreement, all->processes[i], false, words, count));
    if (own == 0)
        return MPI_SUCCESS;
    TRY(message_apart(agreement, all->processes[0], false, words, count));
    return message_apart(agreement, all->processes[0], true, words, count);
}

/* ---- one agreement --------------------------------------------------------------------------- */

static weft_status begin(struct weftmpi_agreement *agreement, size_t words)
{
    struct weftmpi_comm *parent = agreement->parent;
    weft_status status = WEFT_OK;

    if (agreement->apart != NULL) {
        agreement->error = and_apart(agreement, words);
        return WEFT_OK;
    }
    if (parent->agree_team == NULL) {
        status =
            weft_message_group_take(weftmpi.job, (uint32_t)parent->number * WEFTMPI_GROUPS + 2,
                                    parent->all->processes, parent->all->size, &parent->agreements);
        if (status == WEFT_OK)
            status = weft_team_open(weftmpi.job, parent->agreements, parent->all->size, parent->own,
                                    parent->name, NULL, &parent->agree_team);
    }
    if (status == WEFT_OK)
        status = weft_team_allreduce(parent->agree_team, agreement->words, agreement->words, words,
                                     &and_words, &agreement->op);
    return status;
}

/* Says which numbers of the block are free here. Who gets no communicator has no say. */
static weft_status begin_offer(struct weftmpi_agreement *agreement)
{
    const bool silent = agreement->comm == NULL;

    agreement->voting = false;
    weftmpi_lock();
    for (int i = 0; i < WORDS; i++)
        agreement->words[i] = silent ? ~(uint64_t)0 : ~used[agreement->block * WORDS + i];
    weftmpi_unlock();
    return begin(agreement, WORDS);
}

/* One of the numbers of a block that are free everywhere, another at every attempt; -1: none. */
static int pick(const uint64_t words[], unsigned context, unsigned attempt, unsigned block)
{
    const unsigned start = attempt == 0 ? 0 : context * 37 + attempt * 101;

    for (unsigned i = 0; i < BLOCK; i++) {
        const unsigned bit = (start + i) % BLOCK;
        if ((words[bit / 64] >> bit % 64 & 1) != 0)
            return (int)(block * BLOCK + bit);
    }
    return -1;
}

static weft_status begin_vote(struct weftmpi_agreement *agreement)
{
    const int number =
        pick(agreement->words, (unsigned)agreement->context, agreement->attempt, agreement->block);

    if (number < 0) {
        agreement->block++;
        return agreement->block < NUMBERS / BLOCK ? begin_offer(agreement) : WEFT_ERR_LIMIT;
    }
    agreement->number = number;
    agreement->words[0] = agreement->comm == NULL || take(number);
    if (agreement->words[0] == 0)
        agreement->number = -1;
    agreement->voting = true;
    return begin(agreement, 1);
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
    struct weftmpi_comm *comm = agreement->comm;
    int error = weftmpi_failed(agreement->status);

    error = error != MPI_SUCCESS ? error : agreement->error;
    if (comm != NULL && error != MPI_SUCCESS) {
        weftmpi_attributes_delete(&comm->object);
        weftmpi_leave(comm);
    } else if (comm != NULL) {
        *agreement->made = comm->object.handle;
    }
    return error;
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
    } else if (seconds > 0 && ++agreement->looks > LOOKS) { /* another's turn, or messages */
        weftmpi_pause();
    }
    return over;
}

int weftmpi_agree(struct weftmpi_request *request, struct weftmpi_comm *parent,
                  struct weftmpi_comm *comm, int error, MPI_Comm *made)
{
    struct weftmpi_agreement *agreement = made != NULL ? calloc(1, sizeof(*agreement)) : NULL;

    weftmpi_request_open(request, WEFTMPI_AGREE, parent);
    if (agreement == NULL) {
        weftmpi_leave(comm);
        return made == NULL ? weftmpi_place_in(made) : weftmpi_no_memory();
    }
    *made = MPI_COMM_NULL;
    *agreement = (struct weftmpi_agreement){.parent = parent,
                                            .comm = comm,
                                            .context = parent->number,
                                            .made = made,
                                            .call = weftmpi_call,
                                            .error = error,
                                            .number = -1};
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

int weftmpi_agree_now(struct weftmpi_comm *parent, struct weftmpi_comm *comm, MPI_Comm *made)
{
    struct weftmpi_request request = {0};
    const int error = weftmpi_agree(&request, parent, comm, MPI_SUCCESS, made);

    return weftmpi_request_wait(&request, error, MPI_STATUS_IGNORE);
}

int weftmpi_agree_apart(struct weftmpi_comm *parent, struct weftmpi_comm *comm, int context,
                        int tag, MPI_Comm *made)
{
    HELD struct weftmpi_group *all = weftmpi_group_both(comm->group, comm->remote);
    /* Of several at once, those on one communicator are told apart by the program's tags. */
    struct weftmpi_agreement agreement = {.parent = parent,
                                          .comm = comm,
                                          .made = made,
                                          .call = weftmpi_call,
                                          .number = -1,
                                          .apart = all,
                                          .tag = context << 17 | (tag & 0x1ffff),
                                          .context = context};

    agreement.error = weftmpi_memory_in(all);
    if (agreement.error == MPI_SUCCESS)
        agreement.status = begin_offer(&agreement);
    while (!agreement.over && agreement.status == WEFT_OK && agreement.error == MPI_SUCCESS)
        agreement.status = agreement.voting ? end_vote(&agreement) : begin_vote(&agreement);
    return tell(&agreement);
}

weft_status weftmpi_channel_open(const struct weftmpi_group *world)
{
    return weft_message_group_take(weftmpi.job, 3, world->processes, world->size, &channel);
}
