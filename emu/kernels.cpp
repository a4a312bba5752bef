/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU of fibres: keeps as many blocks resident as would fit one, and lets one thread run at a
 * time, until it comes to a point where another may be chosen. */
#include "emu.h"

#include <stdlib.h>
#include <sys/mman.h>

using namespace emu;

constexpr size_t stack_bytes = 64 * 1024, guard_bytes = 4096;
constexpr size_t stack_colours = 61, stack_colour_bytes = 128;
constexpr unsigned starving_turns = 256; /* a starved warp gets one turn in so many */
constexpr int starving_looks = 8;        /* unless nobody else is found in so many looks */
constexpr uint64_t most_idle_spins = 4000000;
constexpr size_t most_running = 4;         /* grids at a time */
constexpr unsigned turns_at_a_time = 4096; /* on average, before other streams get a look */
constexpr unsigned threads_per_multiprocessor = 1024, largest_cluster = 16;
constexpr size_t shared_per_multiprocessor = 228 * 1024;

__thread Fibre *emu::self;
std::vector<Grid *> emu::running;
std::deque<Grid *> emu::waiting;
std::vector<Block *> &emu::blocks = *new std::vector<Block *>(); /* never given back */
std::recursive_mutex emu::lock;
static auto &spare_blocks = *new std::vector<Block *>();
static auto &spare_fibres = *new std::vector<Fibre *>();
static std::deque<Fibre *> ready;
static std::vector<Cluster *> ended; /* whose threads all have */
static Context host;                 /* whoever runs the grids */
static bool host_wanted, may_interrupt;
static uint64_t idle_spins;
static unsigned starved_warp;

/* A bulk copy under way. */
struct Copy {
    Fibre *by;
    void *to;
    const void *from;
    size_t bytes;
    uint64_t *barrier; /* NULL: a store */
};
static std::vector<Copy> copies;
static void finish_copy(size_t k);

/* ---- who runs ---- */

void emu::note_progress() {
    idle_spins = 0;
}

static void make_ready(Fibre *f) {
    f->state = READY;
    ready.push_back(f);
}

static Fibre *choose() {
    const bool drawn = settings.policy == RANDOM || settings.policy == STARVE;
    for (int look = 1;; look++) {
        if (drawn)
            std::swap(ready[0], ready[random_below(ready.size())]);
        Fibre *const f = ready.front();
        ready.pop_front();
        if (settings.policy != STARVE || f->thread / 32 != starved_warp || look == starving_looks ||
            random_below(starving_turns) == 0)
            return f;
        ready.push_back(f);
    }
}

/* Goes on with another thread, or with the host when that has something to do. */
static void run_next(Context *from) {
    while (!copies.empty() && (ready.empty() || random_below(8) == 0))
        finish_copy(random_below(copies.size()));
    if (ready.empty() && !host_wanted)
        report_waits("deadlock");
    Fibre *const before = self;
    self = host_wanted ? nullptr : choose();
    if (self != before || !self)
        switch_to(from, self ? &self->context : &host);
}

void emu::give_way() {
    if (may_interrupt && random_below(turns_at_a_time) == 0)
        host_wanted = true;
    if (ready.empty() && copies.empty() && !host_wanted)
        return;
    make_ready(self);
    run_next(&self->context);
}

/* What the running thread will be said to do. */
static void note_place(Where where, const char *what, unsigned mask = 0) {
    self->at = where;
    self->what = what;
    self->mask = mask;
}

void emu::spin(Where where, const char *what) {
    note_place(where, what);
    if (++idle_spins > most_idle_spins)
        report_waits("livelock: threads spin, and none has written anything for long");
    give_way();
}

void emu_spin(emu_site at) {
    spin(at, at.what);
}

/* From the next switch on the thread waits, unless made ready before. */
static void wait_here(const emu_site &at, unsigned mask) {
    note_place(at, at.what, mask);
    self->state = WAITING;
}

/* ---- barriers ---- */

