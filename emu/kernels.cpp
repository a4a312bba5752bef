/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU made of fibres: keeps as many blocks resident as would fit one, and runs one thread at a
 * time, until a point where another may be chosen. */
#include "emu.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <utility>

#include "emu_faults.h"

using namespace emu;

constexpr size_t stack_bytes = 64 * 1024, guard_bytes = 4096, handler_stack_bytes = 256 * 1024;
constexpr size_t stack_colours = 61, stack_colour_bytes = 128;
constexpr unsigned starving_turns = 256;       /* a starved warp runs once in so many turns */
constexpr int starving_looks = 8;              /* unless no other is found in so many tries */
constexpr unsigned longest_starving = 1 << 16; /* turns for which a block is starved in a row */
constexpr uint64_t most_idle_spins = 4000000;
constexpr size_t most_running = 4;         /* grids at a time, of each device */
constexpr unsigned turns_at_a_time = 4096; /* on average, before other streams may start work */

__thread Fibre *emu::self;
uint64_t emu::idle_spins, emu::steps;
std::vector<Grid *> emu::grids;
Block *emu::blocks[most_blocks];
static auto &spare_fibres = *new std::vector<Fibre *>(); /* never freed */
static std::deque<Fibre *> ready;
static size_t drawn_from; /* so many were ready when the first of them was drawn */
static Cluster *ended;    /* a cluster all of whose threads have ended */
static Context host;      /* the host thread that runs the grids now */
static struct {
    bool blocks;    /* block by block, or the same warp of all blocks */
    unsigned which; /* the slot of the block, or the number of the warp */
    uint64_t turns; /* left for the block */
} starved;

/* ---- which thread runs ---- */

void emu::make_ready(Fibre *f) {
    f->state = READY;
    ready.push_back(f);
}

static bool starves(const Fibre *f) {
    return (starved.blocks ? f->block->slot : f->thread / 32) == starved.which;
}

/* Chooses which threads the policy STARVE starves, when a grid starts. */
static void draw_starved(uint64_t threads, uint64_t blocks) {
    starved.blocks = blocks > 1 && random_below(2);
    starved.which = (unsigned)random_below((threads + 31) / 32);
    starved.turns = 1;
}

/* One block is starved for a while, wherever it is by then; then another. */
static void take_turns_at_starving() {
    if (starved.blocks && --starved.turns == 0) {
        starved.which = ready[random_below(ready.size())]->block->slot;
        starved.turns = 1 + random_below(longest_starving);
    }
}

/* What a switch to a thread reads lies far away. */
static void fetch_soon(const Fibre *f) {
    const char *const top = (const char *)f->context.top;
    __builtin_prefetch(top);
    __builtin_prefetch(top + 64);
    __builtin_prefetch(top + 128);
}

/* Takes a thread that is drawn from all. It was drawn a turn ahead, to be fetched by now; those
 * that have become ready since get the chance that they have in one draw from all. */
static Fibre *draw() {
    const size_t all = ready.size(), late = all - drawn_from;
    if (late > 0 && random_below(all) < late)
        std::swap(ready[0], ready[drawn_from + random_below(late)]);
    Fibre *const f = ready.front();
    ready.pop_front();
    drawn_from = ready.size();
    if (drawn_from > 0)
        std::swap(ready[0], ready[random_below(drawn_from)]);
    return f;
}

static Fibre *take_first() {
    Fibre *const f = ready.front();
    ready.pop_front();
    return f;
}

static Fibre *choose() {
    const bool drawn = settings.policy == RANDOM || settings.policy == STARVE;
    if (settings.policy == STARVE)
        take_turns_at_starving();
    for (int look = 1;; look++) {
        Fibre *const f = drawn ? draw() : take_first();
        if (settings.policy != STARVE || !starves(f) || look == starving_looks ||
            random_below(starving_turns) == 0) {
            if (!ready.empty())
                fetch_soon(ready.front());
            return f;
        }
        ready.push_back(f);
    }
}

/* Switches to another thread, or to the host if a cluster has ended or nothing else can be done. */
static void run_next(Context *from) {
    steps++;
    Fibre *const before = self;
    const bool waits_for_host = wake_spinning(ready.empty() && !ended);
    if (ready.empty() && !ended && !waits_for_host)
        report_waits("deadlock");
    self = ended || waits_for_host ? nullptr : choose();
    if (self != before)
        switch_to(from, self ? &self->context : &host);
}

static void let_streams_begin() {
    if (random_below(turns_at_a_time) == 0)
        begin_others();
}

void emu::give_way() {
    let_streams_begin();
    make_ready(self);
    run_next(&self->context);
}

