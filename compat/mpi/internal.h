/*
 * compat/mpi/internal.h - what the files of the library share. MPI over weft's public API alone:
 * a communicator is two groups of messages, one for point-to-point and one for collectives; a
 * request is an operation of one of them; the rest is MPI's own and stays in the process.
 */
#ifndef WEFTMPI_INTERNAL_H
#define WEFTMPI_INTERNAL_H

#include <mpi.h>
#include <weft/team.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Defines MPI_<name>, which a tool may put its own before, and PMPI_<name>. */
#define API(name, parameters)                                                                      \
    extern __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));                \
    __attribute__((weak)) int MPI_##name parameters
/* One that is an expression, its error. */
#define CALL(name, parameters, expression)                                                         \
    API(name, parameters)                                                                          \
    {                                                                                              \
        return expression;                                                                         \
    }
/* One that asks an object, which IN finds and calls `of`, for a number. */
#define ASK(name, IN, type, answer)                                                                \
    API(name, (type handle, int *told))                                                            \
    {                                                                                              \
        OUT(told);                                                                                 \
        IN(of, handle);                                                                            \
        *told = answer;                                                                            \
        return MPI_SUCCESS;                                                                        \
    }

/* The two that set and get the name of an object, which IN finds. */
#define NAMES(kind, IN, type)                                                                      \
    API(kind##_set_name, (type handle, const char *name))                                          \
    {                                                                                              \
        IN(of, handle);                                                                            \
        LOCKED;                                                                                    \
        snprintf(of->name, sizeof(of->name), "%s", name);                                          \
        of->unnamed = false;                                                                       \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    API(kind##_get_name, (type handle, char *name, int *length))                                   \
    {                                                                                              \
        IN(of, handle);                                                                            \
        LOCKED;                                                                                    \
        *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", of->unnamed ? "" : of->name);          \
        return MPI_SUCCESS;                                                                        \
    }

/* ---- handle.c -------------------------------------------------------------------------------- */

enum weftmpi_kind {
    WEFTMPI_NONE,
    WEFTMPI_COMM,
    WEFTMPI_GROUP,
    WEFTMPI_TYPE,
    WEFTMPI_OP,
    WEFTMPI_INFO,
    WEFTMPI_ERRHANDLER,
    WEFTMPI_REQUEST,
    WEFTMPI_MESSAGE,
    WEFTMPI_TOPOLOGY
};

struct weftmpi_comm;
struct weftmpi_errhandler;
struct weftmpi_attribute; /* attribute.c */

/* The begin of every object. */
struct weftmpi_object {
    void *handle;
    int references; /* of the standard's, which stay: whether it is there */
};

/* A new object, zero but for its handle and one reference; NULL: no memory. Any thread. */
void *weftmpi_make(enum weftmpi_kind kind, size_t bytes);
/* One reference more: the object; one less: with the last it is gone. NULL: nothing. */
void *weftmpi_hold(void *object);
void weftmpi_leave(void *object);
/* The handle is none from now on. The object stays as long as it is referred to. */
void weftmpi_drop(void *handle);
/* The object; NULL: no handle of that kind, or one that was dropped. */
void *weftmpi_find(enum weftmpi_kind kind, const void *handle);
int weftmpi_no_object(struct weftmpi_comm *comm, const char *call, enum weftmpi_kind kind);
/* The object of a handle, for the function of MPI that is called: declares it. */
#define OBJECT_IN(name, type, kind, call, handle)                                                  \
    struct weftmpi_##type *const name = weftmpi_find(kind, handle);                                \
    if ((name) == NULL)                                                                            \
    return weftmpi_no_object(NULL, call, kind)

/* The library's lock, which does nothing unless threads may call together. Recursive. */
void weftmpi_lock(void);
void weftmpi_unlock(void);
/* Holds it until the end of the block. */
#define LOCKED                                                                                     \
    __attribute__((cleanup(weftmpi_unlock_block), unused)) const bool locked =                     \
        (weftmpi_lock(), true)
static inline void weftmpi_unlock_block(const bool *locked)
{
    (void)locked;
    weftmpi_unlock();
}

/* ---- objects --------------------------------------------------------------------------------- */

struct weftmpi_errhandler {
    struct weftmpi_object object;
    MPI_Comm_errhandler_function *function; /* NULL: one of the standard's */
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
    int kind; /* MPI_CART, MPI_DIST_GRAPH */
    int ndims, *dims, *periods, *coords;
    /* The neighbours, also of a grid; MPI_PROC_NULL: outside of it. */
    int indegree, outdegree, *sources, *targets, *source_weights, *target_weights;
    bool weighted;
    int numbers[]; /* of all these arrays */
};

struct weftmpi_comm {
    struct weftmpi_object object;
    struct weftmpi_group *group;
    int size, rank;
    int number; /* of its groups of messages: WEFTMPI_GROUPS * number and those behind it */
    weft_comm messages, collectives, agreements;
    weft_team *team, *agree_team;       /* agree_team: from the first agreement on */
    struct weftmpi_agreement *agreeing; /* agreements in their order; the first is under way */
    struct weftmpi_errhandler *errhandler;
    struct weftmpi_attribute *attributes;
    struct weftmpi_topology *topology;
    bool unnamed; /* by the program: its name is for texts */
    char name[MPI_MAX_OBJECT_NAME];
};

/* `repeat` stretches of `bytes`, `stride` apart; the first at `offset` of an element. */
struct weftmpi_run {
    MPI_Aint offset, stride;
    size_t bytes, repeat;
};
/* A datatype's elements of basic types, as Get_elements counts them: those of its parts in a row.
 */
struct weftmpi_pattern {
    int references;
    size_t bytes, elements;
    size_t count; /* of parts; 0: of a basic type, or empty */
    struct weftmpi_part {
        struct weftmpi_pattern *of;
        size_t times;
    } * parts;
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
    struct weftmpi_pattern *pattern;
    char name[MPI_MAX_OBJECT_NAME];
};

struct weftmpi_op {
    struct weftmpi_object object;
    MPI_User_function *function; /* NULL: of the standard's */
    int number;                  /* of those */
    bool commutes;
};

struct weftmpi_agreement; /* agree.c */
struct weftmpi_request;   /* request.h */

enum { WEFTMPI_GROUPS = 4 }; /* groups of messages a communicator: one is not used */

/* Elements of a datatype in the program's buffer. */
struct weftmpi_elements {
    void *user;
    size_t count, bytes; /* bytes: that they pack into */
    struct weftmpi_type *type;
};

/* ---- error.c --------------------------------------------------------------------------------- */

/*
 * Raises an error on a communicator (NULL: MPI_COMM_WORLD): "call: text" (call NULL: the text) is
 * said, and ends the job, or its handler is called. Returns the class.
 */
int weftmpi_fail(struct weftmpi_comm *comm, const char *call, int error_class, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
/* Ends this process, whose job has failed or was never opened. */
void weftmpi_exit(int code) __attribute__((noreturn));
/* The same for a status that a call of weft returned, which has said why. */
int weftmpi_failed(struct weftmpi_comm *comm, const char *call, weft_status status);
int weftmpi_no_memory(struct weftmpi_comm *comm, const char *call);
extern struct weftmpi_errhandler weftmpi_errhandlers[2];
/* The communicator's, with a reference. */
struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_comm *comm);

/* ---- checks: each raises the error and returns its class, or MPI_SUCCESS --------------------- */

/* The library is open; *comm is the communicator. */
int weftmpi_comm_in(const char *call, MPI_Comm handle, struct weftmpi_comm **comm);
int weftmpi_elements_in(struct weftmpi_comm *comm, const char *call, const void *user, int count,
                        MPI_Datatype handle, struct weftmpi_elements *elements);
int weftmpi_is_open(const char *call);
/* There is a place for a result. */
static inline int weftmpi_place_in(const char *call, const void *place)
{
    return place != NULL ? MPI_SUCCESS : weftmpi_fail(NULL, call, MPI_ERR_ARG, "a result at NULL");
}
#define OUT(place) TRY(weftmpi_place_in(__func__, place))

/* The communicator of a handle, in a function of MPI: declares it. */
#define COMM_IN(comm, handle)                                                                      \
    struct weftmpi_comm *comm;                                                                     \
    TRY(weftmpi_comm_in(__func__, handle, &(comm)))

/* The same with any datatype, also one that is not committed. */
#define TYPE_IN(name, handle) OBJECT_IN(name, type, WEFTMPI_TYPE, __func__, handle)

#define TRY(expression)                                                                            \
    do {                                                                                           \
        const int try_error = (expression);                                                        \
        if (try_error != MPI_SUCCESS)                                                              \
            return try_error;                                                                      \
    } while (0)

/* ---- start.c --------------------------------------------------------------------------------- */

extern struct weftmpi_state {
    weft_job *job;
    int level; /* of threads */
    bool begun, ended;
    pthread_t main_thread;
} weftmpi;

/* ---- type.c, pack.c -------------------------------------------------------------------------- */

extern struct weftmpi_type weftmpi_types[0x60]; /* by their number, 0x200 less */
void weftmpi_type_end(void *type);
#define WEFTMPI_BYTES (&weftmpi_types[0x47]) /* MPI_BYTE */
static inline MPI_Aint weftmpi_extent(const struct weftmpi_type *type)
{
    return type->upper - type->lower;
}
/* Between count elements at user and count * size bytes in a row. */
void weftmpi_pack(const struct weftmpi_type *type, size_t count, const void *user, void *packed);
/* bytes may end within an element. */
void weftmpi_unpack(const struct weftmpi_type *type, size_t bytes, const void *packed, void *user);
/* ---- operate.c ------------------------------------------------------------------------------- */

/* The datatypes of minima and maxima with their places. */
#define WEFTMPI_PAIR(t, ctype)                                                                     \
    struct weftmpi_pair_##t {                                                                      \
        ctype value;                                                                               \
        int index;                                                                                 \
    };
WEFTMPI_PAIR(f, float)
WEFTMPI_PAIR(d, double)
WEFTMPI_PAIR(l, long double)
WEFTMPI_PAIR(short, short)
WEFTMPI_PAIR(int, int)
WEFTMPI_PAIR(long, long)

extern struct weftmpi_op weftmpi_ops[0x1a]; /* by their number, 0x20 less */
bool weftmpi_can_operate(const struct weftmpi_op *op, const struct weftmpi_type *type);
/* into[i] = from[i] op into[i]. */
void weftmpi_operate(const struct weftmpi_op *op, const struct weftmpi_type *type, const void *from,
                     void *into, size_t count);

/* ---- group.c, attribute.c, topology.c, info.c ------------------------------------------------ */

struct weftmpi_group *weftmpi_group_make(int size); /* one reference; NULL: no memory */
extern struct weftmpi_group weftmpi_groups[1];      /* the empty one */
extern struct weftmpi_info weftmpi_infos[1];        /* MPI_INFO_ENV, which has no keys */
void weftmpi_info_end(void *info);
int weftmpi_group_compare(const struct weftmpi_group *a, const struct weftmpi_group *b);
int weftmpi_group_rank(const struct weftmpi_group *group, int process);
/* Copy and delete by the callbacks of their keyvals, whose errors they raise. */
int weftmpi_attributes_copy(const char *call, struct weftmpi_comm *from,
                            struct weftmpi_attribute **to);
int weftmpi_attributes_delete(struct weftmpi_comm *comm);

/* ---- comm.c, agree.c ------------------------------------------------------------------------- */

extern struct weftmpi_comm weftmpi_comms[2]; /* MPI_COMM_WORLD, MPI_COMM_SELF: by their number */
/* A communicator of that group and number; takes the group's reference. NULL: no memory. */
struct weftmpi_comm *weftmpi_comm_make(struct weftmpi_group *group, int number);
void weftmpi_comm_end(void *comm);

/*
 * Begins to make a communicator: all of `parent` agree on its number, and those with a group (its
 * reference is taken) get it at *made when the request is complete; others MPI_COMM_NULL. copies:
 * with its attributes. topology: its reference is taken; may be NULL.
 */
int weftmpi_agree(struct weftmpi_request *request, const char *call, struct weftmpi_comm *parent,
                  struct weftmpi_group *group, bool copies, struct weftmpi_topology *topology,
                  MPI_Comm *made);
/* The same, and waits; nothing is copied. */
int weftmpi_agree_now(const char *call, struct weftmpi_comm *parent, struct weftmpi_group *group,
                      struct weftmpi_topology *topology, MPI_Comm *made);
/* Moves its agreement on, waiting so long at most. done: *error is that of the call. */
bool weftmpi_agree_poll(struct weftmpi_request *request, double seconds, int *error);
/* Moves what does not move by itself, agreements. True: there are any. */
bool weftmpi_drive(void);
void weftmpi_number_give(int number);

#endif
