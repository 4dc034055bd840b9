/*
 * remote/cudart/absent.c - functions of the runtime that are refused: each returns
 * cudaErrorNotSupported, and says once which it is and where to read why. CMake lists them: what
 * the vendor's headers have and no other file of this folder. They take any arguments, so their
 * prototypes are not included here. Any thread.
 */
#include "remote/table/table.h"

int cudart_done(int error);

#define X(name, why)                                                                               \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        static unsigned said;                                                                      \
        return cudart_done((int)weft_cuda_refuse(#name, why, &said));                              \
    }
#include "lists/absent.def"
