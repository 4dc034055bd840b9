/* mpi-ext.h - what Open MPI added to MPI, and programs ask for. */
#ifndef MPI_EXT_H_INCLUDED
#define MPI_EXT_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_CUDA_AWARE_SUPPORT 1 /* to be asked at run time */

/* 1 where this process drives a GPU whose memory it may pass as a buffer, else 0. Any thread. */
int MPIX_Query_cuda_support(void);

#ifdef __cplusplus
}
#endif
#endif