static void meet(Group *group, uint64_t result) {
    group->arrived = 0;
    group->time = join(group->fibres, true);
    note_progress();
    for (Fibre *f : group->fibres)
        if (f->state == WAITING) {
            f->result = result;
            make_ready(f);
        }
}

static void settle_block(Block *block) {
    if (block->arrived == 0 || block->arrived < block->live)
        return;
    const auto &all = block->fibres;
    const Fibre *const first = all[0];
    if (block->live < all.size() || std::any_of(all.begin(), all.end(), [=](const Fibre *f) {
            return f->at.bits != first->at.bits;
        }))
        report_waits("divergent barrier: not all threads of the block come to the same one");
    const size_t yes =
        (size_t)std::count_if(all.begin(), all.end(), [](const Fibre *f) { return f->value; });
    meet(block, first->op == EMU_AND ? yes == all.size() : first->op == EMU_OR ? yes > 0 : yes);
}

static void settle_cluster(Cluster *cluster) {
    if (cluster->arrived == 0 || cluster->arrived < cluster->live)
        return;
    meet(cluster, 0);
    for (Block *block : cluster->blocks)
        block->time = cluster->time;
}

int emu_barrier(emu_vote vote, int value, emu_site at) {
    self->op = vote;
    self->value = value != 0;
    wait_here(at, 0);
    (vote == EMU_CLUSTER ? (Group *)self->block->cluster : self->block)->arrived++;
    settle_block(self->block);
    settle_cluster(self->block->cluster);
    run_next(&self->context);
    return (int)self->result;
}

/* ---- warps ---- */

template <class Do>
static void each(unsigned mask, Do what) {
    for (; mask; mask &= mask - 1)
        what(__builtin_ctz(mask));
}

/* Do all lanes that f waits for, and that have not ended, wait in the same operation? */
static bool complete(const Fibre *f, const Block::Lanes &in, Fibre *const lanes[32]) {
    bool same = !(f->mask & ~(in.waiting | in.ended));
    each(f->mask & in.waiting,
         [&](int k) { same = same && lanes[k]->mask == f->mask && lanes[k]->op == f->op; });
    return same;
}

/* The bits of a vote, or the value of the lane that a shuffle reads. */
static uint64_t result_of(Fibre *f, unsigned members, Fibre *const lanes[32]) {
    uint64_t bits = 0;
    if (f->op >= EMU_BALLOT) {
        each(members, [&](int k) {
            const uint64_t v = lanes[k]->value;
            bits |= (uint64_t)(f->op == EMU_MATCH ? v == f->value : v != 0) << k;
        });
        return bits;
    }
    const int lane = (int)f->thread % 32, group = lane & ~(f->width - 1);
    int source = f->op == EMU_UP     ? lane - f->lane
                 : f->op == EMU_DOWN ? lane + f->lane
                 : f->op == EMU_XOR  ? lane ^ f->lane
                                     : group + (f->lane & (f->width - 1));
    if (source >= group + f->width || (f->op == EMU_UP && source < group))
        source = lane;
    if (!(members >> source & 1)) {
        self = f;
        report(f->at, "%s reads lane %d, which takes no part (mask %#x)", f->what, source, f->mask);
    }
    return lanes[source]->value;
}

static void finish_warp(const Fibre *first, Block::Lanes &in, Fibre *const lanes[32]) {
    const unsigned members = first->mask & in.waiting;
    if (first->op == EMU_SYNCWARP) {
        const bool whole = (in.waiting | in.ended) == ~0u;
        std::vector<Fibre *> threads;
        each(members, [&](int k) { threads.push_back(lanes[k]); });
        const uint64_t time = join(threads, whole);
        for (Fibre *f : threads)
            f->warp_time = whole ? time : f->warp_time;
    } else {
        each(members, [&](int k) { lanes[k]->result = result_of(lanes[k], members, lanes); });
    }
    in.waiting &= ~members;
    each(members, [&](int k) { make_ready(lanes[k]); });
}

