/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of emu: fibres, blocks, clusters and grids, memory and who touched it, reports.
 * Kernels run on the host thread that waits for them, under the runtime's lock. */
#ifndef EMU_H
#define EMU_H

#include "cuda_runtime.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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
extern uint64_t steps; /* of kernels so far: accesses, by words, and switches */

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
constexpr size_t device_bytes = (size_t)1 << 34; /* what the stand-in devices have together */
constexpr size_t shared_limit = 227 * 1024, shared_default = 48 * 1024;
constexpr unsigned most_blocks = 4096, most_threads = 1024;
/* How many blocks a grid has in y and z: few, so that loops over the rest are seen to work. */
constexpr unsigned highest_grid = 24;
constexpr size_t shared_bytes = most_blocks * shared_region;
unsigned char *reserve(size_t bytes); /* address space, all zeros */
void clear(void *pages, size_t bytes);
extern unsigned char *base;
inline size_t offset_of(const void *p) {
    return (size_t)((const unsigned char *)p - base);
}

/* One allocation; its addresses are never used again. */
struct Piece {
    unsigned char *begin;
    size_t bytes;
    bool pinned;
    int device;
    bool dead = false, of_graph = false; /* freed; taken in a capture */
    bool of_pool = false;
};
extern std::map<const void *, Piece> pieces;        /* pinned host memory from elsewhere, too */
Piece *take(size_t bytes, bool pinned, int device); /* NULL when there is no room */
void release(Piece *piece, Where where = nullptr);
size_t taken_bytes();                           /* by all pieces that are live */
void forget(void *pages, size_t bytes);         /* what was written there, and by whom */
void forget_marks(const void *p, size_t bytes); /* only that something was */
Piece *find_piece(const void *p); /* the nearest that begins at or before p; may be dead */
Piece *live_piece(const void *p); /* the live one that p lies in, or NULL */
/* Beside EMU_READ and EMU_WRITE: by the copy engine, for which generic writes need a fence. */
constexpr int by_engine = 4;
/* An access by the running thread that is one with `ordered` others like it or none. */
void check_access(const void *p, size_t bytes, int kind, bool ordered, Where where,
                  const char *what);
/* Bytes that may be moved whether or not they were ever written, and whether they were. */
void move_bytes(void *to, const void *from, size_t bytes);

/* ---- happens-before (order.cpp) ---- */

/* What somebody has seen: of threads, warps and blocks, all they did up to a time. */
struct Known;
using Seen = std::shared_ptr<const Known>; /* NULL: nothing */
Seen joined(const Seen &a, const Seen &b);

/* A copy of its own that a thread has started: `valid` bytes, and zeros behind them. */
struct Fetch {
    void *shared;
    const void *global;
    size_t bytes, valid;
    unsigned group;
};

struct Fibre;
struct Block;
uint64_t next_time(); /* time counts the moments at which something was ordered */
void check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where);
void forget_accesses(const void *p, size_t bytes);
/* Whoever acquires from an object sees what who released to it did; in global memory, what that one
 * did before its last fence, and not before its own next. */
extern std::map<const void *, Seen> released;
void pass_clock(const void *object, int kind); /* acquires by reading, releases by writing */
Seen knowledge(Fibre *f); /* all that f has seen, its own doings up to now included */
/* All these have seen what each has; gives the moment. They are all of a group, `together`, whose
 * own doings up to then count as seen by the caller's care. */
uint64_t join(const std::vector<Fibre *> &threads, bool together);
/* All that the block did; other blocks' accesses to its shared memory that may come after its end.
 */
Seen end_of(const Block *block);
void check_end(const Block *block);

/* ---- fibres, blocks, clusters, grids (kernels.cpp) ---- */

EMU_ENUM(State, READY, WAITING, ENDED);

/* What meets: the lanes of a warp, the threads of a block or of a cluster. */
struct Group {
    std::vector<Fibre *> fibres;
    size_t size = 0, waiting = 0, ended = 0; /* lanes that a warp lacks have ended */
    uint64_t time = 0;                       /* when all of it met last */
    bool over() const {
        return ended == size;
    }
};