/* Records what the running thread does, for reports. */
static void note_place(Where where, const char *what, unsigned mask = 0) {
    self->at = where;
    self->what = what;
    self->mask = mask;
}

static void note_spin(Where where, const char *what) {
    note_place(where, what);
    if (++idle_spins > most_idle_spins)
        report_waits("livelock: threads spin, and none has written anything for long");
}

void emu::spin(Where where, const char *what) {
    note_spin(where, what);
    give_way();
}

void emu::rest(Where where, const char *what, std::vector<Fibre *> *aside) {
    note_spin(where, what);
    let_streams_begin();
    aside->push_back(self);
    run_next(&self->context);
}

/* Waits until another thread makes this one ready. */
static void wait_in(Group *group, const emu_site &at, unsigned mask, uint64_t value) {
    note_place(at, at.what, mask);
    self->group = group;
    self->value = value;
    self->state = WAITING;
}

void emu::wait_for(const void *object, const emu_site &at) {
    wait_in(nullptr, at, 0, (uint64_t)object);
    run_next(&self->context);
}

/* ---- where threads meet ---- */

/* The bits of a vote, or the value of the lane that a shuffle reads. */
static uint64_t warp_result(Fibre *f, const std::vector<Fibre *> &here) {
    const std::vector<Fibre *> &lanes = f->group->fibres;
    const size_t source = (size_t)f->source;
    uint64_t bits = 0;
    if (f->op == EMU_GATHER)
        return 0;
    if (f->op != EMU_SHUFFLE) {
        for (const Fibre *other : here)
            if (f->op == EMU_MATCH ? other->value == f->value : other->value != 0)
                bits |= (uint64_t)1 << other->index.lane;
        return bits;
    }
    if (f->mask >> source & 1 && source < lanes.size() && lanes[source]->state == WAITING)
        return lanes[source]->value;
    self = f;
    report(f->at, "%s reads lane %zu, which takes no part (mask %#x)", f->what, source, f->mask);
}

/* If all that f waits for have arrived, they continue. */
static void settle(const Fibre *f) {
    static std::vector<Fibre *> here;
    Group *const group = f->group;
    const int op = f->op;
    const unsigned mask = f->mask;
    if (group->waiting + group->ended < (mask ? (size_t)__builtin_popcount(mask) : group->size))
        return;
    here.clear();
    for (Fibre *other : group->fibres) {
        const bool named = !mask || mask >> other->index.lane & 1;
        if (other->state == WAITING && other->group == group && other->op == op &&
            other->mask == mask && (op != EMU_BLOCK || other->at.bits == f->at.bits))
            here.push_back(other);
        else if (named && op == EMU_BLOCK)
            report_waits("divergent barrier: not all threads of the block come to the same one");
        else if (named && other->state != ENDED)
            return;
    }
    if (!mask || op == EMU_SYNCWARP) {
        const bool whole = here.size() + group->ended == group->size;
        const uint64_t time = join(whole ? group->fibres : here, whole);
        group->time = whole ? time : group->time;
    }
    const auto count =
        std::count_if(here.begin(), here.end(), [](Fibre *each) { return each->value; });
    for (Fibre *each : here)
        each->result = mask ? warp_result(each, here) : (uint64_t)count;
    group->waiting -= here.size();
    std::for_each(here.begin(), here.end(), make_ready);
    idle_spins = 0;
}

uint64_t emu_meet(emu_op op, emu_site at, unsigned mask, uint64_t value, int source) {
    if (op < EMU_BLOCK && !(mask >> self->index.lane & 1))
        report(at, "%s with mask %#x, which leaves out the calling lane %d", at.what, mask,
               self->index.lane);
    self->op = op;
    self->source = source;
    self->was_called = false;
    wait_in(self->groups[op < EMU_BLOCK ? 0 : op == EMU_BLOCK ? 1 : 2], at, mask, value);
    self->group->waiting++;
    settle(self);
    run_next(&self->context);
    return self->result;
}

/* Two places in turn: a lane may be on its way to the next gathering while others still read this
 * one. */
const unsigned char *emu_gather(const void *mine, size_t bytes, emu_site at) {
    constexpr size_t all_bytes = 32 * emu_gather_bytes;
    std::vector<unsigned char> &places = self->groups[0]->gathered;
    places.resize(2 * all_bytes);
    unsigned char *const all = places.data() + self->gathers++ % 2 * all_bytes;
    memcpy(all + (size_t)self->index.lane * emu_gather_bytes, mine, bytes);
    emu_meet(EMU_GATHER, at, ~0u);
    return all;
}

unsigned __activemask() {
    unsigned mask = 0;
    for (const Fibre *f : self->groups[0]->fibres)
        mask |= (unsigned)(f->state == READY) << f->index.lane;
    return mask;
}

