/*
 * dart_types.h - units, teams, data types and operations of DART; types and operations that a
 * program makes; locality.
 */
#ifndef DART_TYPES_H
#define DART_TYPES_H

#include <dash/dart/if/dart_util.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What every call returns. An error leaves outputs as they were, except those of dart_locality.h.
 * One line on stderr names the unit, the call and the numbers. INVAL: an argument; NOTFOUND: no
 * such team or segment; NOTINIT: not between dart_init and dart_exit; NOMEM; OTHER: the job has
 * failed.
 */
typedef enum {
    DART_OK = 0,
    DART_PENDING = 1,
    DART_ERR_INVAL = 2,
    DART_ERR_NOTFOUND = 3,
    DART_ERR_NOTINIT = 4,
    DART_ERR_NOMEM = 5,
    DART_ERR_OTHER = 999
} dart_ret_t;

enum { DART_EXIT_SUCCESS = EXIT_SUCCESS, DART_EXIT_ABORT = EXIT_FAILURE, DART_EXIT_ASSERT = -6 };

/* ---- operations: predefined, or of dart_op_create -------------------------------------------- */
typedef intptr_t dart_operation_t;
#define DART_OP_UNDEFINED ((dart_operation_t)0)
#define DART_OP_MIN       ((dart_operation_t)1)
#define DART_OP_MAX       ((dart_operation_t)2)
#define DART_OP_MINMAX    ((dart_operation_t)3) /* of pairs: the least and the greatest */
#define DART_OP_SUM       ((dart_operation_t)4)
#define DART_OP_PROD      ((dart_operation_t)5)
#define DART_OP_BAND      ((dart_operation_t)6)
#define DART_OP_LAND      ((dart_operation_t)7)
#define DART_OP_BOR       ((dart_operation_t)8)
#define DART_OP_LOR       ((dart_operation_t)9)
#define DART_OP_BXOR      ((dart_operation_t)10)
#define DART_OP_LXOR      ((dart_operation_t)11)
#define DART_OP_REPLACE   ((dart_operation_t)12)
#define DART_OP_NO_OP     ((dart_operation_t)13)
#define DART_OP_LAST      ((dart_operation_t)14)
enum { DART_OP_MINMAX_MIN = 0, DART_OP_MINMAX_MAX = 1 };

/* inout[i] = in[i] op inout[i], for len elements; `in` is of lower units. */
typedef void (*dart_operator_t)(const void *in, void *inout, size_t len, void *user_data);

/* ---- data types ------------------------------------------------------------------------------ */
typedef intptr_t dart_datatype_t;
#define DART_TYPE_UNDEFINED   ((dart_datatype_t)0)
#define DART_TYPE_BYTE        ((dart_datatype_t)1) /* char */
#define DART_TYPE_SHORT       ((dart_datatype_t)2)
#define DART_TYPE_INT         ((dart_datatype_t)3)
#define DART_TYPE_UINT        ((dart_datatype_t)4)
#define DART_TYPE_LONG        ((dart_datatype_t)5)
#define DART_TYPE_ULONG       ((dart_datatype_t)6)
#define DART_TYPE_LONGLONG    ((dart_datatype_t)7)
#define DART_TYPE_ULONGLONG   ((dart_datatype_t)8)
#define DART_TYPE_FLOAT       ((dart_datatype_t)9)
#define DART_TYPE_DOUBLE      ((dart_datatype_t)10)
#define DART_TYPE_LONG_DOUBLE ((dart_datatype_t)11)
#define DART_TYPE_LAST        ((dart_datatype_t)12)
#define DART_TYPE_SIZET       DART_TYPE_ULONG

/*
 * Make types for puts and gets, of elements of `base` (predefined or custom). Local calls. Strided:
 * blocks of blocklen elements that begin stride elements (at least blocklen) apart. Indexed: count
 * blocks, which repeat after the last one. Whole blocks, or all of them, are moved. Numbers always
 * count elements of `base`. Custom: num_bytes bytes that belong together. A type may be destroyed
 * while an operation with it is under way.
 */
dart_ret_t dart_type_create_strided(dart_datatype_t base, size_t stride, size_t blocklen,
                                    dart_datatype_t *newtype) DART_NOTHROW;
dart_ret_t dart_type_create_indexed(dart_datatype_t base, size_t count, const size_t blocklen[],
                                    const size_t offset[], dart_datatype_t *newtype) DART_NOTHROW;
dart_ret_t dart_type_create_custom(size_t num_bytes, dart_datatype_t *newtype) DART_NOTHROW;
dart_ret_t dart_type_destroy(dart_datatype_t *type) DART_NOTHROW;

/*
 * Creates an operation on elements of `type`, which is not strided or indexed, for reductions of
 * that type alone. Threads in a call of DART call it. type_is_temporary makes no difference.
 */
dart_ret_t dart_op_create(dart_operator_t op, void *user_data, bool commute, dart_datatype_t type,
                          bool type_is_temporary, dart_operation_t *new_op) DART_NOTHROW;
dart_ret_t dart_op_destroy(dart_operation_t *op) DART_NOTHROW;

/* ---- units and teams ------------------------------------------------------------------------- */
typedef int32_t dart_unit_t;
#define DART_UNDEFINED_UNIT_ID ((dart_unit_t)(-1))

