/*
 * remote/library/refused.c - functions of the vendor's headers that no row serves: each says once
 * that it is refused. CMake makes the list; whatever is served takes the place of these. They take
 * any arguments, so their prototypes are not included here. Any thread.
 */
int __cudaWeftRefuse(const char *function, unsigned *said);

#define X(name)                                                                                    \
    __attribute__((weak)) int name(void);                                                          \
    __attribute__((weak)) int name(void)                                                           \
    {                                                                                              \
        static unsigned said;                                                                      \
        __cudaWeftRefuse(#name, &said);                                                            \
        return REFUSAL;                                                                            \
    }
#include REFUSED
