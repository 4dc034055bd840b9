/* pgas/api.c - the calls of ranks of weft/pgas.h as functions of the library, for the CPU device.
 * Everything runs in the calling rank. */
#include "pgas/api.h"
