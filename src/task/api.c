/* task/api.c - the calls of ranks of weft/task.h as functions of the library, for the CPU device.
 */
#include "task/api.h"
