/* SPDX-License-Identifier: Apache-2.0 */
/* Switching between fibres. */
#include "context.h"

#include <stdint.h>
#include <string.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) /* clang's way to say it */
#        define __SANITIZE_ADDRESS__
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

#if defined(EMU_UCONTEXT)
/* The C library keeps all that has to be kept. */
#elif defined(__x86_64__)
/* Keeps what a called function must keep, on the stack it leaves. */
asm(R"(
    .text
    .type emu_switch, @function
emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emu_switch, . - emu_switch
)");
enum {
    SAVED = 6,       /* words, below the address to go on at */
    RETURN_WORD = 6, /* which word that is */
    FRAME = 8        /* words; the entry finds its stack aligned as after a call */
};
#elif defined(__aarch64__)
asm(R"(
    .text
    .type emu_switch, %function
emu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size emu_switch, . - emu_switch
)");
enum {
    RETURN_WORD = 11,
    FRAME = 20
};
#endif

#ifndef EMU_UCONTEXT
extern "C" void emu_switch(void **from, void *to);
#endif

namespace emu {

static __thread Context *arriving, *leaving;

void prepare(Context *context, void (*entry)()) {
    context->fake_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(context->stack, context->stack_bytes); /* who had it before? */
#endif
#ifdef EMU_UCONTEXT
    getcontext(&context->state);
    context->state.uc_stack.ss_sp = context->stack;
    context->state.uc_stack.ss_size = context->stack_bytes;
    context->state.uc_link = nullptr;
    makecontext(&context->state, entry, 0);
#else
    void **const frame = (void **)(context->stack + context->stack_bytes) - FRAME;
    memset((void *)frame, 0, FRAME * sizeof *frame);
    frame[RETURN_WORD] = (void *)(uintptr_t)entry;
    context->top = frame;
#endif
}

/* Tells AddressSanitizer that another stack is in use from now on. */
static void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(arriving->fake_stack, &bottom, &bytes);
    if (!leaving->stack) { /* the host thread's own, learnt as it is left */
        leaving->stack = (char *)(uintptr_t)bottom;
        leaving->stack_bytes = bytes;
    }
#endif
}

void switch_to(Context *from, Context *to) {
    arriving = to;
    leaving = from;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef EMU_UCONTEXT
    swapcontext(&from->state, &to->state);
#else
    emu_switch(&from->top, to->top);
#endif
    arrived();
}

void entered() {
    arrived();
}

} // namespace emu
