/*
 * remote/cudart/absent.c - functions of the runtime that are refused: each returns
 * cudaErrorNotSupported, and says once which it is and where to read why. They take any arguments,
 * so their prototypes are not included here.
 */
#include "base/say.h"

int cudart_done(int error);
int cudart_refuse(const char *function, const char *why, unsigned *said);

int cudart_refuse(const char *function, const char *why, unsigned *said)
{
    enum { NOT_SUPPORTED = 801 };

    if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED) == 0)
        weft_say(WEFT_SAY_ERROR, "%s is not supported on remote GPUs (docs/remote.md#%s)", function,
                 why);
    return cudart_done(NOT_SUPPORTED);
}

#define X(name)                                                                                    \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        static unsigned said;                                                                      \
        return cudart_refuse(#name, WHY, &said);                                                   \
    }
#include "remote/cudart/absent.def"
