/* SPDX-License-Identifier: Apache-2.0 */
/* Switching between fibres: in assembly on x86-64 and aarch64, by ucontext elsewhere. */
#ifndef EMU_CONTEXT_H
#define EMU_CONTEXT_H

#include <stddef.h>

namespace emu {

struct Context {
    void *top;   /* of the stack, where registers are saved */
    char *stack; /* NULL: the host thread's own stack */
    size_t stack_bytes;
    void *fake_stack; /* for AddressSanitizer */
};

/* Prepares a stack so that `entry`, which never returns, starts at the first switch to it. */
void prepare(Context *context, void (*entry)());
void switch_to(Context *from, Context *to);
void entered(); /* `entry` calls this first */

} // namespace emu

#endif
