/* SPDX-License-Identifier: Apache-2.0 */
/* What a context owns on a GPU. gpu_*.c implement it with the CUDA runtime; gpu_none.c replaces
 * them in a build without CUDA. Only files built with WEFT_CUDA may look inside wi_gpu. */
#ifndef WI_GPU_H
#define WI_GPU_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens device `ordinal`, or the best one if it is negative; fills ctx->gpu and ctx->place. */
weft_status wi_gpu_open(weft_context *ctx, int ordinal);
void wi_gpu_close(weft_context *ctx);

/* wi_gpu_enter makes the context's device current for the calling thread, and wi_gpu_leave restores
 * the one before. Every entry point that queues work does so between the two; on a cpu place they
 * do nothing. They may nest. If this process can no longer use the device, wi_gpu_enter fails with
 * the message of the error that caused it. */
weft_status wi_gpu_enter(weft_context *ctx, int *before);
void wi_gpu_leave(weft_context *ctx, int before);

/* Would a GPU place open? If not, `why` (of `bytes` bytes) gets the reason. */
bool wi_gpu_present(char *why, size_t bytes);

/* How many GPUs the process sees; 0 if CUDA does not answer. */
int wi_gpu_visible(void);

/* Stream-ordered device memory. */
weft_status wi_gpu_alloc(weft_context *ctx, void **p, size_t bytes);
weft_status wi_gpu_free(weft_context *ctx, void *p);

/* Takes memory from which wi_gpu_alloc then serves what fits, until wi_gpu_release: so a call of
 * several steps has all its memory before the first step, and cannot run out of it between steps.
 * The same call releases it, after it has freed what it allocated. A step may reserve in turn:
 * nothing more is taken then, so the call must have reserved enough for it. Each lane has its own
 * reserve. */
weft_status wi_gpu_reserve(weft_context *ctx, size_t bytes);
weft_status wi_gpu_release(weft_context *ctx);

/* Scratch memory that a context keeps from call to call: at least `bytes` on the device, zero when
 * first given out or grown. Each user must leave it as the next use expects it. `key` identifies
 * the block: an address that belongs to the user, such as that of a ladder. Blocks that were
 * outgrown are kept until the context closes, so that a captured graph stays valid. */
weft_status wi_gpu_scratch(weft_context *ctx, const void *key, size_t bytes, void **p);

/* Memory for the work that a call queues, handed back when all of it is queued. A small amount is
 * scratch memory, which takes the host no time; a larger one, and any while memory is reserved, is
 * allocated. Meanwhile nobody else may borrow under the same key. */
weft_status wi_gpu_borrow(weft_context *ctx, const void *key, size_t bytes, void **p);
weft_status wi_gpu_hand_back(weft_context *ctx, void *p);

/* Adds `change` to the number of calls that hold scratch memory for small copies of their arrays,
 * one inside of another, on all contexts of this GPU that share their memory; returns what it was.
 */
unsigned wi_gpu_nest(weft_context *ctx, int change);

/* Device memory with a copy of `bytes` bytes of host memory, for a table that is kept until the
 * context closes; does not become part of a graph that is captured. wi_gpu_drop_table, before the
 * context closes, waits for the stream and frees it. */
weft_status wi_gpu_keep_table(weft_context *ctx, void **p, const void *from, size_t bytes);
void wi_gpu_drop_table(weft_context *ctx, void *p);
/* Device memory that may outlive the context, for objects that do. wi_gpu_drop takes NULL. */
weft_status wi_gpu_keep(weft_context *ctx, void **p, size_t bytes);
void wi_gpu_drop(void *p);

weft_status wi_gpu_copy(weft_context *ctx, void *to, const void *from, size_t bytes);
/* Queues a copy from device memory to device memory without asking CUDA about the pointers: memory
 * allocated while a stream is captured exists only when the graph runs. */