static void settle_warp(Block *block, unsigned warp) {
    Block::Lanes &in = block->warps[warp];
    Fibre *const *const lanes = &block->fibres[warp * 32];
    for (unsigned left = in.waiting; left; left &= in.waiting & (left - 1)) {
        const Fibre *const f = lanes[__builtin_ctz(left)];
        if (complete(f, in, lanes))
            finish_warp(f, in, lanes);
    }
}

uint64_t emu_warp(emu_warp_op op, emu_site at, unsigned mask, uint64_t value, int lane, int width) {
    const unsigned mine = self->thread % 32;
    if (!(mask >> mine & 1))
        report(at, "%s with mask %#x, which leaves out the calling lane %u", at.what, mask, mine);
    self->op = op;
    self->value = value;
    self->lane = lane;
    self->width = width;
    wait_here(at, mask);
    Block::Lanes &in = self->block->warps[self->thread / 32];
    in.waiting |= 1u << mine;
    if (!(mask & ~(in.waiting | in.ended)))
        settle_warp(self->block, self->thread / 32);
    run_next(&self->context);
    return self->result;
}

unsigned __activemask() {
    unsigned mask = 0;
    const auto &all = self->block->fibres;
    for (unsigned k = 0, t = self->thread / 32 * 32; k < 32 && t + k < all.size(); k++)
        mask |= (unsigned)(all[t + k]->state == READY) << k;
    return mask;
}

/* ---- bulk copies and their barriers ---- */

static Object &barrier_at(uint64_t *word, Where where, const char *what, int kind = EMU_BOTH) {
    check_access(word, sizeof *word, kind, true, where, what);
    Object &b = self->block->objects[word];
    if (kind == EMU_BOTH && b.expected == 0)
        report(where, "%s of a barrier that was not initialised", what);
    return b;
}

/* Ends the phase if all is in. */
static void settle_barrier(Object &b) {
    if (b.pending > 0 || b.bytes != 0)
        return;
    b.phase ^= 1;
    b.pending = b.expected;
    note_progress();
    for (Fibre *f : b.waiting)
        make_ready(f);
    b.waiting.clear();
}

void emu_barrier_init(uint64_t *barrier, unsigned count) {
    Object &b = barrier_at(barrier, __builtin_return_address(0), "barrier init", EMU_WRITE);
    b.expected = b.pending = count;
    b.phase = 0;
    b.bytes = 0;
}

void emu_barrier_arrive(uint64_t *barrier, unsigned bytes) {
    const Where caller = __builtin_return_address(0);
    Object &b = barrier_at(barrier, caller, "arrival");
    if (b.pending == 0)
        report(caller, "more arrivals in a phase than the %u the barrier was initialised with",
               b.expected);
    b.pending--;
    b.bytes += bytes;
    release_clock(barrier);
    settle_barrier(b);
    give_way();
}

void emu_barrier_wait(uint64_t *barrier, unsigned parity, emu_site at) {
    Object &b = barrier_at(barrier, at, "wait");
    give_way();
    if (b.phase == parity) {
        b.waiting.push_back(self);
        wait_here(at, 0);
        run_next(&self->context);
    }
    acquire_clock(barrier);
}

static void finish_copy(size_t k) {
    const Copy copy = copies[k];
    Fibre *const before = self;
    copies.erase(copies.begin() + (long)k);
    self = copy.by;
    move_bytes(copy.to, copy.from, copy.bytes);
    if (copy.barrier) {
        Object &b = self->block->objects[copy.barrier];
        release_clock(copy.barrier);
        b.bytes -= (int64_t)copy.bytes;
        settle_barrier(b);
    }
    self = before;
}

