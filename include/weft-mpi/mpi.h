/*
 * mpi.h - MPI over weft: what MPI programs include. The functions are those of MPI 3.1 and the
 * large counts of MPI 4. The numbers are those of the ABI of MPI 5.0, chapter "Application Binary
 * Interface". What is there and what refuses: docs/mpi.md.
 *
 * The contract of a function is the standard's. weftmpicc finds this header and the library.
 */
#ifndef MPI_H_INCLUDED
#define MPI_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MPI_VERSION
#define MPI_VERSION    3
#define MPI_SUBVERSION 1
#endif
#define WEFT_MPI 1 /* whose mpi.h this is */

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint; /* a Fortran handle */

typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

/* ---- handles: pointers to what nobody sees; constants are small numbers -----------------------
 */
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Win *MPI_Win;
typedef struct MPI_ABI_File *MPI_File;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Datatype *MPI_Datatype;

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM     ((MPI_Op)0x21)
#define MPI_MIN     ((MPI_Op)0x22)
#define MPI_MAX     ((MPI_Op)0x23)
#define MPI_PROD    ((MPI_Op)0x24)
#define MPI_BAND    ((MPI_Op)0x28)
#define MPI_BOR     ((MPI_Op)0x29)
#define MPI_BXOR    ((MPI_Op)0x2a)
#define MPI_LAND    ((MPI_Op)0x30)
#define MPI_LOR     ((MPI_Op)0x31)
#define MPI_LXOR    ((MPI_Op)0x32)
#define MPI_MINLOC  ((MPI_Op)0x38)
#define MPI_MAXLOC  ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP   ((MPI_Op)0x3d)

#define MPI_COMM_NULL        ((MPI_Comm)0x100)
#define MPI_COMM_WORLD       ((MPI_Comm)0x101)
#define MPI_COMM_SELF        ((MPI_Comm)0x102)
#define MPI_GROUP_NULL       ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY      ((MPI_Group)0x109)
#define MPI_WIN_NULL         ((MPI_Win)0x110)
#define MPI_FILE_NULL        ((MPI_File)0x118)
#define MPI_MESSAGE_NULL     ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC  ((MPI_Message)0x129)
#define MPI_INFO_NULL        ((MPI_Info)0x130)
#define MPI_INFO_ENV         ((MPI_Info)0x131)
#define MPI_ERRHANDLER_NULL  ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_RETURN    ((MPI_Errhandler)0x142)
#define MPI_ERRORS_ABORT     ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL     ((MPI_Request)0x180)

#define MPI_DATATYPE_NULL           ((MPI_Datatype)0x200)
#define MPI_AINT                    ((MPI_Datatype)0x201)
#define MPI_COUNT                   ((MPI_Datatype)0x202)
#define MPI_OFFSET                  ((MPI_Datatype)0x203)
#define MPI_PACKED                  ((MPI_Datatype)0x207)
#define MPI_SHORT                   ((MPI_Datatype)0x208)
#define MPI_INT                     ((MPI_Datatype)0x209)
#define MPI_LONG                    ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG               ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT           MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT          ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED                ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG           ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG      ((MPI_Datatype)0x20f)
#define MPI_FLOAT                   ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX         ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX               MPI_C_FLOAT_COMPLEX
#define MPI_DOUBLE                  ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX        ((MPI_Datatype)0x216)
#define MPI_LONG_DOUBLE             ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX   ((MPI_Datatype)0x224)
#define MPI_FLOAT_INT               ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT              ((MPI_Datatype)0x229)
#define MPI_LONG_INT                ((MPI_Datatype)0x22a)
#define MPI_2INT                    ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT               ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT         ((MPI_Datatype)0x22d)
#define MPI_C_BOOL                  ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL                ((MPI_Datatype)0x239)
#define MPI_CXX_FLOAT_COMPLEX       ((MPI_Datatype)0x213)
#define MPI_CXX_DOUBLE_COMPLEX      ((MPI_Datatype)0x217)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_WCHAR                   ((MPI_Datatype)0x23c)
#define MPI_INT8_T                  ((MPI_Datatype)0x240)
#define MPI_UINT8_T                 ((MPI_Datatype)0x241)
#define MPI_CHAR                    ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR             ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR           ((MPI_Datatype)0x245)
#define MPI_BYTE                    ((MPI_Datatype)0x247)
#define MPI_INT16_T                 ((MPI_Datatype)0x248)
#define MPI_UINT16_T                ((MPI_Datatype)0x249)
#define MPI_INT32_T                 ((MPI_Datatype)0x250)
#define MPI_UINT32_T                ((MPI_Datatype)0x251)
#define MPI_INT64_T                 ((MPI_Datatype)0x258)
#define MPI_UINT64_T                ((MPI_Datatype)0x259)
/* Fortran's, as compilers have them by default. */
#define MPI_LOGICAL           ((MPI_Datatype)0x218)
#define MPI_INTEGER           ((MPI_Datatype)0x219)
#define MPI_REAL              ((MPI_Datatype)0x21a)
#define MPI_COMPLEX           ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION  ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX    ((MPI_Datatype)0x21d)
#define MPI_2REAL             ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER          ((MPI_Datatype)0x232)
#define MPI_LOGICAL1          ((MPI_Datatype)0x2c0)
#define MPI_INTEGER1          ((MPI_Datatype)0x2c1)
#define MPI_CHARACTER         ((MPI_Datatype)0x2c3)
#define MPI_LOGICAL2          ((MPI_Datatype)0x2c8)
#define MPI_INTEGER2          ((MPI_Datatype)0x2c9)
#define MPI_LOGICAL4          ((MPI_Datatype)0x2d0)
#define MPI_INTEGER4          ((MPI_Datatype)0x2d1)
#define MPI_REAL4             ((MPI_Datatype)0x2d2)
#define MPI_LOGICAL8          ((MPI_Datatype)0x2d8)
#define MPI_INTEGER8          ((MPI_Datatype)0x2d9)
#define MPI_REAL8             ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8          ((MPI_Datatype)0x2db)
#define MPI_INTEGER16         ((MPI_Datatype)0x2e1)
#define MPI_COMPLEX16         ((MPI_Datatype)0x2e3)
#define MPI_REAL16            ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX32         ((MPI_Datatype)0x2eb)

