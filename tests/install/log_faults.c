/* Logs that no compiler may take (test_cxx.sh), by -D: FORMAT, MANY. A kernel in C and in CUDA C.
 */
#include <weft/device.h>

struct nothing {
    int unused;
};

WEFT_KERNEL(faulty, struct nothing, user)
{
    (void)user;
    weft_log(self, "%s of %d", "text", weft_size(self, WEFT_COMM_WORLD));
#ifdef FORMAT
    weft_log(self, "a real as %d", 0.5);
#endif
#ifdef MANY
    weft_log(self, "%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9);
#endif
}