static void begin_copy(const Copy &copy, Where where) {
    if (((uintptr_t)copy.to | (uintptr_t)copy.from | copy.bytes) % 16 != 0)
        report(where, "bulk copy of %zu bytes from %p to %p: all must be multiples of 16",
               copy.bytes, copy.from, copy.to);
    check_access(copy.from, copy.bytes, EMU_READ, false, where, "bulk copy");
    check_access(copy.to, copy.bytes, EMU_WRITE, false, where, "bulk copy");
    if (copy.barrier)
        forget_marks(copy.to, copy.bytes); /* until the copy has ended */
    copies.push_back(copy);
    give_way();
}

void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier) {
    begin_copy({self, shared, global, bytes, barrier}, __builtin_return_address(0));
}

void emu_bulk_store(void *global, const void *shared, size_t bytes) {
    begin_copy({self, global, shared, bytes, nullptr}, __builtin_return_address(0));
}

/* Ends all stores of the running thread. */
void emu_bulk_wait() {
    for (size_t k = copies.size(); k-- > 0;)
        if (copies[k].by == self && !copies[k].barrier)
            finish_copy(k);
}

/* ---- threads, blocks, clusters ---- */

static uint64_t volume(dim3 extent) {
    return (uint64_t)extent.x * extent.y * extent.z;
}

static uint3 index_in(dim3 extent, uint64_t k) {
    return {(unsigned)(k % extent.x), (unsigned)(k / extent.x % extent.y),
            (unsigned)(k / extent.x / extent.y)};
}

