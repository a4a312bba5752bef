/* SPDX-License-Identifier: Apache-2.0 */
/* Races. Of every word of memory it is kept who wrote it last and which two threads read it, and
 * when; the next access has to be ordered behind those. docs/emu.md tells by what. */
#include "emu.h"

using namespace emu;

/* ---- what is known ---- */

/* Whom something is known of: a block, its warps and its threads follow each other. */
struct Keys {
    uint32_t block, warp, thread;
    Keys(unsigned slot, unsigned of_thread)
        : block(slot * 2 * most_threads), warp(block + 1 + of_thread / 32),
          thread(block + most_threads + of_thread) {}
};

uint64_t emu::next_time() {
    static uint64_t now;
    return ++now;
}

struct emu::Known : std::vector<std::pair<uint32_t, uint64_t>> { /* times by key */
    void add(uint32_t key, uint64_t time) {
        const auto at = std::lower_bound(begin(), end(), std::make_pair(key, (uint64_t)0));
        if (at == end() || at->first != key)
            insert(at, {key, time});
        else
            at->second = std::max(at->second, time);
    }
    bool has(uint32_t key, uint64_t time) const {
        const auto at = std::lower_bound(begin(), end(), std::make_pair(key, time));
        return at != end() && at->first == key;
    }
    bool has(const Keys &keys, uint64_t time) const {
        const auto at = std::lower_bound(begin(), end(), std::make_pair(keys.block, time));
        return at != end() && at->first < keys.block + 2 * most_threads &&
               (at->first == keys.block || has(keys.warp, time) || has(keys.thread, time));
    }
    /* Both lists are in the order of keys: one walk through both. */
    bool has_all(const Known &other) const {
        if (size() < other.size())
            return false;
        auto mine = begin();
        for (const auto &[key, time] : other) {
            while (mine != end() && mine->first < key)
                ++mine;
            if (mine == end() || mine->first != key || mine->second < time)
                return false;
        }
        return true;
    }
};

/* What either has, in one walk through both lists. */
static Seen merged(const Known &a, const Known &b) {
    const auto all = std::make_shared<Known>();
    all->reserve(a.size() + b.size());
    auto from_a = a.begin(), from_b = b.begin();
    while (from_a != a.end() && from_b != b.end()) {
        if (from_a->first < from_b->first) {
            all->push_back(*from_a++);
        } else if (from_b->first < from_a->first) {
            all->push_back(*from_b++);
        } else {
            all->push_back(from_a->second < from_b->second ? *from_b : *from_a);
            ++from_a;
            ++from_b;
        }
    }
    all->insert(all->end(), from_a, a.end());
    all->insert(all->end(), from_b, b.end());
    return all;
}

Seen emu::joined(const Seen &a, const Seen &b) {
    if (a == b || !b || (a && a->has_all(*b)))
        return a;
    if (!a || b->has_all(*a))
        return b;
    return merged(*a, *b);
}

Seen emu::knowledge(Fibre *f) {
    const auto all = f->seen ? std::make_shared<Known>(*f->seen) : std::make_shared<Known>();
    const Keys own(f->block->slot, f->thread);
    all->add(own.thread, f->time);
    all->add(own.warp, f->groups[0]->time);
    all->add(own.block, f->block->time);
    for (const Block *block : f->block->cluster->blocks)
        if (block->cluster->time > 0)
            all->add(Keys(block->slot, 0).block, block->cluster->time);
    f->time = next_time();
    return all;
}

uint64_t emu::join(const std::vector<Fibre *> &threads, bool together) {
    Seen all;
    for (Fibre *f : threads)
        all = joined(all, together ? f->seen : knowledge(f));
    const uint64_t before = next_time(), after = next_time();
    for (Fibre *f : threads) {
        f->seen = all;
        f->time = after;
    }
    return before;
}

Seen emu::end_of(const Block *block) {
    const auto all = std::make_shared<Known>();
    all->add(Keys(block->slot, 0).block, next_time());
    return all;
}

/* ---- clocks of flags, counters and barriers ---- */

std::map<const void *, Seen> emu::released;

