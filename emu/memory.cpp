/* SPDX-License-Identifier: Apache-2.0 */
/* Device, pinned and shared memory: one range of addresses with red zones between allocations, and
 * for every byte a shadow byte that says whether it was ever written. Every access is checked:
 * kernels are compiled with the compiler's instrumentation for thread sanitizing, which calls the
 * functions at the end of this file; nothing else of that sanitizer is used. */
#include "emu.h"

#include <string.h>
#include <sys/mman.h>

using namespace emu;

constexpr size_t page = 4096, red_zone = 512;      /* around allocations and variables */
constexpr size_t give_back_from = (size_t)1 << 20; /* smaller allocations are cleared in place */

unsigned char *emu::base;
static unsigned char *shadow;
std::map<const void *, Piece> emu::pieces;
static size_t next_piece = shared_bytes, taken;
size_t emu::memory_limit = device_bytes;

size_t emu::taken_bytes() {
    return taken;
}

unsigned char *emu::reserve(size_t bytes) {
    void *const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        report(nullptr, "cannot reserve %zu bytes of address space", bytes);
    return (unsigned char *)p;
}

/* Runs before the constructors of any kernel's file. */
__attribute__((constructor(101))) static void set_up() {
    base = reserve(arena_bytes);
    shadow = reserve(arena_bytes);
}

void emu::clear(void *pages, size_t bytes) {
    if (bytes < give_back_from)
        memset(pages, 0, bytes);
    else
        madvise(pages, (bytes + page - 1) / page * page, MADV_DONTNEED);
}

/* ---- allocations ---- */

Piece *emu::take(size_t bytes, bool pinned, int device) {
    const size_t span = (bytes + red_zone + page - 1) / page * page;
    const size_t limit = pinned ? device_bytes : memory_limit;
    if (bytes > limit || taken + bytes > limit || next_piece + span > arena_bytes)
        return nullptr;
    unsigned char *const begin = base + next_piece;
    next_piece += span;
    taken += bytes;
    if (pinned)
        memset(shadow + offset_of(begin), 1, bytes);
    else
        set_reach(begin, bytes, 1u << device, 0);
    return &(pieces[begin] = {begin, bytes, pinned, device});
}

void emu::release(Piece *piece, Where where) {
    if (piece->dead)
        report(where, "double free of an allocation of %zu bytes", piece->bytes);
    piece->dead = true;
    taken -= piece->bytes;
    forget(piece->begin, piece->bytes);
}

void emu::forget(void *pages, size_t bytes) {
    clear(pages, bytes);
    clear(shadow + offset_of(pages), bytes);
    forget_accesses(pages, bytes);
}

void emu::forget_marks(const void *p, size_t bytes) {
    memset(shadow + offset_of(p), 0, bytes);
}

void emu::mark_written(const void *p, size_t bytes) {
    if (offset_of(p) < arena_bytes) /* not memory of the program that was registered */
        memset(shadow + offset_of(p), 1, bytes);
}

Piece *emu::find_piece(const void *p) {
    const auto above = pieces.upper_bound(p);
    return above == pieces.begin() ? nullptr : &std::prev(above)->second;
}

Piece *emu::live_piece(const void *p) {
    Piece *const piece = find_piece(p);
    return piece && !piece->dead && p < piece->begin + piece->bytes ? piece : nullptr;
}

/* ---- shared memory ---- */

void *emu_cluster_map(void *mine, unsigned rank, emu_site at) {
    const size_t offset = (size_t)((unsigned char *)mine - self->block->shared());
    if (offset >= shared_region || rank >= self->index.cluster)
        report(at, "%s of byte %td of this block's shared memory to block %u of a cluster of %u",
               at.what, (ptrdiff_t)offset, rank, self->index.cluster);
    return self->block->cluster->blocks[rank]->shared() + offset;
}

void *emu_shared(const void *key, size_t bytes, size_t align) {
    Grid *const grid = self->block->grid;
    for (const Grid::Variable &v : grid->variables)
        if (v.key == key)
            return self->block->shared() + v.at;
    const size_t at = (grid->shared_used + red_zone + align - 1) / align * align;
    grid->shared_named += bytes;
    const size_t limit = shared_limit_of(grid->shape.kernel);
    if (grid->shared_named > limit || at + bytes + red_zone > shared_region)
        report(__builtin_return_address(0),
               "%zu bytes of shared memory, and a block of this kernel may have %zu",
               grid->shared_named, limit);
    grid->variables.push_back({key, at, bytes});
    grid->shared_used = at + bytes;
    return self->block->shared() + at;
}

