/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the accesses to each word of memory, and the check that every access goes
 * through: it has to be fast. race.cpp says what it is good for. */
#ifndef EMU_RACE_H
#define EMU_RACE_H

#include "emu.h"

namespace emu {

/* When and by whom, in one word that is compared by time; where, which bytes of the word, and
 * whether in an order with others like it. */
struct Cell {
    uint64_t when, what;

    uint64_t time() const {
        return when >> 24;
    }
    uint32_t thread() const {
        return when & 0xffffff;
    }
    uint32_t slot() const {
        return thread() / threads_of_slot;
    }
    Where where() const {
        return Where((const void *)(uintptr_t)(what & 0xffffffffffff));
    }
};
constexpr uint64_t all_bytes = (uint64_t)15 << 48, ordered_bit = (uint64_t)1 << 52;

struct Word {
    Cell write, reads[2];
};
extern Word *words; /* one for four bytes of the arena; NULL if races are not looked for */

/* Is that access ordered before what f does now, by what happened in its block; by anything? */
inline bool before_in_block(const Cell &c, const Fibre *f) {
    const Block *const block = f->block;
    const uint64_t time = c.time();
    return c.slot() == block->slot && time > block->start &&
           (c.thread() == f->id || time <= block->time ||
            (c.thread() / 32 == f->id / 32 && time <= f->warp_time));
}
bool before(const Cell &c, const Fibre *f);

[[noreturn]] void report_race(const Cell &c, const Cell &now, bool shared, const char *then,
                              const char *what);

/* An access by the running thread, and the time up to which all that was done to those words is
 * known to come before it. */
struct Visit {
    Cell now;
    uint64_t floor;
    bool shared;

    Visit(size_t offset, bool ordered, const Where &where)
        : now{self->time << 24 | self->id, where.bits | (ordered ? ordered_bit : 0)},
          shared(in_shared(offset)) {
        const uint64_t time =
            shared ? blocks[offset / shared_region]->start : self->block->grid->floor;
        floor = time << 24 | 0xffffff;
    }
    void against(const Cell &c, const char *then, const char *what) const {
        if (c.when > floor && c.what & now.what & all_bytes && !(c.what & now.what & ordered_bit) &&
            !before(c, self))
            report_race(c, now, shared, then, what);
    }
    /* May the read c be forgotten for this one, because it is ordered before it, as far as that is
     * quickly told? */
    bool replaces(const Cell &c) const {
        return c.when <= floor || before_in_block(c, self);
    }
    void read(Word *word) const {
        against(word->write, "wrote", "reads");
        Cell *const c = replaces(word->reads[0]) ? &word->reads[0] : &word->reads[1];
        if (c == &word->reads[1] && !replaces(*c) && c->slot() != self->block->slot)
            return;
        *c = {now.when, now.what | (c->when == now.when ? c->what & all_bytes : 0)};
    }
    void write(Word *word) const {
        against(word->write, "wrote", "writes");
        against(word->reads[0], "read", "writes");
        against(word->reads[1], "read", "writes");
        word->write = now;
    }
    /* Bytes [begin, end) of the arena, or of them what lies in the word at `at`. */
    void word(size_t at, size_t begin, size_t end, int kind) {
        uint64_t bytes = all_bytes;
        if (at < begin)
            bytes &= all_bytes << (begin - at);
        if (at + 4 > end)
            bytes &= all_bytes >> (at + 4 - end);
        now.what = (now.what & ~all_bytes) | bytes;
        if (kind & EMU_WRITE)
            write(&words[at / 4]);
        else
            read(&words[at / 4]);
    }
};

/* Whole words of global memory that nobody writes and many read cost little: they have been read by
 * two threads of other blocks in this grid's time, who stand for the rest. */
__attribute__((always_inline)) inline bool much_read(size_t offset, size_t bytes) {
    if (!words || bytes % 4 || offset % 4 || in_shared(offset))
        return false;
    const uint64_t floor = self->block->grid->floor << 24 | 0xffffff;
    const uint32_t slot = self->block->slot;
    const Word *const end = &words[(offset + bytes) / 4];
    for (const Word *w = &words[offset / 4]; w < end; w++) {
        const Cell &a = w->reads[0], &b = w->reads[1];
        if (w->write.when > floor || a.when <= floor || b.when <= floor || a.slot() == slot ||
            b.slot() == slot || (a.what & all_bytes) != all_bytes)
            return false;
    }
    return true;
}

__attribute__((always_inline)) inline void check_race(const void *p, size_t bytes, int kind,
                                                      bool ordered, const Where &where) {
    const size_t begin = (size_t)((const unsigned char *)p - base), end = begin + bytes;
    if (!words)
        return;
    Visit visit(begin, ordered, where);
    for (size_t at = begin & ~(size_t)3; at < end; at += 4)
        visit.word(at, begin, end, kind);
}

} // namespace emu

#endif
