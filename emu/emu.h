/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of emu: fibres, blocks, clusters and grids, device memory with its shadow, reports.
 * Kernels run on the host thread that waits for them, under the runtime's lock. */
#ifndef EMU_H
#define EMU_H

#include "cuda_runtime.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "context.h"

namespace emu {

/* ---- settings, from the environment (settings.cpp) ---- */

enum class Policy {
    in_order,
    reversed,
    random,
    starve
};
struct Settings {
    uint64_t seed;
    Policy policy;
    bool races;
    int devices;
};
const Settings &settings();
uint64_t random_below(uint64_t bound);
const char *policy_name(Policy policy);

/* Where in the source something happens: a program counter, or a line known; 48 bits. */
struct Where {
    uint64_t bits;

    Where(const void *pc = nullptr) : bits((uint64_t)pc) {}
    Where(const emu_site &at);
};

/* ---- memory (memory.cpp) ---- */

/* All of emu's memory is one stretch of addresses; shared memory, block after block, comes first.
 */
constexpr size_t arena_bytes = (size_t)1 << 35;
constexpr size_t shared_limit = 227 * 1024;
constexpr size_t shared_region = 256 * 1024;
constexpr unsigned most_slots = 4096;
constexpr size_t shared_bytes = most_slots * shared_region;
constexpr size_t red_zone = 512;          /* around allocations and variables */
extern unsigned char *base, *shadow_base; /* a byte of shadow for each; 1 is: written */
inline unsigned char *shadow_of(const void *p) {
    const size_t offset = (size_t)((const unsigned char *)p - base);
    return offset < arena_bytes ? shadow_base + offset : nullptr;
}
unsigned char *reserve(size_t bytes); /* address space, all zeros */
void clear(unsigned char *p, size_t bytes);
inline bool in_shared(size_t offset) {
    return offset < shared_bytes;
}

enum class Kind {
    device,
    pinned
};
/* One allocation. Its addresses are used again only when the arena has been gone through. */
struct Piece {
    uintptr_t begin;
    size_t bytes;
    Kind kind;
    int device;
    bool freeing; /* cudaFreeAsync is queued */
    bool dead;
    bool of_graph = false; /* taken in a capture */
};
/* NULL when there is no room. */
void *take(size_t bytes, Kind kind, int device);
void release(Piece *piece);
void forget(Piece *piece);        /* what was written there, and by whom */
Piece *find_piece(const void *p); /* the nearest that begins at or before p; may be dead */
Piece *live_piece(const void *p); /* the live one that p lies in, or NULL */
/* Host memory that counts as pinned from then on, or no more. */
void pin(const void *p, size_t bytes);
bool unpin(const void *p);
void mark_written(const void *p, size_t bytes);
void copy_marks(const void *to, const void *from, size_t bytes);
void forget_marks(const void *p, size_t bytes);
/* Checks an access by the running thread. */
void check_access(const void *p, size_t bytes, int kind, bool ordered, const Where &where,
                  const char *what);
/* The same of a copy, which may move what was never written. */
void check_bounds(const void *p, size_t bytes, const char *what);

/* ---- happens-before (race.cpp) ---- */

/* Time counts the moments at which something was ordered. What somebody has seen: of threads, warps
 * and blocks, everything they did up to a time. */
class Known {
  public:
    void add(uint32_t key, uint64_t time);
    void add(const Known &other);
    bool has(uint32_t key, uint64_t time) const;
    bool has_all(const Known &other) const;

