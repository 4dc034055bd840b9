/*
 * test_suite.c - the conformance suite over the fake driver, with which remote GPUs are compared.
 * Arguments: its options. Or: cuda IMAGE, over this machine's driver; remote IMAGE, over the
 * servers of WEFT_REMOTE_SERVERS; IMAGE has the kernels of suite_kernels.cu.
 */
#include "suite.h"

#include "fake/fake.h"
#include "remote/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weft_fake_kernels(const struct weft_fake_registry *registry);

int main(int argc, char **argv)
{
    const struct weft_cuda_table *table;
    const char *image = argc > 2 ? argv[2] : NULL;

    if (image != NULL && strcmp(argv[1], "cuda") == 0) {
        table = weft_table_open("cuda");
        if (table == NULL)
            return EXIT_FAILURE;
        suite_trusts_handles = true;
        weft_cudart_use(table);
    }
    if (image != NULL) {
        suite_register(image);
        return suite_run() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (weft_fake_open(&table, argc > 1 ? argv[1] : "devices=2,memory=256M") != WEFT_OK)
        return EXIT_FAILURE;
    weft_fake_kernels(&weft_fake_registry);
    weft_cudart_use(table);
    suite_register(NULL);
    return suite_run() ? EXIT_SUCCESS : EXIT_FAILURE;
}
