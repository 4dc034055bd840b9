/* GASPI_Ext.h - procedures beyond the standard that programs for GPI-2 use: gaspi_functions.def. */
#ifndef GASPI_EXT_H
#define GASPI_EXT_H

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASPI_FUNCTION_EXT(type, name, parameters) type gaspi_##name parameters;
#include <gaspi_functions.def>

#ifdef __cplusplus
}
#endif
#endif
