/*
 * compat/mpi/internal.h - what the files of the library share. MPI over weft's public API alone:
 * a communicator is two groups of messages, one for point-to-point and one for collectives; a
 * request is an operation of one of them; the rest is MPI's own and stays in the process.
 */
#ifndef WEFTMPI_INTERNAL_H
#define WEFTMPI_INTERNAL_H

#include "handle.h"

/* ---- objects --------------------------------------------------------------------------------- */

struct weftmpi_errhandler {
    struct weftmpi_object object;
    enum weftmpi_kind kind;                 /* of the objects that it is for */
    MPI_Comm_errhandler_function *function; /* NULL: one of the standard's; or of windows */
};

struct weftmpi_info {
    struct weftmpi_object object;
    int count;
    struct weftmpi_entry *entries;
};

struct weftmpi_group {
    struct weftmpi_object object;
    int size;
    int processes[]; /* of the job, by rank in the group */
};

/* Does not change, and may be of several communicators. */
struct weftmpi_topology {
    struct weftmpi_object object;
    int kind; /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    /* Of a graph that all know: nodes, its index and edges; numbers[] has them last. */
    int nodes, *index, *edges;
    int ndims, *dims, *periods, *coords;
    /* The neighbours, also of a grid; MPI_PROC_NULL: outside of it. */
    int indegree, outdegree, *sources, *targets, *source_weights, *target_weights;
    bool weighted;
    int numbers[]; /* of all these arrays */
};

struct weftmpi_comm {
    struct weftmpi_object object;
    struct weftmpi_group *group;
    struct weftmpi_group *all;    /* the group; of an intercommunicator: both groups */
    struct weftmpi_group *remote; /* NULL: no intercommunicator */
    int size, rank;
    int peers;     /* ranks of its messages: size, or the size of the remote group */
    int own, base; /* numbers in `all`: of this process; of rank 0 of `peers` */
    /* Of its groups of messages: WEFTMPI_GROUPS * number and those behind it; -1: not open yet. */
    int number;
    weft_comm messages, collectives;
    weft_team *team;
    struct weftmpi_topology *topology;
    bool unnamed; /* the program has given it no name: `name` is for texts */
    char name[MPI_MAX_OBJECT_NAME];
};

/* `repeat` stretches of `bytes`, `stride` apart; the first at `offset` of an element. */
struct weftmpi_run {
    MPI_Aint offset, stride;
    size_t bytes, repeat;
};

/* What a datatype was made of, as programs ask for it. */
struct weftmpi_contents {
    int combiner;
    bool large; /* made by a call with large counts: `wides` are counts, else addresses */
    MPI_Count integers, wides, types_count;
    MPI_Count *numbers;          /* the integers, then the wide ones */
    struct weftmpi_type **types; /* with a reference each */
};

struct weftmpi_type {
    struct weftmpi_object object;
    size_t size; /* bytes that it packs into */
    MPI_Aint lower, upper, true_lower, true_upper;
    size_t align;
    bool bounded; /* a resized type is in it: lower and upper are those of such alone */
    bool dense;   /* elements in a row are one stretch of memory from true_lower on */
    bool committed, basic, unnamed;
    struct weftmpi_run *runs;
    size_t runs_count;
    size_t elements;                         /* of basic types, as Get_elements counts them */
    const struct weftmpi_type *only_basic;   /* the only basic type in it; NULL: none, or several */
    const struct weftmpi_contents *contents; /* what it is made of (type.c); NULL: basic */
    char name[MPI_MAX_OBJECT_NAME];
};

struct weftmpi_op {
    struct weftmpi_object object;
    void (*function)(void); /* the program's; NULL: an operation of the standard */
    int number;             /* number of the standard's operation */
    bool large;             /* the function is an MPI_User_function_c; else an MPI_User_function */
    bool commutes;
};

struct weftmpi_request; /* request.h */

enum {
    WEFTMPI_GROUPS = 4, /* numbers of groups for a communicator; the third is WORLD's alone */
    WEFTMPI_NUMBERS = WEFT_MESSAGE_GROUPS / WEFTMPI_GROUPS /* numbers of communicators */
};

