/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU of fibres: keeps as many blocks resident as would fit one, and lets one thread run at a
 * time, until it comes to a point where another may be chosen. */
#include <stdlib.h>
#include <sys/mman.h>

#include "emu.h"

namespace emu {

__thread Fibre *self;
__thread Kernel *running;
std::recursive_mutex lock;

namespace {

constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t guard_bytes = 4096;
constexpr size_t stack_colours = 61, stack_colour_bytes = 128;
constexpr unsigned starving_turns = 256; /* a starved warp gets one turn in so many */
constexpr int starving_looks = 8;        /* unless nobody else is found in so many looks */
constexpr uint64_t most_idle_spins = 4000000;

/* Threads that may run, in a ring; it holds each at most once. */
struct Queue {
    std::vector<Fibre *> ring;
    size_t head = 0, count = 0;

    void reserve(size_t n) {
        size_t size = 1;
        while (size < n)
            size *= 2;
        ring.assign(size, nullptr);
        head = count = 0;
    }
    Fibre *&at(size_t k) {
        return ring[(head + k) & (ring.size() - 1)];
    }
    void push(Fibre *f) {
        at(count++) = f;
    }
    Fibre *pop() {
        Fibre *const f = at(0);
        head++;
        count--;
        return f;
    }
};

Queue ready;
Context host; /* whoever runs the kernel */
std::vector<Fibre *> spare_fibres;
std::vector<Block *> spare_blocks;
uint64_t idle_spins, epochs, next_block;
unsigned starved_warp;
unsigned busy_blocks;

Fibre *new_fibre() {
    if (!spare_fibres.empty()) {
        Fibre *const f = spare_fibres.back();
        spare_fibres.pop_back();
        return f;
    }
    Fibre *const f = new Fibre();
    void *const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        report(nullptr, "no memory for the stack of a thread");
    mprotect(stack, guard_bytes, PROT_NONE);
    static size_t made;
    f->context.stack = (char *)stack;
    /* Not all at the same place in a page, or they would fight for the same lines of the cache. */
    f->context.stack_bytes = stack_bytes - made++ % stack_colours * stack_colour_bytes;
    return f;
}

Block *new_block() {
    if (!spare_blocks.empty()) {
        Block *const b = spare_blocks.back();
        spare_blocks.pop_back();
        return b;
    }
    Block *const b = new Block();
    b->shared = (unsigned char *)take(shared_region, Kind::shared, 0);
    return b;
}

uint3 index_in(dim3 extent, uint64_t k) {
    return {(unsigned)(k % extent.x), (unsigned)(k / extent.x % extent.y),
            (unsigned)(k / extent.x / extent.y)};
}

uint64_t volume(dim3 extent) {
    return (uint64_t)extent.x * extent.y * extent.z;
}

[[noreturn]] void fibre_main();

void start_thread(Block *block, unsigned thread) {
    Fibre *const f = block->fibres[thread];
    f->index = {index_in(running->threads, thread), block->index, running->threads,
                running->blocks};
    f->block = block;
    f->thread = thread;
    f->clock = 1;
    f->seen.clear();
    prepare(&f->context, fibre_main);
    make_ready(f);
}

/* Puts the grid's next block where `block` is. */
void start_block(Block *block) {
    const unsigned threads = (unsigned)volume(running->threads);
    block->index = index_in(running->blocks, next_block++);
    block->threads = block->live = threads;
    block->arrived = 0;
    block->variables.clear();
    block->released.clear();
    block->epoch = new_epoch();
    forget_marks(block->shared, block->used);
    block->used = 0;
    while (block->fibres.size() < threads)
        block->fibres.push_back(new_fibre());
    block->warps.assign((threads + 31) / 32, Lanes{0, 0});
    if (threads % 32)
        block->warps.back().ended = ~0u << threads % 32;
    busy_blocks++;
    for (unsigned t = 0; t < threads; t++)
        start_thread(block, settings().policy == Policy::reversed ? threads - 1 - t : t);
}

/* May `f` not run just now, though it could? */
bool starves(const Fibre *f) {
    return settings().policy == Policy::starve && f->thread / 32 == starved_warp &&
           random_below(starving_turns) != 0;
}

Fibre *choose() {
    for (int look = 1;; look++) {
        const Policy policy = settings().policy;
        if (policy == Policy::random || policy == Policy::starve)
            std::swap(ready.at(0), ready.at(random_below(ready.count)));
        Fibre *const f = ready.pop();
        if (look == starving_looks || !starves(f))
            return f;
        ready.push(f);
    }
}

/* Ends some bulk copies: one now and then, all if nothing else can happen. */
void advance_copies() {
    std::vector<Copy> &copies = running->copies;
    while (!copies.empty() && (ready.count == 0 || random_below(8) == 0)) {
        const size_t k = random_below(copies.size());
        const Copy copy = copies[k];
        copies[k] = copies.back();
        copies.pop_back();
        finish_copy(copy);
    }
}

/* Goes on with another thread, or with the host when all have ended. */
void run_next(Context *from) {
    advance_copies();
    if (ready.count == 0 && busy_blocks > 0)
        report_waits("deadlock");
    Fibre *const before = self;
    self = ready.count ? choose() : nullptr;
    if (self != before || !self)
        switch_to(from, self ? &self->context : &host);
}

void end_thread() {
    Block *const block = self->block;
    self->state = State::ended;
    block->live--;
    block->warps[self->thread / 32].ended |= 1u << self->thread % 32;
    settle_warp(block, self->thread / 32);
    settle_block(block);
    note_progress();
    if (block->live > 0)
        return;
    busy_blocks--;
    if (next_block < volume(running->blocks)) {
        /* This fibre still runs on a stack of the block: it gets another. */
        Fibre *const fresh = new_fibre();
        spare_fibres.push_back(block->fibres[self->thread]);
        block->fibres[self->thread] = fresh;
        start_block(block);
    }
}

void fibre_main() {
    entered();
    running->body();
    end_thread();
    run_next(&self->context);
    abort(); /* an ended thread is never chosen */
}

} // namespace

void make_ready(Fibre *f) {
    f->state = State::ready;
    ready.push(f);
}

void begin_wait(State state, emu_site at, void *pc) {
    self->state = state;
    self->at = at;
    self->pc = pc;
}

void let_others_run() {
    run_next(&self->context);
}

uint64_t new_epoch() {
    return ++epochs;
}

void give_way() {
    if (ready.count == 0 && running->copies.empty())
        return;
    make_ready(self);
    run_next(&self->context);
}

void spin(emu_site at, void *pc) {
    self->at = at;
    self->pc = pc;
    if (++idle_spins > most_idle_spins)
        report_waits("livelock: threads spin, and none has written anything for long");
    give_way();
}

void note_progress() {
    idle_spins = 0;
}

void run_kernel(Kernel *kernel) {
    const unsigned threads = (unsigned)volume(kernel->threads);
    const uint64_t blocks = volume(kernel->blocks);
    int fit = 1;
    emu_occupancy(&fit, (int)threads, kernel->shared_bytes);
    const uint64_t places = std::min<uint64_t>(blocks, (uint64_t)fit * multiprocessors);
    Kernel *const outer = running;
    running = kernel;
    next_block = 0;
    busy_blocks = 0;
    starved_warp = (unsigned)random_below((threads + 31) / 32);
    ready.reserve(places * threads);
    host = Context();
    for (uint64_t k = 0; k < places; k++)
        kernel->resident.push_back(new_block());
    for (Block *block : kernel->resident)
        start_block(block);
    note_progress();
    run_next(&host);
    spare_blocks.insert(spare_blocks.end(), kernel->resident.begin(), kernel->resident.end());
    kernel->resident.clear();
    running = outer;
}

} // namespace emu

using namespace emu;

const emu_index *emu_here() {
    return &self->index;
}

void emu_yield() {
    give_way();
}

void emu_spin(emu_site at) {
    spin(at, __builtin_return_address(0));
}

cudaError_t emu_occupancy(int *blocks, int threads, size_t shared_bytes) {
    if (threads < 1 || threads > (int)threads_per_multiprocessor || shared_bytes > shared_limit)
        return cudaErrorInvalidValue;
    const size_t rounded = ((size_t)threads + 31) / 32 * 32;
    size_t fit = threads_per_multiprocessor / rounded;
    if (shared_bytes && shared_per_multiprocessor / shared_bytes < fit)
        fit = shared_per_multiprocessor / shared_bytes;
    *blocks = (int)(fit ? fit : 1);
    return cudaSuccess;
}
