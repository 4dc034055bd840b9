/*
 * remote/cudart/absent.c - functions that are refused: each returns cudaErrorNotSupported, or the
 * status of its library, and says once which it is and where to read why. CMake lists them: what
 * the vendor's headers have and nothing here serves. A library's are weak, so that its rows take
 * their place. They take any arguments, so their prototypes are not included here. Any thread.
 */
int __cudaWeftRefuse(const char *function, const char *why, unsigned *said);

#ifndef REFUSED
#define REFUSED "lists/absent.def"
#define REFUSAL error
#define STRENGTH
#endif

#define X(name, why)                                                                               \
    STRENGTH int name(void);                                                                       \
    STRENGTH int name(void)                                                                        \
    {                                                                                              \
        static unsigned said;                                                                      \
        const int error = __cudaWeftRefuse(#name, why, &said);                                     \
        return error != 0 ? REFUSAL : 0;                                                           \
    }
#include REFUSED
