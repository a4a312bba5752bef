/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a place by which ladders predict what a rung takes. Known when a context opens:
 * told by the device or assumed, not measured. */
#ifndef WI_CORE_MACHINE_H
#define WI_CORE_MACHINE_H

#include <stddef.h>

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a GPU, or of the threads that a context on a cpu may use, together. */
typedef struct wi_machine {
    double bytes_per_s;          /* of main memory, read plus written */
    double cache_bytes_per_s;    /* of the last cache */
    size_t cache_bytes;          /* of the last cache */
    double launch_s;             /* to start a kernel, or to wake the threads */
    double f32_flops, f64_flops; /* a second, at most: fused multiply-adds, of two flops each */
    int units;                   /* multiprocessors, or threads */
    double unit_hz;
} wi_machine;

const wi_machine *wi_machine_of(const weft_context *ctx);

/* What the maker calls the processor, as the system tells it, or the GPU. */
void wi_cpu_name(char *name, size_t bytes);
void wi_gpu_name(int device, char *name, size_t bytes);

/* For weft_open. */
wi_machine wi_machine_of_cpu(int threads);
wi_machine wi_machine_of_gpu(int device, int capability);

/* Seconds in which all units together read and write `bytes` in all. */
static inline double wi_seconds_moving(const wi_machine *m, double bytes) {
    return bytes <= (double)m->cache_bytes ? bytes / m->cache_bytes_per_s : bytes / m->bytes_per_s;
}

/* Seconds in which `units` units do what would take one of them so many cycles. */
static inline double wi_seconds_working(const wi_machine *m, double cycles, int units) {
    return cycles / (m->unit_hz * units);
}

/* How many times narrower the vectors of a thread are than those of AVX2, with which costs were
 * seen. */
static inline double wi_narrower(const wi_machine *m) {
    const double avx2_flops = 16; /* of f64, a cycle */
    return avx2_flops * m->unit_hz * m->units / m->f64_flops;
}

/* What a kernel with a ring of tiles in shared memory (cuda/ring.cuh) takes longer to begin: an
 * H200 needs 3.5 us to hand out 200 KB a block and fill the rings. */
static inline double wi_ring_seconds(const wi_machine *m) {
    return 1.17 * m->launch_s;
}

/* The cost of a rung that is the only one of its kind of place that the library may choose: there
 * is nothing to compare it with. */
double wi_no_rival(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
