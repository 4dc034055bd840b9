/* dart_config.h - DART's configuration. Weft's is by WEFT_* variables. */
#ifndef DART_CONFIG_H
#define DART_CONFIG_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *config is the library's. */
void dart_config(dart_config_t **config) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
