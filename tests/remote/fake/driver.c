/*
 * fake/driver.c - the fake driver as a shared object with the driver's functions, under their
 * names. Its options stand in FAKE_DRIVER. Runs when it is loaded.
 */
#include "fake/fake.h"

#include <stdlib.h>

/* Each is a jump to the function of the fake. cuda.h renames some: "cuMemAlloc_v2". */
#define NAME_OF(function) #function
#define SYMBOL(function)  NAME_OF(function)
#define JUMP(field, function)                                                                      \
    __asm__(".globl " SYMBOL(function) "\n"                                                        \
                                       ".type " SYMBOL(function) ", @function\n" SYMBOL(           \
                                           function) ": jmp fake_" #field "@PLT");
WEFT_TABLE_MAP(JUMP)

__attribute__((constructor)) static void load(void)
{
    const struct weft_cuda_table *table;
    const char *options = getenv("FAKE_DRIVER");

    if (weft_fake_open(&table, options != NULL ? options : "") != WEFT_OK)
        _Exit(EXIT_FAILURE); /* it was said */
}
