/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of emu: fibres, blocks, clusters and grids, memory and who touched it, reports.
 * Kernels run on the host thread that waits for them, under the runtime's lock. */
#ifndef EMU_H
#define EMU_H

#include "cuda_runtime.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "context.h"

namespace emu {

/* ---- settings and reports (report.cpp) ---- */

EMU_ENUM(Policy, IN_ORDER, REVERSED, RANDOM, STARVE);
struct Settings {
    uint64_t seed;
    int policy;
    bool races;
    int devices;
};
extern const Settings settings; /* what the environment says */
uint64_t random_below(uint64_t bound);

/* A place in the source: a program counter, or a line known; 48 bits. */
struct Where {
    uint64_t bits;
    Where(const void *pc = nullptr) : bits((uint64_t)pc) {}
    Where(const emu_site &at);
};
std::string source_of(Where where); /* the line, and those it was inlined into */

/* Say what went wrong, in the running thread there or with where every thread waits; then exit. */
[[noreturn]] void report(Where where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
[[noreturn]] void report_waits(const char *what);

/* ---- memory (memory.cpp) ---- */

/* All of emu's memory is one stretch of addresses, shared memory of block after block first. */
constexpr size_t arena_bytes = (size_t)1 << 40, shared_region = 256 * 1024;
constexpr size_t shared_limit = 227 * 1024, shared_default = 48 * 1024;
constexpr unsigned most_blocks = 4096, threads_of_slot = 1024;
constexpr size_t red_zone = 512; /* around allocations and variables */
constexpr size_t shared_bytes = most_blocks * shared_region;
unsigned char *reserve(size_t bytes); /* address space, all zeros */
void clear(void *p, size_t bytes);
extern unsigned char *base;
inline size_t offset_of(const void *p) {
    return (size_t)((const unsigned char *)p - base);
}

/* One allocation; its addresses are never used again. */
struct Piece {
    uintptr_t begin;
    size_t bytes;
    bool pinned;
    int device;
    bool freeing = false, dead = false; /* that is queued; it is done */
    bool of_graph = false;              /* taken in a capture */
};
Piece *take(size_t bytes, bool pinned, int device); /* NULL when there is no room */
void release(Piece *piece);
void forget(const Piece *piece);                /* what was written there, and by whom */
void forget_marks(const void *p, size_t bytes); /* only that something was */
Piece *find_piece(const void *p);      /* the nearest that begins at or before p; may be dead */
Piece *live_piece(const void *p);      /* the live one that p lies in, or NULL */
void pin(const void *p, size_t bytes); /* host memory that counts as pinned from then on */
bool unpin(const void *p);
/* An access by the running thread that is one with `ordered` others like it or none. */
void check_access(const void *p, size_t bytes, int kind, bool ordered, Where where,
                  const char *what);
/* Copies and memsets of streams, checked; and those of blocks, already checked. */
void copy_row(void *to, const void *from, size_t bytes);
void set_row(void *to, int value, size_t bytes);
void move_bytes(void *to, const void *from, size_t bytes);

/* ---- happens-before (order.cpp) ---- */

/* What somebody has seen: of threads, warps and blocks, all they did up to a time. */
struct Known : std::vector<std::pair<uint32_t, uint64_t>> { /* by key */
    void add(uint32_t key, uint64_t time);
    void add(const Known &other);
    bool has(uint32_t key, uint64_t time) const;
    bool has_all(const Known &other) const;
};
using Seen = std::shared_ptr<const Known>; /* NULL: nothing */
Seen joined(const Seen &a, const Seen &b);

struct Fibre;
struct Group;
struct Block;
uint64_t next_time(); /* time counts the moments at which something was ordered */
void check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where);
void check_copy_race(size_t offset, size_t bytes, int kind);
void forget_accesses(size_t offset, size_t bytes);
/* Whoever acquires from an object sees what who released to it did; in global memory, what that one
 * did before its last fence, and not before its own next. */
void release_clock(const void *object);
void acquire_clock(const void *object);
Seen knowledge(const Fibre *f); /* all that f has seen, its own doings included */
/* All these have seen what each has; gives the moment. They are all of a group or warp, `together`,
 * whose own doings up to then count as seen by the caller's care. */
uint64_t join(const std::vector<Fibre *> &threads, bool together);
/* A block or stream has ended, and `seen` sees it; the time up to which who has seen that has seen
 * all there was, or 0; accesses from outside to a block's shared memory that may come after its
 * end.
 */
void note_end(unsigned slot, Known *seen);
uint64_t floor_of(const Seen &seen);
void check_end(Block *block);

/* ---- fibres, blocks, clusters, grids (kernels.cpp) ---- */

EMU_ENUM(State, READY, WAITING, ENDED);

struct Fibre {
    Context context;
    emu_index index;
    struct Block *block;
    unsigned thread; /* linear number in the block */
    State state;
    Where at; /* where it waits, and in what */
    const char *what;
    /* What it brings to the operation it waits in, and takes from it; no mask: not of a warp. */
    int op, lane, width;
    unsigned mask;
    uint64_t value, result;
    uint64_t time, warp_time;    /* of its accesses; when its whole warp met last */
    Seen seen, fenced, unfenced; /* of others; at its last fence; what its next will show */
};

/* What meets at a barrier. */
struct Group {
    std::vector<Fibre *> fibres;
    size_t live, arrived;
    uint64_t time; /* of its last barrier */
};

/* What threads order themselves by, and what a barrier of bulk copies counts. */
struct Object {
    Seen released;
    unsigned expected = 0, pending = 0, phase = 0;
    int64_t bytes = 0; /* announced and not in yet */
    std::vector<Fibre *> waiting;
};
using Objects = std::unordered_map<const void *, Object>;

struct Block : Group {
    struct Cluster *cluster;
    struct Grid *grid;
    uint3 index;
    unsigned rank, slot; /* in its cluster; among those that are resident */
    struct Lanes {
        unsigned ended, waiting;
    };
    std::vector<Lanes> warps;
    unsigned char *shared; /* its part of shared memory */
    uint64_t start;
    Objects objects; /* in shared memory */
};

struct Cluster : Group {
    Grid *grid;
    std::vector<Block *> blocks;
};

struct Grid {
    emu_grid shape;
    Grid *parent;                           /* whose end waits for this one's, or NULL */
    std::function<void(const Seen &)> then; /* what its end lets happen */
    Seen seen;                              /* before it starts, and after its end */
    uint64_t floor = 0;                     /* all that happened before that time is seen, too */
    uint64_t next_block = 0;
    std::vector<Cluster *> clusters; /* those that run */
    unsigned open = 1;               /* itself, and what it launched and forgot */
    std::deque<Grid *> tails;
    struct Variable {
        const void *key;
        size_t at, bytes;
    };
    std::vector<Variable> variables; /* in shared memory, at the same place in every block */
    size_t shared_used = 0;
    Known ended; /* blocks, and grids that it launched */
};

extern __thread Fibre *self; /* the running fibre; NULL in host code */
extern std::vector<Grid *> running;
extern std::deque<Grid *> waiting;   /* for others to end; run_grids starts and deletes them */
extern std::vector<Block *> &blocks; /* by slot */
extern Objects objects;              /* in global memory */

bool fits(const emu_grid &shape);
/* Lets threads run until no grid is left or, if `interrupt`, until the seed says so. */
void run_grids(bool interrupt);
void give_way(); /* the running fibre stays ready */
/* The same in a loop that waits; if no thread gets on, this ends in a report. */
void spin(Where where, const char *what);
void note_progress();

extern std::recursive_mutex lock; /* the runtime's: one call at a time */

} // namespace emu

#endif
