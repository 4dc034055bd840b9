/* coll/api.c - the calls of weft/coll.h as functions of the library, for the CPU device. */
#include "coll/api.h"
