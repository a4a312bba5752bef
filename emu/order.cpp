/* SPDX-License-Identifier: Apache-2.0 */
/* Races. Of every word of memory it is kept who wrote it last and which two threads read it, and
 * when; the next access has to be ordered behind those. docs/emu.md tells by what. */
#include "emu.h"

using namespace emu;

/* ---- what is known ---- */

/* Threads, warps and blocks are told apart by the highest bits. */
static uint32_t thread_key(unsigned slot, unsigned thread) {
    return slot * threads_of_slot + thread;
}
static uint32_t warp_key(unsigned slot, unsigned thread) {
    return 1u << 30 | thread_key(slot, thread) / 32;
}
static uint32_t block_key(unsigned slot) {
    return 2u << 30 | slot;
}

static uint64_t now;
static Known everything; /* that blocks and streams did before they ended */
Objects emu::objects;

uint64_t emu::next_time() {
    return ++now;
}

void Known::add(uint32_t key, uint64_t time) {
    const auto at = std::lower_bound(begin(), end(), std::make_pair(key, (uint64_t)0));
    if (at == end() || at->first != key)
        insert(at, {key, time});
    else
        at->second = std::max(at->second, time);
}

void Known::add(const Known &other) {
    Known all; /* of one key the latest time is the last, and stays */
    all.reserve(size() + other.size());
    std::merge(begin(), end(), other.begin(), other.end(), std::back_inserter(all));
    const auto same = [](const auto &a, const auto &b) { return a.first == b.first; };
    all.erase(all.begin(), std::unique(all.rbegin(), all.rend(), same).base());
    swap(all);
}

bool Known::has(uint32_t key, uint64_t time) const {
    const auto at = std::lower_bound(begin(), end(), std::make_pair(key, time));
    return at != end() && at->first == key;
}

bool Known::has_all(const Known &other) const {
    auto mine = begin();
    return std::all_of(other.begin(), other.end(), [&](const auto &each) {
        while (mine != end() && mine->first < each.first)
            ++mine;
        return mine != end() && mine->first == each.first && mine->second >= each.second;
    });
}

Seen emu::joined(const Seen &a, const Seen &b) {
    if (a == b || !b || (a && a->has_all(*b)))
        return a;
    if (!a || b->has_all(*a))
        return b;
    const auto all = std::make_shared<Known>(*a);
    all->add(*b);
    return all;
}

Seen emu::knowledge(const Fibre *f) {
    const auto all = f->seen ? std::make_shared<Known>(*f->seen) : std::make_shared<Known>();
    const Block *const own = f->block;
    all->add(thread_key(own->slot, f->thread), f->time);
    all->add(warp_key(own->slot, f->thread), f->warp_time);
    all->add(block_key(own->slot), own->time);
    for (const Block *block : own->cluster->blocks)
        if (block != own && own->cluster->time > 0)
            all->add(block_key(block->slot), own->cluster->time);
    return all;
}

uint64_t emu::join(const std::vector<Fibre *> &threads, bool together) {
    Seen all;
    for (const Fibre *f : threads)
        all = joined(all, together ? f->seen : knowledge(f));
    const uint64_t before = next_time(), after = next_time();
    for (Fibre *f : threads) {
        f->seen = all;
        f->time = after;
    }
    return before;
}

void emu::note_end(unsigned slot, Known *seen) {
    everything.add(block_key(slot), next_time());
    seen->add(block_key(slot), next_time());
}

uint64_t emu::floor_of(const Seen &seen) {
    return seen && running.empty() && seen->has_all(everything) ? now : 0;
}

/* ---- clocks of flags, counters and barriers ---- */

static Objects &objects_with(const void *object) {
    const size_t offset = offset_of(object);
    return offset < shared_bytes ? blocks[offset / shared_region]->objects : objects;
}

void emu::release_clock(const void *object) {
    Objects &all = objects_with(object);
    if (&all == &objects && !self->fenced)
        return;
    Seen &released = all[object].released;
    released = joined(released, &all == &objects ? self->fenced : knowledge(self));
    if (&all != &objects)
        self->time = next_time();
}

void emu::acquire_clock(const void *object) {
    Objects &all = objects_with(object);
    const auto found = all.find(object);
    Seen &to = &all == &objects ? self->unfenced : self->seen;
    if (found != all.end())
        to = joined(to, found->second.released);
}

void __threadfence() {
    self->seen = joined(self->seen, self->unfenced);
    self->unfenced = nullptr;
    self->fenced = knowledge(self);
    self->time = next_time();
    give_way();
}

/* ---- accesses ---- */

/* When and by whom; where, which bytes of the word, and whether in an order with others like it. */
struct Cell {
    uint64_t thread : 10, slot : 14, time : 40;
    uint64_t where : 48, bytes : 4, ordered : 1;
};

/* Of four bytes of the arena. */
struct Word {
    Cell write, reads[2];
};
static Word *const words = (Word *)reserve(arena_bytes / 4 * sizeof(Word));

void emu::forget_accesses(size_t offset, size_t bytes) {
    clear(&words[offset / 4], (bytes + 3) / 4 * sizeof(Word));
}