/* Elements of a datatype in the program's buffer. */
struct weftmpi_elements {
    void *user;
    size_t count, bytes; /* bytes: that they pack into */
    struct weftmpi_type *type;
};

enum { WEFTMPI_FIRST_COMM = 0x101, WEFTMPI_FIRST_TYPE = 0x200 };
extern struct weftmpi_comm weftmpi_comms[2]; /* MPI_COMM_WORLD, MPI_COMM_SELF: by their number */
extern struct weftmpi_type weftmpi_types[0x100]; /* by their number, 0x200 less */

/* ---- error.c, and checks --------------------------------------------------------------------- */

extern struct weftmpi_errhandler weftmpi_errhandlers[3];
/* Returns the object's error handler, with a reference. */
struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_object *object);
/* The last code that there is. */
extern int weftmpi_last_code;
/* Raises that there are no elements, unless nothing is meant: no elements, or not even a
 * datatype. */
int weftmpi_no_elements(MPI_Count count, MPI_Datatype handle, struct weftmpi_elements *elements);
static inline int weftmpi_elements_in(const void *user, MPI_Count count, MPI_Datatype handle,
                                      struct weftmpi_elements *elements)
{
    struct weftmpi_type *type = weftmpi_find(WEFTMPI_TYPE, handle);
    MPI_Aint bytes;

    *elements =
        (struct weftmpi_elements){.user = (void *)user, .count = (size_t)count, .type = type};
    if (type == NULL || count < 0 || !__atomic_load_n(&type->committed, __ATOMIC_RELAXED) ||
        __builtin_mul_overflow(count, type->size, &bytes) || user == MPI_IN_PLACE)
        return weftmpi_no_elements(count, handle, elements);
    elements->bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

/* COMM_OF: the communicator of a handle, whose errors are the call's: declares it. _IN: enters the
 * call, too. */
#define COMM_IN(comm, handle)                                                                      \
    ENTER;                                                                                         \
    COMM_OF(comm, handle)
#define COMM_OF(name, handle)                                                                      \
    TRY(weftmpi_is_open());                                                                        \
    struct weftmpi_comm *const name = weftmpi_find(WEFTMPI_COMM, handle);                          \
    if ((name) == NULL)                                                                            \
        return weftmpi_no_object(WEFTMPI_COMM);                                                    \
    weftmpi_call.on = name
/* COMM_IN for a communicator of one group (BASE), or of two (INTER). */
#define BASE_IN(comm, handle)                                                                      \
    COMM_IN(comm, handle);                                                                         \
    TRY(weftmpi_check_inter(comm, false))
#define INTER_IN(comm, handle)                                                                     \
    COMM_IN(comm, handle);                                                                         \
    TRY(weftmpi_check_inter(comm, true))
int weftmpi_check_inter(struct weftmpi_comm *comm, bool inter);

/* TYPE_IN: the datatype of a handle, also one that is not committed: declares it. */
#define TYPE_IN(name, handle)                                                                      \
    ENTER;                                                                                         \
    OBJECT_IN(name, type, WEFTMPI_TYPE, handle)

/* ---- type.c, pack.c -------------------------------------------------------------------------- */

void weftmpi_type_end(void *type);
/* Numbers that a program gives, of 4 or 8 bytes each; same: all are the first. */
struct weftmpi_numbers {
    const void *at;
    bool wide, same;
};
#define NUMBERS(array) ((struct weftmpi_numbers){array, sizeof(*(array)) != sizeof(int), false})
static inline size_t weftmpi_width(struct weftmpi_numbers numbers)
{
    return numbers.wide ? sizeof(MPI_Count) : sizeof(int);
}
static inline MPI_Count weftmpi_number(struct weftmpi_numbers numbers, MPI_Count i)
{
    i = numbers.same ? 0 : i;
    return numbers.wide ? ((const MPI_Count *)numbers.at)[i] : ((const int *)numbers.at)[i];
}
/*
 * What a datatype was made of (type.c): numbers, one list after the other, and datatypes, whose
 * handles it keeps. Those of 8 bytes are addresses, or, of a `large` counts.
 */
struct weftmpi_list {
    struct weftmpi_numbers numbers;
    MPI_Count count;
};
/* SCALAR: a list of one number, of int or, in a `large` datatype, of MPI_Count. */
#define SCALAR(large, value)                                                                       \
    {                                                                                              \
        {(large) ? (const void *)(MPI_Count[]){value} : (int[]){(int)(value)}, large, false}, 1    \
    }
void weftmpi_remember(struct weftmpi_type *type, int combiner, bool large,
                      const struct weftmpi_list lists[], int lists_count, const MPI_Datatype olds[],
                      MPI_Count olds_count);
/* Returns the type of part i of what an element of a datatype is a row of, and *times, how often it
 * is there. NULL: it has no more; of a basic type none, of a pair two. */
const struct weftmpi_type *weftmpi_part(const struct weftmpi_type *type, MPI_Count i,
                                        size_t *times);
#define WEFTMPI_BYTES (&weftmpi_types[0x47]) /* MPI_BYTE */
static inline MPI_Aint weftmpi_extent(const struct weftmpi_type *type)
{
    return type->upper - type->lower;
}
/* Copies count elements at user to count * size bytes in a row. */
void weftmpi_pack(const struct weftmpi_type *type, size_t count, const void *user, void *packed);
static inline bool weftmpi_is_there(const struct weftmpi_elements *elements)
{
    return elements->user != NULL || elements->bytes == 0 || elements->type->true_lower != 0;
}
/* Copies bytes in a row to elements at user; they may end within an element. */
void weftmpi_unpack(const struct weftmpi_type *type, size_t bytes, const void *packed, void *user);
/* ---- win.c ----------------------------------------------------------------------------------- */

void weftmpi_win_end(void *win);

/* ---- operate.c ------------------------------------------------------------------------------- */

/* The datatypes of minima and maxima with their places. */
#define WEFTMPI_PAIR(t, ctype, itype)                                                              \
    struct weftmpi_pair_##t {                                                                      \
        ctype value;                                                                               \
        itype index;                                                                               \
    };
