/* coll/api.c - the calls of weft/coll.h as functions of the library, for the CPU device. Everything
 * runs in the calling rank. */
#include "coll/api.h"
