/* SPDX-License-Identifier: Apache-2.0 */
/* How a fibre is left and another one entered: the stack pointer in assembly, or ucontext. */
#include "context.h"

#include <stdint.h>
#include <string.h>
#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(EMU_UCONTEXT)
#    define EMU_UCONTEXT
#endif
#ifdef EMU_UCONTEXT
#    include <ucontext.h>
#endif

#ifdef EMU_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

static __thread emu::Context *arriving, *leaving;

/* Switches fibres. The registers that a called function must preserve are saved on the stack that
 * is left; *from is where. A new stack is prepared as if it had been left at the start of `entry`.
 */
#ifdef EMU_UCONTEXT
static void emu_switch(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, (ucontext_t *)to);
}

static void *new_stack(char *stack, size_t bytes, void (*entry)()) {
    ucontext_t *const there = (ucontext_t *)(stack + bytes) - 1;
    getcontext(there);
    there->uc_stack.ss_sp = stack;
    there->uc_stack.ss_size = (size_t)((char *)there - stack);
    there->uc_link = nullptr;
    makecontext(there, entry, 0);
    return there;
}
#else
extern "C" void emu_switch(void **from, void *to);
#    ifdef __x86_64__
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
constexpr int frame_words = 8,
              return_word = 6; /* the stack of `entry` is aligned as after a call */
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

static void *new_stack(char *stack, size_t bytes, void (*entry)()) {
    void **const frame = (void **)(stack + bytes) - frame_words;
    memset((void *)frame, 0, frame_words * sizeof *frame);
    frame[return_word] = (void *)(uintptr_t)entry;
    return frame;
}
#endif

void emu::prepare(Context *context, void (*entry)()) {
    context->fake_stack = nullptr;
#ifdef EMU_ASAN
    __asan_unpoison_memory_region(context->stack, context->stack_bytes); /* from its previous use */
#endif
    context->top = new_stack(context->stack, context->stack_bytes, entry);
}

/* Tells AddressSanitizer that another stack is in use now. */
void emu::entered() {
#ifdef EMU_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(arriving->fake_stack, &bottom, &bytes);
    if (!leaving->stack) { /* the host thread's own stack: its bounds are known now */
        leaving->stack = (char *)(uintptr_t)bottom;
        leaving->stack_bytes = bytes;
    }
#endif
}

void emu::switch_to(Context *from, Context *to) {
    arriving = to;
    leaving = from;
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    emu_switch(&from->top, to->top);
    entered();
}
