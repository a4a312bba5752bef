/* SPDX-License-Identifier: Apache-2.0 */
/* Switching between fibres: by hand on x86-64 and aarch64, by ucontext elsewhere. */
#ifndef EMU_CONTEXT_H
#define EMU_CONTEXT_H

#include <stddef.h>

namespace emu {

struct Context {
    void *top;   /* of the stack, where the registers are kept */
    char *stack; /* NULL: the host thread's own */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
};

/* Makes `entry`, which never returns, start on that stack when first switched to. */
void prepare(Context *context, void (*entry)());
void switch_to(Context *from, Context *to);
void entered(); /* what `entry` does first */

} // namespace emu

#endif