  private:
    std::vector<std::pair<uint32_t, uint64_t>> entries; /* by key */
};
using Seen = std::shared_ptr<const Known>; /* NULL: nothing */
Seen joined(const Seen &a, const Seen &b);

struct Fibre;
struct Cluster;
struct Grid;
uint64_t next_time();
void check_copy_race(const void *p, size_t bytes, int kind);
void forget_accesses(const void *p, size_t bytes);
/* What this thread did is seen by who acquires from the object; in global memory, what it did
 * before its last fence, and after the acquirer's next. */
void release_clock(const void *object);
void acquire_clock(const void *object);
void fence_clock();
void forget_clocks();
Seen knowledge(const Fibre *f); /* all that f has seen, its own doings included */
/* Orders what these threads did before what they do from now on; all threads of a block, or all
 * those of a warp that have not ended, make a shorter story than some threads. */
void join_threads(Fibre *const fibres[], size_t count);
void join_warp(Fibre *const fibres[], size_t count);
void join_block(struct Block *block);
void join_cluster(Cluster *cluster);
uint32_t block_key(const struct Block *block);
void note_end(const struct Block *block); /* of a block, or of a copy */
/* The time up to which who has seen that has seen all that any thread did; 0 if it is not known. To
 * be asked as a grid starts. */
uint64_t floor_of(const Seen &seen);
/* Reports accesses to the block's shared memory from outside that may come after its end. */
void check_end(struct Block *block);

/* ---- fibres, blocks, clusters, grids (machine.cpp) ---- */

enum class State {
    ready,
    block_barrier,
    cluster_barrier,
    warp,
    barrier,
    ended
};

struct Fibre {
    Context context;
    emu_index index;
    struct Block *block;
    unsigned thread; /* linear number in the block */
    uint32_t id;     /* unique among the threads that are resident */
    State state;
    emu_site at; /* where it waits */
    void *pc;
    /* What it brings to, and takes from, the operation it waits in. */
    int op, lane, width;
    unsigned mask;
    uint64_t value, result;
    /* Happens-before: the time of its accesses, the last moment its whole warp met, and what it
     * has seen of others beyond its block's last barrier. */
    uint64_t time, warp_time;
    Seen seen, fenced, unfenced; /* at its last fence; not before its next */
};

/* Which lanes of a warp have ended (or never were), and which wait in a warp operation. */
struct Lanes {
    unsigned ended, waiting;
};

struct Block {
    Cluster *cluster;
    Grid *grid;
    uint3 index;
    unsigned rank;               /* in its cluster */
    unsigned slot;               /* unique among blocks that are resident */
    std::vector<Fibre *> fibres; /* those of the running block come first */
    unsigned threads, live, arrived;
    std::vector<Lanes> warps;
    unsigned char *shared;                            /* its part of shared memory */
    uint64_t start, time;                             /* when it started, and its last barrier */
    std::unordered_map<const void *, Known> released; /* by objects in shared memory */
};

struct Cluster {
    Grid *grid;
    std::vector<Block *> blocks;
    unsigned live, arrived; /* threads */
};

/* A variable in shared memory, at the same place in every block. */
struct Variable {
    const void *key;
    size_t at, bytes;
};

struct Grid {
    emu_grid shape;
    Grid *parent;               /* whose end waits for this one's, or NULL */
    std::function<void()> then; /* what its end lets happen */
    Seen seen;                  /* before it starts, and after its end */
    uint64_t floor = 0;         /* all that happened before that time is seen, too */
    uint64_t next_block = 0;
    std::vector<Cluster *> clusters; /* those that run */
    unsigned open = 1;               /* itself, and what it launched and forgot */
    std::deque<Grid *> tails;
    std::vector<Variable> variables;
    size_t shared_used = 0;
    Known ended; /* blocks, and grids that it launched */
};

/* A bulk copy under way. */
struct Copy {
    Fibre *by;
    void *to;
    const void *from;
    size_t bytes;
    uint64_t *barrier; /* NULL: a store */
};

constexpr uint32_t threads_of_slot = 1024;
constexpr int multiprocessors = 4;
constexpr unsigned threads_per_multiprocessor = 1024;
constexpr size_t shared_per_multiprocessor = 228 * 1024;
constexpr unsigned largest_cluster = 16;
constexpr size_t shared_default = 48 * 1024; /* more must be asked for */

extern __thread Fibre *self; /* the running fibre; NULL in host code */
extern std::vector<Grid *> running;
extern std::vector<Block *> &blocks; /* by slot */
extern std::vector<Copy> copies;

/* Makes a grid of a shape that fits; it runs when run_grids is called, until that has deleted it.
 */
Grid *new_grid(const emu_grid &shape, Grid *parent);
void start(Grid *grid);
bool kernels_run(); /* or wait to run */
/* Lets threads run until no grid is left or, if `interrupt`, until the seed says so. */
void run_grids(bool interrupt);
bool fits(const emu_grid &shape);

void make_ready(Fibre *fibre);
/* The running fibre is to wait in `state`: it does once others are let run, unless made ready. */
void begin_wait(State state, emu_site at, void *pc);
void let_others_run();
/* Gives way; the running fibre stays ready. */
void give_way();
/* The same in a loop that waits; if no thread gets on, this ends in a report. */
void spin(emu_site at, void *pc);
void note_progress();
void finish_copy(const Copy &copy);

/* ---- barriers and warps (sync.cpp) ---- */

void settle_warp(Block *block, unsigned warp);
void settle_block(Block *block);
void settle_cluster(Cluster *cluster);

/* ---- reports (report.cpp) ---- */

/* Prints what went wrong in the running thread there, and ends the process. */
[[noreturn]] void report(const Where &where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for all that runs: says where every thread waits. */
[[noreturn]] void report_waits(const char *what);
/* The source line, and those it was inlined into. */
std::string source_of(const Where &where);

/* The runtime's lock: one call at a time. */
extern std::recursive_mutex lock;

} // namespace emu

#endif