/* ---- error classes ------------------------------------------------------------------------------
 */
enum {
#define WEFT_MPI_ERROR(name, number, text) MPI_##name = number,
#include "mpi_errors.def"
#undef WEFT_MPI_ERROR
    MPI_ERR_LASTCODE = 0x3fff
};

/* ---- other numbers
 * -------------------------------------------------------------------------------- */
#define MPI_BOTTOM          ((void *)0)
#define MPI_IN_PLACE        ((void *)1)
#define MPI_STATUS_IGNORE   ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ARGV_NULL       ((char **)0)
#define MPI_ARGVS_NULL      ((char ***)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_UNWEIGHTED      ((int *)10)
#define MPI_WEIGHTS_EMPTY   ((int *)11)

#define MPI_MAX_ERROR_STRING           512
#define MPI_MAX_INFO_KEY               256
#define MPI_MAX_INFO_VAL               1024
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME            128
#define MPI_MAX_PROCESSOR_NAME         256
#define MPI_MAX_PORT_NAME              1024
#define MPI_MAX_DATAREP_STRING         128
#define MPI_BSEND_OVERHEAD             512

enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -2, MPI_PROC_NULL = -3, MPI_ROOT = -4 };
enum { MPI_UNDEFINED = -32766, MPI_KEYVAL_INVALID = 0 };
enum {
    MPI_THREAD_SINGLE = 0,
    MPI_THREAD_FUNNELED = 1024,
    MPI_THREAD_SERIALIZED = 2048,
    MPI_THREAD_MULTIPLE = 4096
};
enum { MPI_ORDER_C = 12, MPI_ORDER_FORTRAN = 15 };
enum {
    MPI_DISTRIBUTE_NONE = 16,
    MPI_DISTRIBUTE_BLOCK = 17,
    MPI_DISTRIBUTE_CYCLIC = 18,
    MPI_DISTRIBUTE_DFLT_DARG = 19
};
enum { /* how a datatype was made */
       MPI_COMBINER_NAMED = 101,
       MPI_COMBINER_DUP = 102,
       MPI_COMBINER_CONTIGUOUS = 103,
       MPI_COMBINER_VECTOR = 104,
       MPI_COMBINER_HVECTOR = 105,
       MPI_COMBINER_INDEXED = 106,
       MPI_COMBINER_HINDEXED = 107,
       MPI_COMBINER_INDEXED_BLOCK = 108,
       MPI_COMBINER_HINDEXED_BLOCK = 109,
       MPI_COMBINER_STRUCT = 110,
       MPI_COMBINER_SUBARRAY = 111,
       MPI_COMBINER_DARRAY = 112,
       MPI_COMBINER_F90_INTEGER = 113,
       MPI_COMBINER_F90_REAL = 114,
       MPI_COMBINER_F90_COMPLEX = 115,
       MPI_COMBINER_RESIZED = 116
};
enum { MPI_TYPECLASS_INTEGER = 192, MPI_TYPECLASS_REAL = 193, MPI_TYPECLASS_COMPLEX = 194 };
enum { MPI_F_STATUS_SIZE = 8, MPI_F_SOURCE = 0, MPI_F_TAG = 1, MPI_F_ERROR = 2 };
enum { MPI_IDENT = 201, MPI_CONGRUENT = 202, MPI_SIMILAR = 203, MPI_UNEQUAL = 204 };
enum { MPI_CART = 211, MPI_GRAPH = 212, MPI_DIST_GRAPH = 213 };
enum { MPI_COMM_TYPE_SHARED = 221, MPI_COMM_TYPE_HW_UNGUIDED = 222, MPI_COMM_TYPE_HW_GUIDED = 223 };
enum { /* attributes of MPI_COMM_WORLD */
       MPI_TAG_UB = 501,
       MPI_IO = 502,
       MPI_HOST = 503,
       MPI_WTIME_IS_GLOBAL = 504,
       MPI_UNIVERSE_SIZE = 505,
       MPI_APPNUM = 506,
       MPI_LASTUSEDCODE = 507
};
enum { /* attributes of windows, and their values */
       MPI_WIN_BASE = 601,
       MPI_WIN_DISP_UNIT = 602,
       MPI_WIN_SIZE = 603,
       MPI_WIN_CREATE_FLAVOR = 604,
       MPI_WIN_MODEL = 605,
       MPI_WIN_FLAVOR_CREATE = 311,
       MPI_WIN_FLAVOR_ALLOCATE = 312,
       MPI_WIN_FLAVOR_DYNAMIC = 313,
       MPI_WIN_FLAVOR_SHARED = 314,
       MPI_WIN_UNIFIED = 321,
       MPI_WIN_SEPARATE = 322
};
enum {
    MPI_LOCK_EXCLUSIVE = 301,
    MPI_LOCK_SHARED = 302,
    MPI_MODE_NOCHECK = 1024,
    MPI_MODE_NOPRECEDE = 2048,
    MPI_MODE_NOPUT = 4096,
    MPI_MODE_NOSTORE = 8192,
    MPI_MODE_NOSUCCEED = 16384
};

