/* SPDX-License-Identifier: Apache-2.0 */
/* Every access to memory. Kernels are compiled with the compiler's hooks for thread sanitizing,
 * which call the functions at the end of this file before each access; nothing else of that
 * sanitizer is used. */
#include <string.h>

#include "race.h"

namespace emu {

namespace {

inline bool all_written(const unsigned char *shadow, size_t bytes) {
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

/* What is wrong with an access to memory of which not all was written before. */
static void check_unwritten(const void *p, size_t bytes, int kind, const Where &where,
                            const char *what) {
    unsigned char *const shadow = shadow_of(p);
    if (in_shared((size_t)((const unsigned char *)p - base)))
        check_shared(p, bytes, kind, where);
    else
        check_piece(p, bytes, kind, where);
    if (kind & EMU_READ && !memchr(shadow, 1, bytes))
        report(where, "%s: reads %zu bytes at %p that were never written", what, bytes, p);
    if (kind & EMU_WRITE)
        memset(shadow, 1, bytes);
}

__attribute__((always_inline)) static inline void
check(const void *p, size_t bytes, int kind, bool ordered, const Where &where, const char *what) {
    const size_t offset = (size_t)((const unsigned char *)p - base);
    if (!all_written(shadow_base + offset, bytes))
        check_unwritten(p, bytes, kind, where, what);
    else if (in_shared(offset) && offset / shared_region != self->block->slot)
        check_shared(p, bytes, kind, where);
    check_race(p, bytes, kind, ordered, where);
}

void check_bounds(const void *p, size_t bytes, const char *what) {
    if (shadow_of(p) && !all_written(shadow_of(p), bytes))
        check_unwritten(p, bytes, 0, nullptr, what);
}

void check_access(const void *p, size_t bytes, int kind, bool ordered, const Where &where,
                  const char *what) {
    if (shadow_of(p))
        check(p, bytes, kind, ordered, where, what);
}

/* Plain accesses are points to switch at too, but few of them. */
unsigned until_switch = 1;

void switch_unasked() {
    const Policy policy = settings().policy;
    until_switch = 1 + (unsigned)random_below(512);
    if (policy == Policy::random || policy == Policy::starve)
        give_way();
}

/* What every access that the compiler told of comes to. One that it made unaligned on purpose, as
 * clang does of several narrow ones, may be. */
__attribute__((always_inline)) static inline void hooked(const void *p, size_t bytes, int kind,
                                                         const void *where, bool aligned = true) {
    if ((size_t)((const unsigned char *)p - base) >= arena_bytes)
        return;
    if (!self)
        report(where, "host code %s device memory at %p", verb(kind), p);
    if (aligned && bytes <= 16 && (bytes & (bytes - 1)) == 0 && (uintptr_t)p % bytes != 0)
        report(where, "misaligned: %s %zu bytes at %p", verb(kind), bytes, p);
    if (--until_switch == 0)
        switch_unasked();
    if (kind == EMU_WRITE || !much_read((size_t)((const unsigned char *)p - base), bytes))
        check(p, bytes, kind, false, where, "kernel");
    if (kind & EMU_WRITE)
        note_progress();
}

} // namespace emu

using namespace emu;

/* An access that other threads may make at the same time. */
static void ordered(const void *p, size_t bytes, int kind, const Where &where, const char *what) {
    check_access(p, bytes, kind, true, where, what);
    if (kind & EMU_READ)
        acquire_clock(p);
    if (kind & EMU_WRITE)
        release_clock(p);
}

void emu_before_ordered(const volatile void *p, size_t bytes, int kind, const emu_site &at) {
    give_way();
    ordered((const void *)p, bytes, kind, at, at.what);
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
    ordered(p, bytes, kind, where, "volatile access");
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
        hooked(p, bytes, EMU_READ, __builtin_return_address(0), false);                            \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void *p) {                                                  \
        hooked(p, bytes, EMU_WRITE, __builtin_return_address(0), false);                           \
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
/* What emu_clang.h makes of clang's copies of structs. */
void *emu_memcpy(void *to, const void *from, size_t bytes) {
    hooked(from, bytes, EMU_READ, __builtin_return_address(0));
    hooked(to, bytes, EMU_WRITE, __builtin_return_address(0));
    return memcpy(to, from, bytes);
}
void *emu_memmove(void *to, const void *from, size_t bytes) {
    hooked(from, bytes, EMU_READ, __builtin_return_address(0));
    hooked(to, bytes, EMU_WRITE, __builtin_return_address(0));
    return memmove(to, from, bytes);
}
void *emu_memset(void *p, int value, size_t bytes) {
    hooked(p, bytes, EMU_WRITE, __builtin_return_address(0));
    return memset(p, value, bytes);
}
EMU_HOOKS(1)
EMU_HOOKS(2)
EMU_HOOKS(4)
EMU_HOOKS(8)
EMU_HOOKS(16)
}
