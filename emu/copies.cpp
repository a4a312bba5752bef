// SPDX-License-Identifier: Apache-2.0
// The copy engine: bulk copies, boxes of matrices, and the barriers in shared memory that signal
// their completion.
#include "emu.h"

#include <array>
#include <cudaTypedefs.h>
#include <string.h>

using namespace emu;

/* A barrier in shared memory, which changes only atomically. */
struct Barrier {
    uint64_t expected : 16, pending : 16, phase : 1;
    int64_t bytes : 31; /* announced and not yet arrived */
};

/* ---- bulk copies and their barriers ---- */

static Barrier *barrier_at(uint64_t *word, int kind, Where where, const char *what) {
    check_access(word, sizeof *word, kind, true, where, what);
    return (Barrier *)word;
}

/* Counts an arrival at a barrier of that block; when everything has arrived, the phase ends. */
static void count_in(const Block *block, Barrier *b, unsigned arrivals, int64_t bytes) {
    pass_clock(b, EMU_WRITE);
    b->pending -= arrivals;
    b->bytes -= bytes;
    if (b->pending > 0 || b->bytes != 0)
        return;
    b->phase ^= 1;
    b->pending = b->expected;
    idle_spins = 0;
    for (Fibre *f : block->fibres)
        if (f->state == WAITING && !f->group && f->value == (uint64_t)b)
            make_ready(f);
}

void emu_barrier_init(uint64_t *barrier, unsigned count) {
    *barrier_at(barrier, EMU_WRITE, __builtin_return_address(0), "barrier init") = {count, count, 0,
                                                                                    0};
}

void emu_barrier_arrive(uint64_t *barrier, unsigned bytes) {
    const Where caller = __builtin_return_address(0);
    Barrier *const b = barrier_at(barrier, EMU_BOTH, caller, "arrival");
    if (b->pending == 0)
        report(caller, "more arrivals in a phase than the %u the barrier was initialised with",
               (unsigned)b->expected);
    count_in(self->block, b, 1, -(int64_t)bytes);
    give_way();
}

/* The same at another block of the cluster, which must still be there. */
void emu_barrier_arrive_at(uint64_t *barrier, unsigned rank, emu_site at) {
    Barrier *const b =
        barrier_at((uint64_t *)emu_cluster_map(barrier, rank, at), EMU_BOTH, at, at.what);
    if (b->pending == 0)
        report(at, "more arrivals in a phase than the %u the barrier was initialised with",
               (unsigned)b->expected);
    count_in(self->block->cluster->blocks[rank], b, 1, 0);
    give_way();
}

/* A copy ends as late as possible: when somebody has waited for its barrier or, for a copy to
 * global memory, when the thread that began it has waited. */
static void finish_copies(const void *until) {
    std::vector<Copy> &copies = self->block->copies;
    for (const Copy &copy : copies)
        if (copy.until == until)
            copy.move();
    copies.erase(std::remove_if(copies.begin(), copies.end(),
                                [=](const Copy &copy) { return copy.until == until; }),
                 copies.end());
}

void emu_barrier_wait(uint64_t *barrier, unsigned parity, emu_site at) {
    const Barrier *const b = barrier_at(barrier, EMU_READ, at, at.what);
    give_way();
    if (b->phase == parity)
        wait_for(b, at);
    finish_copies(b);
    pass_clock(b, EMU_READ);
}

static void check_sixteen(const void *to, const void *from, size_t bytes, Where where) {
    if (((uintptr_t)to | (uintptr_t)from | bytes) % 16 != 0)
        report(where, "bulk copy of %zu bytes from %p to %p: all must be multiples of 16", bytes,
               from, to);
    check_access(from, bytes, EMU_READ | by_engine, false, where, "bulk copy");
    check_access(to, bytes, EMU_WRITE | by_engine, false, where, "bulk copy");
}

void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier) {
    check_sixteen(shared, global, bytes, __builtin_return_address(0));
    forget_marks(shared, bytes); /* uninitialized until the copy has ended */
    self->block->copies.push_back({barrier, [=] { move_bytes(shared, global, bytes); }});
    give_way();
    count_in(self->block, (Barrier *)barrier, 0, (int64_t)bytes);
}

