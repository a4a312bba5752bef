/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a place from which ladders predict how long a rung takes. They are set when a
 * context opens: reported by the device, or assumed; not measured. */
#ifndef WI_CORE_MACHINE_H
#define WI_CORE_MACHINE_H

#include <stddef.h>

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The figures of a GPU; or, on a cpu, of all threads of the context together. */
typedef struct wi_machine {
    double bytes_per_s;          /* of main memory, read plus written */
    double cache_bytes_per_s;    /* of the last cache */
    size_t cache_bytes;          /* of the last cache */
    double launch_s;             /* to start a kernel, or to wake the threads */
    double f32_flops, f64_flops; /* peak flops a second; a fused multiply-add is two */
    int units;                   /* multiprocessors, or threads */
    double unit_hz;
} wi_machine;

const wi_machine *wi_machine_of(const weft_context *ctx);

/* The product name of the processor, as the operating system reports it, and of a GPU. */
void wi_cpu_name(char *name, size_t bytes);
void wi_gpu_name(int device, char *name, size_t bytes);

/* For weft_open. */
wi_machine wi_machine_of_cpu(int threads);
wi_machine wi_machine_of_gpu(int device, int capability);

/* Seconds in which all units together move `bytes`, what is read plus what is written. */
static inline double wi_seconds_moving(const wi_machine *m, double bytes) {
    return bytes <= (double)m->cache_bytes ? bytes / m->cache_bytes_per_s : bytes / m->bytes_per_s;
}

/* Seconds in which `units` units share work that would take one of them `cycles` cycles. */
static inline double wi_seconds_working(const wi_machine *m, double cycles, int units) {
    return cycles / (m->unit_hz * units);
}

/* The costs in ladders were measured with AVX2. How many times slower a thread is here if its
 * vectors are narrower (below 1 if they are wider). */
static inline double wi_narrower(const wi_machine *m) {
    const double avx2_flops = 16; /* of f64, in a cycle of one thread */
    return avx2_flops * m->unit_hz * m->units / m->f64_flops;
}

/* The extra time before a kernel with a ring of tiles in shared memory (cuda/ring.cuh) is in full
 * work: an H200 needs 3.5 us, 1.17 of its launch times, to give each block 200 KB and fill the
 * rings.
 */
static inline double wi_ring_seconds(const wi_machine *m) {
    return 1.17 * m->launch_s;
}

/* The cost (0) of a rung that has no rival: the library may choose no other on places of its kind,
 * so there is nothing to compare. */
double wi_no_rival(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
