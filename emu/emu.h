/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of emu: fibres and blocks, device memory with its shadow, reports. One kernel runs at
 * a time, on the host thread that waits for it, under the runtime's lock. */
#ifndef EMU_H
#define EMU_H

#include "cuda_runtime.h"

#include <map>
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

/* Where in the source something happens: what the program counter tells, or a line known. */
struct Where {
    const void *pc;
    const char *file;
    int line;

    Where(const void *address = nullptr) : pc(address), file(nullptr), line(0) {}
    Where(const emu_site &at) : pc(nullptr), file(at.line ? at.file : nullptr), line(at.line) {}
};

/* ---- memory (memory.cpp) ---- */

enum class Kind {
    device,
    pinned,
    shared
};
/* One allocation. Its addresses are used again only when the arena has been gone through. */
struct Piece {
    uintptr_t begin;
    size_t bytes;
    Kind kind;
    int device;
    bool freeing; /* cudaFreeAsync is queued */
    bool dead;
};
/* NULL when there is no room. */
void *take(size_t bytes, Kind kind, int device);
void release(Piece *piece);
Piece *find_piece(const void *p); /* the nearest that begins at or before p; may be dead */
Piece *live_piece(const void *p); /* the live one that p lies in, or NULL */
/* Host memory that counts as pinned from then on, or no more. */
void pin(const void *p, size_t bytes);
bool unpin(const void *p);
void mark_written(const void *p, size_t bytes);
void copy_marks(const void *to, const void *from, size_t bytes);
void forget_marks(const void *p, size_t bytes);
/* Checks an access by a kernel's thread, or by an operation of a stream when there is none. */
void check_access(const void *p, size_t bytes, int kind, bool ordered, const Where &where,
                  const char *what);

/* ---- fibres and blocks (machine.cpp) ---- */

enum class State {
    ready,
    block_barrier,
    warp,
    barrier,
    ended
};

struct Block;

struct Fibre {
    Context context;
    emu_index index;
    Block *block;
    unsigned thread; /* linear number in the block */
    State state;
    emu_site at; /* where it waits */
    void *pc;
    /* What it brings to, and takes from, the operation it waits in. */
    int op, lane, width;
    unsigned mask;
    uint64_t value, result;
    /* Happens-before, see race.cpp. */
    uint32_t clock;
    std::vector<uint32_t> seen;
};

/* Which lanes of a warp have ended (or never were), and which wait in a warp operation. */
struct Lanes {
    unsigned ended, waiting;
};

struct Variable {
    const void *key;
    unsigned char *p;
    size_t bytes;
};

struct Word; /* of shared memory: who touched it last, see race.cpp */

struct Block {
    uint3 index;
    std::vector<Fibre *> fibres; /* those of the running block come first */
    unsigned threads;
    unsigned live, arrived;
    std::vector<Lanes> warps;
    unsigned char *shared; /* its part of shared memory */
    size_t used;
    std::vector<Variable> variables;
    Word *words;
    uint64_t epoch; /* unique; a new one from each block barrier on */
    std::unordered_map<const void *, std::vector<uint32_t>> released; /* clocks, by object */
};

/* A bulk copy under way. */
struct Copy {
    Fibre *by;
    void *to;
    const void *from;
    size_t bytes;
    uint64_t *barrier; /* NULL: a store */
};

struct Kernel {
    const char *what;
    dim3 blocks, threads;
    size_t shared_bytes;
    std::function<void()> body;
    std::vector<Block *> resident;
    std::vector<Copy> copies;
};

constexpr size_t shared_limit = 227 * 1024;
constexpr size_t shared_region = 256 * 1024;
constexpr int multiprocessors = 4;
constexpr unsigned threads_per_multiprocessor = 1024;
constexpr size_t shared_per_multiprocessor = 228 * 1024;

extern __thread Fibre *self;     /* the running fibre; NULL in host code */
extern __thread Kernel *running; /* its kernel */

void run_kernel(Kernel *kernel);
void make_ready(Fibre *fibre);
/* The running fibre is to wait in `state`: it does once others are let run, unless made ready. */
void begin_wait(State state, emu_site at, void *pc);
void let_others_run();
/* Gives way; the running fibre stays ready. */
void give_way();
/* The same in a loop that waits; if no thread gets on, this ends in a report. */
void spin(emu_site at, void *pc);
void note_progress();
uint64_t new_epoch();
void finish_copy(const Copy &copy);

/* ---- barriers and warps (sync.cpp) ---- */

void settle_warp(Block *block, unsigned warp);
void settle_block(Block *block);

/* ---- races (race.cpp) ---- */

void check_race(const void *p, size_t bytes, int kind, bool ordered, const Where &where);
void release_clock(const void *object); /* what this thread did is seen by who acquires */
void acquire_clock(const void *object);
void join_clocks(Fibre *const fibres[], size_t count);

/* ---- reports (report.cpp) ---- */

/* Prints what went wrong in the running thread there, and ends the process. */
[[noreturn]] void report(const Where &where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for the whole kernel: says where every thread waits. */
[[noreturn]] void report_waits(const char *what);
/* The source line, and those it was inlined into. */
std::string source_of(const Where &where);

/* The runtime's lock: one call at a time. */
extern std::recursive_mutex lock;

} // namespace emu

#endif
