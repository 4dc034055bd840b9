/*
 * test_hostile.c - made-up records at a session, or answers at a program: it ends with an error,
 * never with a signal, and nothing that it is told makes it wait. Arguments: how many lists of
 * them, seed.
 */
#include "fuzz/fuzz.h"

extern uint64_t fuzz_remote_records;

int main(int argc, char **argv)
{
    enum { BYTES = 1500 };
    const int lists = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t state = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    static uint8_t bytes[BYTES];

    for (int i = 0; i < lists; i++) {
        for (int b = 0; b < BYTES; b++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[b] = (uint8_t)(state >> 56);
            if (b % 3 == 0 && bytes[b] > 100) /* calls that exist, more often than not */
                bytes[b] %= 48;
        }
        LLVMFuzzerTestOneInput(bytes, BYTES);
    }
    printf("hostile: %llu records in %d lists\n", (unsigned long long)fuzz_remote_records, lists);
    return EXIT_SUCCESS;
}