/* What is known to have been done before a fence: what the thread had seen and, unless they are 0,
 * its own doings, its warp's, its block's and its cluster's up to then. */
struct Fence {
    Seen seen;
    uint64_t thread, warp, block, cluster;
};

struct Fibre {
    Context context;
    emu_index index;
    struct Block *block;
    Group *groups[3]; /* warp, block, cluster */
    unsigned thread;  /* linear number in the block */
    State state = READY;
    Where at = {}; /* where it waits, and in what */
    const char *what = "nothing yet";
    unsigned mask = 0;
    /* What it brings to the operation it waits in, and takes from it. */
    Group *group = nullptr;
    int op = 0, source = 0;
    uint64_t value = 0, result = 0;
    uint64_t time = 0; /* of its accesses */
    Seen seen = {};    /* of others */
    Fence fence = {};
    Seen unfenced = {};                       /* what its next fence will let it see */
    std::vector<uint64_t> engine_fences = {}; /* when it let the copy engine see what it wrote */
    std::vector<Fetch> fetches = {};          /* under way */
    unsigned fetch_groups = 0;                /* closed so far */
};

/* A bulk copy under way. */
struct Copy {
    const void *until; /* the barrier, or the thread, that has to have waited for it */
    void *to;
    const void *from;
    size_t bytes;
};

struct Block : Group {
    struct Grid *grid;
    struct Cluster *cluster;
    unsigned rank, slot; /* in its cluster; among those that are resident */
    uint64_t start;
    std::vector<Group> warps;
    std::vector<Copy> copies;
    unsigned char *shared() const { /* its part of shared memory */
        return base + slot * shared_region;
    }
};

struct Cluster : Group {
    std::vector<Block *> blocks;
};

struct Grid {
    emu_grid shape;
    Seen seen;                              /* before it starts, and after its end */
    std::function<void(const Seen &)> then; /* what its end lets happen */
    uint64_t next_block = 0;
    size_t clusters = 0; /* that run */
    unsigned open = 1;   /* itself, and what it launched and forgot */
    Grid *last = this;   /* of it and its tail launches */
    struct Variable {
        const void *key;
        size_t at, bytes;
    };
    std::vector<Variable> variables = {}; /* in shared memory, at the same place in every block */
    size_t shared_used = 0;               /* with what lies between them */
    size_t shared_named = 0;              /* without */
    Seen ended = {};                      /* blocks, and grids that it launched */
};

extern __thread Fibre *self;       /* the running fibre; NULL in host code */
extern std::vector<Grid *> grids;  /* the first few run, the others wait for them to end */
extern uint64_t idle_spins;        /* since a thread last got on */
extern Block *blocks[most_blocks]; /* by slot; NULL where none is */

void launch(Grid *grid);
void run_grids(); /* until none is left */
void give_way();  /* the running fibre stays ready */
/* The same in a loop that may wait; if no thread gets on, this ends in a report. */
void spin(Where where, const char *what);

/* ---- limits and planted faults (limits.cpp) ---- */

extern std::recursive_mutex lock; /* one call of the runtime at a time */
using Guard = std::lock_guard<std::recursive_mutex>;

inline uint64_t volume(dim3 extent) {
    return (uint64_t)extent.x * extent.y * extent.z;
}
/* Why the device does not run such a grid; cudaSuccess if it does. */
cudaError_t refusal(const void *kernel, const emu_grid &shape);
uint64_t clusters_that_fit(const emu_grid &shape); /* on the device at once */
size_t shared_limit_of(const void *kernel);        /* shared memory that a block may have */
extern cudaError_t lost;                           /* what every call gives since a kernel failed */
cudaError_t planted_now(int moment);
void forget_plants();

/* Streams may start something beside the grids that run (runtime.cpp). */
void begin_others();

} // namespace emu

#endif
