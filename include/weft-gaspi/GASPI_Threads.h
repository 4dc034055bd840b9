/* GASPI_Threads.h - a pool of threads of the program: gaspi_functions.def. */
#ifndef GASPI_THREADS_H
#define GASPI_THREADS_H

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASPI_FUNCTION_THREADS(type, name, parameters) type gaspi_##name parameters;
#include <gaspi_functions.def>

#ifdef __cplusplus
}
#endif
#endif