void emu_send(void *to, const void *value, size_t bytes, uint64_t *barrier, unsigned rank,
              emu_site at) {
    constexpr size_t most = 16;
    if (self->index.cluster < 2)
        report(at, "%s in a cluster of one block: it needs at least 2", at.what);
    void *const there = emu_cluster_map(to, rank, at);
    Barrier *const b = (Barrier *)emu_cluster_map(barrier, rank, at);
    Block *const block = self->block->cluster->blocks[rank];
    std::array<char, most> kept;
    memcpy(kept.data(), value, bytes);
    check_access(there, bytes, EMU_WRITE, false, at, at.what);
    forget_marks(there, bytes);
    block->copies.push_back({b, [=] { move_bytes(there, kept.data(), bytes); }});
    give_way();
    count_in(block, b, 0, (int64_t)bytes);
}

/* Has no effect but on speed: the bytes may be written, by any thread, until they are read. */
void emu_bulk_prefetch(const void *global, size_t bytes) {
    if (((uintptr_t)global | bytes) % 16 != 0)
        report(__builtin_return_address(0),
               "prefetch of %zu bytes from %p: both must be multiples of 16", bytes, global);
}

void emu_bulk_store(void *global, const void *shared, size_t bytes) {
    check_sixteen(global, shared, bytes, __builtin_return_address(0));
    self->block->copies.push_back({self, [=] { move_bytes(global, shared, bytes); }});
    give_way();
}

void emu_bulk_wait() {
    finish_copies(self);
}

/* ---- boxes of a matrix ---- */

constexpr size_t line_bytes = 128, chunk_bytes = 16;
static const char zeros[chunk_bytes] = {};

/* Where a box begins in shared memory is a multiple of this. */
static size_t box_align(const CUtensorMap &map) {
    return map.shuffled ? 8 * map.line : 128;
}

