/* SPDX-License-Identifier: Apache-2.0 */
/* The fibres of emu alone: each keeps its place, its variables and its floating-point registers
 * while the others run. Needs nothing else, so that it also builds for machines that are only
 * emulated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "context.h"

namespace {

constexpr int fibres = 7, turns = 1000;
constexpr size_t stack_bytes = 64 * 1024;

emu::Context host, contexts[fibres];
int running, wrong, left = fibres;
double sums[fibres];

/* Switches to the next fibre, or to the host when all have ended. */
void pass_on(int from) {
    running = (from + 1) % fibres;
    emu::switch_to(&contexts[from], left ? &contexts[running] : &host);
}

void check(bool right, const char *what) {
    if (!right && wrong++ == 0)
        fprintf(stderr, "fibre %d: %s\n", running, what);
}

[[noreturn]] void fibre() {
    emu::entered();
    const int mine = running;
    alignas(16) volatile char local[48];
    check((uintptr_t)local % 16 == 0, "the stack is not aligned");
    double sum = 0, factor = mine + 0.5;
    for (int turn = 0; turn < turns; turn++) {
        sum += factor * turn;
        pass_on(mine);
        check(running == mine, "another fibre runs than was switched to");
    }
    sums[mine] = sum;
    left--;
    for (;;)
        pass_on(mine);
}

} // namespace

int main() {
    for (emu::Context &context : contexts) {
        context.stack = (char *)malloc(stack_bytes);
        context.stack_bytes = stack_bytes;
        emu::prepare(&context, fibre);
    }
    emu::switch_to(&host, &contexts[0]);
    for (int k = 0; k < fibres; k++)
        check(sums[k] == (k + 0.5) * (turns * (turns - 1) / 2), "a sum is wrong");
    for (emu::Context &context : contexts)
        free(context.stack);
    return wrong != 0;
}