typedef void MPI_User_function(void *in, void *inout, int *count, MPI_Datatype *type);
typedef void MPI_User_function_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type);
#define WEFT_MPI_CALLBACKS(kind, type)                                                             \
    typedef int MPI_##kind##_copy_attr_function(type handle, int keyval, void *extra, void *value, \
                                                void *copy, int *flag);                            \
    typedef int MPI_##kind##_delete_attr_function(type handle, int keyval, void *value,            \
                                                  void *extra);
WEFT_MPI_CALLBACKS(Comm, MPI_Comm)
WEFT_MPI_CALLBACKS(Type, MPI_Datatype)
WEFT_MPI_CALLBACKS(Win, MPI_Win)
#undef WEFT_MPI_CALLBACKS
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *code, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn, MPI_Handler_function;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef int MPI_Grequest_query_function(void *extra, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra);
typedef int MPI_Grequest_cancel_function(void *extra, int complete);
#define MPI_COMM_NULL_COPY_FN   ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_DUP_FN         ((MPI_Comm_copy_attr_function *)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_TYPE_NULL_COPY_FN   ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_DUP_FN         ((MPI_Type_copy_attr_function *)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
#define MPI_WIN_NULL_COPY_FN    ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_DUP_FN          ((MPI_Win_copy_attr_function *)1)
#define MPI_WIN_NULL_DELETE_FN  ((MPI_Win_delete_attr_function *)0)
#define MPI_NULL_COPY_FN        MPI_COMM_NULL_COPY_FN
#define MPI_DUP_FN              MPI_COMM_DUP_FN
#define MPI_NULL_DELETE_FN      MPI_COMM_NULL_DELETE_FN

/* ---- functions: each under its name, and as PMPI_ for tools that put their own before it
 * ---------- */
#define WEFT_MPI_FUNCTION(name, parameters)                                                        \
    int MPI_##name parameters;                                                                     \
    int PMPI_##name parameters;
#define WEFT_MPI_REFUSED(name, parameters) WEFT_MPI_FUNCTION(name, parameters)
#define WEFT_MPI_HANDLE(kind, type)                                                                \
    MPI_Fint MPI_##kind##_c2f(type handle);                                                        \
    MPI_Fint PMPI_##kind##_c2f(type handle);                                                       \
    type MPI_##kind##_f2c(MPI_Fint handle);                                                        \
    type PMPI_##kind##_f2c(MPI_Fint handle);
#include "mpi_functions.def"
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_REFUSED
#undef WEFT_MPI_FUNCTION
double MPI_Wtime(void);
double PMPI_Wtime(void);
double MPI_Wtick(void);
double PMPI_Wtick(void);
/* An address and a distance, as numbers. */
#define MPI_Aint_add(base, offset) ((MPI_Aint)((char *)(base) + (offset)))
#define MPI_Aint_diff(a, b)        ((MPI_Aint)((char *)(a) - (char *)(b)))

#ifdef __cplusplus
}
#endif
#endif