unsigned char *emu_dynamic_shared() {
    static const char key = 0;
    return (unsigned char *)emu_shared(&key, self->block->grid->shape.shared_bytes, 128);
}

/* ---- checks ---- */

static const char *verb(int kind) {
    return kind & EMU_WRITE ? "writes" : "reads";
}

/* The variable of a block's shared memory, or the allocation (maybe a dead one), that p is in or
 * after. */
static Piece nearest(const void *p, int kind, Where where) {
    Piece near = {base, 0, false, 0};
    const size_t slot = offset_of(p) / shared_region;
    if (slot >= most_blocks) {
        const Piece *const piece = find_piece(p);
        return piece && piece->begin >= base ? *piece : near;
    }
    const Block *const block = blocks[slot];
    if (!block || block->cluster != self->block->cluster || block->over())
        report(where, "%s shared memory of a block that has ended, or of another cluster",
               verb(kind));
    for (const Grid::Variable &each : block->grid->variables)
        if (block->shared() + each.at <= p)
            near = {block->shared() + each.at, each.bytes, false, 0};
    return near;
}

static void check_bounds(const void *p, size_t bytes, int kind, Where where) {
    const Piece near = nearest(p, kind, where);
    const size_t at = offset_of(p) - offset_of(near.begin);
    if (at + bytes > near.bytes)
        report(where, "%s %zu bytes out of bounds: %zu bytes from the start of %s of %zu bytes",
               verb(kind), bytes, at,
               offset_of(p) < shared_bytes ? "a shared variable" : "an allocation", near.bytes);
    if (near.dead)
        report(where, "use after free: %s %zu bytes at byte %zu of a freed allocation of %zu",
               verb(kind), bytes, at, near.bytes);
}

/* Were all these bytes written? A shadow byte is 0 or 1. */
template <class Marks>
static bool all_ones(const unsigned char *marks) {
    Marks read;
    memcpy(&read, marks, sizeof read);
    return read == (Marks)0x0101010101010101u;
}
static bool all_written(const unsigned char *marks, size_t bytes) {
    switch (bytes) {
    case 1:
        return *marks;
    case 2:
        return all_ones<uint16_t>(marks);
    case 4:
        return all_ones<uint32_t>(marks);
    case 8:
        return all_ones<uint64_t>(marks);
    case 16:
        return all_ones<uint64_t>(marks) && all_ones<uint64_t>(marks + 8);
    default:
        return !memchr(marks, 0, bytes);
    }
}

void emu::check_access(const void *p, size_t bytes, int kind, bool ordered, Where where,
                       const char *what) {
    const size_t offset = offset_of(p);
    if (offset >= arena_bytes || bytes == 0)
        return;
    steps += 1 + bytes / 16;
    unsigned char *const marks = shadow + offset;
    if (!all_written(marks, bytes)) {
        check_bounds(p, bytes, kind, where);
        if (kind & EMU_READ && !(kind & of_anything) && !memchr(marks, 1, bytes))
            report(where, "%s: reads %zu bytes of %s memory that were never written", what, bytes,
                   offset < shared_bytes ? "shared" : "global");
        if (kind & EMU_WRITE)
            memset(marks, 1, bytes);
    } else if (offset < shared_bytes && offset / shared_region != self->block->slot) {
        check_bounds(p, bytes, kind, where);
    }
    if (settings.devices > 1 && offset >= shared_bytes)
        check_reach(p, bytes, kind, where);
    check_race(offset, bytes, kind, ordered, where);
}

void emu::move_bytes(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    if (offset_of(to) < arena_bytes && offset_of(from) < arena_bytes)
        memcpy(shadow + offset_of(to), shadow + offset_of(from), bytes);
    else if (offset_of(to) < arena_bytes)
        memset(shadow + offset_of(to), 1, bytes);
}