#define WEFTMPI_PAIRS(of)                                                                          \
    of(f, float, int) of(d, double, int) of(l, long double, int) of(short, short, int)             \
        of(int, int, int) of(long, long, int) of(2f, float, float) of(2d, double, double)
WEFTMPI_PAIRS(WEFTMPI_PAIR)

extern struct weftmpi_op weftmpi_ops[0x1e]; /* by their number, 0x20 less */
bool weftmpi_can_operate(const struct weftmpi_op *op, const struct weftmpi_type *type);
/* Whether weft knows an operation on a type, and what it calls them. */
bool weftmpi_know(const struct weftmpi_op *op, const struct weftmpi_type *type, weft_type *element,
                  weft_operation *function);
/* Does into[i] = from[i] op into[i]. */
void weftmpi_operate(const struct weftmpi_op *op, const struct weftmpi_type *type, const void *from,
                     void *into, size_t count);

/* ---- group.c, attribute.c, topology.c, info.c ------------------------------------------------ */

/* Makes a group of these processes (NULL: none yet), with one reference. */
struct weftmpi_group *weftmpi_group_make(int size, const int processes[]);
extern struct weftmpi_group weftmpi_groups[1]; /* the empty one */
extern struct weftmpi_info weftmpi_infos[1];   /* MPI_INFO_ENV, which has no keys */
void weftmpi_info_end(void *info);
int weftmpi_group_compare(const struct weftmpi_group *a, const struct weftmpi_group *b);
int weftmpi_group_rank(const struct weftmpi_group *group, int process);
static inline int weftmpi_group_own(const struct weftmpi_group *group) /* this process's */
{
    return weftmpi_group_rank(group, weft_numbers_of(weftmpi.job)->process);
}
/* Copies the keys of an object, or of none, into a new object. */
struct weftmpi_info *weftmpi_info_copy(const struct weftmpi_info *info);
/* Sets those keys of an info that the object's kind knows. */
int weftmpi_info_set(struct weftmpi_object *object, bool is_window, MPI_Info handle);
/* Copies attributes by the callbacks of their keyvals, whose errors it raises. */
int weftmpi_attributes_copy(struct weftmpi_object *from, struct weftmpi_attribute **to);
/* ---- comm.c, agree.c ------------------------------------------------------------------------- */

