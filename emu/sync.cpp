/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads meet: block barriers, warp operations, and the barriers of bulk copies. */
#include <string.h>

#include "emu.h"

namespace emu {

namespace {

bool same_site(const emu_site &a, const emu_site &b) {
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

int vote_of(const Block *block, emu_vote vote) {
    int count = 0;
    for (unsigned t = 0; t < block->threads; t++)
        count += block->fibres[t]->value != 0;
    return vote == EMU_AND ? count == (int)block->threads : vote == EMU_OR ? count > 0 : count;
}

/* The lane a shuffle reads. */
int source_lane(const Fibre *f) {
    const int lane = (int)f->thread % 32, group = lane & ~(f->width - 1);
    int source;
    switch (f->op) {
    case EMU_SHUFFLE:
        return group + (f->lane & (f->width - 1));
    case EMU_SHUFFLE_UP:
        source = lane - f->lane;
        return source < group ? lane : source;
    case EMU_SHUFFLE_DOWN:
        source = lane + f->lane;
        break;
    default:
        source = lane ^ f->lane;
    }
    return source >= group + f->width ? lane : source;
}

uint64_t shuffled(Fibre *f, const Lanes &in, Fibre *const lanes[32]) {
    const int source = source_lane(f);
    if (!(f->mask & in.waiting & 1u << source)) {
        self = f;
        report(f->pc, "%s reads lane %d, which takes no part (mask %#x)", f->at.what, source,
               f->mask);
    }
    return lanes[source]->value;
}

uint64_t balloted(const Fibre *f, const Lanes &in, Fibre *const lanes[32]) {
    uint64_t bits = 0;
    for (unsigned left = f->mask & in.waiting; left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        const uint64_t value = lanes[k]->value;
        bits |= (uint64_t)(f->op == EMU_MATCH ? value == f->value : value != 0) << k;
    }
    return bits;
}

/* Do all lanes that f waits for, and that have not ended, wait in the same operation? */
bool complete(const Fibre *f, const Lanes &in, Fibre *const lanes[32]) {
    if (f->mask & ~(in.waiting | in.ended))
        return false;
    for (unsigned left = f->mask & in.waiting; left; left &= left - 1) {
        const Fibre *const other = lanes[__builtin_ctz(left)];
        if (other->mask != f->mask || other->op != f->op)
            return false;
    }
    return true;
}

void finish_warp(const Fibre *first, Lanes *in, Fibre *const lanes[32]) {
    Fibre *members[32];
    size_t count = 0;
    for (unsigned left = first->mask & in->waiting; left; left &= left - 1)
        members[count++] = lanes[__builtin_ctz(left)];
    if (first->op == EMU_SYNCWARP && (in->waiting | in->ended) == ~0u)
        join_warp(members, count);
    else if (first->op == EMU_SYNCWARP)
        join_threads(members, count);
    else
        for (size_t k = 0; k < count; k++)
            members[k]->result = first->op >= EMU_BALLOT ? balloted(members[k], *in, lanes)
                                                         : shuffled(members[k], *in, lanes);
    in->waiting &= ~first->mask;
    for (size_t k = 0; k < count; k++)
        make_ready(members[k]);
}

/* What the eight bytes of a copy's barrier hold. */
struct Barrier {
    uint64_t phase : 1, expected : 15, pending : 15, used : 1;
    int64_t bytes : 32; /* announced and not in yet */
};
static_assert(sizeof(Barrier) == sizeof(uint64_t), "a barrier is one word");

Barrier read(const uint64_t *word) {
    Barrier b;
    memcpy(&b, word, sizeof b);
    return b;
}

/* Ends the phase if all is in, and wakes who waited for that. */
void write(const Block *block, uint64_t *word, Barrier b) {
    const bool ends = b.pending == 0 && b.bytes == 0;
    if (ends) {
        b.phase ^= 1;
        b.pending = b.expected;
    }
    memcpy(word, &b, sizeof b);
    if (!ends)
        return;
    note_progress();
    for (unsigned t = 0; t < block->threads; t++) {
        Fibre *const f = block->fibres[t];
        if (f->state == State::barrier && f->value == (uintptr_t)word && f->result != b.phase)
            make_ready(f);
    }
}

void check_barrier(const uint64_t *word, const Where &where, const char *what) {
    check_access(word, sizeof *word, EMU_READ | EMU_WRITE, true, where, what);
    if (!read(word).used)
        report(where, "%s of a barrier that was not initialised", what);
}

} // namespace

void settle_warp(Block *block, unsigned warp) {
    Lanes &in = block->warps[warp];
    Fibre *const *const lanes = &block->fibres[warp * 32];
    for (unsigned left = in.waiting; left; left &= in.waiting & (left - 1)) {
        const Fibre *const f = lanes[__builtin_ctz(left)];
        if (complete(f, in, lanes))
            finish_warp(f, &in, lanes);
    }
}

void settle_block(Block *block) {
    if (block->arrived == 0 || block->arrived < block->live)
        return;
    const Fibre *const first = block->fibres[0];
    bool together = block->live == block->threads;
    for (unsigned t = 0; t < block->threads && together; t++)
        together = same_site(block->fibres[t]->at, first->at);
    if (!together)
        report_waits("divergent barrier: not all threads of the block come to the same one");
    const int vote = first->op == EMU_NONE ? 0 : vote_of(block, (emu_vote)first->op);
    block->arrived = 0;
    join_block(block);
    note_progress();
    for (unsigned t = 0; t < block->threads; t++) {
        block->fibres[t]->result = (uint64_t)vote;
        make_ready(block->fibres[t]);
    }
}

void settle_cluster(Cluster *cluster) {
    if (cluster->arrived == 0 || cluster->arrived < cluster->live)
        return;
    cluster->arrived = 0;
    join_cluster(cluster);
    note_progress();
    for (Block *block : cluster->blocks)
        for (unsigned t = 0; t < block->threads; t++)
            if (block->fibres[t]->state == State::cluster_barrier)
                make_ready(block->fibres[t]);
}

void finish_copy(const Copy &copy) {
    Fibre *const before = self;
    self = copy.by;
    memcpy(copy.to, copy.from, copy.bytes);
    mark_written(copy.to, copy.bytes);
    if (copy.barrier) {
        release_clock(copy.barrier);
        Barrier b = read(copy.barrier);
        b.bytes -= (int64_t)copy.bytes;
        write(copy.by->block, copy.barrier, b);
    }
    self = before;
}

} // namespace emu

using namespace emu;

int emu_block_barrier(emu_vote vote, int value, emu_site at) {
    self->op = vote;
    self->value = (uint64_t)(int64_t)value;
    begin_wait(State::block_barrier, at, __builtin_return_address(0));
    self->block->arrived++;
    settle_block(self->block);
    let_others_run();
    return (int)self->result;
}

void emu_cluster_barrier(emu_site at) {
    begin_wait(State::cluster_barrier, at, __builtin_return_address(0));
    self->block->cluster->arrived++;
    settle_cluster(self->block->cluster);
    let_others_run();
}

void *emu_cluster_map(void *mine, unsigned rank, emu_site at) {
    const size_t offset = (size_t)((unsigned char *)mine - self->block->shared);
    if (offset >= shared_region)
        report(at, "%s of what is not in this block's shared memory", at.what);
    if (rank >= self->block->cluster->blocks.size())
        report(at, "%s to block %u of a cluster of %zu", at.what, rank,
               self->block->cluster->blocks.size());
    return self->block->cluster->blocks[rank]->shared + offset;
}

uint64_t emu_warp(emu_warp_op op, unsigned mask, uint64_t value, int lane, int width, emu_site at) {
    void *const pc = __builtin_return_address(0);
    if (!(mask >> self->thread % 32 & 1))
        report(pc, "%s with mask %#x, which leaves out the calling lane %u", at.what, mask,
               self->thread % 32);
    self->op = op;
    self->mask = mask;
    self->value = value;
    self->lane = lane;
    self->width = width;
    begin_wait(State::warp, at, pc);
    Lanes &in = self->block->warps[self->thread / 32];
    in.waiting |= 1u << self->thread % 32;
    if (!(mask & ~(in.waiting | in.ended)))
        settle_warp(self->block, self->thread / 32);
    let_others_run();
    return self->result;
}

unsigned __activemask() {
    unsigned mask = 0;
    const Block *const block = self->block;
    for (unsigned k = 0, t = self->thread / 32 * 32; k < 32 && t + k < block->threads; k++)
        if (t + k == self->thread || block->fibres[t + k]->state == State::ready)
            mask |= 1u << k;
    return mask;
}

void emu_barrier_init(uint64_t *barrier, unsigned count) {
    void *const pc = __builtin_return_address(0);
    check_access(barrier, sizeof *barrier, EMU_WRITE, true, pc, "barrier init");
    Barrier b = {};
    b.expected = b.pending = count;
    b.used = 1;
    memcpy(barrier, &b, sizeof b);
}

void emu_barrier_arrive(uint64_t *barrier, unsigned bytes) {
    void *const pc = __builtin_return_address(0);
    check_barrier(barrier, pc, "arrival");
    Barrier b = read(barrier);
    if (b.pending == 0)
        report(pc, "more arrivals in a phase than the %u the barrier was initialised with",
               (unsigned)b.expected);
    b.pending--;
    b.bytes += bytes;
    release_clock(barrier);
    write(self->block, barrier, b);
    give_way();
}

void emu_barrier_wait(uint64_t *barrier, unsigned parity, emu_site at) {
    void *const pc = __builtin_return_address(0);
    check_barrier(barrier, pc, "wait");
    give_way();
    if (read(barrier).phase == parity) {
        self->value = (uintptr_t)barrier;
        self->result = parity;
        begin_wait(State::barrier, at, pc);
        let_others_run();
    }
    acquire_clock(barrier);
}

static void check_copy(const void *to, const void *from, size_t bytes, const Where &where) {
    if (((uintptr_t)to | (uintptr_t)from | bytes) % 16 != 0)
        report(where, "bulk copy of %zu bytes from %p to %p: all must be multiples of 16", bytes,
               from, to);
    check_access(from, bytes, EMU_READ, false, where, "bulk copy");
    check_access(to, bytes, EMU_WRITE, false, where, "bulk copy");
}

void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier) {
    check_copy(shared, global, bytes, __builtin_return_address(0));
    forget_marks(shared, bytes); /* until the copy has ended */
    copies.push_back({self, shared, global, bytes, barrier});
    give_way();
}

void emu_bulk_store(void *global, const void *shared, size_t bytes) {
    check_copy(global, shared, bytes, __builtin_return_address(0));
    copies.push_back({self, global, shared, bytes, nullptr});
    give_way();
}

/* Ends all stores of the running thread. */
void emu_bulk_wait() {
    for (size_t k = copies.size(); k-- > 0;) {
        const Copy copy = copies[k];
        if (copy.by != self || copy.barrier)
            continue;
        copies.erase(copies.begin() + (long)k);
        finish_copy(copy);
    }
}
