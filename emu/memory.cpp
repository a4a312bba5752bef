/* SPDX-License-Identifier: Apache-2.0 */
/* Device, pinned and shared memory: one stretch of addresses with red zones between allocations,
 * and a shadow byte for every byte that says whether it was ever written. */
#include <string.h>
#include <sys/mman.h>

#include "race.h"

namespace emu {

unsigned char *base, *shadow_base;

constexpr size_t give_back_from = 64 * 1024; /* smaller stretches are cleared in place */

unsigned char *reserve(size_t bytes) {
    void *const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        report(nullptr, "cannot reserve %zu bytes of address space", bytes);
    return (unsigned char *)p;
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

namespace {

constexpr size_t device_bytes = (size_t)1 << 34; /* what the stand-in devices have together */
constexpr size_t alignment = 512;
struct Arena {
    std::map<uintptr_t, Piece> pieces;
    std::map<uintptr_t, Piece> registered; /* host memory from elsewhere, pinned */
    size_t next = shared_bytes + red_zone, taken = 0;
};

Arena &arena() {
    static Arena *const only = new Arena();
    return *only;
}

/* Before any kernel's file sets up what it has. */
__attribute__((constructor(101))) void set_up() {
    base = reserve(arena_bytes);
    shadow_base = reserve(arena_bytes);
    if (settings().races)
        words = (Word *)reserve(arena_bytes / 4 * sizeof(Word));
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

} // namespace

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
    piece->dead = true;
    arena().taken -= piece->bytes;
    forget(piece);
}

void forget(Piece *piece) {
    clear((unsigned char *)piece->begin, piece->bytes);
    forget_marks((void *)piece->begin, piece->bytes);
    forget_accesses((void *)piece->begin, piece->bytes);
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

} // namespace emu
