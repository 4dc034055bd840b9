/* test_suite.c - the conformance suite over the fake driver: what remote GPUs are compared with. */
#include "suite.h"

#include "remote/cudart/cudart.h"
#include "remote/table/fake/fake.h"

#include <stdlib.h>

void weft_fake_kernels(const struct weft_fake_registry *registry);

int main(int argc, char **argv)
{
    const struct weft_cuda_table *table;

    if (weft_fake_open(&table, argc > 1 ? argv[1] : "devices=2,memory=256M") != WEFT_OK)
        return EXIT_FAILURE;
    weft_fake_kernels(&weft_fake_registry);
    weft_cudart_use(table);
    suite_register();
    return suite_run() ? EXIT_SUCCESS : EXIT_FAILURE;
}
