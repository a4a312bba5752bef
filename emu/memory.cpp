/* SPDX-License-Identifier: Apache-2.0 */
/* Device, pinned and shared memory: one stretch of addresses with red zones between allocations,
 * and a shadow byte for every byte that says whether it was ever written. Kernels are compiled with
 * the compiler's hooks for thread sanitizing, which call the functions at the end of this file
 * before every access to memory; nothing else of that sanitizer is used. */
#include <string.h>
#include <sys/mman.h>

#include "emu.h"

namespace emu {

namespace {

constexpr size_t device_bytes = (size_t)1 << 34; /* what the stand-in devices have together */
constexpr size_t alignment = 512, red_zone = 512;
constexpr size_t give_back_from = 64 * 1024; /* smaller stretches are cleared in place */

unsigned char *reserve() {
    void *const p = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        report(nullptr, "cannot reserve %zu bytes of address space", arena_bytes);
    return (unsigned char *)p;
}

unsigned char *base, *shadow_base; /* of the shadow, 1 is: written */

struct Arena {
    std::map<uintptr_t, Piece> pieces;
    std::map<uintptr_t, Piece> registered; /* host memory from elsewhere, pinned */
    size_t next = shared_bytes + red_zone, taken = 0;
};

Arena *new_arena() {
    base = reserve();
    shadow_base = reserve();
    return new Arena();
}

Arena &arena() {
    static Arena *const only = new_arena();
    return *only;
}

/* Clears bytes; gives whole pages back to the system. */
void clear(unsigned char *p, size_t bytes) {
    const uintptr_t page = 4096, from = ((uintptr_t)p + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)p + bytes) / page * page;
    if (bytes < give_back_from) {
        memset(p, 0, bytes);
        return;
    }
    memset(p, 0, from - (uintptr_t)p);
    madvise((void *)from, to - from, MADV_DONTNEED);
    memset((void *)to, 0, (uintptr_t)p + bytes - to);
}

/* Forgets what died in [at, at + bytes); if something there lives, gives where it ends. */
size_t make_room(Arena &a, size_t at, size_t bytes) {
    const uintptr_t begin = (uintptr_t)base + at, end = begin + bytes;
    auto p = a.pieces.upper_bound(begin);
    if (p != a.pieces.begin())
        --p;
    while (p != a.pieces.end() && p->first < end) {
        const uintptr_t piece_end = p->first + p->second.bytes;
        if (piece_end + red_zone > begin && !p->second.dead)
            return piece_end + red_zone - (uintptr_t)base;
        if (piece_end + red_zone > begin)
            p = a.pieces.erase(p);
        else
            ++p;
    }
    return 0;
}

bool all_written(const unsigned char *shadow, size_t bytes) {
    if (bytes == 4) {
        uint32_t word;
        memcpy(&word, shadow, 4);
        return word == 0x01010101u;
    }
    if (bytes == 8) {
        uint64_t word;
        memcpy(&word, shadow, 8);
        return word == 0x0101010101010101u;
    }
    for (size_t k = 0; k < bytes; k++)
        if (!shadow[k])
            return false;
    return true;
}

bool none_written(const unsigned char *shadow, size_t bytes) {
    return !memchr(shadow, 1, bytes);
}

const char *verb(int kind) {
    return kind & EMU_WRITE ? "writes" : "reads";
}

/* Is the access within one variable of a block's shared memory, and of a block within reach? */
void check_shared(const void *p, size_t bytes, int kind, const Where &where) {
    const size_t offset = (size_t)((const unsigned char *)p - base);
    const Block *const block =
        offset / shared_region < blocks.size() ? blocks[offset / shared_region] : nullptr;
    if (!self || !block || block->cluster != self->block->cluster)
        report(where, "%s shared memory of another block", verb(kind));
    if (block->live == 0)
        report(where, "%s shared memory of a block that has ended", verb(kind));
    const size_t at = offset % shared_region;
    for (const Variable &v : block->grid->variables)
        if (at >= v.at && at + bytes <= v.at + v.bytes)
            return;
    for (const Variable &v : block->grid->variables)
        if (at + bytes > v.at - red_zone && at < v.at + v.bytes + red_zone)
            report(where,
                   "%s %zu bytes out of bounds: %td bytes from the start of a shared variable "
                   "of %zu bytes",
                   verb(kind), bytes, (ptrdiff_t)(at - v.at), v.bytes);
    report(where, "%s %zu bytes out of bounds of shared memory", verb(kind), bytes);
}

void check_piece(const void *p, size_t bytes, int kind, const Where &where) {
    const Piece *const piece = find_piece(p);
    const uintptr_t at = (uintptr_t)p;
    if (!piece)
        report(where, "%s %zu bytes at %p, where nothing is allocated", verb(kind), bytes, p);
    if (at + bytes > piece->begin + piece->bytes)
        report(where,
               "%s %zu bytes out of bounds: %zu bytes from the start of an allocation of %zu",
               verb(kind), bytes, (size_t)(at - piece->begin), piece->bytes);
    if (piece->dead)
        report(where, "use after free: %s %zu bytes at byte %zu of a freed allocation of %zu",
               verb(kind), bytes, (size_t)(at - piece->begin), piece->bytes);
}

} // namespace

