/* What the program and the library of test_cxx.sh share. */
#include <weft/coll.h>

enum { RANKS = 2 };

struct numbers {
    double *a; /* 16 of each rank: its own, and the sums */
};

extern const weft_kernel templates;