/* Makes a communicator of a group, or between it and a remote one, with a topology or NULL, and the
 * error handler of its parent. It is not open yet. */
struct weftmpi_comm *weftmpi_comm_make(struct weftmpi_comm *parent, struct weftmpi_group *group,
                                       struct weftmpi_group *remote,
                                       struct weftmpi_topology *topology);
/* Opens a communicator's messages, in the groups of that number. False: weft has said why not. */
bool weftmpi_comm_open(struct weftmpi_comm *comm, int number);
void weftmpi_comm_end(void *comm);
/* Returns a new group: the members of b behind those of a. */
struct weftmpi_group *weftmpi_group_join(const struct weftmpi_group *a,
                                         const struct weftmpi_group *b);
/* Returns a group of both, in an order that both know; b NULL: a. */
struct weftmpi_group *weftmpi_group_both(struct weftmpi_group *a, struct weftmpi_group *b);
/* Whether a member of a communicator's messages is in the remote group. */
bool weftmpi_is_remote(const struct weftmpi_comm *comm, int member);
/* Collectives among all of a communicator's messages; blocking. all: a pointer, to new memory from
 * then on, or to none. */
int weftmpi_barrier(struct weftmpi_comm *comm);
int weftmpi_allgather(struct weftmpi_comm *comm, const void *mine, size_t bytes, void *all);
/*
 * Begins to open a communicator that was made: all of `parent` agree on its number. Those with one
 * get it at *made when the request is complete; others (comm NULL) MPI_COMM_NULL. Takes comm.
 * error: of this process, which has failed, but takes part.
 */
void weftmpi_agree(struct weftmpi_request *request, struct weftmpi_comm *parent,
                   struct weftmpi_comm *comm, int error, MPI_Comm *made);
/* Opens a communicator (NULL: this process gets none), and waits for that. */
int weftmpi_comm_new(struct weftmpi_comm *parent, struct weftmpi_comm *comm, MPI_Comm *made);
/* Opens a communicator by the members of its groups alone. context: a communicator's number that
 * all know. */
int weftmpi_comm_new_apart(struct weftmpi_comm *parent, struct weftmpi_comm *comm, int context,
                           int tag, MPI_Comm *made);
/* Makes a communicator of those of a colour (MPI_UNDEFINED: none) in the order of their keys, with
 * a topology or NULL. */
int weftmpi_split(struct weftmpi_comm *comm, int color, int key, struct weftmpi_topology *topology,
                  MPI_Comm *part);
weft_status weftmpi_channel_open(const struct weftmpi_group *world);
/* Moves a request's agreement on, waiting so long at most. True: it is over; *error is that of the
 * call. */
bool weftmpi_agree_poll(struct weftmpi_request *request, double seconds, int *error);
/* Moves all agreements, which do not move by themselves. Returns true. */
extern struct weftmpi_agreement *weftmpi_agreements; /* under way, in their order */
bool weftmpi_agreements_drive(void);
static inline bool weftmpi_drive(void)
{
    return __atomic_load_n(&weftmpi_agreements, __ATOMIC_RELAXED) != NULL &&
           weftmpi_agreements_drive();
}
void weftmpi_number_give(int number);

/* ---- topology.c ------------------------------------------------------------------------------ */

/* Makes a topology of that kind, whose arrays are to be filled. */
struct weftmpi_topology *weftmpi_topology_make(int kind, int ndims, int indegree, int outdegree,
                                               int nodes, int edges);
/* Makes a communicator of those that have a topology. */
int weftmpi_topology_give(struct weftmpi_comm *comm, struct weftmpi_topology *topology,
                          MPI_Comm *made);
int weftmpi_check_topology(struct weftmpi_comm *comm, int kind);

/* TOPOLOGY_IN: a communicator and its topology, in a function of MPI: declares them. */
#define TOPOLOGY_IN(name, comm, handle, kind)                                                      \
    COMM_IN(comm, handle);                                                                         \
    TRY(weftmpi_check_topology(comm, kind));                                                       \
    struct weftmpi_topology *const name = comm->topology

#endif