/* ---- threads, blocks, clusters ---- */

static uint3 index_in(dim3 extent, uint64_t k) {
    return {(unsigned)(k % extent.x), (unsigned)(k / extent.x % extent.y),
            (unsigned)(k / extent.x / extent.y)};
}

/* A thread that exhausts its stack hits the guard page below it. Other bad addresses are left to
 * the previous handler, which is none or AddressSanitizer's. */
static struct sigaction handler_before;

static void on_bad_address(int number, siginfo_t *info, void *) {
    const char *const p = (const char *)info->si_addr;
    const char *const guard = self ? self->context.stack : nullptr;
    if (guard && guard <= p && p < guard + guard_bytes)
        report(nullptr,
               "the stack of a thread is full: kernels have no deep recursion and no large arrays, "
               "%zu bytes in all",
               self->context.stack_bytes - guard_bytes);
    sigaction(number, &handler_before, nullptr); /* the access is repeated */
}

/* The handler needs its own stack, on each host thread that runs kernels. */
static void watch_stacks() {
    static __thread bool watched;
    if (std::exchange(watched, true))
        return;
    const stack_t own = {reserve(handler_stack_bytes), 0, handler_stack_bytes};
    struct sigaction ours = {}, now;
    ours.sa_sigaction = on_bad_address;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&own, nullptr);
    sigaction(SIGSEGV, &ours, &now);
    if (now.sa_sigaction != on_bad_address)
        handler_before = now;
}

static Fibre *new_fibre() {
    static size_t made;
    unsigned char *const stack = reserve(stack_bytes);
    mprotect(stack, guard_bytes, PROT_NONE);
    /* Stacks begin at different places in a page, or they would compete for the same cache lines.
     */
    const size_t bytes = stack_bytes - made++ % stack_colours * stack_colour_bytes;
    return new Fibre({nullptr, (char *)stack, bytes, nullptr});
}

/* Those that start_thread takes after this one: the next one's stack, and the one behind it. */
static void fetch_spare() {
    const size_t left = spare_fibres.size();
    if (left < 2)
        return;
    const Context &next = spare_fibres[left - 1]->context;
    __builtin_prefetch(next.stack + next.stack_bytes - 64, 1);
    const char *const fibre = (const char *)spare_fibres[left - 2];
    for (size_t at = 0; at < offsetof(Fibre, look); at += 64)
        __builtin_prefetch(fibre + at, 1);
}

static void fibre_main() {
    entered();
    self->block->grid->shape.body();
    emu_bulk_wait();
    self->state = ENDED;
    note_place(nullptr, "ended");
    idle_spins = 0;
    for (Group *group : self->groups)
        group->ended++;
    for (Group *group : self->groups)
        for (size_t k = 0; group->waiting > 0 && k < group->fibres.size(); k++)
            if (group->fibres[k]->state == WAITING && group->fibres[k]->group == group)
                settle(group->fibres[k]);
    if (self->block->over())
        check_end(self->block);
    if (self->block->cluster->over())
        ended = self->block->cluster;
    run_next(&self->context);
    abort(); /* not reached: an ended thread is never chosen */
}

static void start_thread(Block *block, unsigned thread, uint3 block_index) {
    const emu_grid &shape = block->grid->shape;
    if (spare_fibres.empty())
        spare_fibres.push_back(new_fibre());
    Fibre *const f = spare_fibres.back();
    spare_fibres.pop_back();
    fetch_spare();
    const Context context = f->context;
    f->~Fibre(); /* and again where it was: to copy one over it takes longer */
    new (f) Fibre(context);
    f->block = block;
    f->thread = thread;
    f->time = next_time();
    f->groups[0] = &block->warps[thread / 32];
    f->groups[1] = block;
    f->groups[2] = block->cluster;
    f->index = {index_in(shape.threads, thread),
                block_index,
                shape.threads,
                shape.blocks,
                block->rank,
                shape.cluster,
                (int)thread % 32};
    f->seen = block->grid->seen;
    for (Group *group : f->groups)
        group->fibres.push_back(f);
    prepare(&f->context, fibre_main);
    make_ready(f);
}

static void start_block(Grid *grid, Cluster *cluster) {
    const unsigned threads = (unsigned)volume(grid->shape.threads);
    const unsigned rank = (unsigned)cluster->blocks.size();
    const uint3 index = index_in(grid->shape.blocks, grid->next_block++);
    const unsigned slot = (unsigned)(std::find(blocks, blocks + most_blocks, nullptr) - blocks);
    const uint64_t now = next_time();
    Block *const block =
        new Block{{{}, threads, 0, 0, now}, grid, cluster, rank, slot, now, {}, {}};
    block->warps.assign((threads + 31) / 32, Group{{}, 32});
    for (Group &warp : block->warps)
        warp.fibres.reserve(32);
    block->fibres.reserve(threads);
    block->warps.back().ended = block->warps.size() * 32 - threads;
    blocks[slot] = block;
    cluster->blocks.push_back(block);
    cluster->size += threads;
    for (unsigned t = 0; t < threads; t++)
        start_thread(block, t, index);
    if (settings.policy == REVERSED)
        std::reverse(ready.end() - threads, ready.end());
}

