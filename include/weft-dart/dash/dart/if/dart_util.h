/* dart_util.h - attributes of DART's functions. */
#ifndef DART_UTIL_H
#define DART_UTIL_H

#define DART_NOTHROW      __attribute__((nothrow))
#define DART_MAYBE_UNUSED __attribute__((unused))
#define DART_INLINE       static inline DART_MAYBE_UNUSED
#define DART_NORETURN     __attribute__((noreturn))

#endif
