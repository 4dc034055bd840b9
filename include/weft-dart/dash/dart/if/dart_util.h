/* dart_util.h - attributes of DART's functions. */
#ifndef DART_UTIL_H
#define DART_UTIL_H

#define DART_NOTHROW __attribute__((nothrow))
#define DART_INLINE  static inline

#endif
