/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of emu: fibres, blocks, clusters and grids; memory and who accessed it; reports.
 * Kernels run on the host threads that wait for them, under the runtime's lock. */
#ifndef EMU_H
#define EMU_H

#include "cuda_runtime.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "context.h"

namespace emu {

constexpr int most_devices = 8;

/* ---- settings and reports (report.cpp) ---- */

EMU_ENUM(Policy, IN_ORDER, REVERSED, RANDOM, STARVE);
struct Settings {
    uint64_t seed;
    int policy;
    bool races;
    int devices;
    bool peers; /* can they reach each other's memory? */
};
extern const Settings settings; /* from the environment */
uint64_t random_below(uint64_t bound);
extern uint64_t steps; /* work of kernels so far: accesses, counted in words, and switches */

/* A place in the source: a program counter, or a known line; 48 bits. */
struct Where {
    uint64_t bits;
    Where(const void *pc = nullptr) : bits((uint64_t)pc) {}
    Where(const emu_site &at);
};
std::string source_of(Where where); /* the line, and the lines that it was inlined into */

/* Report an error, in the running thread or with the state of every thread; then exit. */
[[noreturn]] void report(Where where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
[[noreturn]] void report_waits(const char *what);

/* ---- memory (memory.cpp) ---- */

/* All of emu's memory is one range of addresses; the shared memory of all blocks comes first. */
constexpr size_t arena_bytes = (size_t)1 << 40, shared_region = 256 * 1024;
constexpr size_t device_bytes = (size_t)1 << 34; /* of all emulated devices together */
extern size_t memory_limit; /* of them; device_bytes unless a test set another */
constexpr size_t shared_limit = 227 * 1024, shared_default = 48 * 1024;
constexpr unsigned most_blocks = 4096, most_threads = 1024;
/* Limit on a grid's blocks in y and z: low, so that tests reach loops over the rest. */
constexpr unsigned highest_grid = 24;
constexpr size_t shared_bytes = most_blocks * shared_region;
unsigned char *reserve(size_t bytes); /* reserves address space, all zeros */
void clear(void *pages, size_t bytes);
extern unsigned char *base;
inline size_t offset_of(const void *p) {
    return (size_t)((const unsigned char *)p - base);
}

/* An allocation; its addresses are never used again. */
struct Piece {
    unsigned char *begin;
    size_t bytes;
    bool pinned;
    int device;
    bool dead = false, of_graph = false; /* freed; allocated during a capture */
    struct EmuPool *pool = nullptr;
    struct Backing { /* of a range of addresses: memory of a device, from `at` on */
        size_t at;
        int device;
    };
    std::vector<Backing> backings = {};
    bool range = false; /* only addresses, until memory is mapped there */
    int device_at(size_t at) const;
};
extern std::map<const void *, Piece> pieces;        /* also pinned host memory from elsewhere */
Piece *take(size_t bytes, bool pinned, int device); /* NULL when there is no room */
void release(Piece *piece, Where where = nullptr);
size_t taken_bytes();                           /* of all live pieces */
void forget(void *pages, size_t bytes);         /* forgets contents, and who wrote them */
void forget_marks(const void *p, size_t bytes); /* forgets only who wrote them */
void mark_written(const void *p, size_t bytes);
Piece *find_piece(const void *p); /* the nearest piece that begins at or before p; may be dead */
Piece *live_piece(const void *p); /* the live piece that contains p, or NULL */
/* In addition to EMU_READ and EMU_WRITE: an access by the copy engine, which needs a fence after
 * ordinary writes; and one that may read what was never written. */
constexpr int by_engine = 4, of_anything = 16;
/* Checks an access by the running thread. With `ordered`, it cannot race with other ordered ones.
 */
void check_access(const void *p, size_t bytes, int kind, bool ordered, Where where,
                  const char *what);
/* Copies bytes that may be uninitialized, together with whether they are. */
void move_bytes(void *to, const void *from, size_t bytes);

/* ---- who may access what (devices.cpp) ---- */

/* Devices are sets of bits. Memory may be accessed by the devices `peers`, and by those that have
 * enabled access to a device in `owners`. */
void set_reach(const void *p, size_t bytes, unsigned owners, unsigned peers);
/* Reports an access to global memory that the running thread's device does not reach. */
void check_reach(const void *p, size_t bytes, int kind, Where where);
void forget_reach();

/* ---- happens-before (order.cpp) ---- */

/* What somebody has seen: for threads, warps and blocks, that all they did up to a time is visible.
 */
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
uint64_t next_time(); /* time counts ordering events */
void check_race(size_t offset, size_t bytes, int kind, bool ordered, Where where);
void forget_accesses(const void *p, size_t bytes);
/* For each object of synchronization, what was released to it: by threads of a device, for others
 * of the same; and with EMU_SYSTEM for all, as device `any_device`. Acquiring from it makes that
 * visible; in global memory, what a thread did before its last fence becomes visible, and to the
 * acquirer after its own next fence. */
constexpr int any_device = -1;
extern std::map<std::pair<const void *, int>, Seen> released;
void pass_clock(const void *object, int kind); /* a read acquires, a write releases */
Seen knowledge(Fibre *f);                      /* all that f has seen, and all that it did */
/* Makes all that each of these threads has seen visible to all of them; returns the time. With
 * `together` they are all the threads of a group, for which the caller records that their own work
 * up to then is visible. */
uint64_t join(const std::vector<Fibre *> &threads, bool together);
/* All that the block did, for other blocks' accesses to its shared memory after its end and for
 * what comes after the grid; and what its threads have seen of other devices. */
Seen end_of(const Block *block);
void check_end(const Block *block);

/* ---- fibres, blocks, clusters, grids (kernels.cpp) ---- */

EMU_ENUM(State, READY, WAITING, ENDED);

/* What waits at one barrier: the lanes of a warp, or the threads of a block or cluster. */
struct Group {
    std::vector<Fibre *> fibres;
    size_t size = 0, waiting = 0, ended = 0;  /* lanes that a warp does not have count as ended */
    uint64_t time = 0;                        /* when all of it last met */
    std::vector<unsigned char> gathered = {}; /* of a warp, what its lanes let each other read */
    bool over() const {
        return ended == size;
    }
};

/* What was done before a fence: what the thread had seen and, unless they are 0, its own work, its
 * warp's, its block's and its cluster's up to these times. */
struct Fence {
    Seen seen;
    uint64_t thread, warp, block, cluster;
};

/* A word that others may change, and what the thread found there. */
struct Look {
    const void *p;
    size_t bytes;
    unsigned char found[16];
    Look() {} /* a fibre sets those that it counts */
};
constexpr unsigned most_looks = 16;

/* A switch to a thread reads what comes first, mostly from far away. Its constructor sets what
 * counts; as an aggregate all of it would be cleared, for each thread of each block. */
struct alignas(64) Fibre {
    Context context;
    struct Block *block = nullptr;
    unsigned thread = 0; /* number in the block */
    State state = ENDED;
    uint64_t time = 0;                              /* of its accesses */
    Group *groups[3] = {nullptr, nullptr, nullptr}; /* warp, block, cluster */
    /* Its input to the operation it waits in, and the result. */
    Group *group = nullptr;
    int op = 0, source = 0;
    uint64_t value = 0, result = 0;
    unsigned mask = 0;
    /* Such words that it read since it spun last; most_looks + 1: more than are kept. */
    unsigned looks = 0;
    Where at = {}; /* where it waits, and in which operation */
    const char *what = "nothing yet";
    emu_index index = {};
    unsigned gathers = 0;    /* gatherings that it took part in */
    bool was_called = false; /* from spinning to a meeting, since it last met others */
    bool is_far = false;     /* it spins for what another device or the host may do */
    Seen seen = {};          /* of other threads' work */
    Fence fence = {};
    Seen unfenced = {};                       /* what its next fence will make visible to it */
    std::vector<uint64_t> engine_fences = {}; /* when it showed its writes to the copy engine */
    std::vector<Fetch> fetches = {};          /* its own copies in progress */
    unsigned fetch_groups = 0;                /* of those copies, closed so far */
    Look look[most_looks];
    explicit Fibre(const Context &of_stack) : context(of_stack) {}
};

/* A bulk copy in progress. */
struct Copy {
    const void *until; /* the barrier, or the thread, that must have waited for it */
    std::function<void()> move;
};

struct Block : Group {
    struct Grid *grid;
    struct Cluster *cluster;
    unsigned rank, slot; /* rank in its cluster; slot among the resident blocks */
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
    Seen seen;                              /* before its start, and at its end */
    std::function<void(const Seen &)> then; /* called at its end */
    uint64_t next_block = 0;
    size_t clusters = 0; /* clusters that are running */
    unsigned open = 1;   /* itself, and the grids it launched with FORGET */
    Grid *last = this;   /* the last of it and its tail launches */
    int device = 0;
    struct Variable {
        const void *key;
        size_t at, bytes;
    };
    std::vector<Variable> variables = {}; /* in shared memory, at the same place in every block */
    size_t shared_used = 0;               /* with the gaps between variables */
    size_t shared_named = 0;              /* without gaps */
    Seen ended = {};                      /* of its blocks, and of grids that it launched */
    bool looks_far = false;               /* it has read what others wrote for all devices */
};

extern __thread Fibre *self;       /* the running fibre; NULL in host code */
extern std::vector<Grid *> grids;  /* the first few run; the others wait for them to end */
extern uint64_t idle_spins;        /* since a thread last made progress */
extern Block *blocks[most_blocks]; /* by slot; NULL: free */

void launch(Grid *grid);
/* Until none is left, or all their threads wait for what other devices or the host will do. */
void run_grids();
void forget_grids(); /* those that are left */
void give_way();     /* switches; the running fibre stays ready */
void make_ready(Fibre *f);
/* Waits in no group until another thread makes this one ready; its `value` is the object. */
void wait_for(const void *object, const emu_site &at);
/* The same in a waiting loop; if no thread makes progress, this ends in a report. */
void spin(Where where, const char *what);
/* The same, but the thread is not ready: it is added to `aside`. */
void rest(Where where, const char *what, std::vector<Fibre *> *aside);

/* ---- threads that spin (spins.cpp) ---- */

/* Notes that the running thread reads a word that others may change. */
void note_look(const void *p, size_t bytes);
/* Makes those ready that have something new to see. Called in every turn; idle if nobody is. Is
 * there nothing to be done before the host has done something? */
bool wake_spinning(bool is_idle);
void forget_spinning();

/* ---- limits and planted faults (limits.cpp) ---- */

/* Only one host thread at a time, which may take it again. */
class Lock {
    std::mutex inner;
    std::condition_variable changed;
    std::thread::id owner;
    unsigned depth = 0, waiting = 0, passing = 0;
    uint64_t turns = 0; /* how often somebody has got it */
    void take(std::unique_lock<std::mutex> &held, unsigned times);

  public:
    void lock();
    void unlock();
    /* Lets other threads have it, those that wait first, and takes it back. */
    void pass();
};
extern Lock lock; /* of the runtime */
using Guard = std::lock_guard<Lock>;

inline uint64_t volume(dim3 extent) {
    return (uint64_t)extent.x * extent.y * extent.z;
}
/* Why the device refuses such a grid; cudaSuccess if it does not. */
cudaError_t refusal(const void *kernel, const emu_grid &shape);
uint64_t clusters_that_fit(const emu_grid &shape); /* how many the device can hold at once */
size_t shared_limit_of(const void *kernel); /* the most shared memory that a block of it may have */
extern cudaError_t lost;                    /* what every call returns after a kernel failed */
cudaError_t planted_now(int moment);
void forget_plants();

/* Lets streams start other operations while grids run (runtime.cpp). */
void begin_others();

} // namespace emu

#endif
