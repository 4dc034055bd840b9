/*
 * GASPI_types.h - types and numbers of GASPI 17.1, as programs for GPI-2 expect them.
 */
#ifndef GASPI_TYPES_H
#define GASPI_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef char gaspi_char;
typedef unsigned char gaspi_uchar;
typedef short gaspi_short;
typedef unsigned short gaspi_ushort;
typedef int gaspi_int;
typedef unsigned int gaspi_uint;
typedef long gaspi_long;
typedef unsigned long gaspi_ulong;
typedef float gaspi_float;
typedef double gaspi_double;

typedef unsigned long gaspi_timeout_t; /* milliseconds, GASPI_BLOCK or GASPI_TEST */
typedef unsigned short gaspi_rank_t;   /* the process's number in its job */
typedef unsigned char gaspi_group_t;
typedef unsigned int gaspi_number_t;
typedef void *gaspi_pointer_t;
typedef void *gaspi_reduce_state_t;
typedef unsigned char gaspi_queue_id_t;
typedef unsigned long gaspi_size_t; /* bytes */
typedef unsigned char gaspi_segment_id_t;
typedef unsigned long gaspi_offset_t; /* bytes from the segment's beginning */
typedef unsigned long gaspi_atomic_value_t;
typedef float gaspi_time_t; /* milliseconds */
typedef unsigned long gaspi_cycles_t;
typedef unsigned int
    gaspi_notification_id_t;               /* wide enough that 65536 is refused, not taken for 0 */
typedef unsigned int gaspi_notification_t; /* a notification's value */
typedef unsigned int gaspi_statistic_counter_t;
typedef char *gaspi_string_t;
typedef int gaspi_memory_description_t;

static const gaspi_group_t GASPI_GROUP_ALL = 0;
static const gaspi_timeout_t GASPI_BLOCK = 0xffffffffffffffff;
static const gaspi_timeout_t GASPI_TEST = 0;

/* Every return code: name, number, text. */
#define GASPI_RETURN_MAP(X)                                                                        \
    X(GASPI_ERROR, -1, "general error")                                                            \
    X(GASPI_SUCCESS, 0, "success")                                                                 \
    X(GASPI_TIMEOUT, 1, "the time limit was reached")                                              \
    X(GASPI_ERR_EMFILE, 2, "too many open files")                                                  \
    X(GASPI_ERR_ENV, 3, "bad environment")                                                         \
    X(GASPI_ERR_SN_PORT, 4, "bad port")                                                            \
    X(GASPI_ERR_CONFIG, 5, "bad configuration")                                                    \
    X(GASPI_ERR_NOINIT, 6, "called before gaspi_proc_init")                                        \
    X(GASPI_ERR_INITED, 7, "called after gaspi_proc_init")                                         \
    X(GASPI_ERR_NULLPTR, 8, "a pointer is NULL")                                                   \
    X(GASPI_ERR_INV_SEGSIZE, 9, "bad size of a segment")                                           \
    X(GASPI_ERR_INV_SEG, 10, "no such segment, or it exists already")                              \
    X(GASPI_ERR_INV_GROUP, 11, "no such group, or it is not committed")                            \
    X(GASPI_ERR_INV_RANK, 12, "no such rank")                                                      \
    X(GASPI_ERR_INV_QUEUE, 13, "no such queue")                                                    \
    X(GASPI_ERR_INV_LOC_OFF, 14, "outside the local segment")                                      \
    X(GASPI_ERR_INV_REM_OFF, 15, "outside the remote segment")                                     \
    X(GASPI_ERR_INV_COMMSIZE, 16, "bad size of a transfer")                                        \
    X(GASPI_ERR_INV_NOTIF_VAL, 17, "a notification's value is 0")                                  \
    X(GASPI_ERR_INV_NOTIF_ID, 18, "no such notification")                                          \
    X(GASPI_ERR_INV_NUM, 19, "bad number")                                                         \
    X(GASPI_ERR_INV_SIZE, 20, "bad size")                                                          \
    X(GASPI_ERR_MANY_SEG, 21, "too many segments")                                                 \
    X(GASPI_ERR_MANY_GRP, 22, "too many groups")                                                   \
    X(GASPI_QUEUE_FULL, 23, "the queue is full")                                                   \
    X(GASPI_ERR_UNALIGN_OFF, 24, "the offset is not aligned")                                      \
    X(GASPI_ERR_ACTIVE_COLL, 25, "another collective of the group is under way")                   \
    X(GASPI_ERR_DEVICE, 26, "the device or network failed")                                        \
    X(GASPI_ERR_SN, 27, "the start-up network failed")                                             \
    X(GASPI_ERR_MEMALLOC, 28, "out of memory")

