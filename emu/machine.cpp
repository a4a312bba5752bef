/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU of fibres: keeps as many blocks resident as would fit one, and lets one thread run at a
 * time, until it comes to a point where another may be chosen. */
#include <algorithm>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu.h"

namespace emu {

__thread Fibre *self;
std::vector<Grid *> running;
std::vector<Block *> &blocks = *new std::vector<Block *>(); /* never given back */
std::vector<Copy> copies;
std::recursive_mutex lock;

namespace {

constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t guard_bytes = 4096;
constexpr size_t stack_colours = 61, stack_colour_bytes = 128;
constexpr unsigned starving_turns = 256; /* a starved warp gets one turn in so many */
constexpr int starving_looks = 8;        /* unless nobody else is found in so many looks */
constexpr uint64_t most_idle_spins = 4000000;
constexpr size_t most_running = 4;         /* grids at a time */
constexpr unsigned turns_at_a_time = 4096; /* on average, before other streams get a look */

/* Threads that may run, in a ring that never fills; it holds each at most once. */
struct Queue {
    std::vector<Fibre *> ring =
        std::vector<Fibre *>(2 * most_running * multiprocessors * threads_per_multiprocessor);
    size_t head = 0, count = 0;

    Fibre *&at(size_t k) {
        return ring[(head + k) % ring.size()];
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
Context host; /* whoever runs the grids */
bool host_wanted, may_interrupt;
std::vector<Fibre *> &spare_fibres = *new std::vector<Fibre *>();
std::vector<Block *> &spare_blocks = *new std::vector<Block *>();
std::deque<Grid *> waiting;   /* for others to end */
std::vector<Cluster *> ended; /* whose threads all have */
uint64_t idle_spins;
unsigned starved_warp;

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
    b->slot = (unsigned)blocks.size();
    b->shared = base + b->slot * shared_region;
    blocks.push_back(b);
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
    const emu_grid &shape = block->grid->shape;
    Fibre *const f = block->fibres[thread];
    f->index = {index_in(shape.threads, thread), block->index, shape.threads, shape.blocks};
    f->block = block;
    f->thread = thread;
    f->id = block->slot * threads_of_slot + thread;
    f->time = block->time + 1;
    f->warp_time = 0;
    f->seen = block->grid->seen;
    f->fenced = f->unfenced = nullptr;
    prepare(&f->context, fibre_main);
    make_ready(f);
}

/* Puts the grid's next block where `block` is. */
void start_block(Block *block) {
    Grid *const grid = block->grid;
    const unsigned threads = (unsigned)volume(grid->shape.threads);
    block->index = index_in(grid->shape.blocks, grid->next_block++);
    block->threads = block->live = threads;
    block->arrived = 0;
    block->released.clear();
    block->start = block->time = next_time();
    next_time();
    while (block->fibres.size() < threads)
        block->fibres.push_back(new_fibre());
    block->warps.assign((threads + 31) / 32, Lanes{0, 0});
    if (threads % 32)
        block->warps.back().ended = ~0u << threads % 32;
    for (unsigned t = 0; t < threads; t++)
        start_thread(block, settings().policy == Policy::reversed ? threads - 1 - t : t);
}

void start_cluster(Cluster *cluster) {
    cluster->live = cluster->grid->shape.cluster * (unsigned)volume(cluster->grid->shape.threads);
    cluster->arrived = 0;
    for (Block *block : cluster->blocks)
        start_block(block);
}

Cluster *new_cluster(Grid *grid) {
    Cluster *const cluster = new Cluster{grid, {}, 0, 0};
    for (unsigned rank = 0; rank < grid->shape.cluster; rank++) {
        Block *const block = new_block();
        block->cluster = cluster;
        block->grid = grid;
        block->rank = rank;
        cluster->blocks.push_back(block);
    }
    return cluster;
}

/* Starts grids while there is room. */
void admit() {
    while (!waiting.empty() && running.size() < most_running) {
        Grid *const grid = waiting.front();
        waiting.pop_front();
        grid->floor = floor_of(grid->seen);
        running.push_back(grid);
        starved_warp = (unsigned)random_below((volume(grid->shape.threads) + 31) / 32);
        int places;
        emu_cluster_occupancy(&places, (int)volume(grid->shape.threads), grid->shape.cluster,
                              grid->shape.shared_bytes);
        const uint64_t clusters = volume(grid->shape.blocks) / grid->shape.cluster;
        for (uint64_t k = 0; k < clusters && k < (uint64_t)places; k++)
            grid->clusters.push_back(new_cluster(grid));
        for (Cluster *cluster : grid->clusters)
            start_cluster(cluster);
    }
}

/* The grid, or one that it launched and forgot, has ended. */
void close(Grid *grid) {
    if (--grid->open > 0)
        return;
    grid->seen = joined(grid->seen, std::make_shared<Known>(grid->ended));
    if (!grid->tails.empty()) {
        Grid *const tail = grid->tails.front();
        grid->tails.pop_front();
        grid->open = 1;
        tail->seen = grid->seen;
        waiting.push_back(tail);
        return;
    }
    if (grid->then)
        grid->then();
    if (grid->parent) {
        grid->parent->ended.add(*grid->seen);
        close(grid->parent);
    }
    delete grid;
}

/* Puts the grid's next cluster where one has ended, or does without. */
void replace(Cluster *cluster) {
    Grid *const grid = cluster->grid;
    for (Block *block : cluster->blocks)
        forget_marks(block->shared, grid->shared_used);
    if (grid->next_block < volume(grid->shape.blocks)) {
        start_cluster(cluster);
        return;
    }
    for (Block *block : cluster->blocks) {
        note_end(block);
        grid->ended.add(block_key(block), next_time());
        spare_blocks.push_back(block);
    }
    grid->clusters.erase(std::find(grid->clusters.begin(), grid->clusters.end(), cluster));
    delete cluster;
    if (!grid->clusters.empty())
        return;
    running.erase(std::find(running.begin(), running.end(), grid));
    close(grid);
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
    while (!copies.empty() && (ready.count == 0 || random_below(8) == 0)) {
        const size_t k = random_below(copies.size());
        const Copy copy = copies[k];
        copies[k] = copies.back();
        copies.pop_back();
        finish_copy(copy);
    }
}

/* Goes on with another thread, or with the host when that has something to do. */
void run_next(Context *from) {
    advance_copies();
    if (ready.count == 0 && !host_wanted)
        report_waits("deadlock");
    Fibre *const before = self;
    self = host_wanted ? nullptr : choose();
    if (self != before || !self)
        switch_to(from, self ? &self->context : &host);
}

void end_thread() {
    Block *const block = self->block;
    self->state = State::ended;
    block->live--;
    block->cluster->live--;
    block->warps[self->thread / 32].ended |= 1u << self->thread % 32;
    settle_warp(block, self->thread / 32);
    settle_block(block);
    settle_cluster(block->cluster);
    note_progress();
    if (block->live == 0)
        check_end(block);
    if (block->cluster->live > 0)
        return;
    ended.push_back(block->cluster);
    host_wanted = true;
}

void fibre_main() {
    entered();
    self->block->grid->shape.body();
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

void give_way() {
    if (may_interrupt && random_below(turns_at_a_time) == 0)
        host_wanted = true;
    if (ready.count == 0 && copies.empty() && !host_wanted)
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

bool fits(const emu_grid &shape) {
    const uint64_t threads = volume(shape.threads), most = threads_per_multiprocessor;
    const dim3 b = shape.blocks;
    return threads > 0 && threads <= most && volume(b) > 0 && b.x <= 0x7fffffff && b.y <= 65535 &&
           b.z <= 65535 && shape.cluster > 0 && shape.cluster <= largest_cluster &&
           b.x % shape.cluster == 0;
}

Grid *new_grid(const emu_grid &shape, Grid *parent) {
    Grid *const grid = new Grid();
    grid->shape = shape;
    grid->parent = parent;
    return grid;
}

void start(Grid *grid) {
    waiting.push_back(grid);
}

bool kernels_run() {
    return !running.empty() || !waiting.empty();
}

void run_grids(bool interrupt) {
    may_interrupt = interrupt;
    do {
        host_wanted = false;
        admit();
        note_progress();
        run_next(&host);
        const bool interrupted = ended.empty() && interrupt;
        for (Cluster *cluster : ended)
            replace(cluster);
        ended.clear();
        if (interrupted)
            return;
    } while (kernels_run());
    forget_clocks();
}

} // namespace emu

using namespace emu;

const emu_index *emu_here() {
    return &self->index;
}

void emu_fence() {
    fence_clock();
    give_way();
}

void emu_spin(emu_site at) {
    spin(at, __builtin_return_address(0));
}

void emu_device_launch(bool tail, const emu_grid &shape) {
    if (!fits(shape) || shape.shared_bytes > shared_default)
        report(__builtin_return_address(0), "%s: the device cannot run such a grid", shape.what);
    Grid *const parent = self->block->grid;
    Grid *const child = new_grid(shape, parent);
    if (tail) {
        parent->tails.push_back(child);
    } else {
        parent->open++;
        child->seen = knowledge(self);
        self->time = next_time();
        start(child);
        host_wanted = true;
    }
    give_way();
}

unsigned emu_cluster_rank() {
    return self->block->rank;
}

unsigned emu_cluster_size() {
    return self->block->grid->shape.cluster;
}

cudaError_t emu_cluster_occupancy(int *clusters, int threads, unsigned cluster,
                                  size_t shared_bytes) {
    int fit;
    *clusters = 0;
    if (cluster == 0 || cluster > largest_cluster ||
        emu_occupancy(&fit, threads, shared_bytes) != cudaSuccess)
        return cudaErrorInvalidValue;
    *clusters = std::max(1, fit * multiprocessors / (int)cluster);
    return cudaSuccess;
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
