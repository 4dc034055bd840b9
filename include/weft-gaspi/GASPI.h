/* GASPI.h - the procedures of GASPI 17.1 over weft: gaspi_functions.def says what each does. */
#ifndef GASPI_H
#define GASPI_H

#include <GASPI_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASPI_FUNCTION(type, name, parameters) type gaspi_##name parameters;
#include <gaspi_functions.def>

#ifdef __cplusplus
}
#endif
#endif
