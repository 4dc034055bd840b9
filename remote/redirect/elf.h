/*
 * remote/redirect/elf.h - reads from a program's file which functions of the CUDA runtime it holds.
 * The file is foreign bytes: every offset is checked.
 */
#ifndef WEFT_REMOTE_REDIRECT_ELF_H
#define WEFT_REMOTE_REDIRECT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_elf_kind {
    WEFT_ELF_NONE,    /* no ELF file of x86-64, or malformed */
    WEFT_ELF_PLAIN,   /* holds no GPU code */
    WEFT_ELF_SHARED,  /* uses a shared runtime */
    WEFT_ELF_STATIC,  /* holds the runtime, and says where its functions are */
    WEFT_ELF_STRIPPED /* holds GPU code and the runtime, and does not say where */
};

struct weft_elf {
    const unsigned char *bytes;
    size_t size;
    enum weft_elf_kind kind;
    int symbols; /* section of .symtab; 0: none */
    int dynamic; /* section of .dynsym; 0: none */
};

/* Reads the headers; `bytes` stay the caller's. Cannot fail: kind says what it is. */
void weft_elf_read(struct weft_elf *elf, const void *bytes, size_t size);

/*
 * Calls `found` for every function of the runtime: defined in the program (STATIC), with its value
 * and the bytes up to what follows it, or wanted by it (SHARED), with 0. Names end with 0 and stay
 * in `bytes`.
 */
void weft_elf_each(const struct weft_elf *elf,
                   void (*found)(void *context, const char *name, uint64_t value, uint64_t room),
                   void *context);
/* Calls `found` for whatever the program wants of shared objects. */
void weft_elf_wants(const struct weft_elf *elf,
                    void (*found)(void *context, const char *name, uint64_t value, uint64_t room),
                    void *context);

#endif
