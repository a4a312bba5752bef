/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk copies, and the barriers in shared memory that tell when they have arrived. */
#include "emu.h"

using namespace emu;

/* A barrier in shared memory, which changes only atomically. */
struct Barrier {
    uint64_t expected : 16, pending : 16, phase : 1;
    int64_t bytes : 31; /* announced and not yet arrived */
};

static Barrier *barrier_at(uint64_t *word, int kind, Where where, const char *what) {
    check_access(word, sizeof *word, kind, true, where, what);
    return (Barrier *)word;
}

/* Counts an arrival; when everything has arrived, the phase ends. */
static void count_in(Barrier *b, unsigned arrivals, int64_t bytes) {
    pass_clock(b, EMU_WRITE);
    b->pending -= arrivals;
    b->bytes -= bytes;
    if (b->pending > 0 || b->bytes != 0)
        return;
    b->phase ^= 1;
    b->pending = b->expected;
    idle_spins = 0;
    for (Fibre *f : self->block->fibres)
        if (f->state == WAITING && !f->group && f->value == (uint64_t)b)
            make_ready(f);
}

void emu_barrier_init(uint64_t *barrier, unsigned count) {
    *barrier_at(barrier, EMU_WRITE, __builtin_return_address(0), "barrier init") = {count, count, 0,
                                                                                    0};
}

void emu_barrier_arrive(uint64_t *barrier, unsigned bytes) {
    const Where caller = __builtin_return_address(0);
    Barrier *const b = barrier_at(barrier, EMU_BOTH, caller, "arrival");
    if (b->pending == 0)
        report(caller, "more arrivals in a phase than the %u the barrier was initialised with",
               (unsigned)b->expected);
    count_in(b, 1, -(int64_t)bytes);
    give_way();
}

/* A copy ends as late as possible: when somebody has waited for its barrier or, for a copy to
 * global memory, when the thread that began it has waited. */
static void finish_copies(const void *until) {
    for (Copy &copy : self->block->copies)
        if (copy.until == until) {
            move_bytes(copy.to, copy.from, copy.bytes);
            copy.until = nullptr;
        }
}

void emu_barrier_wait(uint64_t *barrier, unsigned parity, emu_site at) {
    const Barrier *const b = barrier_at(barrier, EMU_READ, at, at.what);
    give_way();
    if (b->phase == parity) {
        wait_in(nullptr, at, 0, (uint64_t)b);
        run_next(&self->context);
    }
    finish_copies(b);
    pass_clock(b, EMU_READ);
}

static void begin_copy(const Copy &copy, Where where) {
    if (((uintptr_t)copy.to | (uintptr_t)copy.from | copy.bytes) % 16 != 0)
        report(where, "bulk copy of %zu bytes from %p to %p: all must be multiples of 16",
               copy.bytes, copy.from, copy.to);
    check_access(copy.from, copy.bytes, EMU_READ | by_engine, false, where, "bulk copy");
    check_access(copy.to, copy.bytes, EMU_WRITE | by_engine, false, where, "bulk copy");
    if (copy.until != self)
        forget_marks(copy.to, copy.bytes); /* uninitialized until the copy has ended */
    self->block->copies.push_back(copy);
    give_way();
}

void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier) {
    begin_copy({barrier, shared, global, bytes}, __builtin_return_address(0));
    count_in((Barrier *)barrier, 0, (int64_t)bytes);
}

void emu_bulk_store(void *global, const void *shared, size_t bytes) {
    begin_copy({self, global, shared, bytes}, __builtin_return_address(0));
}

void emu_bulk_wait() {
    finish_copies(self);
}