weft_status wi_gpu_copy_within(weft_context *ctx, void *to, const void *from, size_t bytes);
/* Copies a few words of device memory to the host, after all that is queued. wi_gpu_take_words is
 * called before anything is queued, and takes what that needs. */
enum {
    WI_WORDS = 8 /* at most */
};
weft_status wi_gpu_take_words(weft_context *ctx);
weft_status wi_gpu_bring_words(weft_context *ctx, int64_t *to, const int64_t *from, int count);
/* Waits for what is queued; while the side lane is taken, for that lane alone. */
weft_status wi_gpu_sync(weft_context *ctx);
weft_status wi_gpu_set_stream(weft_context *ctx, void *stream);

bool wi_gpu_is_device(const weft_context *ctx, const void *p);
bool wi_gpu_is_host(const weft_context *ctx, const void *p);

/* A GPU context has two lanes of work: its stream, and the side lane, a stream of high priority. A
 * call that forks has queued nothing on the side lane before; between fork and join it may queue on
 * both, and when it returns they are joined. */
weft_status wi_gpu_fork(weft_context *ctx); /* the side lane waits for the stream */
weft_status wi_gpu_join(weft_context *ctx); /* the stream waits for the side lane */
/* wi_gpu_join_cluster makes the stream wait until the first cluster that was queued after
 * wi_gpu_mark_cluster has begun; not at all if none was queued. A kernel that fills most of a GPU,
 * but begins beside a running cluster, leaves free the multiprocessors of that cluster: they are
 * neighbours, so the next cluster finds room there. */
void wi_gpu_mark_cluster(weft_context *ctx);
weft_status wi_gpu_join_cluster(weft_context *ctx);
/* What follows is queued on the side lane, or on the stream again. */
void wi_gpu_take_side(weft_context *ctx, bool side);
/* wi_gpu_reserve on both lanes, of a call that has not forked yet; and wi_gpu_release. */
weft_status wi_gpu_reserve_lanes(weft_context *ctx, size_t bytes);
weft_status wi_gpu_release_lanes(weft_context *ctx);

/* Is the context's stream being captured into a graph? If so nothing may wait for it. */
bool wi_gpu_capturing(const weft_context *ctx);

/* Waits for queued work, including the legacy default stream's if the context's stream is ordered
 * with it (wi_gpu_sync does not). */
weft_status wi_gpu_wait_queued(weft_context *ctx);

/* ---- memory that several GPUs hold together (gpu_dealt.c) ---- */

/* The memory that contexts of different GPUs share: ranges of addresses whose equal blocks the GPUs
 * hold in turn. Kernels of each of them may access all of a range. */
typedef struct wi_dealt wi_dealt;

enum {
    WI_MOST_GPUS = 16 /* of one place */
};

/* Opens the GPUs of `count` contexts to each other, as far as they can reach each other. A place
 * whose GPUs cannot has no ranges. */
weft_status wi_dealt_open(weft_context *ctx, weft_context *const each[], int count,
                          wi_dealt **dealt);
void wi_dealt_close(wi_dealt *dealt);
/* Do all GPUs reach each other's memory? If not, `why` says which do not. */
bool wi_dealt_reaches(const wi_dealt *dealt, const char **why);
/* The least bytes that are worth dealing out: a piece of memory for each GPU. */
size_t wi_dealt_least(const wi_dealt *dealt);
/* Takes a range; gives it back. *found: was it one? Work that uses it must have ended. */
weft_status wi_dealt_take(weft_context *ctx, wi_dealt *dealt, void **p, size_t bytes);
weft_status wi_dealt_give(weft_context *ctx, wi_dealt *dealt, void *p, bool *found);
/* Is p in a range? If so *begin is where the blocks begin, *block the bytes of each. */
bool wi_dealt_find(wi_dealt *dealt, const void *p, const char **begin, size_t *block);
/* How many of the `bytes` bytes from p on are in a range, in memory of other GPUs than the
 * context's. */
