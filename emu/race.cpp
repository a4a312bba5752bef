/* SPDX-License-Identifier: Apache-2.0 */
/* Races on shared memory. Of every word it is kept who wrote it last and which two threads read it
 * last. An access by another thread is ordered behind those if a block barrier lies between, or a
 * chain of releases and acquires: __syncwarp, barriers of copies, atomics on the same address. */
#include <sys/mman.h>

#include "emu.h"

namespace emu {

namespace {

struct Cell {
    uint64_t epoch; /* of the block, which tells barriers apart; 0: no access */
    Where where;
    uint32_t clock;
    uint16_t thread;
    uint8_t bytes; /* one bit for each of the word */
    bool ordered;
};

} // namespace

struct Word {
    Cell write, reads[2];
};

namespace {

bool conflicts(const Cell &c, const Cell &now) {
    if (c.epoch != now.epoch || c.thread == now.thread || !(c.bytes & now.bytes))
        return false;
    if (c.ordered && now.ordered)
        return false;
    return self->seen.size() <= c.thread || self->seen[c.thread] < c.clock;
}

void check_against(const Cell &c, const Cell &now, const char *then, const char *what) {
    if (conflicts(c, now))
        report(now.where,
               "data race on shared memory: %s what thread %u %s, with no barrier between, at\n"
               "      %s",
               what, c.thread, then, source_of(c.where).c_str());
}

void remember_read(Word *word, const Cell &now) {
    Cell &first = word->reads[0];
    const bool mine = first.thread == now.thread || first.epoch != now.epoch;
    Cell &c = mine ? first : word->reads[1];
    const bool same = c.thread == now.thread && c.epoch == now.epoch && c.clock == now.clock;
    const uint8_t bytes = same ? c.bytes : 0;
    c = now;
    c.bytes |= bytes;
}

void visit(Word *word, const Cell &now, int kind) {
    const bool writes = kind & EMU_WRITE;
    check_against(word->write, now, "wrote", writes ? "writes" : "reads");
    if (!writes) {
        remember_read(word, now);
        return;
    }
    check_against(word->reads[0], now, "read", "writes");
    check_against(word->reads[1], now, "read", "writes");
    word->write = now;
}

} // namespace

void check_race(const void *p, size_t bytes, int kind, bool ordered, const Where &where) {
    Block *const block = self->block;
    if (!settings().races)
        return;
    if (!block->words)
        block->words =
            (Word *)mmap(nullptr, shared_region / 4 * sizeof(Word), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const size_t begin = (size_t)((const unsigned char *)p - block->shared), end = begin + bytes;
    for (size_t at = begin & ~(size_t)3; at < end; at += 4) {
        unsigned mask = 15;
        if (at < begin)
            mask &= 15u << (begin - at);
        if (at + 4 > end)
            mask &= 15u >> (at + 4 - end);
        const Cell now = {block->epoch,           where,         self->clock,
                          (uint16_t)self->thread, (uint8_t)mask, ordered};
        visit(&block->words[at / 4], now, kind);
    }
}

static void raise(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
    if (to.size() < from.size())
        to.resize(from.size());
    for (size_t k = 0; k < from.size(); k++)
        to[k] = to[k] > from[k] ? to[k] : from[k];
}

/* What a thread has seen, its own doings included. */
static void add_thread(std::vector<uint32_t> &to, const Fibre *f) {
    raise(to, f->seen);
    if (to.size() <= f->thread)
        to.resize(f->block->threads);
    to[f->thread] = f->clock;
}

void release_clock(const void *object) {
    if (!settings().races)
        return;
    add_thread(self->block->released[object], self);
    self->clock++;
}

void acquire_clock(const void *object) {
    const auto found = self->block->released.find(object);
    if (found != self->block->released.end())
        raise(self->seen, found->second);
}

void join_clocks(Fibre *const fibres[], size_t count) {
    if (!settings().races)
        return;
    std::vector<uint32_t> all;
    for (size_t k = 0; k < count; k++)
        add_thread(all, fibres[k]);
    for (size_t k = 0; k < count; k++) {
        fibres[k]->seen = all;
        fibres[k]->clock++;
    }
}

} // namespace emu