unsigned char *arena_base() {
    arena();
    return base;
}

void *take(size_t bytes, Kind kind, int device) {
    const std::lock_guard<std::recursive_mutex> guard(lock);
    Arena &a = arena();
    if (bytes > device_bytes || a.taken + bytes > device_bytes)
        return nullptr;
    const size_t span = (bytes + alignment - 1) / alignment * alignment + red_zone;
    for (int rounds = 0; rounds < 2;) {
        if (a.next + span > arena_bytes) {
            a.next = shared_bytes + red_zone;
            rounds++;
        }
        const size_t beyond = make_room(a, a.next, span);
        if (!beyond) {
            const uintptr_t begin = (uintptr_t)base + a.next;
            a.pieces[begin] = {begin, bytes, kind, device, false, false};
            a.next += span;
            a.taken += bytes;
            return (void *)begin;
        }
        a.next = (beyond + alignment - 1) / alignment * alignment;
    }
    return nullptr;
}

void release(Piece *piece) {
    Arena &a = arena();
    piece->dead = true;
    a.taken -= piece->bytes;
    clear((unsigned char *)piece->begin, piece->bytes);
    forget_marks((void *)piece->begin, piece->bytes);
}

Piece *find_piece(const void *p) {
    Arena &a = arena();
    auto above = a.pieces.upper_bound((uintptr_t)p);
    if ((uintptr_t)p - (uintptr_t)base >= arena_bytes || above == a.pieces.begin())
        return nullptr;
    return &std::prev(above)->second;
}

static Piece *around(const void *p, Piece *piece) {
    const bool inside = piece && !piece->dead && (uintptr_t)p < piece->begin + piece->bytes;
    return inside ? piece : nullptr;
}

Piece *live_piece(const void *p) {
    const std::lock_guard<std::recursive_mutex> guard(lock);
    Arena &a = arena();
    if (Piece *const piece = around(p, find_piece(p)))
        return piece;
    auto above = a.registered.upper_bound((uintptr_t)p);
    return above == a.registered.begin() ? nullptr : around(p, &std::prev(above)->second);
}

void pin(const void *p, size_t bytes) {
    const uintptr_t begin = (uintptr_t)p;
    arena().registered[begin] = {begin, bytes, Kind::pinned, 0, false, false};
}

bool unpin(const void *p) {
    return arena().registered.erase((uintptr_t)p) == 1;
}

static unsigned char *shadow_of(const void *p) {
    const size_t offset = (uintptr_t)p - (uintptr_t)base;
    return base && offset < arena_bytes ? shadow_base + offset : nullptr;
}

void mark_written(const void *p, size_t bytes) {
    if (unsigned char *const shadow = shadow_of(p))
        memset(shadow, 1, bytes);
}

void forget_marks(const void *p, size_t bytes) {
    if (unsigned char *const shadow = shadow_of(p))
        clear(shadow, bytes);
}

void copy_marks(const void *to, const void *from, size_t bytes) {
    const unsigned char *const source = shadow_of(from);
    unsigned char *const target = shadow_of(to);
    if (target && source && live_piece(from)->kind == Kind::device)
        memmove(target, source, bytes);
    else
        mark_written(to, bytes);
}

void check_access(const void *p, size_t bytes, int kind, bool ordered, const Where &where,
                  const char *what) {
    unsigned char *const shadow = shadow_of(p);
    if (!shadow)
        return;
    const bool written = all_written(shadow, bytes);
    const bool shared = in_shared((size_t)((const unsigned char *)p - base));
    if (shared && (!written || !self ||
                   blocks[((const unsigned char *)p - base) / shared_region] != self->block))
        check_shared(p, bytes, kind, where);
    if (!written) {
        if (!shared)
            check_piece(p, bytes, kind, where);
        if (kind & EMU_READ && none_written(shadow, bytes))
            report(where, "%s: reads %zu bytes at %p that were never written", what, bytes, p);
        if (kind & EMU_WRITE) {
            memset(shadow, 1, bytes);
            note_progress();
        }
    }
    if (self)
        check_race(p, bytes, kind, ordered, where);
}

