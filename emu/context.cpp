/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <stdint.h>
#include <string.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) /* clang's way to say it */
#        define __SANITIZE_ADDRESS__
#    endif
#endif
#ifdef __SANITIZE_ADDRESS__
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

static __thread emu::Context *arriving, *leaving;

#ifndef EMU_UCONTEXT
extern "C" void emu_switch(void **from, void *to);
#    ifdef __x86_64__
/* Keeps what a called function must keep, on the stack it leaves. */
asm(R"(
    .text
    .type emu_switch, @function
emu_switch:
    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
    ret
    .size emu_switch, . - emu_switch
)");
constexpr int frame_words = 8, return_word = 6; /* the entry's stack is aligned as after a call */
#    else
asm(R"(
    .text
    .type emu_switch, %function
emu_switch:
    stp x19, x20, [sp, #-160]!; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]; stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]
    ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]; ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]
    ldp x19, x20, [sp], #160
    ret
    .size emu_switch, . - emu_switch
)");
constexpr int frame_words = 20, return_word = 11;
#    endif
#endif

void emu::prepare(Context *context, void (*entry)()) {
    context->fake_stack = nullptr;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(context->stack, context->stack_bytes); /* who had it before? */
#endif
#ifdef EMU_UCONTEXT
    getcontext(&context->state);
    context->state.uc_stack.ss_sp = context->stack;
    context->state.uc_stack.ss_size = context->stack_bytes;
    context->state.uc_link = nullptr;
    makecontext(&context->state, entry, 0);
#else
    void **const frame = (void **)(context->stack + context->stack_bytes) - frame_words;
    memset((void *)frame, 0, frame_words * sizeof *frame);
    frame[return_word] = (void *)(uintptr_t)entry;
    context->top = frame;
#endif
}

/* Tells AddressSanitizer that another stack is in use from now on. */
void emu::entered() {
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(arriving->fake_stack, &bottom, &bytes);
    if (!leaving->stack) { /* the host thread's own, learnt as it is left */
        leaving->stack = (char *)(uintptr_t)bottom;
        leaving->stack_bytes = bytes;
    }
#endif
}

void emu::switch_to(Context *from, Context *to) {
    arriving = to;
    leaving = from;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef EMU_UCONTEXT
    swapcontext(&from->state, &to->state);
#else
    emu_switch(&from->top, to->top);
#endif
    entered();
}