void emu::pass_clock(const void *object, int kind) {
    const bool shared = offset_of(object) < shared_bytes;
    Seen &clock = released[object], &mine = shared ? self->seen : self->unfenced;
    if (kind & EMU_READ)
        mine = joined(mine, clock);
    if (kind & EMU_WRITE)
        clock = joined(clock, shared ? knowledge(self) : self->fenced);
}

void __threadfence() {
    self->seen = joined(self->seen, self->unfenced);
    self->unfenced = nullptr;
    self->fenced = knowledge(self);
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

void emu::forget_accesses(const void *p, size_t bytes) {
    clear(&words[offset_of(p) / 4], (bytes + 3) / 4 * sizeof(Word));
    released.erase(released.lower_bound(p), released.lower_bound((const char *)p + bytes));
}

/* Was that access by one of the running thread's block as it is now? */
static bool of_own_block(const Cell &c) {
    return c.slot == self->block->slot && c.time > self->block->start;
}

/* Is that access, if there was one, ordered before what the running thread does now? */
static bool before(const Cell &c) {
    const Block *const own = self->block, *const other = blocks[c.slot];
    if (c.time == 0 || (of_own_block(c) &&
                        (c.thread == self->thread || c.time <= own->time ||
                         (c.thread / 32 == self->thread / 32 && c.time <= self->groups[0]->time))))
        return true;
    if (other && other->cluster == own->cluster && c.time > other->start &&
        c.time <= own->cluster->time)
        return true;
    return self->seen && self->seen->has(Keys(c.slot, c.thread), c.time);
}

/* Ends in a report if what the running thread does now may come before what c tells of. */
static void check_order(const Cell &c, const char *did, const Cell &now, const char *does,
                        bool shared) {
    if (!(c.bytes & now.bytes) || (c.ordered && now.ordered) || before(c))
        return;
    report((const void *)(uintptr_t)now.where,
           "data race on %s memory: %s what thread %u%s %s, and nothing orders the two (%s), at\n"
           "      %s",
           shared ? "shared" : "global", does, (unsigned)c.thread,
           of_own_block(c) ? "" : " of another block or kernel", did,
           shared ? "a barrier between them"
                  : "a barrier, an event, __threadfence before a flag is raised and after it "
                    "is seen",
           source_of((const void *)(uintptr_t)c.where).c_str());
}

/* Kept are one read that is not ordered before the next ones, and the last. */
static void note_read(Word &word, Cell now) {
    Cell &c = before(word.reads[0]) ? word.reads[0] : word.reads[1];
    if (c.time == now.time && c.slot == now.slot && c.thread == now.thread)
        now.bytes |= c.bytes;
    c = now;
}

void emu::check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where) {
    if (!settings.races)
        return;
    const bool shared = offset < shared_bytes;
    const size_t end = offset + bytes;
    Cell now = {self->thread, self->block->slot, self->time, where.bits, 0, ordered};
    for (size_t at = offset & ~(size_t)3; at < end; at += 4) {
        Word &word = words[at / 4];
        now.bytes =
            (at < offset ? 15 << (offset - at) : 15) & (at + 4 > end ? 15 >> (at + 4 - end) : 15);
        check_order(word.write, "wrote", now, kind & EMU_WRITE ? "writes" : "reads", shared);
        if (kind & EMU_WRITE) {
            check_order(word.reads[0], "read", now, "writes", shared);
            check_order(word.reads[1], "read", now, "writes", shared);
            word.write = now;
        } else {
            note_read(word, now);
        }
    }
}

void emu::check_end(const Block *block) {
    if (!settings.races || block->cluster->blocks.size() == 1)
        return;
    for (const Fibre *f : block->fibres) /* whoever ends last stands for the block */
        self->seen = joined(self->seen, f->seen);
    const Word *const word = &words[offset_of(block->shared()) / 4];
    for (size_t k = 0; k < block->grid->shared_used / 4; k++)
        for (const Cell &c : {word[k].write, word[k].reads[0], word[k].reads[1]})
            if (c.slot != block->slot && !before(c))
                report((const void *)(uintptr_t)c.where,
                       "uses the shared memory of a block of its cluster that may have "
                       "ended: the block does not wait for this access");
}