/* Plain accesses are points to switch at too, but few of them. */
unsigned until_switch = 1;

void switch_unasked() {
    const Policy policy = settings().policy;
    until_switch = 1 + (unsigned)random_below(512);
    if (policy == Policy::random || policy == Policy::starve)
        give_way();
}

/* What every access that the compiler told of comes to. */
static inline void hooked(const void *p, size_t bytes, int kind, const void *where) {
    if ((uintptr_t)p - (uintptr_t)base >= arena_bytes || !base)
        return;
    if (!self)
        report(where, "host code %s device memory at %p", verb(kind), p);
    if (bytes <= 16 && (bytes & (bytes - 1)) == 0 && (uintptr_t)p % bytes != 0)
        report(where, "misaligned: %s %zu bytes at %p", verb(kind), bytes, p);
    if (--until_switch == 0)
        switch_unasked();
    check_access(p, bytes, kind, false, where, "kernel");
    if (kind & EMU_WRITE)
        note_progress();
}

} // namespace emu

using namespace emu;

void emu_before_ordered(const volatile void *p, size_t bytes, int kind, const emu_site &at) {
    give_way();
    check_access((const void *)p, bytes, kind, true, at, at.what);
    if (kind & EMU_READ)
        acquire_clock((const void *)p);
    if (kind & EMU_WRITE)
        release_clock((const void *)p);
}

void emu_after_ordered(int kind, bool changed) {
    if (changed)
        note_progress();
    if (kind & EMU_WRITE)
        give_way();
}

void *emu_shared(const void *key, size_t bytes, size_t align) {
    Grid *const grid = self->block->grid;
    for (const Variable &v : grid->variables)
        if (v.key == key)
            return self->block->shared + v.at;
    const size_t at = (grid->shared_used + red_zone + align - 1) / align * align;
    if (at + bytes + red_zone > shared_region)
        report(__builtin_return_address(0), "more shared memory than a block has");
    grid->variables.push_back({key, at, bytes});
    grid->shared_used = at + bytes;
    return self->block->shared + at;
}

unsigned char *emu_dynamic_shared() {
    static const char key = 0;
    return (unsigned char *)emu_shared(&key, self->block->grid->shape.shared_bytes, 128);
}

/* A volatile access is a point to switch at, and many a loop's way to wait. */
static void hooked_volatile(const void *p, size_t bytes, int kind, const Where &where) {
    if (!self || (size_t)((const unsigned char *)p - base) >= arena_bytes)
        return;
    if (kind == EMU_READ)
        spin({"", 0, "a volatile read"}, (void *)where.bits);
    else
        give_way();
    check_access(p, bytes, kind, true, where, "volatile access");
    if (kind == EMU_WRITE)
        note_progress();
}

#define EMU_HOOKS(bytes)                                                                           \
    void __tsan_read##bytes(void *p) {                                                             \
        hooked(p, bytes, EMU_READ, __builtin_return_address(0));                                   \
    }                                                                                              \
    void __tsan_write##bytes(void *p) {                                                            \
        hooked(p, bytes, EMU_WRITE, __builtin_return_address(0));                                  \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(void *p) {                                                   \
        hooked(p, bytes, EMU_READ, __builtin_return_address(0));                                   \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void *p) {                                                  \
        hooked(p, bytes, EMU_WRITE, __builtin_return_address(0));                                  \
    }                                                                                              \
    void __tsan_volatile_read##bytes(void *p) {                                                    \
        hooked_volatile(p, bytes, EMU_READ, __builtin_return_address(0));                          \
    }                                                                                              \
    void __tsan_volatile_write##bytes(void *p) {                                                   \
        hooked_volatile(p, bytes, EMU_WRITE, __builtin_return_address(0));                         \
    }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_read_range(void *p, size_t bytes) {
    hooked(p, bytes, EMU_READ, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes) {
    hooked(p, bytes, EMU_WRITE, __builtin_return_address(0));
}
EMU_HOOKS(1)
EMU_HOOKS(2)
EMU_HOOKS(4)
EMU_HOOKS(8)
EMU_HOOKS(16)
}