/* A unit's number in DART_TEAM_ALL, and its number in a team. */
typedef struct dart_global_unit {
#ifdef __cplusplus
    constexpr dart_global_unit() : id(DART_UNDEFINED_UNIT_ID)
    {
    }
    constexpr dart_global_unit(dart_unit_t unit) : id(unit)
    {
    }
#endif
    dart_unit_t id;
} dart_global_unit_t;
typedef struct dart_local_unit {
#ifdef __cplusplus
    constexpr dart_local_unit() : id(DART_UNDEFINED_UNIT_ID)
    {
    }
    constexpr dart_local_unit(dart_unit_t unit) : id(unit)
    {
    }
#endif
    dart_unit_t id;
} dart_team_unit_t;

DART_INLINE dart_team_unit_t dart_create_team_unit(dart_unit_t unit)
{
    dart_team_unit_t made = {unit};
    return made;
}
DART_INLINE dart_global_unit_t dart_create_global_unit(dart_unit_t unit)
{
    dart_global_unit_t made = {unit};
    return made;
}
#define DART_TEAM_UNIT_ID(unit)       (dart_create_team_unit(unit))
#define DART_GLOBAL_UNIT_ID(unit)     (dart_create_global_unit(unit))
#define DART_UNDEFINED_TEAM_UNIT_ID   DART_TEAM_UNIT_ID(DART_UNDEFINED_UNIT_ID)
#define DART_UNDEFINED_GLOBAL_UNIT_ID DART_GLOBAL_UNIT_ID(DART_UNDEFINED_UNIT_ID)

typedef int16_t dart_team_t;
#define DART_UNDEFINED_TEAM_ID ((dart_team_t)(-1))
#define DART_TEAM_NULL         ((dart_team_t)(-1))
#define DART_TEAM_ALL          ((dart_team_t)0)

typedef enum { DART_THREAD_SINGLE = 0, DART_THREAD_MULTIPLE = 10 } dart_thread_support_level_t;

/* log_enabled changes nothing. */
typedef struct {
    int log_enabled;
} dart_config_t;

/* ---- locality: DART_TEAM_ALL or a team, its hosts, their units ------------------------------- */
typedef enum {
    DART_LOCALITY_SCOPE_UNDEFINED = -1,
    DART_LOCALITY_SCOPE_GLOBAL = 0,
    DART_LOCALITY_SCOPE_GROUP = 1,
    DART_LOCALITY_SCOPE_NETWORK = 50,
    DART_LOCALITY_SCOPE_NODE = 100,
    DART_LOCALITY_SCOPE_MODULE = 200,
    DART_LOCALITY_SCOPE_NUMA = 300,
    DART_LOCALITY_SCOPE_UNIT = 400,
    DART_LOCALITY_SCOPE_PACKAGE = 500,
    DART_LOCALITY_SCOPE_UNCORE = 510,
    DART_LOCALITY_SCOPE_CACHE = 530,
    DART_LOCALITY_SCOPE_CORE = 550,
    DART_LOCALITY_SCOPE_CPU = 600
} dart_locality_scope_t;

#define DART_LOCALITY_HOST_MAX_SIZE       30
#define DART_LOCALITY_DOMAIN_TAG_MAX_SIZE 32
#define DART_LOCALITY_MAX_DOMAIN_SCOPES   12
#define DART_LOCALITY_UNIT_MAX_CPUS       64
#define DART_LOCALITY_MAX_NUMA_ID         16
#define DART_LOCALITY_MAX_CACHE_LEVELS    5

typedef struct {
    dart_locality_scope_t scope;
    int index; /* among its siblings */
} dart_locality_scope_pos_t;

/* What is not known is -1. */
typedef struct {
    char host[DART_LOCALITY_HOST_MAX_SIZE];
    int num_cores, num_numa, numa_id, core_id, cpu_id;
    int min_cpu_mhz, max_cpu_mhz;
    int cache_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];
    int cache_line_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];
    int cache_ids[DART_LOCALITY_MAX_CACHE_LEVELS];
    int min_threads, max_threads;
    int max_shmem_mbps;
    int system_memory_bytes, numa_memory_bytes; /* in MiB, as an int could not hold bytes */
    dart_locality_scope_pos_t scopes[DART_LOCALITY_MAX_DOMAIN_SCOPES]; /* upwards */
    int num_scopes;
} dart_hwinfo_t;

typedef struct {
    char host[DART_LOCALITY_HOST_MAX_SIZE], module[DART_LOCALITY_HOST_MAX_SIZE];
    dart_locality_scope_pos_t pos;
} dart_module_location_t;

/* A team, a host of it, a unit or its core: ".", ".1", ".1.0", ".1.0.0". */
typedef struct dart_domain_locality_s {
    char host[DART_LOCALITY_HOST_MAX_SIZE]; /* "" if there are several */
    char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
    struct dart_domain_locality_s **aliases;
    int num_aliases;
    dart_locality_scope_t scope;
    int level;
    int global_index, relative_index; /* in its scope, and among its siblings */
    struct dart_domain_locality_s *parent;
    int num_domains;
    struct dart_domain_locality_s **children;
    int is_symmetric;
    dart_team_t team;
    int num_units;
    dart_global_unit_t *unit_ids;
    int num_nodes, node_id; /* node_id: -1 if there are several */
    int num_cores;
    int shared_mem_bytes;
} dart_domain_locality_t;

typedef struct {
    dart_team_unit_t unit;
    dart_team_t team;
    dart_hwinfo_t hwinfo;
    char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
} dart_unit_locality_t;

#ifdef __cplusplus
}
#endif
#endif
