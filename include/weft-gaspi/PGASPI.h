/* PGASPI.h - each procedure's other name, for tools that define the first one themselves. */
#ifndef PGASPI_H
#define PGASPI_H

#include <GASPI_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASPI_FUNCTION(type, name, parameters)         type pgaspi_##name parameters;
#define GASPI_FUNCTION_EXT(type, name, parameters)     type pgaspi_##name parameters;
#define GASPI_FUNCTION_THREADS(type, name, parameters) type pgaspi_##name parameters;
#include <gaspi_functions.def>

#ifdef __cplusplus
}
#endif
#endif
