/*
 * calls.c - which functions of the runtime a program calls that holds all of them: calls and jumps
 * in its code that lead to one. The file is foreign bytes: every offset is checked.
 */
#include "weft_cuda.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CALL = 0xe8, JUMP = 0xe9, LENGTH = 5 /* bytes: one of these, and how far */ };

struct function {
    const char *name;
    uint64_t at;
    bool called;
};

struct functions {
    struct function *list; /* by address */
    size_t count, capacity;
    uint64_t begin, end; /* of the runtime's code, as a linker lays an archive's out */
};

static void add(void *context, const char *name, uint64_t value, uint64_t room)
{
    struct functions *all = context;

    if (all->count == all->capacity) {
        const size_t more = all->capacity == 0 ? 1024 : 2 * all->capacity;
        struct function *list = realloc(all->list, more * sizeof(*list));
        if (list == NULL)
            return;
        all->list = list;
        all->capacity = more;
    }
    all->list[all->count++] = (struct function){.name = name, .at = value};
    if (name[0] == '_') /* nvcc puts such a function into the program's code, too */
        return;
    all->begin = value < all->begin ? value : all->begin;
    all->end = value + room > all->end ? value + room : all->end;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t x = ((const struct function *)a)->at, y = ((const struct function *)b)->at;

    return (x > y) - (x < y);
}

/* The last one that begins at an address or before; NULL: none. */
static struct function *around(const struct functions *all, uint64_t address)
{
    size_t low = 0, high = all->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (all->list[middle].at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &all->list[low - 1] : NULL;
}

/* Those that code at `address` calls. What the runtime calls itself does not count. */
static void look(const struct functions *all, const unsigned char *code, uint64_t bytes,
                 uint64_t address)
{
    int32_t far;

    for (uint64_t i = 0; i + LENGTH <= bytes; i++) {
        if (code[i] != CALL && code[i] != JUMP)
            continue;
        memcpy(&far, code + i + 1, sizeof(far));
        const uint64_t site = address + i, target = site + LENGTH + (uint64_t)(int64_t)far;
        struct function *called = around(all, target);
        if (called != NULL && called->at == target && (site < all->begin || site >= all->end))
            called->called = true;
    }
}

void tell_calls(const struct weft_elf *elf,
                void (*found)(void *context, const char *name, uint64_t value, uint64_t room),
                void *context)
{
    struct functions all = {.begin = UINT64_MAX};
    Elf64_Ehdr h;
    Elf64_Phdr p;

    weft_elf_each(elf, add, &all);
    if (all.count == 0)
        return;
    qsort(all.list, all.count, sizeof(*all.list), by_address);
    memcpy(&h, elf->bytes, sizeof(h));
    for (unsigned i = 0; i < h.e_phnum && h.e_phentsize == sizeof(p); i++) {
        const uint64_t at = h.e_phoff + i * sizeof(p);
        if (at < h.e_phoff || at > elf->size || elf->size - at < sizeof(p))
            break;
        memcpy(&p, elf->bytes + at, sizeof(p));
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0 && p.p_offset <= elf->size &&
            p.p_filesz <= elf->size - p.p_offset)
            look(&all, elf->bytes + p.p_offset, p.p_filesz, p.p_vaddr);
    }
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].called)
            found(context, all.list[i].name, all.list[i].at, 0);
    free(all.list);
}