size_t wi_dealt_apart(const weft_context *ctx, const void *p, size_t bytes);

typedef struct wi_launch_graph wi_launch_graph; /* below */

#ifdef WEFT_CUDA
#    include <cuda_runtime_api.h>

enum {
    WI_SCRATCH_LEAST_BYTES = 1 << 16,
    WI_BORROWED_SCRATCH = 1 << 24, /* the most bytes that wi_gpu_borrow takes from scratch memory */
    WI_SCRATCH_BLOCKS = 64,        /* kept at once, one for each key */
    WI_SCRATCH_GROWTHS = 40, /* how often a block can double before any address space is full */
    WI_QUEUED_KEPT = 4,      /* names of kernels kept; a power of 2 */
    WI_GRANTS_KEPT = 64,     /* kernels with much shared memory that are remembered; a power of 2 */
    WI_LANES = 2,
    WI_LARGEST_CLUSTER = 16 /* blocks; the kernel must ask if it wants more than 8 */
};

struct wi_watch;

/* How much dynamic shared memory a kernel may have. */
struct wi_granted {
    const void *kernel;
    size_t bytes;
};

struct wi_gpu {
    int multiprocessors;
    int capability; /* 90 for compute capability 9.0: the device's, or that of this build's code
                       for it if that is less */
    size_t shared_optin; /* the most shared memory that a block may ask for, in bytes */
    cudaStream_t stream; /* where work is queued now */
    cudaStream_t own;    /* the context's own stream */
    cudaStream_t side;   /* the side lane; NULL until the first fork */
    cudaStream_t aside;  /* while work is queued on the side lane: the stream */
    unsigned lane;       /* where work is queued now: 0, or 1 on the side lane */
    cudaEvent_t order;   /* makes one stream wait for another */
    cudaEvent_t begun;   /* recorded when a marked cluster begins */
    bool marks;          /* the next cluster is to be marked */
    cudaMemPool_t pool;
    unsigned forks;         /* number of forks in the process's past when the context was opened */
    struct wi_stage *stage; /* pinned buffers, streams for copies; NULL until needed */
    struct wi_block {
        const void *key; /* NULL: this entry and those after it are free */
        unsigned lane;   /* that uses it */
        void *p;
        size_t bytes;
    } scratch[WI_SCRATCH_BLOCKS];
    void *outgrown[WI_SCRATCH_BLOCKS *
                   WI_SCRATCH_GROWTHS]; /* blocks that were replaced by larger ones */
    size_t outgrown_count;
    unsigned nested;    /* wi_gpu_nest */
    struct wi_reserve { /* the memory of wi_gpu_reserve; p is NULL without */
        char *p;
        size_t bytes, used;
        size_t taken;   /* allocations that are not freed yet; if 0, all of it is free again */
        unsigned depth; /* how many steps within the call have reserved, too */
    } reserve[WI_LANES];
    const char *queued[WI_QUEUED_KEPT]; /* the kernels launched last, for messages */
    unsigned queued_count;              /* how many since the host last waited for all of them */
    struct wi_watch *watch;             /* records launches; or NULL */
    wi_dealt *dealt;                    /* what it shares with other GPUs; or NULL */
    char lost[WI_MESSAGE_BYTES];        /* why this process cannot use the device any more; or "" */
    struct wi_granted granted[WI_GRANTS_KEPT];
    int64_t *words; /* pinned, of wi_gpu_take_words; or NULL */
};

/* Queues the kernel that writes words of device memory to gpu->words. */
weft_status wi_gpu_write_words(weft_context *ctx, const int64_t *from, int count);

/* An attribute of the device; 0 if the driver does not know it. */
int wi_device_attribute(int device, enum cudaDeviceAttr name);
/* The compute capability, 90 for 9.0, that this build's code for the current device was compiled
 * for; 0: it has none. */
int wi_gpu_code_capability(void);

