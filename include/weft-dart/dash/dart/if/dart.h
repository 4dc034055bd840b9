/* dash/dart/if/dart.h - DART's C interface over weft: docs/dart.md. */
#ifndef DART_H
#define DART_H

#include <dash/dart/if/dart_communication.h>
#include <dash/dart/if/dart_config.h>
#include <dash/dart/if/dart_globmem.h>
#include <dash/dart/if/dart_initialization.h>
#include <dash/dart/if/dart_locality.h>
#include <dash/dart/if/dart_synchronization.h>
#include <dash/dart/if/dart_team_group.h>
#include <dash/dart/if/dart_types.h>

#endif
