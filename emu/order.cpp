/* SPDX-License-Identifier: Apache-2.0 */
/* Races. For every word of memory emu records who wrote it last and which two threads read it, and
 * when; the next access must be ordered after those. docs/emu.md says what orders accesses. */
#include "emu.h"

using namespace emu;

/* ---- what is visible ---- */

/* The keys of a block, its warps and its threads, which follow each other. */
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

/* A number that no other object has had, copies of it neither. */
struct Serial {
    uint64_t number = next();
    Serial() = default;
    Serial(const Serial &) {}
    Serial &operator=(const Serial &) = delete;

  private:
    static uint64_t next() {
        static uint64_t latest;
        return ++latest;
    }
};

/* What a list, read by rising keys, has said of a whole block: its key comes before its parts'. */
struct Whole {
    using Entry = std::pair<uint32_t, uint64_t>;
    Entry block = {1, 0};
    void note(const Entry &entry) {
        if (entry.first % (2 * most_threads) == 0)
            block = entry;
    }
    bool covers(const Entry &part) const {
        return part.first / (2 * most_threads) * (2 * most_threads) == block.first &&
               part.second <= block.second;
    }
};

struct emu::Known : std::vector<std::pair<uint32_t, uint64_t>> { /* times by key */
    Serial serial;

    void add(uint32_t key, uint64_t time) {
        if (time == 0)
            return;
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
    /* Is anything known of some threads or warps of a block, and not of others? */
    bool has_parts(const Keys &keys) const {
        const auto at =
            std::lower_bound(begin(), end(), std::make_pair(keys.block + 1, (uint64_t)0));
        return at != end() && at->first < keys.block + 2 * most_threads;
    }
    /* Up to when all is known of what has that key; 0: of nothing. */
    uint64_t time_of(uint32_t key) const {
        const auto at = std::lower_bound(begin(), end(), std::make_pair(key, (uint64_t)0));
        return at != end() && at->first == key ? at->second : 0;
    }
    bool has_part(const Keys &keys, uint64_t time) const {
        return has(keys.warp, time) || has(keys.thread, time);
    }
    /* Both lists are sorted by key, so one pass compares them. */
    bool has_all(const Known &other) const {
        auto mine = begin();
        Whole whole;
        for (const auto &entry : other) {
            for (; mine != end() && mine->first <= entry.first; ++mine)
                whole.note(*mine);
            const bool same = mine != begin() && mine[-1].first == entry.first;
            if (!(same && mine[-1].second >= entry.second) && !whole.covers(entry))
                return false;
        }
        return true;
    }
    /* Adds what comes behind all that is there, unless it is known with the whole block. */
    void append(const value_type &entry, Whole *whole) {
        if (whole->covers(entry))
            return;
        whole->note(entry);
        push_back(entry);
    }
};

/* Everything in either list, in one pass through both. */
static Seen merged(const Known &a, const Known &b) {
    const auto all = std::make_shared<Known>();
    all->reserve(a.size() + b.size());
    auto from_a = a.begin(), from_b = b.begin();
    Whole whole;
    while (from_a != a.end() || from_b != b.end()) {
        if (from_b == b.end() || (from_a != a.end() && from_a->first < from_b->first)) {
            all->append(*from_a++, &whole);
        } else if (from_a == a.end() || from_b->first < from_a->first) {
            all->append(*from_b++, &whole);
        } else {
            all->append(from_a->second < from_b->second ? *from_b : *from_a, &whole);
            ++from_a;
            ++from_b;
        }
    }
    return all;
}

/* Is all of b in a? Threads that have met know the same, and each of them brings it to what is
 * joined, so answers are kept. */
static bool contains(const Known &a, const Known &b) {
    static struct {
        uint64_t a, b;
        bool yes;
    } answers[4096];
    const uint64_t first = a.serial.number, second = b.serial.number;
    const uint64_t mixed = (first * 0x9e3779b97f4a7c15u + second) * 0xbf58476d1ce4e5b9u;
    auto &answer = answers[mixed >> 52];
    if (answer.a != first || answer.b != second)
        answer = {first, second, a.has_all(b)};
    return answer.yes;
}

Seen emu::joined(const Seen &a, const Seen &b) {
    if (a == b || !b || (a && contains(*a, *b)))
        return a;
    if (!a || contains(*b, *a))
        return b;
    return merged(*a, *b);
}

/* A list to which so many are added. */
static std::shared_ptr<Known> copied(const Seen &seen, size_t added) {
    const auto all = std::make_shared<Known>();
    all->reserve((seen ? seen->size() : 0) + added);
    if (seen)
        all->insert(all->end(), seen->begin(), seen->end());
    return all;
}

/* Adds what a thread sees after all of its cluster met at that time. */
static void add_cluster(Known *all, const Cluster *cluster, uint64_t time) {
    for (const Block *block : cluster->blocks)
        all->add(Keys(block->slot, 0).block, time);
}

Seen emu::knowledge(Fibre *f) {
    const auto all = copied(f->seen, 3 + f->block->cluster->blocks.size());
    const Keys own(f->block->slot, f->thread);
    all->add(own.thread, f->time);
    all->add(own.warp, f->groups[0]->time);
    all->add(own.block, f->block->time);
    add_cluster(all.get(), f->block->cluster, f->block->cluster->time);
    f->time = next_time();
    return all;
}

/* What the threads' fences cover after they met. If all threads of a warp or block (`together`)
 * have fenced since they last met, that counts as one fence of the group, made when the last one
 * was. */
static Seen fenced_by(const std::vector<Fibre *> &threads, bool together) {
    Seen seen;
    uint64_t last = 0;
    for (const Fibre *f : threads) {
        seen = joined(seen, f->fence.seen);
        last = std::max(last, f->fence.thread);
        together = together && f->fence.thread > 0;
    }
    if (last == 0)
        return seen;
    const auto all = copied(seen, threads.size() + 3);
    const bool warp = threads.size() <= 32;
    for (const Fibre *f : threads) {
        const Keys own(f->block->slot, f->thread);
        if (f->fence.thread == 0)
            continue;
        if (!together)
            all->add(own.thread, f->fence.thread);
        all->add(own.warp, together && warp ? last : f->fence.warp);
        all->add(own.block, together && !warp ? last : f->fence.block);
        add_cluster(all.get(), f->block->cluster, f->fence.cluster);
    }
    return all;
}

uint64_t emu::join(const std::vector<Fibre *> &threads, bool together) {
    Seen all, unfenced;
    const Seen fenced = fenced_by(threads, together);
    for (Fibre *f : threads) {
        all = joined(all, together ? f->seen : knowledge(f));
        unfenced = joined(unfenced, f->unfenced);
    }
    const uint64_t before = next_time(), after = next_time();
    for (Fibre *f : threads) {
        f->seen = all;
        f->fence = {fenced, 0, 0, 0, 0};
        f->unfenced = unfenced;
        f->time = after;
    }
    return before;
}

Seen emu::end_of(const Block *block) {
    const auto all = std::make_shared<Known>();
    all->add(Keys(block->slot, 0).block, next_time());
    Seen seen = all;
    for (const Fibre *f : block->fibres)
        seen = block->grid->looks_far ? joined(seen, f->seen) : seen;
    return seen;
}

/* ---- clocks of flags, counters and barriers ---- */

std::map<std::pair<const void *, int>, Seen> emu::released;

/* All that the running thread did and saw before its last fence. */
static const Seen &fenced() {
    if (self->fence.thread > 0)
        self->fence = {fenced_by({self}, false), 0, 0, 0, 0};
    return self->fence.seen;
}

/* The same between all devices. */
static void pass_to_all(const void *object, int kind, Seen *mine) {
    Seen &clock = released[{object, any_device}];
    if (kind & EMU_READ) {
        *mine = joined(*mine, clock);
        self->block->grid->looks_far = true;
    }
    if (kind & EMU_WRITE)
        clock = joined(clock, fenced());
}

void emu::pass_clock(const void *object, int kind) {
    const bool shared = offset_of(object) < shared_bytes;
    Seen &clock = released[{object, self->block->grid->device}];
    Seen &mine = shared ? self->seen : self->unfenced;
    if (kind & EMU_READ)
        mine = joined(mine, clock);
    if (kind & EMU_SYSTEM)
        pass_to_all(object, kind, &mine);
    if (!(kind & EMU_WRITE))
        return;
    if (shared && kind & EMU_READ) /* it knows all that the clock does, and its own doings */
        clock = knowledge(self);
    else
        clock = joined(clock, shared ? knowledge(self) : fenced());
}

void __threadfence() {
    self->seen = joined(self->seen, self->unfenced);
    self->unfenced = nullptr;
    self->fence = {self->seen, self->time, self->groups[0]->time, self->block->time,
                   self->block->cluster->time};
    self->time = next_time();
    give_way();
}

void emu_bulk_fence() {
    self->engine_fences.push_back(self->time);
    self->time = next_time();
}

/* ---- accesses ---- */

/* An access: when and by whom; where in the source, which bytes of the word, whether ordered with
 * others of its kind, or made by the copy engine, and on which device. In two words, not in bit
 * fields: to write a part of a word and then read all of it would stall the processor at every
 * access. All zeros: no access. */
struct Cell {
    uint64_t who, what;
    static Cell of(unsigned thread, unsigned slot, uint64_t time, uint64_t where, bool ordered,
                   int kind, int device) {
        return {time << 24 | slot << 10 | thread,
                where | (uint64_t)ordered << 52 | (uint64_t)((kind & by_engine) != 0) << 53 |
                    (uint64_t)((kind & EMU_SYSTEM) != 0) << 54 | (uint64_t)device << 55};
    }
    unsigned thread() const {
        return who & 1023;
    }
    unsigned slot() const {
        return who >> 10 & 16383;
    }
    uint64_t time() const {
        return who >> 24;
    }
    const void *where() const {
        return (const void *)(uintptr_t)(what & (((uint64_t)1 << 48) - 1));
    }
    unsigned bytes() const {
        return what >> 48 & 15;
    }
    bool ordered() const {
        return what >> 52 & 1;
    }
    bool engine() const {
        return what >> 53 & 1;
    }
    bool system() const {
        return what >> 54 & 1;
    }
    int device() const {
        return what >> 55 & 7;
    }
    /* Can two ordered accesses not race? Those of two devices can, unless both are of system scope.
     */
    bool is_ordered_with(const Cell &other) const {
        return ordered() && other.ordered() &&
               (device() == other.device() || (system() && other.system()));
    }
    Cell with_bytes(unsigned bytes) const {
        return {who, what | (uint64_t)bytes << 48};
    }
};

/* The history of four bytes of the arena. */
struct Word {
    Cell write, reads[2];
};
static Word *const words = (Word *)reserve(arena_bytes / 4 * sizeof(Word));

void emu::forget_accesses(const void *p, size_t bytes) {
    clear(&words[offset_of(p) / 4], (bytes + 3) / 4 * sizeof(Word));
    released.erase(released.lower_bound({p, any_device}),
                   released.lower_bound({(const char *)p + bytes, any_device}));
}

/* Was that access made by a thread of the running thread's block, in its present life? */
static bool of_own_block(const Cell &c) {
    return c.slot() == self->block->slot && c.time() > self->block->start;
}

/* Has `seen` that access of a thread, or of its warp? One access often touched many words, as a
 * copy of a box does, so answers are kept. */
static bool seen_part(const Known &seen, const Keys &keys, const Cell &c) {
    static struct {
        uint64_t serial, who;
        bool yes;
    } answers[1024];
    const uint64_t mixed = (c.who + seen.serial.number * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    auto &answer = answers[mixed >> 54];
    if (answer.serial != seen.serial.number || answer.who != c.who)
        answer = {seen.serial.number, c.who, seen.has_part(keys, c.time())};
    return answer.yes;
}

/* Has the running thread seen that access, of another thread? What was written before a kernel is
 * read by many threads that know the same: what they know of a block is looked up once. */
static bool seen_before(const Cell &c) {
    static struct {
        uint64_t serial, time;
        unsigned slot;
        bool parts;
    } found[256]; /* by slot */
    const Known *const seen = self->seen.get();
    if (!seen)
        return false;
    auto &f = found[c.slot() % 256];
    const Keys keys(c.slot(), c.thread());
    if (f.serial != seen->serial.number || f.slot != c.slot())
        f = {seen->serial.number, seen->time_of(keys.block), c.slot(), seen->has_parts(keys)};
    return c.time() <= f.time || (f.parts && seen_part(*seen, keys, c));
}

/* The same of one that `is_known` does not know. */
__attribute__((noinline)) static bool is_seen(const Cell &c) {
    const Block *const own = self->block;
    if (c.time() <= own->cluster->time) {
        const Block *const other = blocks[c.slot()];
        if (other && other->cluster == own->cluster && c.time() > other->start)
            return true;
    }
    return seen_before(c);
}

/* What the running thread knows of its own block, which answers most questions. */
struct Own {
    uint64_t who, start, met, warp_met; /* as in a cell, but for the time; and when */
    Own()
        : who((uint64_t)self->block->slot << 10 | self->thread), start(self->block->start),
          met(self->block->time), warp_met(self->groups[0]->time) {}
    bool knows(const Cell &c) const {
        const uint64_t apart = c.who ^ who, time = c.time();
        if (apart << 40 >> 50 != 0 || time <= start)
            return time == 0;
        return time <= met || apart << 54 == 0 || (apart << 54 >> 59 == 0 && time <= warp_met);
    }
};

/* Was that access, if there was one, ordered before what the running thread does now? */
static inline bool before(const Cell &c, const Own &own = Own()) {
    return own.knows(c) || is_seen(c);
}

/* Did its thread tell the copy engine of that access before what the running thread does now? */
static bool engine_sees(const Cell &c) {
    const Block *const block = blocks[c.slot()];
    if (c.time() == 0 || c.engine() || !block || c.time() <= block->start)
        return true;
    const std::vector<uint64_t> &fences = block->fibres[c.thread()]->engine_fences;
    const auto next = std::lower_bound(fences.begin(), fences.end(), c.time());
    return next != fences.end() && before(Cell::of(c.thread(), c.slot(), *next, 0, false, 0, 0));
}

[[noreturn]] static void report_race(const Cell &c, const char *did, const Cell &now,
                                     const char *does, bool shared) {
    report(now.where(),
           "data race on %s memory: %s what thread %u%s %s, and nothing orders the two (%s), at\n"
           "      %s",
           shared ? "shared" : "global", does, c.thread(),
           of_own_block(c) ? "" : " of another block or kernel", did,
           shared                         ? "a barrier between them"
           : c.ordered() && now.ordered() ? "of two devices, both need system scope"
                                          : "a barrier, an event, __threadfence before a flag is "
                                            "raised and after it is seen",
           source_of(c.where()).c_str());
}

/* Is what the running thread does now not ordered after c? */
static inline bool races(const Cell &c, const Cell &now, const Own &own) {
    return !own.knows(c) && (c.bytes() & now.bytes()) && !c.is_ordered_with(now) && !is_seen(c);
}

static void check_engine(const Cell &c, const char *did, const Cell &now) {
    if ((c.bytes() & now.bytes()) && !engine_sees(c))
        report(now.where(),
               "a bulk copy of shared memory may come before what thread %u %s there: that "
               "thread has not called fence.proxy.async since, at\n      %s",
               c.thread(), did, source_of(c.where()).c_str());
}

/* Two reads are kept: the last, and one that is not ordered before the later ones. */
static inline void note_read(Word &word, const Cell &now, const Own &own) {
    Cell &c = before(word.reads[0], own) ? word.reads[0] : word.reads[1];
    c = c.who == now.who ? now.with_bytes(c.bytes()) : now;
}

/* What the copy engine does to shared memory must come after what threads told it of. */
static void check_engines(const Word &word, const Cell &now, int kind) {
    check_engine(word.write, "wrote", now);
    if (kind & EMU_WRITE)
        for (const Cell &read : word.reads)
            check_engine(read, "read", now);
}

void emu::check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where) {
    if (!settings.races)
        return;
    const bool shared = offset < shared_bytes, writes = kind & EMU_WRITE;
    const size_t end = offset + bytes;
    const Own own;
    const Cell access = Cell::of(self->thread, self->block->slot, self->time, where.bits, ordered,
                                 kind, self->block->grid->device);
    for (size_t at = offset & ~(size_t)3; at < end; at += 4) {
        Word &word = words[at / 4];
        const Cell now = access.with_bytes((at < offset ? 15u << (offset - at) & 15 : 15) &
                                           (at + 4 > end ? 15u >> (at + 4 - end) : 15));
        if (races(word.write, now, own))
            report_race(word.write, "wrote", now, writes ? "writes" : "reads", shared);
        if (now.engine() && shared)
            check_engines(word, now, kind);
        if (writes) {
            for (const Cell &read : word.reads)
                if (races(read, now, own))
                    report_race(read, "read", now, "writes", shared);
            word.write = now;
        } else {
            note_read(word, now, own);
        }
    }
}

void emu::check_end(const Block *block) {
    if (!settings.races || block->cluster->blocks.size() == 1)
        return;
    for (const Fibre *f : block->fibres) /* the thread that ends last represents the block */
        self->seen = joined(self->seen, f->seen);
    const Word *const word = &words[offset_of(block->shared()) / 4];
    for (size_t k = 0; k < block->grid->shared_used / 4; k++)
        for (const Cell &c : {word[k].write, word[k].reads[0], word[k].reads[1]})
            if (c.slot() != block->slot && !before(c))
                report(c.where(), "uses the shared memory of a block of its cluster that may have "
                                  "ended: the block does not wait for this access");
}