static Fibre *new_fibre() {
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

static void end_thread() {
    Block *const block = self->block;
    self->state = ENDED;
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

static void fibre_main() {
    entered();
    self->block->grid->shape.body();
    end_thread();
    run_next(&self->context);
    abort(); /* an ended thread is never chosen */
}

static void start_thread(Block *block, unsigned thread) {
    const emu_grid &shape = block->grid->shape;
    Fibre *const f = block->fibres[thread];
    f->index = {index_in(shape.threads, thread),
                block->index,
                shape.threads,
                shape.blocks,
                block->rank,
                shape.cluster};
    f->block = block;
    f->thread = thread;
    f->time = block->time + 1;
    f->warp_time = 0;
    f->seen = block->grid->seen;
    f->fenced = f->unfenced = nullptr;
    prepare(&f->context, fibre_main);
    make_ready(f);
}

/* Puts the grid's next block where `block` is. */
static void start_block(Block *block) {
    Grid *const grid = block->grid;
    const unsigned threads = (unsigned)volume(grid->shape.threads);
    block->index = index_in(grid->shape.blocks, grid->next_block++);
    block->live = threads;
    block->arrived = 0;
    block->objects.clear();
    block->start = block->time = next_time();
    next_time();
    for (; block->fibres.size() > threads; block->fibres.pop_back())
        spare_fibres.push_back(block->fibres.back());
    while (block->fibres.size() < threads) {
        block->fibres.push_back(spare_fibres.empty() ? new_fibre() : spare_fibres.back());
        if (!spare_fibres.empty())
            spare_fibres.pop_back();
    }
    block->warps.assign((threads + 31) / 32, {0, 0});
    if (threads % 32)
        block->warps.back().ended = ~0u << threads % 32;
    for (unsigned t = 0; t < threads; t++)
        start_thread(block, settings.policy == REVERSED ? threads - 1 - t : t);
}

static Block *spare_block() {
    if (spare_blocks.empty()) {
        Block *const block = new Block();
        block->slot = (unsigned)blocks.size();
        block->shared = base + block->slot * shared_region;
        blocks.push_back(block);
        return block;
    }
    Block *const block = spare_blocks.back();
    spare_blocks.pop_back();
    return block;
}

/* Starts the grid's next cluster. */
static void start_cluster(Grid *grid) {
    Cluster *const cluster = new Cluster();
    cluster->grid = grid;
    for (unsigned rank = 0; rank < grid->shape.cluster; rank++) {
        Block *const block = spare_block();
        block->cluster = cluster;
        block->grid = grid;
        block->rank = rank;
        start_block(block);
        cluster->blocks.push_back(block);
        cluster->fibres.insert(cluster->fibres.end(), block->fibres.begin(), block->fibres.end());
    }
    cluster->live = cluster->fibres.size();
    grid->clusters.push_back(cluster);
}

/* ---- grids ---- */

bool emu::fits(const emu_grid &shape) {
    const uint64_t threads = volume(shape.threads), most = threads_per_multiprocessor;
    const dim3 b = shape.blocks;
    return threads > 0 && threads <= most && volume(b) > 0 && b.x <= 0x7fffffff && b.y <= 65535 &&
           b.z <= 65535 && shape.cluster > 0 && shape.cluster <= largest_cluster &&
           b.x % shape.cluster == 0;
}

/* Starts grids while there is room. */
static void admit() {
    while (!waiting.empty() && running.size() < most_running) {
        Grid *const grid = waiting.front();
        waiting.pop_front();
        grid->floor = floor_of(grid->seen);
        running.push_back(grid);
        const uint64_t threads = volume(grid->shape.threads);
        starved_warp = (unsigned)random_below((threads + 31) / 32);
        int places;
        emu_cluster_occupancy(&places, (int)threads, grid->shape.cluster, grid->shape.shared_bytes);
        const uint64_t clusters = volume(grid->shape.blocks) / grid->shape.cluster;
        for (uint64_t k = 0; k < clusters && k < (uint64_t)places; k++)
            start_cluster(grid);
    }
}

/* The grid, or one that it launched and forgot, has ended. */
static void close(Grid *grid) {
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
        grid->then(grid->seen);
    if (grid->parent) {
        grid->parent->ended.add(*grid->seen);
        close(grid->parent);
    }
    delete grid;
}

/* Lets the grid's next cluster follow one that has ended. */
static void replace(Cluster *cluster) {
    Grid *const grid = cluster->grid;
    for (size_t k = copies.size(); k-- > 0;)
        if (copies[k].by->block->cluster == cluster)
            finish_copy(k);
    for (Block *block : cluster->blocks) {
        block->cluster = nullptr;
        forget_marks(block->shared, grid->shared_used);
        note_end(block->slot, &grid->ended);
        spare_blocks.push_back(block);
    }
    grid->clusters.erase(std::find(grid->clusters.begin(), grid->clusters.end(), cluster));
    delete cluster;
    if (grid->next_block < volume(grid->shape.blocks)) {
        start_cluster(grid);
    } else if (grid->clusters.empty()) {
        running.erase(std::find(running.begin(), running.end(), grid));
        close(grid);
    }
}

void emu::run_grids(bool interrupt) {
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
    } while (!running.empty() || !waiting.empty());
    objects.clear();
}

/* ---- what kernels and the host ask ---- */

const emu_index *emu_here() {
    return &self->index;
}

void emu_device_launch(bool tail, const emu_grid &shape) {
    Grid *const parent = self->block->grid, *const child = new Grid();
    if (!fits(shape) || shape.shared_bytes > shared_default)
        report(__builtin_return_address(0), "%s: the device cannot run such a grid", shape.what);
    child->shape = shape;
    child->parent = parent;
    if (tail) {
        parent->tails.push_back(child);
    } else {
        parent->open++;
        child->seen = knowledge(self);
        self->time = next_time();
        waiting.push_back(child);
        host_wanted = true;
    }
    give_way();
}

cudaError_t emu_cluster_occupancy(int *clusters, int threads, unsigned cluster, size_t shared) {
    *clusters = 0;
    if (threads < 1 || threads > (int)threads_per_multiprocessor || shared > shared_limit ||
        cluster == 0 || cluster > largest_cluster)
        return cudaErrorInvalidValue;
    size_t fit = threads_per_multiprocessor / (((size_t)threads + 31) / 32 * 32);
    if (shared)
        fit = std::min(fit, shared_per_multiprocessor / shared);
    *clusters = (int)std::max((size_t)1, fit * emu_multiprocessors / cluster);
    return cudaSuccess;
}