/* Is that access ordered before what the running thread does now, by what happened in its block? */
static inline bool before_in_block(const Cell &c) {
    const Block *const block = self->block;
    return c.slot == block->slot && c.time > block->start &&
           (c.thread == self->thread || c.time <= block->time ||
            (c.thread / 32 == self->thread / 32 && c.time <= self->warp_time));
}

static bool before(const Cell &c) {
    const Cluster *const cluster = self->block->cluster;
    const Block *const block = c.slot < blocks.size() ? blocks[c.slot] : nullptr;
    return before_in_block(c) ||
           (block && block->cluster == cluster && c.time > block->start &&
            c.time <= cluster->time) ||
           (self->seen && (self->seen->has(block_key(c.slot), c.time) ||
                           self->seen->has(warp_key(c.slot, c.thread), c.time) ||
                           self->seen->has(thread_key(c.slot, c.thread), c.time)));
}

/* An access by the running thread, and the time up to which all that was done to those words is
 * known to come before it. */
struct Visit {
    Cell now;
    uint64_t floor;
    bool shared;

    Visit(size_t offset, bool ordered, Where where)
        : now{self->thread, self->block->slot, self->time, where.bits, 0, ordered},
          shared(offset < shared_bytes) {
        floor = shared ? blocks[offset / shared_region]->start : self->block->grid->floor;
    }
    void behind(const Cell &c, const char *then, const char *what) const {
        if (c.time > floor && c.bytes & now.bytes && !(c.ordered && now.ordered) && !before(c))
            complain(c, then, what);
    }
    [[noreturn]] void complain(const Cell &c, const char *then, const char *what) const {
        std::string doer = "thread " + std::to_string(c.thread);
        if (c.slot >= most_blocks)
            doer = "a copy or memset";
        else if (c.slot != self->block->slot || c.time <= self->block->start)
            doer += " of another block or kernel";
        report((const void *)(uintptr_t)now.where,
               "data race on %s memory: %s what %s %s, and nothing orders the two (%s), at\n"
               "      %s",
               shared ? "shared" : "global", what, doer.c_str(), then,
               shared ? "a barrier between them"
                      : "a barrier, an event, __threadfence before a flag is raised and after it "
                        "is seen",
               source_of((const void *)(uintptr_t)c.where).c_str());
    }
    /* May the read c be forgotten for this one, as far as that is quickly told? */
    bool replaces(const Cell &c) const {
        return c.time <= floor || before_in_block(c);
    }
    /* Bytes [begin, end) of the arena, or of them what lies in the word at `at`. */
    void word(size_t at, size_t begin, size_t end, int kind) {
        Word &word = words[at / 4];
        now.bytes =
            (at < begin ? 15 << (begin - at) : 15) & (at + 4 > end ? 15 >> (at + 4 - end) : 15);
        behind(word.write, "wrote", kind & EMU_WRITE ? "writes" : "reads");
        if (kind & EMU_WRITE) {
            behind(word.reads[0], "read", "writes");
            behind(word.reads[1], "read", "writes");
            word.write = now;
            return;
        }
        Cell &c = replaces(word.reads[0]) ? word.reads[0] : word.reads[1];
        const bool again = c.time == now.time && c.slot == now.slot && c.thread == now.thread;
        const uint64_t bytes = again ? now.bytes | c.bytes : now.bytes;
        if (&c == &word.reads[0] || replaces(c) || c.slot == now.slot) {
            c = now;
            c.bytes = bytes;
        }
    }
};

void emu::check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where) {
    if (!settings.races)
        return;
    Visit visit(offset, ordered, where);
    for (size_t at = offset & ~(size_t)3; at < offset + bytes; at += 4)
        visit.word(at, offset, offset + bytes, kind);
}

/* Copies are long, and orders that are missing mostly go wrong throughout: of their words, the
 * first and some 64 others are checked, at addresses that copies of other lengths take, too. */
void emu::check_copy_race(size_t offset, size_t bytes, int kind) {
    size_t stride = 4;
    while (bytes / stride > 64)
        stride *= 2;
    check_race(offset, std::min(bytes, (size_t)4), kind, false, nullptr);
    for (size_t at = offset / stride * stride + stride; at < offset + bytes; at += stride)
        check_race(at, std::min(offset + bytes - at, (size_t)4), kind, false, nullptr);
}

void emu::check_end(Block *block) {
    if (!settings.races || block->cluster->blocks.size() == 1)
        return;
    for (const Fibre *f : block->fibres) /* whoever ends last stands for the block */
        self->seen = joined(self->seen, f->seen);
    const Word *const word = &words[offset_of(block->shared) / 4];
    for (size_t k = 0; k < block->grid->shared_used / 4; k++)
        for (const Cell &c : {word[k].write, word[k].reads[0], word[k].reads[1]})
            if (c.time > block->start && c.slot != block->slot && !before(c))
                report((const void *)(uintptr_t)c.where,
                       "uses the shared memory of a block of its cluster that may have "
                       "ended: the block does not wait for this access");
}