/* Starts the grid's next cluster. */
static void start_cluster(Grid *grid) {
    Cluster *const cluster = new Cluster();
    while (cluster->blocks.size() < grid->shape.cluster)
        start_block(grid, cluster);
    grid->clusters++;
}

/* ---- grids ---- */

/* Starts grids as long as there is room. */
static void admit() {
    size_t running[most_devices] = {};
    for (size_t k = 0; k < grids.size(); k++) {
        Grid *const grid = grids[k];
        const emu_grid &shape = grid->shape;
        if (running[grid->device]++ >= most_running || grid->next_block > 0)
            continue;
        const uint64_t threads = volume(shape.threads);
        const uint64_t clusters = volume(shape.blocks) / shape.cluster;
        draw_starved(threads, volume(shape.blocks));
        while (grid->clusters < std::min(clusters, clusters_that_fit(shape)))
            start_cluster(grid);
    }
}

void emu::launch(Grid *grid) {
    grids.push_back(grid);
    admit();
}

/* The grid, or one that it launched with FORGET, has ended. */
static void close(Grid *grid) {
    if (--grid->open > 0)
        return;
    grid->then(joined(grid->seen, grid->ended));
    delete grid;
}

/* Starts the grid's next cluster after one has ended. */
static void replace(Cluster *cluster) {
    Grid *const grid = cluster->blocks[0]->grid;
    for (Block *block : cluster->blocks) {
        forget(block->shared(), grid->shared_used);
        grid->ended = joined(grid->ended, end_of(block));
        spare_fibres.insert(spare_fibres.end(), block->fibres.begin(), block->fibres.end());
        blocks[block->slot] = nullptr;
        delete block;
    }
    delete cluster;
    grid->clusters--;
    if (grid->next_block < volume(grid->shape.blocks)) {
        start_cluster(grid);
    } else if (grid->clusters == 0) {
        grids.erase(std::find(grids.begin(), grids.end(), grid));
        close(grid);
        admit();
    }
}

/* What follows is ordered by streams and events, but for what other devices read of this later. */
static void forget_released() {
    for (auto each = released.begin(); each != released.end();)
        each = each->first.second == any_device ? std::next(each) : released.erase(each);
}

void emu::run_grids() {
    watch_stacks();
    host = {}; /* maybe another thread than the last time */
    while (!grids.empty()) {
        run_next(&host);
        if (!ended)
            return;
        replace(std::exchange(ended, nullptr));
    }
    forget_released();
}

void emu::forget_grids() {
    for (Block *&block : blocks) {
        if (!block)
            continue;
        forget(block->shared(), block->grid->shared_used);
        spare_fibres.insert(spare_fibres.end(), block->fibres.begin(), block->fibres.end());
        if (block->rank == 0)
            delete block->cluster;
        delete std::exchange(block, nullptr);
    }
    for (Grid *grid : grids)
        delete grid;
    grids.clear();
    ready.clear();
    drawn_from = 0;
    forget_spinning();
    released.clear();
}

bool emu_device_launch(bool tail, const void *kernel, const emu_grid &asked) {
    Grid *const parent = self->block->grid;
    emu_grid shape = asked;
    shape.kernel = kernel;
    if (refusal(kernel, shape) != cudaSuccess)
        report(__builtin_return_address(0), "%s: the device cannot run such a grid", shape.what);
    if (planted_now(EMU_IN_NESTED_LAUNCH) != cudaSuccess) {
        give_way();
        return false;
    }
    Grid *const child = new Grid{shape, nullptr, nullptr};
    child->device = parent->device;
    if (tail) { /* between the last of this grid's and what its end starts */
        Grid *const last = std::exchange(parent->last, child);
        child->then = std::exchange(last->then, [=](const Seen &seen) {
            child->seen = seen;
            launch(child);
        });
    } else {
        parent->open++;
        child->seen = knowledge(self);
        child->then = [=](const Seen &seen) {
            parent->ended = joined(parent->ended, seen);
            close(parent);
        };
        launch(child);
    }
    give_way();
    return true;
}

unsigned long long emu_steps() {
    return steps;
}

const emu_index *emu_here() {
    return &self->index;
}
