/* fuzz_remote_elf.c - programs, as weft-cuda and what it preloads read them. */
#include "fuzz.h"

#include "remote/redirect/elf.h"
#include "tools/weft-cuda/weft_cuda.h"

static const uint8_t *begin, *end;

static void found(void *context, const char *name, uint64_t value, uint64_t room)
{
    (void)value;
    (void)room;
    ++*(int *)context;
    MUST((const uint8_t *)name >= begin && (const uint8_t *)name < end);
    MUST(strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0);
}

static void wanted(void *context, const char *name, uint64_t value, uint64_t room)
{
    (void)context;
    (void)value;
    (void)room;
    MUST((const uint8_t *)name >= begin && (const uint8_t *)name < end && name[0] != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_elf elf;
    int count = 0;

    begin = data;
    end = data + size;
    weft_elf_read(&elf, data, size);
    weft_elf_each(&elf, found, &count);
    weft_elf_wants(&elf, wanted, NULL);
    const int all = count;
    tell_calls(&elf, found, &count);
    MUST(count <= 2 * all);
    count = all;
    MUST(count == 0 || elf.kind == WEFT_ELF_STATIC || elf.kind == WEFT_ELF_SHARED);
    return 0;
}
