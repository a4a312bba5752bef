/* SPDX-License-Identifier: Apache-2.0 */
/* Races. Of every word of shared and global memory it is kept who wrote it last and which two
 * threads read it last, and when. An access by another thread has to be ordered behind those: by a
 * barrier of the block or of the cluster, by __syncwarp, by the barriers of bulk copies, by atomics
 * on one address of shared memory, by __threadfence before an ordered write of a word and after an
 * ordered read of what was written; by the order of streams, events and waits, by launches from
 * kernels. */
#include "race.h"

namespace emu {

namespace {

enum Level : uint32_t {
    THREAD = 0u << 30,
    WARP = 1u << 30,
    BLOCK = 2u << 30
};
uint64_t now;

} // namespace

static Known everything; /* that blocks and copies did before they ended */

void note_end(const Block *block) {
    everything.add(block_key(block), next_time());
}

uint64_t floor_of(const Seen &seen) {
    return seen && running.empty() && seen->has_all(everything) ? now : 0;
}

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
    all->add(THREAD | f->id, f->time);
    all->add(WARP | f->id / 32, f->warp_time);
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

/* ---- clocks of flags, counters and barriers ---- */

/* Clocks of objects in shared memory stay with the block they lie in; others, while grids run. */
static std::unordered_map<const void *, Known> released_globally;

static std::unordered_map<const void *, Known> &clocks_with(const void *object) {
    const size_t offset = (size_t)((const unsigned char *)object - base);
    return in_shared(offset) ? blocks[offset / shared_region]->released : released_globally;
}

void forget_clocks() {
    released_globally.clear();
}

void release_clock(const void *object) {
    if (!words)
        return;
    auto &clocks = clocks_with(object);
    if (&clocks == &released_globally) {
        if (self->fenced)
            clocks[object].add(*self->fenced);
        return;
    }
    clocks[object].add(*knowledge(self));
    self->time = next_time();
}

void acquire_clock(const void *object) {
    if (!words)
        return;
    auto &clocks = clocks_with(object);
    const auto found = clocks.find(object);
    if (found == clocks.end())
        return;
    Seen &to = &clocks == &released_globally ? self->unfenced : self->seen;
    if (!to || !to->has_all(found->second))
        to = joined(to, std::make_shared<Known>(found->second));
}

void fence_clock() {
    if (!words)
        return;
    self->seen = joined(self->seen, self->unfenced);
    self->unfenced = nullptr;
    self->fenced = knowledge(self);
    self->time = next_time();
}

/* ---- accesses ---- */

Word *words;

bool before(const Cell &c, const Fibre *f) {
    return before_in_block(c, f) || (f->seen && (f->seen->has(BLOCK | c.slot(), c.time()) ||
                                                 f->seen->has(WARP | c.thread() / 32, c.time()) ||
                                                 f->seen->has(THREAD | c.thread(), c.time())));
}

static std::string doer_of(const Cell &c) {
    if (c.slot() >= most_slots)
        return "a copy or memset";
    std::string text = "thread " + std::to_string(c.thread() % threads_of_slot);
    if (c.slot() != self->block->slot || c.time() <= self->block->start)
        text += " of another block or kernel";
    return text;
}

void report_race(const Cell &c, const Cell &now, bool shared, const char *then, const char *what) {
    report(now.where(),
           "data race on %s memory: %s what %s %s, and nothing orders the two (%s), at\n      %s",
           shared ? "shared" : "global", what, doer_of(c).c_str(), then,
           shared
               ? "a barrier between them"
               : "a barrier, an event, __threadfence before a flag is raised and after it is seen",
           source_of(c.where()).c_str());
}

/* Copies are long, and orders that are missing mostly go wrong throughout: of their words, the
 * first and some 64 others are checked, at addresses that copies of other lengths take, too. */
void check_copy_race(const void *p, size_t bytes, int kind) {
    const size_t begin = (size_t)((const unsigned char *)p - base), end = begin + bytes;
    size_t stride = 4;
    while (bytes / stride > 64)
        stride *= 2;
    if (!words || begin >= arena_bytes)
        return;
    Visit visit(begin, false, nullptr);
    visit.word(begin & ~(size_t)3, begin, end, kind);
    for (size_t at = begin / stride * stride + stride; at < end; at += stride)
        visit.word(at, begin, end, kind);
}

void forget_accesses(const void *p, size_t bytes) {
    const size_t offset = (size_t)((const unsigned char *)p - base);
    if (words)
        clear((unsigned char *)&words[offset / 4], (bytes + 3) / 4 * sizeof(Word));
}

void check_end(Block *block) {
    if (!words || block->cluster->blocks.size() == 1)
        return;
    Seen all; /* whoever ends last stands for the block */
    for (unsigned t = 0; t < block->threads; t++)
        all = joined(all, block->fibres[t]->seen);
    self->seen = all;
    const Word *const word = &words[block->slot * shared_region / 4];
    for (size_t k = 0; k < block->grid->shared_used / 4; k++)
        for (const Cell &c : {word[k].write, word[k].reads[0], word[k].reads[1]})
            if (c.time() > block->start && c.slot() != block->slot && !before(c, self))
                report(c.where(), "uses the shared memory of a block of its cluster that may have "
                                  "ended: the block does not wait for this access");
}

} // namespace emu