/* Returns WEFT_OK, or the status of a CUDA error after recording its message; `doing` names the
 * call and its purpose. Every call of the CUDA runtime is checked by it: return wi_cuda(ctx,
 * cudaX(...), "cudaX: why"). */
weft_status wi_cuda(weft_context *ctx, cudaError_t error, const char *doing);
const char *wi_cuda_remedy(cudaError_t error); /* "" if the error's name says enough */
bool wi_cuda_is_fatal(cudaError_t error); /* will every later CUDA call in the process fail, too? */
weft_status wi_gpu_check_lost(weft_context *ctx);

/* The shape of a launch. */
typedef struct wi_launch_shape {
    const char *kernel; /* its name in the source, maybe in parentheses */
    const void *function;
    unsigned blocks[3], threads[3];
    unsigned cluster;    /* in blocks; 1: none, or as the kernel was compiled */
    size_t shared_bytes; /* dynamic */
} wi_launch_shape;

/* Lets a kernel use that much dynamic shared memory, and clusters of so many blocks; `name` is its
 * name in messages. */
weft_status wi_gpu_grant(weft_context *ctx, const char *name, const void *function,
                         size_t shared_bytes);
weft_status wi_gpu_grant_cluster(weft_context *ctx, const char *name, const void *function,
                                 unsigned cluster, size_t shared_bytes);

/* What the macros of cuda/launch.cuh call; `arguments` has the addresses of the kernel's. */
weft_status wi_gpu_launch(weft_context *ctx, const wi_launch_shape *shape, void **arguments);
weft_status wi_gpu_launch_ahead(weft_context *ctx, const wi_launch_shape *shape, void **arguments);
weft_status wi_gpu_launch_cluster(weft_context *ctx, const wi_launch_shape *shape,
                                  void **arguments);

/* A graph of one node, for launching small kernels, one at a time and often: on an H200's host the
 * call takes 1.6 us in place of 3.3, and the kernel begins as much sooner. All zeros before the
 * first launch. It is used with one stream, which must not be being captured; the kernel may change
 * from launch to launch. On emu it is empty, and kernels are launched as usual. */
struct wi_launch_graph {
#    ifdef WEFT_EMU
    char unused;
#    else
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t ready;
#    endif
};

weft_status wi_gpu_launch_by_graph(weft_context *ctx, wi_launch_graph *graph,
                                   const wi_launch_shape *shape, void **arguments);
/* Called when nothing that the graph launched is queued any more. */
void wi_gpu_drop_graph(wi_launch_graph *graph);

/* Is this cluster to be marked (wi_gpu_mark_cluster)? To be asked once, by its launch: the next one
 * is not. */
bool wi_gpu_marks_cluster(weft_context *ctx);

/* Called after each launch. Records that the kernel is queued or, after an error, says which limit
 * of the device the launch exceeds. */
weft_status wi_launched(weft_context *ctx, const wi_launch_shape *shape, cudaError_t error);
weft_status wi_launch_failed(weft_context *ctx, const wi_launch_shape *shape, cudaError_t error);
void wi_watch_launch(weft_context *ctx, const wi_launch_shape *shape); /* core/gpu_limits.h */
/* The kernel's name without parentheses, cut off to fit `room`. */
void wi_kernel_name(const char *kernel, char *name, size_t room);

/* Where memory is, as the context's device sees it. Managed memory counts as device memory. */
typedef enum wi_memory {
    WI_MEMORY_DEVICE,
    WI_MEMORY_PEER, /* of another GPU: copies can access it, kernels may not */
    WI_MEMORY_PINNED,
    WI_MEMORY_PAGEABLE
} wi_memory;

/* The kind of `bytes` bytes from p on. Memory of which only a part is pinned counts as pageable. */
wi_memory wi_gpu_memory(const weft_context *ctx, const void *p, size_t bytes);
#endif

#ifdef __cplusplus
}
#endif
#endif
