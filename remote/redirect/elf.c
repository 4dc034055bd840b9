/* remote/redirect/elf.c - see the header. Any thread calls it. */
#include "remote/redirect/elf.h"

#include <elf.h>
#include <string.h>

static bool inside(const struct weft_elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->size && bytes <= elf->size - offset;
}

static Elf64_Ehdr header(const struct weft_elf *elf)
{
    Elf64_Ehdr h;

    memcpy(&h, elf->bytes, sizeof(h));
    return h;
}

/* Reads a section's header. False: there is none, or its bytes are not all in the file. */
static bool section(const struct weft_elf *elf, unsigned index, Elf64_Shdr *s)
{
    const Elf64_Ehdr h = header(elf);

    if (index >= h.e_shnum || !inside(elf, h.e_shoff, (uint64_t)h.e_shnum * sizeof(*s)))
        return false;
    memcpy(s, elf->bytes + h.e_shoff + index * sizeof(*s), sizeof(*s));
    return s->sh_type == SHT_NOBITS || inside(elf, s->sh_offset, s->sh_size);
}

/* Returns a string of a table; "" if it does not end there. */
static const char *text(const struct weft_elf *elf, const Elf64_Shdr *table, uint64_t at)
{
    if (table->sh_type != SHT_STRTAB || at >= table->sh_size)
        return "";
    const char *string = (const char *)elf->bytes + table->sh_offset + at;
    return memchr(string, 0, table->sh_size - at) != NULL ? string : "";
}

static bool is_runtime(const char *name)
{
    if (strncmp(name, "__cuda", 6) == 0)
        return true;
    return strncmp(name, "cuda", 4) == 0 && name[4] >= 'A' && name[4] <= 'Z';
}

/* Returns the bytes from a function up to the next symbol: alignment leaves more than its size. */
static uint64_t room(const struct weft_elf *elf, const Elf64_Shdr *table, const Elf64_Sym *function)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
        if (symbol.st_shndx == function->st_shndx && symbol.st_value > function->st_value &&
            symbol.st_value - function->st_value < least)
            least = symbol.st_value - function->st_value;
    }
    return least != UINT64_MAX ? least : function->st_size;
}

/* Calls `found` for symbols of a table, defined or wanted ones, for which `is` holds; counts
 * them. */
static int each(const struct weft_elf *elf, int index, bool defined, bool (*is)(const char *),
                void (*found)(void *, const char *, uint64_t, uint64_t), void *context)
{
    Elf64_Shdr table, strings;
    int count = 0;

    if (index == 0 || !section(elf, (unsigned)index, &table) ||
        !section(elf, table.sh_link, &strings))
        return 0;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + table.sh_offset + i * sizeof(symbol), sizeof(symbol));
        const char *name = text(elf, &strings, symbol.st_name);
        if ((symbol.st_shndx != SHN_UNDEF) != defined || (is != NULL ? !is(name) : name[0] == 0) ||
            (defined && ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) ||
            (!defined && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL))
            continue;
        count++;
        if (found != NULL)
            found(context, name, defined ? symbol.st_value : 0,
                  defined ? room(elf, &table, &symbol) : 0);
    }
    return count;
}

static void classify(struct weft_elf *elf)
{
    enum { SEVERAL = 16 }; /* a program may define a function of its own whose name begins so */
    const Elf64_Ehdr h = header(elf);
    Elf64_Shdr names, s;
    bool code = false;

    elf->kind = WEFT_ELF_PLAIN;
    if (!section(elf, h.e_shstrndx, &names))
        return;
    for (unsigned i = 1; i < h.e_shnum; i++) {
        if (!section(elf, i, &s)) {
            elf->kind = WEFT_ELF_NONE;
            return;
        }
        if (s.sh_type == SHT_SYMTAB)
            elf->symbols = (int)i;
        if (s.sh_type == SHT_DYNSYM)
            elf->dynamic = (int)i;
        code |= strcmp(text(elf, &names, s.sh_name), ".nv_fatbin") == 0;
    }
    if (each(elf, elf->dynamic, false, is_runtime, NULL, NULL) > 0)
        elf->kind = WEFT_ELF_SHARED;
    else if (each(elf, elf->symbols, true, is_runtime, NULL, NULL) >= SEVERAL)
        elf->kind = WEFT_ELF_STATIC;
    else if (code)
        elf->kind = WEFT_ELF_STRIPPED;
}

void weft_elf_read(struct weft_elf *elf, const void *bytes, size_t size)
{
    *elf = (struct weft_elf){.bytes = bytes, .size = size};
    if (size < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return;
    const Elf64_Ehdr h = header(elf);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        h.e_machine != EM_X86_64 || h.e_shentsize != sizeof(Elf64_Shdr))
        return;
    classify(elf);
}

void weft_elf_each(const struct weft_elf *elf,
                   void (*found)(void *context, const char *name, uint64_t value, uint64_t size),
                   void *context)
{
    if (elf->kind == WEFT_ELF_STATIC)
        each(elf, elf->symbols, true, is_runtime, found, context);
    else if (elf->kind == WEFT_ELF_SHARED)
        each(elf, elf->dynamic, false, is_runtime, found, context);
}

void weft_elf_wants(const struct weft_elf *elf,
                    void (*found)(void *context, const char *name, uint64_t value, uint64_t size),
                    void *context)
{
    if (elf->kind != WEFT_ELF_NONE)
        each(elf, elf->dynamic, false, NULL, found, context);
}
