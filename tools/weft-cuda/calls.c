/*
 * calls.c - which functions of the runtime a program uses that holds all of them: calls and jumps
 * in its code that lead to one, and addresses of one in its code and data. The file is foreign
 * bytes: every offset is checked.
 */
#include "weft_cuda.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct function {
    const char *name;
    uint64_t at;
    bool used;
};

struct functions {
    struct function *list; /* by address */
    size_t count, capacity;
    uint64_t begin, end; /* of the runtime's code, as a linker lays an archive's out */
    bool fixed;          /* the program's addresses are as they stand in the file */
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

static void use(const struct functions *all, uint64_t address)
{
    struct function *used = around(all, address);

    if (used != NULL && used->at == address)
        used->used = true;
}

/* Where in an instruction the 32 bits lie that name a place: behind a call, a jump, one on a
 * condition, an address that is taken. 0: nowhere. */
static unsigned place_in(const unsigned char *code, bool *relative, bool fixed)
{
    *relative = true;
    if (code[0] == 0xe8 || code[0] == 0xe9)
        return 1;
    if ((code[0] == 0x0f && (code[1] & 0xf0) == 0x80) ||
        (code[0] == 0x8d && (code[1] & 0xc7) == 0x05))
        return 2;
    *relative = false;
    if (fixed && ((code[0] & 0xf8) == 0xb8 || code[0] == 0x68)) /* into a register, or pushed */
        return 1;
    if (!fixed || (code[0] != 0xc7 && (code[0] != 0x81 || (code[1] & 0x38) != 0x38)))
        return 0;
    /* into memory, or compared: behind how that is named */
    const unsigned mode = code[1] >> 6, base = code[1] & 7, sib = mode != 3 && base == 4;
    const bool far = mode == 2 || (mode == 0 && (base == 5 || (sib && (code[2] & 7) == 5)));
    return 2 + sib + (far ? 4 : mode == 1);
}

/* What code at `address` names. What the runtime itself does does not count. */
static void look_at_code(const struct functions *all, const unsigned char *code, uint64_t bytes,
                         uint64_t address)
{
    bool relative;
    int32_t far;

    for (uint64_t i = 0; i + 2 + sizeof(far) <= bytes; i++) {
        const unsigned at = place_in(code + i, &relative, all->fixed);
        const uint64_t next = address + i + at + sizeof(far);
        if (at == 0 || at + sizeof(far) > bytes - i ||
            (address + i >= all->begin && address + i < all->end))
            continue;
        memcpy(&far, code + i + at, sizeof(far));
        use(all, relative ? next + (uint64_t)(int64_t)far : (uint32_t)far);
    }
}

/* Addresses in data: as they are, or as a relocation adds where the program lies. The runtime's own
 * has none of these functions. */
static void look_at_data(const struct functions *all, const unsigned char *data, uint64_t bytes,
                         bool writable)
{
    uint64_t words[2] = {0, 0};

    for (uint64_t i = 0; i + sizeof(words[1]) <= bytes; i += sizeof(words[1])) {
        memcpy(&words[1], data + i, sizeof(words[1]));
        if (writable || all->fixed || words[0] == R_X86_64_RELATIVE)
            use(all, words[1]);
        words[0] = words[1];
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
    all.fixed = h.e_type == ET_EXEC;
    for (unsigned i = 0; i < h.e_phnum && h.e_phentsize == sizeof(p); i++) {
        const uint64_t at = h.e_phoff + i * sizeof(p);
        if (at < h.e_phoff || at > elf->size || elf->size - at < sizeof(p))
            break;
        memcpy(&p, elf->bytes + at, sizeof(p));
        if (p.p_type != PT_LOAD || p.p_offset > elf->size || p.p_filesz > elf->size - p.p_offset)
            continue;
        const unsigned char *bytes = elf->bytes + p.p_offset;
        if ((p.p_flags & PF_X) != 0)
            look_at_code(&all, bytes, p.p_filesz, p.p_vaddr);
        else
            look_at_data(&all, bytes, p.p_filesz, (p.p_flags & PF_W) != 0);
    }
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].used)
            found(context, all.list[i].name, all.list[i].at, 0);
    free(all.list);
}
