/* fuzz_roots.c - WEFT_ROOT, which also comes from a launcher or from another host. */
#include "fuzz.h"

#include "base/netif.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_root roots[WEFT_ROOTS_MAX];
    char *text = malloc(size + 1);

    MUST(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    const int count = weft_roots_parse(roots, text);
    MUST(count >= 0 && count <= WEFT_ROOTS_MAX);
    for (int i = 0; i < count; i++) {
        MUST(strlen(roots[i].host) > 0 && strlen(roots[i].host) < sizeof(roots[i].host));
        MUST(atoi(roots[i].port) >= 1 && atoi(roots[i].port) <= 65535);
    }
    free(text);
    return 0;
}