typedef enum {
#define GASPI_RETURN_ENUM(name, number, text) name = number,
    GASPI_RETURN_MAP(GASPI_RETURN_ENUM)
#undef GASPI_RETURN_ENUM
} gaspi_return_t;
#define GASPI_ERR_MANY_Q_REQS GASPI_QUEUE_FULL /* its name in older programs */

typedef enum { GASPI_OP_MIN, GASPI_OP_MAX, GASPI_OP_SUM } gaspi_operation_t;

typedef enum {
    GASPI_TYPE_INT,
    GASPI_TYPE_UINT,
    GASPI_TYPE_FLOAT,
    GASPI_TYPE_DOUBLE,
    GASPI_TYPE_LONG,
    GASPI_TYPE_ULONG
} gaspi_datatype_t;

/* Combines `num` elements of two operands; they and the result do not overlap. */
typedef gaspi_return_t (*gaspi_reduce_operation_t)(
    gaspi_pointer_t const operand_one, gaspi_pointer_t const operand_two,
    gaspi_pointer_t const result, gaspi_reduce_state_t const state, const gaspi_number_t num,
    const gaspi_size_t element_size, const gaspi_timeout_t timeout_ms);

typedef enum {
    GASPI_IB,
    GASPI_ROCE,
    GASPI_ETHERNET,
    GASPI_GEMINI,
    GASPI_ARIES,
    GASPI_OFI
} gaspi_network_t;

/* Kept for programs that set it. weft's own settings (WEFT_NET) choose the network. */
typedef struct {
    gaspi_network_t network_type;
    struct {
        struct {
            gaspi_int netdev_id;
            gaspi_uint mtu, port_check;
        } ib;
        struct {
            gaspi_uint port;
        } tcp;
        struct {
            gaspi_int use_shm, provider_info, progress_auto;
        } ofi;
    } params;
} gaspi_dev_config_t;

typedef enum {
    GASPI_MEM_UNINITIALIZED = 0,
    GASPI_MEM_INITIALIZED = 1, /* zeros */
    GASPI_MEM_GPU = 2,         /* memory of the process's device, which it always is */
    GASPI_ALLOC_DEFAULT = GASPI_MEM_UNINITIALIZED
} gaspi_alloc_t;

/* Of memory of the program. Notifications are each process's own in either. */
enum { GASPI_PROC_LOCAL, GASPI_NODE_LOCAL };

typedef enum { GASPI_STATE_HEALTHY, GASPI_STATE_CORRUPT } gaspi_state_t;
typedef gaspi_state_t *gaspi_state_vector_t;

typedef enum {
    GASPI_STATISTIC_ARGUMENT_NONE,
    GASPI_STATISTIC_ARGUMENT_RANK
} gaspi_statistic_argument_t;

/* NONE: the program commits GASPI_GROUP_ALL itself. Connections are always made when needed. */
typedef enum {
    GASPI_TOPOLOGY_NONE,
    GASPI_TOPOLOGY_STATIC,
    GASPI_TOPOLOGY_DYNAMIC
} gaspi_topology_t;

typedef struct gaspi_config {
    /* Kept for programs that set them; they change nothing here. */
    gaspi_uint logger, sn_port, net_info, user_net;
    gaspi_int sn_persistent;
    gaspi_timeout_t sn_timeout;
    gaspi_dev_config_t dev_config;
    gaspi_network_t network;
    /* What holds from gaspi_proc_init on. */
    gaspi_uint queue_size_max; /* requests that a queue takes between two waits; of one call, any */
    gaspi_uint queue_num;      /* queues that exist at first */
    gaspi_number_t group_max, segment_max;
    gaspi_size_t transfer_size_max; /* bytes of one request */
    gaspi_number_t notification_num, passive_queue_size_max, passive_transfer_size_max;
    gaspi_size_t allreduce_buf_size; /* bytes of one gaspi_allreduce_user */
    gaspi_number_t allreduce_elem_max, rw_list_elem_max;
    gaspi_topology_t build_infrastructure;
    void *user_defined;
} gaspi_config_t;

#ifdef __cplusplus
}
#endif
#endif