void emu_move(void *to, const void *from, size_t bytes) {
    const Where caller = __builtin_return_address(0);
    check_access(from, bytes, EMU_READ | of_anything, false, caller, "kernel");
    check_access(to, bytes, EMU_WRITE, false, caller, "kernel");
    move_bytes(to, from, bytes);
    idle_spins = 0;
}

/* ---- hooks ---- */

/* An access reported by the compiler's instrumentation. Ordinary accesses may switch threads too,
 * but rarely do. */
static inline void hooked(const void *p, size_t bytes, int kind, Where where, bool aligned) {
    static unsigned until_switch = 1;
    if (offset_of(p) >= arena_bytes)
        return;
    if (!self)
        report(where, "host code %s device memory at %p", verb(kind), p);
    if (aligned && bytes <= 16 && (bytes & (bytes - 1)) == 0 && (uintptr_t)p % bytes != 0)
        report(where, "misaligned: %s %zu bytes at %p", verb(kind), bytes, p);
    if (--until_switch == 0) {
        until_switch = 1 + (unsigned)random_below(512);
        if (settings.policy == RANDOM || settings.policy == STARVE)
            give_way();
    }
    check_access(p, bytes, kind, false, where, "kernel");
    if (kind & EMU_WRITE)
        idle_spins = 0;
}

/* An access that lets other threads run first and may be part of a waiting loop. With `together` it
 * does not race with other such accesses. */
static void ordered(const void *p, size_t bytes, int kind, bool together, Where where,
                    const char *what) {
    spin(where, what);
    check_access(p, bytes, kind, together, where, what);
    pass_clock(p, kind);
    if (kind & EMU_READ)
        note_look(p, bytes);
}

void emu_before_ordered(const volatile void *p, size_t bytes, int kind, const emu_site &at) {
    ordered((const void *)p, bytes, kind, true, at, at.what);
}

void emu_after_ordered(int kind, bool changed) {
    if (changed)
        idle_spins = 0;
    if (kind & EMU_WRITE)
        give_way();
}

/* Reading the word again does not order anything: what others wrote must be visible, as for an
 * ordinary access. */
static void hooked_volatile(const void *p, size_t bytes, int kind, Where where) {
    if (!self || offset_of(p) >= arena_bytes)
        return;
    ordered(p, bytes, kind, false, where, "volatile access");
    if (kind == EMU_WRITE)
        idle_spins = 0;
}

/* Accesses that the compiler made unaligned on purpose, as clang does when it combines narrow ones,
 * are allowed. */
#define HERE __builtin_return_address(0)
#define HOOK(name, bytes, call)                                                                    \
    void __tsan_##name##bytes(void *p) {                                                           \
        call;                                                                                      \
    }
#define HOOKS(bytes)                                                                               \
    HOOK(read, bytes, hooked(p, bytes, EMU_READ, HERE, true))                                      \
    HOOK(write, bytes, hooked(p, bytes, EMU_WRITE, HERE, true))                                    \
    HOOK(unaligned_read, bytes, hooked(p, bytes, EMU_READ, HERE, false))                           \
    HOOK(unaligned_write, bytes, hooked(p, bytes, EMU_WRITE, HERE, false))                         \
    HOOK(volatile_read, bytes, hooked_volatile(p, bytes, EMU_READ, HERE))                          \
    HOOK(volatile_write, bytes, hooked_volatile(p, bytes, EMU_WRITE, HERE))

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_init() {}
void __tsan_read_range(void *p, size_t bytes) {
    hooked(p, bytes, EMU_READ, HERE, true);
}
void __tsan_write_range(void *p, size_t bytes) {
    hooked(p, bytes, EMU_WRITE, HERE, true);
}
/* The functions that clang's copies of structs call. */
void *emu_memmove(void *to, const void *from, size_t bytes) {
    hooked(from, bytes, EMU_READ, HERE, true);
    hooked(to, bytes, EMU_WRITE, HERE, true);
    return memmove(to, from, bytes);
}
void *emu_memcpy(void *, const void *, size_t) __attribute__((alias("emu_memmove")));
void *emu_memset(void *p, int value, size_t bytes) {
    hooked(p, bytes, EMU_WRITE, HERE, true);
    return memset(p, value, bytes);
}
}