/* The driver's checks that a description can fail here. */
CUresult emu_describe_boxes(CUtensorMap *map, CUtensorMapDataType type, unsigned rank, void *base,
                            const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                            const unsigned *steps, CUtensorMapInterleave,
                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill) {
    const unsigned widths[] = {1, 2, 2, 4, 8};
    *map = {};
    map->base = base;
    map->width = widths[type];
    map->line = box[0] * map->width;
    map->shuffled = swizzle != CU_TENSOR_MAP_SWIZZLE_NONE;
    const unsigned shuffled_line = swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : line_bytes;
    bool right = rank == 3 && (uintptr_t)base % 16 == 0 &&
                 (map->shuffled ? map->line == shuffled_line : map->line % chunk_bytes == 0);
    for (unsigned d = 0; right && d < rank; d++) {
        map->extents[d] = extents[d];
        map->box[d] = box[d];
        right = extents[d] > 0 && extents[d] <= (uint64_t)1 << 32 && box[d] > 0 && box[d] <= 256 &&
                steps[d] == 1;
        if (d > 0)
            right = right && strides[d - 1] % 16 == 0 && strides[d - 1] < (uint64_t)1 << 40;
        if (d > 0)
            map->strides[d] = strides[d - 1];
    }
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* 16 bytes of a box, of which some may lie outside of the matrix. */
struct BoxChunk {
    size_t to;          /* where it is in the box in shared memory, in bytes */
    size_t skipped;     /* its bytes before those in the matrix */
    size_t valid;       /* its bytes in the matrix */
    const char *global; /* where these are in global memory */
};

/* Calls f for each chunk of one line of a box. The line consists of the elements from number `at`
 * on of the matrix's line at `begin`, if the matrix has such a line (`there`). */
template <class F>
static void each_of_line(const CUtensorMap &from, int64_t at, unsigned line, const char *begin,
                         bool there, F f) {
    const int64_t length = (int64_t)(from.extents[0] * from.width);
    for (size_t chunk = 0; chunk < from.line / chunk_bytes; chunk++) {
        const int64_t x = at * from.width + (int64_t)(chunk * chunk_bytes);
        const int64_t first = std::max<int64_t>(x, 0);
        const int64_t last = std::min<int64_t>(x + (int64_t)chunk_bytes, length);
        const size_t turn = line * from.line / line_bytes % (from.line / chunk_bytes);
        const size_t place = from.shuffled ? chunk ^ turn : chunk;
        f(BoxChunk{line * from.line + place * chunk_bytes, (size_t)(first - x),
                   there && last > first ? (size_t)(last - first) : 0, begin + first});
    }
}

/* The same for each chunk of a box. */
template <class F>
static void each_chunk(const CUtensorMap &from, const int64_t at[3], F f) {
    for (unsigned line = 0; line < from.box[1] * from.box[2]; line++) {
        const int64_t y = at[1] + line % from.box[1], z = at[2] + line / from.box[1];
        const bool there =
            y >= 0 && y < (int64_t)from.extents[1] && z >= 0 && z < (int64_t)from.extents[2];
        const char *const begin =
            (const char *)from.base + y * (int64_t)from.strides[1] + z * (int64_t)from.strides[2];
        each_of_line(from, at[0], line, begin, there, f);
    }
}

static void check_box_align(const CUtensorMap &map, const void *shared, Where caller) {
    if ((uintptr_t)shared % box_align(map) != 0)
        report(caller, "box at %p in shared memory: it must be a multiple of %zu", shared,
               box_align(map));
}

/* A copy of lines to a block: each(f) calls f for each of their chunks, now to check them and when
 * the copy ends. */
template <class Each>
static void load_lines_to(Block *block, void *shared, const CUtensorMap &from, size_t lines,
                          uint64_t *barrier, Where caller, Each each) {
    const size_t bytes = lines * from.line;
    check_box_align(from, shared, caller);
    each([&](const BoxChunk &c) {
        if (c.valid > 0)
            check_access(c.global, c.valid, EMU_READ | by_engine, false, caller, "box");
    });
    check_access(shared, bytes, EMU_WRITE | by_engine, false, caller, "box");
    forget_marks(shared, bytes);
    block->copies.push_back({barrier, [=] {
                                 each([=](const BoxChunk &c) {
                                     char *const p = (char *)shared + c.to;
                                     move_bytes(p, zeros, chunk_bytes);
                                     move_bytes(p + c.skipped, c.global, c.valid);
                                 });
                             }});
    give_way();
    count_in(block, (Barrier *)barrier, 0, (int64_t)bytes);
}
template <class Each>
static void load_lines(void *shared, const CUtensorMap &from, size_t lines, uint64_t *barrier,
                       Where caller, Each each) {
    load_lines_to(self->block, shared, from, lines, barrier, caller, each);
}

/* An H200 takes another x for an illegal instruction. */
static void check_box_begin(const CUtensorMap &map, int x, Where caller) {
    if (x * (int64_t)map.width % (int64_t)chunk_bytes != 0)
        report(caller, "box that begins %d elements into its lines: not a multiple of %zu bytes", x,
               chunk_bytes);
}

void emu_box_load(void *shared, const CUtensorMap *map, int x, int y, int z, uint64_t *barrier) {
    const CUtensorMap from = *map;
    check_box_begin(from, x, __builtin_return_address(0));
    const std::array<int64_t, 3> at = {x, y, z};
    load_lines(shared, from, from.box[1] * from.box[2], barrier, __builtin_return_address(0),
               [=](auto f) { each_chunk(from, at.data(), f); });
}

void emu_box_load_to(void *shared, const CUtensorMap *map, int x, int y, int z, uint64_t *barrier,
                     unsigned blocks, emu_site at) {
    const CUtensorMap from = *map;
    check_box_begin(from, x, at);
    const std::array<int64_t, 3> first = {x, y, z};
    for (unsigned rank = 0; rank < self->index.cluster; rank++)
        if (blocks >> rank & 1)
            load_lines_to(self->block->cluster->blocks[rank], emu_cluster_map(shared, rank, at),
                          from, from.box[1] * from.box[2],
                          (uint64_t *)emu_cluster_map(barrier, rank, at), at,
                          [=](auto f) { each_chunk(from, first.data(), f); });
}

void emu_box_store(const CUtensorMap *map, int x, int y, int z, const void *shared) {
    const Where caller = __builtin_return_address(0);
    const CUtensorMap to = *map;
    const std::array<int64_t, 3> at = {x, y, z};
    check_box_begin(to, x, caller);
    check_box_align(to, shared, caller);
    check_access(shared, to.box[1] * to.box[2] * to.line, EMU_READ | by_engine, false, caller,
                 "box");
    each_chunk(to, at.data(), [&](const BoxChunk &c) {
        if (c.valid > 0)
            check_access(c.global, c.valid, EMU_WRITE | by_engine, false, caller, "box");
    });
    self->block->copies.push_back(
        {self, [=] {
             each_chunk(to, at.data(), [=](const BoxChunk &c) {
                 move_bytes((char *)c.global, (const char *)shared + c.to + c.skipped, c.valid);
             });
         }});
    give_way();
}

/* ---- walks through images ---- */

static bool fits_frame(int at) {
    return at >= -128 && at <= 127;
}

CUresult emu_describe_walk(CUtensorMap *map, CUtensorMapDataType type, unsigned rank, void *base,
                           const uint64_t *extents, const uint64_t *strides, const int *first,
                           const int *past, unsigned channels, unsigned pixels,
                           const unsigned *steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    const unsigned widths[] = {1, 2, 2, 4, 8};
    *map = {};
    map->base = base;
    map->width = widths[type];
    map->line = line_bytes;
    map->shuffled = 1;
    map->pixels = pixels;
    bool right = rank == 4 && (uintptr_t)base % 16 == 0 && channels * map->width == line_bytes &&
                 pixels > 0 && pixels <= 1024;
    for (unsigned d = 0; right && d < rank; d++) {
        map->extents[d] = extents[d];
        right = extents[d] > 0 && extents[d] <= (uint64_t)1 << 32;
        if (d > 0) {
            map->strides[d] = strides[d - 1];
            right = right && strides[d - 1] % 16 == 0 && strides[d - 1] < (uint64_t)1 << 40;
        }
    }
    for (unsigned d = 0; right && d < 2; d++) {
        map->first[d] = first[d];
        map->past[d] = past[d];
        map->steps[d] = steps[d + 1];
        right = fits_frame(first[d]) && fits_frame(past[d]) &&
                (int64_t)extents[d + 1] + past[d] > first[d] && map->steps[d] > 0 &&
                map->steps[d] <= 8;
    }
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* As each_chunk, for a walk from `at` on through pixels that lie `further` from it. */
template <class F>
static void each_walked(const CUtensorMap &from, std::array<int64_t, 4> at,
                        const std::array<int64_t, 2> &further, F f) {
    for (unsigned line = 0; line < from.pixels; line++) {
        const int64_t column = at[1] + further[0], row = at[2] + further[1];
        const bool there = column >= 0 && column < (int64_t)from.extents[1] && row >= 0 &&
                           row < (int64_t)from.extents[2] && at[3] >= 0 &&
                           at[3] < (int64_t)from.extents[3];
        const char *const begin = (const char *)from.base + column * (int64_t)from.strides[1] +
                                  row * (int64_t)from.strides[2] + at[3] * (int64_t)from.strides[3];
        each_of_line(from, at[0], line, begin, there, f);
        at[1] += from.steps[0];
        if (at[1] < (int64_t)from.extents[1] + from.past[0])
            continue;
        at[1] = from.first[0];
        at[2] += from.steps[1];
        if (at[2] < (int64_t)from.extents[2] + from.past[1])
            continue;
        at[2] = from.first[1];
        at[3]++;
    }
}

void emu_walk_load(void *shared, const CUtensorMap *map, const int *at, int column, int row,
                   uint64_t *barrier) {
    const Where caller = __builtin_return_address(0);
    const CUtensorMap from = *map;
    const std::array<int64_t, 4> begin = {at[0], at[1], at[2], at[3]};
    const std::array<int64_t, 2> further = {column, row};
    if (column < 0 || column > 255 || row < 0 || row > 255)
        report(caller, "a walk %d columns and %d rows further: both must be 0 to 255", column, row);
    load_lines(shared, from, from.pixels, barrier, caller,
               [=](auto f) { each_walked(from, begin, further, f); });
}
