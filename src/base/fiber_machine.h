/*
 * base/fiber_machine.h - saving and loading a machine's context; for fiber.c alone.
 *
 * A context is what a called function must preserve: the callee-saved registers and the floating
 * point control words. They lie on the fiber's own stack, and the context is the stack pointer.
 *
 *   weft_context_make(context, stack, bytes, run, argument): the first switch to it calls
 *       run(argument) on that stack; run never returns.
 *   weft_context_switch(from, to): saves into *from, loads *to.
 */
#ifndef WEFT_BASE_FIBER_MACHINE_H
#define WEFT_BASE_FIBER_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct weft_context {
    void *stack;
};

void weft_fiber_jump(void **save, void *load) __attribute__((visibility("hidden")));
void weft_fiber_entry(void) __attribute__((visibility("hidden")));

static inline void weft_context_switch(struct weft_context *from, struct weft_context *to)
{
    weft_fiber_jump(&from->stack, to->stack);
}

/* A function in assembler. */
#define FUNCTION(name, code)                                                                       \
    __asm__(".text\n"                                                                              \
            ".p2align 4\n"                                                                         \
            ".hidden " name "\n"                                                                   \
            ".globl " name "\n"                                                                    \
            ".type " name ", %function\n" name ":\n"                                               \
            "    .cfi_startproc\n" code "    .cfi_endproc\n"                                       \
            ".size " name ", . - " name "\n")

#if defined(__x86_64__)

/* What weft_fiber_jump pushes, from the stack pointer up. */
struct weft_frame_saved {
    uint32_t mxcsr;
    uint16_t x87_control, unused;
    uint64_t r15, r14, r13, r12, rbx, rbp;
    void *resume; /* return address */
};

FUNCTION("weft_fiber_jump", "    pushq %rbp\n"
                            "    pushq %rbx\n"
                            "    pushq %r12\n"
                            "    pushq %r13\n"
                            "    pushq %r14\n"
                            "    pushq %r15\n"
                            "    subq $8, %rsp\n"
                            "    stmxcsr (%rsp)\n"
                            "    fnstcw 4(%rsp)\n"
                            "    movq %rsp, (%rdi)\n"
                            "    movq %rsi, %rsp\n"
                            "    fldcw 4(%rsp)\n"
                            "    ldmxcsr (%rsp)\n"
                            "    addq $8, %rsp\n"
                            "    popq %r15\n"
                            "    popq %r14\n"
                            "    popq %r13\n"
                            "    popq %r12\n"
                            "    popq %rbx\n"
                            "    popq %rbp\n"
                            "    ret\n");

/* The first resume address of a fiber: run is in r13, its argument in r12. */
FUNCTION("weft_fiber_entry",
         "    .cfi_undefined %rip\n" /* the outermost frame: back traces end here */
         "    movq %r12, %rdi\n"
         "    call *%r13\n"
         "    ud2\n");

static inline void weft_context_make(struct weft_context *context, void *stack, size_t bytes,
                                     void (*run)(void *), void *argument)
{
    /* entry starts with a stack aligned to 16: its call then meets the ABI */
    struct weft_frame_saved *frame =
        (struct weft_frame_saved *)((unsigned char *)stack + bytes - 16 - sizeof(*frame));

    memset(frame, 0, sizeof(*frame));
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(frame->mxcsr), "=m"(frame->x87_control));
    frame->r12 = (uint64_t)(uintptr_t)argument;
    frame->r13 = (uint64_t)(uintptr_t)run;
    frame->resume = (void *)(uintptr_t)weft_fiber_entry;
    context->stack = frame;
}

#elif defined(__aarch64__)

/* What weft_fiber_jump stores, from the stack pointer up. */
struct weft_frame_saved {
    uint64_t x19_to_x28[10];
    uint64_t x29, resume; /* frame pointer, link register */
    uint64_t d8_to_d15[8];
    uint64_t fpcr, unused;
};

FUNCTION("weft_fiber_jump", "    sub sp, sp, #176\n"
                            "    stp x19, x20, [sp, #0]\n"
                            "    stp x21, x22, [sp, #16]\n"
                            "    stp x23, x24, [sp, #32]\n"
                            "    stp x25, x26, [sp, #48]\n"
                            "    stp x27, x28, [sp, #64]\n"
                            "    stp x29, x30, [sp, #80]\n"
                            "    stp d8, d9, [sp, #96]\n"
                            "    stp d10, d11, [sp, #112]\n"
                            "    stp d12, d13, [sp, #128]\n"
                            "    stp d14, d15, [sp, #144]\n"
                            "    mrs x9, fpcr\n"
                            "    str x9, [sp, #160]\n"
                            "    mov x9, sp\n"
                            "    str x9, [x0]\n"
                            "    mov sp, x1\n"
                            "    ldp x19, x20, [sp, #0]\n"
                            "    ldp x21, x22, [sp, #16]\n"
                            "    ldp x23, x24, [sp, #32]\n"
                            "    ldp x25, x26, [sp, #48]\n"
                            "    ldp x27, x28, [sp, #64]\n"
                            "    ldp x29, x30, [sp, #80]\n"
                            "    ldp d8, d9, [sp, #96]\n"
                            "    ldp d10, d11, [sp, #112]\n"
                            "    ldp d12, d13, [sp, #128]\n"
                            "    ldp d14, d15, [sp, #144]\n"
                            "    ldr x9, [sp, #160]\n"
                            "    msr fpcr, x9\n"
                            "    add sp, sp, #176\n"
                            "    ret\n");

/* The first resume address of a fiber: run is in x20, its argument in x19. */
FUNCTION("weft_fiber_entry",
         "    .cfi_undefined x30\n" /* the outermost frame: back traces end here */
         "    mov x0, x19\n"
         "    blr x20\n"
         "    brk #0\n");

static inline void weft_context_make(struct weft_context *context, void *stack, size_t bytes,
                                     void (*run)(void *), void *argument)
{
    struct weft_frame_saved *frame =
        (struct weft_frame_saved *)((unsigned char *)stack + bytes - sizeof(*frame));

    memset(frame, 0, sizeof(*frame));
    __asm__ volatile("mrs %0, fpcr" : "=r"(frame->fpcr));
    frame->x19_to_x28[0] = (uint64_t)(uintptr_t)argument;
    frame->x19_to_x28[1] = (uint64_t)(uintptr_t)run;
    frame->resume = (uint64_t)(uintptr_t)weft_fiber_entry;
    context->stack = frame;
}

#else
#error "switching fibers is written for x86-64 and aarch64"
#endif
#undef FUNCTION
#endif
