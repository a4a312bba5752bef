/* SPDX-License-Identifier: Apache-2.0 */
/* Races. Of every word it is kept who wrote it last and which two threads read it last, and when.
 * An access by another thread has to be ordered behind those: by a barrier of the block or of the
 * cluster, by __syncwarp, by the barriers of bulk copies, or by atomics on one address. */
#include <sys/mman.h>

#include "emu.h"

namespace emu {

namespace {

enum Level : uint32_t {
    THREAD = 0u << 30,
    WARP = 1u << 30,
    BLOCK = 2u << 30
};
constexpr uint32_t threads_of_slot = 1024;

uint64_t now;

uint32_t thread_of(const Fibre *f) {
    return f->block->slot * threads_of_slot + f->thread;
}

} // namespace

uint64_t next_time() {
    return ++now;
}

uint32_t block_key(const Block *block) {
    return BLOCK | block->slot;
}

/* ---- what is known ---- */

void Known::add(uint32_t key, uint64_t time) {
    auto at = std::lower_bound(entries.begin(), entries.end(), std::make_pair(key, (uint64_t)0));
    if (at == entries.end() || at->first != key)
        entries.insert(at, {key, time});
    else
        at->second = std::max(at->second, time);
}

void Known::add(const Known &other) {
    std::vector<std::pair<uint32_t, uint64_t>> all;
    all.reserve(entries.size() + other.entries.size());
    auto a = entries.begin();
    for (const auto &b : other.entries) {
        while (a != entries.end() && a->first < b.first)
            all.push_back(*a++);
        all.push_back(b);
        if (a != entries.end() && a->first == b.first)
            all.back().second = std::max(b.second, a++->second);
    }
    all.insert(all.end(), a, entries.end());
    entries.swap(all);
}

bool Known::has(uint32_t key, uint64_t time) const {
    auto at = std::lower_bound(entries.begin(), entries.end(), std::make_pair(key, (uint64_t)0));
    return at != entries.end() && at->first == key && at->second >= time;
}

bool Known::has_all(const Known &other) const {
    auto a = entries.begin();
    for (const auto &b : other.entries) {
        while (a != entries.end() && a->first < b.first)
            ++a;
        if (a == entries.end() || a->first != b.first || a->second < b.second)
            return false;
    }
    return true;
}

Seen joined(const Seen &a, const Seen &b) {
    if (a == b || !b || (a && a->has_all(*b)))
        return a;
    if (!a)
        return b;
    const auto all = std::make_shared<Known>(*a);
    all->add(*b);
    return all;
}

Seen knowledge(const Fibre *f) {
    const auto all = f->seen ? std::make_shared<Known>(*f->seen) : std::make_shared<Known>();
    all->add(THREAD | thread_of(f), f->time);
    all->add(WARP | thread_of(f) / 32, f->warp_time);
    all->add(block_key(f->block), f->block->time);
    return all;
}

/* ---- what orders threads ---- */

void join_threads(Fibre *const fibres[], size_t count) {
    Seen all;
    for (size_t k = 0; k < count; k++)
        all = joined(all, knowledge(fibres[k]));
    for (size_t k = 0; k < count; k++) {
        fibres[k]->seen = all;
        fibres[k]->time = next_time();
    }
}

/* What these threads have seen beyond their block or warp becomes what all have seen. */
template <class Each>
static void share_seen(const Each &each) {
    Seen all;
    each([&](Fibre *f) { all = joined(all, f->seen); });
    each([&](Fibre *f) { f->seen = all; });
}

void join_warp(Fibre *const fibres[], size_t count) {
    share_seen([=](auto what) {
        for (size_t k = 0; k < count; k++)
            what(fibres[k]);
    });
    const uint64_t before = next_time(), after = next_time();
    for (size_t k = 0; k < count; k++) {
        fibres[k]->warp_time = before;
        fibres[k]->time = after;
    }
}

void join_block(Block *block) {
    share_seen([=](auto what) {
        for (unsigned t = 0; t < block->threads; t++)
            what(block->fibres[t]);
    });
    block->time = next_time();
    const uint64_t after = next_time();
    for (unsigned t = 0; t < block->threads; t++)
        block->fibres[t]->time = after;
}

void join_cluster(Cluster *cluster) {
    const auto all = std::make_shared<Known>();
    for (Block *block : cluster->blocks) {
        join_block(block);
        all->add(block_key(block), block->time);
        if (block->fibres[0]->seen)
            all->add(*block->fibres[0]->seen);
    }
    for (Block *block : cluster->blocks)
        for (unsigned t = 0; t < block->threads; t++)
            block->fibres[t]->seen = all;
}

/* Objects in shared memory keep their clocks with the block they lie in. */
static Known *clock_of(const void *object, bool make) {
    const size_t offset = (size_t)((const unsigned char *)object - arena_base());
    if (!settings().races || !in_shared(offset))
        return nullptr;
    auto &released = blocks[offset / shared_region]->released;
    const auto found = released.find(object);
    return found != released.end() ? &found->second : make ? &released[object] : nullptr;
}

void release_clock(const void *object) {
    if (Known *const clock = clock_of(object, true)) {
        clock->add(*knowledge(self));
        self->time = next_time();
    }
}

void acquire_clock(const void *object) {
    const Known *const clock = clock_of(object, false);
    if (clock && !(self->seen && self->seen->has_all(*clock)))
        self->seen = joined(self->seen, std::make_shared<Known>(*clock));
}

/* ---- accesses ---- */

namespace {

struct Cell {
    uint64_t time : 40, thread : 24;
    uint64_t where : 48, bytes : 4, ordered : 1; /* a bit for each byte of the word */
};

struct Word {
    Cell write, reads[2];
};

Word *words; /* one for four bytes of the arena */

/* Is that access ordered before what f does now? */
bool before(const Cell &c, const Fibre *f) {
    const Block *const block = f->block;
    if (c.thread / threads_of_slot == block->slot && c.time > block->start &&
        (c.thread == thread_of(f) || c.time <= block->time ||
         (c.thread / 32 == thread_of(f) / 32 && c.time <= f->warp_time)))
        return true;
    return f->seen &&
           (f->seen->has(BLOCK | c.thread / threads_of_slot, c.time) ||
            f->seen->has(WARP | c.thread / 32, c.time) || f->seen->has(THREAD | c.thread, c.time));
}

Where where_of(const Cell &c) {
    return Where((const void *)(uintptr_t)c.where);
}

std::string place_of(const Cell &c) {
    const unsigned slot = c.thread / threads_of_slot;
    std::string text = "thread " + std::to_string(c.thread % threads_of_slot);
    if (slot != self->block->slot || c.time <= self->block->start)
        text += " of another block";
    return text;
}

/* What happened to a word before `floor` is forgotten. */
void check_against(const Cell &c, const Cell &now, uint64_t floor, const char *then,
                   const char *what) {
    if (c.time <= floor || !(c.bytes & now.bytes) || (c.ordered && now.ordered) || before(c, self))
        return;
    report(where_of(now),
           "data race on shared memory: %s what %s %s, with no barrier between, at\n      %s", what,
           place_of(c).c_str(), then, source_of(where_of(c)).c_str());
}

void remember_read(Word *word, const Cell &now, uint64_t floor) {
    Cell &first = word->reads[0];
    Cell &c = first.time <= floor || before(first, self) ? first : word->reads[1];
    const unsigned bytes = c.thread == now.thread && c.time == now.time ? c.bytes : 0;
    c = now;
    c.bytes |= bytes;
}

void visit(Word *word, const Cell &now, uint64_t floor, int kind) {
    const bool writes = kind & EMU_WRITE;
    check_against(word->write, now, floor, "wrote", writes ? "writes" : "reads");
    if (!writes) {
        remember_read(word, now, floor);
        return;
    }
    check_against(word->reads[0], now, floor, "read", "writes");
    check_against(word->reads[1], now, floor, "read", "writes");
    word->write = now;
}

} // namespace

void check_race(const void *p, size_t bytes, int kind, bool ordered, const Where &where) {
    if (!settings().races)
        return;
    const size_t begin = (size_t)((const unsigned char *)p - arena_base()), end = begin + bytes;
    if (!in_shared(begin))
        return;
    if (!words)
        words = (Word *)mmap(nullptr, arena_bytes / 4 * sizeof(Word), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const uint64_t floor = blocks[begin / shared_region]->start;
    Cell now = {self->time, thread_of(self), where.bits, 15, ordered};
    for (size_t at = begin & ~(size_t)3; at < end; at += 4) {
        unsigned mask = 15;
        if (at < begin)
            mask &= 15u << (begin - at);
        if (at + 4 > end)
            mask &= 15u >> (at + 4 - end);
        now.bytes = mask & 15;
        visit(&words[at / 4], now, floor, kind);
    }
}

void check_end(Block *block) {
    if (!settings().races || block->cluster->blocks.size() == 1 || !words)
        return;
    /* Whoever ends last stands for the block: all it has seen, and what the others have. */
    Seen all;
    for (unsigned t = 0; t < block->threads; t++)
        all = joined(all, block->fibres[t]->seen);
    self->seen = all;
    const size_t begin = block->slot * shared_region / 4;
    for (size_t k = 0; k < block->grid->shared_used / 4; k++)
        for (const Cell &c :
             {words[begin + k].write, words[begin + k].reads[0], words[begin + k].reads[1]})
            if (c.time > block->start && c.thread / threads_of_slot != block->slot &&
                !before(c, self))
                report(where_of(c),
                       "uses the shared memory of a block of its cluster that may have "
                       "ended: the block does not wait for this access");
}

} // namespace emu
