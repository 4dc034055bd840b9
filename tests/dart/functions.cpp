// tests/dart/functions.cpp - every function of the interface, by name, and those of DASH by their
// types, in C++14: test_dart.sh makes functions.inc of the headers. DART_bytes: of the byte-count
// interface.
#ifdef DART_bytes
#include <dart_tapi.h>
#else
#include <dash/dart/if/dart.h>
#include <dart_tapi.h>
#endif

#include <cstdio>
#include <type_traits>

#ifndef DART_bytes
#define X(name, ...) static_assert(std::is_same<decltype(name), __VA_ARGS__>::value, #name);
#include "prototypes.inc"
#endif

#define USE(name) reinterpret_cast<void *>(&name),
static void *const functions[] = {
#include "functions.inc"
};

int main()
{
    int there = 0;

    for (void *function : functions)
        there += function != nullptr;
#ifndef DART_bytes
    dart_gptr_t g = DART_GPTR_NULL;
    const dart_team_unit_t two = 2, none = DART_UNDEFINED_TEAM_UNIT_ID;
    there += DART_GPTR_ISNULL(g) && dart_gptr_setunit(&g, two) == DART_OK && g.unitid == two.id &&
             dart_gptr_incaddr(&g, 5) == DART_OK && !DART_GPTR_EQUAL(g, DART_GPTR_NULL) &&
             none.id == dart_global_unit_t().id;
#else
    dart_gptr_t g = DART_GPTR_NULL;
    there += DART_GPTR_ISNULL(g) && DART_GPTR_EQUAL(g, DART_GPTR_NULL);
#endif
    std::printf("%d\n", there);
    return 0;
}
